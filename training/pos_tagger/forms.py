"""Tags that a token's form alone decides: addresses (ADD) and emoji (NFP), as in the English Web Treebank, of which no
tagger learns from a few hundred examples that are all different; the ellipsis character."""

from collections.abc import Collection
from typing import Any, cast

from spacy.language import Language

_ENDINGS = "com|org|net|edu|gov|mil|info|biz|io|tv|eu|uk|de|fr|es|nl|se|ch|at|ca|au|nz|jp|cn|ru|br|pl|dk|no|fi"
_EMOJI = "\U0001f000-\U0001faff\u2600-\u2605\u2615\u2639-\u263b\u2661\u2665\u26a1\u2728\u2764\u2b50\u200d\ufe0f"
FORMS = {
    "ADD": (
        r"^(?:[Hh][Tt][Tt][Pp][Ss]?://|[Ww][Ww][Ww]\.)\S+$",
        rf"^[A-Za-z0-9-]{{2,}}(?:\.[A-Za-z0-9-]+)*\.(?:{_ENDINGS})(?:[/:?]\S*)?$",
        r"^[\w.+-]+@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+$",
        r"^@\w{2,}$",
    ),
    "NFP": (rf"^[{_EMOJI}]+$",),
    ":": (r"^\u2026+$",),
}
"""Regular expressions of whole tokens by tag."""
NAME = "attribute_ruler"


def add_forms(nlp: Language, tags: Collection[str]) -> None:
    """Add spaCy's `attribute_ruler` after the tagger, with FORMS for those of the tags that there are."""
    known = {tag: forms for tag, forms in FORMS.items() if tag in tags}
    if not known:
        return
    ruler = cast(Any, nlp.add_pipe(NAME, after="tagger"))
    for tag, forms in known.items():
        ruler.add([[{"TEXT": {"REGEX": form}}] for form in forms], {"TAG": tag})
