"""Paths of the models that ship with the package."""

import os
from pathlib import Path

from ..errors import ConfigError, ModelFormatError

HERE = Path(__file__).resolve().parent
"""The folder of these models."""

PARSERS = {
    "en_span": "span_parser",
    "en_dtparse": "dtparse",
    "en_trees": "dtparse",
    "en_pcfgla": "pcfgla",
    "en_bpm": "bpm_parser",
}
"""The English parsers: name of the folder -> factory of the component. The folder of PIPELINE contains a complete
pipeline (tokenizer, tagger, span_parser), the others only a model."""

DEFAULT = "en_dtparse"
"""Name of the default parser."""

PIPELINE = "en_span"
"""Name of the parser whose folder contains a complete pipeline."""

MODEL_FILE = "model"
"""Name of the model file in a component's folder."""

COMPONENTS = (*dict.fromkeys(PARSERS.values()), "spine_tagger")
"""Names of the components, and of their folders in a pipeline, in which models are searched for."""


def embedded_pipeline() -> Path:
    """Return the folder of the English pipeline. Raises ModelFormatError if the installation lacks it."""
    folder = HERE / PIPELINE
    if not (folder / "config.cfg").is_file():
        raise ModelFormatError(_missing_message(folder, PARSERS[PIPELINE]))
    return folder


def embedded_model(name: str = DEFAULT) -> str:
    """Return the path of an English parser's model file, by a name in PARSERS, as a string for a component's config.

    The file of PIPELINE is the file in the English pipeline, so it ships only once. Raises ConfigError for another
    name, ModelFormatError if the installation lacks the file.
    """
    factory = PARSERS.get(name)
    if factory is None:
        raise ConfigError(f"there is no English parser {name!r}; there are {', '.join(PARSERS)}")
    path = HERE / name / factory / MODEL_FILE if name == PIPELINE else HERE / name / MODEL_FILE
    if not path.is_file():
        raise ModelFormatError(_missing_message(path, factory))
    return str(path)


def embedded_tagger() -> str:
    """Return the path of the model file of the English tagger. Raises ModelFormatError if the installation lacks it."""
    path = embedded_pipeline() / "tagger" / MODEL_FILE
    if not path.is_file():
        raise ModelFormatError(_missing_message(path, "recurrent_tagger"))
    return str(path)


def find_model(path: str | os.PathLike, component: str | None = None) -> Path:
    """Find the model file at `path`: the file itself, or the one in the folder of a component or pipeline. A name in
    PARSERS means the model that ships with the package, unless a file or folder of that name exists.

    In a pipeline with several models, this is the one of `component`, or of the first of COMPONENTS that has one.
    Raises ModelFormatError for a folder without a model.
    """
    if path in PARSERS and not Path(path).exists():
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


def _missing_message(path: Path, factory: str) -> str:
    return (
        f"this installation of spacy-dtparse has no English model ({path} is missing); install the package again, "
        f"or give the path of another model: nlp.add_pipe({factory!r}, config={{'model': 'path/to/model'}})"
    )
