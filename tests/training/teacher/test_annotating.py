"""Raw text as sentences for a teacher: split, chosen, in shards that are kept. The teacher itself is in
test_teacher.py; none of this needs torch."""

from __future__ import annotations

import json
import logging
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from spacy_dtparse.errors import ConfigError, ModelFormatError, TrainingDataError
from spacy_dtparse.models import open_parser
from tests.teacher_shards import made_shard
from training.data.shards import read_shard, shard_files
from training.data.text import TextFile
from training.teacher import annotating
from training.teacher.annotating import Annotation, annotate, looks_like_language, split_sentences

HARBOUR = "the ferry left the harbour"
LINES = [HARBOUR, "rain fell on the town", "we walked home", "THE FERRY , left the harbour", "the dog saw a cat"]


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str | None]]:
    """Annotating without a pipeline and a teacher, in this process: a paragraph is a sentence, distributions are made
    up. Returns the names of the written shards with their sources."""
    found: list[tuple[str, str | None]] = []

    def fake_split(paragraphs, min_words, max_words):
        sentences = [tuple(paragraph.split()) for paragraph in paragraphs]
        return [words for words in sentences if min_words <= len(words) <= max_words]

    def fake_shard(folders, source, path, sentences) -> int:
        found.append((path.name, source))
        made_shard(path, sentences, [("NN",) * len(words) for words in sentences])
        return sum(map(len, sentences))

    monkeypatch.setattr(annotating, "worker_pool", ThreadPoolExecutor)
    monkeypatch.setattr(annotating, "split_sentences", fake_split)
    monkeypatch.setattr(annotating, "annotate_shard", fake_shard)
    monkeypatch.setattr(annotating, "SHARD", 2)
    monkeypatch.setattr(annotating, "PARAGRAPHS", 3)
    return found


def annotation(folder: Path, texts: dict[str, list[str]], **changes) -> Annotation:
    """Annotation of texts with these paragraphs by a teacher of a few bytes."""
    (folder / "teacher").mkdir(exist_ok=True)
    (folder / "teacher" / "network0.safetensors").write_bytes(b"weights")
    (folder / "teacher" / "teacher.json").write_text('{"lists": {"sources": ["*", "x", "y"]}}')
    for name, lines in texts.items():
        (folder / f"{name}.txt").write_text("\n".join(lines), encoding="utf8")
    files = tuple(TextFile(folder / f"{name}.txt") for name in texts)
    return Annotation((folder / "teacher",), files, folder / "out", workers=1, **changes)


def sentences_of(folder: Path, name: str) -> list[str]:
    return [" ".join(s.words) for path in shard_files(folder)[name] for s in read_shard(path).sentences]


def test_language_has_letters() -> None:
    assert looks_like_language(["Rain", "fell", "."]) and looks_like_language(["x2", "+", "y2", "=", "4"])
    assert looks_like_language(["\u00c9t\u00e9"]) and not looks_like_language(["12", "34", "x"])
    assert not looks_like_language([]) and not looks_like_language(["..."])


def test_each_sentence_is_annotated_once(written, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "dev.mrg").write_text("(TOP (S (NP (NN Rain)) (VP (VBD fell) (PP (IN on) (NP (DT the) (NN town))))))")
    texts = {"tiny": LINES, "more": ["We walked home .", "well", "tom saw it", "a b c d e f g h i"]}
    chosen = annotation(
        tmp_path, texts, source="x", source_of={"more": "y"}, max_words=8, exclude=(tmp_path / "dev.mrg",)
    )
    caplog.set_level(logging.INFO)
    annotate(chosen)
    lines = caplog.messages
    assert sentences_of(chosen.out, "tiny") == [LINES[0], LINES[2], LINES[4]], "nothing of dev, nothing twice"
    assert sentences_of(chosen.out, "more") == ["tom saw it"], "the first is in the other text"
    assert written == [("tiny.00000.npz", "x"), ("tiny.00001.npz", "x"), ("more.00000.npz", "y")]
    counts = json.loads((chosen.out / "counts.json").read_text())
    assert counts == {
        "tiny": {"sentences": 3, "words": 13, "source": "x"},
        "more": {"sentences": 1, "words": 3, "source": "y"},
    }
    assert lines[0] == "tiny: 3 sentences, 13 words" and "shard 2 of 2" in lines[1]


def test_sentences_of_other_shards_are_left_out(written, tmp_path: Path) -> None:
    annotate(annotation(tmp_path, {"few": LINES[:2]}))
    first = tmp_path / "first"
    (tmp_path / "out").rename(first)
    annotate(annotation(tmp_path, {"all": LINES}, exclude=(first,)))
    assert sentences_of(tmp_path / "out", "all") == LINES[2:3] + LINES[4:], "the fourth is the first in capitals"
    (tmp_path / "empty").mkdir()
    other = annotation(tmp_path, {"all": LINES}, exclude=(tmp_path / "empty",))
    with pytest.raises(TrainingDataError, match="empty has no annotated text; give files of trees, or folders"):
        annotate(replace(other, out=tmp_path / "more"))


def test_finished_shards_are_not_written_again(written, tmp_path: Path) -> None:
    chosen = annotation(tmp_path, {"tiny": LINES, "more": [LINES[4], "we sang"]})
    annotate(chosen)
    before = {path.name: path.read_bytes() for path in chosen.out.iterdir()}
    written.clear()
    annotate(chosen)
    assert not written
    for name in ("tiny.00001.npz", "more.sentences.json", "counts.json"):
        (chosen.out / name).unlink()
    annotate(chosen)
    assert written == [("tiny.00001.npz", None)]
    assert {path.name: path.read_bytes() for path in chosen.out.iterdir()} == before


