"""Drawings of trees: as text with box characters, as SVG, as HTML with brackets under the words."""

# ruff: noqa: F401 (re-exports for other subpackages)
from .drawing import OPTIONS, STYLES, Drawing, draw
from .text import text_tree
