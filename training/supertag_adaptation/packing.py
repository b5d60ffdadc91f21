"""Open pipelines, and write them with a spine_tagger before the parser."""

import shutil
from collections.abc import Sequence
from pathlib import Path

import spacy
from spacy.language import Language

from spacy_dtparse.cli.pipelines import component_name, get_component, has_constituents, load_language, put_parser
from spacy_dtparse.core import Capability, Parser
from spacy_dtparse.dtparse.parser import DtreeParser
from spacy_dtparse.errors import ConfigError
from spacy_dtparse.models import open_parser
from spacy_dtparse.pipeline.spines import SPINES_KEY
from spacy_dtparse.spine_tagger.component import SpineTagger
from spacy_dtparse.trees import COLLINS, HeadRules

from ..data.assemble import check_target
from .measuring import Prunable

EMBEDDED = "embedded"
"""Name of the English pipeline, and of the English boosted trees."""
EMBEDDED_PCFGLA = "embedded-pcfgla"
"""Name of the English grammar with latent annotations."""
_REPLACEMENTS = (
    f"boosted trees or a grammar (--parser FILE, --parser {EMBEDDED}: the English trees, --parser {EMBEDDED_PCFGLA}: "
    "the English grammar)"
)


def open_pipeline(pipeline: str, parser: Path | None = None, betas: tuple[float, ...] | None = None) -> Language:
    """Open a pipeline whose first constituency parser can use spines; `parser`, `betas`: see `Adaptation`.

    Raises ModelFormatError if there is no such pipeline or model, or the component does not accept such models,
    ConfigError if its parser does not use spines.
    """
    nlp = load_language(None if pipeline == EMBEDDED else pipeline)
    if parser is None and not has_constituents(nlp):
        raise ConfigError(
            f"the pipeline {pipeline} has no constituency parser, only {', '.join(nlp.pipe_names) or 'nothing'}; add "
            f"one, or give {_REPLACEMENTS}"
        )
    new_parser: Parser | None = None
    if parser is not None:
        embedded = {EMBEDDED: "en_trees", EMBEDDED_PCFGLA: "en_pcfgla"}.get(str(parser))
        new_parser = open_parser(embedded or parser)
    component = put_parser(nlp, new_parser)
    name = component_name(nlp)
    if Capability.SUPERTAGS not in component.parser.capabilities:
        raise ConfigError(
            f"{name!r} of the pipeline {pipeline} has a parser of kind {component.parser.name!r}, which does not use "
            f"spines; replace it by {_REPLACEMENTS}"
        )
    if betas is not None:
        set_betas(nlp, betas)
    if not component.configured_parser.settings.betas:
        raise ConfigError(f"{name!r} of the pipeline {pipeline} has no betas; give some, such as --betas 0.1 0.01")
    return nlp


def set_betas(nlp: Language, betas: Sequence[float]) -> None:
    """Set the betas of the first constituency parser. Raises ConfigError for other values."""
    get_component(nlp).betas = list(betas)  # type: ignore[attr-defined]


def parser_head_rules(parser: Prunable) -> HeadRules:
    """The head rules of a parser: for boosted trees those in the model, for a grammar those with which
    `training.pcfgla.binarise` binarises."""
    return parser.model.heads if isinstance(parser, DtreeParser) else COLLINS


def write_pipeline(nlp: Language, tagger: Path, out: Path) -> Language:
    """Add a tagger's model file before the first constituency parser of `nlp`, replacing a spine_tagger that writes the
    same key, and write the folder `out`, with licence files; returns the pipeline loaded from there.

    Raises ConfigError if `out` exists and is no pipeline.
    """
    check_target(out)
    name, component = component_name(nlp), get_component(nlp)
    key = component.spines_key or SPINES_KEY
    for other, pipe in list(nlp.pipeline):
        if isinstance(pipe, SpineTagger) and pipe.spans_key == key:
            nlp.remove_pipe(other)
    component.spines_key = nlp.get_pipe_config(name)["spines_key"] = key
    parser = component.configured_parser
    component_id = "spine_tagger" if "spine_tagger" not in nlp.component_names else f"{name}_spine_tagger"
    config = {"model": str(tagger), "beta": min(parser.settings.betas), "spans_key": key}
    nlp.add_pipe("spine_tagger", component_id, before=name, config=config)
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
