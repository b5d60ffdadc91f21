"""Import the modules of benchmarks/, which are scripts and in no package."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

FOLDER = Path(__file__).resolve().parents[1] / "benchmarks"


@contextmanager
def bench_module(name: str) -> Iterator[ModuleType]:
    """Import a module of the folder; while it is imported it can import its neighbours."""
    sys.path.insert(0, str(FOLDER))
    try:
        yield importlib.import_module(name)
    finally:
        sys.path.remove(str(FOLDER))
