"""PARSEVAL: labelled bracket scores of sentences and corpora, reports, and significance."""

# ruff: noqa: F401 (what other rooms take from here)
from .parseval import ALL, CONVENTIONS, EVALB, score_sentence
from .report import CUTOFF, ParsevalReport, score_trees
from .significance import paired_bootstrap
