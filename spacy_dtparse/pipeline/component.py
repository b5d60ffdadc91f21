"""The spaCy components `dtparse`, `span_parser` and `pcfgla`: tokens in, constituents in `doc.spans` out; the model's
way is `model_pipe`'s. Importing this module registers all factories of the package, those of `dependencies` and
`spine_tagger`, too."""
# ruff: noqa: UP045 (older releases of spaCy know no X | None)

import warnings
from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple, Optional

from spacy.language import Language
from spacy.tokens import Doc

from ..checks import Setting, truth
from ..parsers.base import BatchParser, ParseResult
from ..parsers.calibration import Calibrated
from ..parsers.constraints import Constraints
from ..parsers.kinds import CONSTITUENT_FACTORIES
from ..parsers.settings import PcfgSettings, SearchSettings, SpanSettings
from . import boundaries, dependencies, recurrent_tagger, spine_tagger, suggester  # noqa: F401 (what they register)
from .batch_pipe import DEADLINE, THREADS, BatchPipe
from .constituents import DEFAULT_KEY, ParsedSentence, write_constituents
from .constraints import CONSTRAINTS_KEY, read_constraints
from .extensions import register_extensions
from .model_pipe import KEY, factory_of
from .phrases import read_noun_chunks, told_rules
from .scorer import parseval_score
from .sentences import SentenceInput
from .spines import SPINES_KEY, Offer, read_offers

ALL_FACTORIES = (*CONSTITUENT_FACTORIES, "bpm_parser", "spine_tagger")
"""The factories of all components of this package, none of which is needed for tags or sentence boundaries."""

_FACTS: dict[str, Any] = {
    "assigns": ["doc.spans", "doc._.constituents", "span._.labels", "span._.parse_string", "span._.head"],
    "default_score_weights": {
        "const_f": 1.0,
        **dict.fromkeys(
            ("const_p", "const_r", "const_f_evalb", "const_uf", "const_exact", "const_cross", "const_per_type")
        ),
    },
}
_SCORER = "spacy_dtparse.parseval_scorer.v1"


def optional_key(meaning: str) -> Setting:
    """A key of `doc.spans`, or None, which means that."""
    return Setting(
        lambda value: value is None or KEY.fits(value), f"{KEY.allowed}, or None for {meaning}", Optional[str]
    )


class SentencesRead(NamedTuple):
    """What is read of a Doc: its sentences, the spines that its words are offered, by their places, and the constraints
    of its sentences, by the sentences' numbers."""

    sentences: Sequence[SentenceInput]
    offers: Mapping[int, Offer]
    constraints: Mapping[int, Constraints] = {}

    @property
    def alone(self) -> bool:
        """Whether the sentences cannot be parsed together with those of other Docs."""
        return bool(self.offers or self.constraints)


