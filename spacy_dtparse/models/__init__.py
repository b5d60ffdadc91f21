"""Where the models are that ship with the package."""

from __future__ import annotations

from pathlib import Path

from ..errors import ModelFormatError

EMBEDDED_PIPELINE = Path(__file__).resolve().parent / "en_dtparse"
"""The English pipeline: tokenizer, tok2vec, tagger, attribute_ruler, senter, visible_sentences, dtparse."""

EMBEDDED_LATENT = Path(__file__).resolve().parent / "en_pcfgla"
"""The folder of the English grammar with latent annotations, as a pcfgla component writes it."""

EMBEDDED_TREES = Path(__file__).resolve().parent / "en_dtree"
"""The folder of the English ensemble of boosted decision trees, another model for a dtparse component."""

EMBEDDED_LINKS = Path(__file__).resolve().parent / "en_bpm"
"""The folder of the English dependency parser, as a bpm_parser component writes it."""

MODEL_FILE = "model"
"""Name of the parser's file in the folder that a component writes."""

COMPONENTS = ("dtparse", "pcfgla", "bpm_parser", "spine_tagger")
"""The folders that components of those names have in a pipeline."""


def embedded_pipeline() -> Path:
    """The folder of the English pipeline. Raises ModelFormatError when the installation lacks it."""
    if not (EMBEDDED_PIPELINE / "config.cfg").is_file():
        raise ModelFormatError(_missing(EMBEDDED_PIPELINE))
    return EMBEDDED_PIPELINE


def embedded_model() -> Path:
    """The English parser's model file: the very file of the English pipeline, so that it ships once.

    Raises ModelFormatError when the installation lacks it.
    """
    return _present(EMBEDDED_PIPELINE / "dtparse" / MODEL_FILE)


def embedded_latent_model() -> Path:
    """The model file of the English grammar with latent annotations.

    Raises ModelFormatError when the installation lacks it.
    """
    return _present(EMBEDDED_LATENT / MODEL_FILE, "pcfgla")


def embedded_trees() -> Path:
    """The model file of the English boosted decision trees, whose decisions can be explained.

    Raises ModelFormatError when the installation lacks it.
    """
    return _present(EMBEDDED_TREES / MODEL_FILE)


def embedded_dependency_model() -> Path:
    """The model file of the English dependency parser.

    Raises ModelFormatError when the installation lacks it.
    """
    return _present(EMBEDDED_LINKS / MODEL_FILE, "bpm_parser")


def find_model(path: Path, component: str | None = None) -> Path:
    """The model file at `path`: the file itself, or the one in a component's folder or in a pipeline's.

    Of a pipeline with several, it is the one of `component`, or that of the first of COMPONENTS. Raises
    ModelFormatError for a folder without a model.
    """
    if path.is_dir():
        names = sorted(COMPONENTS, key=lambda name: name != component)
        for candidate in (path / MODEL_FILE, *(path / name / MODEL_FILE for name in names)):
            if candidate.is_file():
                return candidate
        raise ModelFormatError(
            f"{path} is a folder without a {MODEL_FILE!r} file in it or in its {'/ or '.join(names)}/; give a model "
            f"file, the folder of a component ({', '.join(names)}), or the folder of a pipeline with one, such as "
            f"{EMBEDDED_PIPELINE.name}"
        )
    return path


def _present(path: Path, component: str = "dtparse") -> Path:
    if not path.is_file():
        raise ModelFormatError(_missing(path, component))
    return path


def _missing(path: Path, component: str = "dtparse") -> str:
    return (
        f"this installation of spacy-dtparse has no English model ({path} is missing); install the package again, "
        f"or name a model of your own: nlp.add_pipe({component!r}, config={{'model': 'path/to/model'}})"
    )
