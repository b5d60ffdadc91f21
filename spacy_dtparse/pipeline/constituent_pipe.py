"""A constituent parser as a spaCy component: tokens in, constituents in `doc.spans` out. `model_pipe` loads, saves and
copies the models."""
# ruff: noqa: UP045 (older releases of spaCy do not support X | None)

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Optional

from spacy.language import Language
from spacy.tokens import Doc

from ..checks import Setting, boolean, one_of
from ..core.calibration import ResultCalibrator
from ..core.constraints import Constraints
from ..core.document_labels import filter_document_labels
from ..core.parser import Capability, Parser, ParseResult, Posteriors
from ..core.settings import LABEL_POLICIES
from ..errors import DtparseError
from .batch_pipe import DEADLINE, THREADS, BatchPipe
from .boundary_changes import LATER_SETTERS
from .constituent_group import raw_attrs
from .constituents import DEFAULT_KEY
from .constraints import CONSTRAINTS_KEY, read_constraints
from .dependencies import UnlabelledHeads, write_dependencies
from .extensions import register_extensions
from .model_pipe import KEY
from .phrases import (
    CHUNK_SOURCES,
    has_package_dependencies,
    head_rules_entry,
    head_rules_for,
    mark_package_dependencies,
    set_noun_chunks_source,
)
from .scorer import parseval_score
from .second_tags import add_second_tags
from .sentences import SentenceInput, WordPositions
from .shared_keys import ASSIGNED, warn_of_shared_key
from .spines import SPINES_KEY, Supertags, read_supertags
from .writing import ParsedSentence, write_constituents

FACTORY_METADATA: dict[str, Any] = {
    "assigns": ["doc.spans", ASSIGNED, "span._.labels", "span._.parse_string", "span._.head"],
    "default_score_weights": {
        "const_f": 1.0,
        **dict.fromkeys(
            ("const_p", "const_r", "const_f_evalb", "const_uf", "const_exact", "const_cross", "const_per_type")
        ),
    },
}
SCORER = "spacy_dtparse.parseval_scorer.v1"


def optional_key(meaning: str) -> Setting:
    """A key of `doc.spans`, or None; `meaning`: the meaning of None, for messages."""
    return Setting(
        lambda value: value is None or KEY.fits(value), f"{KEY.allowed}, or None for {meaning}", Optional[str]
    )


class ParserInput(NamedTuple):
    """The parser's input for a Doc: its sentences, the supertag candidates (spines) of its words by position, and the
    constraints by sentence index."""

    sentences: Sequence[SentenceInput]
    supertags: Mapping[int, Supertags]
    constraints: Mapping[int, Constraints] = {}

    @property
    def is_separate(self) -> bool:
        """Whether these sentences cannot be parsed in one batch with those of other Docs."""
        return bool(self.supertags or self.constraints)


