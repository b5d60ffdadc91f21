"""Settings of the parsers, with the allowed values of each."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, TypeVar

from ..checks import Setting, boolean, check, fraction, fractions, integer, label_list, one_of, optional, real
from ..errors import ConfigError
from ..stored_names import stored_as

S = TypeVar("S", bound="Settings")
LABEL_POLICIES = ("auto", "always", "never")
"""Allowed values of the setting `document_labels` of components."""
BUDGET_PER_TOKEN = 200
MIN_BUDGET = 2500
"""The default budget, chosen from the table of accuracy against speed in docs/experiments/speed.md."""
DEADLINE = real(0.001, 3600)
"""Allowed deadlines, in seconds per sentence; see `core.deadline`."""


class Settings:
    """Base class of frozen dataclasses of settings."""

    KIND: ClassVar[str] = "parser"
    """Kind of settings, for messages."""
    ALLOWED: ClassVar[Mapping[str, Setting]]
    """Allowed values of each setting; None is also allowed if it is the default."""

    def __post_init__(self) -> None:
        defaults = {field.name: field.default for field in fields(self)}  # type: ignore[arg-type]
        allowed = {name: optional(one) if defaults[name] is None else one for name, one in self.ALLOWED.items()}
        check(self, allowed, self.KIND)
        for name, default in defaults.items():
            if isinstance(default, tuple):  # a setting of several values; lists are not hashable
                value = getattr(self, name)
                object.__setattr__(self, name, tuple(map(float, value)) if name == "betas" else tuple(value))

    def with_changes(self: S, **changes: Any) -> S:
        """Return a copy with some settings changed. Raises ConfigError for an unknown name."""
        names = [field.name for field in fields(self)]  # type: ignore[arg-type]
        unknown = sorted(set(changes) - set(names))
        if unknown:
            raise ConfigError(f"unknown {self.KIND} setting {', '.join(unknown)}; allowed are {', '.join(names)}")
        return replace(self, **changes)  # type: ignore[type-var]


@stored_as("budget", "max_tokens", "confident", "gate", "trust", "sure", "whole", "betas")
@dataclass(frozen=True)
class SearchSettings(Settings):
    """Settings of the boosted-tree parser: how long and how carefully to search.

    - `budget`: scored inferences after which the search returns the best complete parse found so far. Larger: slower
      and more accurate. 0 stops at the greedy parse; None allows `BUDGET_PER_TOKEN` per token, and at least
      `MIN_BUDGET`. In a pruned search a state counts as as many inferences as there are labels.
    - `max_tokens`: longer sentences are parsed greedily, so that time stays linear in length. Larger: more sentences
      are searched.
    - `shift_threshold`: a shift with a score above this is taken without scoring the other inferences of its state.
      Larger: more inferences are scored, slower; infinity always scores all.
    - `window_filter`: fraction of the correct windows that the model's window filter may drop unscored, estimated on
      trees held out from training. A window is a run of adjacent frontier items considered as the children of one
      inference. Larger: faster, more correct inferences are lost; 0 drops none.
    - `marginal_weight`: weight of the span model's log odds of constituents in the cost of a parse, in addition to the
      scores of the trees; only for models with a span model. Larger: the span model counts more; 0 ignores it.
    - `commit_threshold`: if the span model gives a constituent with its labels, or the absence of a constituent, at
      least this probability, the inference is taken unscored; only for models with a span model, and only for label
      chains whose decisions were right in 96 % of the training cases. Larger: fewer decisions are left to the span
      model, slower; 1 scores everything that pruning leaves.
    - `attach_unattached`: whether a token that the span model's treebanks never leave unattached gets its most probable
      constituent, and a constituent gets its label a second time if the span model finds that more likely than not;
      only for models with a span model that has the same labels.
    - `betas`: for sentences with supertags (spines): the probability that a spine needs to be allowed, as a fraction of
      that of the token's most probable spine. One value for each search, until a search gives a complete parse; the
      last search allows all spines. Larger: fewer spines, faster. (): spines are not used.

    Raises ConfigError for values out of range or of the wrong type.
    """

    budget: int | None = None
    max_tokens: int = 250
    shift_threshold: float = 5.0
    window_filter: float = 0.002
    marginal_weight: float = 1.0
    commit_threshold: float = 0.9
    attach_unattached: bool = True
    betas: Sequence[float] = (0.1, 0.01)

    KIND = "search"
    ALLOWED = {  # noqa: RUF012 (never changed)
        "budget": integer(0), "max_tokens": integer(0), "shift_threshold": real(0, above=True),
        "window_filter": fraction(), "marginal_weight": real(0, 20), "commit_threshold": real(0.5, 1),
        "attach_unattached": boolean(), "betas": fractions(),
    }  # fmt: skip

    def budget_for(self, n_tokens: int) -> int:
        """Return the budget for a sentence of `n_tokens` tokens."""
        if n_tokens > self.max_tokens:
            return 0
        return max(MIN_BUDGET, BUDGET_PER_TOKEN * n_tokens) if self.budget is None else self.budget


@stored_as("budget", "max_tokens", "networks", "confident", "penalty", "whole", "exclude_labels")
@dataclass(frozen=True)
class SpanSettings(Settings):
    """Settings of the span parser.

    - `budget`: 0 runs only the first network; None or any other number runs all that `networks` allows. The chart is
      exact in either case, because the networks take much longer than the chart.
    - `max_tokens`: a longer sentence is parsed by charts over windows and units of it, none of more than `max_tokens`
      units (below 2 means 2), because the time of a chart grows with the cube of the length (see `span_parser.long`).
      Larger: more sentences are parsed by one exact chart, slower.
    - `networks`: how many of the model's networks form the ensemble (their probabilities are multiplied); None: all.
      Larger: more accurate, slower.
    - `ensemble_threshold`: if no constituent of the first network's tree has a cost (-ln of its probability) above
      this, the other networks are skipped. Larger: they are skipped more often, faster, less accurate; 0, the default,
      always runs them.
    - `penalty`: posterior probability that a label needs to be included in the tree. Larger: fewer constituents, higher
      precision; below a half it favours recall.
    - `attach_unattached`: whether a token that the treebank never leaves unattached (a noun in a clause, say) gets its
      most probable constituent even if its probability is below the penalty.
    - `exclude_labels`: labels that no constituent may have. A label chain with one of them is left out, and the
      probabilities of labels are over the chains that remain, so the tree is the best one of these chains. The parser
      raises ConfigError for a label that its model does not have, and if no chain remains.

    Raises ConfigError for values out of range or of the wrong type.
    """

    budget: int | None = None
    max_tokens: int = 200
    networks: int | None = None
    ensemble_threshold: float = 0.0
    penalty: float = 0.5
    attach_unattached: bool = True
    exclude_labels: Sequence[str] = ()

    ALLOWED = {  # noqa: RUF012 (never changed)
        "budget": integer(0),
        "max_tokens": integer(0),
        "networks": integer(1),
        "ensemble_threshold": real(0),
        "penalty": fraction(),
        "attach_unattached": boolean(),
        "exclude_labels": label_list(),
    }


@stored_as("prune", "beam", "max_tokens", "tags", "decoder", "candidates_n", "budget", "betas")
@dataclass(frozen=True)
class PcfgSettings(Settings):
    """Settings of the PCFG parser.

    - `prune`: the fine chart skips symbols with a posterior probability below this under the coarse grammar. Larger:
      faster, less accurate; 0 skips nothing, which is exact (grammars with latent annotations skip more, see
      `pcfgla.latent_model`).
    - `beam`: while these posteriors are computed, symbols with an inside probability times frequency below `beam` times
      the best of their cell are skipped. Larger: faster, less exact; 0 skips nothing.
    - `max_tokens`: longer sentences are split into pieces, because the time of a chart grows with the cube of the
      length. Larger: fewer sentences are split, slower.
    - `tags`: "given" allows a word only its input tag, "own" lets the grammar choose; None: the model's default.
    - `decoder`: how a grammar with latent annotations chooses a tree. "max-rule": the greatest product of the
      posteriors of rules (Petrov & Klein 2007); the others are by Matsuzaki et al. (2005, section 3): "viterbi": the
      most probable tree together with its annotations, for a single grammar; "q": the most probable tree of the
      approximate distribution; "rerank": among the `candidates_n` best trees of the model's candidate grammar, the one
      with the greatest exact probability. A model without latent annotations always gives the most probable tree.
    - `candidates_n`: number of candidates of decoder "rerank". Larger: slower, more often the most probable tree.
    - `budget`: part of the parsers' protocol; a chart has no budget, so it has no effect.
    - `betas`: for sentences with supertags (spines): the probability that a spine needs to be allowed, as a fraction of
      that of the token's most probable spine. One value for each chart, until a chart has a tree; the last chart allows
      all spines. Larger: fewer spines, faster. (): spines are not used.

    Raises ConfigError for values out of range or of the wrong type.
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
        "prune": fraction(), "beam": fraction(), "max_tokens": integer(1), "tags": one_of("own", "given"),
        "decoder": one_of("max-rule", "viterbi", "q", "rerank"), "candidates_n": integer(1),
        "budget": integer(0), "betas": fractions(),
    }  # fmt: skip


