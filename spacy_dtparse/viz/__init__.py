"""Trees for people: as text with box characters, as SVG, as HTML with brackets under the words."""

# ruff: noqa: F401 (what other rooms take from here)
from .drawing import OPTIONS, STYLES, Drawing, draw
from .svg import svg_tree
from .text import text_tree
