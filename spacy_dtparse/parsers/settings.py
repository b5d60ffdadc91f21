"""Settings of the parsers, each with the values that it may have."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, TypeVar

from ..checks import Setting, check, one_of, optional, real_number, renamed_setting, share, shares, truth, whole_number
from ..errors import ConfigError

S = TypeVar("S", bound="Settings")
BUDGET_PER_TOKEN = 200
BUDGET_LEAST = 2500
"""The default budget, chosen from the table of accuracy against speed in docs/experiments/speed.md."""
DEADLINE = real_number(0.001, 3600)
"""Seconds that a parser may be given for a sentence; see `parsers.deadline`."""


class Settings:
    """A base of frozen dataclasses of settings."""

    KIND: ClassVar[str] = "parser"
    """What messages call them."""
    ALLOWED: ClassVar[Mapping[str, Setting]]
    """The values that each may have; None, too, where that is its default."""

    def __post_init__(self) -> None:
        defaults = {field.name: field.default for field in fields(self)}  # type: ignore[arg-type]
        allowed = {name: optional(one) if defaults[name] is None else one for name, one in self.ALLOWED.items()}
        check(self, allowed, self.KIND)
        if "betas" in defaults:
            object.__setattr__(self, "betas", tuple(map(float, self.betas)))  # type: ignore[attr-defined]

    def with_changes(self: S, **changes: Any) -> S:
        """A copy with some settings changed. Raises ConfigError for an unknown name."""
        names = [field.name for field in fields(self)]  # type: ignore[arg-type]
        unknown = sorted(set(changes) - set(names))
        for name in unknown:
            if renamed := renamed_setting(name, names):
                raise ConfigError(f"unknown {self.KIND} setting: {renamed}")
        if unknown:
            raise ConfigError(f"unknown {self.KIND} setting {', '.join(unknown)}; allowed are {', '.join(names)}")
        return replace(self, **changes)  # type: ignore[type-var]

    def with_given(self: S, **changes: Any) -> S:
        """`with_changes` without what is None, which stays as it is."""
        return self.with_changes(**{name: value for name, value in changes.items() if value is not None})


@dataclass(frozen=True)
class SearchSettings(Settings):
    """How long to search.

    `budget`: scored inferences after which the best complete parse found so far is returned; 0 stops at the greedy
    parse; None allows BUDGET_PER_TOKEN for every token, and at least BUDGET_LEAST; in a pruned search a state counts as
    as many inferences as there are labels. `max_tokens`: longer sentences are parsed greedily, so that time stays
    linear in length. `confident`: a shift that scores more than this is taken without a look at the other inferences of
    its state; infinity never does that. `gate`: share of the right windows that the model's gate may drop unscored, by
    what it dropped of trees held out from training; 0: drop none.

    The next three are of models with a reader. `trust`: what its log odds of constituents count in the cost of a parse,
    beside what the trees say. `sure`: where the reader gives such a probability to a constituent with its labels, or to
    there being none, the inference is taken unscored; 1: everything is scored. `whole`: whether a token that its
    treebanks never leave bare gets the constituent that it finds likeliest, and a constituent its label twice
    where the reader has that more likely than not, if the reader's labels are the model's. `betas`: where a
    sentence comes with spines, the share of the likeliest one's probability that others must have to be allowed, one
    for each search until one gives a whole parse (then comes one with all); (): spines are not used.
    Raises ConfigError for values out of range or of another type.
    """

    budget: int | None = None
    max_tokens: int = 250
    confident: float = 5.0
    gate: float = 0.002
    trust: float = 0.5
    sure: float = 0.9
    whole: bool = True
    betas: Sequence[float] = (0.1, 0.01)

    KIND = "search"
    ALLOWED = {  # noqa: RUF012 (never changed)
        "budget": whole_number(0), "max_tokens": whole_number(0), "confident": real_number(0, above=True),
        "gate": share(), "trust": real_number(0, 20), "sure": real_number(0.5, 1), "whole": truth(), "betas": shares(),
    }  # fmt: skip

    def budget_for(self, n_tokens: int) -> int:
        """The budget for a sentence of `n_tokens`."""
        if n_tokens > self.max_tokens:
            return 0
        return max(BUDGET_LEAST, BUDGET_PER_TOKEN * n_tokens) if self.budget is None else self.budget


@dataclass(frozen=True)
class SpanSettings(Settings):
    """How to parse.

    `budget`: 0 asks the first network alone, None or any other number all that `networks` allows; the chart is exact in
    either case, as reading a sentence takes much longer than searching it. `max_tokens`: a longer sentence is parsed by
    charts over windows and units of it, none of more than so many (below 2 means 2), because a chart's time grows with
    the cube of the length (see `parsers.span.long`). `networks`: how many of the model's networks are multiplied, None
    all. `confident`: where no constituent of the first network's tree has a greater score (-ln of its probability), the
    others are not asked; 0, the default, asks them always. `penalty`: posterior probability that a label must have to
    be worth a place in the tree; below a half it favours recall. `whole`: whether a token that the treebank never
    leaves bare (a noun in a clause, say) gets its most probable constituent even where that is worth less than the
    penalty; a model of before 0.2 does not know which these are. Raises ConfigError for values out of range or of
    another type.
    """

    budget: int | None = None
    max_tokens: int = 200
    networks: int | None = None
    confident: float = 0.0
    penalty: float = 0.5
    whole: bool = True

    ALLOWED = {  # noqa: RUF012 (never changed)
        "budget": whole_number(0), "max_tokens": whole_number(0), "networks": whole_number(1),
        "confident": real_number(0), "penalty": share(), "whole": truth(),
    }  # fmt: skip


@dataclass(frozen=True)
class PcfgSettings(Settings):
    """How to parse.

    `prune`: the fine chart leaves out what has a posterior probability below this under the coarse grammar; 0 leaves
    out nothing, which is exact (grammars with latent annotations leave out more, see `parser`). `beam`: on the way to
    those posteriors, what has an inside probability times frequency below this times the best of its cell is left out;
    0 leaves out nothing. `max_tokens`: longer sentences are cut into pieces, because a chart's time grows with the cube
    of the length. `tags`: "given" allows a word only the tag it comes with, "own" lets the grammar choose; None is what
    the model was made for. `decoder`: how a grammar with latent annotations chooses a tree. "max-rule": the greatest
    product of the posteriors of rules (Petrov & Klein 2007); the others are of Matsuzaki et al. (2005, section 3):
    "viterbi": the most probable tree together with its annotations, of one grammar; "q": the most probable tree of the
    approximate distribution; "rerank": of the `candidates_n` best trees of the model's candidates the one with the
    greatest exact probability. A model without latent annotations always gives the most probable tree. `budget` is part
    of the parsers' protocol; a chart has none, so any value means the same.
    `betas`: where a sentence comes with spines, the share of the likeliest one's probability that others must have to
    be allowed, one for each chart until one has a tree (then comes one with all); (): spines are not used.
    Raises ConfigError for values out of range or of another type.
    """

    prune: float = 3e-4
    beam: float = 1e-5
    max_tokens: int = 80
    tags: str | None = None
    decoder: str = "max-rule"
    candidates_n: int = 100
    budget: int | None = None
    betas: Sequence[float] = (0.03, 0.003)

    ALLOWED = {  # noqa: RUF012 (never changed)
        "prune": share(), "beam": share(), "max_tokens": whole_number(1), "tags": one_of("own", "given"),
        "decoder": one_of("max-rule", "viterbi", "q", "rerank"), "candidates_n": whole_number(1),
        "budget": whole_number(0), "betas": shares(),
    }  # fmt: skip


@dataclass(frozen=True)
class DependencySettings(Settings):
    """How to parse.

    `decoder`: "projective" (Eisner) or "spanning" (Chu-Liu-Edmonds), None as the model was trained. `stages`: how many
    of the model's stages are run, None all; 1 is the paper's parser. `max_tokens`: a longer sentence is parsed in
    pieces of at most so many tokens, as time grows with the square of the length and more. `heads`: of how many heads
    of each token, the best by the stage before, a stage after the first looks at the links. Raises ConfigError for
    values out of range or of another type.
    """

    decoder: str | None = None
    stages: int | None = None
    max_tokens: int = 150
    heads: int = 12

    ALLOWED = {  # noqa: RUF012 (never changed)
        "decoder": one_of("projective", "spanning"),
        **dict.fromkeys(("stages", "max_tokens", "heads"), whole_number(1)),
    }


@dataclass(frozen=True)
class TaggerSettings(Settings):
    """How to tag.

    `beam`: the most pairs of labels that are kept from word to word. `share`: a pair is dropped when its probability is
    below this share of the likeliest one's. Raises ConfigError for values out of range or of another type.
    """

    beam: int = 4
    share: float = 0.1

    KIND = "tagger"
    ALLOWED = {"beam": whole_number(1, 1000), "share": real_number(0, 1, below=True)}  # noqa: RUF012 (never changed)


@dataclass(frozen=True)
class ReadingSettings(Settings):
    """How to read a text. `max_tokens`: a longer one is read in pieces of so many tokens, each with some of the tokens
    around it, so that memory stays bounded. Raises ConfigError for values out of range or of another type.
    """

    max_tokens: int = 2000

    KIND = "tagger"
    ALLOWED = {"max_tokens": whole_number(1)}  # noqa: RUF012 (never changed)
