"""Environments in which the package cannot work as usual, each in a program of its own."""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

from ..cases import case

ROOT = Path(__file__).resolve().parents[3]
PARSE = "import spacy_dtparse; print(len(spacy_dtparse.load('en_span')('Dogs bark.')._.constituents))"


def python(*arguments: str, address_space: int | None = None, path: str = str(ROOT), **environment: str) -> tuple:
    """Run Python: (exit status, standard output, standard error)."""

    def limit() -> None:
        if address_space is not None:
            resource.setrlimit(resource.RLIMIT_AS, (address_space, address_space))

    done = subprocess.run(
        [sys.executable, *arguments],
        env={**os.environ, "PYTHONPATH": path, "SPACY_DTPARSE_WAIT": "1", **environment},
        cwd=tempfile.gettempdir(),
        preexec_fn=limit,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout.strip(), done.stderr.strip()


@case(seconds=20, megabytes=500, each=[250, 350, 400, 450, 500, 600, 800])
def small_address_space(megabytes: int) -> None:
    code, output, errors = python("-c", PARSE, address_space=megabytes * 2**20)
    if code:
        last = errors.splitlines()[-1] if errors else ""
        assert f"limited to {megabytes} MB" in last, last[:300]
    else:
        assert output == "2" or output.isdigit()


@case(seconds=20, megabytes=500)
def small_address_space_of_the_command() -> None:
    code, _, errors = python("-m", "spacy_dtparse", "parse", "--text", "Dogs bark.", address_space=350 * 2**20)
    assert code and errors.startswith("dtparse: error: the address space"), errors[-300:]


@case(seconds=20, megabytes=500)
def import_from_an_archive() -> None:
    folder = Path(tempfile.mkdtemp())
    try:
        archive = folder / "spacy_dtparse.zip"
        with zipfile.ZipFile(archive, "w") as file:
            for source in (ROOT / "spacy_dtparse").rglob("*.py"):
                file.write(source, source.relative_to(ROOT))
        code, _, errors = python("-c", PARSE, path=str(archive))
        assert code and "imported from the archive" in errors.splitlines()[-1], errors[-300:]
    finally:
        shutil.rmtree(folder)


@case(seconds=60, megabytes=500)
def without_compiler() -> None:
    code, output, errors = python("-c", PARSE, NUMBA_DISABLE_JIT="1")
    assert (code, errors) == (0, "") and output.isdigit(), errors[-300:]


@case(seconds=60, megabytes=500)
def optimized() -> None:
    """`python -O` uses the kernels that were compiled without -O."""
    program = (
        PARSE
        + "; "
        + (
            "import gc; from spacy_dtparse.jit.decorator import Kernel; "
            "kernels = [k for k in gc.get_objects() if type(k) is Kernel and vars(k).get('compiled') is not None]; "
            "print([k.__qualname__ for k in kernels if k.compiled.stats.cache_misses])"
        )
    )
    for flag in ("-B", "-OB", "-OOB"):
        code, output, errors = python(flag, "-c", program)
        assert code == 0 and output.splitlines()[-1] == "[]", f"{flag}: {output[-200:]} {errors[-200:]}"


@case(seconds=20, megabytes=500, each=["ascii", "deleted folder", "no HOME"])
def odd_surroundings(name: str) -> None:
    """A terminal that can show ASCII only, a working folder that is gone, no home: a tree, or one sentence."""
    text = "Caf\u00e9s \u2014 d\u00e9j\u00e0 vu."
    command = f"{sys.executable} -m spacy_dtparse parse --text '{text}'"
    folder = tempfile.mkdtemp()
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "SPACY_DTPARSE_WAIT": "1"}
    if name == "ascii":
        environment |= {"LC_ALL": "C", "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    elif name == "deleted folder":
        command = f"rmdir {folder}; {command}"
    else:
        environment.pop("HOME", None)
    done = subprocess.run(command, shell=True, cwd=folder, env=environment, capture_output=True, check=False)
    assert b"Traceback" not in done.stderr, done.stderr[-400:]
    assert (done.returncode == 0 and done.stdout.startswith(b"(TOP")) or len(done.stderr.splitlines()) == 1, done
