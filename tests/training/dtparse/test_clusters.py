"""Word clusters: learned from text, written, read, tested by trees."""

from __future__ import annotations

import json
import math
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from spacy_dtparse.core import load_parser
from spacy_dtparse.dtparse.features.lexicon import Lexicon
from spacy_dtparse.dtparse.model.reasons import rule_book
from spacy_dtparse.dtparse.parser import DtreeParser
from spacy_dtparse.errors import TrainingDataError
from tests.jit.harness import SLOW
from training.__main__ import main
from training.clusters import lookups as lookups_module
from training.clusters.exchange import count_bigrams, exchange
from training.clusters.learning import assign_word_ids
from training.data.clusters import read_clusters
from training.data.treebanks import CLUSTERED, TreebankFile, listed_texts, text_credits
from training.dtparse.fit import BoostingRun
from training.dtparse.recipe import FitRecipe
from training.dtparse.training_set import Resources

SAMPLE = Path(__file__).resolve().parents[3] / "assets" / "sample"
NOUNS, VERBS = ["cat", "dog", "cow", "hen"], ["sees", "hears", "bites"]


def sentences(n: int) -> list[list[str]]:
    draw = np.random.default_rng(0)
    return [
        ["the", str(draw.choice(NOUNS)), str(draw.choice(VERBS)), "the", str(draw.choice(NOUNS)), "."] for _ in range(n)
    ]


def likelihood(text: np.ndarray, clusters: np.ndarray) -> float:
    """Σ N(v, c) ln N(v, c) − Σ N(c) ln N(c), counted plainly."""
    joint: dict[tuple[int, int], int] = {}
    total: dict[int, int] = {}
    for v, w in zip(text[:-1].tolist(), text[1:].tolist(), strict=True):
        if v >= 0 and w >= 0:
            c = int(clusters[w])
            joint[v, c], total[c] = joint.get((v, c), 0) + 1, total.get(c, 0) + 1
    return sum(n * math.log(n) for n in joint.values()) - sum(n * math.log(n) for n in total.values())


def test_words_with_the_same_neighbours_share_a_cluster() -> None:
    words, text = assign_word_ids(sentences(200), 2)
    assert len(words) == 9 and words[0] == "the" and (text == -1).sum() == 200
    clusters = dict(zip(words, exchange(text, len(words), 3, 6).tolist(), strict=True))
    assert len({clusters[word] for word in NOUNS}) == len({clusters[word] for word in VERBS}) == 1
    assert clusters["cat"] != clusters["bites"]


def test_a_pass_moves_each_word_to_where_the_text_is_likeliest() -> None:
    draw = np.random.default_rng(3)
    text = np.where(draw.random(400) < 0.05, -1, draw.integers(0, 12, 400)).astype(np.int32)
    wanted = (np.arange(12) % 3).astype(np.int32)
    for word in range(12):
        tried = []
        for cluster in range(3):
            wanted[word] = cluster
            tried.append(likelihood(text, wanted))
        wanted[word] = int(np.argmax(tried))
    found = exchange(text, 12, 3, 1)
    assert likelihood(text, found) == pytest.approx(likelihood(text, wanted)) and (found == wanted).all()


def test_bigrams_are_counted() -> None:
    first, second = np.array([0, 0, 2, 0]), np.array([1, 1, 1, 2])
    start, word, count = count_bigrams(first, second, 3)
    assert start.tolist() == [0, 0, 2, 3] and word.tolist() == [0, 2, 0] and count.tolist() == [2, 1, 1]


def test_rare_words_have_no_id() -> None:
    words, text = assign_word_ids([["b", "a", "a"], ["b", "c"]], 2)
    assert words == ["b", "a"] and text.tolist() == [0, 1, 1, -1, 0, -1, -1]


def test_a_lexicon_knows_the_clusters_of_words_that_no_tree_has() -> None:
    lexicon = Lexicon.build(["S", "TOP"], ["NN"], ["*rare*", "cat"], "NN", clusters=["cat dog", "0st"])
    assert lexicon.encode(["Dog", "cat", "1st", "eel"], ["NN"] * 4)[:, -1].tolist() == [0, 0, 1, -1]
    assert Lexicon.from_dict(lexicon.to_dict()) == lexicon and lexicon.cluster_name(0) == "{cat, dog, …}"
    plain = Lexicon.build(["S", "TOP"], ["NN"], ["*rare*", "cat"], "NN")
    assert plain.fingerprint() != lexicon.fingerprint() and "clusters" not in plain.to_dict()


@pytest.mark.parametrize(
    ("text", "message"), [(b"\n", "has no words"), (b"a b\nc a\n", "'a' twice"), (b"\xff", "cannot read")]
)
def test_bad_files_are_refused(text: bytes, message: str, tmp_path: Path) -> None:
    (tmp_path / "clusters").write_bytes(text)
    with pytest.raises(TrainingDataError, match=rf"{message}.*python -m training clusters"):
        read_clusters(tmp_path / "clusters")


