"""The k best trees of a sentence."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, SupportsIndex, overload

from spacy.language import Language
from spacy.tokens import Doc, Span

from ..core.ambiguous_tags import has_ambiguous, plain_tags
from ..core.calibration import ResultCalibrator
from ..core.constraints import Constraints
from ..core.kbest import check_k
from ..core.parser import ParseList, ParseResult
from ..errors import DtparseError, shorten
from ..trees.bracket_writer import write_tree
from ..trees.tree import TOP, Tree
from ..viz import draw
from .constituent_group import attribute
from .constituent_pipe import ConstituentPipe, constituent_parsers
from .sentences import SentenceInput

_MAX_COLUMNS = 100
"""Maximum width of a line of a table; longer trees are shortened. `str()` does not shorten them."""


@dataclass(frozen=True, repr=False)
class RankedTree:
    """One of the best trees of a sentence.

    `rank`: from 1; `result`: the parser's result; `positions`: indices in the Doc of the tokens that are leaves of the
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

    def __repr__(self) -> str:
        probability = "" if self.probability is None else f", probability {self.probability:.2f}"
        title = f"RankedTree {self.rank}: margin {self.margin:.3f}{probability}"
        return f"<{title}, {shorten(self.brackets, _MAX_COLUMNS - len(title) - 4)}>"

    def _repr_html_(self) -> str:
        return RankedTrees([self])._repr_html_()

    def __str__(self) -> str:
        values = f"{self.margin:.3f}" if self.probability is None else f"{self.probability:.2f}, {self.margin:.3f}"
        return f"{self.rank}. ({values}) {self.brackets}"


class RankedTrees(list[RankedTree]):
    """A list of the best trees of a sentence, best first. It prints as a table of ranks, margins, probabilities and
    trees; in a notebook the table has pictures. `repr` shortens long trees, `str` does not.

    `reason`: why there are fewer trees than the caller of `k_best` asked for, one of `core.kbest`'s sentences; "" if
    there are not.
    """

    def __init__(self, trees: Iterable[RankedTree] = (), reason: str = ""):
        super().__init__(trees)
        self.reason = reason

    @overload
    def __getitem__(self, index: SupportsIndex, /) -> RankedTree: ...

    @overload
    def __getitem__(self, index: slice, /) -> RankedTrees: ...

    def __getitem__(self, index: SupportsIndex | slice, /) -> RankedTree | RankedTrees:
        found: Any = super().__getitem__(index)
        return RankedTrees(found) if isinstance(index, slice) else found

    def __repr__(self) -> str:
        return self._table(_MAX_COLUMNS) if self else "RankedTrees([])"

    def __str__(self) -> str:
        return self._table() if self else ""

    def _table(self, columns: int | None = None) -> str:
        rows = [("rank", "margin", "probability")]
        rows += [(str(one.rank), f"{one.margin:.3f}", _format_probability(one.probability)) for one in self]
        lines = ["  ".join(cell.rjust(len(name)) for name, cell in zip(rows[0], row, strict=True)) for row in rows]
        trees = ["tree", *(one.brackets for one in self)]
        width = None if columns is None else columns - len(lines[0]) - 2
        return "\n".join(
            f"{line}  {tree if width is None else shorten(tree, width)}"
            for line, tree in zip(lines, trees, strict=True)
        )

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{one.rank}</td><td>{one.margin:.3f}</td><td>{_format_probability(one.probability)}</td>"
            f'<td style="text-align:left">{draw([one.tree])}</td></tr>'
            for one in self
        )
        head = "<tr><th>rank</th><th>margin</th><th>probability</th><th>tree</th></tr>"
        # not to be read as formulas, as by displaCy
        return f'<table class="tex2jax_ignore"><thead>{head}</thead><tbody>{rows}</tbody></table>'


def _format_probability(value: float | None) -> str:
    return "-" if value is None else f"{value:.4f}"


def k_best(nlp: Language | ConstituentPipe, sentence: str | Doc | Span, k: int = 10) -> RankedTrees:
    """The k best trees of a sentence, best first, by the constituent parser of a pipeline; fewer if it finds no more or
    its deadline ends the list, as `reason` of the result says. The first is the pipeline's own tree, unless supertags
    prune its search. The result is a list that prints as a table.

    `sentence`: a text or a Doc of one sentence, or a Span, which stands for the sentence that it begins in. A Doc must
    have the annotation that the parser needs: boundaries and, for most, tags. If it has constraints, all trees keep to
    them, and their probabilities are None. Edits of the Doc's constituents do not count: the trees are the parser's.

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
    parser_input = pipe.read_doc(doc)
    sentences = [(k, one) for k, one in enumerate(parser_input.sentences) if one.words]
    if isinstance(sentence, Span):
        sentences = [(k, one) for k, one in sentences if one.start <= sentence.start < one.end]
    if len(sentences) != 1:
        what = f"{len(sentences)} sentences" if sentences else "no word"
        raise DtparseError(
            f"“{sentence.text[:60]}” has {what}, and the best trees are of one sentence; give one of doc.sents of the "
            "parsed Doc"
        )
    ((index, sentence_input),) = sentences
    return _rank_trees(pipe, sentence_input, k, parser_input.constraints.get(index))


def best_trees(pipe: ConstituentPipe, doc: Doc, k: int) -> Iterator[tuple[SentenceInput, RankedTrees]]:
    """`k_best` of each sentence of a Doc that has a word."""
    parser_input = pipe.read_doc(doc)
    for index, sentence_input in enumerate(parser_input.sentences):
        if sentence_input.words:
            yield sentence_input, _rank_trees(pipe, sentence_input, k, parser_input.constraints.get(index))


def _rank_trees(
    pipe: ConstituentPipe, sentence_input: SentenceInput, k: int, constraints: Constraints | None
) -> RankedTrees:
    parser, words, tags = pipe.timed_parser, sentence_input.words, sentence_input.tags
    parses: ParseList = (
        parser.parse_k_best_constrained(words, tags, constraints, k)
        if constraints
        else parser.parse_k_best(words, tags, k)
    )
    found: list[ParseResult] = parses
    if parser.calibration is not None and not constraints and not found[0].deadline_exceeded:
        found = ResultCalibrator(parser).with_tree_probabilities(sentence_input.words, sentence_input.tags, found)
    if has_ambiguous(tags):
        found = [replace(one, tree=plain_tags(one.tree)) for one in found]
    return RankedTrees(
        (RankedTree(rank, one, sentence_input.positions) for rank, one in enumerate(found, 1)), parses.reason
    )


def _choose_component(nlp: Language | ConstituentPipe, doc: Doc) -> ConstituentPipe:
    """The constituent parser that wrote a Doc's constituents, else the first."""
    parsers = constituent_parsers(nlp)
    writers = (pipe for pipe in parsers if pipe.spans_key in doc.spans)
    return next(
        (pipe for pipe in writers if attribute(doc.spans[pipe.spans_key], "parser") == pipe.parser.name), parsers[0]
    )
