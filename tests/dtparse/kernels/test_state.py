"""States of the four strategies: legality, inference, paths; against plain objects written from the
definitions."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest

from spacy_dtparse.dtparse.features.lexicon import Lexicon
from spacy_dtparse.dtparse.kernels import atoms
from spacy_dtparse.jit.decorator import callable_from_python
from spacy_dtparse.trees import Recipe
from spacy_dtparse.trees.heads import COLLINS
from tests.jit.harness import KERNEL_MARKS, SLOW, STRATEGIES, TAGS, KernelState, sentence, small_lexicon
from tests.reference.states import SHIFT, Rules, correct_right_to_left, spans
from tests.reference.states import random_tree as random_gold
from training.data.corpus import read_treebank, training_tree
from training.dtparse.oracle import derivation

pytestmark = KERNEL_MARKS


@pytest.mark.parametrize("edge_punctuation", [True, False])
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_every_reachable_state_of_tiny_sentences(strategy, edge_punctuation):
    """The kernels offer the reference's windows and inferences in every state, in its order, and build its
    nodes."""
    cases = [(("NP", "TOP"), 3, 3), (("NP", "TOP"), 4, 2), (("NP", "VP", "TOP"), 2, 5)]
    n_states = 0
    for labels, n, arity in cases[: 2 if SLOW else 3]:
        lexicon = small_lexicon(labels)
        rules = Rules(strategy, labels, COLLINS, arity, edge_punctuation)
        words, tags = ("the", ",", "cat", ",")[:n], ("DT", ",", "NN", ",")[:n]
        stack = [(KernelState.start(rules, lexicon, words, tags), rules.start(tags))]
        met = set()
        while stack:
            kernel, state = stack.pop()
            assert kernel.agrees(state)
            assert kernel.complete() == rules.is_complete(state)
            assert kernel.windows() == rules.windows(state)
            assert kernel.candidates() == rules.candidates(state)
            met.add(state)
            if not rules.is_complete(state):
                for action in rules.candidates(state):
                    after = rules.apply(state, *action)
                    if after not in met:
                        new = kernel.copy()
                        new.apply(*action)
                        stack.append((new, after))
        assert met == {state for state, _ in rules.reachable(tags)}
        n_states += len(met)
    assert n_states > (30 if edge_punctuation else 15)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_random_walks_in_longer_sentences(strategy):
    rng = random.Random(strategy)
    for round_ in range(5 if SLOW else 40):
        arity, edges = rng.choice([2, 3, 5]), rng.random() < 0.6
        lexicon = small_lexicon(("NP", "VP", "PP", "TOP"))
        rules = Rules(strategy, lexicon.labels.strings, COLLINS, arity, edges)
        words, tags = sentence(rng, rng.randint(1, 14))
        kernel, state = KernelState.start(rules, lexicon, words, tags), rules.start(tags)
        steps = 0
        while not rules.is_complete(state):
            assert kernel.windows() == rules.windows(state)
            actions = rules.candidates(state)
            assert kernel.candidates() == actions
            if not actions:
                assert not edges, f"stuck in round {round_}"
                break
            action = rng.choice(actions)
            kernel.apply(*action)
            state = rules.apply(state, *action)
            assert kernel.agrees(state)
            steps += 1
        assert kernel.complete() == rules.is_complete(state)
        assert steps >= len(words) or not edges or len(state.frontier) == 1


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_paths_to_a_state(strategy):
    """Under an ordered strategy one path leads to each state; bottom-up has several, and all strategies
    meet the same complete trees."""
    labels = ("NP", "VP", "TOP")
    rules = Rules(strategy, labels, COLLINS, 3)
    tags = ("DT", "NN") if SLOW else ("DT", "NN", "VBD")
    paths = list(rules.reachable(tags))
    several = sum(1 for _, count in paths if count > 1)
    assert (several > 0) == (strategy == "bottom_up")
    trees = {state.frontier[0] for state, _ in paths if rules.is_complete(state)}
    # chains over a token: none, NP, VP, NP VP, VP NP; over more tokens, not none
    of_two = 25 * 4
    assert len(trees) == (of_two if len(tags) == 2 else (125 + 2 * of_two * 5) * 4)


def test_the_correct_right_to_left_inference_is_the_derivation():
    """T&M's definition: the rightmost gold constituent whose children are all on the frontier."""
    rng = random.Random(11)
    lexicon = small_lexicon(("NP", "VP", "PP", "TOP"))
    rules = Rules("r2l", lexicon.labels.strings, COLLINS, 4)
    for _ in range(40):
        _, tags = sentence(rng, rng.randint(1, 9))
        tree = random_gold(rng, tags, lexicon.labels.strings, 4)
        state = rules.start(tags)
        for i, j, label in derivation(tree, lexicon.labels, "r2l").tolist():
            action = (i, j, lexicon.labels[label])
            assert correct_right_to_left(state, tree) == action
            assert action in rules.candidates(state)
            state = rules.apply(state, *action)
        assert correct_right_to_left(state, tree) is None and rules.is_complete(state)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_derivations_of_random_trees_are_legal_and_replay_to_the_tree(strategy):
    rng = random.Random(5)
    lexicon = small_lexicon(("NP", "VP", "PP", "TOP"))
    rules = Rules(strategy, lexicon.labels.strings, COLLINS, 5)
    for seed in range(4 if SLOW else 25):
        words, tags = sentence(rng, rng.randint(1, 12))
        tree = random_gold(rng, tags, lexicon.labels.strings, 5)
        kernel, state = KernelState.start(rules, lexicon, words, tags), rules.start(tags)
        for i, j, label in derivation(tree, lexicon.labels, strategy, seed).tolist():
            low, name = kernel.low, SHIFT if label == len(lexicon.labels) else lexicon.labels[label]
            action = (i - low, j - low, name)
            assert action in rules.candidates(state)
            kernel.apply(*action)
            state = rules.apply(state, *action)
        assert kernel.complete() and kernel.agrees(state)
        assert spans(state) == tree.spans()


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_every_sample_tree_comes_out_of_its_derivation(strategy):
    """Nodes of any arity too: an illegal action is still applied."""
    folder = Path(__file__).parents[3] / "assets" / "sample"
    sentences = [s for name in ("train", "dev") for s in read_treebank(folder / f"{name}.mrg")]
    trees = [training_tree(sentence, Recipe.PLAIN) for sentence in sentences]
    labels = [*sorted({label for tree in trees for label in tree.labels} - {"TOP"}), "TOP"]
    lexicon = Lexicon.build(labels, sorted({tag for tree in trees for tag in tree.tags}), ["*rare*"], "NN")
    rules = Rules(strategy, tuple(labels), COLLINS)
    over = 0
    for tree in trees[:: 40 if SLOW else 1]:
        kernel = KernelState.start(rules, lexicon, tree.words, tree.tags, reach=1)
        for i, j, label in derivation(tree, lexicon.labels, strategy).tolist():
            name = SHIFT if label == len(labels) else labels[label]
            over += j - i > 5
            kernel.apply(i - kernel.low, j - kernel.low, name)
        assert kernel.complete()
        n, used = len(tree.words), int(kernel.nodes.used[0])
        items = range(used - 1, n - 1, -1)  # later items first: of a chain the upper
        item = kernel.nodes.item
        built = [(int(item[x]["start"]), int(item[x]["end"]), int(item[x]["label"])) for x in items]
        built.sort(key=lambda span: (span[0], -span[1]))
        assert [(start, end, labels[label]) for start, end, label in built] == tree.spans()
        heads = {(int(item[x]["start"]), int(item[x]["end"])): int(item[x]["head"]) for x in items}
        expected = COLLINS.heads(tree)
        for span, head in zip(tree.spans(), expected, strict=True):
            assert heads[span[:2]] == head
        assert len(tree.child_lists()) == len(built)
    assert over > 0 or SLOW


