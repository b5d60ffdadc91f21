"""The interface of constituent parsers: their protocols and their results."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from ..errors import TreeError
from ..trees.tree import Tree

UNKNOWN_TAG = "XX"
"""The part of speech of a token whose tag is missing (the Penn Treebank's tag for unknown material)."""

STATUSES = ("optimal", "complete", "greedy", "fallback", "empty")
"""The possible values of `ParseResult.status`.

`optimal`: the search proved that no tree costs less. `complete`: the best tree found before the budget ran out.
`greedy`: the first tree, without a search. `fallback`: the parser found no complete tree by itself. Then the pieces
were joined under the root or, in boosted trees with a span model, the tree is the span model's; or a required
constituent was inserted, a deadline allowed only pieces, or a grammar had to leave the given tags open. `empty`: there
was nothing to parse.
"""


@dataclass(frozen=True, slots=True, repr=False)
class ParseResult:
    """The parse of one sentence.

    `tree`: root TOP, covers every input token. `scores`: one number per constituent of `tree` in pre-order, the cost
    −ln p of the inference that built it, nan if no inference built it (the root, a constituent restored by a
    transform). `cost`: cost of the whole derivation, including decisions that build nothing (shift). `status`: one of
    STATUSES. `n_states`: states taken from the agenda; `n_scored`: inferences scored. `greedy_optimal`: whether the
    greedy parse was already the best one, None when that was not established. `n_searches`: searches until one gave a
    complete tree; 1 unless the input had supertags (spines). `ambiguity`: mean number of spines per token in the last
    search, None if that search was not pruned by spines. `margin`: in a k-best list, how much worse this parse is than
    the first by the parser's objective (the cost of a search or by a grammar, the expected number of correct
    constituents of a span chart); else None. `probabilities`: for each constituent, the probability that it is correct;
    `tree_probability`: the probability that the whole tree is correct (see `core.calibration`); None if not
    requested. `deadline_exceeded`: whether a deadline allowed less search than the settings, or split the sentence into
    pieces (see `core.deadline`).

    Raises TreeError when `scores` and `tree` disagree in length or `status` is unknown.
    """

    tree: Tree
    scores: tuple[float, ...]
    cost: float
    status: str
    n_states: int = 0
    n_scored: int = 0
    greedy_optimal: bool | None = None
    n_searches: int = 1
    ambiguity: float | None = None
    margin: float | None = None
    probabilities: tuple[float, ...] | None = None
    tree_probability: float | None = None
    deadline_exceeded: bool = False

    def __post_init__(self) -> None:
        if len(self.scores) != len(self.tree.labels):
            raise TreeError(
                f"{len(self.scores)} scores for a tree of {len(self.tree.labels)} constituents; give one of each"
            )
        if self.status not in STATUSES:
            raise TreeError(f"parse status {self.status!r} is unknown; it is one of {', '.join(STATUSES)}")

    def __repr__(self) -> str:
        return f"<ParseResult: {self.status}, cost {self.cost:.3f}, {self.tree!r}>"

    def __str__(self) -> str:
        return str(self.tree)

    def _repr_svg_(self) -> str | None:
        return self.tree._repr_svg_()


TaggedWords = tuple[Sequence[str], Sequence[str]]
"""The words of a sentence and their tags."""


@runtime_checkable
class BatchParser(Protocol):
    """A parser that is faster on several sentences at once."""

    def parse_batch(self, sentences: Sequence[TaggedWords]) -> list[ParseResult]:
        """Return the result of `parse` for each sentence, in order."""


@runtime_checkable
class KBestParser(Protocol):
    """A parser that lists the best parses of a sentence."""

    def parse_k_best(self, words: Sequence[str], tags: Sequence[str], k: int) -> list[ParseResult]:
        """Return the k best parses with distinct trees, best first, each with its `margin`; margins never decrease.

        The first is the result of `parse`. There are fewer than k if the parser finds no more. Raises ConfigError
        unless k is an integer from 1 to `core.kbest.MAX_TREES`.
        """


@runtime_checkable
class ConstituentParser(Protocol):
    """A trained parser that returns exactly one tree for any tagged sentence.

    Words are raw text without white space (the parser escapes brackets itself), tags are Penn-style parts of
    speech; a tag that is not in the training data, such as UNKNOWN_TAG, is allowed. A parser is immutable,
    deterministic and safe to share between threads and forked processes.
    """

    @property
    def name(self) -> str:
        """A short name for logs and for the attributes of parsed Docs."""

    @property
    def labels(self) -> tuple[str, ...]:
        """All labels that a tree of this parser can have, without TOP."""

    @property
    def meta(self) -> dict[str, Any]:
        """Metadata of the model: language, version, licence, credits, training data, scores."""

    def parse(self, words: Sequence[str], tags: Sequence[str]) -> ParseResult:
        """Parse one sentence of n ≥ 1 tokens."""

    def with_settings(self, *, budget: int | None = None, max_tokens: int | None = None) -> ConstituentParser:
        """Return a parser with the same model and other search settings; None leaves a setting unchanged.

        `budget`: maximum number of inferences scored for one sentence, after which the search returns the best tree
        so far; 0 is greedy parsing. `max_tokens`: longer sentences are parsed greedily. Raises ConfigError
        for an unknown name or a value out of range.
        """

    def to_bytes(self) -> bytes:
        """Serialise the whole model as one container, which `core.load_parser` reads."""
