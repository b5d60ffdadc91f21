"""spine_tagger: its annotation, round trips, bad Docs, other kinds of models, the scorer."""

from __future__ import annotations

import copy
import multiprocessing
import pickle
import warnings

import pytest
import spacy
from spacy.tokens import Doc, DocBin
from spacy.training import Example
from spacy.vocab import Vocab

from spacy_dtparse.bpm_parser.component import BpmParser
from spacy_dtparse.bpm_parser.parser import DependencyParser
from spacy_dtparse.cli import main
from spacy_dtparse.dtparse.component import DtParse
from spacy_dtparse.errors import ConfigError, MissingAnnotationError, ModelFormatError
from spacy_dtparse.pipeline.spines import spine, spines, write_spines
from spacy_dtparse.spine_tagger.component import SpineTagger
from spacy_dtparse.spine_tagger.tagger import SequenceTagger

from ..dependency_models import random_model as random_dependency_model
from ..tagger_models import SENTENCES, random_tagger

TEXTS = ["The old cat sat on the mat. She sleeps quietly.", "Run.", "  ", "", "It saw\nthe dog."]


@pytest.fixture(scope="module")
def tagger():
    return SequenceTagger(random_tagger(0, 0.3, cutoff=99))


@pytest.fixture
def model(tagger, tmp_path):
    path = tmp_path / "spines.model"
    tagger.to_disk(path)
    return path


def make_nlp(model, **config):
    nlp = spacy.blank("en")
    nlp.add_pipe("sentencizer")
    nlp.add_pipe("list_tagger")
    nlp.add_pipe("spine_tagger", config={"model": None if model is None else str(model), **config})
    return nlp


@pytest.fixture
def nlp(model):
    return make_nlp(model)


def written(doc):
    return [(token._.spine, token._.spines) for token in doc]


def test_words_get_the_labels_of_the_tagger(nlp, tagger):
    doc = nlp(TEXTS[0])
    first, second = doc.sents
    wanted = []
    for sentence in (first, second):
        wanted += tagger.multitag([t.text for t in sentence], [t.tag_ for t in sentence], 0.01)
    assert [list(token._.spines) for token in doc] == wanted
    assert [token._.spine for token in doc] == [offer[0][0] for offer in wanted]
    assert max(map(len, wanted)) > 1 and all(p >= 0.01 * offer[0][1] for offer in wanted for _, p in offer)
    assert [(span.start, span.end, span.label_) for span in doc.spans["spines"]] == [
        (k, k + 1, offer[0][0]) for k, offer in enumerate(wanted)
    ]


def test_settings(model, nlp):
    doc = nlp(TEXTS[0])
    narrow = make_nlp(model, beta=1.0, beam=1, share=0.5, spans_key="mine")
    assert narrow.get_pipe("spine_tagger").configured_parser.settings.beam == 1
    other = narrow(TEXTS[0])
    assert all(len(token._.spines) == 1 for token in other) and any(len(token._.spines) > 1 for token in doc)
    assert list(other.spans) == ["mine"] and spine(other[0], "mine") == other[0]._.spine != ""
    assert spine(other[0], "spines") == "" and spines(other[0], "yours") == ()


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"beta": 1.5}, "beta = 1.5; it is a number from 0"),
        ({"beta": -1}, "beta = -1"),
        ({"beam": 0}, "beam = 0; it is a whole number from 1"),
        ({"share": 1.0}, "share = 1.0; it is a number from 0 to below 1"),
        ({"spans_key": ""}, "spans_key = ''; it is a non-empty string"),
    ],
)
def test_settings_are_checked(model, config, message):
    with pytest.raises(ConfigError, match=message):
        make_nlp(model, **config)


def test_unknown_settings_are_named():
    with pytest.raises(ConfigError, match=r"no setting gamma; allowed are model, beam, share, beta, spans_key, scorer"):
        SpineTagger(gamma=1)


def test_white_space_gets_no_spine(nlp):
    doc = nlp("The \n cat")
    assert [token._.spine != "" for token in doc] == [True, False, True] and doc[1]._.spines == ()
    assert len(nlp("  ").spans["spines"]) == len(nlp("").spans["spines"]) == 0


def test_docs_keep_their_spines_through_bytes_bins_and_copies(nlp):
    doc = nlp(TEXTS[0])
    wanted = written(doc)
    assert written(Doc(Vocab()).from_bytes(doc.to_bytes())) == wanted
    assert written(pickle.loads(pickle.dumps(doc))) == written(doc.copy()) == wanted
    kept = DocBin(docs=[doc]).to_bytes()
    assert written(next(DocBin().from_bytes(kept).get_docs(Vocab()))) == wanted
    for other in (Doc.from_docs([doc, doc]), Doc(nlp.vocab).from_json(doc.to_json())):
        assert [token._.spine for token in other][: len(doc)] == [best for best, _ in wanted]
        assert all(token._.spines == () for token in other), "the probabilities are lost on the way"
    assert [token._.spine for token in doc[:3].as_doc()] == ["", "", ""]


def test_a_retokenized_doc_says_that_its_spines_are_stale(nlp):
    doc = nlp(TEXTS[0])
    with doc.retokenize() as retokenizer:
        retokenizer.merge(doc[0:2])
    with pytest.warns(UserWarning, match="merged or split after tagging"):
        assert doc[0]._.spine == ""


@pytest.mark.slow
def test_processes(nlp, monkeypatch):
    wanted = [written(doc) for doc in nlp.pipe(TEXTS)]
    assert [written(doc) for doc in nlp.pipe(TEXTS, n_process=2, batch_size=2)] == wanted
    monkeypatch.setattr(spacy.language, "mp", multiprocessing.get_context("spawn"))
    assert [written(doc) for doc in nlp.pipe(TEXTS, n_process=2, batch_size=2)] == wanted


