"""Attaching tokens that a treebank never leaves unattached: the kernels against the reference, and cases by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from spacy_dtparse.span_parser.kernels.attach import attach_unattached, find_unattached, first_unattached, mask_tags
from spacy_dtparse.trees import Tree
from spacy_dtparse.trees.brackets import parse_tree
from tests.jit.harness import KERNEL_MARKS, SLOW
from tests.reference import span_attach as reference

pytestmark = KERNEL_MARKS

LABELS = ("NP", "PP", "S", "VP")
ROOT = ANY = len(LABELS)
TAGS = ("DT", "NN", "VBZ", "IN", ".")
VERB_PHRASE, IS_VERB = LABELS.index("VP"), np.array([tag == "VBZ" for tag in TAGS])
NO_VERBS = -1, np.zeros(1, dtype=np.bool_)
CHAINS = ((), ("NP",), ("VP",), ("S",), ("S", "VP"), ("PP",), ("S", "NP"))
NUMBERS = [tuple(LABELS.index(label) for label in chain) for chain in CHAINS]
CHAIN_FROM = np.cumsum([0, *map(len, NUMBERS)]).astype(np.int32)
CHAIN_LABELS = np.array([label for chain in NUMBERS for label in chain], dtype=np.int32)
MAX_LABELS = max(map(len, CHAINS))


def in_workspace(items, costs, n: int):
    """Arrays of the size that the kernel requires, filled with arbitrary values."""
    size = len(items) + (n + 1) * MAX_LABELS
    rows, values = np.full((size, 3), 99, dtype=np.int32), np.full(size, np.nan)
    if items:
        rows[: len(items)], values[: len(items)] = items, costs
    return rows, values


def run(items, costs, tags, never, one_root: bool, candidates):
    """(Items, costs) after the kernel has run; candidates in the format of the reference."""
    rows, values = in_workspace(items, costs, len(tags))
    spans = np.array([candidate[:2] for candidate in candidates], dtype=np.int32).reshape(-1, 2)
    posteriors = np.array([candidate[2] for candidate in candidates], dtype=np.float64)
    logs = np.full((len(candidates), len(CHAINS)), -np.inf, dtype=np.float32)
    logs[:, 0] = -0.01  # the empty chain cannot attach tokens
    for row, (*_, probs) in enumerate(candidates):
        for chain, log in probs.items():
            logs[row, NUMBERS.index(chain)] = log
    count = attach_unattached(
        rows,
        values,
        len(items),
        np.array(tags, dtype=np.int32),
        never,
        one_root,
        spans,
        posteriors,
        logs,
        CHAIN_FROM,
        CHAIN_LABELS,
    )
    return [tuple(row) for row in rows[:count].tolist()], values[:count].tolist()


def random_items(rng: np.random.Generator, n: int):
    """Constituents that do not cross, in pre-order, some of them over the same tokens."""
    spans: list[tuple[int, int]] = []
    for _ in range(rng.integers(0, n + 2)):
        i, j = sorted(rng.choice(n + 1, 2, replace=False).tolist())
        if not any(i < a < j < b or a < i < b < j for a, b in spans):
            spans.append((i, j))
    ordered = sorted(spans, key=lambda span: (span[0], -span[1]))
    return [(*span, int(rng.integers(len(LABELS)))) for span in ordered]


def random_case(seed: int):
    """Items, costs, tags, table of tokens never unattached, whether there is one root, candidates."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 8))
    items = random_items(rng, n)
    never = rng.random((ROOT + 1, ANY + 1, len(TAGS))) < rng.choice([0.0, 0.1, 0.4])
    candidates = []
    for i in range(n):
        for j in range(i + 1, n + 1):
            if rng.random() < 0.8:
                logits = 2 * rng.standard_normal(len(CHAINS))
                logs = (logits - np.logaddexp.reduce(logits)).astype(np.float32).tolist()
                candidates.append((i, j, float(rng.random()), dict(zip(NUMBERS[1:], logs[1:], strict=True))))
    tags = rng.integers(len(TAGS), size=n).tolist()
    costs = rng.random(len(items)).tolist()
    return items, costs, tags, never, bool(seed % 2), candidates


CASES = range(40 if SLOW else 400)


