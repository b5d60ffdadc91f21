"""Show versions, the model and file locations."""

import argparse
import platform
from typing import Any

from .. import __version__
from ..core import read_model
from ..core.registry import CONSTITUENTS, KINDS, TAGS, parser_from_bytes
from ..json_text import to_json
from ..models import find_model
from .pipelines import (
    add_pipeline_arguments,
    dependency_component,
    get_component,
    has_constituents,
    load_pipeline,
    model_kind,
)

MODELS_OWN = "the model's own"
"""The value of a setting that the component leaves to its model."""
_LONG = ("credits", "sources", "notices", "recipe", "fit", "reader")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of `dtparse info`."""
    parser.add_argument("--json", action="store_true", help="everything, as JSON")
    parser.add_argument(
        "--credits", action="store_true",
        help="everything: also the training data with their licences and credits, and the settings of the training",
    )  # fmt: skip
    add_pipeline_arguments(parser)


def run(options: argparse.Namespace) -> None:
    """Print the information."""
    info = collect(options.pipeline, options.model, options.budget, options.deadline)
    if options.json:
        print(to_json(info, indent=2, default=str))
        return
    shortened = False
    for section, values in info.items():
        shown = values if options.credits else short_values(values)
        shortened = shortened or len(shown) < len(values)
        print(section)
        for name, value in shown.items():
            print(f"  {name}: {', '.join(map(str, value)) if isinstance(value, list | tuple) else value}")
    if shortened:
        print("\n`dtparse info --credits` also prints the licences and credits of the training data, and all settings.")


def short_values(values: dict[str, Any]) -> dict[str, Any]:
    """The values of a section that fit into a line each: without credits and settings of training, and without settings
    that are the model's own; only the names of treebanks."""
    shown = {}
    for name, value in values.items():
        names = [one["name"] for one in value if isinstance(one, dict)] if name == "treebanks" else []
        if names:
            shown[name] = list(dict.fromkeys(names))
        elif name not in _LONG and not isinstance(value, dict) and value != MODELS_OWN:
            shown[name] = value
    return shown


def collect(
    pipeline: str | None = None, model: str | None = None, budget: int | None = None, deadline: float | None = None
) -> dict[str, dict[str, Any]]:
    """Versions, pipeline and models as plain data by section.

    "parser" is the constituent parser. "dependency parser" is that of a bpm_parser, or the `model` itself if it is one;
    likewise "tagger".
    """
    import numba
    import spacy

    from ..jit.cache_state import cache_folder

    info: dict[str, dict[str, Any]] = {
        "software": {
            "spacy-dtparse": __version__,
            "spacy": spacy.__version__,
            "numba": numba.__version__,
            "python": platform.python_version(),
            "compiled kernels": str(cache_folder() or "in memory only (no writable folder)"),
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
        **{name: MODELS_OWN if value is None else value for name, value in settings.items()},
        **parser.describe(),
    }
    return {**description, **{name: value for name, value in parser.meta.items() if name not in description}}
