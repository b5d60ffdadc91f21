"""Tables of strings, short and long."""

from __future__ import annotations

import pickle
import random
import subprocess
import sys

import numpy as np
import pytest

from spacy_dtparse.errors import DtparseError
from spacy_dtparse.symbols import CompactSymbolTable, SymbolTable, index_bytes

STRINGS = ["the", "", "naïve", "日本語", "🙂", "a b", "\ud800", "\n", "The", "the "]


def many(count: int, seed: int = 0) -> list[str]:
    rng = random.Random(seed)
    return list(dict.fromkeys("".join(rng.choices("abcé🙂", k=rng.randint(0, 9))) for _ in range(count)))


@pytest.mark.parametrize("strings", [[], ["x"], ["x", "y"], STRINGS, many(3000), [str(k) for k in range(5000)]])
def test_a_long_table_is_a_table(strings: list[str]) -> None:
    plain, long = SymbolTable(strings), CompactSymbolTable(iter(strings))
    assert long == plain and plain == long and hash(long) == hash(plain) and len(long) == len(strings)
    assert list(long) == strings and long.strings == plain.strings
    assert [long[k] for k in range(len(strings))] == strings
    sought = [*strings, *(string + "x" for string in strings), "unknown", "\udfff", "\0"]
    assert [long.id_of(string) for string in sought] == [plain.id_of(string) for string in sought]
    assert long.id_of("unknown", 7) == 7 and "unknown" not in long and 3 not in long
    assert all(string in long for string in strings)
    numbers = long.encode(sought, -2)
    assert numbers.dtype == np.int32 and np.array_equal(numbers, plain.encode(sought, -2))
    with pytest.raises(IndexError):
        long[len(strings)]
    if strings:
        assert long[-1] == strings[-1]


def test_a_string_twice_is_refused() -> None:
    with pytest.raises(DtparseError, match="'b' is listed twice"):
        CompactSymbolTable(["a", "b", "c", "b"])


def test_a_long_table_can_be_sent_to_processes_with_another_hash_seed() -> None:
    program = (
        "import pickle, sys\n"
        "table = pickle.loads(sys.stdin.buffer.read())\n"
        "print(type(table).__name__, [table.id_of(string) for string in ('the', 'naïve', 'gnu')])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        input=pickle.dumps(CompactSymbolTable(STRINGS)),
        capture_output=True,
        check=True,
        env={"PYTHONHASHSEED": "7", "PYTHONIOENCODING": "utf-8"},
    )
    assert done.stdout.decode().split(maxsplit=1) == ["CompactSymbolTable", "[0, 2, -1]\n"]


def test_numbers_are_packed_as_an_array_would_be() -> None:
    numbers = [0, -1, 2**31 - 1, -(2**31), 7]
    assert index_bytes(numbers) == index_bytes(iter(numbers)) == np.array(numbers, dtype=np.int32).tobytes()
