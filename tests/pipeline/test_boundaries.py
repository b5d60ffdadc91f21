"""visible_sentences: no sentence of white space only, and all other boundaries stay where they are."""

from __future__ import annotations

import json
import random

import pytest
import spacy
from spacy.tokens import Doc
from spacy.vocab import Vocab

import spacy_dtparse
from spacy_dtparse.pipeline.boundaries import FACTORY, visible_sentences
from spacy_dtparse.pipeline.sentences import is_blank

from .conftest import make_nlp

WORDS = ("the", "cat", "sat", ".", "\u200b", "\x01")
BLANKS = (" ", "\n", "\t \u00a0", "\n\n  \n")
TEXTS = ["The cat sat.\n\n", "\n Run. \n \n The dog sat.  ", "She sat. It saw the cat.", " \n", "", "Run!\n(She)\n."]


def make_doc(words, starts, vocab=None):
    """Make a Doc with sentence starts: "1", "0", or "?" for unknown."""
    flags = {"1": True, "0": False, "?": None}
    return Doc(vocab or Vocab(), words=words, sent_starts=[flags[start] for start in starts])


def starts_of(doc):
    return [sent.start for sent in doc.sents] if len(doc) else []


def flags_of(doc):
    return [token.is_sent_start for token in doc]


def has_word(tokens):
    return any(not is_blank(token.text) for token in tokens)


def mixture(rng):
    """Words and white space in random order, with random sentence starts."""
    share = rng.choice((0.2, 0.5, 0.8))
    words = [rng.choice(BLANKS if rng.random() < share else WORDS) for _ in range(rng.randrange(2, 12))]
    kinds = rng.choice(("10", "1?", "10?"))
    return make_doc(words, ["1", *rng.choices(kinds, k=len(words) - 1)])


def wanted(doc):
    """The sentence starts by definition: a word other than the first starts a sentence if it or the white space before
    it does."""
    found, begins, seen = [0], False, False
    for token in doc:
        begins = begins or bool(token.is_sent_start)
        if not is_blank(token.text):
            if begins and seen:
                found.append(token.i)
            begins, seen = False, True
    return found


@pytest.fixture
def cutter():
    """A blank pipeline that splits at full stops."""
    nlp = spacy.blank("en")
    nlp.add_pipe("sentencizer")
    nlp.add_pipe(FACTORY)
    return nlp


@pytest.mark.parametrize("seed", range(5))
def test_no_sentence_is_white_space_only(seed):
    rng = random.Random(seed)
    some_blank = 0
    for _ in range(100):
        doc = mixture(rng)
        while not doc.has_annotation("SENT_START"):
            doc = mixture(rng)
        words = [token.text for token in doc]
        before, expected, written = starts_of(doc), wanted(doc), json.dumps([words, flags_of(doc)])
        some_blank += not all(map(has_word, doc.sents))
        assert visible_sentences(doc) is doc
        after = starts_of(doc)
        assert after == expected, written
        assert [token.text for token in doc] == words
        if has_word(doc):
            assert all(map(has_word, doc.sents)), written
        else:
            assert after == [0], written
        first = next((token.i for token in doc if has_word([token])), None)
        of_words = {place for place in before if has_word([doc[place]])} - {first}
        assert of_words <= set(after), written
        assert not any(token.is_sent_start for token in doc[1:] if not has_word([token])), written
        assert starts_of(visible_sentences(doc)) == after, written
    assert some_blank > 10


@pytest.mark.parametrize(
    ("words", "starts", "after"),
    [
        (["run", ".", "\n", "run"], "1010", [0, 3]),
        (["run", ".", "\n", "run"], "1001", [0, 3]),
        (["run", "\n", " ", "\n", "run"], "11000", [0, 4]),
        (["run", "\n", " ", "run", "run"], "11111", [0, 3, 4]),
        (["run", ".", "\n"], "101", [0]),
        (["\n", "run", "run"], "111", [0, 2]),
        (["\n", " ", "run", ".", " "], "11101", [0]),
        (["\n", " ", "\n"], "111", [0]),
        (["run", "\n", "run"], "1??", None),
    ],
)
def test_white_space_belongs_to_the_sentence_before_it(words, starts, after):
    doc = visible_sentences(make_doc(words, starts))
    if after is None:
        assert flags_of(doc) == [True, None, None]
    else:
        assert starts_of(doc) == after


