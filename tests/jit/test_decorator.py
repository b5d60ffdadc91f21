"""The kernels' cache: entries of older sources are ignored."""

from __future__ import annotations

import importlib
import importlib.util
import os
import pickle
import subprocess
import sys
from collections import namedtuple
from pathlib import Path

import numba
import pytest
from numba.core import caching, config

from spacy_dtparse.jit import sources
from spacy_dtparse.jit.decorator import find_cache_folder, is_writable_by_others
from spacy_dtparse.jit.sources import KERNEL_ROOT, dependencies, kernel_digest, kernel_sources

from ..test_imports_point_one_way import imported_modules

pytestmark = [pytest.mark.kernel, pytest.mark.skipif(config.DISABLE_JIT, reason="nothing is cached")]

ROOT = Path(__file__).parents[2]
SOURCE = """
from spacy_dtparse.jit.decorator import kernel

@kernel
def double(x):
    return x + x
"""


CALLED = """
from spacy_dtparse.jit.decorator import inner_kernel, kernel

@inner_kernel
def difference(x, y):
    return x + y - y

@inner_kernel
def ratio(x, y):
    return x / y

@kernel(fastmath=True, error_model="numpy")
def fast(x, y):
    return difference(x, y), ratio(x, y)

@kernel
def exact(x, y):
    return difference(x, y), ratio(x, y)
"""


class Moved:
    """Represents a class that older sources had in another module."""

    def __reduce__(self):
        return importlib.import_module, ("spacy_dtparse.jit.no_such_module",)


def load(path):
    """A new module of the source as it is now: Python's cached bytecode would miss a second change within a second."""
    spec = importlib.util.spec_from_file_location("cached_kernels", path)
    module = importlib.util.module_from_spec(spec)
    exec(compile(path.read_text(), str(path), "exec"), module.__dict__)
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


def test_options_of_a_caller_do_not_apply_to_a_kernel(source):
    """numba would compile the inner kernels with the options of the caller that it compiles first, for all callers."""
    source.write_text(CALLED)
    kernels = load(source)
    assert kernels.fast(1.0, 1e20) == (0, 1e-20)
    assert kernels.exact(1.0, 1e20) == (0, 1e-20)
    with pytest.raises(ZeroDivisionError):
        kernels.exact(1.0, 0.0)


def test_an_index_that_names_moved_classes_is_ignored(source):
    load(source).double(2)
    (index,) = source.parent.glob("__pycache__/*.nbi")
    index.write_bytes(pickle.dumps(numba.__version__) + pickle.dumps(("older", {Moved(): "x.nbc"})))
    again = load(source)
    assert again.double(3) == 6 and not again.double.compiled.stats.cache_hits
    after = load(source)
    assert after.double(3) == 6 and sum(after.double.compiled.stats.cache_hits.values()) == 1


def test_a_change_in_a_folder_below_is_noticed(source):
    """A kernel's callee can be in any file below the folder: the package's kernels are in subpackages."""
    below = source.parent / "subpackage" / "callee.py"
    below.parent.mkdir()
    below.write_text("one = 1\n")
    load(source).double(2)
    below.write_text("one = 2\n")
    clear_digests()
    changed = load(source)
    assert changed.double(2) == 4 and not changed.double.compiled.stats.cache_hits
    clear_digests()
    again = load(source)
    assert again.double(2) == 4 and sum(again.double.compiled.stats.cache_hits.values()) == 1


def clear_digests():
    for function in vars(sources).values():
        if hasattr(function, "cache_clear"):
            function.cache_clear()


def test_code_depends_on_the_sources_that_its_file_imports():
    """A change in one component's kernels does not invalidate the code of the others."""
    from spacy_dtparse.bpm_parser.kernels import links
    from spacy_dtparse.dtparse.kernels import batch

    for kernel in (links.list_features, batch.search_from):
        file = Path(sys.modules[kernel.__module__].__file__)
        assert kernel.compiled._cache._impl.locator.get_source_stamp() == kernel_digest(file)
    folders = {path.relative_to(KERNEL_ROOT).parts[0] for path in dependencies(Path(batch.__file__))}
    assert folders == {"dtparse", "trees", "dtypes.py", "jit"}
    folders = {path.relative_to(KERNEL_ROOT).parts[0] for path in dependencies(Path(links.__file__))}
    assert folders == {"bpm_parser", "linear", "dtypes.py", "jit"}


def test_no_import_of_a_kernel_source_is_missed():
    """`dependencies` reads imports with a regular expression, which is faster than a parser of Python."""
    files = {".".join(path.relative_to(ROOT).with_suffix("").parts): path for path in kernel_sources()}

    def closure(path, seen):
        seen.add(path)
        for module in imported_modules(path):
            imported = files.get(module) or files.get(module.rpartition(".")[0])
            if imported is not None and imported not in seen:
                closure(imported, seen)
        return seen

    decorator = KERNEL_ROOT / "jit" / "decorator.py"
    for path in kernel_sources():
        if path != decorator:
            assert set(dependencies(path)) - {decorator} == closure(path, set()) - {decorator}, path
    assert sum(len(dependencies(path)) > 5 for path in kernel_sources()) > 10


def test_other_fields_of_a_named_tuple_are_noticed(source, tmp_path, monkeypatch):
    """A kernel reads fields by position; its file need not import the class of its argument."""
    source.write_text(SOURCE.replace("x + x", "x.first"))
    (tmp_path / "pairs_of_a_test.py").write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    pairs = importlib.import_module("pairs_of_a_test")
    for fields, expected in (("first second", 1), ("second first", 2), ("first second", 1)):
        pairs.Pair = namedtuple("Pair", fields, module=pairs.__name__)
        for hits in (0, 1) if expected == 2 else (None,):
            kernels = load(source)
            assert kernels.double((pairs.Pair(1, 2),)[0]) == expected
            assert hits is None or sum(kernels.double.compiled.stats.cache_hits.values()) == hits


