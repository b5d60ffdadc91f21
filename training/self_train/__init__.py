"""Self-training: a slow, accurate teacher parses raw text, a fast student learns from what the teacher is sure of.

`text` (raw files to paragraphs), `tagging` (paragraphs to tagged sentences), `teaching` (the teacher's trees, kept on
disk chunk by chunk), `selecting` (which trees are kept, and the files that `fit` reads), `students` (one student per
amount of the teacher's trees, and their scores).
"""

from ..data.reading import Reading, load_tagger, read_sentences
from ..data.text import TextFile, text_files
from .selecting import Selection, write_selection
from .students import Experiment, run_experiment
from .teaching import Teaching, teach

__all__ = [
    "Experiment",
    "Reading",
    "Selection",
    "Teaching",
    "TextFile",
    "load_tagger",
    "read_sentences",
    "run_experiment",
    "teach",
    "text_files",
    "write_selection",
]
