"""Whether the line about compiling kernels is printed when it is true."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROGRAM = """
import sys
sys.path.insert(0, sys.argv[1])
from spacy_dtparse.jit.cache_state import are_kernels_compiled
before = are_kernels_compiled()
if sys.argv[2] == "compile":
    import numpy as np
    from spacy_dtparse.dtparse.model.model import hash_table
    hash_table(np.array([5, 9], dtype=np.uint64), np.array([0, 1], dtype=np.int32))
print(before, are_kernels_compiled())
"""


def run(cache, action, **environment):
    kept = {name: value for name, value in os.environ.items() if not name.startswith("NUMBA")}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(ROOT), action],
        env={**kept, "NUMBA_CACHE_DIR": str(cache), **environment},
        capture_output=True,
        text=True,
        timeout=300,
        check=True,
    )
    return done.stdout.split()


@pytest.mark.kernel
def test_an_empty_cache_a_filled_one_and_no_compilation_at_all(tmp_path):
    assert run(tmp_path, "compile") == ["False", "True"]
    assert run(tmp_path, "look") == ["True", "True"]
    assert run(tmp_path / "other", "look", NUMBA_DISABLE_JIT="1") == ["True", "True"]
    (stamp,) = tmp_path.glob("*.stamp")
    digest = stamp.read_bytes()
    for other in (b"another digest", b"", b"\xff\xfe"):
        stamp.write_bytes(other)
        assert run(tmp_path, "look") == ["False", "False"]
    stamp.write_bytes(digest)
    assert run(tmp_path, "look") == ["True", "True"]
    assert run(tmp_path, "look", NUMBA_BOUNDSCHECK="1") == ["False", "False"], "other code is compiled for it"
    for index in tmp_path.glob("*.nbi"):
        index.unlink()
    assert run(tmp_path, "look") == ["False", "False"]
