"""The sample treebank and the list of treebanks in assets/ keep their promises."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path

import pytest

from spacy_dtparse.trees import EMPTY_TAG, base_label, parse_tree, read_trees, write_tree
from spacy_dtparse.trees.transforms import strip_empty

ASSETS = Path(__file__).parents[1] / "assets"
SAMPLE = ASSETS / "sample"
PARTS = ("train", "dev")

PENN_TAGS = frozenset(
    "CC CD DT EX FW IN JJ JJR JJS LS MD NN NNS NNP NNPS PDT POS PRP PRP$ RB RBR RBS RP SYM TO UH VB VBD VBG "
    "VBN VBP VBZ WDT WP WP$ WRB $ # `` '' , . : -LRB- -RRB- HYPH AFX NFP ADD".split()
)
LABELS = frozenset(
    "TOP S SBAR SBARQ SINV SQ ADJP ADVP CONJP FRAG INTJ LST NAC NML NP NX PP PRN PRT QP RRC UCP VP WHADJP "
    "WHADVP WHNP WHPP X".split()
)
FUNCTION_TAGS = frozenset("ADV BNF CLF CLR DIR DTV EXT LGS LOC MNR NOM PRD PRP PUT SBJ TMP TPC TTL VOC".split())
EMPTY_ELEMENT = re.compile(r"0|\*|\*U\*|\*\?\*|\*-\d+|\*(T|EXP|ICH)\*-\d+")


def lines(part: str) -> list[str]:
    return (SAMPLE / f"{part}.mrg").read_text(encoding="utf-8").splitlines()


@pytest.fixture(scope="module")
def trees():
    return {part: list(read_trees(SAMPLE / f"{part}.mrg", top=None)) for part in PARTS}


def test_counts(trees):
    assert len(trees["train"]) >= 250
    assert len(trees["dev"]) >= 50
    for part in PARTS:
        assert len(trees[part]) == len(lines(part)), f"{part}.mrg: not one tree per line"
    readme = (ASSETS / "README.md").read_text(encoding="utf-8")
    assert f"{len(trees['train'])} + {len(trees['dev'])} English trees" in readme


@pytest.mark.parametrize("part", PARTS)
def test_lines_are_written_as_the_writer_writes_them(part):
    for number, line in enumerate(lines(part), 1):
        assert write_tree(parse_tree(line, top=None)) == line, f"{part}.mrg:{number}"


@pytest.mark.parametrize("part", PARTS)
def test_tags_labels_and_function_tags_are_known(trees, part):
    for number, tree in enumerate(trees[part], 1):
        where = f"{part}.mrg:{number}"
        assert set(tree.tags) <= PENN_TAGS | {EMPTY_TAG}, where
        assert {base_label(label) for label in tree.labels} <= LABELS, where
        for label in tree.labels:
            assert {x for x in label.split("-")[1:] if not x.isdigit()} <= FUNCTION_TAGS, f"{where}: {label}"
        assert tree.labels.count("TOP") == 1 and tree.labels[0] == "TOP", where
        assert tree.starts[1] == 0 and tree.ends[1] == len(tree.words), f"{where}: two nodes below TOP"


@pytest.mark.parametrize("part", PARTS)
def test_empty_elements_have_their_antecedents(trees, part):
    for number, tree in enumerate(trees[part], 1):
        where = f"{part}.mrg:{number}"
        empties = [word for word, tag in zip(tree.words, tree.tags, strict=True) if tag == EMPTY_TAG]
        assert all(EMPTY_ELEMENT.fullmatch(word) for word in empties), f"{where}: {empties}"
        used = {word.rsplit("-", 1)[1] for word in empties if "-" in word}
        marked = [label.rsplit("-", 1)[1] for label in tree.labels if label[-1].isdigit()]
        assert used == set(marked), f"{where}: indices used {sorted(used)}, marked {sorted(marked)}"
        assert len(marked) == len(set(marked)), f"{where}: an index marked twice"


def test_no_sentence_occurs_twice(trees):
    sentences = Counter(" ".join(strip_empty(tree).words).lower() for part in PARTS for tree in trees[part])
    assert [sentence for sentence, count in sentences.items() if count > 1] == []


def test_train_shows_every_label_and_most_tags(trees):
    labels = {base_label(label) for tree in trees["train"] for label in tree.labels}
    tags = {tag for tree in trees["train"] for tag in tree.tags}
    assert labels == LABELS
    assert tags == PENN_TAGS | {EMPTY_TAG}


def test_trainer_meets_the_hard_shapes(trees):
    """Long and one-word sentences, wide nodes, repeated unary labels, empty elements, function tags."""
    stripped = [strip_empty(tree) for tree in trees["train"]]
    lengths = [len(tree.words) for tree in stripped]
    assert min(lengths) == 1 and max(lengths) >= 40
    assert sum(EMPTY_TAG in tree.tags for tree in trees["train"]) >= 100
    assert sum("-SBJ" in label for tree in trees["train"] for label in tree.labels) >= 200
    assert sum(widest(tree) >= 6 for tree in stripped) >= 10
    assert sum(repeats_a_label(tree) for tree in stripped) >= 2


def widest(tree) -> int:
    """The largest number of children of one node, tokens included."""
    open_nodes: list[int] = []
    children = [0] * len(tree.labels)
    parent_of_token: list[int] = [0] * len(tree.words)
    for k, (start, end) in enumerate(zip(tree.starts, tree.ends, strict=True)):
        while open_nodes and tree.ends[open_nodes[-1]] <= start:
            open_nodes.pop()
        if open_nodes:
            children[open_nodes[-1]] += 1
        open_nodes.append(k)
        parent_of_token[start:end] = [k] * (end - start)
    for k in parent_of_token:
        children[k] += 1
    return max(children)


def repeats_a_label(tree) -> bool:
    spans = Counter(
        (start, end, base_label(label)) for start, end, label in zip(tree.starts, tree.ends, tree.labels, strict=True)
    )
    return max(spans.values()) > 1


def test_plain_text_is_varied():
    text = (SAMPLE / "plain.txt").read_text(encoding="utf-8")
    assert len(re.findall(r"[.!?]+[\"')]*\s", text)) >= 60
    for sign in ("http", "@", '"', "(", "[", "%", "$", "€", "😬", "…", "–", "Mr."):
        assert sign in text, sign


ENTRY_KEYS = {
    "id",
    "name",
    "language",
    "annotation",
    "what",
    "source",
    "licence",
    "model_may_be_shipped",
    "terms",
    "credits",
    "files",
}


@pytest.fixture(scope="module")
def treebanks():
    document = json.loads((ASSETS / "treebanks.json").read_text(encoding="utf-8"))
    assert document["format"] == 1
    return document["treebanks"]


def test_treebank_entries_are_complete(treebanks):
    ids = [entry["id"] for entry in treebanks]
    assert len(ids) == len(set(ids))
    assert {"craft", "genia", "masc", "gum", "wsj"} <= set(ids)
    for entry in treebanks:
        assert set(entry) == ENTRY_KEYS, entry["id"]
        assert entry["annotation"] in ("gold", "silver")
        assert isinstance(entry["model_may_be_shipped"], bool)
        assert entry["credits"] and all(isinstance(line, str) and line for line in entry["credits"])
        assert entry["licence"]["name"] and entry["licence"]["url"].startswith("http")
        assert entry["source"]["github"], entry["id"]
        assert all(re.fullmatch(r"[\w.-]+/[\w.-]+", name) for name in entry["source"]["github"])
        if "text" in entry["licence"]:
            assert (ASSETS / entry["licence"]["text"]).stat().st_size > 0


def test_treebank_files_are_described_exactly(treebanks):
    files = [(entry["id"], file) for entry in treebanks for file in entry["files"]]
    assert len(files) == 10
    for treebank, file in files:
        assert set(file) == {"path", "format", "sha256", "bytes", "trees"}
        assert file["path"] in (f"{treebank}/train.mrg", f"{treebank}/dev.mrg")
        assert re.fullmatch(r"[0-9a-f]{64}", file["sha256"])
        assert file["bytes"] > file["trees"] > 0
    assert len({file["sha256"] for _, file in files}) == len(files)


def test_wsj_models_are_not_shipped(treebanks):
    shipped = {entry["id"]: entry["model_may_be_shipped"] for entry in treebanks}
    assert shipped["wsj"] is False
    assert all(shipped[name] for name in ("craft", "genia", "masc", "gum"))
