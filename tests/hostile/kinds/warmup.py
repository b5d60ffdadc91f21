"""`dtparse warmup` in a folder of kernels that cannot be written, has damaged files, or that others write too; and a
warm-up that is killed.

Each case works on a copy of the kernels that this process uses, without some of them, so that little is compiled.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from spacy_dtparse.jit.cache_state import cache_folder

from ..cases import case

ROOT = Path(__file__).resolve().parents[3]
PIPELINE = "en_span"
COMPILED_AGAIN = ("select_noncrossing", "log_posteriors", "encode_gaps")
"""Kernels of the pipeline that are removed or damaged."""
_DROP_FROM_BOUNDING_SET, _DAC_OVERRIDE, _DAC_READ_SEARCH = 24, 1, 2


def _obey_permissions() -> None:
    """For the program that follows: root, too, may only write where the permissions allow it."""
    if os.geteuid() == 0:
        for capability in (_DAC_OVERRIDE, _DAC_READ_SEARCH):
            ctypes.CDLL(None).prctl(_DROP_FROM_BOUNDING_SET, capability, 0, 0, 0)


def start(folder: Path, root: Path = ROOT, **environment: str) -> subprocess.Popen[str]:
    """Start `dtparse warmup` with compiled kernels in a folder."""
    kept = {name: value for name, value in os.environ.items() if name != "SPACY_DTPARSE_WAIT"}
    return subprocess.Popen(
        [sys.executable, "-B", "-m", "spacy_dtparse", "warmup", PIPELINE],
        env={**kept, "PYTHONPATH": str(root), "NUMBA_CACHE_DIR": str(folder), **environment},
        cwd=tempfile.gettempdir(),
        preexec_fn=_obey_permissions,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def ended(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    """Wait: (exit status, standard output, standard error)."""
    output, errors = process.communicate(timeout=300)
    assert "Traceback" not in errors, errors[-500:]
    return process.returncode, output, errors


def kernel_files(folder: Path, ending: str) -> list[Path]:
    """The files of the kernels COMPILED_AGAIN."""
    return [path for path in folder.glob(f"*{ending}") if any(f".{name}-" in path.name for name in COMPILED_AGAIN)]


@contextmanager
def kernels(*, complete: bool) -> Iterator[Path]:
    """A folder with compiled kernels, all or all but COMPILED_AGAIN, none of whose parts counts as compiled."""
    given = cache_folder()
    assert given is not None
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "kernels"
        shutil.copytree(given, folder)
        for path in [*folder.glob("*.part"), *folder.glob("*.busy"), *([] if complete else kernel_files(folder, "*"))]:
            path.unlink()
        yield folder


def assert_complete(folder: Path) -> None:
    """A further warm-up finds all kernels: it says nothing, and stores nothing."""
    before = {path.name: path.stat().st_mtime_ns for path in folder.glob("*.nb?")}
    code, output, errors = ended(start(folder))
    assert (code, errors) == (0, "") and f"{PIPELINE}: compiled" in output, (code, output, errors)
    assert {path.name: path.stat().st_mtime_ns for path in folder.glob("*.nb?")} == before


@case(seconds=60, megabytes=500)
def folder_that_cannot_be_written() -> None:
    """Neither the folder that is given, nor the package's, nor the user's: one sentence, and nothing is compiled."""
    with kernels(complete=True) as folder:
        root = folder.parent / "package"
        shutil.copytree(ROOT / "spacy_dtparse", root / "spacy_dtparse", ignore=shutil.ignore_patterns("__pycache__"))
        places = [folder, *filter(Path.is_dir, root.rglob("*"))]
        for place in places:
            place.chmod(0o555)
        try:
            code, _, errors = ended(start(folder, root, XDG_CACHE_HOME=str(folder), HOME=str(folder)))
        finally:
            for place in places:
                place.chmod(0o755)
    assert code == 1 and errors.splitlines()[-1].startswith("dtparse: error: no folder"), errors
    assert f"NUMBA_CACHE_DIR={folder} is not used" in errors, errors


DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda data: b"",
    "half": lambda data: data[: len(data) // 2],
    "zeros": lambda data: bytes(len(data)),
    "text": lambda data: b"This is no kernel." * 99,
}


@case(seconds=60, megabytes=500, each=[(ending, damage) for ending in (".nbi", ".nbc") for damage in DAMAGES])
def damaged_kernels(what: tuple[str, str]) -> None:
    """Indices or code of kernels that were cut or overwritten: they are compiled again, once."""
    ending, damage = what
    with kernels(complete=True) as folder:
        files = kernel_files(folder, ending)
        assert len(files) >= len(COMPILED_AGAIN)
        for path in files:
            path.write_bytes(DAMAGES[damage](path.read_bytes()))
        code, output, errors = ended(start(folder))
        assert code == 0 and f"{PIPELINE}: compiled" in output, (code, output, errors)
        assert_complete(folder)


@case(seconds=60, megabytes=500, each=[1.0, 2.5, 4.0, 6.0])
def killed_and_started_again(seconds: float) -> None:
    """Killed after some seconds; the next one compiles what is missing, and does not wait for the dead one."""
    with kernels(complete=False) as folder:
        process = start(folder)
        time.sleep(seconds)
        process.kill()
        process.communicate()
        began = time.monotonic()
        code, output, errors = ended(start(folder))
        assert code == 0 and f"{PIPELINE}: compiled" in output, (code, output, errors)
        assert time.monotonic() - began < 90
        assert_complete(folder)


@case(seconds=60, megabytes=500)
def two_at_the_same_time() -> None:
    """Both end, and the folder is complete."""
    with kernels(complete=False) as folder:
        for code, output, errors in map(ended, [start(folder), start(folder)]):
            assert code == 0 and f"{PIPELINE}: compiled" in output, (code, output, errors)
        assert_complete(folder)
