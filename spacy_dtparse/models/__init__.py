"""Where the models are that ship with the package."""

from __future__ import annotations

from pathlib import Path

from ..errors import ModelFormatError

EMBEDDED_PIPELINE = Path(__file__).resolve().parent / "en_dtparse"
"""The English pipeline: tokenizer, tok2vec, tagger, senter, dtparse."""

MODEL_FILE = "model"
"""Name of the parser's file in the folder that a dtparse component writes."""


def embedded_pipeline() -> Path:
    """The folder of the English pipeline. Raises ModelFormatError when the installation lacks it."""
    if not (EMBEDDED_PIPELINE / "config.cfg").is_file():
        raise ModelFormatError(_missing(EMBEDDED_PIPELINE))
    return EMBEDDED_PIPELINE


def embedded_model() -> Path:
    """The English parser's model file: the very file of the English pipeline, so that it ships once.

    Raises ModelFormatError when the installation lacks it.
    """
    path = EMBEDDED_PIPELINE / "dtparse" / MODEL_FILE
    if not path.is_file():
        raise ModelFormatError(_missing(path))
    return path


def find_model(path: Path) -> Path:
    """The model file at `path`: the file itself, or the one in a component's folder or in a pipeline's."""
    if path.is_dir():
        for candidate in (path / MODEL_FILE, path / "dtparse" / MODEL_FILE):
            if candidate.is_file():
                return candidate
        raise ModelFormatError(
            f"{path} is a folder without a {MODEL_FILE!r} file in it or in its dtparse/; give a model "
            "file, the folder "
            f"of a dtparse component, or the folder of a pipeline with one, such as {EMBEDDED_PIPELINE.name}"
        )
    return path


def _missing(path: Path) -> str:
    return (
        f"this installation of spacy-dtparse has no English model ({path} is missing); install the "
        "package again, "
        "or name a model of your own: nlp.add_pipe('dtparse', config={'model': 'path/to/model'})"
    )
