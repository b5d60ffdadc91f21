"""Patterns that nltk's tgrep takes too find the same nodes, on the sample treebank.

Words are left out: in nltk they are plain strings without parents. So are names: nltk accepts them only after its own
macros, and never tries a second node for one.
"""

from __future__ import annotations

from itertools import islice
from pathlib import Path

import pytest

from spacy_dtparse.query import Forest, compile_pattern
from spacy_dtparse.trees.bracket_writer import write_tree
from spacy_dtparse.trees.brackets import read_trees

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),  # of the library that nltk reads patterns with
]
tgrep = pytest.importorskip("nltk.tgrep")
nltk_tree = pytest.importorskip("nltk.tree")
pytest.importorskip("pyparsing")

SAMPLE = Path(__file__).parents[2] / "assets" / "sample"
TREES = list(islice(read_trees(SAMPLE / "dev.mrg"), 60))
PARENTED = [nltk_tree.ParentedTree.fromstring(write_tree(tree)) for tree in TREES]

RELATIONS = [
    "<", ">", "<<", ">>", "<,", ">,", "<1", ">1", "<2", ">2", "<-", ">-", "<-1", ">-1", "<-2", ">-2", "<:", ">:",
    "<<:", ">>:", "<<,", ".", ",", "..", ",,", "$", "$.", "$,", "$..", "$,,", "%", "%.",
]  # fmt: skip
PAIRS = [
    ("NP", "NP"),
    ("NP", "VP"),
    ("NN", "VBD"),
    ("/^NP/", "/^VP/"),
    ("/^N/", "DT|PP"),
    ("S", "/NP|IN/"),
    ("PP", "NN"),
]
PATTERNS = [
    "NP", "NN|NNS", "/^V/", '"NP-SBJ"', "NP-SBJ", '"the"', '"."', "/^NP/ < the", "NN < /e/",
    "NP < DT < NN", "NP < DT & < NN", "NP < (NP < DT)", "NP < (DT < the) < NN", "(NP < DT) < JJ",
    "NP !< DT", "NP !<< DT", "/^NP/ !> S !<< NP", "/^NP/ < JJ | < CD", "NP [< JJ | < CD] > VP", "NP < JJ > VP | < CD",
    "NP ![< DT | < PP]", "NP [< DT [> VP | > PP]]", "NP !< DT | < (DT < the)", "S < (/^NP/ $.. (VP << PP))",
    "PP < (IN < of) > (NP !> VP)", "NP < DT | < PP > VP", "VP << (NP < (NN $, JJ)) !<< PP", "/^NP/ !$ __", "__ !> __",
    "__ <: NN", "/^NP/ $.. VP < PRP",
]  # fmt: skip


def positions(forest: Forest) -> list[tuple[int, ...]]:
    """The place of each node in nltk's tree."""
    found: list[tuple[int, ...]] = []
    for x in range(len(forest)):
        above = int(forest.parents[x])
        found.append(() if above < 0 else (*found[above], int(forest.ranks[x]) - 1))
    return found


FOREST = Forest(TREES)
POSITIONS = positions(FOREST)
ALL = [*PATTERNS, *(f"{a} {sign}{relation} {b}" for relation in RELATIONS for a, b in PAIRS for sign in ("", "!"))]


@pytest.mark.parametrize("pattern", ALL)
def test_same_nodes(pattern):
    wanted = [[] if found is None else found for found in tgrep.tgrep_positions(pattern.replace("__", "*"), PARENTED)]
    ours: list[list[tuple[int, ...]]] = [[] for _ in TREES]
    for x in compile_pattern(pattern).nodes(FOREST).tolist():
        if FOREST.n_children[x]:
            ours[int(FOREST.tree_of[x])].append(POSITIONS[x])
    theirs = [
        [place for place in places if not isinstance(tree[place], str)]
        for tree, places in zip(PARENTED, wanted, strict=True)
    ]
    assert [sorted(places) for places in ours] == [sorted(places) for places in theirs]


def test_enough_of_them_find_something():
    assert sum(len(compile_pattern(pattern).nodes(FOREST)) > 0 for pattern in ALL) >= 250
