"""The dependency parser: linear models of links, whose best tree a chart or a spanning tree finds."""

from .parser import DependencyParser, DependencyResult, DependencySettings

__all__ = ["DependencyParser", "DependencyResult", "DependencySettings"]
