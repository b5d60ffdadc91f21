"""The component pcfgla with a small grammar, trained on the sample treebank, that chooses the tags."""

from __future__ import annotations

import copy
import json
import multiprocessing
import pickle
import warnings

import pytest
import spacy
from spacy.tokens import Doc, DocBin
from spacy.vocab import Vocab

from spacy_dtparse import models, sentence_infos, to_tree
from spacy_dtparse.cli import main
from spacy_dtparse.errors import ConfigError, MissingAnnotationError, ModelFormatError
from spacy_dtparse.pcfgla.component import PcfgLa
from spacy_dtparse.pipeline.constituent_group import CHECKSUM
from spacy_dtparse.pipeline.corpus import create_bracket_corpus

from ..documents import ROOT
from ..packages import write_package
from .conftest import make_nlp
from .rule_parser import RuleParser

DEV = ROOT / "assets" / "sample" / "dev.mrg"
TEXTS = ["The old cat sat on the mat. She sleeps quietly.", "Run.", "  ", "", "It saw the dog."]


@pytest.fixture(scope="module")
def parser(latent_parser):
    return latent_parser


@pytest.fixture
def latent(parser, tmp_path):
    path = tmp_path / "latent.model"
    parser.to_disk(path)
    return path


@pytest.fixture
def untagged(latent):
    return blank(latent)


def blank(model, **config):
    """A pipeline without a tagger."""
    nlp = spacy.blank("en")
    nlp.add_pipe("sentencizer")
    nlp.add_pipe("pcfgla", config={"model": str(model), **config})
    return nlp


def shape(doc, key="constituents"):
    group = doc.spans[key]
    attrs = {name: value for name, value in group.attrs.items() if name != CHECKSUM}
    return [(s.start, s.end, s.label_, s.id_) for s in group], attrs


@pytest.mark.slow
def test_no_tags_are_needed_and_none_are_written(untagged, latent):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        docs = list(untagged.pipe(TEXTS))
    assert not any(token.tag for doc in docs for token in doc) and docs[0]._.constituents[0]._.labels[0] == "S"
    assert [info["status"] for info in sentence_infos(docs[0])] == ["complete", "complete"]
    assert docs[0].spans["constituents"].attrs["parser"] == "pcfg"
    tagged = make_nlp(latent, "pcfgla")(TEXTS[0])
    assert shape(tagged) == shape(docs[0]) and tagged[0].tag_ == "DT"  # its tags change nothing
    assert untagged.analyze_pipes()["problems"]["pcfgla"] == []


@pytest.mark.slow
def test_the_decoder_is_a_setting(latent, parser):
    text = "She saw the dog in the park."
    nlp = blank(latent, decoder="q")
    assert nlp.get_pipe("pcfgla").configured_parser.settings.decoder == "q"
    doc = nlp(text)
    words = [token.text for token in doc]
    wanted = parser.with_settings(decoder="q").parse(words, ["XX"] * len(words)).tree
    assert to_tree(next(doc.sents)).labels == wanted.labels
    with pytest.raises(ConfigError, match="candidates"):
        blank(latent, decoder="rerank")
    found = blank(latent, candidates_n=7).get_pipe("pcfgla").configured_parser.settings
    assert (found.candidates_n, found.decoder) == (7, "max-rule")


def test_given_tags_are_needed_and_unchanged(latent, parser):
    nlp = blank(latent, tags="given")
    with pytest.raises(MissingAnnotationError, match="Put a tagger before 'pcfgla'"):
        nlp(TEXTS[0])
    doc = make_nlp(latent, "pcfgla", tags="given")(TEXTS[-1])
    wanted = parser.with_settings(tags="given").parse([t.text for t in doc], [t.tag_ for t in doc])
    assert str(to_tree(doc[:])) == str(wanted.tree)
    seen = []
    nlp.set_error_handler(lambda name, proc, docs, error: seen.append((name, type(error))))
    assert list(nlp.pipe(TEXTS[:1])) == [] and seen == [("pcfgla", MissingAnnotationError)]
    for factory in ("dtparse", "span_parser"):
        with pytest.raises(ModelFormatError, match=rf"'pcfg' .*one for the factory '{factory}'; use .*'pcfgla'"):
            spacy.blank("en").add_pipe(factory, config={"model": str(latent)})


