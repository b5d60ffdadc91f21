"""Compiled kernels of all tests in one folder, that of copies of the trainers too."""

import os
from pathlib import Path

# Read when numba is imported, here and in the processes that tests start.
os.environ.setdefault("NUMBA_CACHE_DIR", str(Path(__file__).resolve().parents[1] / "build" / "kernels"))


def pytest_configure(config):
    """Have the usual kernels compiled once, by two processes, before workers would all compile them. After that no test
    depends on what happens to be compiled: kernels are, by whoever calls them first."""
    if hasattr(config, "workerinput") or os.environ.get("SPACY_DTPARSE_WAIT") == "1":  # a worker, or a test's tests
        return
    from spacy_dtparse.model import ahead

    ahead.begin(*ahead.NEEDS)
    ahead.finish()
    os.environ["SPACY_DTPARSE_WAIT"] = "1"
