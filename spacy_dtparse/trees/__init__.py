"""Constituent trees: spans in pre-order, Penn brackets, head rules, transforms and their inverses.

`heads_compiled` (head rules for the kernels) is imported on its own, because it loads numba.
"""

# ruff: noqa: F401 (re-exported for other subpackages)
from .bracket_writer import write_tree, write_tree_pretty
from .brackets import parse_tree, parse_trees, read_trees
from .heads import CANDIDATE, COLLINS, HeadRules, head_rules
from .labels import EMPTY_TAG, PUNCTUATION_TAGS, base_label
from .sided import SidedSpine, read_sided, round_trip_problem, sided_spines, tree_from_sided, write_sided
from .spines import read_spine, spines, tree_from_spines, write_spine
from .transforms import STEPS, Recipe
from .tree import TOP, Tree
