"""Compiled kernels of all tests in one folder, that of copies of the trainers too."""

import os
from pathlib import Path

# Read when numba is imported, here and in the processes that tests start.
os.environ.setdefault("NUMBA_CACHE_DIR", str(Path(__file__).resolve().parents[1] / "build" / "kernels"))
# No test depends on what happens to be compiled: kernels are, by whoever calls them first.
os.environ.setdefault("SPACY_DTPARSE_WAIT", "1")
