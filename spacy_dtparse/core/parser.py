"""The base class of constituent parsers, and their results."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from ..errors import DtparseError, TreeError
from ..symbols import SymbolTable
from ..trees.heads import HeadRules
from ..trees.tree import Tree
from .time_limit import TimeLimit

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

    `tree`: root TOP, covers every input token. `costs`: one number per constituent of `tree` in pre-order, the cost
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

    Raises TreeError when `costs` and `tree` disagree in length or `status` is unknown.
    """

    tree: Tree
    costs: tuple[float, ...]
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
        if len(self.costs) != len(self.tree.labels):
            raise TreeError(
                f"{len(self.costs)} costs for a tree of {len(self.tree.labels)} constituents; give one of each"
            )
        if self.status not in STATUSES:
            raise TreeError(f"parse status {self.status!r} is unknown; it is one of {', '.join(STATUSES)}")

    def __repr__(self) -> str:
        return f"<ParseResult: {self.status}, cost {self.cost:.3f}, {self.tree!r}>"

    def __str__(self) -> str:
        return str(self.tree)

    def _repr_svg_(self) -> str | None:
        return self.tree._repr_svg_()


class ParseList(list[ParseResult]):
    """The best parses of a sentence. `reason`: why there are fewer than the caller asked for; "" if there are not."""

    def __init__(self, parses: Iterable[ParseResult], reason: str = ""):
        super().__init__(parses)
        self.reason = reason


Strings = Sequence[str] | SymbolTable
"""A vocabulary."""
TaggedWords = tuple[Sequence[str], Sequence[str]]
"""The words of a sentence and their tags."""


Posteriors = Mapping[tuple[int, int, str], float]
"""{(start, end, label): probability that the tree of a sentence has such a constituent}."""


class Decision(NamedTuple):
    """How a parser decided on a constituent. `method`: "rules", "network", "grammar", or the parser's name; `text`: a
    sentence that states what decided, and which information is not available; `reasons`: of rules, see
    `dtparse.model.reasons.Reasons`."""

    method: str
    text: str
    reasons: Any = None


class Decisions:
    """The decisions of a parse: `result`, its `posteriors` ({} if the parser has none), and the decision on each
    constituent."""

    def __init__(self, name: str, result: ParseResult, posteriors: Posteriors):
        self.name, self.result, self.posteriors = name, result, posteriors

    def decision(self, constituent: int, only: bool = False) -> Decision:
        """Return the decision on a constituent, by its index in the tree. `only`: the caller needs no others."""
        cost = self.result.costs[constituent]
        text = f"A parser of kind {self.name!r} decided; it gives no reasons, only the cost {cost:.2f}."
        return Decision(self.name, text)


class Capability(Enum):
    """A capability of a parser beyond `Parser.parse_batch`."""

    K_BEST = "k best"
    """`parse_k_best` lists trees."""
    CONSTRAINTS = "constraints"
    """`parse_constrained` obeys constraints."""
    POSTERIORS = "posteriors"
    """`span_posteriors` and `parse_with_posteriors` give probabilities of constituents."""
    SUPERTAGS = "supertags"
    """`parse` uses supertags (spines)."""
    SECOND_TAGS = "second tags"
    """The parser uses the second-best tags of ambiguous ones (see `core.ambiguous_tags`)."""
    BUDGET = "budget"
    """The parser searches within a budget: its settings have `budget_for`."""


