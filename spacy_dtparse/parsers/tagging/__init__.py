"""The log-linear tagger: a label for each word, or the likely labels of each word with their probabilities."""

from .tagger import SequenceTagger, TaggerSettings

__all__ = ["SequenceTagger", "TaggerSettings"]
