"""Trees for people: as text with box characters, as SVG."""

from .svg import svg_tree
from .text import text_tree

__all__ = ["svg_tree", "text_tree"]
