"""Treebank grammars: binarisations and their inverse, counts, smoothing, word classes, the command line."""

from __future__ import annotations

import math
import random
from collections import Counter, defaultdict
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from spacy_dtparse.errors import ConfigError, TrainingDataError
from spacy_dtparse.pcfgla.features import UNKNOWN, WordClasses, signatures
from spacy_dtparse.pcfgla.model.model import TAG, PcfgModel
from spacy_dtparse.trees import Recipe, Tree, parse_tree
from training.cli import build_parser
from training.data.corpus import Sentence, read_treebank, training_tree
from training.data.evaluate import evaluate
from training.data.treebanks import TreebankFile
from training.pcfgla import BINARISATIONS, BinaryTree, Markov, PcfgOptions, Symbol, binarise, train_pcfg
from training.pcfgla.counting import RuleCounts, relative_frequencies, smoothed_frequencies
from training.pcfgla.grammar import count_trees

SAMPLE = Path(__file__).resolve().parents[3] / "assets" / "sample"
MARKOVS = [
    Markov(vertical, horizontal, binarisation, tag_vertical)
    for binarisation in BINARISATIONS
    for vertical, horizontal, tag_vertical in ((1, 0, 1), (2, 1, 1), (2, 2, 2), (3, None, 2))
]
FLAT = "(TOP (S (NP (DT the) (JJ old) (NN cat)) (RB never) (VBD saw) (NP (PRP it)) (RB again) (. .)))"


def as_id(markov: Markov) -> str:
    return f"{markov.binarisation}-v{markov.vertical}h{markov.horizontal}t{markov.tag_vertical}"


@pytest.fixture(scope="module")
def sample() -> list[Sentence]:
    return read_treebank(SAMPLE / "train.mrg")


@pytest.fixture(scope="module")
def model(sample) -> PcfgModel:
    return train_pcfg(sample)


def random_tree(rng: random.Random, n: int) -> Tree:
    spans = [(0, n, "TOP")]
    todo = [(0, n)]
    while todo:
        start, end = todo.pop()
        for _ in range(rng.choice((0, 0, 1, 2))):
            spans.append((start, end, rng.choice(("A", "B", "TOP", "@A|left<>", "A^B"))))
        cuts = sorted({start, end, *(rng.randint(start, end) for _ in range(rng.randint(1, 5)))})
        for a, b in pairwise(cuts):
            if b - a > 1 and b - a < end - start:
                spans.append((a, b, rng.choice("ABC")))
                todo.append((a, b))
    order = sorted(range(len(spans)), key=lambda k: (spans[k][0], -spans[k][1], k))
    spans = [spans[k] for k in order]
    return Tree(
        [f"w{i}" for i in range(n)],
        [rng.choice(("X", "Y", "A")) for _ in range(n)],
        [s[2] for s in spans],
        [s[0] for s in spans],
        [s[1] for s in spans],
    )


def check_shape(tree: BinaryTree) -> None:
    """Pre-order, at most two children, parts only where there are two."""
    for k, symbol in enumerate(tree.symbols):
        if tree.token[k] >= 0:
            assert symbol.kind == "tag" and tree.left[k] == tree.right[k] == -1
        else:
            assert tree.left[k] == k + 1 and (tree.right[k] > k + 1 or tree.right[k] == -1)
            assert symbol.kind == "phrase" or tree.right[k] >= 0


def debinarise(tree: BinaryTree, words) -> Tree:
    """The tree over `words` without parts and annotations."""
    offsets, ends, tags = [], [0] * len(tree.symbols), []
    for symbol, token in zip(tree.symbols, tree.token, strict=True):  # in pre-order tokens come from left to right
        offsets.append(len(tags))
        if token >= 0:
            assert token == len(tags)
            tags.append(symbol.label)
    for k in reversed(range(len(ends))):
        ends[k] = offsets[k] + 1 if tree.token[k] >= 0 else ends[max(tree.left[k], tree.right[k])]
    kept = [k for k, symbol in enumerate(tree.symbols) if symbol.kind == "phrase"]
    columns = ([column[k] for k in kept] for column in ([s.label for s in tree.symbols], offsets, ends))
    return Tree(words, tags, *columns)


