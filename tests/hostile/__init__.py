"""Attacks, bounded in time and memory: `python -m tests.hostile` tries cases of all kinds (`cases`, `kinds/`),
`python -m tests.hostile.model_files` model files of a hostile author, `python -m tests.hostile.training` trainings that
are killed."""
