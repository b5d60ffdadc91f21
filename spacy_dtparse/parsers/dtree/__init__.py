"""The boosted-tree parser."""

from ..settings import SearchSettings
from .parser import DtreeParser

__all__ = ["DtreeParser", "SearchSettings"]
