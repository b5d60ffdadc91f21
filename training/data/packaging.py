"""Packages of pipelines, as `spacy package` makes them, with licence texts, in folders that pip installs."""

import shutil
import tempfile
from pathlib import Path

import srsly
from spacy.cli.package import package
from spacy.util import load_config

from spacy_dtparse.errors import ConfigError, ModelFormatError
from spacy_dtparse.models import MODEL_FILE
from spacy_dtparse.pipeline.model_pipe import SAVED
from spacy_dtparse.pipeline.provenance import LICENCE_FILES, PACKAGE

from .assemble import check_size, check_target, write_compact_strings, write_notices


def package_pipeline(pipeline: Path, out: Path, name: str | None = None, version: str | None = None) -> Path:
    """Make the package of a pipeline folder with `spacy package` and return its folder, `out`/LANG_NAME, which
    replaces an earlier one. `name`, `version`: None: those of the pipeline.

    LICENSE and README.md of the pipeline stay; without a LICENSE it is written from the licence, sources and credits of
    the pipeline, with the licence texts of its components. Raises ModelFormatError for a folder without a pipeline,
    ConfigError if the pipeline does not require this package or is too large, or the folder exists and is no package.
    """
    if not (pipeline / "config.cfg").is_file():
        raise ModelFormatError(f"{pipeline} is no spaCy pipeline (no config.cfg); assemble one, or give its folder")
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=out, prefix=".package-") as temporary:
        work = Path(temporary)
        data = work / "pipeline"
        shutil.copytree(pipeline, data)
        _complete(data)
        package(data, work, name=name, version=version, create_sdist=False, silent=True)
        (made,) = (path.parent for path in work.glob("*/setup.py"))
        for file in data.glob("LICENSE.*"):
            shutil.copy(file, made)
        meta = srsly.read_json(made / "meta.json")
        if not any(str(one).startswith(PACKAGE) for one in meta["requirements"]):
            raise ConfigError(f"{pipeline} has no component of {PACKAGE}; package it with `spacy package`")
        module = made.name.removesuffix(f"-{meta['version']}")
        for folder in (made / module, made / module / made.name):  # its setup.py copies the file there
            shutil.copy(made / "meta.json", folder)
        target = out / module
        check_target(target)
        if target.exists():
            shutil.rmtree(target)
        made.replace(target)
    return target


def _complete(data: Path) -> None:
    """Make a copy of a pipeline complete: models from its own files, compact strings, licence texts."""
    config = load_config(data / "config.cfg", interpolate=False)
    for name, section in config["components"].items():
        if "model" in section and (data / name / MODEL_FILE).is_file():
            section["model"] = SAVED
    config.to_disk(data / "config.cfg", interpolate=False)
    write_compact_strings(data)
    if not (data / "LICENSE").is_file():
        meta = srsly.read_json(data / "meta.json")
        for pattern in LICENCE_FILES:
            for file in data.glob(f"*/{pattern}"):
                if file.name != "LICENSE":
                    shutil.copy(file, data)
        write_notices(data, {"sources": [], "credits": [], **meta})
    check_size(data)