def test_unattached_tokens_are_those_of_the_reference() -> None:
    seen = set()
    for seed in CASES:
        items, costs, tags, never, *_ = random_case(seed)
        n = len(tags)
        rows, _ = in_workspace(items, costs, n)
        parents = np.full(n, 99, dtype=np.int32)
        root = reference.nested(items, range(len(items)), n, ROOT)
        for first in range(n + 1):
            found = first_unattached(rows, len(items), n, np.array(tags, dtype=np.int32), never, parents, first)
            assert found == reference.first_unattached(items, n, tags, never, first)
            paths = [reference.path_to(root, token) for token in range(n)]
            assert parents.tolist() == [path[-1].cost if len(path) > 1 else -1 for path in paths], "costs are numbers"
            seen.add(found)
    assert seen >= {-1, 0, 1, 2, 3}


def test_tags_are_masked_as_by_the_reference() -> None:
    n_masked = 0
    for seed in CASES:
        items, _, tags, *_ = random_case(seed)
        n, verbs = len(tags), {TAGS.index("VBZ")}
        rows, _ = in_workspace(items, [0.0] * len(items), n)
        given, masked, parents = np.array(tags, dtype=np.int32), *np.full((2, n), 99, dtype=np.int32)
        mask_tags(rows, len(items), given, VERB_PHRASE, IS_VERB, parents, masked)
        assert masked.tolist() == reference.masked_tags(items, tags, VERB_PHRASE, verbs, len(TAGS) - 1)
        n_masked += (masked != given).sum()
        mask_tags(rows, len(items), given, *NO_VERBS, parents, masked)
        assert masked.tolist() == tags, "without a label of verb phrases"
    assert n_masked > 5


def test_sentences_with_unattached_tokens_are_found_in_a_batch() -> None:
    cases = [random_case(seed) for seed in CASES]
    never = cases[0][3]
    items, tags, wanted = [], [], []
    for number, (own, _, own_tags, *_) in enumerate(cases):
        masked = reference.masked_tags(own, own_tags, VERB_PHRASE, {TAGS.index("VBZ")}, len(TAGS) - 1)
        wanted.append(reference.first_unattached(own, len(own_tags), masked, never, 0) >= 0)
        rows = np.array([(0, len(own_tags), ROOT), *own], dtype=np.int32)
        if number % 5 == 4 and len(rows) > 1:  # a label that is not in the table
            rows[-1, 2], wanted[-1] = -1, False
        items.append(rows)
        tags.append(np.array(own_tags, dtype=np.int32))
    ends = (np.cumsum([0, *map(len, rows)]) for rows in (items, tags))
    found, all_tags = np.zeros(len(cases), dtype=np.bool_), np.concatenate(tags)
    item_offsets, offsets = ends
    verbs, scratch = (VERB_PHRASE, IS_VERB), np.empty_like(all_tags)
    find_unattached(np.concatenate(items), item_offsets, all_tags, offsets, never, *verbs, scratch, found)
    assert found.tolist() == wanted and {*wanted} == {True, False}


def test_tokens_are_attached_as_by_the_reference() -> None:
    added = 0
    for seed in CASES:
        case = random_case(seed)
        items, costs = run(*case)
        right, right_costs = reference.attach(*case)
        assert items == right, seed
        assert costs == pytest.approx(right_costs, abs=1e-5), seed
        added += len(items) - len(case[0])
    assert added > len(CASES), "many are"


def test_constituents_stay_and_no_chain_repeats_a_label() -> None:
    for seed in CASES:
        before, costs, tags, *rest = random_case(seed)
        before = [item for place, item in enumerate(before) if item not in before[:place]]
        found, found_costs = run(before, costs[: len(before)], tags, *rest)
        Tree("w" * len(tags), "t" * len(tags), ("TOP", *(LABELS[c] for _, _, c in found)), *ends(found, len(tags)))
        assert len(set(found)) == len(found), seed
        pairs = iter(zip(found, found_costs, strict=True))
        assert all(pair in pairs for pair in zip(before, costs, strict=False)), "in the same order, with their costs"


def ends(items, n: int):
    """Starts and ends including the root's, in the format of Tree."""
    return (0, *(item[0] for item in items)), (n, *(item[1] for item in items))


def table(*entries: str) -> np.ndarray:
    """Entries are "PARENT TAG", or "PARENT TAG CHILD" for a tag that is never unattached next to such a child."""
    never = np.zeros((ROOT + 1, ANY + 1, len(TAGS)), dtype=bool)
    for entry in entries:
        parent, tag, *child = entry.split()
        places = [LABELS.index(label) if label in LABELS else ROOT for label in (parent, *child)]
        never[places[0], places[1] if child else ANY, TAGS.index(tag)] = True
    return never


SHARE = 0.9
"""Posterior of all candidates given by hand, except 1 for the whole sentence."""


