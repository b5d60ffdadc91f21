"""PARSEVAL: labelled bracket scores of sentences and corpora, reports, and significance."""

from .parseval import ALL, CONVENTIONS, EVALB, Convention, SentenceScore, score_sentence
from .report import CUTOFF, ParsevalReport, Totals, score_trees
from .significance import BootstrapResult, paired_bootstrap

__all__ = [
    "ALL",
    "CONVENTIONS",
    "CUTOFF",
    "EVALB",
    "BootstrapResult",
    "Convention",
    "ParsevalReport",
    "SentenceScore",
    "Totals",
    "paired_bootstrap",
    "score_sentence",
    "score_trees",
]
