"""Constituent trees: spans in pre-order, Penn brackets, head rules, transforms and their inverses.

`heads_compiled` (head rules for the kernels) is imported on its own, because it loads numba.
"""

from .arrays import SpanArrays, arrays_to_tree, tree_to_arrays
from .brackets import parse_tree, parse_trees, read_trees, write_tree, write_tree_pretty
from .heads import CANDIDATE, COLLINS, HeadRules, head_child, head_rules, heads
from .labels import EMPTY_TAG, PUNCTUATION_TAGS, QUOTE_TAGS, TOP_LABELS, base_label
from .punctuation import lower_punctuation, restore_tokens
from .sided import (
    FIRST,
    INNER,
    LAST,
    LEFT,
    RIGHT,
    ROOT,
    SidedSpine,
    is_sided,
    read_sided,
    sided_round_trip_problem,
    sided_spines,
    tree_from_sided,
    write_sided,
)
from .spines import (
    EMPTY_SPINE,
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
    "COLLINS",
    "EMPTY_SPINE",
    "EMPTY_TAG",
    "FIRST",
    "INNER",
    "LAST",
    "LEFT",
    "PUNCTUATION_TAGS",
    "QUOTE_TAGS",
    "RIGHT",
    "ROOT",
    "STEPS",
    "TOP",
    "TOP_LABELS",
    "HeadRules",
    "Recipe",
    "Removal",
    "SidedSpine",
    "SpanArrays",
    "Tree",
    "arrays_to_tree",
    "base_label",
    "drop_repeated_unary",
    "head_child",
    "head_rules",
    "heads",
    "is_sided",
    "keep_tokens",
    "lower_punctuation",
    "merge_prt",
    "parse_tree",
    "parse_trees",
    "raise_punctuation",
    "read_sided",
    "read_spine",
    "read_trees",
    "remove_edge_punctuation",
    "remove_quotes",
    "restore_tokens",
    "round_trip_problem",
    "sided_round_trip_problem",
    "sided_spines",
    "spines",
    "split_prt",
    "strip_empty",
    "tree_from_sided",
    "tree_from_spines",
    "tree_to_arrays",
    "write_sided",
    "write_spine",
    "write_tree",
    "write_tree_pretty",
]
