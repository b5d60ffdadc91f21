"""Model files of a hostile author: small models of every kind with changed content under digests that fit, which a
worker process with limits reads and parses with. `python -m tests.hostile --help` shows how to try more."""
