"""Compiled functions: their decorator, their cache, and its warm-up."""

import warnings

from ..memory import report_memory_limit

with report_memory_limit():
    from numba.core import config

if config.DISABLE_JIT:  # type: ignore[attr-defined]
    # Hashes overflow on purpose; compiled code does not warn, but numpy does.
    warnings.filterwarnings("ignore", "overflow encountered", RuntimeWarning, r"spacy_dtparse\..*kernels")
