"""The English pipelines in the package: one on disk, the others built from it with another parser."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import spacy
from spacy.language import Language
from spacy.util import Config, dict_to_dot, load_config, load_meta, load_model_from_config

from ..core.registry import KINDS
from ..errors import DtparseError, ModelFormatError
from ..jit.warmup import start_compiling
from ..models import DEFAULT, PARSERS, PIPELINE, embedded_model, embedded_pipeline
from . import factories  # noqa: F401 (registers the factories where the package is not installed)


def load_embedded(name: str | None = None, **overrides: Any) -> Language:
    """Load the English pipeline with the parser of that name; see `spacy_dtparse.load`."""
    name = DEFAULT if name is None else name
    embedded_model(name)  # raises if there is none
    folder = embedded_pipeline()
    start_compiling(*(kind.name for kind in KINDS.values() if kind.factory in (PARSERS[name], "recurrent_tagger")))
    if name == PIPELINE:
        return spacy.load(folder, **overrides)
    return _with_parser(folder, name, **overrides)


def load_named(name: str | None = None, **overrides: Any) -> Language:
    """Load a spaCy pipeline by folder or package name, or an embedded one by its name; None: the default one.
    `overrides`: passed to spacy.load. Raises ModelFormatError if there is no such pipeline."""
    if name is None or (name in PARSERS and not Path(name).exists()):
        return load_embedded(name, **overrides)
    try:
        return spacy.load(name, **overrides)
    except DtparseError:
        raise
    except OSError as error:
        raise ModelFormatError(
            f"cannot load the pipeline {name!r}: it is neither an installed spaCy package nor "
            f"a folder of one ({str(error).splitlines()[0]})"
        ) from error
    except ValueError as error:  # raised by spaCy for a config it cannot build
        raise ModelFormatError(f"spaCy cannot load the pipeline {name!r}: {error}") from error


def _with_parser(
    folder: Path,
    name: str,
    *,
    exclude: str | Iterable[str] = (),
    config: Mapping[str, Any] | None = None,
    **options: Any,
) -> Language:
    """Do what spacy.load does, for a pipeline that is not on disk as a whole."""
    embedded_factory, factory = PARSERS[PIPELINE], PARSERS[name]
    merged = load_config(folder / "config.cfg")
    if factory == "bpm_parser":  # needs the constituents of the other parser
        merged["nlp"]["pipeline"].append(factory)
    else:
        merged["nlp"]["pipeline"] = [
            factory if pipe == embedded_factory else pipe for pipe in merged["nlp"]["pipeline"]
        ]
        del merged["components"][embedded_factory]
    first = next(known for known, its_factory in PARSERS.items() if its_factory == factory)
    model_setting = {} if first == name else {"model": name}  # the factory loads the first one by default
    merged["components"][factory] = {"factory": factory, **model_setting}
    merged = Config().from_str(merged.to_str(), interpolate=False, overrides=dict_to_dot(dict(config or {})))
    nlp = load_model_from_config(
        merged, exclude=exclude, auto_fill=True, meta=load_meta(folder / "meta.json"), **options
    )
    nlp.from_disk(folder, exclude=[exclude] if isinstance(exclude, str) else list(exclude))
    description = nlp.meta["description"].replace(embedded_factory, factory)
    nlp.meta.update(name=name.removeprefix("en_"), description=description)
    return nlp