@dataclass(frozen=True)
class DependencySettings(Settings):
    """Settings of the dependency parser.

    - `decoder`: "projective" (Eisner) or "spanning" (Chu-Liu-Edmonds); None: as the model was trained.
    - `stages`: how many of the model's stages are run; None: all; 1 is the paper's parser. Larger: more accurate,
      slower.
    - `max_tokens`: a longer sentence is parsed in pieces of at most this many tokens, because time grows at least with
      the square of the length. Larger: fewer sentences are split, slower.
    - `heads`: number of candidate heads of each token, the best by the stage before, that a stage after the first
      scores. Larger: more exact, slower.

    Raises ConfigError for values out of range or of the wrong type.
    """

    decoder: str | None = None
    stages: int | None = None
    max_tokens: int = 150
    heads: int = 12

    ALLOWED = {  # noqa: RUF012 (never changed)
        "decoder": one_of("projective", "spanning"),
        **dict.fromkeys(("stages", "max_tokens", "heads"), integer(1)),
    }


@dataclass(frozen=True)
class TaggerSettings(Settings):
    """Settings of the sequence tagger.

    - `beam`: maximum number of label pairs that the beam retains at each word. Larger: more exact, slower.
    - `share`: a pair is dropped if its probability is below this fraction of the most probable pair's. Larger: faster,
      less exact.

    Raises ConfigError for values out of range or of the wrong type.
    """

    beam: int = 4
    share: float = 0.1

    KIND = "tagger"
    ALLOWED = {"beam": integer(1, 1000), "share": real(0, 1, below=True)}  # noqa: RUF012 (never changed)


@dataclass(frozen=True)
class RecurrentTaggerSettings(Settings):
    """Settings of the recurrent tagger.

    - `max_tokens`: a longer text is tagged in pieces of this many tokens, each together with some of the tokens around
      it, so that memory stays bounded. Larger: fewer pieces, more memory.

    Raises ConfigError for values out of range or of the wrong type.
    """

    max_tokens: int = 2000

    KIND = "tagger"
    ALLOWED = {"max_tokens": integer(1)}  # noqa: RUF012 (never changed)
