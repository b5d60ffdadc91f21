"""The chart parser for treebank grammars."""

from ..settings import PcfgSettings
from .parser import PcfgParser

__all__ = ["PcfgParser", "PcfgSettings"]
