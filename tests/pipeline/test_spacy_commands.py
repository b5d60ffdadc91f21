"""spaCy's own commands on pipelines with dtparse: apply, evaluate, assemble, package; the corpus reader."""

from __future__ import annotations

import importlib
import shutil
import sys
from pathlib import Path

import pytest
import spacy
import srsly
from spacy.cli.apply import apply
from spacy.cli.assemble import assemble_cli
from spacy.cli.evaluate import evaluate
from spacy.cli.package import package
from spacy.tokens import DocBin
from spacy.training import Corpus
from spacy.vocab import Vocab

from spacy_dtparse.cli import main
from spacy_dtparse.errors import ConfigError, TrainingDataError, TreeFormatError
from spacy_dtparse.pipeline import attributes
from spacy_dtparse.pipeline.corpus import convert_brackets, create_bracket_corpus, guess_spaces, read_docs
from spacy_dtparse.pipeline.spines import spine, spines
from spacy_dtparse.trees import COLLINS, Recipe
from spacy_dtparse.trees.directional import CATEGORIES, category_writer
from training.data.corpus import read_treebank
from training.data.spines import categorise

from .conftest import both_factories

TREEBANK = """\
( (S (NP-SBJ (DT The) (JJ old) (NN cat)) (VP (VBD sat) (PP-LOC (IN on) (NP (DT the) (NN mat)))) (. .)) )
(TOP (S (NP-SBJ-1 (PRP She))
   (VP (VBD saw) (S (NP-SBJ (-NONE- *-1)) (VP (VB run)))) (. .)))
(ROOT (S (`` ``) (NP (PRP It)) (VP (VBZ does) (RB n't) (VP (VB run))) ('' '')
   (-LRB- -LRB-) (ADVP (RB quietly)) (-RRB- -RRB-)))
"""


@pytest.fixture
def treebank(tmp_path):
    path = tmp_path / "gold.mrg"
    path.write_text(TREEBANK)
    return path


def test_docs_from_brackets(treebank):
    (doc,) = read_docs(treebank, Vocab(), sentences_per_doc=5)
    assert doc.text.startswith('The old cat sat on the mat. She saw run. "It doesn\'t run"')
    assert [sent.text for sent in doc.sents][1].strip() == "She saw run."
    assert [str(tree) for tree in attributes.trees(doc)][1] == (
        "(TOP (S (NP (PRP She)) (VP (VBD saw) (S (VP (VB run)))) (. .)))"
    )
    assert doc[-1].text == ")" and doc[-1].tag_ == "-RRB-"
    assert len(list(read_docs(treebank, Vocab(), limit=2))) == 2


def test_corpus_reader(treebank, nlp):
    examples = list(create_bracket_corpus(treebank, gold_tags=True)(nlp))
    assert [len(example.reference.spans["constituents"]) for example in examples] == [5, 5, 5]
    assert all(not example.predicted.spans for example in examples)
    assert examples[0].predicted[0].tag_ == "DT"
    assert not next(create_bracket_corpus(treebank)(nlp)).predicted.has_annotation("TAG")
    resolved = spacy.registry.readers.get("spacy_dtparse.BracketCorpus.v1")(str(treebank), limit=1)
    assert len(list(resolved(nlp))) == 1


@pytest.mark.parametrize("categories", CATEGORIES)
def test_categories_are_those_that_taggers_learn(treebank, nlp, tmp_path, categories):
    (tmp_path / "repeated.mrg").write_text("(TOP (NP (NP (NN cat))))\n")
    label = category_writer(categories, COLLINS)
    wanted = [
        [token.category for token in sentence]
        for file in (treebank, tmp_path / "repeated.mrg")
        for sentence in categorise(read_treebank(file), Recipe.PLAIN, label)
    ]
    found = list(create_bracket_corpus(tmp_path, categories=categories, spines_key="mine")(nlp))
    assert [[spine(token, "mine") for token in example.reference] for example in found] == wanted
    assert all(not example.predicted.spans for example in found)
    both = next(read_docs(tmp_path, nlp.vocab, sentences_per_doc=4, categories=categories))
    together = [name for names in wanted for name in names]
    assert [spine(token) for token in both] == together
    assert main(["convert", str(tmp_path), str(tmp_path / "gold.spacy"), "--categories", categories]) == 0
    (doc,) = DocBin().from_disk(tmp_path / "gold.spacy").get_docs(nlp.vocab)
    assert [spines(token) for token in doc] == [((name, 1.0),) for name in together]


def test_unknown_categories(tmp_path, nlp):
    with pytest.raises(ConfigError, match="categories are 'tags'; they must be one of spine, directional"):
        create_bracket_corpus(tmp_path, categories="tags")
    (tmp_path / "odd.mrg").write_text("(TOP (A+B (NN cat)))\n")
    with pytest.raises(TrainingDataError, match=r"odd\.mrg: label 'A\+B' cannot be written in a spine"):
        list(create_bracket_corpus(tmp_path / "odd.mrg", categories="spine")(nlp))