class ConstituentPipe(BatchPipe):
    """A constituent parser as a pipeline component; subclasses define the parser and its settings.

    `spans_key`: key of the result in `doc.spans`; warns if another component of the pipeline has it. `threads`,
    `deadline`: see `BatchPipe`; the deadline does not apply to a sentence with constraints. `probabilities`: whether to
    set the probability that each constituent and each sentence is right (`span._.probability`,
    `sentence._.tree_probability`); the model must have a calibration (see
    `core.calibration`), else DtparseError is raised.

    `noun_chunks`: the source of `doc.noun_chunks`: "constituents", "dependencies", or "auto": the dependencies of a Doc
    that has some, else its constituents (see `phrases.NounChunks`).

    `heads`: whether to set `token.head` by the head rules of the constituents, with `token.dep_` "ROOT" or "dep", in
    Docs without dependencies, so that spaCy's `span.root` is the head of a constituent.

    `document_labels`: whether trees have the labels of the parts of an article (CAPTION, HEADING, TITLE), which a model
    knows that was trained on CRAFT: "always", "never", or "auto": over words without a verb, and over a sentence with a
    verb if the probability is high. Elsewhere the constituent below stands in their place (see
    `core.document_labels`).

    `constraints_key`: key of the spans in `doc.spans` that must or must not be constituents (see
    `pipeline.constraints`); None: no constraints.

    Reads `token.tag_` and sentence boundaries, never writes them. White-space tokens are not passed to the parser. A
    Doc without boundaries is parsed as one sentence, with a warning once. If the parser needs tags, words without one
    get XX, with a warning once, and a Doc without any tags raises MissingAnnotationError, which goes to nlp's error
    handler. If the parser uses supertags (Capability.SUPERTAGS) and all words of a sentence have some in
    `doc.spans[spines_key]`, written by a spine_tagger earlier in the pipeline, they prune its search; with `spines_key`
    None they are not used. If the parser uses second-best tags (Capability.SECOND_TAGS), it gets those that
    recurrent_tagger stored in the Doc.
    """

    COMPONENT_SETTINGS = {  # noqa: RUF012 (never changed)
        "spans_key": (DEFAULT_KEY, KEY),
        "spines_key": (SPINES_KEY, optional_key("a parser that does not use spines")),
        "threads": THREADS,
        "deadline": DEADLINE,
        "probabilities": (False, boolean()),
        "noun_chunks": ("auto", one_of(*CHUNK_SOURCES)),
        "heads": (False, boolean()),
        "document_labels": ("auto", one_of(*LABEL_POLICIES)),
        "constraints_key": (CONSTRAINTS_KEY, optional_key("a parser without constraints")),
    }

    spines_key: str | None
    constraints_key: str | None
    probabilities: bool
    noun_chunks: str
    heads: bool
    document_labels: str

    def __init__(self, name: str = "", *, scorer: Callable | None = parseval_score, **settings: Any):
        super().__init__(name, scorer=scorer, **settings)

    def prepare(self) -> None:
        """Register the extension attributes for constituents."""
        register_extensions()

    def set_parser(self, parser: Any) -> None:
        """See `ModelPipe.set_parser`. Raises DtparseError for a parser without a calibration if `probabilities` is
        on."""
        if self.probabilities:
            ResultCalibrator(parser)
        super().set_parser(parser)
        self.timed = None
        if self.deadline is not None:
            from ..core.deadline import Deadline  # numba

            self.timed = Deadline(self.configured_parser, self.deadline)

    def _configure(self, parser: Any) -> Any:
        return filter_document_labels(super()._configure(parser), self.document_labels)

    @property
    def needs_tags(self) -> bool:
        """Whether a Doc must have tags because the parser uses them."""
        return True

    def on_add(self, nlp: Language) -> None:
        """Give `doc.noun_chunks` its source. Warn if an active component of `nlp` writes the same key of `doc.spans` as
        this one."""
        set_noun_chunks_source(nlp.vocab, source=self.noun_chunks)
        warn_of_shared_key(self, nlp)

    def read_doc(self, doc: Doc) -> ParserInput:
        """Return the sentences of a Doc, the supertag candidates of its words, and its constraints."""
        sentences: Sequence[SentenceInput] = self._read_sentences(doc, self.needs_tags)
        if Capability.SECOND_TAGS in self.configured_parser.capabilities:
            sentences = add_second_tags(doc, sentences)
        constraints: Mapping[int, Constraints] = {}
        if self.constraints_key is not None and self.constraints_key in doc.spans:
            constraints = read_constraints(doc, self.constraints_key, sentences, self.configured_parser)
        return ParserInput(sentences, self.supertags(doc), constraints)

    def predict(self, inputs: Sequence[ParserInput]) -> list[list[ParseResult | None]]:
        """Parse each Doc's sentences; those without supertags and constraints in one batch."""
        parsers = self.configured_parser, self.timed_parser
        places = [(d, s) for d, one in enumerate(inputs) for s in range(len(one.sentences))]
        found: dict[tuple[int, int], tuple[ParseResult, Posteriors]] = {}
        batch = []
        for d, s in places:
            sentence = inputs[d].sentences[s]
            if not sentence.words:
                continue
            separate = inputs[d].is_separate and self._parse_separately(parsers[1], inputs[d], s)
            if separate:
                found[d, s] = separate
            else:
                batch.append((d, s))
        tagged_words = [inputs[d].sentences[s][2:4] for d, s in batch]
        if self.probabilities:
            found |= zip(batch, parsers[1].parse_with_posteriors(tagged_words), strict=True)
        else:
            found |= zip(batch, ((one, {}) for one in parsers[1].parse_batch(tagged_words)), strict=True)
        results: dict[tuple[int, int], ParseResult] = {place: one for place, (one, _) in found.items()}
        if self.probabilities:
            timely = [place for place in found if not results[place].deadline_exceeded]
            constraints = [inputs[d].constraints.get(s) for d, s in timely]
            calibrated = ResultCalibrator(parsers[0]).with_probabilities(
                [results[place] for place in timely], [found[place][1] for place in timely], constraints
            )
            results |= zip(timely, calibrated, strict=True)
        return [[results.get((d, s)) for s in range(len(one.sentences))] for d, one in enumerate(inputs)]

    def _parse_separately(
        self, parser: Parser, parser_input: ParserInput, index: int
    ) -> tuple[ParseResult, Posteriors] | None:
        """Parse a sentence with constraints or supertags, and compute its posteriors if probabilities are wanted; None
        if it has neither."""
        _, _, words, tags, positions = parser_input.sentences[index]
        if index in parser_input.constraints:
            result = parser.parse_constrained(words, tags, parser_input.constraints[index])
        else:
            candidates = [parser_input.supertags.get(i, ()) for i in positions]
            if not all(candidates):  # only if every word has some
                return None
            result = parser.parse(words, tags, candidates)
        wanted = self.probabilities and not result.deadline_exceeded
        return result, parser.span_posteriors(words, tags) if wanted else {}

    def set_annotations(self, doc: Doc, parser_input: ParserInput, results: Sequence[ParseResult | None]) -> None:
        """Set `doc.spans[self.spans_key]`."""
        parsed = [
            ParsedSentence(s.start, s.end, s.positions, r) for s, r in zip(parser_input.sentences, results, strict=True)
        ]
        parser = self.parser
        head_rules = head_rules_entry(parser, doc)
        write_constituents(doc, parsed, self.spans_key, parser.name, head_rules, self.noun_chunks)
        if later := self._later_sentence_setters():
            raw_attrs(doc.spans[self.spans_key])[LATER_SETTERS] = later
        set_noun_chunks_source(doc.vocab, doc, self.noun_chunks, parser.labels)
        if self.heads and len(doc) and not doc.has_annotation("DEP"):
            self._set_heads(doc, parsed)
        if self.noun_chunks == "auto" and has_package_dependencies(doc):
            mark_package_dependencies(doc.vocab, doc)

    def _set_heads(self, doc: Doc, parsed: Sequence[ParsedSentence]) -> None:
        rules = head_rules_for(doc, self.spans_key)
        trees = [one.result.tree if isinstance(one.result, ParseResult) else one.result for one in parsed]
        write_dependencies(
            doc,
            [WordPositions(one.start, one.end, one.positions) for one in parsed],
            [None if tree is None else UnlabelledHeads(rules.links(tree)[0]) for tree in trees],
        )
        mark_package_dependencies(doc.vocab)

    def supertags(self, doc: Doc) -> Mapping[int, Supertags]:
        """The supertag candidates of words by position in the Doc, {} if the parser does not use them."""
        if self.spines_key is None or Capability.SUPERTAGS not in self.configured_parser.capabilities:
            return {}
        return read_supertags(doc, self.spines_key)


def without_budget(allowed: Mapping[str, Setting]) -> dict[str, Setting]:
    """The settings of a chart parser, for which a budget has no meaning."""
    return {name: setting for name, setting in allowed.items() if name != "budget"}


def constituent_parsers(nlp: Language | ConstituentPipe, active: bool = False) -> list[ConstituentPipe]:
    """The constituent parsers of a pipeline in order, or the parser itself. `active`: without disabled ones. Raises
    DtparseError if there is none."""
    if isinstance(nlp, ConstituentPipe):
        return [nlp]
    parsers = [pipe for _, pipe in (nlp.pipeline if active else nlp.components) if isinstance(pipe, ConstituentPipe)]
    if not parsers:
        raise DtparseError(
            f"this pipeline has no constituent parser, only {', '.join(nlp.pipe_names) or 'nothing'}; add 'dtparse' to "
            "it or use spacy_dtparse.load()"
        )
    return parsers