def test_settings_reach_the_parser(latent):
    component = blank(latent, prune=0.01, beam=0.0, max_tokens=7, tags="given").get_pipe("pcfgla")
    settings = component.configured_parser.settings
    assert (settings.prune, settings.beam, settings.max_tokens, settings.tags) == (0.01, 0.0, 7, "given")
    assert component.parser.settings.max_tokens == 80
    text = "The old cat sat on the mat and the old dog saw it."
    assert sentence_infos(blank(latent, max_tokens=6)(text))[0]["status"] == "fallback"
    scored = [sentence_infos(blank(latent, prune=prune)(text))[0]["n_scored"] for prune in (0.0, None)]
    assert scored[0] > scored[1]


@pytest.mark.slow
def test_round_trips_and_processes_give_the_same(untagged, tmp_path, monkeypatch):
    """Disk, bytes, pickle, copy, processes, DocBin."""
    docs = list(untagged.pipe(TEXTS))
    wanted = [shape(doc) for doc in docs]
    untagged.to_disk(tmp_path / "pipeline")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        loaded = spacy.load(tmp_path / "pipeline")
    twins = [loaded, pickle.loads(pickle.dumps(untagged)), copy.deepcopy(untagged)]
    twins.append(spacy.blank("en"))
    twins[-1].add_pipe("sentencizer")
    twins[-1].add_pipe("pcfgla")
    twins[-1].from_bytes(untagged.to_bytes())
    for twin in twins:
        assert [shape(doc) for doc in twin.pipe(TEXTS)] == wanted
    back = list(DocBin().from_bytes(DocBin(docs=docs, store_user_data=True).to_bytes()).get_docs(Vocab()))
    assert [shape(doc) for doc in back if len(doc)] == [shape(doc) for doc in docs if len(doc)]
    for method in {"fork", "spawn"} & set(multiprocessing.get_all_start_methods()):
        monkeypatch.setattr(spacy.language, "mp", multiprocessing.get_context(method))
        assert [shape(doc) for doc in untagged.pipe(TEXTS, n_process=2, batch_size=2)] == wanted
    assert spacy.load(tmp_path / "pipeline", exclude=["pcfgla"]).pipe_names == ["sentencizer"]
    assert untagged.evaluate(create_bracket_corpus(DEV, limit=5)(untagged))["const_f"] == pytest.approx(86 / 133)


def test_models_of_the_other_factory(tmp_path):
    class DecisionTrees(RuleParser):
        name = "dtree"

    message = r"pcfgla: a model of kind 'dtree' .* not one for the factory 'pcfgla'.*nlp.add_pipe\('dtparse'"
    component = PcfgLa(parser=RuleParser("kept"))
    with pytest.raises(ModelFormatError, match=message):
        component.set_parser(DecisionTrees())
    assert component.parser.note == "kept"
    with pytest.raises(ModelFormatError, match=message):
        PcfgLa(parser=DecisionTrees())


@pytest.mark.embedded
def test_a_real_model_of_the_other_factory():
    with pytest.raises(ModelFormatError, match=r"pcfgla: .*model: a model of kind 'dtree' .*'dtparse'"):
        spacy.blank("en").add_pipe("pcfgla", config={"model": str(models.embedded_model("en_dtparse"))})
    with pytest.raises(ModelFormatError, match=r"pcfgla: .*model: a model of kind 'dtree' .*'dtparse'"):
        spacy.blank("en").add_pipe("pcfgla", config={"model": str(models.embedded_pipeline())})


def test_the_embedded_grammar(latent, tmp_path, monkeypatch):
    nlp = spacy.blank("en")
    with monkeypatch.context() as patch:
        patch.setattr(models, "find_spec", lambda module: None)
        with pytest.warns(UserWarning, match="en_pcfgla"):
            component = nlp.add_pipe("pcfgla")
        doc = Doc(nlp.vocab, words=["She", "sleeps"], sent_starts=[True, False])
        assert component.labels == ()
        with pytest.raises(ModelFormatError, match=r"pip install \./packages/en_pcfgla"):
            nlp(doc)
    write_package(tmp_path, "en_pcfgla", "pcfgla", latent.read_bytes())
    monkeypatch.syspath_prepend(tmp_path)
    assert nlp(doc)._.constituents and "S" in component.labels
    nlp.to_disk(tmp_path / "saved")
    assert (tmp_path / "saved" / "pcfgla" / "model").read_bytes() == latent.read_bytes()


