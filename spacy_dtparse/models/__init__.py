"""Where the models are that ship with the package."""

import os
from pathlib import Path

from ..errors import ConfigError, ModelFormatError

HERE = Path(__file__).resolve().parent
"""The folder that has them."""

PARSERS = {
    "en_span": "span_parser",
    "en_dtparse": "dtparse",
    "en_trees": "dtparse",
    "en_pcfgla": "pcfgla",
    "en_bpm": "bpm_parser",
}
"""The English parsers: the folder of each, and the factory that is for it. That of WHOLE is a whole pipeline
(tokenizer, tagger, span_parser), the others have a model alone."""

DEFAULT = "en_dtparse"
"""The name of the one that is loaded where none is named."""

WHOLE = "en_span"
"""The name of the one whose folder is a pipeline."""

MODEL_FILE = "model"
"""Name of the parser's file in the folder that a component writes."""

COMPONENTS = (*dict.fromkeys(PARSERS.values()), "spine_tagger")
"""The folders that components of those names have in a pipeline."""


def embedded_pipeline() -> Path:
    """The folder of the English pipeline. Raises ModelFormatError when the installation lacks it."""
    folder = HERE / WHOLE
    if not (folder / "config.cfg").is_file():
        raise ModelFormatError(_missing(folder, PARSERS[WHOLE]))
    return folder


def embedded_model(name: str = DEFAULT) -> str:
    """The path of an English parser's model file, by a name of PARSERS; a string, as a component's config wants it.

    That of WHOLE is the very file of the English pipeline, so that it ships once. Raises ConfigError for another
    name, ModelFormatError when the installation lacks the file.
    """
    factory = PARSERS.get(name)
    if factory is None:
        raise ConfigError(f"there is no English parser {name!r}; there are {', '.join(PARSERS)}")
    path = HERE / name / factory / MODEL_FILE if name == WHOLE else HERE / name / MODEL_FILE
    if not path.is_file():
        raise ModelFormatError(_missing(path, factory))
    return str(path)


def find_model(path: str | os.PathLike, component: str | None = None) -> Path:
    """The model file at `path`: the file itself, or the one in a component's folder or in a pipeline's; a name of
    PARSERS, unless there is such a file or folder, stands for the embedded one.

    Of a pipeline with several, it is the one of `component`, or that of the first of COMPONENTS. Raises
    ModelFormatError for a folder without a model.
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


def _missing(path: Path, factory: str) -> str:
    return (
        f"this installation of spacy-dtparse has no English model ({path} is missing); install the package again, "
        f"or name a model of your own: nlp.add_pipe({factory!r}, config={{'model': 'path/to/model'}})"
    )
