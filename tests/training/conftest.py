"""Pipelines with which the tests of several trainers tag text."""

from __future__ import annotations

import pytest
import spacy


@pytest.fixture(scope="module")
def nlp():
    """A pipeline that knows sentence ends, and tags words in a list, hyphenated ones, and all others NN."""
    made = spacy.blank("en")
    made.add_pipe("sentencizer")
    ruler = made.add_pipe("attribute_ruler")
    ruler.add([[{"IS_SPACE": False}]], {"TAG": "NN"})
    known = {
        "the": "DT", "a": "DT", "on": "IN", "in": "IN", "at": "IN", "of": "IN", "sold": "VBD", "saw": "VBD",
        "fell": "VBD", "found": "VBD", ".": ".", ",": ",", "-": "HYPH", "(": "-LRB-", ")": "-RRB-",
    }  # fmt: skip
    for word, tag in known.items():
        ruler.add([[{"LOWER": word}]], {"TAG": tag})
    ruler.add([[{"TEXT": {"REGEX": r"\w-\w"}}]], {"TAG": "JJ"})
    return made
