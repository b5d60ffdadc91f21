"""The kinds of models, with the output, factory and parser class of each. No other module lists them."""

from importlib import import_module
from importlib.util import find_spec
from typing import Any, NamedTuple

from ..errors import ModelFormatError

CONSTITUENTS, DEPENDENCIES, TAGS = "constituents", "dependencies", "tags"
"""Kinds of output that a model builds."""

LOADERS = {CONSTITUENTS: "load_parser", DEPENDENCIES: "load_dependency_parser", TAGS: "load_tagger"}
"""Functions of this package that load a model, by its kind of output."""


class Kind(NamedTuple):
    """A kind of model.

    `name`: name in the header of its files, and `name` of its parser. `builds`: CONSTITUENTS, DEPENDENCIES or TAGS.
    `factory`: factory of the component, for nlp.add_pipe, and name of its subpackage. `module`, `parser`: the module
    there that defines the parser class, and the class. `noun`: description for messages.
    """

    name: str
    builds: str
    factory: str
    module: str
    parser: str
    noun: str

    def parser_class(self) -> Any:
        """Import and return the parser class."""
        return getattr(import_module(f"..{self.factory}.{self.module}", __package__), self.parser)


KINDS = {
    kind.name: kind
    for kind in (
        Kind("dtree", CONSTITUENTS, "dtparse", "parser", "DtreeParser", "an ensemble of boosted decision trees"),
        Kind("span", CONSTITUENTS, "span_parser", "parser", "SpanParser", "a network that scores spans"),
        Kind(
            "pretrained",
            CONSTITUENTS,
            "span_parser",
            "pretrained_parser",
            "PretrainedSpanParser",
            "a pretrained encoder that scores spans",
        ),
        Kind("pcfg", CONSTITUENTS, "pcfgla", "parser", "PcfgParser", "a probabilistic context-free grammar"),
        Kind("dependency", DEPENDENCIES, "bpm_parser", "parser", "DependencyParser", "a dependency parser"),
        Kind("recurrent", TAGS, "recurrent_tagger", "tagger", "RecurrentTagger", "a recurrent tagger"),
        Kind("tagger", TAGS, "spine_tagger", "tagger", "SequenceTagger", "a tagger of words"),
    )
    if find_spec(f"..{kind.factory}", __package__) is not None
}
"""The kinds by name, without those whose subpackage was removed."""

BOOSTED_TREES = "dtree"
"""The kind of models that can contain a span model."""
SPAN_MODEL_KINDS = ("span", "pretrained")
"""The kinds that a boosted-tree model can contain as its span model."""
SPAN_MODEL_ARRAY = "reader"
"""Stored name of the array with the bytes of that span model."""

CONSTITUENT_FACTORIES = tuple(dict.fromkeys(kind.factory for kind in KINDS.values() if kind.builds == CONSTITUENTS))
"""The factories of constituent parsers."""


def parser_from_bytes(data: bytes, builds: str, self_test: bool = True) -> Any:
    """Load the parser from a model's bytes; `self_test`: see `StoredParser.from_bytes`. Raises ModelFormatError for a
    damaged or unknown model, and for one that does not build `builds`."""
    from ..model_io.container import container_kind

    name = container_kind(data)
    kind = KINDS.get(name)
    if kind is None:
        raise ModelFormatError(
            f"this release has no parser for model files of kind {name!r}, only {', '.join(map(repr, KINDS))}; install "
            "a newer spacy-dtparse"
        )
    if kind.builds != builds:
        raise ModelFormatError(
            f"a model of kind {name!r} ({kind.noun}) builds {kind.builds}, not {builds}; use it with "
            f"nlp.add_pipe({kind.factory!r}, config={{'model': …}}) or spacy_dtparse.core.{LOADERS[kind.builds]}"
        )
    return kind.parser_class().from_bytes(data, self_test=self_test)
