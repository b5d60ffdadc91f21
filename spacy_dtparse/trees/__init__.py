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
from .labels import EMPTY_TAG, PUNCTUATION_TAGS, QUOTE_TAGS, TOP_LABELS, base_label
from .punctuation import lower_punctuation, restore_tokens
from .spines import (
    CLOSES,
    EMPTY_SPINE,
    OPENS,
    UNARY,
    control_bits,
    read_spine,
    round_trip_problem,
    spines,
    tree_from_spines,
    write_spine,
)
from .steps import (
    Removal,
    drop_repeated_unary,
    keep_tokens,
    merge_prt,
    raise_punctuation,
    remove_edge_punctuation,
    remove_quotes,
    split_prt,
    strip_empty,
)
from .transforms import STEPS, Recipe
from .tree import TOP, Tree

__all__ = [
    "CANDIDATE",
    "CLOSES",
    "COLLINS",
    "EMPTY_SPINE",
    "EMPTY_TAG",
    "OPENS",
    "PUNCTUATION_TAGS",
    "QUOTE_TAGS",
    "STEPS",
    "TOP",
    "TOP_LABELS",
    "UNARY",
    "HeadRules",
    "Recipe",
    "Removal",
    "SpanArrays",
    "Tree",
    "arrays_to_tree",
    "base_label",
    "control_bits",
    "drop_repeated_unary",
    "escape_token",
    "head_child",
    "head_rules",
    "heads",
    "keep_tokens",
    "lower_punctuation",
    "merge_prt",
    "parse_tree",
    "parse_trees",
    "raise_punctuation",
    "read_spine",
    "read_trees",
    "remove_edge_punctuation",
    "remove_quotes",
    "restore_tokens",
    "round_trip_problem",
    "spines",
    "split_prt",
    "strip_empty",
    "tree_from_spines",
    "tree_to_arrays",
    "unescape_token",
    "write_spine",
    "write_tree",
    "write_tree_pretty",
]
