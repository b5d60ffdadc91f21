"""The log-linear tagger: a label for each word, or the likely labels of each word with their probabilities."""

from .settings import TaggerSettings
from .tagger import SequenceTagger

__all__ = ["SequenceTagger", "TaggerSettings"]
