"""dtparse and pcfgla after a spine_tagger: the supertag candidates that the search gets, its record, round trips,
parsers that read no spines."""

from __future__ import annotations

import multiprocessing
import pickle
from pathlib import Path
from typing import NamedTuple

import pytest
import spacy
from spacy.tokens import Doc, DocBin
from spacy.util import load_config
from spacy.vocab import Vocab

from spacy_dtparse import sentence_infos, to_tree
from spacy_dtparse.cli.pipelines import sentence_pipes
from spacy_dtparse.dtparse.component import DtParse
from spacy_dtparse.dtparse.parser import DtreeParser
from spacy_dtparse.errors import ConfigError
from spacy_dtparse.pipeline.sentences import read_sentences
from spacy_dtparse.pipeline.spines import read_supertags, write_spines
from spacy_dtparse.spine_tagger.tagger import SequenceTagger

from ..jit.harness import SLOW, hand_made
from ..tagger_models import random_tagger
from .rule_parser import RuleParser

TEXTS = ["The old cat sat on the mat. She sleeps quietly.", "Dogs bark", "", "  ", "It saw\nthe dog."]
BUDGET = 100 if SLOW else 300


class Models(NamedTuple):
    """`own`: the name of a factory and a model file for it; `spines`: the model file of a random spine_tagger."""

    factory: str
    own: Path
    spines: Path


@pytest.fixture(scope="module", params=["dtparse", "pcfgla"])
def factory(request):
    return request.param


@pytest.fixture(scope="module")
def parser(factory, request):
    """Random boosted trees with the labels that the tagger's spines have, or grammars."""
    if factory == "pcfgla":
        return request.getfixturevalue("latent_parser")
    return DtreeParser(hand_made("shift_reduce", ("NP", "VP", "S", "PP", "TOP"), seed=1).model)


