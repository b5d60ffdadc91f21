"""Constituents by a treebank grammar (PCFG), optionally with latent annotations, and a chart parser."""