def test_a_folder_of_another_run_is_refused(written, tmp_path: Path) -> None:
    chosen = annotation(tmp_path, {"tiny": LINES})
    annotate(chosen)
    for changes, message in (
        ({"max_words": 9}, r"max_words \(was 60, now 9\)"),
        ({"source": "x"}, r"source \(was None, now 'x'\)"),
        ({"source_of": {"tiny": "x"}}, r"source_of\.tiny"),
        ({"exclude": (tmp_path / "tiny.txt",)}, "without"),
        ({"max_text_words": 5}, r"most_words \(was None, now 5\)"),
    ):
        with pytest.raises(TrainingDataError, match=f"out holds a run with other {message}; give the same ones"):
            annotate(replace(chosen, **changes))
    annotate(replace(chosen, workers=2))
    (tmp_path / "teacher" / "network0.safetensors").write_bytes(b"others")
    with pytest.raises(TrainingDataError, match="a run with other teachers;"):
        annotate(chosen)
    with pytest.raises(TrainingDataError, match="a run with other texts;"):
        annotate(annotation(tmp_path, {"tiny": LINES[1:]}))


def test_a_part_of_a_text_is_evenly_spread(written, tmp_path: Path) -> None:
    lines = [f"line number {number} is here" for number in range(200)]
    chosen = annotation(tmp_path, {"long": lines}, max_text_words=250)
    annotate(chosen)
    numbers = [int(line.split()[2]) for line in sentences_of(chosen.out, "long")]
    assert len(numbers) == 50, "a quarter"
    stretches = [numbers[at : at + 10] for at in range(0, 50, 10)]
    assert all(part == list(range(part[0], part[0] + 10)) for part in stretches), "neighbours stay together"
    assert [part[0] for part in stretches] == [30, 70, 110, 150, 190]


def test_options_out_of_range(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"--source-of names other, but the texts are tiny"):
        annotation(tmp_path, {"tiny": LINES}, source_of={"tiny": "x", "other": "y"})
    for least, most in ((0, 5), (6, 5)):
        with pytest.raises(ConfigError, match=f"sentences of {least} to {most} words"):
            annotation(tmp_path, {"tiny": LINES}, min_words=least, max_words=most)


@pytest.mark.embedded
def test_text_is_split_as_the_embedded_pipeline_does() -> None:
    paragraphs = ["The old ferry left. Nobody on the quay had seen the captain!", "12 34 56 7.", "Rain.", "I can't."]
    assert split_sentences(paragraphs, 2, 60) == [
        ("The", "old", "ferry", "left", "."),
        ("Nobody", "on", "the", "quay", "had", "seen", "the", "captain", "!"),
        ("Rain", "."),
        ("I", "ca", "n't", "."),
    ]
    assert [len(words) for words in split_sentences(paragraphs, 3, 8)] == [5, 4]


@pytest.mark.slow
@pytest.mark.embedded
def test_a_span_parser_annotates(tmp_path: Path) -> None:
    (tmp_path / "tiny.txt").write_text("The old ferry left. Nobody saw it.\nRain fell on the town.", encoding="utf8")
    chosen = Annotation((Path("en_span"),), (TextFile(tmp_path / "tiny.txt"),), tmp_path / "out", workers=1)
    annotate(chosen)
    assert sentences_of(chosen.out, "tiny") == ["The old ferry left .", "Nobody saw it .", "Rain fell on the town ."]
    parser = open_parser("en_span")
    shard = read_shard(chosen.out / "tiny.00000.npz")
    for sentence in shard.sentences:
        probable = parser.span_posteriors(sentence.words, sentence.tags)
        annotated: dict[tuple[int, int, str], float] = {}
        for start, end, chain, prob in zip(*(part.tolist() for part in sentence.distribution), strict=True):
            for label in dict.fromkeys(shard.chains[chain]):
                annotated[start, end, label] = annotated.get((start, end, label), 0.0) + prob
        probable_spans = {span: p for span, p in probable.items() if p > 0.5 and span[2] != "TOP"}
        assert probable_spans and all(
            annotated[span] == pytest.approx(p, abs=0.1) for span, p in probable_spans.items()
        )
    assert shard.sentences[2].tags == ("NN", "VBD", "IN", "DT", "NN", ".")
    with pytest.raises(ConfigError, match="en_span is a span parser, without sources"):
        annotate(replace(chosen, source="gum"))
    with pytest.raises(ConfigError, match="a span parser cannot be combined with other teachers"):
        annotate(replace(chosen, teachers=(Path("en_span"), tmp_path)))
    with pytest.raises(ModelFormatError, match=r"en_trees.*a teacher must be a folder of `teacher fit` or a"):
        annotate(replace(chosen, teachers=(Path("en_trees"),), out=tmp_path / "other"))


def test_unknown_sources_are_refused_before_anything_is_written(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"has no source z; its sources are \*, x, y"):
        annotate(annotation(tmp_path, {"tiny": LINES}, source="z"))
    with pytest.raises(ModelFormatError, match="contains no readable teacher"):
        annotate(Annotation((tmp_path / "none",), (), tmp_path / "out"))
    assert not (tmp_path / "out").exists()
