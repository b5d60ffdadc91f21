"""Trees for people: as text with box characters, as SVG."""

# ruff: noqa: F401 (what other rooms take from here)
from .svg import svg_tree
from .text import text_tree
