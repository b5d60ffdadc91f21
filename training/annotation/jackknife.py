"""Marginals of a treebank's constituents by networks that were trained on its other folds, never on the same tree."""

from collections.abc import Sequence
from dataclasses import replace

from spacy_dtparse.annotation.suspicions import fine_posteriors
from spacy_dtparse.core.parser import Posteriors
from spacy_dtparse.errors import ConfigError
from spacy_dtparse.span_parser.model import SpanModel
from spacy_dtparse.span_parser.parser import SpanParser
from spacy_dtparse.text import raw_word
from spacy_dtparse.trees import Tree

from ..data.corpus import Sentence, long_block_folds
from ..runs.metrics_log import log_metrics
from ..span_parser.fitting import Shape, SpanOptions, make_model, make_training_data, train_network

FINE_TUNING = SpanOptions(
    seeds=(0,), epochs=8, learning_rate=7e-4, batch_tokens=500, warmup_steps=20, ema_decay=0.99, eval_every=99
)
"""Options for a network that is trained further on a small treebank."""
NEW_NETWORK = SpanOptions(
    Shape(width=96, units=96, layers=2, projection=96), seeds=(0,), epochs=30, batch_tokens=500, ema_decay=0.995,
    eval_every=99,
)  # fmt: skip
"""Options for a new network."""


def jackknife_posteriors(
    trees: Sequence[Tree], tags: Sequence[Sequence[str]], folds: int, start: SpanModel | None
) -> list[Posteriors]:
    """Return the probabilities of each tree's constituents, by a network that was trained on the trees of the other
    folds, which consist of blocks of neighbouring trees.

    `tags`: those that the networks get; `start`: the model whose networks are trained further, which must not be
    trained on these trees; None: new ones are trained. Raises ConfigError unless each fold gets a tree.
    """
    if not 2 <= folds <= len(trees):
        raise ConfigError(f"--folds is {folds}; give 2 or more, and at most one for each of the {len(trees)} trees")
    options = NEW_NETWORK if start is None else replace(FINE_TUNING, seeds=tuple(range(len(start.networks))))
    raw = [Tree(map(raw_word, tree.words), tree.tags, tree.labels, tree.starts, tree.ends) for tree in trees]
    sentences = [Sentence(tree, tuple(row), "review") for tree, row in zip(raw, tags, strict=True)]
    indices = long_block_folds(len(trees), folds).tolist()
    found: list[Posteriors] = [{}] * len(trees)
    for fold in range(folds):
        others = [sentence for sentence, index in zip(sentences, indices, strict=True) if index != fold]
        data = make_training_data(others, (), options, start=start)
        parser = SpanParser(make_model(data, [train_network(data, options, seed) for seed in options.seeds], {}))
        held_out = [number for number, index in enumerate(indices) if index == fold]
        for number in held_out:
            found[number] = fine_posteriors(parser, sentences[number].tree.words, sentences[number].tags)
        log_metrics(None, fold=fold, trained=len(others), evaluated=len(held_out))
    return found
