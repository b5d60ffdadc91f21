"""Treebank grammars: markovised, binarised, with relative-frequency estimates.

`binarise` (trees to binary trees of annotated symbols), `counting` (rule counts, smoothing,
emission probabilities), `grammar` (all of it to a PcfgModel).
"""

from .binarise import BINARISATIONS, BinaryTree, Markov, Symbol, binarise
from .grammar import PcfgOptions, train_pcfg

__all__ = ["BINARISATIONS", "BinaryTree", "Markov", "PcfgOptions", "Symbol", "binarise", "train_pcfg"]
