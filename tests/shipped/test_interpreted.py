"""The shipped models load while kernels are interpreted, as on the first run."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from spacy_dtparse.models import PARSERS

LOAD = "import sys, spacy_dtparse; spacy_dtparse.load(sys.argv[1])"


@pytest.mark.slow
@pytest.mark.embedded
@pytest.mark.parametrize("name", PARSERS)
def test_the_self_test_passes_without_compilation(name: str) -> None:
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    result = subprocess.run([sys.executable, "-c", LOAD, name], env=environment, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