def test_too_large_clusters_are_refused(tmp_path: Path) -> None:
    (tmp_path / "clusters").write_text("a b\n" + " ".join(f"word{number}" for number in range(120_000)))
    with pytest.raises(TrainingDataError, match=r"a cluster has 1,\d+,\d+ characters; a model can have 1,000,000"):
        read_clusters(tmp_path / "clusters")
    (tmp_path / "clusters").write_text("".join(f"word{number}\n" for number in range(16_385)))
    with pytest.raises(TrainingDataError, match=r"has 16,385 clusters; a model can have 16,384: give fewer"):
        read_clusters(tmp_path / "clusters")


@pytest.fixture
def lookups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables as in spacy-lookups-data, for one language."""
    of_houses = dict.fromkeys(["Haus", "Hof", "a b", "1999", "selten"], 9)
    clusters = {"und": 26, "die": 31, "haus": 26, "HAUS": 31, "x": 0, **of_houses}
    order = ["und", "die", "x", "Haus", "1999", "haus", "a b", "Hof", "HAUS", "selten"]
    tables = {
        "lexeme_cluster": clusters,
        "lexeme_prob": {word: -float(rank) for rank, word in enumerate(order) if word != "selten"},
    }
    for name, content in tables.items():
        (tmp_path / f"{name}.json").write_text(json.dumps(content), "utf8")
    found = {"xx": {name: tmp_path / f"{name}.json" for name in tables}, "yy": {"lemma_lookup": tmp_path / "none"}}
    monkeypatch.setattr(lookups_module, "registry", SimpleNamespace(lookups=Tables(found)))


class Tables(dict):
    def get_all(self) -> dict:
        return dict(self)


@pytest.mark.usefixtures("lookups")
def test_clusters_of_lookup_tables(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    out = tmp_path / "clusters.txt"
    command = ["clusters", "--lookups", "--out", str(out), "--lang"]
    assert main([*command, "xx"]) == 0
    assert read_clusters(out) == ["und", "die", "haus 0000 hof selten"], "the most frequent form decides"
    assert out.with_suffix(".texts").read_text() == "spacy-lookups-data\n"
    assert text_credits(listed_texts(out), CLUSTERED) == [
        "Raw text, for word clusters: Brown clusters in the package spacy-lookups-data (MIT)"
    ]
    assert main([*command, "xx", "--max-words", "3"]) == 0 and read_clusters(out) == ["und", "die", "haus"]
    capsys.readouterr()
    for lang in ("yy", "zz"):
        assert main([*command, lang]) == 1
        assert f"no word clusters for --lang {lang}: spacy-lookups-data has those of xx; or" in capsys.readouterr().err
    assert main([*command, "xx", "--text", "x.txt"]) == 1 and "give either --text" in capsys.readouterr().err
    assert main(["clusters", "--out", str(out)]) == 1 and "give either --text" in capsys.readouterr().err


def test_without_lookup_tables_the_package_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    monkeypatch.setattr(lookups_module, "registry", SimpleNamespace(lookups=Tables()))
    assert main(["clusters", "--lookups", "--lang", "de", "--out", str(tmp_path / "out")]) == 1
    assert "for --lang de: install them with pip install spacy-lookups-data; or" in capsys.readouterr().err


def test_templates_and_clusters_must_fit(tmp_path: Path) -> None:
    trees = TreebankFile.parse(f"{SAMPLE / 'train.mrg'},limit=5").read()
    with pytest.raises(TrainingDataError, match=r"test clusters of words; give some"):
        BoostingRun(FitRecipe.from_dict({"templates": "standard_clusters"}), trees, [], tmp_path / "a")
    with pytest.raises(TrainingDataError, match=r"test no clusters of words; set the recipe's templates"):
        BoostingRun(FitRecipe(), trees, [], tmp_path / "b", resources=Resources(clusters=["the a"]))


@pytest.mark.slow
@pytest.mark.skipif(SLOW, reason="minutes without the JIT")
def test_the_commands_learn_clusters_and_trees_that_test_them(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    text, out, model = SAMPLE / "plain.txt", tmp_path / "clusters.txt", tmp_path / "model"
    assert main(["clusters", "--text", str(text), "--n", "12", "--min-count", "2", "--out", str(out)]) == 0
    assert len(read_clusters(out)) <= 12 and out.with_suffix(".texts").read_text() == "plain\n"
    fit = ["train-boosted", "--recipe", "training/recipes/sample.json", "--train", f"{SAMPLE / 'train.mrg'},limit=120",
           "--workdir", str(tmp_path / "fit"), "--out", str(model), "--set", "filter_bits=0", "n_workers=1",
           "path.lambda_start=4", "path.lambda_floor=1", "min_atom_count=2"]  # fmt: skip
    assert main([*fit, "--clusters", str(out)]) == 1
    assert "test no clusters" in capsys.readouterr().err
    assert main([*fit, "--clusters", str(out), "--set", "templates=standard_clusters"]) == 0
    parser = load_parser(model)
    assert isinstance(parser, DtreeParser) and parser.model.lexicon.clusters == tuple(read_clusters(out))
    tested = {name for rule in rule_book(parser.model).rules_of_label("NP") for name in (*rule.present, *rule.absent)}
    assert any("cluster = {" in name for name in tested)
    with pytest.raises(SystemExit):
        main(["clusters", "--text", str(text), "--n", "0", "--out", str(out)])
    assert main(["clusters", "--text", str(text), "--n", "5000", "--out", str(out)]) == 1
    assert "fewer clusters" in capsys.readouterr().err
