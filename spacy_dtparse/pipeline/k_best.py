"""The k best trees of a sentence."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from spacy.language import Language
from spacy.tokens import Doc, Span

from ..core.calibration import ResultCalibrator
from ..core.kbest import check_k
from ..core.parser import KBestParser, ParseResult
from ..errors import DtparseError
from ..trees.bracket_writer import write_tree
from ..trees.tree import TOP, Tree
from .constituent_pipe import ConstituentPipe
from .sentences import SentenceInput


@dataclass(frozen=True)
class RankedTree:
    """One of the best trees of a sentence.

    `rank`: from 1; `result`: of the parser; `positions`: the tokens of the Doc, by index, that are the leaves of the
    tree (all but white space).
    """

    rank: int
    result: ParseResult
    positions: tuple[int, ...]

    @property
    def tree(self) -> Tree:
        """The tree, root TOP."""
        return self.result.tree

    @property
    def cost(self) -> float:
        """The parser's cost of the tree. Compare trees by `margin`: a search scores fewer inferences for its first
        tree, and a span chart maximizes another quantity."""
        return self.result.cost

    @property
    def margin(self) -> float:
        """How much worse the tree is than the first, in the quantity that the parser optimizes; at least 0, never
        decreasing."""
        return self.result.margin or 0.0

    @property
    def probability(self) -> float | None:
        """The probability that the whole tree is right; None if the parser's model has no calibration."""
        return self.result.tree_probability

    @property
    def status(self) -> str:
        """How reliable the rank is: "optimal" if only the trees before it can be better."""
        return self.result.status

    @property
    def brackets(self) -> str:
        """The tree in Penn brackets on one line, root TOP."""
        return write_tree(self.tree)

    @property
    def constituents(self) -> tuple[tuple[str, int, int], ...]:
        """(Label, start, end) of the constituents in pre-order, in tokens of the Doc, in the format of
        `doc._.constituents`: without TOP if another constituent covers the sentence."""
        spans = self.tree.spans()
        skip_top = len(spans) > 1 and spans[0][2] == TOP and spans[0][:2] == spans[1][:2]
        positions = self.positions
        return tuple((label, positions[start], positions[end - 1] + 1) for start, end, label in spans[skip_top:])

    def __str__(self) -> str:
        values = f"{self.margin:.3f}" if self.probability is None else f"{self.probability:.2f}, {self.margin:.3f}"
        return f"{self.rank}. ({values}) {self.brackets}"


def k_best(nlp: Language | ConstituentPipe, sentence: str | Doc | Span, k: int = 10) -> list[RankedTree]:
    """The k best trees of a sentence, best first, by the constituent parser of a pipeline; fewer if it finds no more.
    The first is the pipeline's own tree, unless supertags prune its search.

    `sentence`: a text or a Doc of one sentence, or a Span, which stands for the sentence that it begins in. A Doc must
    have the annotation that the parser needs: boundaries and, for most, tags.

    Raises ConfigError unless k is a whole number from 1 to 1000, DtparseError for a text or Doc of no or several
    sentences and for a parser that returns only one tree, MissingAnnotationError for a Doc without tags.
    """
    check_k(k)
    if isinstance(sentence, str):
        if not isinstance(nlp, Language):
            raise DtparseError("a component cannot read a text; give the pipeline, or a Doc")
        sentence = nlp(sentence)
    doc = sentence.doc
    pipe = _choose_component(nlp, doc)
    sentences = [one for one in pipe.read_doc(doc).sentences if one.words]
    if isinstance(sentence, Span):
        sentences = [one for one in sentences if one.start <= sentence.start < one.end]
    if len(sentences) != 1:
        what = f"{len(sentences)} sentences" if sentences else "no word"
        raise DtparseError(
            f"“{sentence.text[:60]}” has {what}, and the best trees are of one sentence; give one of doc.sents of the "
            "parsed Doc"
        )
    return _rank_trees(pipe, sentences[0], k)


def best_trees(pipe: ConstituentPipe, doc: Doc, k: int) -> Iterator[tuple[SentenceInput, list[RankedTree]]]:
    """`k_best` of each sentence of a Doc that has a word."""
    for sentence_input in pipe.read_doc(doc).sentences:
        if sentence_input.words:
            yield sentence_input, _rank_trees(pipe, sentence_input, k)


def _rank_trees(pipe: ConstituentPipe, sentence_input: SentenceInput, k: int) -> list[RankedTree]:
    parser = pipe.configured_parser
    if not isinstance(parser, KBestParser):
        raise DtparseError(f"a parser of kind {parser.name!r} gives only its best tree; use one that lists trees")
    found = parser.parse_k_best(sentence_input.words, sentence_input.tags, k)
    if getattr(parser, "calibration", None) is not None:
        found = ResultCalibrator(parser).with_tree_probabilities(sentence_input.words, sentence_input.tags, found)
    return [RankedTree(rank, one, sentence_input.positions) for rank, one in enumerate(found, 1)]


def _choose_component(nlp: Language | ConstituentPipe, doc: Doc) -> ConstituentPipe:
    """The constituent parser that wrote a Doc's constituents, else the first."""
    if isinstance(nlp, ConstituentPipe):
        return nlp
    parsers = [pipe for _, pipe in nlp.components if isinstance(pipe, ConstituentPipe)]
    if not parsers:
        raise DtparseError(
            f"this pipeline has no constituent parser, only {', '.join(nlp.pipe_names) or 'nothing'}; add 'dtparse' to "
            "it or use spacy_dtparse.load()"
        )
    writers = (pipe for pipe in parsers if pipe.spans_key in doc.spans)
    return next(
        (pipe for pipe in writers if doc.spans[pipe.spans_key].attrs.get("parser") == pipe.parser.name), parsers[0]
    )
