"""Settings of components that are set after the component was made."""

import weakref
from collections.abc import Mapping
from typing import Any

from spacy.language import Language

from ..checks import Setting
from ..errors import ConfigError


def check_setting(
    component: str,
    name: str,
    value: Any,
    of_parser: Mapping[str, Setting],
    of_component: Mapping[str, tuple[Any, Setting]],
) -> None:
    """Check the value of a setting; None is allowed for those of the parser. Raises ConfigError."""
    if name in of_component:
        allowed, otherwise = of_component[name][1], ""
    else:
        allowed, otherwise = of_parser[name], ", or None for the model's own setting"
    if not (allowed.fits(value) or (otherwise and value is None)):
        raise ConfigError(f"{component}: {name} = {value!r}; it is {allowed.allowed}{otherwise}")


def change_config(nlp: weakref.ref[Language] | None, component: Any, setting: str, value: Any) -> None:
    """Change a setting of a component in the config of its pipeline, which is saved; nothing if it is in none."""
    pipeline = nlp() if nlp is not None else None
    for name, one in pipeline.components if pipeline is not None else ():
        if pipeline is not None and one is component:
            pipeline.get_pipe_config(name)[setting] = value
