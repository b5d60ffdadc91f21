"""The English pipelines by name: the default one ships with this package, the others are packages of their own."""

from __future__ import annotations

import os
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import ConfigError, ModelFormatError

if TYPE_CHECKING:
    from ..core import Parser

HERE = Path(__file__).resolve().parent
"""The folder of the models that ship with the package."""

PARSERS = {
    "en_span": "span_parser",
    "en_dtparse": "dtparse",
    "en_trees": "dtparse",
    "en_pcfgla": "pcfgla",
    "en_dtparse_lg": "dtparse",
    "en_bpm": "bpm_parser",
}
"""The English parsers: name -> factory of the component."""

DEFAULT = "en_dtparse"
"""Name of the default parser; its pipeline (tokenizer, tagger, parser) ships with the package."""

SPAN_MODEL = "en_span"
"""Name of the span parser that is the span model inside the model of DEFAULT. It has no file of its own."""

PACKAGES = tuple(name for name in PARSERS if name not in (DEFAULT, SPAN_MODEL))
"""Names of the pipelines that are packages of their own, made by `spacy package`."""

MODEL_FILE = "model"
"""Name of the model file in a component's folder."""

COMPONENTS = (*dict.fromkeys(PARSERS.values()), "spine_tagger")
"""Names of the components, and of their folders in a pipeline, in which models are searched for."""


def is_name(source: object) -> bool:
    """Whether `source` is a name in PARSERS, and no file or folder of that name exists."""
    return isinstance(source, str) and source in PARSERS and not Path(source).exists()


def embedded_pipeline(name: str = DEFAULT) -> Path:
    """Return the folder of an English pipeline, by a name in PARSERS: in this package, or in an installed package of
    that name. The folder of SPAN_MODEL is that of DEFAULT.

    Raises ConfigError for another name, ModelFormatError if the folder is missing or the package is not installed.
    """
    if name not in PARSERS:
        raise ConfigError(f"there is no English parser {name!r}; there are {', '.join(PARSERS)}")
    if name in PACKAGES:
        folders = _package_folders(name)
        if not folders:
            raise ModelFormatError(missing_package(name))
        return folders[-1]
    if not (HERE / DEFAULT / "config.cfg").is_file():
        raise ModelFormatError(_missing_message(HERE / DEFAULT, PARSERS[name]))
    return HERE / DEFAULT


def embedded_model(name: str = DEFAULT) -> str:
    """Return the path of an English parser's model file, by a name in PARSERS, as a string for a component's config.

    That of SPAN_MODEL is the file of DEFAULT, from which the factory `span_parser` reads the span model. Raises
    ConfigError for another name, ModelFormatError if the file is missing or the package is not installed.
    """
    path = embedded_pipeline(name) / PARSERS[DEFAULT if name == SPAN_MODEL else name] / MODEL_FILE
    if not path.is_file():
        raise ModelFormatError(_missing_message(path, PARSERS[name]))
    return str(path)


def embedded_tagger() -> str:
    """Return the path of the model file of the English tagger. Raises ModelFormatError if the installation lacks it."""
    path = embedded_pipeline() / "tagger" / MODEL_FILE
    if not path.is_file():
        raise ModelFormatError(_missing_message(path, "recurrent_tagger"))
    return str(path)


def missing_package(name: str) -> str:
    """Return the message that the package of a pipeline is not installed; empty if it is, or if it needs none."""
    if name not in PACKAGES or _package_folders(name):
        return ""
    return (
        f"the English pipeline {name!r} is a package of its own, which is not installed; install it from the source "
        f"tree of spacy-dtparse: pip install ./packages/{name}"
    )


def _package_folders(name: str) -> list[Path]:
    """The folders of a pipeline in the importable package of its name, as `spacy package` makes it: one for each of its
    versions."""
    spec = find_spec(name)
    roots = () if spec is None else spec.submodule_search_locations or ()
    return [file.parent for root in roots for file in sorted(Path(root).glob(f"{name}-*/config.cfg"))]


def find_model(path: str | os.PathLike, component: str | None = None) -> Path:
    """Find the model file at `path`: the file itself, or the one in the folder of a component or pipeline. A name in
    PARSERS means that English model, unless a file or folder of that name exists.

    In a pipeline with several models, this is the one of `component`, or of the first of COMPONENTS that has one.
    Raises ModelFormatError for a folder without a model, and for a pipeline whose package is not installed.
    """
    if is_name(str(path)):
        return Path(embedded_model(str(path)))
    path = Path(path)
    if path.is_dir():
        names = sorted(COMPONENTS, key=lambda name: name != component)
        for candidate in (path / MODEL_FILE, *(path / name / MODEL_FILE for name in names)):
            if candidate.is_file():
                return candidate
        raise ModelFormatError(
            f"{path} is a folder without a {MODEL_FILE!r} file in it or in its {'/ or '.join(names)}/; give a model "
            f"file, the folder of a component ({', '.join(names)}), or the folder of a pipeline with one, such as "
            f"{DEFAULT}"
        )
    return path


def open_parser(source: str | os.PathLike) -> Parser:
    """Load the constituent parser by a name in PARSERS, or at a path as `find_model` takes it. Raises ModelFormatError
    as `find_model` and `core.load_parser` do."""
    from ..core import load_parser, load_span_parser

    path = find_model(source)
    return load_span_parser(path) if str(source) == SPAN_MODEL and is_name(SPAN_MODEL) else load_parser(path)


def _missing_message(path: Path, factory: str) -> str:
    archive = next((one for one in path.parents if one.is_file()), None)
    if archive is not None:
        return (
            f"spacy-dtparse was imported from the archive {archive}, and models are read from files: unpack the "
            f"archive into a folder and put that folder on the path, or install it: pip install {archive.name}"
        )
    return (
        f"this installation of spacy-dtparse has no English model ({path} is missing); install the package again, "
        f"or give the path of another model: nlp.add_pipe({factory!r}, config={{'model': 'path/to/model'}})"
    )
