"""Self-training: a slow, accurate teacher parses raw text, a fast student learns from what the teacher is sure of.

`teaching` (the teacher's trees, kept on disk chunk by chunk), `selecting` (which trees are kept, and the files that
`fit` reads), `students` (one student per amount of the teacher's trees, and their scores).
"""
