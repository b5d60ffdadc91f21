"""Search trees for patterns: Tregex as text, or dicts with attributes of tokens.

pattern = compile_pattern("NP=subject $+ (VP < VBD)")
for match in pattern.search(trees):
    print(match.node, match.names["subject"])
"""

from .forest import Forest, Node
from .matching import Matching
from .pattern import Match, Pattern, compile_pattern, write_node

__all__ = ["Forest", "Match", "Matching", "Node", "Pattern", "compile_pattern", "write_node"]
