"""Show versions, the model and file locations."""

import argparse
import json
import platform
from typing import Any

from .. import __version__
from ..core import read_model
from ..core.registry import CONSTITUENTS, KINDS, TAGS, parser_from_bytes
from ..models import find_model
from .pipelines import (
    add_pipeline_arguments,
    dependency_component,
    get_component,
    has_constituents,
    load_pipeline,
    model_kind,
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of `dtparse info`."""
    parser.add_argument("--json", action="store_true", help="as JSON")
    add_pipeline_arguments(parser)


def run(options: argparse.Namespace) -> None:
    """Print the information."""
    info = collect(options.pipeline, options.model, options.budget, options.deadline)
    if options.json:
        print(json.dumps(info, ensure_ascii=False, indent=2, default=str))
        return
    for section, values in info.items():
        print(section)
        for name, value in values.items():
            shown = ", ".join(map(str, value)) if isinstance(value, list | tuple) else value
            print(f"  {name}: {shown}")


def collect(
    pipeline: str | None = None, model: str | None = None, budget: int | None = None, deadline: float | None = None
) -> dict[str, dict[str, Any]]:
    """Versions, pipeline and models as plain data by section.

    "parser" is the constituent parser. "dependency parser" is that of a bpm_parser, or the `model` itself if it is one;
    likewise "tagger".
    """
    import numba
    import spacy

    from ..jit.decorator import KERNEL_ROOT, _cache_folder

    info: dict[str, dict[str, Any]] = {
        "software": {
            "spacy-dtparse": __version__,
            "spacy": spacy.__version__,
            "numba": numba.__version__,
            "python": platform.python_version(),
            "compiled kernels": str(_cache_folder(KERNEL_ROOT) or "in memory only (no writable folder)"),
        }
    }
    kind = None if model is None else model_kind(None, model)
    if model is not None and kind in KINDS and KINDS[kind].builds != CONSTITUENTS:
        builds = KINDS[kind].builds
        section = "tagger" if builds == TAGS else "dependency parser"
        info[section] = _describe(parser_from_bytes(read_model(find_model(model)), builds), {})
        return info
    nlp = load_pipeline(pipeline, model, budget, True, deadline)
    meta = {name: value for name, value in nlp.meta.items() if name in ("lang", "name", "version", "license")}
    info["pipeline"] = {**meta, "components": list(nlp.pipe_names), "path": str(nlp.path or "not from disk")}
    constituents = get_component(nlp) if has_constituents(nlp) else None
    for section, component in (("parser", constituents), ("dependency parser", dependency_component(nlp))):
        if component is not None:
            settings = {name: getattr(component, name) for name in component.SETTINGS}
            info[section] = _describe(component.configured_parser, settings)
    return info


def _describe(parser: Any, settings: dict[str, Any]) -> dict[str, Any]:
    """A parser's properties, the `settings` of its component, and its model's metadata."""
    description = {
        "kind": parser.name,
        "bytes": len(parser.to_bytes()),
        "labels": list(parser.labels),
        **{name: "the model's own" if value is None else value for name, value in settings.items()},
        **getattr(parser, "describe", dict)(),
    }
    return {**description, **{name: value for name, value in parser.meta.items() if name not in description}}
