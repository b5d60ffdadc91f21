"""The embedded English pipeline: one model file for load() and for the component's default."""

from __future__ import annotations

from pathlib import Path

import pytest
import spacy
from spacy.tokens import Doc

import spacy_dtparse
from spacy_dtparse import models
from spacy_dtparse.cli import main
from spacy_dtparse.errors import ConfigError, ModelFormatError
from spacy_dtparse.pipeline.embedded import load_named

from .conftest import make_nlp


@pytest.fixture
def embedded(model_file, tmp_path, monkeypatch):
    make_nlp(model_file).to_disk(tmp_path / "en_dtparse")
    monkeypatch.setattr(models, "HERE", tmp_path)


def test_load_and_default_model(embedded, capsys, monkeypatch):
    nlp = spacy_dtparse.load()
    assert nlp.pipe_names == ["sentencizer", "list_tagger", "dtparse"]
    assert len(nlp("The cat sat.")._.constituents) == 3
    changed = spacy_dtparse.load(config={"components.dtparse.max_tokens": 7})
    assert len(changed("She sat quietly.")._.constituents) == 4
    assert changed.get_pipe("dtparse").max_tokens == 7
    default = spacy.blank("en")
    default.add_pipe("span_parser")
    assert default.get_pipe("span_parser").labels == ()  # not loaded before the first Doc
    doc = Doc(default.vocab, words=["she", "sat"], tags=["PRP", "VBD"], sent_starts=[True, False])
    assert len(default(doc)._.constituents) == 3
    assert default.get_pipe("span_parser").parser.note == "from the file"
    assert default.get_pipe_config("span_parser")["model"] is None
    assert Path(models.embedded_model("en_span")).parent.parent == models.embedded_pipeline()
    assert spacy_dtparse.load("en_span").pipe_names == ["sentencizer", "list_tagger", "span_parser"]
    monkeypatch.setattr("spacy_dtparse.jit.cache_state.are_kernels_compiled", lambda: False)
    assert main(["She sat."]) == 0
    captured = capsys.readouterr()
    assert "(VBD sat)" in captured.out and "compiling the parser's kernels (the first run only)" in captured.err


def test_an_untouched_default_is_saved_with_its_model(embedded, tmp_path):
    nlp = spacy.blank("en")
    nlp.add_pipe("dtparse")
    nlp.to_disk(tmp_path / "saved")
    saved = (tmp_path / "saved" / "dtparse" / "model").read_bytes()
    assert saved == Path(models.embedded_model("en_dtparse")).read_bytes()
    assert spacy.load(tmp_path / "saved").config["components"]["dtparse"]["model"] is None