def test_corpus_errors(tmp_path):
    with pytest.raises(TrainingDataError, match="no treebank there"):
        list(read_docs(tmp_path / "gone.mrg", Vocab()))
    with pytest.raises(TrainingDataError, match="no treebank there"):
        list(read_docs(tmp_path, Vocab()))
    (tmp_path / "empty.mrg").write_text("\n")
    with pytest.raises(TrainingDataError, match="no tree in it"):
        list(read_docs(tmp_path / "empty.mrg", Vocab()))
    (tmp_path / "bad.mrg").write_text("(TOP (NN a))\n(TOP (NN b)))\n")
    with pytest.raises(TreeFormatError, match=r"bad\.mrg:2:"):
        list(read_docs(tmp_path / "bad.mrg", Vocab()))
    with pytest.raises(ConfigError, match="sentences_per_doc=0"):
        create_bracket_corpus(tmp_path, sentences_per_doc=0)


def test_spaces_are_guessed_as_in_running_text():
    words = [
        "``",
        "Do",
        "n't",
        "pay",
        "$",
        "5",
        "-LRB-",
        "or",
        "so",
        "-RRB-",
        ",",
        "''",
        "he",
        "'s",
        "well",
        "-",
        "off",
    ]
    tags = [
        "``",
        "VB",
        "RB",
        "VB",
        "$",
        "CD",
        "-LRB-",
        "CC",
        "RB",
        "-RRB-",
        ",",
        "''",
        "PRP",
        "VBZ",
        "RB",
        "HYPH",
        "RB",
    ]
    spaces = guess_spaces(words, tags)
    text = "".join(w + " " * s for w, s in zip(words, spaces, strict=True))
    assert text == "``Don't pay $5 -LRB-or so-RRB-,'' he's well-off "


def test_apply(nlp, tmp_path):
    nlp.to_disk(tmp_path / "pipeline")
    (tmp_path / "texts").mkdir()
    srsly.write_jsonl(tmp_path / "texts" / "texts.jsonl", [{"text": "The cat sat."}, {"text": "She sleeps quietly."}])
    apply(tmp_path / "texts", tmp_path / "out.spacy", str(tmp_path / "pipeline"), "text", 1, 1)
    docs = list(DocBin().from_disk(tmp_path / "out.spacy").get_docs(Vocab()))
    assert sorted(len(doc._.constituents) for doc in docs) == [3, 4]


@both_factories
def test_convert_and_evaluate(nlp, treebank, tmp_path, capsys):
    assert convert_brackets(treebank, tmp_path / "new" / "gold.spacy", sentences_per_doc=2) == 2
    nlp.to_disk(tmp_path / "pipeline")
    scores = evaluate(
        str(tmp_path / "pipeline"), tmp_path / "new" / "gold.spacy", tmp_path / "scores.json", silent=True
    )
    assert scores["const_f"] == 0.5 and set(scores["const_per_type"]) >= {"S", "NP", "VP", "PP"}
    capsys.readouterr()
    gold = tmp_path / "new" / "gold.spacy"
    evaluate(str(tmp_path / "pipeline"), gold, silent=False, spans_key="constituents")
    printed = " ".join(capsys.readouterr().out.split())
    assert "SPAN F 50.00" in printed and "SPANS (per type)" in printed
    assert srsly.read_json(tmp_path / "scores.json")["const_f"] == pytest.approx(scores["const_f"])
    with_corpus = nlp.evaluate(Corpus(tmp_path / "new" / "gold.spacy")(nlp))
    assert with_corpus["const_f"] == pytest.approx(scores["const_f"])
    gold_tokens = nlp.evaluate(create_bracket_corpus(treebank)(nlp))
    assert gold_tokens["const_f"] == pytest.approx(scores["const_f"], abs=0.2)


@both_factories
def test_assemble(model_file, tmp_path, factory):
    base = spacy.blank("en")
    base.add_pipe("sentencizer")
    base.add_pipe("list_tagger")
    base.add_pipe(factory)
    config = base.config.copy()
    config["initialize"]["components"][factory] = {"model": str(model_file)}
    config.to_disk(tmp_path / "config.cfg")

    class Context:
        args: tuple = ()

    assemble_cli(Context(), tmp_path / "config.cfg", tmp_path / "assembled", code_path=None, verbose=False)
    model_file.unlink()
    loaded = spacy.load(tmp_path / "assembled")
    assert len(loaded("The cat sat.")._.constituents) == 3


@pytest.mark.slow
@both_factories
def test_package(nlp, tmp_path, monkeypatch, factory):
    name = nlp.meta["name"] = f"{factory}_packaged"
    nlp.to_disk(tmp_path / "pipeline")
    package(tmp_path / "pipeline", tmp_path, create_sdist=False, silent=True)
    (folder,) = tmp_path.glob(f"en_{name}-*")
    shutil.copy(folder / "meta.json", folder / f"en_{name}")  # as the package's setup.py does
    monkeypatch.syspath_prepend(str(folder))
    module = importlib.import_module(f"en_{name}")
    try:
        assert len(module.load()("The cat sat.")._.constituents) == 3
        assert module.load().config["components"][factory]["model"] == "@saved"
    finally:
        sys.modules.pop(f"en_{name}")


def test_every_entry_point_resolves():
    tomllib = pytest.importorskip("tomllib")
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    groups = {**project["entry-points"], "scripts": project["scripts"]}
    assert {"spacy_factories", "spacy_scorers", "spacy_readers", "scripts"} <= set(groups)
    for group in groups.values():
        for target in group.values():
            module, _, name = target.partition(":")
            assert callable(getattr(importlib.import_module(module), name))
