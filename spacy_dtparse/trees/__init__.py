"""Constituent trees: spans in pre-order, Penn brackets, head rules, transforms and their inverses.

`heads_compiled` (head rules for the kernels) is imported on its own, because it loads numba.
"""

# ruff: noqa: F401 (re-exported for other subpackages)
from .bracket_writer import write_tree, write_tree_pretty
from .brackets import parse_tree, parse_trees, read_trees
from .directional import (
    DirectionalSpine,
    directional_spines,
    format_directional,
    parse_directional,
    round_trip_problem,
    tree_from_directional,
)
from .heads import CANDIDATE, COLLINS, HeadRules, head_rules
from .labels import EMPTY_TAG, PUNCTUATION_TAGS, base_label
from .spines import format_spine, parse_spine, spines, tree_from_spines
from .transforms import STEPS, Recipe
from .tree import TOP, Tree