def test_bottom_up_derivations_differ_by_seed_and_agree_in_the_tree():
    lexicon = small_lexicon(("NP", "VP", "PP", "TOP"))
    tree = random_gold(random.Random(3), TAGS * 2, lexicon.labels.strings, 3)
    paths = {derivation(tree, lexicon.labels, "bottom_up", seed).tobytes() for seed in range(8)}
    assert len(paths) > 1
    again = {derivation(tree, lexicon.labels, "bottom_up", 3).tobytes() for _ in range(2)}
    assert len(again) == 1


def test_hashes_are_those_of_the_models():
    """Atoms of boosted trees are named by these hashes, so model files depend on them (splitmix64's finaliser)."""
    mask, rng = 2**64 - 1, random.Random(1)
    mix, fold = callable_from_python(atoms.mix), callable_from_python(atoms.fold)
    one, two, three = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB
    for _ in range(20):
        state, value, key = rng.getrandbits(64), rng.randrange(-1, 2**20), rng.getrandbits(64)
        z = (state ^ (value + 2)) * one & mask
        z = (z ^ z >> 30) * two & mask
        z = (z ^ z >> 27) * three & mask
        assert int(mix(np.uint64(state), np.int64(value))) == z ^ z >> 31
        z = ((state << 1 & mask) ^ state >> 31 ^ key) * one & mask
        z = (z ^ z >> 30) * two & mask
        assert int(fold(np.uint64(state), np.uint64(key))) == z ^ z >> 31