@pytest.mark.parametrize("words", [["run", "\n", "\n", "run"], ["\n", "run"], [" ", "\n"]])
def test_without_boundaries_nothing_changes(words):
    doc = Doc(Vocab(), words=words)
    before = doc.to_bytes()
    assert visible_sentences(doc).to_bytes() == before
    assert not doc.has_annotation("SENT_START")


def test_without_white_space_nothing_changes():
    doc = make_doc(["she", "sat", "it", "sat"], "1?10")
    before = flags_of(doc)
    assert flags_of(visible_sentences(doc)) == before == [True, None, True, False]


@pytest.mark.parametrize("words", [[], [" "], ["\n\n"], ["run"]])
def test_docs_of_no_or_one_token(words):
    doc = Doc(Vocab(), words=words)
    before = doc.to_bytes()
    assert visible_sentences(doc).to_bytes() == before
    assert starts_of(doc) == [0] * len(words)


def test_boundaries_of_dependency_trees_stay():
    """spaCy refuses to move them; a Doc that already has dependency trees must not stop the pipeline."""
    doc = Doc(Vocab(), words=["run", ".", "\n", "run"], heads=[0, 0, 2, 3], deps=["ROOT", "punct", "ROOT", "ROOT"])
    assert starts_of(doc) == [0, 2, 3]
    assert starts_of(visible_sentences(doc)) == [0, 2, 3]
    assert [token.head.i for token in doc] == [0, 0, 2, 3]


def test_after_the_sentencizer(cutter):
    with cutter.select_pipes(disable=[FACTORY]):
        assert [sent.text for sent in cutter(TEXTS[0]).sents][-1] == "\n\n", "so there is something to do"
    assert [[sent.text for sent in doc.sents] for doc in cutter.pipe(text for text in TEXTS[:3])] == [
        ["The cat sat.\n\n"],
        ["\n Run. \n \n ", "The dog sat.  "],
        ["She sat.", "It saw the cat."],
    ]
    assert starts_of(cutter(TEXTS[3])) == [0] and len(cutter(TEXTS[4])) == 0
    assert cutter.get_pipe_meta(FACTORY).assigns == ["token.is_sent_start"]


def test_disk_round_trip(cutter, tmp_path):
    expected = [flags_of(doc) for doc in cutter.pipe(TEXTS)]
    cutter.to_disk(tmp_path / "pipeline")
    loaded = spacy.load(tmp_path / "pipeline")
    assert loaded.pipe_names == ["sentencizer", FACTORY]
    assert [flags_of(doc) for doc in loaded.pipe(TEXTS)] == expected
    again = spacy.blank("en").from_config(loaded.config).from_bytes(loaded.to_bytes())
    assert [flags_of(doc) for doc in again.pipe(TEXTS)] == expected


def test_processes(cutter):
    expected = [flags_of(doc) for doc in cutter.pipe(TEXTS)]
    docs = list(cutter.pipe(TEXTS, n_process=2, batch_size=2))
    assert [flags_of(doc) for doc in docs] == expected
    assert all(has_word(sent) for doc in docs if has_word(doc) for sent in doc.sents)


def test_the_parser_gets_no_empty_sentence(model_file):
    nlp = make_nlp(model_file)
    text = "\nRun.\n\n The cat sat.\n"
    assert "empty" in {info["status"] for info in spacy_dtparse.sentence_infos(nlp(text))}
    nlp.add_pipe(FACTORY, after="sentencizer")
    doc = nlp(text)
    assert [info["status"] for info in spacy_dtparse.sentence_infos(doc)] == ["optimal"] * 2
    assert [sent._.parse_string[:3] for sent in doc.sents] == ["(S ", "(S "]
