"""Proofs: sentences with what a model made of them where it was written, to be compared wherever it is loaded.

A model's fingerprint says that its tables are whole; proofs say that features, kernels and tables still mean the same.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import cycle, zip_longest
from typing import Any

import numpy as np

from ..errors import DtparseError, ModelFormatError
from ..symbols import SymbolTable

Strings = Sequence[str] | SymbolTable
Proof = dict[str, Any]
"""`words`, `tags`, and by name what came out: numbers, or lists of them."""

SENTENCES = """
Mr./NNP O'Neill-Harcourt/NNP quickly/RB repainted/VBD 37/CD low-cost/JJ chairs/NNS ./.
"/`` Is/VBZ NASA/NNP 's/POS iPhone/NNP unbreakable/JJ ?/. "/''
Unmuting/VBG misunderstandings/NNS on/IN https://example.org/a?b=2/NN (/-LRB- 5:30/CD )/-RRB- !/.
I/PRP would/MD n't/RB pay/VB $/$ 1,250.50/CD for/IN B2B-style/JJ incomprehensibilities/NNS
“/`` THE/DT zorbled/VBN quaxing/NN ,/, 1999/CD ,/, isn’t/VBZ a/DT beginner/NN ”/''
""".split("\n")[1:-1]
"""What features look at: capitals, digits, hyphens, brackets, quotes, endings, a URL, a long word, words unknown to
everyone. Written for this purpose; part of no treebank."""
OWN_WORDS = 9
"""Length of one more sentence, of words that the model knows."""


def sentences(words: Strings, tags: Strings) -> Iterator[tuple[list[str], list[str]]]:
    """Words with tags, for a model that knows these `words` and `tags`: those of SENTENCES, where a tag that it does
    not know gives way to the next of those that it knows, unless it knows none; and one of its own words."""
    others = cycle(tags)
    for line in SENTENCES:
        pairs = [token.rpartition("/") for token in line.split()]
        yield [word for word, _, _ in pairs], [tag if tag in tags else next(others, tag) for _, _, tag in pairs]
    if words:
        yield _spread(words), _spread(tags or [""])


def _spread(strings: Strings) -> list[str]:
    """OWN_WORDS of them, from the first on at equal steps."""
    return [strings[k * len(strings) // OWN_WORDS] for k in range(OWN_WORDS)]


def compare(
    proofs: Sequence[Proof], prove: Callable[[list[str], list[str]], Mapping[str, Any]], tolerance: float
) -> None:
    """Raise ModelFormatError unless `prove` makes of each sentence what its proof says, to `tolerance` times 1 more
    than its size, and there is one."""
    if not proofs:
        raise ModelFormatError(
            "the model has no proofs, sentences that show that it parses as it did where it was made; write it again "
            "with the to_bytes of its parser"
        )
    for number, proof in enumerate(proofs):
        try:
            found = prove(list(proof["words"]), list(proof["tags"]))
            pairs = [pair for name in found for pair in _pairs(found[name], proof[name])]
            different = [(a, b) for a, b in pairs if not abs(a - b) <= tolerance * (1 + abs(b))]  # nor nan, nor inf
        except (DtparseError, ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            raise ModelFormatError(
                f"proof {number} of the model is none ({type(error).__name__}: {error}); fetch or write the model again"
            ) from error
        if different:
            here, there = different[0]
            raise ModelFormatError(
                f"proof {number} of the model scores {here:.9g}, but {there:.9g} where the model was made: its tables "
                "or this release's features or kernels differ; train the model again or install the release that made "
                "it"
            )


def _pairs(found: Any, proven: Any) -> Iterator[tuple[float, float]]:
    """What was found and what was proven, number by number; nan where the one has more than the other."""
    return zip_longest(np.ravel(found).tolist(), np.ravel(proven).tolist(), fillvalue=math.nan)
