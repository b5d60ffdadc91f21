"""Supertagger adaptation (Kummerfeld et al. 2010): a tagger of spines learns from what the parser makes of raw text,
and then offers fewer of them, so that the parser's search is shorter.

`measuring` (speed, and agreement with the parser alone), `packing` (pipelines in and out),
`running` (the parser's trees as sentences with categories, and all of it).
"""