class ConstituentPipe(BatchPipe):
    """A constituent parser as a pipeline component; a subclass says which parser, with which settings.

    `spans_key`: key of the result in `doc.spans`; warns when another component of the pipeline has it. `threads`,
    `deadline`: see `BatchPipe`; a sentence with constraints is parsed under them however long it takes.
    `probabilities`: whether each constituent and each sentence gets the probability that it is right
    (`span._.probability`, `sentence._.tree_probability`), which takes the time of another reading; the model must have
    a calibration (see `parsers.calibration`), else DtparseError is raised.

    `constraints_key`: key of the spans in `doc.spans` that must or must not be constituents (see
    `pipeline.constraints`); None: none are read.

    Reads `token.tag_` and sentence boundaries, never writes them. White-space tokens are not shown to the parser. A
    Doc without boundaries is taken as one sentence, with a warning once. Where the parser needs tags, a Doc without
    some of its tags gets XX there, with a warning once, and a Doc without any raises MissingAnnotationError, which
    goes to nlp's error handler. Where the parser reads spines (`reads_spines`) and all words of a sentence have some in
    `doc.spans[spines_key]`, as a spine_tagger before it writes them, they prune its search; with None they never do.
    """

    OWN = {  # noqa: RUF012 (never changed)
        "spans_key": (DEFAULT_KEY, KEY),
        "spines_key": (SPINES_KEY, optional_key("a parser that is to see no spines")),
        "threads": THREADS,
        "deadline": DEADLINE,
        "probabilities": (False, truth()),
        "constraints_key": (CONSTRAINTS_KEY, optional_key("a parser that is to obey no constraints")),
    }

    spines_key: str | None
    constraints_key: str | None
    probabilities: bool

    def __init__(self, name: str = "", *, scorer: Callable | None = parseval_score, **given: Any):
        super().__init__(name, scorer=scorer, **given)

    def prepare(self) -> None:
        """Register the attributes that read constituents."""
        register_extensions()

    def set_parser(self, parser: Any) -> None:
        """See `ModelPipe.set_parser`. Raises DtparseError for a parser that cannot tell probabilities, if it is to."""
        if self.probabilities:
            Calibrated(parser)
        super().set_parser(parser)

    @property
    def needs_tags(self) -> bool:
        """Whether a Doc must have tags: the parser reads them."""
        return True

    def join(self, nlp: Language) -> None:
        """Have `doc.noun_chunks` read constituents. Warn when a component that `nlp` has and runs writes the same key
        of `doc.spans` as this one will."""
        read_noun_chunks(nlp.vocab)
        for name, other in nlp.pipeline:
            if isinstance(other, ConstituentPipe) and other is not self and other.spans_key == self.spans_key:
                warnings.warn(
                    f"{self.name}: {name!r} of the same pipeline writes doc.spans[{self.spans_key!r}], too; the result "
                    f"of the later one replaces that of the other. To have both, give one of them a key of its own: "
                    f"config={{'spans_key': {self.name!r}}}",
                    stacklevel=3,
                )

    def begin(self, doc: Doc) -> SentencesRead:
        """The sentences of a Doc, the spines that its words are offered, and its constraints."""
        sentences = self._read(doc, self.needs_tags)
        constraints: Mapping[int, Constraints] = {}
        if self.constraints_key is not None and self.constraints_key in doc.spans:
            constraints = read_constraints(doc, self.constraints_key, sentences, self.configured_parser)
        return SentencesRead(sentences, self.offers(doc), constraints)

    def parse_read(self, read: Sequence[SentencesRead]) -> list[list[ParseResult | None]]:
        """The parses of each Doc's sentences: of those without spines and constraints together."""
        free = [sentence for one in read if not one.alone for sentence in one.sentences]
        together = iter(self._parse_all(SentencesRead(free, {}, {})))
        return [self._parse_all(one) if one.alone else list(islice(together, len(one.sentences))) for one in read]

    def write(self, doc: Doc, read: SentencesRead, found: Sequence[ParseResult | None]) -> None:
        """Set `doc.spans[self.spans_key]`."""
        parsed = [ParsedSentence(s.start, s.end, s.places, r) for s, r in zip(read.sentences, found, strict=True)]
        parser = self.parser
        write_constituents(doc, parsed, self.spans_key, parser.name, told_rules(parser, doc))
        read_noun_chunks(doc.vocab, doc)

    def in_time(self, parser: Any, deadline: float) -> Any:
        """The parser with a deadline; probabilities take as long as a parse."""
        from ..parsers.deadline import Deadline

        return Deadline(parser, deadline / 2 if self.probabilities else deadline)

    def offers(self, doc: Doc) -> Mapping[int, Offer]:
        """The likely spines of words by their places in the Doc, {} where the parser is not to see any."""
        if self.spines_key is None or not getattr(self.configured_parser, "reads_spines", False):
            return {}
        return read_offers(doc, self.spines_key)

    def _parse_all(self, read: SentencesRead) -> list[ParseResult | None]:
        """The parses of a Doc's sentences, with their probabilities if wanted; None for those without words."""
        found = self._parses(read)
        if not self.probabilities:
            return found
        told = Calibrated(self.configured_parser)
        return [
            result
            if result is None or result.deadline_struck  # there is no time for them
            else told.result(sentence.words, sentence.tags, result, read.constraints.get(number))
            for number, (sentence, result) in enumerate(zip(read.sentences, found, strict=True))
        ]

    def _parses(self, read: SentencesRead) -> list[ParseResult | None]:
        parser, (sentences, offers, constraints) = self.timed_parser, read
        if isinstance(parser, BatchParser) and not read.alone:
            found = iter(parser.parse_batch([(s.words, s.tags) for s in sentences if s.words]))
            return [next(found) if sentence.words else None for sentence in sentences]
        results = []
        for number, (_, _, words, tags, places) in enumerate(sentences):
            if number in constraints:
                results.append(self.configured_parser.parse_under(words, tags, constraints[number]))
                continue
            spines = [offers.get(place, ()) for place in places]
            given = (spines,) if offers and all(spines) else ()  # where all words have some
            results.append(parser.parse(words, tags, *given) if words else None)
        return results


