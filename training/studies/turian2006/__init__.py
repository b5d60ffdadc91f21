"""Turian & Melamed's two papers of 2006, table by table: `running` (the runs as data, and one of them to its
result.json), `measuring` (what it left behind), `tables` (results beside the papers')."""
