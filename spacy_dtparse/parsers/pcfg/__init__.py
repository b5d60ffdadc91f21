"""The chart parser of treebank grammars."""

from .parser import PcfgParser
from .settings import PcfgSettings

__all__ = ["PcfgParser", "PcfgSettings"]
