"""Default settings of `python -m training pipeline`, by the size of the treebank."""

from __future__ import annotations

from typing import NamedTuple

_SHAPE = "shape.width=96 shape.units=96 shape.layers=2 shape.projection=96"


class Sizes(NamedTuple):
    """Defaults for treebanks of at most `words` tokens: settings of `train-tagger` and `jackknife-tags`, settings of
    `train-span` and `jackknife-marginals`, and the recipe of `train-boosted`."""

    words: float
    tagger: tuple[str, ...]
    span: tuple[str, ...]
    recipe: str


SIZES = tuple(
    Sizes(words, tuple(tagger.split()), tuple(span.split()), recipe)
    for words, tagger, span, recipe in (
        (
            20_000,
            "fit.epochs=25 fit.batch=150 fit.average=0.99 fit.starts=2 network.units=48 network.least=2",
            f"{_SHAPE} epochs=60 batch=300 warm=50 average=0.99 judge_every=30",
            "sample_read",
        ),
        (
            300_000,
            "fit.epochs=16 fit.batch=400 fit.average=0.995 network.least=2",
            f"{_SHAPE} epochs=16 batch=500 average=0.995 judge_every=8",
            "sample_read",
        ),
        (float("inf"), "fit.epochs=4", f"{_SHAPE} epochs=12 batch=800 judge_every=6", "english_read"),
    )
)
"""From the smallest to the largest; each was tested on treebanks of its size (docs/tutorial.md, chapters 14 and 15)."""


def sizes_for(words: int) -> Sizes:
    """The defaults for a treebank of `words` tokens."""
    return next(sizes for sizes in SIZES if words <= sizes.words)
