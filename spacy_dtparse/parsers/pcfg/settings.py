"""Settings of the chart parser, checked."""

from collections.abc import Sequence
from dataclasses import dataclass

from ...checks import one_of, optional, share, shares, whole_number
from ..stored import Settings

TAGS = ("given", "own")
DECODERS = ("max-rule", "viterbi", "q", "rerank")


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
    max_tokens: int = 150
    tags: str | None = None
    decoder: str = "max-rule"
    candidates_n: int = 100
    budget: int | None = None
    betas: Sequence[float] = (0.03, 0.003)

    def __post_init__(self) -> None:
        self.check(
            prune=share(), beam=share(), tags=optional(one_of(*TAGS)), decoder=one_of(*DECODERS),
            budget=optional(whole_number(0)), max_tokens=whole_number(1), candidates_n=whole_number(1), betas=shares(),
        )  # fmt: skip
        object.__setattr__(self, "betas", tuple(map(float, self.betas)))
