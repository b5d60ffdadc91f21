"""Tables of the tags that a treebank never leaves unattached: small trees, and the treebank of everyday sentences."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from spacy_dtparse.span_parser.kernels.attach import first_unattached
from spacy_dtparse.span_parser.model import AttachTables
from spacy_dtparse.trees import Tree
from spacy_dtparse.trees.brackets import parse_tree, read_trees
from training.data.attach_tables import (
    MAX_FRACTION,
    MAX_UNATTACHED_SENTENCES,
    MIN_SEEN,
    attach_tables,
    mark_never_unattached,
)
from training.data.corpus import Sentence
from training.span_parser.fitting import SpanOptions, make_training_data

EVERYDAY = Path(__file__).resolve().parents[3] / "assets" / "everyday" / "train.mrg"
LABELS = ("NP", "PP", "S", "VP")
TAGS = ("DT", "NN", "VBZ", "RB", "IN")
SAID = "(TOP (S (NP (DT The) (NN dog)) (VP (VBZ barks) (RB there))))"
LOOSE = "(TOP (S (NN dog) (VP (VBZ barks) (RB there))))"


def tables(*counted: tuple[int, str], labels=LABELS, tags=TAGS) -> AttachTables:
    """The tables of trees that occur so many times."""
    return attach_tables([tree for times, text in counted for tree in [parse_tree(text)] * times], labels, tags)


def entries(built: AttachTables, labels=LABELS, tags=TAGS) -> set[str]:
    """Tags that are never unattached, as "PARENT TAG", or not next to some child, as "PARENT TAG CHILD"."""
    names, beside = [*labels, "TOP"], [*labels, ""]
    return {f"{names[p]} {tags[t]} {beside[c]}".rstrip() for p, c, t in np.argwhere(built.never).tolist()}


def test_words_of_noun_and_verb_phrases_are_never_loose_in_a_clause() -> None:
    built = tables((MIN_SEEN, SAID))
    assert entries(built) == {f"S {tag}{child}" for tag in TAGS[:4] for child in ("", " NP", " VP")}
    assert built.never.shape == (5, 5, 5) and built.never.dtype == np.bool_ and built.one_root is True


def test_rare_children_are_not_listed() -> None:
    assert not tables((MIN_SEEN - 1, SAID)).never.any()
    assert not tables((MIN_SEEN - 1, SAID), (1, "(TOP (NP (DT The) (NN dog)))")).never.any(), "in a clause, that is"


def test_a_few_slips_do_not_count() -> None:
    few, many = round(0.8 / MAX_FRACTION), round(1.2 / MAX_FRACTION)
    assert "S NN" in entries(tables((many, SAID), (1, LOOSE)))
    assert "S NN" not in entries(tables((few, SAID), (1, LOOSE)))
    assert "S DT" in entries(tables((few, SAID), (1, LOOSE))), "only the noun was loose"


def test_a_token_may_be_loose_but_not_beside_some_child() -> None:
    other = "(TOP (S (NN dog) (PP (IN of) (NP (DT the) (NN town)))))"
    found = entries(tables((MIN_SEEN, SAID), (MIN_SEEN // 10, other)))
    assert {"S NN VP", "S NN NP", "S DT", "S DT VP"} <= found
    assert not {"S NN", "S NN PP"} & found, "the one is not so, of the other too little was seen"


def test_only_children_of_the_two_most_loose_labels_count() -> None:
    text = "(TOP (S (NP (DT The) (NN dog)) (PP (IN of) (NP (DT a) (NN town))) (VP (VBZ barks) (RB there)) (. .)))"
    tags = (*TAGS, ".")
    found = entries(tables((MIN_SEEN, text), tags=tags), tags=tags)
    assert {"S NN", "S DT PP", "S VBZ", "PP NN"} <= found
    assert not any(entry.split()[1] in ("IN", ".") for entry in found), "PP and S have fewer loose tokens"
    assert "S NN" in entries(tables((MIN_SEEN, text), tags=("NN",)), tags=("NN",)), "with other tags away"


def test_tags_of_the_second_label_stay_unlisted_within_the_first() -> None:
    nested = "(TOP (S (NP (DT The) (NN dog) (S (VP (VBZ barks)))) (VP (VBZ runs) (NP (DT a) (NN race)))))"
    found = entries(tables((MIN_SEEN, nested)))
    assert {"S VBZ", "S VBZ NP", "S NN", "VP NN", "VP NN NP"} <= found
    assert not any(entry.startswith("NP VBZ") for entry in found), "though none is unattached there"
    assert "S NN VP" in found and "VP DT" in found, "those of the first are not within the second"


def test_tags_without_a_listed_label_are_not_listed() -> None:
    text = "(TOP (S (NP (DT The) (NN dog)) (VP (VBZ barks) (RB there)) (X (IN of))))"
    found = entries(tables((MIN_SEEN, text)))
    assert "S NN" in found and not any(entry.split()[1] == "IN" for entry in found), "no listed label has it"


def test_unlisted_labels_and_tags_are_skipped() -> None:
    text = "(TOP (S (X (NP (DT The) (ZZ old) (NN dog))) (VP (VBZ barks) (RB there))))"
    built = tables((MIN_SEEN, text))
    found = entries(built)
    assert {"S NN", "S NN VP", "S DT"} <= found
    assert "S NN NP" not in found, "what is beside it is X, which is not listed"
    assert not tables((MIN_SEEN - 1, text)).never.any(), "nor does X count for any other"


def test_the_root_counts_where_it_has_several_children() -> None:
    several = "(TOP (NP (DT The) (NN dog)) (VP (VBZ barks) (RB there)))"
    found = entries(tables((MIN_SEEN, several)))
    assert found == {f"TOP {tag}{child}" for tag in TAGS[:4] for child in ("", " NP", " VP")}
    one = tables((5 * MIN_SEEN, "(TOP (S (NP (DT The) (NN dog)) (VP (VBZ barks) (RB there))))"), (1, several))
    assert not any(entry.startswith("TOP") for entry in entries(one)), "one child is no choice"
    single = tables((MIN_SEEN, "(TOP (NN dog))"), (MIN_SEEN, SAID))
    assert not any(entry.startswith("TOP") for entry in entries(single)), "nor is one word"


@pytest.mark.parametrize(
    ("several", "right"),
    [
        ("(TOP (NP (DT The) (NN dog)) (VP (VBZ barks)))", False),
        ("(TOP (NN dog))", False),
        ("(TOP (NP (NN dog)))", True),
    ],
)
def test_whether_one_constituent_covers_every_sentence(several: str, right: bool) -> None:
    assert tables((10, SAID), (1, several)).one_root is right
    assert tables((round(1.2 / MAX_FRACTION), SAID), (1, several)).one_root is True, "one slip is none"


def test_a_treebank_with_one_label() -> None:
    built = tables((MIN_SEEN, "(TOP (NP (NP (DT The) (NN dog)) (NP (RB there))))"), labels=("NP",))
    assert built.never.shape == (2, 2, len(TAGS))
    assert entries(built, labels=("NP",)) == {"NP DT NP", "NP NN NP", "NP RB NP"}


def naive(trees: list[Tree], label: str, beside: str | None, tag: str) -> tuple[int, int]:
    """Constituents of the label, next to a child or not, with the tag anywhere below; those that have it as a child."""
    below = as_child = 0
    for tree in trees:
        for node, children in enumerate(tree.child_lists()):
            inner = {tree.labels[child] for child in children if child >= 0}
            if tree.labels[node] != label or (beside is not None and beside not in inner):
                continue
            below += tag in tree.tags[tree.starts[node] : tree.ends[node]]
            as_child += any(tree.tags[~child] == tag for child in children if child < 0)
    return below, as_child


@pytest.mark.kernel
def test_the_treebank_of_everyday_sentences() -> None:
    trees = list(read_trees(EVERYDAY))[:1000]
    labels = tuple(sorted({label for tree in trees for label in tree.labels} - {"TOP"}))
    tags = tuple(sorted({tag for tree in trees for tag in tree.tags}))
    built = attach_tables(trees, labels, tags)
    found = entries(built, labels, tags)
    assert built.one_root and {"S NN", "S DT", "VP NN", "VP DT"} <= found
    assert not any(entry.split()[1] in ("IN", ",", ".", "CC") for entry in found)
    for entry in sorted(found)[::7]:
        parent, tag, *child = entry.split()
        below, loose = naive(trees, parent, child[0] if child else None, tag)
        assert below >= MIN_SEEN and loose <= MAX_FRACTION * below, entry
    slips = 0
    for tree in trees:
        items = np.array(
            [(start, end, labels.index(label)) for start, end, label in tree.spans()[1:]], dtype=np.int32
        ).reshape(-1, 3)
        tag_ids = np.array([tags.index(tag) for tag in tree.tags], dtype=np.int32)
        parents = np.empty(len(tags), dtype=np.int32)
        slips += first_unattached(items, len(items), tree.n_tokens, tag_ids, built.never, parents, 0) >= 0
    assert slips < 0.03 * len(trees), "its own trees hang together"


def test_unattached_tokens_are_listed_however_rare_such_phrases_are() -> None:
    trees = [parse_tree(SAID)]
    built = attach_tables(trees, LABELS, TAGS)
    found = entries(mark_never_unattached(built, trees, LABELS, TAGS))
    assert not built.never.any(), "one tree says nothing"
    assert found == {
        *(f"{label} {tag} VP" for label in ("PP", "S", "VP", "TOP", "NP") for tag in ("DT", "NN")),
        *(f"{label} {tag} S" for label in ("PP", "S", "VP", "TOP") for tag in ("DT", "NN")),
        *(f"{label} VBZ {sister}" for label in ("S", "TOP") for sister in ("S", "VP")),
        *(f"{label} IN S" for label in ("NP", "VP")),
    }


def test_a_treebank_that_has_unattached_tokens_keeps_them() -> None:
    for slips, unchanged in ((1, False), (2, True)):
        trees = [parse_tree(SAID)] * round(1.5 / MAX_UNATTACHED_SENTENCES) + [parse_tree(LOOSE)] * slips
        built = attach_tables(trees, LABELS, TAGS)
        assert (mark_never_unattached(built, trees, LABELS, TAGS) is built) == unchanged


def test_labels_of_other_treebanks_are_not_listed() -> None:
    trees = [parse_tree("(TOP (IP (DP (DT the) (NN dog)) (VBZ barks)))")]
    built = attach_tables(trees, ("DP", "IP"), TAGS)
    assert not mark_never_unattached(built, trees, ("DP", "IP"), TAGS).never.any()


def test_a_model_is_made_with_the_tables_of_its_trees() -> None:
    trees = [parse_tree(SAID)] * MIN_SEEN
    sentences = [Sentence(tree, tree.tags, "x") for tree in trees]
    material = make_training_data(sentences, [], SpanOptions(min_word_count=1))
    labels = tuple(sorted({label for chain in material.chains for label in chain}))
    tags = tuple(material.words.tables[1])
    right = mark_never_unattached(tables((MIN_SEEN, SAID), labels=labels, tags=tags), trees, labels, tags)
    found = material.attach_tables
    assert entries(found, labels, tags) == entries(right, labels, tags) and found.one_root