@pytest.mark.parametrize("markov", MARKOVS, ids=as_id)
def test_debinarise_gives_the_tree_back(markov, sample):
    for sentence in [*sample, *read_treebank(SAMPLE / "dev.mrg")]:
        for recipe in (Recipe.PLAIN, Recipe.TM2006):
            tree = training_tree(sentence, recipe)
            binary = binarise(tree, markov)
            check_shape(binary)
            assert debinarise(binary, tree.words) == tree
    rng = random.Random(0)
    for n in (1, 2, 3, 5, 9, 20) * 5:
        tree = random_tree(rng, n)
        assert debinarise(binarise(tree, markov), tree.words) == tree


@pytest.mark.parametrize("markov", [m for m in MARKOVS if m.horizontal is not None], ids=as_id)
def test_deep_and_wide_trees(markov):
    n = 5000
    words, tags = [f"w{i}" for i in range(n)], ["X"] * n
    chain = Tree(["w"], ["X"], ["TOP"] + ["A", "B"] * 2500, [0] * 5001, [1] * 5001)
    right = Tree(words, tags, ["TOP"] + ["A"] * (n - 1), [0, *range(n - 1)], [n] * n)
    left = Tree(words, tags, ["TOP"] + ["A"] * (n - 1), [0] * n, [n, *range(n, 1, -1)])
    wide = Tree(words, tags, ["TOP"], [0], [n])
    for tree in (chain, right, left, wide):
        assert debinarise(binarise(tree, markov), tree.words) == tree


def parts(binarisation: str, **changes) -> list[str]:
    settings = {"vertical": 1, "horizontal": 1, "tag_vertical": 1, **changes}
    tree = binarise(parse_tree(FLAT), Markov(binarisation=binarisation, **settings))
    return [str(symbol) for symbol in tree.symbols if symbol.kind == "part"]


def test_parts_are_cached():
    assert sorted(parts("right")) == sorted(
        ["@S|left<RB>", "@NP|left<JJ>", "@S|left<VBD>", "@S|left<NP>", "@S|left<RB>"]
    )
    assert sorted(parts("left")) == sorted(
        ["@S|right<RB>", "@NP|right<JJ>", "@S|right<VBD>", "@S|right<NP>", "@S|right<RB>"]
    )
    assert sorted(parts("right", horizontal=0)) == ["@NP|left<>"] + ["@S|left<>"] * 4
    assert "@S^TOP|left<RB VBD>" in parts("right", vertical=2, horizontal=2)
    assert all(part.startswith(("@S|", "@NP|")) for part in parts("center-parent"))


def test_center_parts_have_the_head_lowest():
    tree = parse_tree("(TOP (VP (RB not) (RB ever) (VBD saw) (NP (PRP it)) (RB again)))")
    found = binarise(tree, Markov(1, 1, "center-head", 1))
    assert [str(s) for s in found.symbols] == [
        "TOP", "VP", "RB", "@VBD|left<RB>", "RB", "@VBD|right<RB>", "@VBD|right<NP>", "VBD", "NP", "PRP", "RB",
    ]  # fmt: skip
    found = binarise(tree, Markov(2, 0, "center-head", 2))
    assert [str(s) for s in found.symbols][:5] == ["TOP", "VP^TOP", "RB^VP", "@VBD^VP^TOP|left<>", "RB^VP"]
    found = binarise(tree, Markov(2, 0, "center-parent", 1))
    assert [str(s) for s in found.symbols][:4] == ["TOP", "VP^TOP", "RB", "@VP^TOP|left<>"]


def expansions(tree: Tree) -> list[tuple[str, ...]]:
    return [
        (tree.labels[k], *(tree.labels[c] if c >= 0 else tree.tags[~c] for c in kids))
        for k, kids in enumerate(tree.child_lists())
    ]


