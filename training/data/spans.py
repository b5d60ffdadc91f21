"""Training examples of span networks: labelled spans, spans that cross constituents, and the loss of a sentence's
brackets with its derivative.

A label chain is the unary chain of labels over one span, from top to bottom.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from spacy_dtparse.dtypes import INDEX, REAL
from spacy_dtparse.span_parser.features import WordParts
from spacy_dtparse.span_parser.kernels.chart import tree_posteriors
from spacy_dtparse.span_parser.model import Chain
from spacy_dtparse.text import normal_word
from spacy_dtparse.trees import TOP, Tree

from .corpus import Sentence

_FORBIDDEN = REAL(-60.0)
"""Score of a span that crosses a constituent: each multiplies a tree's probability by e^-60."""


@dataclass(frozen=True)
class SpanExample:
    """One sentence of n tokens.

    `rows` int32 (n + 2, k): rows of the table. `rare` float32 (n + 2,): dropout probability of each word. `spans`
    int32 (c, 2) with `labels` int32 (c,), ids of label chains (0: none), and `span_weights` float32 (c,), their
    weights; for a gold tree these are its constituents and all tokens, with weight 1. `crossing` bool (n + 1, n + 1):
    spans that cross a constituent. For distillation there is `marginals` instead, float16 or float32 (n + 1, n + 1):
    the teacher's span marginals. `weight`: of all terms of the sentence. `relations` int32 (n + 2,): indices of the
    tokens' relations (see `data.relations`), -1: none; None: none at all.
    """

    rows: np.ndarray
    rare: np.ndarray
    spans: np.ndarray
    labels: np.ndarray
    span_weights: np.ndarray
    crossing: np.ndarray | None = None
    marginals: np.ndarray | None = None
    weight: float = 1.0
    relations: np.ndarray | None = None

    @property
    def n_tokens(self) -> int:
        """The number of tokens."""
        return len(self.rows) - 2


def label_chains(tree: Tree) -> dict[tuple[int, int], Chain]:
    """The label chain of every labelled span, from top to bottom, without TOP."""
    found: dict[tuple[int, int], list[str]] = {}
    for start, end, label in tree.spans():
        if label != TOP:
            found.setdefault((start, end), []).append(label)
    return {span: tuple(chain) for span, chain in found.items()}


def count_chains(trees: Iterable[Tree]) -> Counter[Chain]:
    """Count the label chains of trees."""
    return Counter(chain for tree in trees for chain in label_chains(tree).values())


def chain_ids(chains: Sequence[Chain]) -> dict[Chain, int]:
    """The id of each chain; look up with `chain_id`."""
    return {chain: i for i, chain in enumerate(chains)}


def chain_id(chain: Chain, ids: dict[Chain, int]) -> int:
    """The id of a chain. For an unlisted chain: the id of the longest listed one after removing labels from the top,
    else after removing labels from the bottom, else 0."""
    n = len(chain)
    left = [*(chain[cut:] for cut in range(n)), *(chain[:cut] for cut in range(n - 1, 0, -1))]
    return next((ids[part] for part in left if part in ids), 0)


def crossing_spans(spans: Iterable[tuple[int, int]], n: int) -> np.ndarray:
    """bool (n + 1, n + 1): whether a span crosses one of `spans`."""
    crossing = np.zeros((n + 1, n + 1), dtype=bool)
    for start, end in spans:
        if 1 < end - start < n:
            crossing[:start, start + 1 : end] = True
            crossing[start + 1 : end, end + 1 :] = True
    return crossing


def labelled_spans(tree: Tree, chains: dict[Chain, int]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """int32 (c, 2), int32 (c,), bool (n + 1, n + 1): constituents, single tokens and the whole sentence, the ids of
    their chains, and the spans that cross them."""
    n = tree.n_tokens
    labelled = {(k, k + 1): 0 for k in range(n)} | {(0, n): 0}
    labelled |= {span: chain_id(chain, chains) for span, chain in label_chains(tree).items()}
    spans, labels = np.array(list(labelled), dtype=INDEX), np.array(list(labelled.values()), dtype=INDEX)
    return spans.reshape(-1, 2), labels, crossing_spans(labelled, n)


def make_example(
    sentence: Sentence, words: WordParts, chains: dict[Chain, int], counts: Counter[str], word_dropout: float
) -> SpanExample:
    """The example of a sentence. `counts`: of normal words; a word that occurs c times is hidden with probability
    word_dropout / (word_dropout + c), so that the network learns to handle unknown words."""
    tree = sentence.tree
    n = tree.n_tokens
    spans, labels, crossing = labelled_spans(tree, chains)
    rare = np.zeros(n + 2, dtype=REAL)
    if word_dropout > 0:
        rare[1:-1] = [word_dropout / (word_dropout + counts[normal_word(word)]) for word in tree.words]
    return SpanExample(
        words.encode(tree.words, sentence.tags),
        rare,
        spans,
        labels,
        np.ones(len(labels), dtype=REAL),
        crossing,
        weight=sentence.weight,
    )


def bracket_gradients(scores: np.ndarray, crossing: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
    """(Loss, its derivative by every span's score, posteriors among trees without crossing spans) of a sentence; nats.

    `scores` float32, `crossing` bool, the two that are returned float64: all (n + 1, n + 1), at [i, j].
    """
    log_all, all_spans = _posteriors(scores)
    log_right, right_spans = _posteriors(np.where(crossing, _FORBIDDEN, scores))
    return log_all - log_right, all_spans - right_spans, right_spans


def distillation_gradients(scores: np.ndarray, marginals: np.ndarray) -> tuple[float, np.ndarray]:
    """(Loss, its derivative by every span's score): expected -ln of the probability of a tree, over the trees of a
    teacher whose span marginals are `marginals`; nats.

    `scores`, `marginals` float32 (n + 1, n + 1), at [i, j]; `marginals` is 0 for single tokens.
    """
    log_all, all_spans = _posteriors(scores)
    return log_all - float(np.vdot(marginals, scores)), all_spans - marginals


def _posteriors(scores: np.ndarray) -> tuple[float, np.ndarray]:
    """`tree_posteriors` of scores with 0 for single tokens."""
    scores = np.array(scores, dtype=REAL)
    np.fill_diagonal(scores[:, 1:], 0)
    return tree_posteriors(scores)
