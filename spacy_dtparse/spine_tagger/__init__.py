"""Spines and other labels of words by a log-linear tagger."""
