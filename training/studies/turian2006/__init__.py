"""Turian & Melamed's two papers of 2006, table by table: which runs there are, running them, and their tables.

`plan` (the runs as data), `running` (one run to its result.json), `measuring` (what it left behind), `statistics`
(what an ensemble looks like and a tree costs), `tables` and `report` (results beside the papers').
"""
