"""Turian & Melamed's two papers of 2006, table by table: `running` (the plan of runs; do one and write result.json),
`measuring` (statistics of a run), `tables` (results next to the papers')."""