@pytest.mark.parametrize("binarisation", BINARISATIONS)
def test_an_infinite_horizontal_order_gives_the_grammar_of_long_rules(binarisation, sample):
    """Product over the binarised rules = product of the long rules' relative frequencies."""
    markov = Markov(1, None, binarisation, 1)
    trees = [training_tree(sentence, Recipe.PLAIN) for sentence in sample]
    words = WordClasses([UNKNOWN])
    shares = relative_frequencies(count_trees(trees, markov, words).rules)
    long_rules = Counter(rule for tree in trees for rule in expansions(tree))
    totals: Counter[str] = Counter()
    for rule, count in long_rules.items():
        totals[rule[0]] += count
    for tree in trees[:60]:
        counts = RuleCounts()
        counts.add(binarise(tree, markov), [0] * len(tree.words))
        ours = sum(count * math.log(shares[rule]) for rule, count in counts.rules.items())
        theirs = sum(math.log(long_rules[rule] / totals[rule[0]]) for rule in expansions(tree))
        assert ours == pytest.approx(theirs, rel=1e-9)


@pytest.mark.parametrize("strength", [0.0, 0.5, 20.0])
@pytest.mark.parametrize("binarisation", BINARISATIONS)
def test_rule_probabilities_sum_to_one(binarisation, strength, sample):
    markov = Markov(2, 1, binarisation, 1)
    counts = count_trees([s.tree for s in sample], markov, WordClasses([UNKNOWN]))
    shares = smoothed_frequencies(counts.rules, markov, strength)
    sums: dict[Symbol, float] = defaultdict(float)
    for rule, share in shares.items():
        assert 0 < share <= 1
        sums[rule[0]] += share
    assert all(total == pytest.approx(1, abs=1e-9) for total in sums.values())
    assert {s for rule in shares for s in rule if s.kind != "tag"} == set(sums)
    if strength == 0.0:
        assert shares == relative_frequencies(counts.rules)
    else:
        assert len(shares) > len(counts.rules)
        assert set(counts.rules) <= set(shares)


def test_smoothing_is_refused_where_it_has_no_meaning():
    with pytest.raises(ConfigError, match="tag_vertical 3 is above vertical 2"):
        smoothed_frequencies({}, Markov(2, 1, "left", 3), 1.0)
    with pytest.raises(ConfigError, match="smoothing of -1"):
        smoothed_frequencies({}, Markov(), -1)


def test_emissions_sum_to_one(model):
    for grammar in (model.fine, model.coarse):
        sums = np.zeros(len(grammar.names))
        np.add.at(sums, grammar.emissions.symbol, np.exp(grammar.emissions.weight))
        tags = grammar.kind == TAG
        assert sums[tags] == pytest.approx(1, abs=1e-9) and not sums[~tags].any()
        assert np.isfinite(grammar.emissions.floor[tags]).all()
        assert (np.diff(grammar.emissions.from_class) > 0).all()  # every class has a tag


def test_coarse_rules_are_projections(model):
    fine, coarse = model.fine, model.coarse
    for rules, coarse_rules in ((fine.binary, coarse.binary), (fine.unary, coarse.unary)):
        assert {tuple(fine.coarse[rule]) for rule in rules} == {tuple(rule) for rule in coarse_rules.tolist()}
    assert fine.frequency.sum() == pytest.approx(1) and coarse.frequency.sum() == pytest.approx(1)


def test_signatures():
    assert signatures("Unhappily", True)[0] == "*i*ily" and signatures("Unhappily", False)[0] == "*C*ily"
    assert signatures("IBM-7", False) == ["*Ad-*", UNKNOWN] and signatures("...", False) == ["*s*", UNKNOWN]
    assert signatures("iPods", False)[:2] == ["*m*ods", "*m*ds"]
    assert signatures("a", False) == ["**", UNKNOWN] and signatures("12%", False) == ["*sd*", UNKNOWN]


@pytest.mark.parametrize("classes", [("the", "The", UNKNOWN), ("The", "the", UNKNOWN), (UNKNOWN, "the", "The")])
def test_word_classes_are_found_for_any_number_of_them(classes):
    """At the beginning of a sentence in lower case, elsewhere as they are written."""
    words = WordClasses(classes)
    for word, first, name in (("The", True, "the"), ("The", False, "The"), ("the", True, "the"), ("A", True, UNKNOWN)):
        assert words.class_of(word, first) == classes.index(name)