def attached(text: str, never, probs: dict[str, float], one_root: bool = False) -> str:
    """The tree in brackets after attaching its tokens. `probs`: probabilities of "start end LABEL …"."""
    tree = parse_tree(text)
    candidates: dict[tuple[int, int], reference.Candidate] = {}
    for key, probability in probs.items():
        start, end, *chain = key.split()
        span = int(start), int(end)
        share = 1.0 if span == (0, tree.n_tokens) else SHARE
        named = tuple(LABELS.index(label) for label in chain)
        candidates.setdefault(span, (*span, share, {}))[3][named] = math.log(probability / share)
    items = [(start, end, LABELS.index(label)) for start, end, label in tree.spans()[1:]]
    found, costs = run(
        items, [-1.0] * len(items), [TAGS.index(tag) for tag in tree.tags], never, one_root, list(candidates.values())
    )
    for (start, end, _), cost in zip(found, costs, strict=True):
        ways = [p for key, p in probs.items() if key.startswith(f"{start} {end} ")]
        assert cost == -1 or any(cost == pytest.approx(-math.log(p), rel=1e-6, abs=1e-6) for p in ways)
    again = Tree(tree.words, tree.tags, ("TOP", *(LABELS[item[2]] for item in found)), *ends(found, tree.n_tokens))
    return str(again)


SUBJECT = "(TOP (S (DT The) (NN dog) (VP (VBZ barks)) (. .)))"
NOUNS = table("S DT", "S NN")


def test_a_subject_gets_its_noun_phrase() -> None:
    probs = {"0 2 NP": 0.4, "0 1 NP": 0.2, "1 2 NP": 0.3, "0 2 S VP": 0.1}
    right = "(TOP (S (NP (DT The) (NN dog)) (VP (VBZ barks)) (. .)))"
    assert attached(SUBJECT, NOUNS, probs) == right
    assert attached(SUBJECT, NOUNS, probs, one_root=True) == right
    assert attached(right, NOUNS, probs) == right, "nothing is left to do"
    assert attached(SUBJECT, table(), probs) == SUBJECT, "a treebank that leaves them unattached"


def test_a_token_stays_where_nothing_is_possible() -> None:
    assert attached(SUBJECT, NOUNS, {}) == SUBJECT
    assert attached(SUBJECT, NOUNS, {"0 2 NP": 1e-9}) != SUBJECT, "what is possible at all is enough"
    after = "(TOP (S (DT The) (NP (NN dog)) (VP (VBZ barks)) (. .)))"
    assert attached(SUBJECT, NOUNS, {"1 2 NP": 0.3}) == after, "the next one is checked all the same"


def test_constituents_move_as_a_whole() -> None:
    probs = {"0 3 NP": 0.9, "1 4 NP": 0.8, "0 4 NP": 0.3, "0 1 NP": 0.2}
    before = "(TOP (S (DT The) (NN dog) (PP (IN of) (NN town)) (VP (VBZ barks))))"
    assert attached(before, table("S DT"), probs) == (
        "(TOP (S (NP (DT The) (NN dog) (PP (IN of) (NN town))) (VP (VBZ barks))))"
    ), "the first crosses PP, the second has no DT"
    before = "(TOP (S (VP (VBZ is) (DT the)) (NN dog)))"
    assert attached(before, table("VP DT"), {"1 3 NP": 0.9, "1 2 NP": 0.2}) == (
        "(TOP (S (VP (VBZ is) (NP (DT the))) (NN dog)))"
    ), "nor does it leave its parent"
    before = "(TOP (S (VP (VBZ is) (VP (VBZ seen))) (NN dog)))"
    assert attached(before, table("S NN"), {"0 3 NP": 0.5, "2 3 NP": 0.4}) == (
        "(TOP (S (NP (VP (VBZ is) (VP (VBZ seen))) (NN dog))))"
    ), "its descendants move with it"


def test_the_new_parent_must_allow_the_token() -> None:
    probs = {"0 2 VP": 0.4, "0 2 S VP": 0.35, "0 2 S NP": 0.2, "0 2 PP": 0.15}
    assert attached(SUBJECT, table("S DT", "VP DT"), probs) == (
        "(TOP (S (S (NP (DT The) (NN dog))) (VP (VBZ barks)) (. .)))"
    ), "the bottom label decides"