CACHED = """
import sys
sys.path.insert(0, sys.argv[1])
import numba
import numpy as np
from numba.core.runtime import rtsys
from spacy_dtparse.recurrent_tagger.kernels import score_tags
from spacy_dtparse.recurrent_tagger.warmup import kernel_arguments
given = kernel_arguments()["tagger"][score_tags]
for _ in range(50):
    score_tags(*given)
print(rtsys._init, len(score_tags.compiled.stats.cache_hits))

@numba.njit
def summed(n):
    return np.arange(n).sum()

print(summed(5), rtsys._init)
score_tags(*given)
"""


@pytest.mark.slow
def test_cached_kernels_need_no_compiler(tmp_path):
    """Kernels from the cache run, and allocate, before numba's runtime has started; then others are compiled."""

    def run():
        kept = {name: value for name, value in os.environ.items() if not name.startswith("NUMBA")}
        done = subprocess.run(
            [sys.executable, "-c", CACHED, str(ROOT)],
            env={**kept, "NUMBA_CACHE_DIR": str(tmp_path)},
            capture_output=True,
            text=True,
            timeout=300,
            check=True,
        )
        return done.stdout.split("\n")[:2]

    assert run() == ["True 0", "10 True"]
    assert run() == ["False 1", "10 True"]


def test_code_that_another_process_wrote_in_its_place_is_not_run(source):
    """Two processes store code at the same time: the index of one, then the file of the other, compiled from other
    sources or for arguments of other types."""
    load(source).double(2)
    (index,) = source.parent.glob("__pycache__/*.nbi")
    (code,) = source.parent.glob("__pycache__/*.nbc")
    of_integers = index.read_bytes(), code.read_bytes()
    index.unlink()
    load(source).double(2.5)
    of_floats = code.read_bytes()
    index.write_bytes(of_integers[0])
    again = load(source)
    assert again.double(2) == 4 and not again.double.compiled.stats.cache_hits, "the code is that for floats"

    source.write_text(SOURCE.replace("x + x", "x * 3"))
    clear_digests()
    assert load(source).double(2) == 6
    code.write_bytes(of_integers[1])
    changed = load(source)
    assert changed.double(2) == 6 and not changed.double.compiled.stats.cache_hits, "the code is that of before"
    found = load(source)
    assert found.double(2) == 6 and sum(found.double.compiled.stats.cache_hits.values()) == 1
    assert code.read_bytes() not in (of_integers[1], of_floats)


@pytest.mark.parametrize("damage", [b"", b"\x80", None])
def test_damaged_entries_are_rebuilt(source, damage):
    """An index or a kernel that was cut short (None: in its middle), or is junk."""
    load(source).double(2)
    for pattern in ("*.nbi", "*.nbc"):
        (path,) = source.parent.glob(f"__pycache__/{pattern}")
        data = path.read_bytes()
        path.write_bytes(data[: len(data) // 2] if damage is None else damage)
        again = load(source)
        with pytest.warns(UserWarning, match=r"cannot be read .*; it is compiled again"):
            assert again.double(3) == 6 and not again.double.compiled.stats.cache_hits
        after = load(source)
        assert after.double(3) == 6 and sum(after.double.compiled.stats.cache_hits.values()) == 1


def test_a_full_disk_is_reported_and_nothing_fails(source, monkeypatch):
    def full(*kernel_arguments, **options):
        raise OSError(28, "No space left on device")

    module = load(source)
    monkeypatch.setattr(caching.IndexDataCacheFile, "save", full)
    with pytest.warns(UserWarning, match=r"cannot be stored in .* \(No space left on device\)"):
        assert module.double(2) == 4
    monkeypatch.undo()
    assert not list(source.parent.glob("__pycache__/*.nbc"))


def test_a_folder_that_others_write_to_is_not_used(tmp_path, monkeypatch):
    shared = tmp_path / "shared"
    shared.mkdir()
    for mode, unsafe in ((0o700, False), (0o755, False), (0o775, False), (0o777, True), (0o1777, True)):
        shared.chmod(mode)
        assert is_writable_by_others(shared) == unsafe
    monkeypatch.setattr(config, "CACHE_DIR", str(shared))
    home = tmp_path / "home"
    home.mkdir()
    with pytest.warns(UserWarning, match=r"NUMBA_CACHE_DIR=.*shared is not used .* other users can write there"):
        assert find_cache_folder(home) == home / "__pycache__"
    shared.chmod(0o700)
    find_cache_folder.cache_clear()
    assert find_cache_folder(home) == shared
    if hasattr(os, "geteuid"):
        monkeypatch.setattr(os, "geteuid", lambda: shared.stat().st_uid + 1 if shared.stat().st_uid else 12345)
        assert is_writable_by_others(shared) == bool(shared.stat().st_uid)
    find_cache_folder.cache_clear()


def test_no_folder_can_be_written_to(tmp_path, monkeypatch):
    """No home, read-only packages: kernels are compiled in memory."""
    blocked = tmp_path / "a_file"
    blocked.write_text("")
    monkeypatch.setattr(config, "CACHE_DIR", "")
    monkeypatch.setenv("XDG_CACHE_HOME", str(blocked))
    assert find_cache_folder(blocked / "package") is None
    find_cache_folder.cache_clear()
