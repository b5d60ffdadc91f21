"""Classes of labels and tags of Penn-style treebanks that the rest of the package uses."""

import re
from functools import lru_cache

EMPTY_TAG = "-NONE-"
"""The tag of an empty element (trace, zero complementiser …)."""

QUOTE_TAGS = frozenset(("``", "''"))
"""Tags of quotation marks."""

PUNCTUATION_TAGS = frozenset((",", ":", ".", "``", "''"))
"""Tags that the 2006 recipe raises and removes at the edges of a sentence; brackets are not among them."""

TOP_LABELS = frozenset(("", "TOP", "ROOT", "S1", "VROOT"))
"""Labels of roots in treebanks; "" is the empty top of the Penn Treebank, `( (S …))`."""

_SUFFIX = re.compile(r"(?<=.)[-=|].*", re.DOTALL)


@lru_cache(maxsize=4096)
def base_label(label: str) -> str:
    """Return `label` without function tags and indices, the suffix after `-`, `=` or `|`: NP-SBJ-1 -> NP, ADVP|PRT ->
    ADVP. A label that begins with one of them (-LRB-, -NONE-) is not changed."""
    return label if label[:1] in ("-", "=", "|") else _SUFFIX.sub("", label)
