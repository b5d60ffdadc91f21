"""Supertagger adaptation (Kummerfeld et al. 2010): a tagger of spines is trained on the parser's trees of raw text, and
then restricts the parser to fewer spines, which shortens its search.

`measuring` (speed, and agreement with the unrestricted parser), `packing` (read and write pipelines), `running` (the
whole adaptation).
"""
