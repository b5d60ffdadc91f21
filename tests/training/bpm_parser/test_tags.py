"""Parts of speech of dependency treebanks by taggers that have not seen the sentences."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from spacy_dtparse.bpm_parser.features import TextRules
from spacy_dtparse.core import load_dependency_parser, load_tagger
from spacy_dtparse.spine_tagger.tagger import SequenceTagger
from tests.training.bpm_parser.samples import CONLLU, SAMPLE, sentences
from training.bpm_parser.fitting import attachment_scores
from training.bpm_parser.running import read_treebank_file
from training.cli import main
from training.data.dependencies import DependencySentence, part_labels, retag_sentences, with_labels
from training.spine_tagger.corpus import LabelledSentence
from training.spine_tagger.fitting import fit_tagger, jackknife_tags
from training.spine_tagger.options import SequenceOptions

QUICK = SequenceOptions(epochs=2)


def trees(limit: int) -> list[DependencySentence]:
    return read_treebank_file(f"{SAMPLE / 'train.mrg'},limit={limit}", "en")


@pytest.mark.parametrize(
    ("rules", "wanted"),
    [
        (TextRules(), ("|NNS-P-", "|Vrc")),
        (TextRules("pos"), ("NOUN|", "VERB|")),
        (TextRules("pos+tag"), ("NOUN|NNS-P-", "VERB|Vrc")),
        (TextRules("pos+tag", places=(0, 4)), ("NOUN|N---P-", "VERB|V--")),
    ],
)
def test_a_label_is_what_the_parser_reads(rules: TextRules, wanted: tuple[str, ...]) -> None:
    start = sentences()[0]
    columns = start.columns._replace(words=("Dogs", "bark"), tags=("NNS-P-", "Vrc"), pos=("NOUN", "VERB"), lemmas=())
    sentence = DependencySentence(columns, (2, 0), ("nsubj", "root"), (False, False))
    assert part_labels(sentence, rules) == wanted
    again = with_labels(sentence, wanted).columns
    read = [rules.tag(*both) for both in zip(columns.tags, columns.pos, strict=True)]
    assert [rules.tag(*both) for both in zip(again.tags, again.pos, strict=True)] == read
    assert again.words == columns.words
    odd = with_labels(sentence, ("X||", "|-|-")).columns
    assert (odd.pos, odd.tags) == (("X", ""), ("|", "-|-")), "a fine tag may have the mark between"


def test_tags_are_of_taggers_that_have_not_seen_the_sentence(tmp_path: Path) -> None:
    train, dev, logged = trees(45), trees(60)[45:], []
    found, tagger = jackknife_tags(
        train, TextRules(), 4, tmp_path / "a", 2, lambda **facts: logged.append(facts), {"lang": "en"}, QUICK
    )
    gold = [LabelledSentence(tuple(s.columns.words), (), part_labels(s, TextRules())) for s in train]
    own = fit_tagger((*gold[:10], *gold[20:]), (), QUICK, tmp_path / "own", {})
    assert found[10:20] == retag_sentences(SequenceTagger(own), train[10:20])
    right = [
        a == b for s, t in zip(train, found, strict=True) for a, b in zip(s.columns.tags, t.columns.tags, strict=True)
    ]
    (metrics,) = [facts for facts in logged if "tags_accuracy" in facts]
    assert metrics["tags_words"] == len(right) and metrics["tags_accuracy"] == pytest.approx(sum(right) / len(right))
    assert metrics["tags_accuracy"] == pytest.approx(0.618, abs=0.001)
    assert tagger.model.meta["lang"] == "en" and tagger.model.meta["jackknifed"] == metrics["tags_accuracy"]
    assert [replace(s, columns=t.columns) for s, t in zip(found, train, strict=True)] == train, "only columns change"
    all_of_them = SequenceTagger(fit_tagger(gold, (), QUICK, tmp_path / "all", {}))
    assert retag_sentences(tagger, dev) == retag_sentences(all_of_them, dev)


@pytest.mark.slow
def test_the_command_learns_from_predicted_tags(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    train, dev = f"{SAMPLE / 'train.mrg'},limit=120", f"{SAMPLE / 'dev.mrg'},limit=30"
    out = tmp_path / "a.model"
    command = ["train-bpm", "--train", train, "--dev", dev, "--jackknife", "3", "--workers", "1", "--out", str(out)]
    command += ["--set", "members=1", "epochs=2", "stages=1", "label_members=1"]
    assert main([*command, "--workdir", str(tmp_path / "work")]) == 0
    parser, tagger = load_dependency_parser(out), load_tagger(tmp_path / "a.tagger")
    assert parser.meta["tags"] == "jackknifed, 3 folds" and tagger.model.meta["lang"] == "en"
    held = read_treebank_file(dev, "en")
    assert (
        parser.meta["dev"]
        == attachment_scores(parser, retag_sentences(tagger, held)).to_dict()
        != attachment_scores(parser, held).to_dict()
    )
    facts = [json.loads(line) for line in (tmp_path / "work" / "log.jsonl").read_text().splitlines()]
    assert sorted(fact["fold"] for fact in facts if "fold" in fact and "words" in fact) == [0, 1, 2]
    first = out.read_bytes()
    assert main([*command, "--workdir", str(tmp_path / "work")]) == 0 and out.read_bytes() == first
    capsys.readouterr()
    measured = tmp_path / "scores.json"
    assert main(["evaluate-bpm", str(out), dev, "--tagger", str(tmp_path / "a.tagger"), "--json", str(measured)]) == 0
    assert json.loads(measured.read_text()) == parser.meta["dev"]


def test_the_command_reports_unusable_tags(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    out = ["--train", str(CONLLU), "--out", str(tmp_path / "a.model")]
    for given, message in (
        (["--jackknife", "1"], "--jackknife is 1; give 2 folds or more"),
        (["--jackknife", "-3"], "--jackknife is -3; give 2 folds or more"),
        (["--jackknife", "3"], "16 sentences are too few for 3 folds of blocks of ten; give more, or fewer folds"),
        (["--jackknife", "2", "--tagger", "embedded"], "leave one of them out"),
        (["--tagger", str(CONLLU)], "dependencies.conllu"),
    ):
        assert main(["train-bpm", *given, *out]) == 1
        assert message in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