@pytest.fixture(scope="module")
def models(factory, parser, tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    parser.to_disk(folder / "own.model")
    SequenceTagger(random_tagger(0, 0.3, cutoff=99)).to_disk(folder / "spines.model")
    return Models(factory, folder / "own.model", folder / "spines.model")


def make_nlp(models, written="spines", **config):
    """Make a pipeline of a tagger by word list, a random spine_tagger, and the parser."""
    nlp = spacy.blank("en")
    nlp.add_pipe("sentencizer")
    nlp.add_pipe("list_tagger")
    nlp.add_pipe("spine_tagger", config={"model": str(models.spines), "spans_key": written})
    budget = {"budget": BUDGET} if models.factory == "dtparse" else {}
    nlp.add_pipe(models.factory, config={"model": str(models.own), **budget, **config})
    return nlp


def record(doc):
    """The record of the parses in a Doc."""
    return sentence_infos(doc), [(span.start, span.end, span.label_) for span in doc.spans["constituents"]]


def direct(parser, doc, **settings):
    """The results of the parser itself for the sentences with the spines in the Doc."""
    searching = parser.with_settings(budget=BUDGET, **settings)
    candidates = read_supertags(doc)
    sentences, _ = read_sentences(doc)
    return [searching.parse(s.words, s.tags, [candidates[k] for k in s.positions]) for s in sentences if s.words]


def test_the_search_gets_the_spines_of_the_doc(models, parser):
    nlp = make_nlp(models)
    doc = nlp(TEXTS[0])
    wanted = direct(parser, doc)
    assert [to_tree(sentence) for sentence in doc.sents] == [result.tree for result in wanted]
    found = sentence_infos(doc)
    assert [(i["n_searches"], i["ambiguity"], i["n_scored"]) for i in found] == [
        (r.n_searches, r.ambiguity, r.n_scored) for r in wanted
    ]
    assert found[0]["n_searches"] == 1 and found[0]["ambiguity"] > 1
    assert sentence_pipes(nlp, only_parser=True) == ["spine_tagger", models.factory], "with gold tags, too"
    with nlp.select_pipes(disable=["spine_tagger"]):
        plain = nlp(TEXTS[0])
    for info, pruned in zip(sentence_infos(plain), found, strict=True):
        assert (info["n_searches"], info["ambiguity"]) == (1, None) and info["n_scored"] > pruned["n_scored"]
    assert [to_tree(s) for s in plain.sents] != [to_tree(s) for s in doc.sents], "random spines forbid its tree"


def test_if_no_spines_give_a_tree_the_last_search_has_none(models, parser):
    doc = make_nlp(models, betas=[1.0])("She sleeps quietly.")
    (info,) = sentence_infos(doc)
    assert (info["n_searches"], info["ambiguity"]) == (2, None)
    sentence = next(doc.sents)
    words, tags = zip(*((token.text, token.tag_) for token in sentence), strict=True)
    assert to_tree(sentence) == parser.with_settings(budget=BUDGET).parse(words, tags).tree


@pytest.mark.slow
def test_betas_are_a_setting(models, parser, tmp_path):
    counts = {}
    for betas in ([], [1.0], [0.01], [0.5, 0.01]):
        nlp = make_nlp(models, betas=betas)
        doc = nlp(TEXTS[0])
        assert [to_tree(s) for s in doc.sents] == [r.tree for r in direct(parser, doc, betas=betas)]
        counts[str(betas)] = [(info["n_searches"], info["ambiguity"]) for info in sentence_infos(doc)]
    assert counts["[]"] == [(1, None)] * 2
    assert len({str(count) for count in counts.values()}) == 4, "every list prunes differently"
    nlp.to_disk(tmp_path / "pipeline")
    config = load_config(tmp_path / "pipeline" / "config.cfg")["components"][models.factory]
    assert config["betas"] == [0.5, 0.01] and config["spines_key"] == "spines"
    loaded = spacy.load(tmp_path / "pipeline")
    assert loaded.get_pipe(models.factory).configured_parser.settings.betas == (0.5, 0.01)
    assert record(loaded(TEXTS[0])) == record(nlp(TEXTS[0]))
    with pytest.raises(ConfigError, match=r"betas = \[0\.1, 3\]; it is a list of numbers from 0 to 1"):
        make_nlp(models, betas=[0.1, 3])


def test_the_key_of_the_spines(models):
    wanted = record(make_nlp(models)(TEXTS[0]))
    other = make_nlp(models, "mine", spines_key="mine")
    assert record(other(TEXTS[0])) == wanted
    for nlp in (make_nlp(models, spines_key=None), make_nlp(models, "mine")):
        assert all(info["ambiguity"] is None for info in sentence_infos(nlp(TEXTS[0])))
    for key in ("", 3):
        with pytest.raises(ConfigError, match=r"spines_key = .*; it is a non-empty string, a key of doc\.spans, or"):
            DtParse(spines_key=key)


@pytest.mark.parametrize("factory", ["pcfgla"], indirect=True)
def test_pcfgla_without_a_tagger_is_unchanged(models, parser):
    """Also with a config that lacks a setting."""
    nlp = spacy.blank("en")
    nlp.add_pipe("sentencizer")
    nlp.add_pipe("pcfgla", config={"model": str(models.own)})
    before = nlp.config.copy()
    del before["components"]["pcfgla"]["spines_key"]
    old = spacy.blank("en").from_config(before)
    assert old.get_pipe("pcfgla").spines_key == "spines"
    for doc in (nlp(TEXTS[0]), old(TEXTS[0])):
        words = [[token.text for token in sentence] for sentence in doc.sents]
        wanted = [parser.parse(sentence, ["XX"] * len(sentence)) for sentence in words]
        assert [to_tree(sentence).labels for sentence in doc.sents] == [result.tree.labels for result in wanted]
        assert [info["cost"] for info in sentence_infos(doc)] == [result.cost for result in wanted]
        assert [(info["n_searches"], info["ambiguity"]) for info in sentence_infos(doc)] == [(1, None)] * 2


def test_white_space_and_words_without_spines(models, parser):
    nlp = make_nlp(models)
    doc = nlp("The old \n cat sat on the mat. She sleeps.")
    assert [info["ambiguity"] is not None for info in sentence_infos(doc)] == [True, True]
    assert [to_tree(s) for s in doc.sents] == [result.tree for result in direct(parser, doc)]
    candidates = read_supertags(doc)
    del candidates[1]
    write_spines(doc, list(candidates), list(candidates.values()))
    again = nlp.get_pipe(models.factory)(doc)
    first, second = sentence_infos(again)
    assert first["ambiguity"] is None and first["n_searches"] == 1, "one of its words has no spines"
    assert second["ambiguity"] is not None


def test_spines_that_no_longer_fit_are_left_out(models):
    nlp = make_nlp(models)
    doc = nlp(TEXTS[0])
    with doc.retokenize() as retokenizer:
        retokenizer.merge(doc[0:2])
    with pytest.warns(UserWarning, match="merged or split after tagging"):
        nlp.get_pipe(models.factory)(doc)
    assert all(info["ambiguity"] is None for info in sentence_infos(doc))
    doc.spans["spines"] = [doc[0:1]]  # of another program
    nlp.get_pipe(models.factory)(doc)
    assert all(info["ambiguity"] is None for info in sentence_infos(doc))


def test_the_record_survives(models, tmp_path):
    nlp = make_nlp(models)
    docs = list(nlp.pipe(TEXTS))
    wanted = [record(doc) for doc in docs]
    assert len(wanted[0][0]) == 2 and {"n_searches", "ambiguity"} <= set(wanted[0][0][0])
    assert [record(Doc(Vocab()).from_bytes(doc.to_bytes())) for doc in docs] == wanted
    kept = DocBin(docs=docs).to_bytes()
    assert [record(doc) for doc in DocBin().from_bytes(kept).get_docs(Vocab())] == wanted
    nlp.to_disk(tmp_path / "pipeline")
    for other in (spacy.load(tmp_path / "pipeline"), pickle.loads(pickle.dumps(nlp))):
        assert [record(doc) for doc in other.pipe(TEXTS)] == wanted


@pytest.mark.slow
def test_processes(models, monkeypatch):
    nlp = make_nlp(models)
    wanted = [record(doc) for doc in nlp.pipe(TEXTS)]
    monkeypatch.setattr(spacy.language, "mp", multiprocessing.get_context("spawn"))
    assert [record(doc) for doc in nlp.pipe(TEXTS, n_process=2, batch_size=2)] == wanted


def test_parsers_that_read_no_spines_get_none(models):
    nlp = make_nlp(models)
    component = DtParse(parser=RuleParser("blind"))
    with nlp.select_pipes(disable=[models.factory]):
        doc = component(nlp(TEXTS[0]))
    assert doc.spans["constituents"] and component.supertags(doc) == {} != read_supertags(doc)
    assert [(info["n_searches"], info["ambiguity"]) for info in sentence_infos(doc)] == [(1, None)] * 2


def test_bad_candidates_fail_no_other_doc(models):
    """A Doc whose probabilities are no numbers fails, and its batch does not."""
    nlp = make_nlp(models)
    with nlp.select_pipes(disable=[models.factory]):
        docs = [nlp(text) for text in (TEXTS[0], TEXTS[0], "Dogs bark")]
    docs[1].spans["spines"].attrs["supertags"] = [[0, "likely"] for _ in docs[1]]
    failed = []
    nlp.set_error_handler(lambda name, component, batch, error: failed.extend(batch))
    with nlp.select_pipes(enable=[models.factory]):
        done = list(nlp.pipe(docs))
    assert failed == [docs[1]] and done == [docs[0], docs[2]] and "constituents" not in docs[1].spans
