"""Simulated annotators, and learning beside annotation."""