class DtParse(ConstituentPipe):
    """Boosted decision trees.

    `budget`: the inferences scored per sentence before the search settles for the best tree so far; 0 parses greedily.
    `max_tokens`: longer sentences are parsed greedily. `confident`: a shift that scores more is taken without a look at
    the other inferences. `gate`: share of the right windows that may be dropped unscored. `trust`: what the beliefs of
    the model's reader count beside the trees. `sure`: probability from which on its word is taken unscored. `whole`:
    whether words that its treebanks never leave bare are taken up. `betas`: of spines, see `SearchSettings`.
    """

    factory = "dtparse"
    EMBEDDED = "en_dtparse"
    SETTINGS = SearchSettings.ALLOWED


def without_budget(allowed: Mapping[str, Setting]) -> dict[str, Setting]:
    """The settings of a parser that fills a chart, for which a budget means nothing."""
    return {name: setting for name, setting in allowed.items() if name != "budget"}


class SpanParse(ConstituentPipe):
    """A network that scores spans, and a chart over them.

    `max_tokens`: longer sentences are parsed by windows. `networks`: how many of the model's networks read.
    `confident`: where the first network is as sure, the others do not. `penalty`: from 0 to below 1, the probability
    that a constituent must have. `whole`: whether words that the treebank never leaves bare are taken up (see
    `SpanSettings`).

    Spines have no meaning here.
    """

    factory = "span_parser"
    EMBEDDED = "en_span"
    SETTINGS = without_budget(SpanSettings.ALLOWED)


class PcfgLa(ConstituentPipe):
    """A PCFG, which may have latent annotations and choose its words' tags.

    `tags`: "own" lets the grammar choose the words' tags, so that the Doc needs none and those it has are not looked
    at, "given" allows a word only the tag that it comes with; a grammar's own tags are never written to the Doc.
    `decoder`: "max-rule", "viterbi", "q" or "rerank", `prune`, `beam`: from 0 to below 1 (0 leaves out nothing),
    `candidates_n`, `betas`: see `PcfgSettings`. `max_tokens`: longer sentences are parsed in pieces. Raises
    ConfigError for a decoder that the model has not what it needs for.

    (spaCy knows no `requires` of a single component: that tags are needed with "given" is said at the first Doc.)
    """

    factory = "pcfgla"
    EMBEDDED = "en_pcfgla"
    SETTINGS = without_budget(PcfgSettings.ALLOWED)

    tags: str | None

    @property
    def needs_tags(self) -> bool:
        """Whether words may only have the tags of their Doc. Loads the model where the setting `tags` leaves it
        open."""
        if self.tags is not None:
            return self.tags == "given"
        return bool(getattr(self.configured_parser, "needs_tags", True))


make_dtparse = factory_of(DtParse, _SCORER, requires=["token.tag"], **_FACTS)
make_span_parser = factory_of(SpanParse, _SCORER, requires=["token.tag"], **_FACTS)
make_pcfgla = factory_of(PcfgLa, _SCORER, **_FACTS)
