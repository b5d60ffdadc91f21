"""Factories of the components: their configs, signatures and metadata.

spaCy imports this module in every spacy.blank() and spacy.load() of the environment, so it must stay light. (No `from
__future__ import annotations` here: spaCy reads the annotations of factories.)
"""
# ruff: noqa: UP007, UP045 (older releases of spaCy do not support X | None)

import inspect
import threading
import weakref
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, Optional, Union

from spacy.language import Language

from ..checks import RENAMED_SETTINGS, renamed_setting
from .model_pipe import ModelPipe
from .provenance import add_provenance, add_requirement


class _NotGiven:
    def __repr__(self) -> str:
        return "<not given>"


_NOT_GIVEN = _NotGiven()
"""The default of old names of settings: an old name that has a value, null too, is refused."""


class _FactorySignature(inspect.Signature):
    """The signature of a factory, which has the old names of renamed settings until a component is made.

    spaCy reads it twice: first to check the names in a config, before it calls the factory, then to complete the config
    that it stores. With the old names in the first, the component can refuse them with a message that gives the new
    names; spaCy's message would not. Without them in the second, they are in no stored config.
    """

    def __init__(self, parameters: Mapping[str, inspect.Parameter], old_names: Iterable[str]):
        super().__init__(list(parameters.values()))
        old = {
            name: inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=_NOT_GIVEN, annotation=Any)
            for name in old_names
        }
        self._with_old_names = MappingProxyType({**parameters, **old})
        self._thread = threading.local()

    @property
    def parameters(self) -> MappingProxyType[str, inspect.Parameter]:  # type: ignore[override]
        """The parameters; without old names the first time after `drop_old_names`."""
        if self._thread.__dict__.pop("component_made", False):
            return super().parameters
        return self._with_old_names

    def drop_old_names(self) -> None:
        """Leave the old names out of the `parameters` that this thread reads next."""
        self._thread.component_made = True


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

    parameters = {
        name: inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=types[name]) for name in types
    }
    signature = _FactorySignature(parameters, [name for name in RENAMED_SETTINGS if renamed_setting(name, types)])

    def make(nlp: Language, name: str, **config: Any) -> ModelPipe:
        component = kind(name, **{key: value for key, value in config.items() if value is not _NOT_GIVEN})
        component._nlp = weakref.ref(nlp)
        component.on_add(nlp)
        component.check_language()
        add_requirement(nlp)
        add_provenance(nlp, component.model_meta())
        signature.drop_old_names()
        return component

    make.__doc__, make.__annotations__ = kind.__doc__, types
    make.__signature__ = signature  # type: ignore[attr-defined]
    component_settings = {name: default for name, (default, _) in kind.COMPONENT_SETTINGS.items()}
    config = {"model": None, **dict.fromkeys(kind.SETTINGS), **component_settings, "scorer": {"@scorers": scorer}}
    return Language.factory(kind.factory, default_config=config, **metadata)(make)
