"""Pipelines as installed packages, for tests: only the files that are searched for."""

from __future__ import annotations

from pathlib import Path


def write_package(folder: Path, name: str, factory: str, model: bytes) -> None:
    """Write an importable package of a pipeline, as `spacy package` lays it out, with only a config and one model."""
    data = folder / name / f"{name}-1.0.0"
    (data / factory).mkdir(parents=True)
    (data.parent / "__init__.py").write_text("")
    (data / "config.cfg").write_text("")
    (data / factory / "model").write_bytes(model)
