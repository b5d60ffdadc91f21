"""Settings of all tests: compiled kernels go to one folder, including those of copies of the trainers.

A run of the whole suite compiles the usual kernels first, in two processes, so that not every worker compiles them. A
run of some tests compiles their kernels at the first call. In both cases no test depends on which kernels are already
compiled: nothing is interpreted, and no process compiles in the background.
"""

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
WAIT = "SPACY_DTPARSE_WAIT"

# Read when numba is imported, here and in the processes that tests start.
os.environ.setdefault("NUMBA_CACHE_DIR", str(ROOT / "build" / "kernels"))


def is_whole_suite(config) -> bool:
    """Whether all tests were selected: by no path, or by that of the tests, and without -k."""
    paths = {Path(argument.split("::")[0]).resolve() for argument in config.args}
    return bool(paths & {ROOT, ROOT / "tests"}) and not config.getoption("keyword", "")


def pytest_configure(config):
    """Compile the usual kernels before a run of the whole suite."""
    if hasattr(config, "workerinput") or os.environ.get(WAIT) == "1":  # a worker, or a test that runs tests
        return
    if is_whole_suite(config):
        from spacy_dtparse.jit import warmup

        warmup.start_compiling(*warmup.NEEDS)
        warmup.wait_until_compiled()
    os.environ[WAIT] = "1"
