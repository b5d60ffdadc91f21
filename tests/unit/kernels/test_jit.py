"""The kernels' cache: what older sources left there is passed over."""

from __future__ import annotations

import importlib
import importlib.util
import pickle

import numba
import pytest
from numba.core import config

from spacy_dtparse.kernels.jit import KERNEL_ROOT, sources_digest

pytestmark = [
    pytest.mark.kernel,
    pytest.mark.skipif(config.DISABLE_JIT, reason="nothing is cached"),
]

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
