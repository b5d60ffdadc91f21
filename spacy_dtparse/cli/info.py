"""Show versions, the model and where things are."""

from __future__ import annotations

import argparse
import json
import platform
from typing import Any

from .. import __version__
from .pipelines import add_pipeline_arguments, get_component, load_pipeline


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `dtparse info`."""
    parser.add_argument("--json", action="store_true", help="as JSON")
    add_pipeline_arguments(parser)


def run(options: argparse.Namespace) -> None:
    """Print the information."""
    facts = collect(options.pipeline, options.model, options.budget)
    if options.json:
        print(json.dumps(facts, ensure_ascii=False, indent=2, default=str))
        return
    for section, values in facts.items():
        print(section)
        for name, value in values.items():
            shown = ", ".join(map(str, value)) if isinstance(value, list | tuple) else value
            print(f"  {name}: {shown}")


def collect(
    pipeline: str | None = None, model: str | None = None, budget: int | None = None
) -> dict[str, dict[str, Any]]:
    """Versions, pipeline and model as plain data by section."""
    import numba
    import spacy

    from ..kernels.jit import KERNEL_ROOT, _cache_folder

    nlp = load_pipeline(pipeline, model, budget)
    component = get_component(nlp)
    parser = component.configured_parser
    settings = {name: getattr(component, name) for name in component.SETTINGS}
    about = {
        "kind": parser.name,
        "bytes": len(parser.to_bytes()),
        "labels": list(parser.labels),
        **{name: "the model's own" if value is None else value for name, value in settings.items()},
        **getattr(parser, "describe", dict)(),
    }
    meta = {name: value for name, value in nlp.meta.items() if name in ("lang", "name", "version", "license")}
    return {
        "software": {
            "spacy-dtparse": __version__,
            "spacy": spacy.__version__,
            "numba": numba.__version__,
            "python": platform.python_version(),
            "compiled kernels": str(_cache_folder(KERNEL_ROOT) or "in memory only (no writable folder)"),
        },
        "pipeline": {**meta, "components": list(nlp.pipe_names), "path": str(nlp.path or "not from disk")},
        "parser": {**about, **{name: value for name, value in parser.meta.items() if name not in about}},
    }
