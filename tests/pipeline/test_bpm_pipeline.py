"""bpm_parser with other components and commands: scores, spaCy's commands, the command line, with dtparse."""

from __future__ import annotations

import json

import pytest
import spacy
import srsly
from spacy.cli.apply import apply
from spacy.cli.assemble import assemble_cli
from spacy.cli.evaluate import evaluate
from spacy.tokens import Doc, DocBin
from spacy.training import Corpus, Example
from spacy.vocab import Vocab

from spacy_dtparse.cli import main
from spacy_dtparse.pipeline.corpus import create_bracket_corpus
from training.data.corpus import read_treebank
from training.data.evaluate import tag_lists

from .conftest import make_links_nlp, make_nlp, tree_of
from .link_stubs import Chain

TEXT = "The old cat sat on the mat. She sleeps quietly."


def gold(vocab, heads, deps):
    """The Doc of "She saw the cat ." with its tree."""
    starts = [True, False, False, False, False]
    return Doc(vocab, words="She saw the cat .".split(), heads=heads, deps=deps, sent_starts=starts)


def test_scores_by_hand():
    """spaCy leaves out punctuation by its label, on both sides: the parser has no such label, so all five of its links
    count, against four."""
    nlp = spacy.blank("en")
    nlp.add_pipe("sentencizer")
    nlp.add_pipe("list_tagger")
    nlp.add_pipe("bpm_parser").set_parser(Chain())
    assert nlp.config["components"]["bpm_parser"]["scorer"] == {"@scorers": "spacy.parser_scorer.v1"}
    reference = gold(nlp.vocab, [0, 0, 1, 1, 1], ["ROOT", "next", "det", "obj", "punct"])
    scores = nlp.evaluate([Example(nlp.make_doc("She saw the cat ."), reference)])
    assert scores["dep_uas"] == pytest.approx(2 * 3 / (4 + 5))  # She, saw and the have their head
    assert scores["dep_las"] == pytest.approx(2 * 2 / (4 + 5))  # the has another label
    assert scores["dep_las_per_type"]["next"] == {"p": 1 / 4, "r": 1.0, "f": 2 / 5} and scores["sents_f"] == 1.0
    weights = nlp.get_pipe_meta("bpm_parser").default_score_weights
    assert weights["dep_uas"] == weights["dep_las"] == 0.5


def test_evaluate_of_its_own_docs_is_perfect(linked):
    reference = linked(TEXT)
    scores = linked.evaluate([Example(linked.make_doc(TEXT), reference)])
    assert scores["dep_uas"] == scores["dep_las"] == scores["sents_f"] == 1.0


def test_assemble_evaluate_apply(link_model, tmp_path):
    base = make_links_nlp(None)
    config = base.config.copy()
    config["initialize"]["components"]["bpm_parser"] = {"model": str(link_model)}
    config.to_disk(tmp_path / "config.cfg")

    class Context:
        args: tuple = ()

    assemble_cli(Context(), tmp_path / "config.cfg", tmp_path / "assembled", code_path=None, verbose=False)
    link_model.unlink()
    nlp = spacy.load(tmp_path / "assembled")
    doc = nlp(TEXT)
    DocBin(docs=[doc]).to_disk(tmp_path / "gold.spacy")
    scores = evaluate(str(tmp_path / "assembled"), tmp_path / "gold.spacy", tmp_path / "scores.json", silent=True)
    assert scores["dep_uas"] == scores["dep_las"] == 1.0 and "root" in scores["dep_las_per_type"]
    assert nlp.evaluate(Corpus(tmp_path / "gold.spacy")(nlp))["dep_las"] == 1.0
    srsly.write_jsonl(tmp_path / "texts.jsonl", [{"text": TEXT}])
    apply(tmp_path / "texts.jsonl", tmp_path / "out.spacy", str(tmp_path / "assembled"), "text", 1, 1)
    (back,) = DocBin().from_disk(tmp_path / "out.spacy").get_docs(Vocab())
    assert tree_of(back) == tree_of(doc)


@pytest.mark.parametrize("order", ["before", "after"])
def test_with_dtparse_in_one_pipeline(model_file, link_model, order, tmp_path):
    constituents_only = make_nlp(model_file)(TEXT)
    links = make_links_nlp(link_model)(TEXT)
    nlp = make_nlp(model_file)
    nlp.add_pipe("bpm_parser", config={"model": str(link_model)}, **{order: "dtparse"})
    nlp.to_disk(tmp_path / "both")
    for pipeline in (nlp, spacy.load(tmp_path / "both")):
        doc = pipeline(TEXT)
        assert tree_of(doc) == tree_of(links)
        assert [(s.start, s.end, s.label_, s.id_) for s in doc.spans["constituents"]] == [
            (s.start, s.end, s.label_, s.id_) for s in constituents_only.spans["constituents"]
        ]
        assert [sent._.parse_string for sent in doc.sents] == [sent._.parse_string for sent in constituents_only.sents]
    reference = nlp(TEXT)
    scores = nlp.evaluate([Example(nlp.make_doc(TEXT), reference)])
    assert scores["const_f"] == scores["dep_las"] == 1.0


