"""Universal parts of speech of tags that begin with them."""

import pytest

from spacy_dtparse.trees.universal import universal_part


@pytest.mark.parametrize(
    ("tag", "part"),
    [
        ("VERB.Fin", "VERB"),
        ("ADP+DET", "ADP"),
        ("SCONJ", "SCONJ"),
        ("_SP", "SPACE"),
        ("NN", ""),
        ("VERBS", ""),
        ("", ""),
    ],
)
def test_universal_part(tag: str, part: str):
    assert universal_part(tag) == part
