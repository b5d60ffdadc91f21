"""Cases that `python -m tests.hostile` tries, one module for each kind; `tests.hostile.cases` says how to write one."""
