"""A constituent parser as a spaCy component: tokens in, constituents in `doc.spans` out. `model_pipe` loads, saves and
copies the models."""
# ruff: noqa: UP045 (older releases of spaCy do not support X | None)

import warnings
from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple, Optional

from spacy.language import Language
from spacy.tokens import Doc

from ..checks import Setting, boolean, one_of
from ..core.calibration import ResultCalibrator
from ..core.constraints import Constraints
from ..core.parser import BatchParser, ParseResult
from ..errors import DtparseError
from .batch_pipe import DEADLINE, THREADS, BatchPipe
from .boundary_changes import LATER_SETTERS
from .constituents import DEFAULT_KEY, ParsedSentence, write_constituents
from .constraints import CONSTRAINTS_KEY, read_constraints
from .dependencies import UnlabelledHeads, write_dependencies
from .extensions import register_extensions
from .model_pipe import KEY
from .phrases import (
    CHUNK_SOURCES,
    has_own_dependencies,
    head_rules_entry,
    head_rules_for,
    mark_own_dependencies,
    use_for_noun_chunks,
)
from .scorer import parseval_score
from .sentences import SentenceInput, WordPositions
from .spines import SPINES_KEY, Supertags, read_supertags

FACTORY_METADATA: dict[str, Any] = {
    "assigns": ["doc.spans", "doc._.constituents", "span._.labels", "span._.parse_string", "span._.head"],
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
    `sentence._.tree_probability`), which runs the model a second time; the model must have a calibration (see
    `core.calibration`), else DtparseError is raised.

    `noun_chunks`: the source of `doc.noun_chunks`: "constituents", "dependencies", or "auto": the dependencies of a Doc
    that has some, else its constituents (see `phrases.NounChunks`).

    `heads`: whether to set `token.head` by the head rules of the constituents, with `token.dep_` "ROOT" or "dep", in
    Docs without dependencies, so that spaCy's `span.root` is the head of a constituent.

    `constraints_key`: key of the spans in `doc.spans` that must or must not be constituents (see
    `pipeline.constraints`); None: no constraints.

    Reads `token.tag_` and sentence boundaries, never writes them. White-space tokens are not passed to the parser. A
    Doc without boundaries is parsed as one sentence, with a warning once. If the parser needs tags, words without one
    get XX, with a warning once, and a Doc without any tags raises MissingAnnotationError, which goes to nlp's error
    handler. If the parser uses supertags (`reads_spines`) and all words of a sentence have some in
    `doc.spans[spines_key]`, written by a spine_tagger earlier in the pipeline, they prune its search; with `spines_key`
    None they are not used.
    """

    COMPONENT_SETTINGS = {  # noqa: RUF012 (never changed)
        "spans_key": (DEFAULT_KEY, KEY),
        "spines_key": (SPINES_KEY, optional_key("a parser that does not use spines")),
        "threads": THREADS,
        "deadline": DEADLINE,
        "probabilities": (False, boolean()),
        "noun_chunks": ("auto", one_of(*CHUNK_SOURCES)),
        "heads": (False, boolean()),
        "constraints_key": (CONSTRAINTS_KEY, optional_key("a parser without constraints")),
    }

    spines_key: str | None
    constraints_key: str | None
    probabilities: bool
    noun_chunks: str
    heads: bool

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

    @property
    def needs_tags(self) -> bool:
        """Whether a Doc must have tags because the parser uses them."""
        return True

    def on_add(self, nlp: Language) -> None:
        """Give `doc.noun_chunks` its source. Warn if an active component of `nlp` writes the same key of `doc.spans` as
        this one."""
        use_for_noun_chunks(nlp.vocab, source=self.noun_chunks)
        for name, other in nlp.pipeline:
            if isinstance(other, ConstituentPipe) and other is not self and other.spans_key == self.spans_key:
                warnings.warn(
                    f"{self.name}: {name!r} of the same pipeline writes doc.spans[{self.spans_key!r}], too; the result "
                    f"of the later one replaces that of the other. To have both, give one of them a key of its own: "
                    f"config={{'spans_key': {self.name!r}}}",
                    stacklevel=3,
                )

    def read_doc(self, doc: Doc) -> ParserInput:
        """Return the sentences of a Doc, the supertag candidates of its words, and its constraints."""
        sentences = self._read_sentences(doc, self.needs_tags)
        constraints: Mapping[int, Constraints] = {}
        if self.constraints_key is not None and self.constraints_key in doc.spans:
            constraints = read_constraints(doc, self.constraints_key, sentences, self.configured_parser)
        return ParserInput(sentences, self.supertags(doc), constraints)

    def predict(self, inputs: Sequence[ParserInput]) -> list[list[ParseResult | None]]:
        """Parse each Doc's sentences; those without supertags and constraints in one batch."""
        batched = [sentence for one in inputs if not one.is_separate for sentence in one.sentences]
        batch_results = iter(self._parse_with_probabilities(ParserInput(batched, {}, {})))
        return [
            self._parse_with_probabilities(one) if one.is_separate else list(islice(batch_results, len(one.sentences)))
            for one in inputs
        ]

    def set_annotations(self, doc: Doc, parser_input: ParserInput, results: Sequence[ParseResult | None]) -> None:
        """Set `doc.spans[self.spans_key]`."""
        parsed = [
            ParsedSentence(s.start, s.end, s.positions, r) for s, r in zip(parser_input.sentences, results, strict=True)
        ]
        parser = self.parser
        head_rules = head_rules_entry(parser, doc)
        write_constituents(doc, parsed, self.spans_key, parser.name, head_rules, self.noun_chunks)
        if later := self._later_sentence_setters():
            doc.spans[self.spans_key].attrs[LATER_SETTERS] = later
        use_for_noun_chunks(doc.vocab, doc, self.noun_chunks, getattr(parser, "labels", ()))
        if self.heads and len(doc) and not doc.has_annotation("DEP"):
            self._set_heads(doc, parsed)
        if self.noun_chunks == "auto" and has_own_dependencies(doc):
            mark_own_dependencies(doc.vocab, doc)

    def _set_heads(self, doc: Doc, parsed: Sequence[ParsedSentence]) -> None:
        rules = head_rules_for(doc, self.spans_key)
        trees = [one.result.tree if isinstance(one.result, ParseResult) else one.result for one in parsed]
        write_dependencies(
            doc,
            [WordPositions(one.start, one.end, one.positions) for one in parsed],
            [None if tree is None else UnlabelledHeads(rules.links(tree)[0]) for tree in trees],
        )
        mark_own_dependencies(doc.vocab)

    def with_deadline(self, parser: Any, deadline: float) -> Any:
        """Return the parser with a deadline; computing probabilities takes as long as parsing."""
        from ..core.deadline import Deadline

        return Deadline(parser, deadline / 2 if self.probabilities else deadline)

    def supertags(self, doc: Doc) -> Mapping[int, Supertags]:
        """The supertag candidates of words by position in the Doc, {} if the parser does not use them."""
        if self.spines_key is None or not getattr(self.configured_parser, "reads_spines", False):
            return {}
        return read_supertags(doc, self.spines_key)

    def _parse_with_probabilities(self, parser_input: ParserInput) -> list[ParseResult | None]:
        """Parse a Doc's sentences and add probabilities if wanted; None for sentences without words."""
        results = self._parse_sentences(parser_input)
        if not self.probabilities:
            return results
        calibrated = ResultCalibrator(self.configured_parser)
        return [
            result
            if result is None or result.deadline_exceeded  # no time for probabilities
            else calibrated.with_probabilities(
                sentence.words, sentence.tags, result, parser_input.constraints.get(index)
            )
            for index, (sentence, result) in enumerate(zip(parser_input.sentences, results, strict=True))
        ]

    def _parse_sentences(self, parser_input: ParserInput) -> list[ParseResult | None]:
        parser, (sentences, supertags, constraints) = self.timed_parser, parser_input
        if isinstance(parser, BatchParser) and not parser_input.is_separate:
            batch_results = iter(parser.parse_batch([(s.words, s.tags) for s in sentences if s.words]))
            return [next(batch_results) if sentence.words else None for sentence in sentences]
        results = []
        for index, (_, _, words, tags, positions) in enumerate(sentences):
            if index in constraints:
                results.append(self.configured_parser.parse_constrained(words, tags, constraints[index]))
                continue
            candidates = [supertags.get(i, ()) for i in positions]
            supertag_argument = (candidates,) if supertags and all(candidates) else ()  # only if every word has some
            results.append(parser.parse(words, tags, *supertag_argument) if words else None)
        return results


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
