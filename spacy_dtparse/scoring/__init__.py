"""PARSEVAL: labelled bracket scores of sentences and corpora, reports, and significance."""

# ruff: noqa: F401 (re-exported for other subpackages)
from .parseval import ALL, CONVENTIONS, EVALB, score_sentence
from .report import CUTOFF, ParsevalReport, score_trees
from .significance import paired_bootstrap
