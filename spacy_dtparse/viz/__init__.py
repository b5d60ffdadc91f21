"""Trees for people: as text with box characters, as indented brackets, as SVG."""

from .svg import svg_tree
from .text import bracket_tree, text_tree

__all__ = ["bracket_tree", "svg_tree", "text_tree"]
