"""Licence, credits and requirement of a pipeline with models of this package: in its metadata and on disk."""

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import Any

import srsly
from spacy.language import Language
from spacy.util import get_minor_version_range

from ..errors import ModelFormatError
from ..models import HERE, embedded_pipeline

PACKAGE = "spacy-dtparse"
PROVENANCE = ("license", "sources", "credits")
"""Fields of `nlp.meta` that `add_provenance` sets."""
LICENCE_FILES = ("LICENSE*", "LICENCE*", "NOTICE*")


def add_requirement(nlp: Language) -> None:
    """Add this package to the requirements in `nlp.meta`, which `spacy package` writes into the package of a pipeline.

    spaCy finds only packages of setuptools by itself.
    """
    version = import_module(PACKAGE.replace("-", "_")).__version__  # at run time: nothing below the package imports it
    requirements = list(nlp.meta.get("requirements") or [])
    if not any(re.match(rf"{PACKAGE}(?![\w.-])", str(one).replace("_", "-"), re.IGNORECASE) for one in requirements):
        nlp.meta["requirements"] = [*requirements, f"{PACKAGE}{get_minor_version_range(version)}"]


def add_provenance(nlp: Language, model_meta: Mapping[str, Any]) -> None:
    """Add licence, sources and credits of a model to `nlp.meta`, each once. Another licence of the pipeline stays:
    "MIT" becomes "MIT AND CC BY-SA 4.0"."""
    licence, own = str(model_meta.get("license") or ""), str(nlp.meta.get("license") or "")
    if licence and _normalize(licence) not in map(_normalize, own.split(" AND ")):
        nlp.meta["license"] = f"{own} AND {licence}" if own else licence
    for field in ("sources", "credits"):
        entries = model_meta.get(field)
        if isinstance(entries, list) and entries:
            nlp.meta[field] = _merge(nlp.meta.get(field) or [], entries)


def _normalize(licence: str) -> str:
    """The name of a licence for comparisons: CC BY-SA 4.0 is CC-BY-SA-4.0."""
    return re.sub(r"[\s_-]+", "", licence).lower()


def _merge(entries: Iterable[Any], more: Iterable[Any]) -> list[Any]:
    """The entries, and those of `more` that they lack; sources are dicts, each with a name."""
    merged = {_entry_key(entry): entry for entry in entries}
    for entry in more:
        full = {"author": "", "url": "", **entry} if isinstance(entry, dict) else entry  # as spaCy writes sources
        merged.setdefault(_entry_key(entry), full)
    return list(merged.values())


def _entry_key(entry: Any) -> str:
    return str(entry.get("name", entry) if isinstance(entry, dict) else entry)


def stored_meta(path: Path) -> dict[str, Any]:
    """The metadata of a model file, without loading the model; {} if there is no such file, or it is another one."""
    try:
        return dict(_stored_meta(path, path.stat().st_mtime_ns))
    except (OSError, ModelFormatError):
        return {}


@lru_cache(maxsize=16)
def _stored_meta(path: Path, _: int) -> dict[str, Any]:
    """The metadata of a model file, cached while the file has the same time of change."""
    from ..model_io.container import container_meta

    meta = container_meta(path.read_bytes()).get("meta")
    found = dict(meta) if isinstance(meta, dict) else {}
    if "license" not in found and HERE in path.parents:  # the tagger: the pipeline in its package names them
        pipeline = srsly.read_json(embedded_pipeline() / "meta.json")
        found = {**{field: pipeline[field] for field in PROVENANCE}, **found}
    return found


def read_licence_files(model: Path) -> dict[str, str]:
    """The texts of the files LICENSE*, LICENCE* and NOTICE* in the folder of a model file, by name. The pipeline in
    this package has them one folder higher."""
    folder = model.parent
    found = _licence_files(folder)
    if not found and HERE in folder.parents:
        found = _licence_files(folder.parent)
    return {path.name: path.read_text("utf8", "replace") for path in found}


def _licence_files(folder: Path) -> list[Path]:
    return sorted({path for pattern in LICENCE_FILES for path in folder.glob(pattern) if path.is_file()})
