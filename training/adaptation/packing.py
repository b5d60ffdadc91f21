"""Pipelines in, and out with a spine_tagger before dtparse."""

from __future__ import annotations

import shutil
from pathlib import Path

import spacy
from spacy.language import Language

from spacy_dtparse.cli.pipelines import load_language
from spacy_dtparse.errors import ConfigError
from spacy_dtparse.models import embedded_trees, find_model
from spacy_dtparse.parsers import load_parser
from spacy_dtparse.pipeline.component import DtParse, SpineTagger
from spacy_dtparse.pipeline.spines import SPINES_KEY

from ..assemble import check_target

EMBEDDED = "embedded"
"""Stands for the English pipeline, and for the English boosted trees."""


def open_pipeline(pipeline: str, parser: Path | None = None, betas: tuple[float, ...] | None = None) -> Language:
    """A pipeline whose dtparse reads spines; `parser`, `betas`: see `Adaptation`.

    Raises ModelFormatError when there is no such pipeline or model, ConfigError when its parser makes no use of spines.
    """
    nlp = load_language(None if pipeline == EMBEDDED else pipeline)
    if not any(nlp.get_pipe_meta(name).factory == "dtparse" for name in nlp.pipe_names):
        if parser is None:
            raise ConfigError(
                f"the pipeline {pipeline} has no dtparse, only {', '.join(nlp.pipe_names) or 'nothing'}; add one, or "
                f"give boosted trees (--parser FILE, or --parser {EMBEDDED}: the English ones)"
            )
        nlp.add_pipe("dtparse")
    name, component = find_dtparse(nlp)
    if parser is not None:
        component.set_parser(load_parser(embedded_trees() if str(parser) == EMBEDDED else find_model(parser)))
    if not getattr(component.parser, "reads_spines", False):
        raise ConfigError(
            f"{name!r} of the pipeline {pipeline} has a parser of kind {component.parser.name!r}, whose search spines "
            f"do not prune; give boosted trees in its place (--parser FILE, or --parser {EMBEDDED}: the English ones)"
        )
    if betas is not None:
        component.settings = {**(component.settings or {}), "betas": list(betas)}
        component.set_parser(component.parser)
        nlp.get_pipe_config(name)["settings"] = component.settings
    if not component.configured_parser.settings.betas:
        raise ConfigError(f"{name!r} of the pipeline {pipeline} has no betas; give some, such as --betas 0.1 0.01")
    return nlp


def find_dtparse(nlp: Language) -> tuple[str, DtParse]:
    """The name of the first dtparse of a pipeline that has one, and the component."""
    name = next(name for name in nlp.pipe_names if nlp.get_pipe_meta(name).factory == "dtparse")
    component = nlp.get_pipe(name)
    assert isinstance(component, DtParse)
    return name, component


def write_pipeline(nlp: Language, tagger: Path, out: Path) -> Language:
    """Put a tagger's model file before the dtparse of `nlp`, in place of a spine_tagger that writes the same key, and
    write the folder `out`, with licence files; what is returned is loaded from there.

    Raises ConfigError when `out` is something else than a pipeline.
    """
    check_target(out)
    name, component = find_dtparse(nlp)
    key = component.spines_key or SPINES_KEY
    for other, pipe in list(nlp.pipeline):
        if isinstance(pipe, SpineTagger) and pipe.spans_key == key:
            nlp.remove_pipe(other)
    component.spines_key = nlp.get_pipe_config(name)["spines_key"] = key
    parser = component.configured_parser
    own = "spine_tagger" if "spine_tagger" not in nlp.component_names else f"{name}_spine_tagger"
    config = {"model": str(tagger), "beta": min(parser.settings.betas), "spans_key": key}
    nlp.add_pipe("spine_tagger", own, before=name, config=config)
    meta = nlp.meta
    meta["performance"] = {k: v for k, v in meta.get("performance", {}).items() if not k.startswith("const_")}
    meta["credits"] = list(dict.fromkeys([*meta.get("credits", []), *parser.meta.get("credits", [])]))
    notices = {} if nlp.path is None else {p.name: p.read_bytes() for p in Path(nlp.path).glob("LICENSE*")}
    if out.exists():
        shutil.rmtree(out)
    nlp.to_disk(out)
    for file, text in notices.items():
        (out / file).write_bytes(text)
    return spacy.load(out)
