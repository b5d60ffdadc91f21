"""Code shared by the benchmarks: result files, the parser of a pipeline, test sentences."""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # `training` is not part of the installed package

from spacy_dtparse.core import Parser  # noqa: E402
from spacy_dtparse.models import embedded_pipeline  # noqa: E402 (after the line above)
from spacy_dtparse.span_parser.parser import SpanParser  # noqa: E402
from training.data.corpus import Sentence  # noqa: E402
from training.data.treebanks import corpus_files, read_files  # noqa: E402

RESULTS = ROOT / "build" / "bench"
EVERYDAY_DEV = ROOT / "assets" / "everyday" / "dev.mrg"
EVERYDAY_TEST = ROOT / "assets" / "everyday" / "test.mrg"


def arguments(text: str | None, corpus: bool = True, pipeline: Path | None = None) -> argparse.ArgumentParser:
    """Return an argument parser with the options of all benchmarks; `pipeline`: default of --pipeline."""
    parser = argparse.ArgumentParser(description=text, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--pipeline",
        type=Path,
        default=pipeline or embedded_pipeline(),
        help="pipeline folder (default: the embedded one)",
    )
    if corpus:
        parser.add_argument("--corpus", type=Path, default=ROOT / "assets", help="folder of treebanks")
        parser.add_argument("--names", nargs="+", default=["sample"], help="treebanks whose dev part is used")
    parser.add_argument("--out", type=Path, help="JSON file (default: build/bench/NAME.json)")
    return parser


def dev_sentences(options: argparse.Namespace) -> list[Sentence]:
    """Return the dev sentences of the treebanks in `options`, with gold tags."""
    return read_files(corpus_files(options.corpus, options.names, "dev"))


def machine() -> dict[str, Any]:
    """Return the conditions that the results depend on: software versions and machine."""
    import numba
    import spacy

    return {
        "python": platform.python_version(),
        "spacy": spacy.__version__,
        "numba": numba.__version__,
        "machine": platform.machine(),
        "cores": os.cpu_count(),
        "load": round(os.getloadavg()[0], 2),
    }


def budgets(model: Parser) -> list[int | None]:
    """Return the distinct budgets: 0 and the default (None), only the latter for a span parser of one network."""
    return [None] if isinstance(model, SpanParser) and len(model.model.networks) == 1 else [0, None]


def save(options: argparse.Namespace, name: str, results: Any) -> Path:
    """Write the results `results` with the machine's description to a JSON file and print its path."""
    path = options.out or RESULTS / f"{name}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"benchmark": name, "machine": machine(), "results": results}, indent=1) + "\n")
    print(f"written to {path}", file=sys.stderr)
    return path


def percentile(values: Sequence[float], fraction: float) -> float:
    """Return the smallest value that at least a fraction `fraction` of the values do not exceed."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, max(0, -(-int(fraction * 1000) * len(ordered) // 1000) - 1))]