def test_an_installation_without_the_model(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(models, "HERE", tmp_path)
    with pytest.raises(ModelFormatError, match=r"has no English model .*install the package again"):
        spacy_dtparse.load()
    nlp = spacy.blank("en")
    nlp.add_pipe("dtparse")
    with pytest.raises(ModelFormatError, match="give the path of another model"):
        nlp(Doc(nlp.vocab, words=["she"], tags=["PRP"]))
    assert main(["She sat."]) == 1
    assert "has no English model" in capsys.readouterr().err


@pytest.mark.filterwarnings("ignore:.*en_pcfgla.* is a package of its own")
@pytest.mark.parametrize("name", models.PACKAGES)
def test_a_pipeline_whose_package_is_not_installed(name, monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(models, "find_spec", lambda module: None)
    line = f"pip install ./packages/{name}"
    factory = models.PARSERS[name]
    for use in (
        spacy_dtparse.load,
        load_named,
        models.open_parser,
        lambda model: spacy.blank("en").add_pipe(factory, config={"model": model}),
    ):
        with pytest.raises(ModelFormatError, match=f"{name!r} is a package of its own, which is not installed.*{line}"):
            use(name)
    text = tmp_path / "text.txt"
    text.write_text("She sat.")
    for command in (
        ["parse", str(text), "--pipeline", name], ["parse", str(text), "--model", name], ["info", "--model", name],
        ["explain", "She sat.", "--pipeline", name],
    ):  # fmt: skip
        assert main(command) == 1
        assert line in capsys.readouterr().err


@pytest.mark.parametrize(("name", "factory"), [("en_pcfgla", "pcfgla"), ("en_bpm", "bpm_parser")])
def test_a_component_whose_default_model_is_not_installed(name, factory, monkeypatch):
    monkeypatch.setattr(models, "find_spec", lambda module: None)
    nlp = spacy.blank("en")
    with pytest.warns(UserWarning, match=f"{factory}: .*pip install ./packages/{name}, or give another `model`"):
        component = nlp.add_pipe(factory)
    with pytest.raises(ModelFormatError, match=f"pip install ./packages/{name}"):
        assert component.parser


def test_the_span_parser_is_the_span_model_of_the_default_parser():
    parser = models.open_parser("en_span")
    inside = models.open_parser("en_dtparse").span_parser
    assert parser.name == "span" and parser.to_bytes() == inside.to_bytes()
    pipe = spacy_dtparse.load("en_span").get_pipe("span_parser")
    assert not isinstance(pipe.parser._data, bytes) and pipe.parser.to_bytes() == parser.to_bytes()


def test_the_default_pipeline_parses():
    doc = spacy_dtparse.load()("The cat sat on the mat. (It was black.)\n\nNobody saw it!")
    assert doc.has_annotation("TAG") and len(list(doc.sents)) == 3
    for sentence, tree in zip(doc.sents, spacy_dtparse.pipeline.attributes.trees(doc), strict=True):
        assert len(tree.words) == sum(not token.is_space for token in sentence)
    assert "(NP (DT The) (NN cat))" in next(doc.sents)._.parse_string


@pytest.mark.slow
def test_attributes_of_the_english_pipelines(tmp_path):
    nlp = spacy_dtparse.load("en_span")
    nlp.to_disk(tmp_path / "saved")
    text = "The dog's tail is what the man with a hat likes.\nI know that it rains."
    for pipeline in (nlp, spacy.load(tmp_path / "saved")):
        doc = pipeline(text)
        assert [chunk.text for chunk in doc.noun_chunks] == ["The dog's tail", "what", "the man", "a hat", "I", "it"]
        assert [token.pos_ for token in doc][:5] == ["DET", "NOUN", "PART", "NOUN", "AUX"]
        assert [clause.text for clause in doc._.clauses][-2:] == ["I know that it rains.", "that it rains"]
        assert [sent._.head.text for sent in doc.sents] == ["is", "know"]
        assert [phrase._.head.text for phrase in doc._.phrases("NP", maximal=True)] == ["tail", "man", "I", "it"]
    without_pos = spacy_dtparse.load("en_span", config={"components.tagger.pos": False})
    assert not without_pos(text).has_annotation("POS")
    linked = spacy_dtparse.load("en_bpm")("The dog's tail is long.")  # constituents come before dependencies
    assert [chunk.text for chunk in linked.noun_chunks] == ["The dog's tail"] and linked.has_annotation("DEP")


@pytest.mark.slow
def test_the_english_parsers_by_name():
    text = "The old dog sleeps."
    for name, pipe in models.PARSERS.items():
        nlp = spacy_dtparse.load(name)
        assert nlp.pipe_names[-1] == pipe and nlp.meta["name"] == name.removeprefix("en_")
        assert next(nlp(text).sents)._.parse_string == "(S (NP (DT The) (JJ old) (NN dog)) (VP (VBZ sleeps)) (. .))"
    assert [token.dep_ for token in nlp(text)] == ["det", "amod", "nsubj", "ROOT", "punct"]
    trees = spacy_dtparse.load("en_dtparse", config={"components.dtparse.budget": 0}, exclude=["tagger"])
    assert trees.get_pipe("dtparse").budget == 0 and "tagger" not in trees.pipe_names
    names = "en_span, en_dtparse, en_trees, en_pcfgla, en_dtparse_lg, en_bpm"
    with pytest.raises(ConfigError, match=f"parser 'en_core'; there are {names}"):
        spacy_dtparse.load("en_core")


@pytest.mark.parametrize(
    "name", [name if name == "en_dtparse" else pytest.param(name, marks=pytest.mark.slow) for name in models.PARSERS]
)
def test_a_path_may_have_any_form(name):
    path = models.embedded_model(name)
    nlp = spacy.blank("en")
    nlp.add_pipe(models.PARSERS[name], config={"model": path})
    component = type(nlp.get_pipe(models.PARSERS[name]))(model=Path(path).parent)
    assert component.parser.to_bytes() == nlp.get_pipe(models.PARSERS[name]).parser.to_bytes()
