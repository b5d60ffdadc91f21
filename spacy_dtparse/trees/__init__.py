"""Constituent trees: spans in pre-order, Penn brackets, head rules, transforms and their inverses.

`heads_compiled` (head rules for the kernels) is imported on its own, because it loads numba.
"""

from .arrays import SpanArrays, arrays_to_tree, tree_to_arrays
from .brackets import (
    escape_token,
    parse_tree,
    parse_trees,
    read_trees,
    unescape_token,
    write_tree,
    write_tree_pretty,
)
from .heads import CANDIDATE, COLLINS, HeadRules, head_child, head_rules, heads
from .labels import EMPTY_TAG, PUNCTUATION_TAGS, QUOTE_TAGS, base_label
from .recipe import STEPS, Recipe
from .transforms import Removal
from .tree import TOP, Tree

__all__ = [
    "CANDIDATE",
    "COLLINS",
    "EMPTY_TAG",
    "PUNCTUATION_TAGS",
    "QUOTE_TAGS",
    "STEPS",
    "TOP",
    "HeadRules",
    "Recipe",
    "Removal",
    "SpanArrays",
    "Tree",
    "arrays_to_tree",
    "base_label",
    "escape_token",
    "head_child",
    "head_rules",
    "heads",
    "parse_tree",
    "parse_trees",
    "read_trees",
    "tree_to_arrays",
    "unescape_token",
    "write_tree",
    "write_tree_pretty",
]
