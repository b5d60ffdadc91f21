"""Self-training: a slow, accurate parser (the source parser) parses raw text; a fast student is trained on the trees of
which the source parser is most confident (silver trees).

`parsing` (parses text into silver trees, stored on disk in chunks), `selecting` (selects trees and writes the files
for `train-boosted`), `students` (trains a student for each number of silver trees, and scores it).
"""
