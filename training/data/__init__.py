"""Treebanks, text and shards in, sentences and figures out: what all trainers share."""
