"""The English pipelines: the default one in this package, its span model as a parser, and those of other packages."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import spacy
from spacy.language import Language
from spacy.util import Config, dict_to_dot, load_config, load_meta, load_model_from_config

from ..core.registry import KINDS
from ..errors import DtparseError, ModelFormatError
from ..jit.warmup import start_compiling
from ..models import DEFAULT, PARSERS, SPAN_MODEL, embedded_model, embedded_pipeline, is_name
from . import registration  # noqa: F401 (registers the factories where the package is not installed)


def load_embedded(name: str | None = None, **overrides: Any) -> Language:
    """Load the English pipeline of that name; see `spacy_dtparse.load`."""
    name = DEFAULT if name is None else name
    embedded_model(name)  # raises if there is none
    folder = embedded_pipeline(name)
    start_compiling(*(kind.name for kind in KINDS.values() if kind.factory in (PARSERS[name], "recurrent_tagger")))
    return _with_span_model(folder, **overrides) if name == SPAN_MODEL else spacy.load(folder, **overrides)


def load_named(name: str | None = None, **overrides: Any) -> Language:
    """Load a spaCy pipeline by folder or package name, or an embedded one by its name; None: the default one.
    `overrides`: passed to spacy.load. Raises ModelFormatError if there is no such pipeline."""
    if name is None or is_name(name):
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


def _with_span_model(
    folder: Path, *, exclude: str | Iterable[str] = (), config: Mapping[str, Any] | None = None, **options: Any
) -> Language:
    """Do what spacy.load does, for the default pipeline with its parser replaced by the span model inside."""
    old, factory = PARSERS[DEFAULT], PARSERS[SPAN_MODEL]
    merged = load_config(folder / "config.cfg")
    merged["nlp"]["pipeline"] = [factory if pipe == old else pipe for pipe in merged["nlp"]["pipeline"]]
    del merged["components"][old]
    merged["components"][factory] = {"factory": factory}  # its default model is the span model
    merged = Config().from_str(merged.to_str(), interpolate=False, overrides=dict_to_dot(dict(config or {})))
    meta = load_meta(folder / "meta.json")
    nlp = load_model_from_config(merged, exclude=exclude, auto_fill=True, meta=meta, **options)
    nlp.from_disk(folder, exclude=[exclude] if isinstance(exclude, str) else list(exclude))
    nlp.meta.update(name=SPAN_MODEL.removeprefix("en_"), description=nlp.meta["description"].replace(old, factory))
    return nlp
