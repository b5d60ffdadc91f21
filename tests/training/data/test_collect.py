"""Collecting public treebanks: the projects' layouts, rebuilt in small with trees of the sample treebank."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from spacy_dtparse.errors import ConfigError, TrainingDataError, TreeFormatError
from spacy_dtparse.trees import read_trees, write_tree, write_tree_pretty
from training.cli import main
from training.data.collecting import SPLITS, UNLISTED, Layout, collect_treebank, find_documents, layouts
from training.data.treebanks import catalogue

SAMPLE = SPLITS.parent / "sample"
TREES = list(read_trees(SAMPLE / "train.mrg"))
SECRET = list(read_trees(SAMPLE / "dev.mrg"))
"""What stands in test parts and in documents that are not wanted."""


def inner(tree) -> str:
    """The one tree below TOP, on one line."""
    return write_tree(tree).removeprefix("(TOP ").removesuffix(")")


def craft_style(trees) -> str:
    return "".join(f"( {inner(tree)} )\n" for tree in trees)


def genia_style(trees) -> str:
    return "".join(f"(S1 {inner(tree)})\n" for tree in trees)


def gum_style(trees) -> str:
    return "".join(write_tree_pretty(tree, width=40).replace("(TOP", "(ROOT", 1) + "\n\n" for tree in trees)


def masc_style(trees) -> str:
    """Brackets without a label, indented with tabs, several trees in a line at times, Windows line ends."""
    texts = []
    for tree in trees:
        pretty = write_tree_pretty(tree, width=30).removeprefix("(TOP").strip().removesuffix(")")
        texts.append("\n( " + pretty.replace("\n", "\n\t ") + ")")
    return "".join(texts).replace("\n", "\r\n") + craft_style(trees[:1]).strip()


STYLES = {"craft": craft_style, "genia": genia_style, "gum": gum_style, "masc": masc_style}
TOPS = {"craft": "", "genia": "S1 ", "gum": "ROOT ", "masc": ""}


def put(folder: Path, name: str, document: str, trees, inside: str = "") -> Path:
    path = folder / name / inside / (document + layouts()[name].suffix)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(STYLES[name](trees).encode())
    return path


@pytest.fixture
def fetched(tmp_path):
    """Every treebank with a few documents of each part, and what the real ones have besides."""
    folder = tmp_path / "assets"
    for name, layout in layouts().items():
        for number, document in enumerate(layout.parts["train"][:3]):
            put(folder, name, document, TREES[3 * number : 3 * number + 3])
        put(folder, name, layout.parts["dev"][0], TREES[20:22])
        for document in layout.parts["test"]:
            put(folder, name, document, SECRET[:3])
        (folder / name / "README.md").write_text("not brackets (")
    put(folder, "gum", "GUM_fiction_beast", SECRET[3:6])
    put(folder, "gum", "GENTLE_poetry_raven", SECRET[3:6])
    put(folder, "masc", "20000424_nyt-NEW", SECRET[3:6])
    return folder


def run(folder: Path, out: Path, *names: str) -> int:
    return main(["collect", str(folder), "--names", *names, "--out", str(out)])


def written(out: Path) -> dict[str, bytes]:
    return {str(path.relative_to(out)): path.read_bytes() for path in out.rglob("*") if path.is_file()}


def test_all_layouts(fetched, tmp_path, capsys):
    out = tmp_path / "treebanks"
    assert run(fetched, out, "craft", "genia:0.5", "gum", "masc") == 0
    assert set(written(out)) == {f"{name}/{part}.mrg" for name in STYLES for part in ("train", "dev")}
    for name in STYLES:
        documents = layouts()[name].parts["train"][:3]
        expected = TREES[: 3 * len(documents)] if name != "masc" else [*TREES[:3], TREES[0], *TREES[3:6], TREES[3]]
        if name == "masc":
            expected += [*TREES[6:9], TREES[6]]
        lines = (out / name / "train.mrg").read_text(encoding="utf8").splitlines()
        assert lines == [f"({TOPS[name]}{inner(tree)})" for tree in expected], name
        assert list(read_trees(out / name / "train.mrg")) == expected, "function tags and empty elements stay"
        dev = list(read_trees(out / name / "dev.mrg"))
        assert dev == TREES[20:22] + ([TREES[20]] if name == "masc" else [])
    printed = capsys.readouterr().out
    assert "craft: 34 files, 11 trees: train 9 (3 files), dev 2 (1 files); left out 30 files" in printed
    assert "left out, test part: 30\n" in printed
    assert "left out, out-of-domain test set: 1\n" in printed
    assert "left out, newspapers, newswire and telephone speech, not in the published files: 1\n" in printed
    assert "listed, but not there: 63: 12079497, " in printed
    assert "note: MASC has no official division" in printed
    assert f"if a project's repository has changed; to compare them: python -m training verify {out} craft" in printed


def test_genia_train_is_train_and_future_use(fetched, tmp_path):
    account = collect_treebank(fetched, "genia", tmp_path)
    assert account.files == {"train": 2, "dev": 1} and account.left_out == {"test part": ["test"]}


def test_test_parts_are_neither_written_nor_read(fetched, tmp_path):
    collect_treebank(fetched, "gum", tmp_path / "first")
    for path in (fetched / "gum").glob("*.ptb"):
        if path.stem not in (*layouts()["gum"].parts["train"], *layouts()["gum"].parts["dev"]):
            path.write_text("((( damaged")
    collect_treebank(fetched, "gum", tmp_path / "second")
    assert written(tmp_path / "first") == written(tmp_path / "second")
    texts = b"".join(written(tmp_path / "first").values()).decode()
    assert not [tree for tree in SECRET if inner(tree) in texts]


def test_again_gives_the_same_bytes(fetched, tmp_path):
    out = tmp_path / "treebanks"
    for name in STYLES:
        collect_treebank(fetched, name, out)
    first = written(out)
    for name in STYLES:
        collect_treebank(fetched, name, out)
    assert written(out) == first


def test_order_and_depth_do_not_matter(fetched, tmp_path):
    """Documents come in the order of the list, wherever below the folder they are."""
    train = layouts()["masc"].parts["train"]
    collect_treebank(fetched, "masc", tmp_path / "flat")
    other = tmp_path / "other"
    for number, document in enumerate(train[:3]):
        put(other, "masc", document, TREES[3 * number : 3 * number + 3], inside=f"written/{9 - number}")
    put(other, "masc", layouts()["masc"].parts["dev"][0], TREES[20:22], inside="spoken")
    collect_treebank(other, "masc", tmp_path / "deep")
    assert written(tmp_path / "flat") == written(tmp_path / "deep")


def test_document_in_no_list(fetched, tmp_path, capsys):
    put(fetched, "craft", "99999999", SECRET[:2])
    account = collect_treebank(fetched, "craft", tmp_path / "out")
    assert account.left_out[UNLISTED] == ["99999999"]
    assert f"  left out, {UNLISTED}: 1: 99999999" in account.lines()
    assert account.trees == {"train": 9, "dev": 2}


def test_missing_folder_and_unknown_name(fetched, tmp_path):
    with pytest.raises(TrainingDataError, match=r"there is no folder .*none/craft; download .*project assets"):
        collect_treebank(tmp_path / "none", "craft", tmp_path / "out")
    with pytest.raises(ConfigError, match="'wsj'; there are lists for craft, genia, gum, masc"):
        collect_treebank(fetched, "wsj", tmp_path / "out")
    with pytest.raises(ConfigError, match="give another one with --out"):
        collect_treebank(fetched, "masc", fetched)
    assert not (tmp_path / "out").exists()


def test_folder_without_brackets(tmp_path):
    """The data folder of MASC: stand-off annotation, no trees."""
    data = tmp_path / "assets" / "masc" / "written"
    data.mkdir(parents=True)
    for name in ("ch5-ptb.xml", "ch5-ne.xml", "ch5.txt"):
        (data / name).write_text("<graph/>")
    with pytest.raises(TrainingDataError, match=r"no \*\.mrg file .*files found: 2 \.xml, 1 \.txt\); give"):
        collect_treebank(tmp_path / "assets", "masc", tmp_path / "out")
    (data / "ch5.mrg").write_text(masc_style(TREES[:2]))
    with pytest.raises(TrainingDataError, match=r"none of the 9 dev documents .*like 110CYL069\.mrg, not like ch5"):
        collect_treebank(tmp_path / "assets", "masc", tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_document_twice(fetched, tmp_path):
    document = layouts()["craft"].parts["train"][0]
    put(fetched, "craft", document, TREES[:1], inside="old")
    with pytest.raises(TrainingDataError, match=f"two files of the document {document}: .*old.*delete one"):
        find_documents(fetched / "craft", ".tree")


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("( (S (NP (NN a))) )\n( (S (NP (NN b)) )\n( (S (NP (NN c))) )\n", ":3:1"),
        ("( (S (NP (NN a))) )\n( (S (NP )) )\n", ":2:10"),
        ("( (S (NP (NN a))) )\n( (S (NP (NN b", ":2:1"),
        ("( (S (NP (NN \udcff))) )\n", ":1:10"),
    ],
    ids=["bracket missing", "no word", "cut off", "not UTF-8"],
)
def test_damaged_file(fetched, tmp_path, capsys, text, place):
    """The error says where; nothing of the treebank is written, the others are collected."""
    out = tmp_path / "treebanks"
    path = put(fetched, "craft", layouts()["craft"].parts["dev"][0], TREES[:1])
    path.write_bytes(text.encode("utf8", "surrogateescape"))
    with pytest.raises(TreeFormatError) as caught:
        collect_treebank(fetched, "craft", out)
    assert str(caught.value).startswith(f"{path}{place}")
    assert not (out / "craft").exists()

    assert run(fetched, out, "craft", "gum") == 1
    printed = capsys.readouterr()
    assert f"error: craft: {path}{place}" in printed.err and "1 of 2 treebanks not collected: craft" in printed.err
    assert set(written(out)) == {"gum/train.mrg", "gum/dev.mrg"}
    assert f"verify {out} gum\n" in printed.out


def test_a_failure_leaves_old_files_unchanged(fetched, tmp_path):
    out = tmp_path / "treebanks"
    collect_treebank(fetched, "gum", out)
    before = written(out)
    put(fetched, "gum", layouts()["gum"].parts["train"][0], TREES[40:44])
    put(fetched, "gum", layouts()["gum"].parts["dev"][0], []).write_text("(ROOT (S")
    with pytest.raises(TreeFormatError):
        collect_treebank(fetched, "gum", out)
    assert written(out) == before


def test_interrupted(fetched, tmp_path, monkeypatch):
    def stop(*paths):
        raise KeyboardInterrupt

    monkeypatch.setattr("training.data.collecting.os.replace", stop)
    with pytest.raises(KeyboardInterrupt):
        collect_treebank(fetched, "gum", tmp_path / "out")
    assert not written(tmp_path / "out")


@pytest.mark.parametrize("content", ["", "\n \n"])
def test_empty_file(fetched, tmp_path, content):
    path = put(fetched, "genia", "future_use", [])
    path.write_text(content)
    with pytest.raises(TrainingDataError, match=r"future_use\.trees: no tree in it .*it should contain Penn brackets"):
        collect_treebank(fetched, "genia", tmp_path / "out")
    assert not (tmp_path / "out" / "genia").exists()


def test_odd_trees_stay_as_they_are(tmp_path):
    """Brackets without a label further in, a leaf below the top, several words in a leaf, a byte order mark."""
    train, dev = (layouts()["craft"].parts[part][0] for part in ("train", "dev"))
    text = "\ufeff( (FW P.S.))\n(TOP (S (NP=1 (NN x y)) ((VP (-NONE- *?*)))) )( (NP|X (NN z))\n\n)"
    put(tmp_path, "craft", train, []).write_text(text, encoding="utf8")
    put(tmp_path, "craft", dev, TREES[:1])
    assert collect_treebank(tmp_path, "craft", tmp_path / "out").trees["train"] == 3
    assert (tmp_path / "out" / "craft" / "train.mrg").read_text(encoding="utf8").splitlines() == [
        "((FW P.S.))",
        "(TOP (S (NP=1 (NN x y)) ((VP (-NONE- *?*)))))",
        "((NP|X (NN z)))",
    ]


def test_deep_tree(tmp_path):
    deep = "( " + "(X " * 5000 + "(NN x)" + ")" * 5000 + ")\n"
    for part in ("train", "dev"):
        put(tmp_path, "craft", layouts()["craft"].parts[part][0], []).write_text(deep)
    assert collect_treebank(tmp_path, "craft", tmp_path / "out").trees == {"train": 1, "dev": 1}


def test_the_lists():
    known = layouts()
    assert set(known) == {"craft", "genia", "gum", "masc"}
    counts = {name: [len(layout.parts[part]) for part in ("train", "dev", "test")] for name, layout in known.items()}
    assert counts == {"craft": [60, 7, 30], "genia": [2, 1, 1], "gum": [117, 18, 18], "masc": [35, 9, 8]}
    for name, layout in known.items():
        assert (
            layout.division
            and layout.repository.removeprefix("https://github.com/") in (catalogue()[name]["source"]["github"])
        )
        if name != "genia":
            assert all(list(documents) == sorted(documents) for documents in layout.parts.values())
    genres = {document.split("_")[1] for documents in known["gum"].parts.values() for document in documents}
    assert genres == set("academic bio court interview news speech textbook vlog voyage".split())
    masc = sorted(document for documents in known["masc"].parts.values() for document in documents)
    assert list(known["masc"].parts["dev"]) == masc[2::6] and list(known["masc"].parts["test"]) == masc[5::6]


def test_bad_lists(tmp_path):
    entry = {"repository": "r", "path": "p", "suffix": ".x", "division": "d", "note": "", "parts": {}}
    path = tmp_path / "splits.json"
    for parts, problem in [
        ({"train": ["a", "b"], "dev": ["a"]}, "a is listed twice"),
        ({"train": ["a"]}, "train and dev must have documents"),
        ({"train": ["a"], "dev": ["b"], "tset": ["c"]}, "allowed are train, dev and test"),
    ]:
        path.write_text(json.dumps({"treebanks": {"mine": {**entry, "parts": parts}}}))
        with pytest.raises(ConfigError, match=f"splits.json: mine: .*{problem}"):
            layouts(path)
    path.write_text("{")
    with pytest.raises(ConfigError, match="cannot read the lists"):
        layouts(path)
    layout = Layout("mine", "r", "p", ".x", "d", "", {"train": ["a"], "dev": ["b"]})
    assert layout.exclusion_reason("c") == UNLISTED
