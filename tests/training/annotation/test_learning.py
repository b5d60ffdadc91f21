"""Learning from annotated trees, and the loop of annotation and learning with a simulated annotator."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from spacy_dtparse.core import load_parser
from spacy_dtparse.core.calibration import Calibration
from spacy_dtparse.errors import TrainingDataError
from spacy_dtparse.span_parser.parser import SpanParser
from spacy_dtparse.trees import parse_tree
from training.annotation.learning import Learned, Start, annotated_sentences, learn
from training.annotation.loop import Task, loop_table, simulate_loop
from training.annotation.recalibrating import log_loss, recalibrate
from training.annotation.statements import FlatParser, ParserCorrector, choose_way, count_statements
from training.cli import main
from training.data.corpus import read_treebank

SAMPLE = Path(__file__).resolve().parents[3] / "assets" / "sample"
TREE = parse_tree("(TOP (S (NP (PRP I)) (VP (VBD saw) (NP (DT the) (NN man)))))")


def test_from_nothing_each_constituent_is_a_statement():
    corrector = ParserCorrector(FlatParser(), ("S", "NP", "VP"))
    (sentence,) = annotated_sentences([TREE], [TREE.tags])
    assert corrector.parse(TREE.words, TREE.tags)[0].labels == ("TOP",)
    assert count_statements(corrector, sentence) == 4


class WrongOnceConstrained(FlatParser):
    """The best tree without constraints is right but for a bracket; under constraints it is flat."""

    def parse(self, words, tags):
        return replace(
            super().parse(words, tags), tree=TREE.with_labels(["TOP", "S", "NP", "X", "NP"]), costs=(0.0,) * 5
        )

    def parse_k_best_constrained(self, words, tags, constraints, k):
        return [super().parse(words, tags)]


def test_a_poor_parser_does_not_parse_again():
    (sentence,) = annotated_sentences([TREE], [TREE.tags])
    corrector = ParserCorrector(WrongOnceConstrained(), ("S", "NP", "VP", "X"))
    assert count_statements(corrector, sentence) > 2
    assert choose_way(corrector, [sentence]) == (1,) and not corrector.reparses  # a VP in place of the X
    good = ParserCorrector(FlatParser(), ("S", "NP", "VP"))
    assert choose_way(good, [sentence]) == (4,) and good.reparses


def test_both_parts_need_trees(tmp_path):
    (sentence,) = annotated_sentences([TREE], [TREE.tags])
    with pytest.raises(TrainingDataError, match="the dev part has no accepted tree yet"):
        learn([sentence], [], tmp_path, FlatParser())


def test_a_model_is_better_if_the_difference_is_above_its_standard_error():
    def better(before, after):
        return Learned(None, 9, 90.0, 80.0, after, before).better

    assert better((3, 2, 4, 3), (1, 1, 2, 1))
    assert not better((3, 2, 4, 3), (3, 2, 4, 3)) and not better((1, 1, 2, 1), (3, 2, 4, 3))
    assert not better((3, 0, 0, 0), (0, 0, 0, 1)) and not better((3,), (0,))


@pytest.mark.slow
def test_statements_differ_once_a_model_is_taken_over():
    train, dev = (read_treebank(SAMPLE / f"{part}.mrg") for part in ("train", "dev"))
    short = [sentence for sentence in train if len(sentence.tags) <= 20]
    task = Task(short, dev[:15], None, None, (15, 40))
    first, second = records = list(simulate_loop(task, range(len(short))))
    assert first["without"] == first["with"] > 15 and 0 < first["f1"] <= second["f1"] <= 100
    assert (second["with"] == second["without"]) != first["taken over"] and first["first"] is None
    lines = loop_table([{"treebank": "sample", "order": "random", **one} for one in records]).splitlines()
    assert len(lines) == 3 and lines[1].split()[:4] == ["sample", "random", "15", str(first["without"])]


@pytest.mark.slow
@pytest.mark.embedded
def test_from_some_number_of_trees_the_network_is_trained_too(tmp_path, monkeypatch):
    import spacy_dtparse
    from spacy_dtparse.annotation.corrector import Corrector
    from spacy_dtparse.annotation.suspicions import span_model_of
    from training.annotation import learning

    train, dev = (read_treebank(SAMPLE / f"{part}.mrg") for part in ("train", "dev"))
    train, dev = train[:20], dev[:8]
    corrector = Corrector(spacy_dtparse.load())
    start = Start(span_model_of(corrector.parser), network_from=20)
    monkeypatch.setattr(learning, "FINE_TUNING", replace(learning.FINE_TUNING, epochs=1))
    counts = {"SpanParser": 0, "DtreeParser": 2}

    def choose_way(corrector, sentences):
        return (counts.get(type(corrector.parser).__name__, 1),) * len(sentences)

    monkeypatch.setattr(learning, "choose_way", choose_way)  # the network needs fewer statements
    found = learn(train, dev, tmp_path / "first", corrector.parser, start)
    assert found.kind == "network" and isinstance(found.parser, SpanParser) and found.f1 > 70
    assert found.parser.model.fingerprint() != start.span_model.model.fingerprint()
    assert (tmp_path / "first" / "network0.npz").is_file() and found.to_dict()["kind"] == "network"
    corrector.use_parser(found.parser, found.reparses)
    words = list(dev[0].tree.words)
    assert corrector.has_probabilities and corrector.expected_errors(words, dev[0].tags, dev[0].tree) >= 0
    fewer = learn(train[:19], dev, tmp_path / "second", corrector.parser, start)
    assert fewer.kind == "trees" and not (tmp_path / "second" / "network0.npz").exists()


@pytest.mark.embedded
def test_probabilities_are_calibrated_on_the_dev_part():
    import spacy_dtparse
    from spacy_dtparse.cli.pipelines import get_component
    from training.data.calibrating import collect_probabilities

    parser = get_component(spacy_dtparse.load()).configured_parser.inner_parser
    dev = read_treebank(SAMPLE / "dev.mrg")
    wrong = Calibration((0.1, 0.1, -2.0), (-1.0, 0.0))  # says that most constituents are wrong
    found, calibrated = recalibrate(parser, dev, wrong)
    data = [collect_probabilities(parser, dev, [one.tags for one in dev])]
    assert calibrated and log_loss([found.calibration], data) < log_loss([wrong], data)
    kept, calibrated = recalibrate(parser, dev[:3], wrong)  # too few trees
    assert not calibrated and kept.calibration == wrong
    assert recalibrate(parser, dev[:3], None) == (parser, False)
    assert recalibrate(parser, dev, found.calibration)[0].calibration == found.calibration
    flat = FlatParser()
    assert recalibrate(flat, dev, wrong) == (flat, False)


@pytest.mark.slow
@pytest.mark.embedded
def test_the_command_writes_a_better_model_and_a_report(tmp_path):
    out, report = tmp_path / "learned.model", tmp_path / "report.json"
    arguments = [f"{SAMPLE / 'train.mrg'},limit=60", "--dev", f"{SAMPLE / 'dev.mrg'},limit=20", "--out", str(out)]
    assert main(["learn-annotated", *arguments, "--workdir", str(tmp_path / "work"), "--report", str(report)]) == 0
    found = json.loads(report.read_text())
    assert (found["trees"], found["dev"]) == (60, 20) and 80 < found["f1"] <= 100
    assert out.is_file() == found["better"]
    assert not found["better"] or found["statements"] < found["statements_before"]
    if found["better"]:
        assert load_parser(out).name == "dtree"


def test_the_command_asks_for_a_dev_part(tmp_path, capsys):
    (tmp_path / "own.mrg").write_text("(TOP (NP (NN test)))\n")
    arguments = ["--out", str(tmp_path / "out"), "--workdir", str(tmp_path / "work")]
    assert main(["learn-annotated", str(tmp_path / "own.mrg"), *arguments]) == 1
    assert f"there is no dev part {tmp_path / 'own.dev.mrg'}; give one with --dev" in capsys.readouterr().err
