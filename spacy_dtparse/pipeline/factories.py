"""Factories of the components: their configs, signatures and metadata.

spaCy imports this module in every spacy.blank() and spacy.load() of the environment, so it must stay light. (No `from
__future__ import annotations` here: spaCy reads the annotations of factories.)
"""
# ruff: noqa: UP007, UP045 (older releases of spaCy do not support X | None)

import inspect
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any, Optional, Union

from spacy.language import Language

from .model_pipe import ModelPipe
from .provenance import add_provenance, add_requirement


def factory_of(kind: type[ModelPipe], scorer: str, **metadata: Any) -> Callable[..., Any]:
    """Register the factory of a component for `nlp.add_pipe(kind.factory, config={…})`; return it.

    Its config has `model`, the settings of the parser and of the component, and `scorer`, by default the one registered
    under that name. `metadata`: keyword arguments of Language.factory.
    """
    types = {
        "nlp": Language,
        "name": str,
        "model": Optional[Union[str, Path]],
        **{name: Optional[setting.type] for name, setting in kind.SETTINGS.items()},
        **{name: setting.type for name, (_, setting) in kind.COMPONENT_SETTINGS.items()},
        "scorer": Optional[Callable],
    }

    def make(nlp: Language, name: str, **config: Any) -> ModelPipe:
        component = kind(name, **config)
        component._nlp = weakref.ref(nlp)
        component.on_add(nlp)
        component.check_language()
        add_requirement(nlp)
        add_provenance(nlp, component.model_meta())
        return component

    make.__doc__, make.__annotations__ = kind.__doc__, types
    parameters = [
        inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=types[name]) for name in types
    ]
    make.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    component_settings = {name: default for name, (default, _) in kind.COMPONENT_SETTINGS.items()}
    config = {"model": None, **dict.fromkeys(kind.SETTINGS), **component_settings, "scorer": {"@scorers": scorer}}
    return Language.factory(kind.factory, default_config=config, **metadata)(make)
