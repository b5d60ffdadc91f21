"""recurrent_tagger: its annotation, existing annotation, bad Docs, batches, round trips, the scorer."""

from __future__ import annotations

import copy
import pickle
import warnings

import pytest
import spacy
from spacy.tokens import Doc
from spacy.training import Example

from spacy_dtparse.errors import ConfigError, ModelFormatError
from spacy_dtparse.recurrent_tagger.component import RecurrentTaggerPipe, tag_score
from spacy_dtparse.recurrent_tagger.tagger import RecurrentTagger
from spacy_dtparse.spine_tagger.tagger import SequenceTagger
from spacy_dtparse.trees.universal import part_of_speech

from ..recurrent_models import TAGS, TEXTS, random_model
from ..tagger_models import random_tagger

TEXT = "The cat sat on the mat.  Dogs bark\n\nA dog saw 1,250 cats!"


@pytest.fixture(scope="module")
def tagger():
    return RecurrentTagger(random_model(3))


@pytest.fixture
def model(tagger, tmp_path):
    path = tmp_path / "tagger.model"
    tagger.to_disk(path)
    return path


def make_nlp(model, **config):
    nlp = spacy.blank("en")
    nlp.add_pipe("recurrent_tagger", config={"model": None if model is None else str(model), **config})
    return nlp


@pytest.fixture
def nlp(model):
    return make_nlp(model)


def written(doc):
    return [(token.text, token.tag_, token.pos_, token.is_sent_start) for token in doc]


def test_tokens_get_the_tags_of_the_tagger(nlp, tagger):
    doc = nlp(TEXT)
    ((tags, starts),) = tagger.tag([[token.text for token in doc]])
    assert [token.tag_ for token in doc] == [tagger.names[tag] for tag in tags]
    assert [token.is_sent_start for token in doc] == starts.tolist()
    assert {token.tag_ for token in doc} >= {"_SP"} and len({token.tag_ for token in doc}) > 3
    assert sum(starts) > 1 and [sent.start for sent in doc.sents] == [k for k, start in enumerate(starts) if start]
    assert doc.has_annotation("TAG", require_complete=True) and doc.has_annotation("SENT_START")


def test_existing_annotation_is_unchanged(model, nlp):
    free = nlp(TEXT)
    words = [token.text for token in free]
    given = Doc(nlp.vocab, words=words, tags=["XYZ", *[""] * (len(words) - 1)])
    given[5].is_sent_start = True
    kept = given.copy()
    nlp(given)
    assert given[0].tag_ == "XYZ" and [t.tag_ for t in given][1:] == [t.tag_ for t in free][1:]
    assert [sent.start for sent in given.sents] == [0, 5]
    full = Doc(nlp.vocab, words=words, tags=["NN"] * len(words), sent_starts=[True] * len(words))
    assert [(t.tag_, t.is_sent_start) for t in nlp(full.copy())] == [("NN", True)] * len(words)
    parsed = Doc(nlp.vocab, words=["a", "b", "c"], heads=[1, 1, 1], deps=["x", "ROOT", "y"])
    nlp(parsed)
    assert all(token.tag_ for token in parsed) and [token.head.i for token in parsed] == [1, 1, 1]
    assert len(list(parsed.sents)) == 1
    over = make_nlp(model, overwrite=True)
    assert [t.tag_ for t in over(kept)] == [t.tag_ for t in free]
    assert [t.is_sent_start for t in kept] == [t.is_sent_start for t in free]
    assert [t.head.i for t in over(parsed)] == [1, 1, 1]


def test_parts_of_speech_are_set_with_the_tags(nlp, model, tagger, monkeypatch):
    doc = nlp(TEXT)
    assert [token.pos_ for token in doc] == [part_of_speech(token.text, token.tag_) for token in doc]
    assert doc.has_annotation("POS", require_complete=True) and {"SPACE", "NOUN"} < {token.pos_ for token in doc}
    words = ["It", "is", "a", "cat", "because", "dogs"]
    own = Doc(nlp.vocab, words=words, tags=["PRP", "VBZ", "", "NOUN", "IN", "NNS"], pos=["X", *[""] * 5])
    kept = own.copy()
    assert [token.pos_ for token in nlp(own)][:2] == ["X", "AUX"] and own[2].pos_ == part_of_speech("a", own[2].tag_)
    assert own[3].pos_ == "" and [token.pos_ for token in own][4:] == ["SCONJ", "NOUN"]
    tagged = Doc(nlp.vocab, words=words, tags=["PRP", "VBZ", "DT", "NN", "IN", "NNS"], sent_starts=[True] + [False] * 5)
    assert [token.pos_ for token in nlp(tagged)] == ["PRON", "AUX", "DET", "NOUN", "SCONJ", "NOUN"]
    assert not make_nlp(model, pos=False)(TEXT).has_annotation("POS")
    over = make_nlp(model, overwrite=True)(kept)
    assert [token.pos_ for token in over] == [part_of_speech(token.text, token.tag_) for token in over]
    monkeypatch.setitem(nlp.get_pipe("recurrent_tagger").parser.meta, "lang", "de")
    assert not nlp(TEXT).has_annotation("POS")


