"""The dependency parser: linear models of links; a chart or a maximum spanning tree gives the best tree."""

from .parser import DependencyParser, DependencyResult, DependencySettings

__all__ = ["DependencyParser", "DependencyResult", "DependencySettings"]