@pytest.mark.slow
def test_the_embedded_grammar_parses():
    nlp = spacy.blank("en")
    nlp.add_pipe("sentencizer")
    nlp.add_pipe("pcfgla")
    doc = nlp("The cat sat on the mat. Nobody saw it!")
    assert [sent._.labels[0] for sent in doc.sents] == ["S", "S"]


@pytest.mark.slow
def test_two_parsers_in_one_pipeline(model_file, latent, tmp_path):
    nlp = make_nlp(model_file)
    with pytest.warns(UserWarning, match=r"pcfgla: 'dtparse' of the same pipeline writes doc.spans\['constituents'\]"):
        nlp.add_pipe("pcfgla", config={"model": str(latent)})
    assert nlp(TEXTS[0]).spans["constituents"].attrs["parser"] == "pcfg"  # of the later component
    with nlp.select_pipes(disable=["pcfgla"]):
        assert nlp(TEXTS[0]).spans["constituents"].attrs["parser"] == "rule"
    nlp.remove_pipe("pcfgla")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        nlp.add_pipe("pcfgla", config={"model": str(latent), "spans_key": "pcfgla", "scorer": None})
        with nlp.select_pipes(disable=["dtparse"]):
            nlp.add_pipe("pcfgla", name="other", config={"model": str(latent)})
            nlp.remove_pipe("other")
        nlp.to_disk(tmp_path / "both")
        both = spacy.load(tmp_path / "both")
        doc = both(TEXTS[0])
    assert [doc.spans[key].attrs["parser"] for key in ("constituents", "pcfgla")] == ["rule", "pcfg"]
    assert shape(doc, "pcfgla")[0] == shape(blank(latent)(TEXTS[0]))[0]
    sentence = next(doc.sents)
    assert to_tree(sentence, "pcfgla").words == to_tree(sentence).words == tuple(token.text for token in sentence)
    single = make_nlp(model_file).evaluate(create_bracket_corpus(DEV, limit=5)(nlp))
    assert both.evaluate(create_bracket_corpus(DEV, limit=5)(both))["const_f"] == single["const_f"] is not None
    (tmp_path / "both" / "dtparse" / "model").unlink()
    assert models.find_model(tmp_path / "both").parent.name == "pcfgla"


@pytest.mark.slow
def test_the_command_line(untagged, latent, tmp_path, capsys):
    untagged.to_disk(tmp_path / "pipeline")
    pipeline = ["--pipeline", str(tmp_path / "pipeline")]

    def output(*arguments):
        assert main([*arguments, *pipeline]) == 0
        return capsys.readouterr()

    assert output("parse", "--text", "The cat sat.").out.startswith("(TOP (S (NP (XX The)")
    assert json.loads(output("parse", "--text", "The cat sat.", "--format", "json").out)["status"] == "complete"
    assert "NP" in output("show", "The cat sat.").out
    assert "f1" in output("evaluate", str(DEV), "--limit", "3").out.lower()
    facts = json.loads(output("info", "--json").out)
    assert facts["pipeline"]["components"] == ["sentencizer", "pcfgla"]
    parser = facts["parser"]
    assert (parser["kind"], parser["name"], parser["tags"], parser["grammars"]) == ("pcfg", "tiny", "own", 2)
    assert parser["bytes"] == latent.stat().st_size and parser["rules"] > 100 and parser["prune"] == 3e-4
    assert len(parser["latent values"]) == 2 and min(parser["latent rules"]) > parser["rules"]
    assert parser["pruning grammars"] == 1 and parser["options"]["seeds"] == [0, 1]
    assert "--budget 7 changes nothing: 'pcfgla' fills a chart" in output("info", "--budget", "7").err
    assert "  latent values: " in output("info").out


def test_a_grammar_for_a_pipeline_without_a_parser(latent, tmp_path, capsys):
    nlp = spacy.blank("en")
    nlp.add_pipe("sentencizer")
    nlp.to_disk(tmp_path / "pipeline")
    chosen = ["--pipeline", str(tmp_path / "pipeline"), "--model", str(latent)]
    assert main(["parse", "--text", "The cat sat.", *chosen]) == 0
    assert capsys.readouterr().out.startswith("(TOP (S")
    assert main(["info", *chosen]) == 0
    assert "components: sentencizer, pcfgla" in capsys.readouterr().out
