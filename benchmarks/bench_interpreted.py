"""Time per sentence with interpreted and with compiled kernels: microseconds of wall time per token.

python benchmarks/bench_interpreted.py
"""

from __future__ import annotations

import time
from contextlib import nullcontext

import spacy_dtparse
from spacy_dtparse.jit.decorator import interpret_kernels

SENTENCE = (
    "After the committee had met for the third time in as many weeks, its chair told reporters that she would resign."
)


def main() -> None:
    """Measure and print; the first parse of each kind does not count."""
    nlp = spacy_dtparse.load()
    for name, context in (("compiled", nullcontext), ("interpreted", interpret_kernels)):
        with context():
            nlp(SENTENCE)
            began = time.perf_counter()
            doc = nlp(SENTENCE)
            print(f"{name}: {1e6 * (time.perf_counter() - began) / len(doc):,.0f} µs per token")


if __name__ == "__main__":
    main()
