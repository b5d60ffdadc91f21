"""The spaCy components `dtparse`, `span_parser` and `pcfgla`: tokens in, constituents in `doc.spans` out; see `base`
for what all do. Importing this module registers all factories of the package, those of `dependencies` and
`spine_tagger`, too.

spaCy imports this module in every spacy.blank() and spacy.load() of the environment, so it must stay light:
parsers and numba are imported where a model is loaded. (No `from __future__ import annotations` here: spaCy
reads the annotations of the factories.)
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, List, Optional, Union  # noqa: UP035 (spaCy resolves the factories')

from spacy.language import Language

from ..checks import one_of, real_number, share, shares, truth, whole_number
from ..errors import ConfigError
from ..models import embedded_latent_model, embedded_model, embedded_trees
from .base import ALL_FACTORIES, ASSIGNS, FACTORIES, SCORE_WEIGHTS, ConstituentPipe, default_config
from .boundaries import visible_sentences
from .dependencies import BpmParser, make_bpm_parser
from .model_pipe import SAVED
from .spine_tagger import SpineTagger, make_spine_tagger

__all__ = [
    "ALL_FACTORIES",
    "FACTORIES",
    "SAVED",
    "BpmParser",
    "ConstituentPipe",
    "DtParse",
    "PcfgLa",
    "SpanParse",
    "SpineTagger",
    "make_bpm_parser",
    "make_dtparse",
    "make_pcfgla",
    "make_span_parser",
    "make_spine_tagger",
    "visible_sentences",
]


class DtParse(ConstituentPipe):
    """Parsing with an ensemble of boosted decision trees; see `make_dtparse`.

    A pipeline that 0.1.0 saved may have a network under this name; it is read with a warning.
    """

    factory = "dtparse"
    default_model = staticmethod(embedded_trees)
    SETTINGS = {  # noqa: RUF012 (never changed)
        "budget": whole_number(0),
        "max_tokens": whole_number(0),
        "confident": real_number(0),
        "gate": share(),
        "betas": shares(),
    }

    _guest = False
    """Whether a network that 0.1.0 saved may be taken."""
    _of_guest: Mapping[str, Any] = {}
    """The settings that only such a network has."""

    def _from_table(self, name: str, table: Optional[Mapping[str, Any]]) -> dict[str, Any]:  # noqa: UP045
        typed = super()._from_table(name, table)
        of_guest = [setting for setting in typed if setting in ("networks", "penalty", "whole")]
        self._of_guest = {setting: typed.pop(setting) for setting in of_guest}
        return typed

    def _takes(self, parser: Any) -> bool:
        return super()._takes(parser) or (self._guest and parser.name == "span")

    def _given(self, parser: Any) -> dict[str, Any]:
        if self._of_guest and parser.name != "span":
            raise ConfigError(
                f"{self.name}: a parser of kind {parser.name!r} has no setting {', '.join(self._of_guest)}; take it out"
            )
        return {**super()._given(parser), **self._of_guest}

    def _load_saved(self, source: Union[Path, bytes]) -> None:  # noqa: UP007
        self._guest = True
        super()._load_saved(source)
        self._guest = self.parser.name == "span"
        if self._guest:
            self._warn_once(
                "guest",
                f"{self.name}: the model of this pipeline is a network (kind 'span'), which spacy-dtparse 0.1.0 had "
                "under 'dtparse'; its factory is 'span_parser' now. It is used as it is. To be rid of this warning put "
                "nlp.add_pipe('span_parser', config={'model': …}) with this model file in the place of the component, "
                "and save the pipeline again",
            )


class SpanParse(ConstituentPipe):
    """Parsing with a network that scores spans, and a chart over them; see `make_span_parser`."""

    factory = "span_parser"
    default_model = staticmethod(embedded_model)
    SETTINGS = {  # noqa: RUF012 (never changed)
        "max_tokens": whole_number(0),
        "networks": whole_number(1),
        "confident": real_number(0),
        "penalty": share(),
        "whole": truth(),
    }


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
        "candidates_n": whole_number(1),
        "betas": shares(),
    }
    """A setting of PcfgSettings has a line here and one in the signature of `make_pcfgla`."""

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
    confident: Optional[float],  # noqa: UP045
    gate: Optional[float],  # noqa: UP045
    betas: Optional[List[float]],  # noqa: UP006, UP045
    settings: Optional[dict[str, Any]],  # noqa: UP045
    spans_key: str,
    spines_key: Optional[str],  # noqa: UP045
    scorer: Optional[Callable],  # noqa: UP045
) -> DtParse:
    """Build the component for `nlp.add_pipe("dtparse", config={…})`: boosted decision trees.

    `model`: None for the embedded English ensemble (loaded at the first Doc), or the path of a model file or
    of a folder with one. A path is read at once; where it is gone the component waits for its data from
    disk and says so. `budget`: the inferences scored per sentence before the search settles for the best tree so far; 0
    parses greedily. `max_tokens`: longer sentences are parsed greedily. `confident`: a shift that scores more is taken
    without a look at the other inferences. `gate`: share of the right windows that may be dropped unscored. `betas`: of
    spines, see `parsers.dtree.settings`. None for any of these is the model's own setting. `settings`: what 0.1.0 had
    in such a table. `spans_key`: key of the result in `doc.spans`; warns when another component of the pipeline has it.
    `spines_key`: key of the spines that prune the search; None: they never do. Raises ConfigError for a value that is
    not allowed, ModelFormatError for a model of another kind.
    """
    return _attached(DtParse, locals())


@Language.factory(
    "span_parser",
    requires=["token.tag"],
    assigns=ASSIGNS,
    default_config=default_config(SpanParse.SETTINGS),
    default_score_weights=SCORE_WEIGHTS,
)
def make_span_parser(
    nlp: Language,
    name: str,
    model: Optional[Union[str, Path]],  # noqa: UP007, UP045
    max_tokens: Optional[int],  # noqa: UP045
    networks: Optional[int],  # noqa: UP045
    confident: Optional[float],  # noqa: UP045
    penalty: Optional[float],  # noqa: UP045
    whole: Optional[bool],  # noqa: UP045
    settings: Optional[dict[str, Any]],  # noqa: UP045
    spans_key: str,
    spines_key: Optional[str],  # noqa: UP045
    scorer: Optional[Callable],  # noqa: UP045
) -> SpanParse:
    """Build the component for `nlp.add_pipe("span_parser", config={…})`: a network that scores spans, and a chart.

    `model`: None for the embedded English network, or a path as `make_dtparse` takes it, of a model of kind `span`.
    `max_tokens`: longer sentences are cut before the chart. `networks`: how many of the model's networks read.
    `confident`: where the first network is as sure, the others do not. `penalty`: from 0 to below 1, the probability
    that a constituent must have. `whole`: whether words that the treebank never leaves bare are taken up (see
    `parsers.span.settings`). None for any of these is the parser's own setting. `spans_key`: see `make_dtparse`;
    `settings`, `spines_key`: there for all constituent parsers, and without meaning here. Raises ConfigError for a
    value that is not allowed, ModelFormatError for a model of another kind.
    """
    return _attached(SpanParse, locals())


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
    candidates_n: Optional[int],  # noqa: UP045
    betas: Optional[List[float]],  # noqa: UP006, UP045
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
    nothing), `candidates_n`, `betas`: see `parsers.pcfg.settings`. `max_tokens`: longer sentences are parsed in pieces.
    None for any of these is the model's or the parser's own setting. `settings`, `spans_key`, `spines_key`: see
    `make_dtparse`. Raises ConfigError for a value that is not allowed, or a decoder that the model
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
