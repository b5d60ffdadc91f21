"""The boosted-tree parser."""

from .parser import DtreeParser
from .settings import SearchSettings

__all__ = ["DtreeParser", "SearchSettings"]
