"""Constituents from dependency trees, by rule: see docs/languages.md."""
