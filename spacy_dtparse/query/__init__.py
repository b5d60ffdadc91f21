"""Search trees for patterns, Tregex as text or dicts with attributes of tokens, and change what they find (Tsurgeon).

pattern = compile_pattern("NP=subject $+ (VP < VBD)")
for match in pattern.search(trees):
    print(match.node, match.names["subject"])
tree = compile_edit("PP=pp > NP", "prune pp").apply(tree)
"""

from .edits import Edit, compile_edit, edit_trees, parse_script
from .forest import Forest, Node
from .matching import Matching
from .pattern import Match, Pattern, compile_pattern, write_node

__all__ = [
    "Edit", "Forest", "Match", "Matching", "Node", "Pattern", "compile_edit", "compile_pattern", "edit_trees",
    "parse_script", "write_node",
]  # fmt: skip
