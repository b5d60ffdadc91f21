"""Constituents by boosted decision trees over a span model: the default parser."""