def test_word_classes():
    sentences = [["The", "cat", "sat"], ["The", "cat", "saw", "the", "1990s"], ["Cats", "saw", "1980s", "in", "1970s"]]
    words = WordClasses.learn(sentences, min_word_count=2, min_signature_count=1)
    assert list(words.classes)[:4] == ["0000s", "cat", "saw", "the"] and words.classes[len(words) - 1] == UNKNOWN
    number = words.classes.id_of
    assert words.class_of("The", True) == number("the") and words.class_of("The", False) not in (number("the"), -1)
    assert words.class_of("2020s", False) == number("0000s")
    assert words.class_of("mat", False) == number("**t") >= 0  # as "sat"
    assert words.class_of("Zyx9-", False) == number(UNKNOWN)
    assert words.word_id("**t", False) == -1
    assert words.encode(["The", "mat"]).dtype == np.int32
    assert WordClasses(words.classes).classes == words.classes


def test_only_the_first_word_of_a_sentence_is_rare_as_a_first_one():
    words = WordClasses.learn([["Mopsy", "hopped"]], min_word_count=2, min_signature_count=1)
    assert signatures("Mopsy", True)[0] in words.classes and signatures("hopped", False)[0] in words.classes
    assert signatures("Mopsy", False)[0] not in words.classes


def test_a_shorter_ending_counts_only_what_no_longer_one_took():
    words = WordClasses.learn([["we", "walking", "talking", "king"]], min_word_count=2, min_signature_count=2)
    assert list(words.classes) == ["**ing", "**", UNKNOWN]


def test_long_sentences_are_left_out(sample):
    lengths = [len(training_tree(s, Recipe.TM2006).words) for s in sample]
    most = sorted(lengths)[len(lengths) // 2]
    model = train_pcfg(sample, PcfgOptions(recipe=Recipe.TM2006, max_words=most))
    assert model.meta["sentences"] == sum(n <= most for n in lengths)
    assert model.meta["sentences"] + model.meta["left_out"] == len(sample)
    assert model.recipe == Recipe.TM2006.steps


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Markov(vertical=0), "vertical order 0; give 1"),
        (lambda: Markov(horizontal=-1), "horizontal order -1; give 0, 1, 2"),
        (lambda: Markov(binarisation="middle"), "binarisation 'middle'; choose one of left, right"),
        (lambda: PcfgOptions(max_words=0), "max_words is 0; it must be a whole number from 1, or None"),
        (lambda: PcfgOptions(min_word_count=None), "min_word_count is None"),
        (lambda: PcfgOptions(variant_weight=0.0), "variant_weight is 0.0; it must be a number above 0"),
    ],
)
def test_bad_options(make, message):
    with pytest.raises(ConfigError, match=message):
        make()


def test_bad_data(sample):
    with pytest.raises(TrainingDataError, match="all 0 sentences were left out"):
        train_pcfg([])
    with pytest.raises(TrainingDataError, match="or a larger max_words than 1"):
        train_pcfg(sample[:3], PcfgOptions(max_words=1))


def run_command(*arguments: str) -> None:
    options = build_parser().parse_args(["train-pcfg", *arguments])
    options.call(options)


@pytest.mark.kernel
def test_the_command_and_evaluate(tmp_path, capsys):
    out = tmp_path / "deep" / "sample.pcfg"
    run_command(
        "--corpus", str(SAMPLE.parent), "--names", "sample", "--recipe-steps", "tm2006", "--horizontal", "2",
        "--smoothing", "2", "--max-words", "40", "--out", str(out),
    )  # fmt: skip
    printed = capsys.readouterr().out
    assert "grammar: " in printed and "binary and" in printed and f"{out}: " in printed
    (record,) = evaluate(out, [TreebankFile(SAMPLE / "dev.mrg", limit=5)], ("gold",), (0,))
    assert record["all"]["f1"] == pytest.approx(29 / 33) and sum(record["status"].values()) == 5
    with pytest.raises(ConfigError, match="no training data"):
        run_command("--out", str(out))
    with pytest.raises(SystemExit):
        run_command("--out", str(out), "--horizontal", "-1")
