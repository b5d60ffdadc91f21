"""Shared parts of the trainers: read treebanks, raw text and shards; evaluate parsers."""
