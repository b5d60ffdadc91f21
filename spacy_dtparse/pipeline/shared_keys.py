"""A warning for two components of a pipeline that write constituents under the same key."""

import warnings
from typing import Any

from spacy.language import Language

ASSIGNED = "doc._.constituents"
"""The attribute by which the metadata of factories shows that their components write constituents."""


def warn_of_shared_key(component: Any, nlp: Language) -> None:
    """Warn if another active component of `nlp` writes constituents under the key of `component`, which is added."""
    key = component.spans_key
    for name, other in nlp.pipeline:
        if (
            other is not component
            and ASSIGNED in nlp.get_pipe_meta(name).assigns
            and getattr(other, "spans_key", None) == key
        ):
            warnings.warn(
                f"{component.name}: {name!r} of the same pipeline writes doc.spans[{key!r}], too; the result of the "
                "later one replaces that of the other. To have both, give one of them a key of its own: "
                f"config={{'spans_key': {component.name!r}}}",
                stacklevel=4,
            )
