"""What every constituent parser of the package takes and returns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from ..errors import TreeError
from ..trees.tree import Tree

UNKNOWN_TAG = "XX"
"""The part of speech of a token whose tag is missing (the Penn Treebank's own tag for unknown material)."""

STATUSES = ("optimal", "complete", "greedy", "fallback", "empty")
"""How a parse was found.

`optimal`: the search proved that no tree costs less. `complete`: the best tree met when the budget was
spent. `greedy`: the first tree, no search. `fallback`: the model could not finish a tree, so what it had
was joined under the root. `empty`: there was nothing to parse.
"""


@dataclass(frozen=True, slots=True)
class ParseResult:
    """The parse of one sentence.

    `tree`: root TOP, covers every token that was given. `scores`: one number per constituent of `tree` in pre-order,
    the cost −ln p of the inference that built it, nan where none did (the root, a constituent put back by a transform).
    `cost`: of the whole derivation, decisions that build nothing (shift) included. `status`: one of STATUSES.
    `n_states`: states taken from the agenda; `n_scored`: inferences scored. `greedy_optimal`: whether the greedy parse
    was already the best one, None when that was not established. `n_searches`: searches until one gave a whole tree; 1
    unless spines were offered. `ambiguity`: spines that a token had in the last search, None where it was not pruned.
    `margin`: in a list of the best parses how much worse this one is than the first, in what the parser makes best
    (the cost of a search or by a grammar, the constituents that a span chart expects to be right); else None.
    `probabilities`: of each constituent, that it is right; `tree_probability`: that the whole tree is (see
    `parsers.calibration`); None where nobody asked. `deadline_struck`: whether a deadline left less search than the
    settings allow, or cut the sentence into pieces (see `parsers.deadline`).

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
    deadline_struck: bool = False

    def __post_init__(self) -> None:
        if len(self.scores) != len(self.tree.labels):
            raise TreeError(
                f"{len(self.scores)} scores for a tree of {len(self.tree.labels)} constituents; give one of each"
            )
        if self.status not in STATUSES:
            raise TreeError(f"parse status {self.status!r} is unknown; it is one of {', '.join(STATUSES)}")


TaggedWords = tuple[Sequence[str], Sequence[str]]
"""A sentence's words and their tags."""


@runtime_checkable
class BatchParser(Protocol):
    """A parser that is faster on several sentences at once."""

    def parse_batch(self, sentences: Sequence[TaggedWords]) -> list[ParseResult]:
        """What `parse` finds for each of the sentences, in order."""


@runtime_checkable
class KBestParser(Protocol):
    """A parser that lists the best parses of a sentence."""

    def parse_k(self, words: Sequence[str], tags: Sequence[str], k: int) -> list[ParseResult]:
        """The k best parses, of different trees, best first, each with its `margin`, which never falls. The first is
        what `parse` finds; there are fewer where the parser knows of no more.

        Raises ConfigError where k is no whole number from 1 to `parsers.kbest.MOST_TREES`.
        """


@runtime_checkable
class ConstituentParser(Protocol):
    """A trained parser: tokens with tags in, one tree out, always.

    Words are raw text without white space (a parser escapes brackets itself), tags are Penn-style parts of
    speech; a tag the parser has never seen, such as UNKNOWN_TAG, is allowed. A parser is immutable,
    deterministic and safe to share between threads and forked processes.
    """

    @property
    def name(self) -> str:
        """A short name for logs and for the attributes of parsed Docs."""

    @property
    def labels(self) -> tuple[str, ...]:
        """Every label that a tree of this parser can have besides TOP."""

    @property
    def meta(self) -> dict[str, Any]:
        """What the model says about itself: language, version, licence, credits, training data, figures."""

    def parse(self, words: Sequence[str], tags: Sequence[str]) -> ParseResult:
        """The parse of one sentence of n ≥ 1 tokens."""

    def with_settings(self, *, budget: int | None = None, max_tokens: int | None = None) -> ConstituentParser:
        """The same model with other search settings; what is None stays as the model has it.

        `budget`: inferences that may be scored for one sentence before the search settles for the best tree
        so far; 0 is greedy parsing. `max_tokens`: longer sentences are parsed greedily. Raises ConfigError
        for an unknown name or a value out of range.
        """

    def to_bytes(self) -> bytes:
        """The whole model as one container, readable by `parsers.load_parser`."""