@pytest.mark.slow
def test_disk_and_bytes_round_trips(nlp, model, tmp_path):
    wanted = written(nlp(TEXTS[0]))
    nlp.to_disk(tmp_path / "pipeline")
    model.unlink()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        loaded = spacy.load(tmp_path / "pipeline")
    assert written(loaded(TEXTS[0])) == wanted
    named = make_nlp(tmp_path / "pipeline")  # the folder of a pipeline
    assert written(named(TEXTS[0])) == wanted
    empty = make_nlp(None)
    with pytest.raises(ModelFormatError, match="spine_tagger has no embedded model; name one of your own"):
        empty(TEXTS[0])
    assert written(empty.from_bytes(nlp.to_bytes())(TEXTS[0])) == wanted
    for twin in (pickle.loads(pickle.dumps(nlp)), copy.deepcopy(nlp)):
        assert written(twin(TEXTS[0])) == wanted


def test_a_doc_without_tags_fails_no_other(nlp):
    nlp.remove_pipe("list_tagger")
    docs = [Doc(nlp.vocab, words=list(words), tags=list(tags)) for words, tags, _ in SENTENCES[:3]]
    docs[1] = Doc(nlp.vocab, words=["No", "tags"])
    failed = []
    nlp.set_error_handler(lambda name, component, batch, error: failed.append((batch, error)))
    done = list(nlp.pipe(docs))
    assert [len(doc) for doc in done] == [8, 7] and all("spines" in doc.spans for doc in done)
    assert [batch for batch, _ in failed] == [[docs[1]]] and isinstance(failed[0][1], MissingAnnotationError)
    assert "spines" not in docs[1].spans
    with pytest.raises(MissingAnnotationError, match=r"spine_tagger needs part-of-speech tags"):
        nlp.get_pipe("spine_tagger")(Doc(nlp.vocab, words=["No", "tags"]))


def test_missing_tags_and_boundaries_warn_once(tagger):
    component = SpineTagger(parser=tagger)
    doc = Doc(Vocab(), words=["The", "cat", "sat"], tags=["DT", "", "VBD"])
    with pytest.warns(UserWarning) as caught:
        component(doc)
    messages = [str(warning.message) for warning in caught]
    assert len(messages) == 2 and "1 words of a Doc have no part-of-speech tag" in messages[0]
    assert "no sentence boundaries and is tagged as one sentence" in messages[1]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        component(doc)


def test_a_tagger_that_reads_no_tags_needs_none():
    component = SpineTagger(parser=SequenceTagger(random_tagger(tagged=False)))
    doc = component(Doc(Vocab(), words=["Dogs", "bark"], sent_starts=[True, False]))
    assert all(token._.spine for token in doc)


def test_each_kind_of_model_has_its_component(tagger, tmp_path):
    with pytest.raises(ModelFormatError, match=r"'tagger' .* not one for the factory 'dtparse'.*'spine_tagger'"):
        DtParse(parser=tagger)
    with pytest.raises(ModelFormatError, match=r"'tagger' .* not one for the factory 'bpm_parser'.*'spine_tagger'"):
        BpmParser(parser=tagger)
    links = DependencyParser(random_dependency_model(1))
    with pytest.raises(ModelFormatError, match=r"'dependency' .* not one for the factory 'spine_tagger'"):
        SpineTagger(parser=links)
    path = tmp_path / "links.model"
    links.to_disk(path)
    with pytest.raises(ModelFormatError, match=r"links\.model: .*kind 'dependency' .* builds dependencies, not tags"):
        make_nlp(path)


def test_scores(nlp):
    vocab = nlp.vocab
    words = ["The", "cat", "sat", "."]
    gold, predicted = (Doc(vocab, words=words) for _ in range(2))
    write_spines(gold, [0, 1, 2], [[("-", 1.0)], [("NP", 1.0)], [("VP+S", 1.0)]])
    write_spines(predicted, [0, 1, 2, 3], [[("-", 1.0)], [("PP", 0.6), ("NP", 0.4)], [("NP", 1.0)], [("-", 1.0)]])
    component = nlp.get_pipe("spine_tagger")
    scores = component.score([Example(predicted, gold), Example(predicted, Doc(vocab, words=words))])
    assert scores == {"spine_acc": 1 / 3, "spine_multi_acc": 2 / 3, "spine_labels": 4 / 3}
    split = Doc(vocab, words=["The", "ca", "t", "sat", "."], spaces=[True, False, True, True, False])
    write_spines(split, [0, 1, 2, 3], [[("-", 1.0)], [("NP", 1.0)], [("NP", 1.0)], [("VP+S", 1.0)]])
    assert component.score([Example(split, gold)])["spine_acc"] == 2 / 3, "a word that is two tokens is wrong"
    assert component.score([Example(predicted, Doc(vocab, words=words))]) == dict.fromkeys(scores)
    blank = Doc(vocab, words=words)
    assert component.score([Example(blank, gold)]) == dict.fromkeys(scores, 0.0)
    evaluated = nlp.evaluate([Example(nlp.make_doc("The cat sat ."), gold)])
    assert evaluated["spine_labels"] >= 1


def test_the_command_line_describes_the_model(model, capsys):
    assert main(["info", "--model", str(model)]) == 0
    printed = capsys.readouterr().out
    assert "kind: tagger" in printed and "words in the tag dictionary: 0" in printed and "name: random" in printed
    assert main(["A sentence.", "--model", str(model)]) == 1
    assert "builds tags, and this command is about constituents" in capsys.readouterr().err