def test_sentence_starts_can_be_left_to_others(model, nlp):
    tags_only = make_nlp(model, sentences=False)
    doc = tags_only(TEXT)
    assert [t.tag_ for t in doc] == [t.tag_ for t in nlp(TEXT)] and not doc.has_annotation("SENT_START")
    before = spacy.blank("en")
    before.add_pipe("sentencizer")
    before.add_pipe("recurrent_tagger", config={"model": str(model)})
    rest = "Dogs bark\n\nA dog saw 1,250 cats!"
    assert [sent.text.strip() for sent in before(TEXT).sents] == ["The cat sat on the mat.", rest]


def test_odd_docs(nlp):
    for words in ([], ["\n"], ["cat"], [" ", "cat"], ["\0", "\u202e", "\ud7ff"], ["(" * 50_000], ["a"] * 5000):
        doc = nlp(Doc(nlp.vocab, words=words))
        assert all(token.tag_ for token in doc) and len(doc) == len(words)
        if words:
            assert all(not t.is_sent_start or not t.is_space or t.i == 0 for t in doc)


def test_batches_give_the_same(nlp):
    texts = [TEXT, "", " ", "Dogs bark.", *(" ".join(text) for text in TEXTS), TEXT * 30] * 7
    wanted = [written(nlp(text)) for text in texts]
    for size in (1, 3, 200):
        assert [written(doc) for doc in nlp.pipe(texts, batch_size=size)] == wanted


def test_a_bad_doc_fails_no_other(nlp, monkeypatch):
    component = nlp.get_pipe("recurrent_tagger")
    write = RecurrentTaggerPipe._set_annotations

    def fails(self, doc, *rest):
        if doc.text == "bad":
            raise ValueError("no")
        write(self, doc, *rest)

    monkeypatch.setattr(RecurrentTaggerPipe, "_set_annotations", fails)
    seen = []
    component.set_error_handler(lambda name, _, docs, error: seen.append((name, [d.text for d in docs], str(error))))
    docs = list(nlp.pipe(["cat", "bad", "dog", "bad", "mat"]))
    assert [doc.text for doc in docs] == ["cat", "dog", "mat"] and all(doc[0].tag_ for doc in docs)
    assert seen == [("recurrent_tagger", ["bad"], "no")] * 2


def test_round_trips_through_disk_bytes_pickles_and_copies(nlp, model, tmp_path):
    wanted = written(nlp(TEXT))
    nlp.to_disk(tmp_path / "pipeline")
    model.unlink()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        loaded = spacy.load(tmp_path / "pipeline")
    assert written(loaded(TEXT)) == wanted
    empty = make_nlp(None)
    assert written(empty.from_bytes(nlp.to_bytes())(TEXT)) == wanted
    component = nlp.get_pipe("recurrent_tagger")
    for other in (pickle.loads(pickle.dumps(component)), copy.deepcopy(component)):
        assert written(other(nlp.make_doc(TEXT))) == wanted
    assert component.labels == (*TAGS, "ADD", "_SP")


@pytest.mark.slow
def test_processes(nlp):
    texts = [TEXT, "Dogs bark."] * 20
    wanted = [written(doc) for doc in nlp.pipe(texts)]
    assert [written(doc) for doc in nlp.pipe(texts, n_process=2, batch_size=5)] == wanted


def test_errors_say_what_to_do(model, tmp_path):
    german = spacy.blank("de")
    german.add_pipe("recurrent_tagger")
    with pytest.raises(ModelFormatError, match=r"for English \('en'\), and none for 'de'; name one"):
        german("Hallo Welt.")
    for config, message in (
        ({"max_tokens": 0}, "max_tokens = 0; it is a whole number from 1"),
        ({"overwrite": 2}, "overwrite = 2; it is true or false"),
    ):
        with pytest.raises(ConfigError, match=message):
            RecurrentTaggerPipe(**config)
    SequenceTagger(random_tagger(0, 0.3, cutoff=99)).to_disk(tmp_path / "spines.model")
    with pytest.raises(ModelFormatError, match=r"of kind 'tagger' .* is not one for the factory 'recurrent_tagger'"):
        make_nlp(tmp_path / "spines.model")


def test_scores(nlp):
    doc = nlp("The cat sat on the mat. Dogs bark. A dog saw 1,250 cats!")  # spaCy counts no white space of predictions
    assert nlp.evaluate([Example(nlp.make_doc(doc.text), doc)])["tag_acc"] == 1.0
    other = doc.copy()
    for token in other:
        token.tag_ = "IN" if token.i < 3 else token.tag_
        token.is_sent_start = token.i == 0
    wrong = sum(a.tag_ != b.tag_ for a, b in zip(doc, other, strict=True))
    scores = tag_score([Example(doc, other)])
    assert scores["tag_acc"] == pytest.approx(1 - wrong / len(doc)) and 0 < wrong <= 3
    assert set(scores) == {"tag_acc", "sents_p", "sents_r", "sents_f"} and scores["sents_f"] < 1


@pytest.mark.embedded
def test_a_blank_english_pipeline_has_the_embedded_tagger():
    nlp = spacy.blank("en")
    nlp.add_pipe("recurrent_tagger")
    nlp.add_pipe("dtparse")
    doc = nlp("She saw it. He ran.")
    assert [token.tag_ for token in doc] == ["PRP", "VBD", "PRP", ".", "PRP", "VBD", "."]
    assert [sentence._.labels for sentence in doc.sents] == [("S",), ("S",)]
