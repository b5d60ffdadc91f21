"""Taggers: of spines and other labels, log-linear; of parts of speech, recurrent."""

from .recurrent import RecurrentTagger
from .tagger import SequenceTagger, TaggerSettings

__all__ = ["RecurrentTagger", "SequenceTagger", "TaggerSettings"]
