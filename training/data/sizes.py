"""Default settings of `python -m training pipeline`, by the size of the treebank."""

from __future__ import annotations

from typing import NamedTuple

_SHAPE = "shape.width=96 shape.units=96 shape.layers=2 shape.projection=96"
_MANY_PASSES = f"{_SHAPE} epochs=60 batch_tokens=300 warmup_steps=50 ema_decay=0.99 eval_every=30"
_FEWER_PASSES = f"{_SHAPE} epochs=16 batch_tokens=500 ema_decay=0.995 eval_every=8"
_SMALL_TAGGER = (
    "fit.epochs=40 fit.batch_tokens=200 fit.ema_decay=0.995 fit.dropout_table=0.2 fit.dropout_layers=0.3 "
    "network.min_count=2"
)
_MIDDLE_TAGGER = "fit.epochs=16 fit.batch_tokens=400 fit.ema_decay=0.995 network.min_count=2"


WITH_RELATIONS = ("relation_weight=0.5",)
"""More settings of `train-span` for small treebanks whose phrases were made of dependencies."""


class Sizes(NamedTuple):
    """Defaults for treebanks of at most `words` tokens: settings of `train-tagger` and `jackknife-tags`, settings of
    `train-span` and `jackknife-marginals`, the recipe of `train-boosted`, and the number of networks of a span parser,
    which counts for phrases that were made of dependencies."""

    words: float
    tagger: tuple[str, ...]
    span: tuple[str, ...]
    recipe: str
    networks: int


SIZES = tuple(
    Sizes(words, tuple(tagger.split()), tuple(span.split()), recipe, networks)
    for words, tagger, span, recipe, networks in (
        (
            6_000,
            "fit.epochs=25 fit.batch_tokens=150 fit.ema_decay=0.99 fit.start_weight=2 "
            "network.units=48 network.min_count=2",
            _MANY_PASSES,
            "sample_read",
            3,
        ),
        (40_000, _SMALL_TAGGER, _MANY_PASSES, "sample_read", 3),
        (300_000, _MIDDLE_TAGGER, _FEWER_PASSES, "sample_read", 1),
        (float("inf"), "fit.epochs=4", f"{_SHAPE} epochs=12 batch_tokens=800 eval_every=6", "english_read", 1),
    )
)
"""From the smallest to the largest; each was tested on treebanks of its size (docs/tutorial.md, chapters 14 and 15;
docs/languages.md)."""


def sizes_for(words: int) -> Sizes:
    """The defaults for a treebank of `words` tokens."""
    return next(sizes for sizes in SIZES if words <= sizes.words)
