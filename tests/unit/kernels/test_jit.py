"""The kernels' cache: what older sources left there is passed over."""

from __future__ import annotations

import importlib
import importlib.util
import os
import pickle
import subprocess
import sys
from pathlib import Path

import numba
import pytest
from numba.core import config

from spacy_dtparse.kernels.jit import KERNEL_ROOT, sources_digest

pytestmark = [
    pytest.mark.kernel,
    pytest.mark.skipif(config.DISABLE_JIT, reason="nothing is cached"),
]

ROOT = Path(__file__).parents[3]
SOURCE = """
from spacy_dtparse.kernels.jit import kernel

@kernel
def double(x):
    return x + x
"""


class Moved:
    """Stands for a class that older sources had in another module."""

    def __reduce__(self):
        return importlib.import_module, ("spacy_dtparse.kernels.no_such_module",)


def load(path):
    spec = importlib.util.spec_from_file_location("cached_kernels", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def source(tmp_path, monkeypatch):
    monkeypatch.setattr(config, "CACHE_DIR", "")
    path = tmp_path / "cached_kernels.py"
    path.write_text(SOURCE)
    return path


def test_compiled_kernels_are_found_again(source):
    assert load(source).double(2) == 4
    again = load(source)
    assert again.double(2) == 4 and sum(again.double.compiled.stats.cache_hits.values()) == 1


def test_an_index_with_what_has_moved_is_passed_over(source):
    load(source).double(2)
    (index,) = source.parent.glob("__pycache__/*.nbi")
    index.write_bytes(pickle.dumps(numba.__version__) + pickle.dumps(("older", {Moved(): "x.nbc"})))
    again = load(source)
    assert again.double(3) == 6 and not again.double.compiled.stats.cache_hits
    after = load(source)
    assert after.double(3) == 6 and sum(after.double.compiled.stats.cache_hits.values()) == 1


def test_a_change_in_a_folder_below_is_noticed(source):
    """A kernel's callee may be in any file below: of the package's kernels they are in drawers."""
    below = source.parent / "drawer" / "callee.py"
    below.parent.mkdir()
    below.write_text("one = 1\n")
    load(source).double(2)
    below.write_text("one = 2\n")
    sources_digest.cache_clear()
    changed = load(source)
    assert changed.double(2) == 4 and not changed.double.compiled.stats.cache_hits
    sources_digest.cache_clear()
    again = load(source)
    assert again.double(2) == 4 and sum(again.double.compiled.stats.cache_hits.values()) == 1


def test_all_drawers_share_one_digest():
    from spacy_dtparse.kernels.linear import links
    from spacy_dtparse.kernels.trees import batch

    stamps = {
        kernel.compiled._cache._impl.locator.get_source_stamp() for kernel in (links.list_features, batch.search_each)
    }
    assert stamps == {sources_digest(KERNEL_ROOT)}


CACHED = """
import sys
sys.path.insert(0, sys.argv[1])
import numba
import numpy as np
from numba.core.runtime import rtsys
from spacy_dtparse.kernels.recurrent.tagging import score_tags
from spacy_dtparse.model.recurrent.ahead import arguments
given = arguments()[score_tags]
for _ in range(50):
    score_tags(*given)
print(rtsys._init, len(score_tags.compiled.stats.cache_hits))

@numba.njit
def summed(n):
    return np.arange(n).sum()

print(summed(5), rtsys._init)
score_tags(*given)
"""


def test_what_is_cached_needs_no_compiler(tmp_path):
    """Kernels from the cache run, and allocate, before numba's runtime has started; then others are compiled."""

    def run():
        kept = {name: value for name, value in os.environ.items() if not name.startswith("NUMBA")}
        done = subprocess.run(
            [sys.executable, "-c", CACHED, str(ROOT)], env={**kept, "NUMBA_CACHE_DIR": str(tmp_path)},
            capture_output=True, text=True, timeout=300, check=True,
        )  # fmt: skip
        return done.stdout.split("\n")[:2]

    assert run() == ["True 0", "10 True"]
    assert run() == ["False 1", "10 True"]
