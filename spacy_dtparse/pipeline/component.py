"""The spaCy components `dtparse` and `pcfgla`: tokens in, constituents in `doc.spans` out; see `base` for what both do.
Importing this module registers all factories of the package, those of `dependencies`, `spine_tagger` and
`spine_tok2vec`, too.

spaCy imports this module in every spacy.blank() and spacy.load() of the environment, so it must stay light:
parsers and numba are imported where a model is loaded. (No `from __future__ import annotations` here: spaCy
reads the annotations of the factories.)
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Optional, Union

from spacy.language import Language

from ..models import embedded_latent_model, embedded_model
from .base import ALL_FACTORIES, ASSIGNS, FACTORIES, SCORE_WEIGHTS, ConstituentPipe, default_config
from .boundaries import visible_sentences
from .dependencies import BpmParser, make_bpm_parser
from .model_pipe import MORE, SAVED, more_settings, one_of, share, whole_number
from .spine_tagger import SpineTagger, make_spine_tagger
from .spine_tok2vec import SpineTok2Vec, make_spine_tok2vec

__all__ = [
    "ALL_FACTORIES",
    "FACTORIES",
    "SAVED",
    "BpmParser",
    "ConstituentPipe",
    "DtParse",
    "PcfgLa",
    "SpineTagger",
    "SpineTok2Vec",
    "make_bpm_parser",
    "make_dtparse",
    "make_pcfgla",
    "make_spine_tagger",
    "make_spine_tok2vec",
    "visible_sentences",
]


class DtParse(ConstituentPipe):
    """Parsing with a span network, with boosted decision trees, or with any other parser of the package; see
    `make_dtparse`.

    Tags are needed, whatever the parser.
    """

    factory = "dtparse"
    default_model = staticmethod(embedded_model)
    SETTINGS = {  # noqa: RUF012 (never changed)
        "budget": whole_number(0),
        "max_tokens": whole_number(0),
        MORE: more_settings(),
    }

    budget: Optional[int]  # noqa: UP045
    max_tokens: Optional[int]  # noqa: UP045


class PcfgLa(ConstituentPipe):
    """Parsing with a PCFG, which may have latent annotations and choose its words' tags; see `make_pcfgla`.

    With tags "own" (as the setting or the model says) a Doc needs no tags and those it has are not looked at.
    """

    factory = "pcfgla"
    default_model = staticmethod(embedded_latent_model)
    SETTINGS = {  # noqa: RUF012 (never changed)
        "tags": one_of("own", "given"),
        "decoder": one_of("max-rule", "viterbi", "q", "rerank"),
        "prune": share(),
        "beam": share(),
        "max_tokens": whole_number(1),
        MORE: more_settings(),
    }
    """A setting of PcfgSettings has a line here and one in the signature of `make_pcfgla`, or is one of `settings`."""
    ELSEWHERE = {**ConstituentPipe.ELSEWHERE, "dtree": "dtparse", "span": "dtparse"}  # noqa: RUF012

    tags: Optional[str]  # noqa: UP045

    @property
    def needs_tags(self) -> bool:
        """Whether words may only have the tags of their Doc. Loads the model where the setting `tags` leaves it
        open."""
        if self.tags is not None:
            return self.tags == "given"
        return bool(getattr(self.configured_parser, "needs_tags", True))


@Language.factory(
    "dtparse",
    requires=["token.tag"],
    assigns=ASSIGNS,
    default_config=default_config(DtParse.SETTINGS),
    default_score_weights=SCORE_WEIGHTS,
)
def make_dtparse(
    nlp: Language,
    name: str,
    model: Optional[Union[str, Path]],  # noqa: UP007, UP045
    budget: Optional[int],  # noqa: UP045
    max_tokens: Optional[int],  # noqa: UP045
    settings: Optional[dict[str, Any]],  # noqa: UP045
    spans_key: str,
    spines_key: Optional[str],  # noqa: UP045
    scorer: Optional[Callable],  # noqa: UP045
) -> DtParse:
    """Build the component for `nlp.add_pipe("dtparse", config={…})`.

    `model`: None for the embedded English model (loaded at the first Doc), or the path of a model file or
    of a folder with one. A path is read at once; where it is gone the component waits for its data from
    disk and says so. `budget`: of boosted trees the inferences scored per sentence before the search settles
    for the best tree so far; 0 parses greedily, or with the first network alone. `max_tokens`: longer
    sentences are parsed greedily, or cut. `settings`: more of them by name, those of the model's kind of parser:
    networks, confident, penalty, whole of a span model (see `parsers.span.settings`), confident, gate, betas of boosted
    trees (see `parsers.dtree.settings`), prune, betas and others of a PCFG (see `parsers.pcfg.settings`). None for any
    of these is the model's own setting. `spans_key`: key of the result in `doc.spans`; warns when another component of
    the pipeline has it. `spines_key`: key of the spines that prune the search of a parser that reads them; None: they
    never do. Raises ConfigError for a value that is not allowed, and, when the model is loaded, for `settings` that its
    parser does not have.
    """
    return _attached(DtParse, locals())


@Language.factory(
    "pcfgla",
    assigns=ASSIGNS,
    default_config=default_config(PcfgLa.SETTINGS),
    default_score_weights=SCORE_WEIGHTS,
)
def make_pcfgla(
    nlp: Language,
    name: str,
    model: Optional[Union[str, Path]],  # noqa: UP007, UP045
    tags: Optional[str],  # noqa: UP045
    decoder: Optional[str],  # noqa: UP045
    prune: Optional[float],  # noqa: UP045
    beam: Optional[float],  # noqa: UP045
    max_tokens: Optional[int],  # noqa: UP045
    settings: Optional[dict[str, Any]],  # noqa: UP045
    spans_key: str,
    spines_key: Optional[str],  # noqa: UP045
    scorer: Optional[Callable],  # noqa: UP045
) -> PcfgLa:
    """Build the component for `nlp.add_pipe("pcfgla", config={…})`.

    `model`: None for the embedded English grammar with latent annotations (loaded at the first Doc), or a path as
    `make_dtparse` takes it, of a model of kind `pcfg`. `tags`: "own" lets the grammar choose the words' tags, so that
    the Doc needs none, "given" allows a word only the tag that it comes with; a grammar's own tags are never written to
    the Doc. `decoder`: "max-rule", "viterbi", "q" or "rerank", `prune`, `beam`: from 0 to below 1 (0 leaves out
    nothing), see `parsers.pcfg.settings`. `max_tokens`: longer sentences are parsed in pieces. `settings`: more of them
    by name: betas, candidates_n. None for any of these is the model's or the parser's own setting. `spans_key`,
    `spines_key`: see `make_dtparse`. Raises ConfigError for a value that is not allowed, or a decoder that the model
    has not what it needs for, ModelFormatError for a model of another kind.

    (spaCy knows no `requires` of a single component: that tags are needed with "given" is said at the first Doc.)
    """
    return _attached(PcfgLa, locals())


def _attached(kind: type, arguments: dict[str, Any]) -> Any:
    """The component of a factory's arguments, which remembers its pipeline."""
    nlp = arguments.pop("nlp")
    component = kind(**arguments)
    component.attach(nlp)
    component.warn_of_others(nlp)
    return component
