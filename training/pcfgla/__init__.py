"""Treebank grammars: markovised, binarised, with relative-frequency estimates; and grammars with latent annotations.

`binarise` (trees to binary trees of annotated symbols), `counting` (rule counts, smoothing, emission probabilities),
`grammar` (sentences to a PcfgModel), `latent`, `latent_kernels`, `latent_training` (latent annotations by EM).
"""

from .binarise import BINARISATIONS, BinaryTree, Markov, Symbol, binarise
from .grammar import PcfgOptions, train_pcfg

__all__ = ["BINARISATIONS", "BinaryTree", "Markov", "PcfgOptions", "Symbol", "binarise", "train_pcfg"]