def test_a_token_may_stay_unattached_except_next_to_some_constituents() -> None:
    probs = {"0 2 NP": 0.4}
    assert attached(SUBJECT, table("S NN VP"), probs) == "(TOP (S (NP (DT The) (NN dog)) (VP (VBZ barks)) (. .)))"
    assert attached(SUBJECT, table("S NN PP"), probs) == SUBJECT
    deep = "(TOP (S (DT The) (NN dog) (VP (VBZ sat) (PP (IN there)))))"
    assert attached(deep, table("S NN PP"), probs) == deep, "only children of the same parent count"
    later = "(TOP (S (PP (IN there)) (VP (VBZ sat) (NP (NN dog))) (NN cat)))"
    assert attached(later, table("S NN VP"), {"3 4 NP": 0.4}) == (
        "(TOP (S (PP (IN there)) (VP (VBZ sat) (NP (NN dog))) (NP (NN cat))))"
    )


def test_the_new_parent_must_allow_the_token_next_to_its_other_children() -> None:
    probs = {"0 4 S NP": 0.5, "0 4 VP": 0.4, "0 2 NP": 0.3}
    never = ("S NN VP", "NP NN VP", "VP NN VP")
    assert attached(SUBJECT, table(*never), probs) == "(TOP (S (NP (DT The) (NN dog)) (VP (VBZ barks)) (. .)))"
    assert attached(SUBJECT, table(*never[:2]), probs) == "(TOP (S (VP (DT The) (NN dog) (VP (VBZ barks)) (. .))))"


def test_tokens_next_to_a_new_constituent_are_checked_again() -> None:
    before = "(TOP (S (NN dog) (IN there) (. .)))"
    probs = {"1 2 VP": 0.9, "0 1 NP": 0.8}
    assert attached(before, table("S IN", "S NN VP"), probs) == "(TOP (S (NP (NN dog)) (VP (IN there)) (. .)))"


def test_a_unary_chain_has_no_label_twice() -> None:
    probs = {"0 2 NP": 0.5, "0 2 S NP": 0.4, "0 2 S": 0.3, "0 2 VP": 0.2}
    assert attached("(TOP (NP (VBZ runs) (NN dog)))", table("NP VBZ"), probs) == ("(TOP (NP (S (VBZ runs) (NN dog))))")
    assert attached("(TOP (S (NP (VBZ runs) (NN dog))))", table("NP VBZ"), probs) == (
        "(TOP (S (NP (VP (VBZ runs) (NN dog)))))"
    ), "nor one that is further up in it"
    before = "(TOP (S (NP (VBZ runs) (NN dog)) (. .)))"
    assert attached(before, table("NP VBZ"), probs) == "(TOP (S (NP (S (VBZ runs) (NN dog))) (. .)))", "S has more"


def test_the_root_has_one_child_in_treebanks_with_one_root() -> None:
    before = "(TOP (NP (DT The) (NN dog)) (VP (VBZ barks)))"
    probs = {"0 3 S": 0.05, "0 3 S VP": 0.01, "0 3 NP": 0.02}
    after = "(TOP (S (NP (DT The) (NN dog)) (VP (VBZ barks))))"
    assert attached(before, table(), probs, one_root=True) == after, "the best chain, however improbable"
    assert attached(before, table(), probs) == before
    assert attached(before, table(), {"0 2 S": 0.8}, one_root=True) == before, "no candidate has all tokens"
    assert attached("(TOP (NN dog) (. .))", table(), probs, one_root=True) == "(TOP (NN dog) (. .))", "no constituent"
    with_word = "(TOP (NP (DT The) (NN dog)) (NN town))"
    assert attached(with_word, table("S NN"), {**probs, "2 3 NP": 0.3}, one_root=True) == (
        "(TOP (S (NP (DT The) (NN dog)) (NP (NN town))))"
    ), "the new root's words are checked"


def test_words_of_the_root_are_attached() -> None:
    assert attached("(TOP (DT The) (NN dog) (. .))", table("TOP NN"), {"0 2 NP": 0.3, "1 2 NP": 0.2}) == (
        "(TOP (NP (DT The) (NN dog)) (. .))"
    )
    assert attached("(TOP (NN dog))", table("TOP NN"), {"0 1 S NP": 0.2}) == "(TOP (S (NP (NN dog))))"


def test_attaching_another_token_may_be_enough() -> None:
    before = "(TOP (VP (IN to) (VBZ call) (NP (NN mum))))"
    probs = {"0 3 NP": 0.5, "1 3 VP": 0.3, "0 1 PP": 0.2}
    assert attached(before, table("VP IN NP", "NP IN NP"), probs) == "(TOP (VP (IN to) (VP (VBZ call) (NP (NN mum)))))"
    assert attached(before, table("VP IN NP", "VP IN VP"), probs) == (
        "(TOP (VP (NP (IN to) (VBZ call) (NP (NN mum)))))"
    ), "where it would be unattached there, too, the most probable constituent gets it"
