"""Universal parts of speech: every one is spaCy's, tags and words by hand."""

from __future__ import annotations

import pytest
from spacy.parts_of_speech import IDS

from spacy_dtparse.trees.heads import COLLINS
from spacy_dtparse.trees.universal import PARTS_OF_SPEECH, WORDS, part_of_speech


def test_every_part_of_speech_is_one_of_spacy_s():
    found = {*PARTS_OF_SPEECH.values(), *(pos for of_tags in WORDS.values() for pos in of_tags.values())}
    assert found == set(IDS) - {"", "CONJ", "EOL"}
    assert {tag for of_tags in WORDS.values() for tag in of_tags} <= set(PARTS_OF_SPEECH)
    assert COLLINS.punctuation - {"CODE", "-NONE-"} <= {tag for tag, pos in PARTS_OF_SPEECH.items() if pos == "PUNCT"}


@pytest.mark.parametrize(
    ("word", "tag", "pos"),
    [
        ("cat", "NN", "NOUN"), ("sat", "VBD", "VERB"), ("was", "VBD", "AUX"), ("Is", "VBZ", "AUX"),
        ("'s", "POS", "PART"),
        ("'s", "VBZ", "AUX"), ("ARE", "VBP", "AUX"), ("n't", "RB", "PART"), ("not", "RB", "PART"), ("so", "RB", "ADV"),
        ("if", "IN", "SCONJ"), ("That", "IN", "SCONJ"), ("that", "DT", "DET"), ("that", "WDT", "PRON"),
        ("in", "IN", "ADP"),
        ("Anyone", "NN", "PRON"), ("can", "MD", "AUX"), ("to", "TO", "PART"), ("\n", "_SP", "SPACE"),
        ("be", "NN", "NOUN"),
        ("cat", "NOUN", ""), ("", "", ""),
    ],
)  # fmt: skip
def test_by_hand(word, tag, pos):
    assert part_of_speech(word, tag) == pos