class Parser(ABC):
    """A trained parser that returns exactly one tree for any tagged sentence.

    Words are raw text without white space (the parser escapes brackets itself), tags are Penn-style parts of speech; a
    tag that is not in the training data, such as UNKNOWN_TAG, is allowed. A parser is immutable, deterministic and safe
    to share between threads and forked processes. A method that needs a capability which the parser does not declare
    raises DtparseError.
    """

    name: ClassVar[str]
    """A short name for logs and for the attributes of parsed Docs; the kind of the parser's models."""
    settings: Any = None
    """The settings; None if the parser has none of its own class."""
    DECISIONS: ClassVar[type[Decisions]] = Decisions
    """The class of what `explain` returns."""
    _custom_heads: HeadRules | None = None

    @property
    def inner_parser(self) -> Parser:
        """The parser itself; of one that wraps another, the innermost."""
        return self

    @property
    def capabilities(self) -> frozenset[Capability]:
        """The declared capabilities of the parser."""
        return frozenset()

    @property
    @abstractmethod
    def labels(self) -> tuple[str, ...]:
        """All labels that a tree of this parser can have, without TOP."""

    @property
    def excluded_labels(self) -> frozenset[str]:
        """Labels of the model that the settings exclude; they are not in `labels`."""
        return frozenset()

    @property
    def meta(self) -> dict[str, Any]:
        """Metadata of the model: language, version, licence, credits, training data, scores."""
        return {}

    @property
    def known_tags(self) -> frozenset[str]:
        """The tags of words in the model's vocabulary; empty if the model does not list them."""
        return frozenset()

    @property
    def vocabulary(self) -> tuple[Strings, Strings]:
        """The words and tags of the model; empty if unknown."""
        return (), ()

    @property
    def lexicons(self) -> tuple[Strings, ...]:
        """The words of the model, and of a model inside it; normalised as the features of each are."""
        return (self.vocabulary[0],)

    @property
    def needs_tags(self) -> bool:
        """Whether the parser uses the tags of words."""
        return True

    @property
    def head_rules(self) -> HeadRules | None:
        """The head rules of the model; None if they are the standard ones of its language."""
        return self._custom_heads

    @property
    def calibration(self) -> Any:
        """The `core.calibration.Calibration` of the parser's probabilities; None if it has none."""
        return None

    @property
    def missing_posteriors(self) -> str:
        """The reason why the parser has no probabilities, for messages."""
        return f"a parser of kind {self.name!r} has no probabilities of constituents"

    @property
    def max_searches(self) -> int:
        """The largest number of searches for a sentence with supertags: one for each of the settings' `betas`, and one
        without."""
        return len(getattr(self.settings, "betas", ())) + 1

    def describe(self) -> dict[str, Any]:
        """Return sizes of the model and the current settings, as plain data."""
        return {}

    @abstractmethod
    def with_settings(self, **changes: Any) -> Any:
        """Return a parser with the same model and other settings; None leaves a setting unchanged. Raises ConfigError
        for an unknown name or a value out of range."""

    @abstractmethod
    def to_bytes(self) -> bytes:
        """Serialise the whole model as one container, which `core.load_parser` reads."""

    def mmap_model(self, path: Path) -> None:  # noqa: B027 (a parser that stores no bytes has nothing to do)
        """Drop the model's bytes, which must be those of this file, if the parser stores them."""

    @abstractmethod
    def parse_batch(self, sentences: Sequence[TaggedWords]) -> list[ParseResult]:
        """Return the parse of each sentence of n ≥ 1 tokens, in order; the result for a sentence does not depend on the
        others."""

    def parse(self, words: Sequence[str], tags: Sequence[str], spines: Sequence[Any] = ()) -> ParseResult:
        """Parse one sentence, a batch of one. `spines`: supertag candidates, see Capability.SUPERTAGS."""
        return self.parse_batch([(words, tags)])[0]

    def parse_with_posteriors(self, sentences: Sequence[TaggedWords]) -> list[tuple[ParseResult, Posteriors]]:
        """Return the parse of each sentence and its `span_posteriors`, for which the model runs only once if possible.
        Needs POSTERIORS."""
        return [(one, self.span_posteriors(*s)) for s, one in zip(sentences, self.parse_batch(sentences), strict=True)]

    def span_posteriors(self, words: Sequence[str], tags: Sequence[str]) -> Posteriors:
        """Return the probabilities of constituents that are not improbable. Needs POSTERIORS."""
        raise DtparseError(self.missing_posteriors)

    def explain(
        self, words: Sequence[str], tags: Sequence[str], spines: Sequence[Any] = (), limit: TimeLimit | None = None
    ) -> Decisions:
        """Parse one sentence and return the decisions of the parse; the arguments are those of `parse`. When the
        `limit` is reached, decisions have no reasons."""
        return self.DECISIONS(self.name, *self.parse_sentence_with_posteriors(words, tags, spines))

    def parse_sentence_with_posteriors(
        self, words: Sequence[str], tags: Sequence[str], spines: Sequence[Any] = ()
    ) -> tuple[ParseResult, Posteriors]:
        """Return the parse of a sentence and its posteriors, {} if the parser has none."""
        if Capability.POSTERIORS not in self.capabilities:
            return self.parse(words, tags, spines), {}
        if spines:
            return self.parse(words, tags, spines), self.span_posteriors(words, tags)
        return self.parse_with_posteriors([(words, tags)])[0]

    def parse_k_best(
        self, words: Sequence[str], tags: Sequence[str], k: int, limit: TimeLimit | None = None
    ) -> ParseList:
        """Return the k best parses with distinct trees, best first, each with its `margin`; margins never decrease.
        Needs K_BEST.

        The first is the result of `parse`. `reason` of the list says why there are fewer than k: the parser finds no
        more, or the `limit` was reached. The first parse does not ask for the limit.
        Raises ConfigError unless k is an integer from 1 to `core.kbest.MAX_TREES`.
        """
        raise DtparseError(f"a parser of kind {self.name!r} gives only its best tree; use one that lists trees")

    def parse_constrained(self, words: Sequence[str], tags: Sequence[str], constraints: Any) -> ParseResult:
        """Return the best parse in which the `core.constraints.Constraints` hold. Needs CONSTRAINTS.

        A constituent that the parser could not build by itself has the cost nan, and then the status is "fallback".
        Raises ConstraintError as `Constraints.check`.
        """
        raise DtparseError(f"a parser of kind {self.name!r} does not support constraints")

    def parse_k_best_constrained(
        self, words: Sequence[str], tags: Sequence[str], constraints: Any, k: int, limit: TimeLimit | None = None
    ) -> ParseList:
        """Return the result of `parse_constrained` and up to k − 1 other trees in which the constraints hold, best
        first, each with its `margin`; only the first if the parser cannot list others, or fewer than k if the `limit`
        is reached. Needs CONSTRAINTS.

        Raises ConfigError for k as `parse_k_best`, ConstraintError as `Constraints.check`.
        """
        first = replace(self.parse_constrained(words, tags, constraints), margin=0.0)
        return ParseList([first], "the parser lists no other trees under constraints" if k > 1 else "")
