"""Constituents by a small network that scores spans, and a chart parser that finds the best tree."""
