"""Treebank grammars: markovised, binarised, with relative-frequency estimates.

`binarise` (trees to binary trees of annotated symbols, and back), `counting` (rule counts, smoothing), `lexicon`
(words to classes, emission probabilities), `grammar` (all of it to a PcfgModel).
"""

from .binarise import BINARISATIONS, BinaryTree, Markov, Symbol, binarise, debinarise
from .grammar import PcfgOptions, train_pcfg

__all__ = ["BINARISATIONS", "BinaryTree", "Markov", "PcfgOptions", "Symbol", "binarise", "debinarise", "train_pcfg"]
