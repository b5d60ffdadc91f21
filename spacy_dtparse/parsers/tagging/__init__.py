"""Taggers: log-linear for spines and other labels, recurrent for parts of speech."""

from .recurrent import RecurrentTagger
from .tagger import SequenceTagger, TaggerSettings

__all__ = ["RecurrentTagger", "SequenceTagger", "TaggerSettings"]
