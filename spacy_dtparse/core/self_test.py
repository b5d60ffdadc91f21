"""The self-test of models: a model file stores golden parses, sentences with the scores that the model gave them when
it was written. Loading parses the sentences again and compares the scores.

The checksum of a model shows that its tables are undamaged; the self-test shows that features, kernels and tables still
fit together.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import cycle, zip_longest
from typing import Any

import numpy as np

from ..errors import DtparseError, ModelFormatError
from .parser import Strings

GoldenParse = dict[str, Any]
"""A golden parse: `words`, `tags`, and outputs by name: numbers, or lists of numbers."""

SELF_TEST_SENTENCES = """
Mr./NNP O'Neill-Harcourt/NNP quickly/RB repainted/VBD 37/CD low-cost/JJ chairs/NNS ./.
"/`` Is/VBZ NASA/NNP 's/POS iPhone/NNP unbreakable/JJ ?/. "/''
Unmuting/VBG misunderstandings/NNS on/IN https://example.org/a?b=2/NN (/-LRB- 5:30/CD )/-RRB- !/.
I/PRP would/MD n't/RB pay/VB $/$ 1,250.50/CD for/IN B2B-style/JJ incomprehensibilities/NNS
“/`` THE/DT zorbled/VBN quaxing/NN ,/, 1999/CD ,/, isn’t/VBZ a/DT beginner/NN ”/''
""".split("\n")[1:-1]
"""Sentences that cover what features depend on: capitals, digits, hyphens, brackets, quotes, endings, a URL, a long
word, words that no model contains. Written for this purpose; not part of any treebank."""
N_VOCABULARY_WORDS = 9
"""Length of one more sentence, of words from the model's vocabulary."""


def self_test_sentences(words: Strings, tags: Strings) -> Iterator[tuple[list[str], list[str]]]:
    """Yield the test sentences (words, tags) for a model with the vocabulary `words` and `tags`.

    These are `SELF_TEST_SENTENCES`, in which each tag that the model lacks is replaced by the next of `tags` (unless
    there are none), and one sentence of words from the vocabulary.
    """
    others = cycle(tags)
    for line in SELF_TEST_SENTENCES:
        pairs = [token.rpartition("/") for token in line.split()]
        yield [word for word, _, _ in pairs], [tag if tag in tags else next(others, tag) for _, _, tag in pairs]
    if words:
        yield _evenly_spaced(words), _evenly_spaced(tags or [""])


def _evenly_spaced(strings: Strings) -> list[str]:
    """Return `N_VOCABULARY_WORDS` of the strings, from the first on at equal steps."""
    return [strings[k * len(strings) // N_VOCABULARY_WORDS] for k in range(N_VOCABULARY_WORDS)]


def run_self_test(
    golden_parses: Sequence[GoldenParse],
    parse_again: Callable[[list[str], list[str]], Mapping[str, Any]],
    tolerance: float,
) -> None:
    """Raise ModelFormatError unless `parse_again` reproduces the outputs of each golden parse, and there is at least
    one.

    A number x may differ by `tolerance` * (1 + |x|).
    """
    if not golden_parses:
        raise ModelFormatError(
            "the model has no self-test, sentences with stored parses that show that it parses as it did when it was "
            "written; write it again with the to_bytes of its parser"
        )
    for index, golden in enumerate(golden_parses):
        try:
            outputs = parse_again(list(golden["words"]), list(golden["tags"]))
            pairs = [pair for name in outputs for pair in _pairs(outputs[name], golden[name])]
            different = [(a, b) for a, b in pairs if not abs(a - b) <= tolerance * (1 + abs(b))]  # nor nan, nor inf
        except (DtparseError, ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            raise ModelFormatError(
                f"self-test {index} of the model cannot be run ({type(error).__name__}: {error}); fetch or write the "
                "model again"
            ) from error
        if different:
            here, there = different[0]
            raise ModelFormatError(
                f"self-test {index} of the model scores {here:.9g}, but {there:.9g} where the model was made: its "
                "tables or this release's features or kernels differ; train the model again or install the release "
                "that made it"
            )


def _pairs(computed: Any, stored: Any) -> Iterator[tuple[float, float]]:
    """Yield pairs of computed and stored numbers; nan if one side has fewer."""
    return zip_longest(np.ravel(computed).tolist(), np.ravel(stored).tolist(), fillvalue=math.nan)
