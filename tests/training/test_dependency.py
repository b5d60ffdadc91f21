"""Training of dependency parsers: treebanks, learners against their twins, runs that go on where they stopped."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest

import training.dependency.fitting
import training.dependency.learning
from spacy_dtparse.errors import ConfigError, TrainingDataError
from spacy_dtparse.features.linkparts import LinkParts, TextRules, TokenColumns
from spacy_dtparse.kernels.feature_table import make_slots
from spacy_dtparse.kernels.guides import make_guide
from spacy_dtparse.kernels.links import tree_keys
from spacy_dtparse.model.dependency import pack_links, write_model
from spacy_dtparse.parsers import load_dependency_parser
from spacy_dtparse.trees import parse_tree
from spacy_dtparse.trees.heads import COLLINS
from tests.reference.dependencies import is_projective as twin_is_projective
from tests.reference.dependencies import is_tree, online_pass, trees
from tests.unit.kernels.harness import SLOW
from training.cli import main
from training.dependency.corpus import DependencySentence, from_tree, is_projective, read_conllu, tree_problem
from training.dependency.fitting import LinkTable, fit_model, judge, make_examples
from training.dependency.kernels import label_pass, mira_pass, perceptron_pass
from training.dependency.labelling import label_list, train_labels
from training.dependency.learning import folds_of, learn, members_weights, train_member
from training.dependency.listing import Example, feature_keys, open_listing, write_listing
from training.dependency.options import DependencyOptions
from training.dependency.running import read_treebank_file
from training.processes import worker_pool

SAMPLE = Path(__file__).resolve().parents[2] / "assets" / "sample"
CONLLU = SAMPLE / "dependencies.conllu"

FEW = DependencyOptions(
    stages=2, members=2, epochs=2, folds=2, guide_members=1, label_members=1, label_epochs=2, seed=3
)

BOUNDS = {"projective": (0.96, 0.95), "spanning": (0.98, 0.96)}
"""UAS and LAS of what CONLLU teaches, on CONLLU; two of its links are in no projective tree."""


def sentences() -> list[DependencySentence]:
    return list(read_conllu(CONLLU))


def row(number: object, word: str = "a", head: object = 0, label: str = "dep", pos: str = "X") -> str:
    return f"{number}\t{word}\t{word}\t{pos}\tT\t_\t{head}\t{label}\t_\t_\n"


def written(folder: Path, text: str) -> Path:
    path = folder / "some.conllu"
    path.write_bytes(text.encode())
    return path


def test_a_sentence_of_a_file(tmp_path: Path) -> None:
    lines = "# text = Dogs bark\n1\tDogs\tdog\tNOUN\tNNS\tNumber=Plur\t2\tnsubj\t_\t_\n"
    lines += "2\tbark\t_\tVERB\t_\t_\t0\troot\t_\tSpaceAfter=No\n3\t_\t_\tPUNCT\t_\t_\t2\tpunct\t_\t_\n"
    (found,) = read_conllu(written(tmp_path, lines))
    assert found.columns == TokenColumns(
        ("Dogs", "bark", "_"), ("NNS", "", "_"), ("NOUN", "VERB", "PUNCT"), ("dog", "", "_")
    )
    assert found.heads == (2, 0, 2) and found.labels == ("nsubj", "root", "punct")
    assert found.punctuation == (False, False, True) and found.source == "some"


def test_ranges_empty_nodes_comments_and_blank_lines_are_passed_over(tmp_path: Path) -> None:
    text = "\n\n# one\n1-2\tab" + "\t_" * 8 + "\n" + row(1) + row(2, head=1) + "# in between\n"
    text += "2.1\tgone" + "\t_" * 8 + "\n" + row(3, head=1) + " \n\n\n# two\n" + row(1, "a\u00a0b c", label="top")
    first, second = read_conllu(written(tmp_path, text), "web")
    assert first.heads == (0, 1, 1) and first.source == second.source == "web"
    assert second.columns.words == ("a_b_c",), "words have no white space"
    assert second.labels == ("root",), "whatever the file calls it"


def test_line_ends_do_not_matter(tmp_path: Path) -> None:
    text = CONLLU.read_text(encoding="utf8")
    windows = list(read_conllu(written(tmp_path, text.replace("\n", "\r\n")), CONLLU.stem))
    assert windows == sentences() and list(read_conllu(written(tmp_path, text.rstrip()), CONLLU.stem)) == windows


def test_the_sample_has_what_it_is_there_for() -> None:
    text, found = CONLLU.read_text(encoding="utf8"), sentences()
    assert len(found) >= 12 and text.count("# text = ") == len(found)
    assert "\n1-2\t" in text and "\n1.1\t" in text
    assert sum(not is_projective(sentence.heads) for sentence in found) == 2
    assert len({sentence.columns.words for sentence in found}) == len(found)
    for sentence in found:
        assert all(all(column) and len(column) == len(sentence.heads) for column in sentence.columns[:4])
        for tag, mark in zip(sentence.columns.pos, sentence.punctuation, strict=True):
            assert mark == (tag == "PUNCT")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (row(1) + "\n" + row(1).replace("\t", " "), r"some\.conllu:3: 1 columns; CoNLL-U has 10, with tabs between"),
        (row(1) + "2\ta\n", r"some\.conllu:2: 2 columns"),
        (row(1) + row(3, head=1), r"some\.conllu:2: token '3' where 2 is next; is a blank line missing before it\?"),
        (row(1) + row(1), r"some\.conllu:2: token '1' where 2 is next"),
        ("\n" + row(2), r"some\.conllu:2: token '2' where 1 is next"),
        (row(1, head="_"), r"some\.conllu:1: the head is '_'; it must be a token's number, or 0 for the root"),
        (row(1, head=-1), r"some\.conllu:1: the head is '-1'"),
        (row(1, head="²"), r"some\.conllu:1: the head is '²'"),
        (row(1) + "\n# x\n" + row(1, head=1), r"some\.conllu:4: in the sentence that begins here, 0 tokens have"),
        (row(1) + row(2) + row(3, head=1), r"some\.conllu:1: in the sentence .* 2 tokens have the head 0; exactly one"),
        (row(1) + row(2, head=9), r"some\.conllu:1: .* token 2 has the head 9; allowed are 0 to 2"),
        (row(1) + row(2, head=3) + row(3, head=2) + "\n", r"some\.conllu:1: .* cycle of heads \(2 -> 3 -> 2\)"),
    ],
)
def test_what_is_no_conllu_is_said_with_its_line(text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(TrainingDataError, match=message):
        list(read_conllu(written(tmp_path, text)))


def test_what_is_no_text_is_said(tmp_path: Path) -> None:
    path = tmp_path / "some.conllu"
    path.write_bytes(row(1).encode() + b"\n\xff")
    with pytest.raises(TrainingDataError, match=r"some\.conllu: this is not UTF-8 \(.* at byte"):
        list(read_conllu(path))


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_problems_of_trees(n: int) -> None:
    for heads in product(range(n + 1), repeat=n):
        assert (tree_problem(heads) == "") == is_tree((-1, *heads)), heads
    for heads in trees(n):
        assert is_projective(heads[1:]) == twin_is_projective(heads)
    assert "has the head 7; allowed are 0 to 2" in tree_problem([0, 7])
    assert "0 tokens have the head 0" in tree_problem([])
    assert "token 1 is on or below a cycle" in tree_problem([2, 3, 2, 0])


def test_projective_trees_of_five_tokens() -> None:
    for heads in trees(5):
        assert is_projective(heads[1:]) == twin_is_projective(heads)


def test_a_tree_of_constituents_becomes_links() -> None:
    tree = parse_tree("(TOP (S (NP (DT the) (NN cat)) (VP (VBD sat) (PP (IN on) (NP (DT the) (NN mat)))) (. .)))")
    found = from_tree(tree, COLLINS, source="x")
    assert found.heads == (2, 3, 0, 3, 6, 4, 3) and found.source == "x"
    assert found.labels == ("DT<NP", "NP<S", "root", "PP<VP", "DT<NP", "NP<PP", ".<S")
    assert found.punctuation == (*[False] * 6, True)
    assert found.columns == TokenColumns(tree.words, tree.tags)
    tagged = from_tree(tree, COLLINS, ["XX"] * 7)
    assert tagged.columns.tags == ("XX",) * 7 and tagged.labels == found.labels, "labels are of the tree's own tags"
    assert tagged.punctuation == found.punctuation


def test_files_of_either_kind() -> None:
    assert read_treebank_file(str(CONLLU), "en") == sentences()
    found = read_treebank_file(f"{SAMPLE / 'train.mrg'}", "en")
    assert len(found) == 314 and all(is_projective(sentence.heads) for sentence in found)
    assert not any(tag == "-NONE-" for sentence in found for tag in sentence.columns.tags)
    assert read_treebank_file(f"{SAMPLE / 'train.mrg'},limit=5", "en") == found[:5]


def test_limits_and_blocks() -> None:
    text, found = str(SAMPLE / "train.mrg"), read_treebank_file(str(SAMPLE / "train.mrg"), "en")
    second, others = (read_treebank_file(f"{text},block={block}", "en") for block in ("2/3", "-2/3"))
    expected = [number for number in range(len(found)) if number // 10 % 3 == 1]
    assert second == [found[number] for number in expected]
    assert others == [sentence for number, sentence in enumerate(found) if number not in set(expected)]
    assert read_treebank_file(f"{text},block=2/3,limit=12", "en") == second[:12], "the limit is of the block"
    parts = [read_treebank_file(f"{text},block={k}/2", "en") for k in (1, 2)]
    assert len(parts[0]) + len(parts[1]) == 314 and read_treebank_file(f"{text},block=1/1", "en") == found


def test_tags_from_a_file(tmp_path: Path) -> None:
    found, tags = sentences(), tmp_path / "tags"
    lines = [" ".join(f"T{k}" for k in range(len(sentence.heads))) for sentence in found]
    tags.write_text("\n".join(lines) + "\n")
    tagged = read_treebank_file(f"{CONLLU},tags={tags}", "en")
    for line, one, other in zip(lines, tagged, found, strict=True):
        assert one == replace(other, columns=other.columns._replace(tags=tuple(line.split())))
    trees_of = read_treebank_file(f"{SAMPLE / 'dev.mrg'}", "en")
    tags.write_text("".join(" ".join(["T"] * len(s.heads)) + "\n" for s in trees_of))
    assert {
        tag for s in read_treebank_file(f"{SAMPLE / 'dev.mrg'},tags={tags}", "en") for tag in s.columns.tags
    } == {"T"}
    tags.write_text("\n".join(lines[:-1]))
    with pytest.raises(TrainingDataError, match=r"tags: 15 lines of tags for 16 sentences; give one for each"):
        read_treebank_file(f"{CONLLU},tags={tags}", "en")
    tags.write_text("\n".join([lines[0], "A B", *lines[2:]]))
    with pytest.raises(TrainingDataError, match=r"tags:2: 2 tags for 8 tokens; give one for each"):
        read_treebank_file(f"{CONLLU},tags={tags}", "en")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("weight=3", "'weight' is no option; allowed are tags=PATH, limit=N, block=K/N"),
        ("limit=-1", "the limit is '-1'; it must be a whole number"),
        ("limit=x", "the limit is 'x'"),
        *((f"block={text}", "give K/N or -K/N with K from 1 to N") for text in ("0/3", "4/3", "1", "1/x", "--1/2", "")),
    ],
)
def test_options_of_files_are_checked(options: str, message: str) -> None:
    for path in (CONLLU, SAMPLE / "dev.mrg"):
        with pytest.raises(ConfigError, match=message):
            read_treebank_file(f"{path},{options}", "en")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"decoder": "x"}, "decoder is 'x'; it must be one of projective, spanning"),
        ({"method": "x"}, "method is 'x'; it must be one of perceptron, mira"),
        ({"stages": 5}, "stages is 5; at most 4 are allowed"),
        ({"stages": 0}, "stages is 0; it must be a whole number from 1"),
        ({"folds": 1}, "folds is 1; it must be a whole number from 2"),
        ({"members": 1.0}, "members is 1.0; it must be a whole number from 1"),
        ({"epochs": True}, "epochs is True"),
        ({"label_members": -1}, "label_members is -1; it must be a whole number from 0"),
        ({"step": 0}, "step is 0; it must be above 0"),
        ({"step": float("nan")}, "step is nan"),
    ],
)
def test_options_are_checked(given: dict, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        DependencyOptions(**given)


class Listing:
    """Random features of all links of a few short sentences, for kernels and twins."""

    def __init__(self, seed: int, n_features: int = 25):
        rng = np.random.default_rng(seed)
        self.n_features, self.sentences = n_features, []
        features, ends, gold = [], [], []
        self.feature_from, self.end_from, self.gold_from = [0], [0], [0]
        for n in (1, 2, 4, 3) if SLOW else (1, 2, 4, 3, 4, 2, 4):
            lists: dict[tuple[int, int], list[int]] = {}
            own: list[int] = []
            for head in range(n + 1):
                for d in range(1, n + 1):
                    if head != d:
                        lists[head, d] = rng.choice(n_features, rng.integers(0, 5), replace=False).tolist()
                        own += lists[head, d]
                    ends.append(len(own))
            heads = trees(n)[rng.integers(len(trees(n)))]
            features += own
            gold += heads
            self.sentences.append((lists, heads))
            for places, size in ((self.feature_from, features), (self.end_from, ends), (self.gold_from, gold)):
                places.append(len(size))
        self.features, self.ends, self.gold = (np.array(part, np.int32) for part in (features, ends, gold))

    @property
    def arrays(self) -> tuple[np.ndarray, ...]:
        starts = [np.array(places) for places in (self.feature_from, self.end_from, self.gold_from)]
        return self.features, starts[0], self.ends, starts[1], self.gold, starts[2]


def dense(weights: dict[int, float], n: int) -> np.ndarray:
    return np.array([weights.get(feature, 0.0) for feature in range(n)])


@pytest.mark.kernel
@pytest.mark.filterwarnings("ignore:overflow encountered:RuntimeWarning")
@pytest.mark.parametrize("projective", [True, False])
@pytest.mark.parametrize("most", [None, 1 / 16, 10.0])
def test_passes_are_those_of_the_twin(most: float | None, projective: bool) -> None:
    """Steps are exact unless MIRA takes its full ones, with which these data have no equals."""
    for seed in range(1 if SLOW else 4):
        listing, rng = Listing(seed), np.random.default_rng(seed)
        n = listing.n_features
        weights, sums, clock, change = np.zeros(n), np.zeros(n), 1.0, np.zeros(n)
        twin: dict[int, float] = {}
        total: dict[int, float] = {}
        steps = 0
        for _ in range(3):
            order = rng.permutation(len(listing.sentences))
            if most is None:
                wrong, clock = perceptron_pass(order, *listing.arrays, weights, sums, clock, projective)
            else:
                given = order, *listing.arrays, weights, sums, clock, projective, most, change
                wrong, clock = mira_pass(*given)
            assert wrong == online_pass(order.tolist(), listing.sentences, twin, projective, total, most)
            steps += len(order)
            assert clock == steps + 1 and not change.any()
            assert np.allclose(weights, dense(twin, n), atol=1e-12)
            # The weights before the first sentence, which are 0, count in the average, too.
            assert np.allclose(weights - sums / clock, dense(total, n) / (steps + 1), atol=1e-12)
        assert weights.any()


@pytest.mark.kernel
def test_a_pass_over_labels_is_that_of_plain_sums() -> None:
    rng, n_features, n_labels, root = np.random.default_rng(2), 12, 4, 0
    lists = [rng.choice(n_features, 3, replace=False) for _ in range(15)]
    gold = rng.integers(1, n_labels, 15).astype(np.int32)
    starts = np.arange(0, 48, 3)
    weights, sums = (np.zeros((n_features, n_labels), np.float32) for _ in range(2))
    listed, clock = np.concatenate(lists).astype(np.int32), 1.0
    plain, total, steps = np.zeros((n_features, n_labels)), np.zeros((n_features, n_labels)), 0
    for _ in range(3):
        order, expected = rng.permutation(15), 0
        wrong, clock = label_pass(order, listed, starts, gold, root, weights, sums, clock)
        for link in order:
            scores = plain[lists[link]].sum(axis=0)
            scores[root] = -np.inf
            best = int(scores.argmax())
            expected += best != gold[link]
            plain[lists[link], gold[link]] += 1
            plain[lists[link], best] -= 1
            total, steps = total + plain, steps + 1
        assert wrong == expected and np.array_equal(weights, plain)
        assert np.allclose(weights - sums / clock, total / (steps + 1), atol=1e-5)
    assert wrong < 15


def examples_of(found: list[DependencySentence], rules: TextRules | None = None) -> list[Example]:
    return make_examples(found, LinkParts.build((s.columns for s in found), rules or TextRules()))


@pytest.mark.parametrize("least", [1, 2, 3])
def test_features_are_those_of_gold_links_in_enough_sentences(least: int) -> None:
    examples = examples_of(sentences())
    counts: Counter[int] = Counter()
    for example in examples:
        room = np.zeros(100_000, np.uint64)
        counts.update(set(room[: tree_keys(example.atoms, make_guide(None), example.heads, room)].tolist()))
    keys = feature_keys(examples, least)
    assert keys.dtype == np.uint64 and keys.tolist() == sorted(key for key in counts if counts[key] >= least)


def test_a_listing_is_read_as_it_was_written(tmp_path: Path) -> None:
    examples = examples_of(sentences())
    keys = feature_keys(examples)
    listed = write_listing(examples, keys, tmp_path)
    again = open_listing(tmp_path)
    assert again.n_sentences == len(examples)
    assert all(np.array_equal(one, other) for one, other in zip(listed, again, strict=True))
    for number, example in enumerate(examples):
        n = len(example.heads) - 1
        assert np.array_equal(again.gold[again.gold_from[number] : again.gold_from[number + 1]], example.heads)
        ends = again.ends[again.end_from[number] : again.end_from[number + 1]]
        assert len(ends) == n * (n + 1) and ends[-1] == again.feature_from[number + 1] - again.feature_from[number]
        room = np.zeros(100_000, np.uint64)
        gold = set(room[: tree_keys(example.atoms, make_guide(None), example.heads, room)].tolist())
        own = again.features[again.feature_from[number] : again.feature_from[number + 1]]
        starts = np.concatenate([[0], ends[:-1]])
        links = [int(head) * n + d - 1 for d, head in enumerate(example.heads[1:], 1)]
        assert {int(keys[f]) for link in links for f in own[starts[link] : ends[link]]} == gold
    empty = write_listing(examples, np.zeros(0, np.uint64), tmp_path / "empty")
    assert len(empty.features) == 0 and not empty.ends.any()


@pytest.mark.parametrize("method", ["perceptron", "mira"])
def test_a_stage_is_the_mean_of_its_members(method: str, tmp_path: Path) -> None:
    options = replace(FEW, stages=1, members=3, method=method)
    told: list[dict] = []
    model = fit_model(sentences(), sentences()[:4], options, tmp_path, {}, None, lambda **facts: told.append(facts))
    examples = examples_of(sentences())
    keys = feature_keys(examples)
    members = list(members_weights(tmp_path / "stage0", [(0, member) for member in range(3)]))
    listed = open_listing(tmp_path / "stage0")
    for member, weights in enumerate(members):
        alone, wrong = learn(listed, len(keys), options, (0, member), np.arange(len(examples)))
        assert np.array_equal(alone, weights.astype(np.float32)) and weights.any()
        (fact,) = [fact for fact in told if fact.get("member") == member + 1]
        assert fact["wrong_links"] == wrong
    assert not np.array_equal(members[0], members[1]), "each has shuffles of its own"
    stage = pack_links(keys, sum(members) / 3)
    assert np.array_equal(stage.keys, model.stages[0].keys) and np.array_equal(stage.weights, model.stages[0].weights)
    table = LinkTable(*make_slots(keys))
    mean = table.weights(sum(members) / 3)
    right = sum(
        int((table.heads(e, mean, True) == e.heads)[1:].sum()) for e in examples_of(sentences())[:4]
    )
    (last,) = [fact for fact in told if fact.get("member") == 3]
    assert last["mean_uas"] == pytest.approx(100 * right / sum(len(s.heads) for s in sentences()[:4]))


class Killed(Exception):
    """Stands for a kill."""


@pytest.mark.parametrize("at", [2, 4, 5, 6])
def test_a_run_that_was_killed_goes_on_to_the_same_bytes(
    at: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    train = sentences()
    whole = write_model(fit_model(train, [], FEW, tmp_path / "whole", {"lang": "en"}))
    seen: list[dict] = []

    def killed(**facts) -> None:
        seen.append(facts)
        if len(seen) > at:
            raise Killed

    with pytest.raises(Killed):
        fit_model(train, [], FEW, tmp_path / "cut", {"lang": "en"}, None, killed)
    done = {path: path.read_bytes() for path in (tmp_path / "cut").glob("*/member-*.npz")}
    every = [path.relative_to(tmp_path / "whole") for path in (tmp_path / "whole").glob("*/member-*.npz")]
    assert 0 < len(done) < len(every) == 2 + 2 + 2
    learned = []

    def counted(*given):
        learned.append(given[3])
        return learn(*given)

    monkeypatch.setattr(training.dependency.learning, "learn", counted)
    again = write_model(fit_model(train, [], FEW, tmp_path / "cut", {"lang": "en"}))
    assert again == whole and len(learned) == len(every) - len(done), "what was finished is not learned again"
    assert all(path.read_bytes() == data for path, data in done.items())


def test_processes_learn_the_same(tmp_path: Path) -> None:
    options = replace(FEW, stages=1)
    alone = fit_model(sentences(), [], options, tmp_path / "one", {})
    with worker_pool(2) as pool:
        together = fit_model(sentences(), [], options, tmp_path / "two", {}, pool)
    assert write_model(alone) == write_model(together)


def test_a_workdir_of_another_run_is_refused(tmp_path: Path) -> None:
    train, options = sentences(), replace(FEW, stages=1, members=1, epochs=1, label_members=0)
    fit_model(train, [], options, tmp_path, {})
    fit_model(train, train[:2], options, tmp_path, {})  # other development data change nothing
    with pytest.raises(TrainingDataError, match=r"run with other options\.epochs \(was 1, now 2\); .*--workdir"):
        fit_model(train, [], replace(options, epochs=2), tmp_path, {})
    with pytest.raises(TrainingDataError, match=r"options\.rules\.stem \(was 'prefix', now 'first'\)"):
        fit_model(train, [], replace(options, rules=TextRules(stem="first")), tmp_path, {})
    with pytest.raises(TrainingDataError, match="a run with other sentences;"):
        fit_model(train[::-1], [], options, tmp_path, {})
    relabelled = [replace(train[0], labels=("x",) * len(train[0].labels)), *train[1:]]
    with pytest.raises(TrainingDataError, match="a run with other sentences;"):
        fit_model(relabelled, [], options, tmp_path, {})


def test_a_workdir_of_a_run_with_other_long_sentences_is_refused(tmp_path: Path) -> None:
    """Their words have numbers, too, on which all features hang."""
    train, options = sentences(), replace(FEW, stages=1, members=1, epochs=1, label_members=0, max_words=9)
    assert len(train[3].heads) > 9
    fit_model([train[3], *train], [], options, tmp_path, {})
    with pytest.raises(TrainingDataError, match="a run with other sentences;"):
        fit_model([train[5], *train], [], options, tmp_path, {})


def test_a_damaged_learner_is_said(tmp_path: Path) -> None:
    options = replace(FEW, stages=1, members=1, epochs=1, label_members=0)
    fit_model(sentences(), [], options, tmp_path, {})
    path = tmp_path / "stage0" / "member-0-0.npz"
    path.write_bytes(path.read_bytes()[:-40])
    with pytest.raises(TrainingDataError, match=r"member-0-0\.npz is no readable training state .*; delete that file"):
        fit_model(sentences(), [], options, tmp_path, {})


def test_folds_are_blocks_of_ten_sentences() -> None:
    assert folds_of(34, 3).tolist() == [0] * 10 + [1] * 10 + [2] * 10 + [0] * 4
    assert folds_of(0, 2).tolist() == []


def test_folds_never_learn_from_what_they_guide(tmp_path: Path) -> None:
    """Whatever the trees of a fold are, the learner of its guides has the same weights."""
    examples = examples_of(sentences())
    rng, folds = np.random.default_rng(0), folds_of(len(examples), 2)
    assert set(folds.tolist()) == {0, 1}
    keys = feature_keys(examples)
    write_listing(examples, keys, tmp_path / "true")
    for fold in (0, 1):
        folder = tmp_path / f"false{fold}"
        false = []
        for example, own in zip(examples, folds, strict=True):
            n = len(example.heads) - 1
            order = rng.permutation(n) + 1
            heads = np.full(n + 1, -1, np.int32)
            heads[order] = [0, *order[:-1]]
            false.append(replace(example, heads=heads) if own == fold else example)
        write_listing(false, keys, folder)
        for left_out in (fold, 1 - fold, -1):
            key = (9, fold, left_out + 1)
            weights = []
            for place in (tmp_path / "true", folder):
                train_member(place, len(keys), FEW, left_out, key)
                weights += members_weights(place, [key])
            assert weights[0].any() and np.array_equal(*weights) == (left_out == fold)


def test_guides_come_from_learners_of_the_other_folds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    chosen_by = {}

    def noted(listed, n_features, options, key, chosen):
        chosen_by[key] = set(chosen.tolist())
        return learn(listed, n_features, options, key, chosen)

    written_guides = []

    def listed_guides(examples, keys, folder):
        written_guides.append([example.guide for example in examples])
        return write_listing(examples, keys, folder)

    monkeypatch.setattr(training.dependency.learning, "learn", noted)
    monkeypatch.setattr(training.dependency.fitting, "write_listing", listed_guides)
    train = sentences()
    fit_model(train, [], replace(FEW, guide_members=2), tmp_path, {})
    everything, folds = set(range(len(train))), folds_of(len(train), 2)
    guiding = {key: chosen for key, chosen in chosen_by.items() if len(key) == 4}
    assert len(guiding) == 4 and len(chosen_by) == 4 + 4
    for (_, _, fold, _), chosen in guiding.items():
        assert chosen == everything - set(np.flatnonzero(folds == fold).tolist())
    assert all(chosen == everything for key, chosen in chosen_by.items() if len(key) == 2)
    examples = examples_of(train)
    keys = feature_keys(examples)
    table = LinkTable(*make_slots(keys))
    assert written_guides[0] == [None] * len(train)
    for number, (example, guide) in enumerate(zip(examples, written_guides[1], strict=True)):
        own = [key for key in guiding if key[2] == folds[number]]
        mean = sum(members_weights(tmp_path / "stage0", own)) / 2
        assert np.array_equal(table.heads(example, table.weights(mean), True), guide)


def test_labels_are_listed_by_frequency() -> None:
    assert label_list([("b", "root", "c"), ("c", "a", "root")]) == ("root", "c", "a", "b")
    assert label_list([("root",)]) == ("root",)


def test_labels_are_learned() -> None:
    train = sentences()
    labels, examples = [sentence.labels for sentence in train], examples_of(train)
    names = label_list(labels)
    options = replace(FEW, label_epochs=6, label_members=2)
    keys, weights = train_labels(examples, labels, names, options)
    assert weights.shape == (len(keys), len(names)) and not weights[:, 0].any(), "the root's is never a guess"
    members = [
        train_labels(examples, labels, names, replace(options, label_members=1))[1],
        weights * 2,
    ]
    assert not np.array_equal(*members), "another member has another shuffle"
    fewer, _ = train_labels(examples, labels, names, replace(options, label_least=3))
    assert 0 < len(fewer) < len(keys) and np.isin(fewer, keys).all()


def test_there_must_be_something_to_learn_from(tmp_path: Path) -> None:
    with pytest.raises(TrainingDataError, match=r"no sentence of at most 100 tokens \(max_words\) to learn from"):
        fit_model([], [], FEW, tmp_path, {})
    with pytest.raises(TrainingDataError, match="of at most 2 tokens"):
        fit_model([s for s in sentences() if len(s.heads) > 2], [], replace(FEW, max_words=2), tmp_path, {})


def test_most_features_are_kept_or_not(tmp_path: Path) -> None:
    model = fit_model(
        sentences(), [], replace(FEW, max_features=200, max_label_weights=150), tmp_path, {}
    )
    assert all(200 <= len(stage.keys) <= 400 for stage in model.stages), "with those that features with distance need"
    full = fit_model(sentences(), [], FEW, tmp_path / "full", {})
    assert all(len(stage.keys) > 400 for stage in full.stages)
    assert len(model.labels.weights) < len(full.labels.weights)


@pytest.mark.parametrize("decoder", ["projective", "spanning"])
def test_the_command_learns_the_sample_of_dependencies(
    decoder: str, tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    command = ["bpm", "--train", str(CONLLU), "--dev", str(CONLLU), "--decoder", decoder, "--source", "pos+tag"]
    command += ["--stem", "lemma", "--workers", "1", "--license", "CC0 1.0", "--name", "small", "--credit", "us"]
    command += ["--settings", "members=3", "epochs=5", "folds=2", "guide_members=1", "label_epochs=8", "seed=1"]
    assert main([*command, "--out", str(tmp_path / "a.model"), "--workdir", str(tmp_path / "work")]) == 0
    said = capsys.readouterr().out
    assert "a.model: 0." in said and "result UAS" in said and "guides_uas" in said
    parser = load_dependency_parser(tmp_path / "a.model")
    report = judge(parser, sentences()).to_dict()
    assert report == parser.meta["dev"]
    assert report["all"]["uas"] >= BOUNDS[decoder][0] and report["all"]["las"] >= BOUNDS[decoder][1], report
    assert (parser.source, parser.needs_lemmas, parser.describe()["decoder"]) == ("pos+tag", True, decoder)
    meta = parser.meta
    assert (meta["name"], meta["lang"], meta["license"], meta["credits"]) == ("small", "en", "CC0 1.0", ["us"])
    assert meta["sentences"] == 16 and meta["tokens"] == sum(len(s.heads) for s in sentences())
    assert meta["options"]["members"] == 3 and meta["options"]["rules"]["stem"] == "lemma"
    crossing = [s for s in sentences() if not is_projective(s.heads)]
    found = [tuple(head + 1 for head in parser.parse(s.columns).heads) for s in crossing]
    assert any(not is_projective(heads) for heads in found) == (decoder == "spanning")
    facts = [json.loads(line) for line in (tmp_path / "work" / "log.jsonl").read_text().splitlines()]
    assert sum("member" in fact for fact in facts) == 6 and facts[-1]["result"].startswith("UAS")
    assert main([*command, "--out", str(tmp_path / "b.model")]) == 0
    assert (tmp_path / "a.model").read_bytes() == (tmp_path / "b.model").read_bytes()


@pytest.mark.parametrize("decoder", ["projective", "spanning"])
def test_the_command_learns_the_sample_treebank(decoder: str, tmp_path: Path) -> None:
    train = f"{SAMPLE / 'train.mrg'},limit=120"
    command = ["bpm", "--train", train, "--decoder", decoder, "--workers", "2", "--out", str(tmp_path / "a.model")]
    command += ["--settings", "members=2", "epochs=3", "folds=2", "guide_members=1", "label_members=1"]
    assert main(command) == 0
    parser = load_dependency_parser(tmp_path / "a.model")
    report = judge(parser, read_treebank_file(train, "en")).to_dict()
    assert report["all"]["uas"] >= 0.95 and report["all"]["las"] >= 0.9, report
    dev = judge(parser, read_treebank_file(f"{SAMPLE / 'dev.mrg'}", "en")).to_dict()
    assert dev["all"]["uas"] > 0.5, dev


def test_the_command_says_what_cannot_be_used(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    out = ["--out", str(tmp_path / "a.model")]
    for given, message in (
        ([], "there is nothing to learn from; give --train FILE"),
        (["--train", str(CONLLU), "--decoder", "x"], "decoder is 'x'; it must be one of projective, spanning"),
        (["--train", str(CONLLU), "--source", "x"], "source is 'x'; it must be one of tag, pos, pos+tag"),
        (["--train", str(CONLLU), "--settings", "depth=3"], "there is no setting 'depth'"),
        (["--train", str(CONLLU), "--settings", "decoder=spanning"], "there is no setting 'decoder'"),
        (["--train", str(CONLLU), "--settings", "members=x"], "'x' is no int"),
        (["--train", str(tmp_path / "none.conllu")], "none.conllu: No such file"),
        (["--train", str(tmp_path / "none.mrg")], "there is no file"),
    ):
        assert main(["bpm", *given, *out]) == 1
        assert message in capsys.readouterr().err
    assert not (tmp_path / "a.model").exists()
