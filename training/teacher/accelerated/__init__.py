"""Teachers and students trained within minutes on one accelerator (or, for small data, on a CPU).

`preparing` and `importing` are parts of `python -m training teacher` (`arrays`, `import`). The other modules need only
torch and numpy, neither spaCy nor this project's package, so that they run on a machine that has nothing else:
`python -m training.teacher.accelerated`.
"""