def test_it_does_not_run_if_only_tags_or_constituents_are_needed(model_file, tmp_path):
    nlp = make_nlp(model_file)
    links = nlp.add_pipe("bpm_parser", name="links")
    links.set_parser(Chain())
    (tmp_path / "two.mrg").write_text("(TOP (NP (DT the) (NN cat)))\n(TOP (VP (VB run)))\n")
    assert tag_lists(nlp, (s.tree.words for s in read_treebank(tmp_path / "two.mrg"))) == [("DT", "NN"), ("VB",)]
    examples = list(create_bracket_corpus(tmp_path / "two.mrg")(nlp))
    assert links.parser.seen == []
    assert nlp.evaluate(examples)["const_f"] is not None and links.parser.seen


@pytest.fixture
def output(capsys, monkeypatch):
    monkeypatch.setattr("spacy_dtparse.jit.cache_state.are_kernels_compiled", lambda: True)

    def run(*arguments):
        code = main([str(argument) for argument in arguments])
        return code, *capsys.readouterr()

    return run


def test_info_of_a_model(output, link_model, link_parser):
    code, out, _ = output("info", "--json", "--model", link_model)
    facts = json.loads(out)
    assert code == 0 and list(facts) == ["software", "dependency parser"]
    about = facts["dependency parser"]
    assert (about["kind"], about["name"], about["stages"], about["decoder"]) == (
        "dependency",
        "tiny",
        "2 of 2",
        "projective",
    )
    assert about["bytes"] == link_model.stat().st_size and about["labels"] == len(link_parser.labels)
    assert len(about["features"]) == 2 and about["tags"].endswith("of tag") and about["max_tokens"] == 150
    assert "  decoder: projective" in output("info", "--model", link_model)[1]


def test_info_of_pipelines(output, linked, model_file, link_model, tmp_path):
    linked.to_disk(tmp_path / "links")
    facts = json.loads(output("info", "--json", "--pipeline", tmp_path / "links")[1])
    assert list(facts) == ["software", "pipeline", "dependency parser"]
    assert facts["pipeline"]["components"] == ["sentencizer", "list_tagger", "bpm_parser"]
    assert json.loads(output("info", "--json", "--model", tmp_path / "links")[1])["dependency parser"]["name"] == "tiny"
    nlp = make_nlp(model_file)
    nlp.add_pipe("bpm_parser", config={"model": str(link_model), "stages": 1})
    nlp.to_disk(tmp_path / "both")
    facts = json.loads(output("info", "--json", "--pipeline", tmp_path / "both")[1])
    assert facts["parser"]["kind"] == "rule" and facts["dependency parser"]["stages"] == "1 of 2"


def test_constituent_commands_explain_what_to_do_with_a_dependency_model(output, link_model, tmp_path):
    (tmp_path / "gold.mrg").write_text("(TOP (NP (DT the) (NN cat)))\n")
    for arguments in (("parse", "--text", "a"), ("evaluate", tmp_path / "gold.mrg"), ("show", "a")):
        code, out, err = output(*arguments, "--model", link_model)
        assert code == 1 and not out
        assert "builds dependencies, and this command is about constituents" in err
        assert f"`dtparse info --model {link_model}`" in err
        assert "nlp.add_pipe('bpm_parser'" in err and "`spacy apply`" in err


def test_parse_and_evaluate_with_both_in_the_pipeline(output, model_file, tmp_path):
    nlp = make_nlp(model_file)
    nlp.add_pipe("bpm_parser", name="links", config={"model": None})
    nlp.to_disk(tmp_path / "pipeline", exclude=["links"])
    (tmp_path / "tagged.txt").write_text("the_DT cat_NN sat_VBD\n")
    (tmp_path / "plain.txt").write_text("the cat sat\n")
    (tmp_path / "gold.mrg").write_text("(TOP (S (NP (DT the) (NN cat)) (VP (VBD sat))))\n")
    wanted = "(TOP (S (NP (DT the) (NN cat)) (VP (VBD sat))))\n"
    chosen = ("--pipeline", tmp_path / "pipeline")  # its bpm_parser has no model, so it must not be run
    assert output("parse", "--tagged", tmp_path / "tagged.txt", *chosen)[:2] == (0, wanted)
    assert output("parse", "--pretokenized", tmp_path / "plain.txt", *chosen)[:2] == (0, wanted)
    assert output("evaluate", tmp_path / "gold.mrg", *chosen)[0] == 0
