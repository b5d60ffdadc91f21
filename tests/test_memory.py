"""Returning freed memory to the operating system."""

from __future__ import annotations

import platform

import pytest

from spacy_dtparse.memory import return_memory


def resident() -> int:
    """Kilobytes."""
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmRSS"))


def test_it_can_be_called_on_any_system(monkeypatch: pytest.MonkeyPatch) -> None:
    return_memory()
    monkeypatch.setattr("spacy_dtparse.memory.ctypes.CDLL", lambda name: object())  # a C library without it
    return_memory()


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="another C library")
def test_freed_memory_is_returned() -> None:
    blocks = [bytearray(60_000) for _ in range(2000)]  # too small for a place of their own in memory
    kept = blocks[-1]
    before = resident()
    blocks.clear()
    return_memory()
    assert len(kept) == 60_000 and resident() < before - 80_000
