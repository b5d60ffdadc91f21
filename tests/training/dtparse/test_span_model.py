"""Boosted trees with a span model: training, files, parsing, explanations."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from spacy_dtparse.core import load_parser
from spacy_dtparse.core.marginals import SpanMarginals
from spacy_dtparse.core.self_test import self_test_sentences
from spacy_dtparse.dtparse.features.marginals import with_marginals
from spacy_dtparse.dtparse.parser import DtreeParser
from spacy_dtparse.errors import DtparseError, ModelFormatError, TrainingDataError
from spacy_dtparse.models import embedded_model
from spacy_dtparse.span_parser.pretrained_parser import PretrainedSpanParser
from spacy_dtparse.trees.unattached import unattached_tokens
from tests.jit.harness import SLOW
from tests.span_models import random_pretrained_model
from training.__main__ import main
from training.data.evaluate import parse_sentences, score_trees
from training.data.marginals import read_marginals, save_marginals
from training.data.treebanks import TreebankFile
from training.dtparse.fit import BoostingRun, load_span_parser, train_boosted_parser
from training.dtparse.recipe import FitRecipe
from training.dtparse.training_set import Resources

pytestmark = pytest.mark.skipif(SLOW, reason="minutes without the JIT")

SAMPLE = Path(__file__).resolve().parents[3] / "assets" / "sample"
RECIPE = {
    "templates": "standard_read",
    "filter_bits": 0,
    "min_atom_count": 3,
    "n_workers": 1,
    "path": {"decay": 0.3, "lambda_start": 30.0, "lambda_floor": 0.3, "quiet": True},
}
TRAIN, DEV = f"{SAMPLE / 'train.mrg'},limit=400", f"{SAMPLE / 'dev.mrg'},limit=40"


@pytest.fixture(scope="module")
def span_parser():
    return load_span_parser("en")


@pytest.fixture(scope="module")
def parser(span_parser, tmp_path_factory: pytest.TempPathFactory) -> DtreeParser:
    folder = tmp_path_factory.mktemp("read")
    files = [TreebankFile.parse(text) for text in (TRAIN, DEV)]
    recipe = FitRecipe.from_dict(RECIPE)
    resources = Resources(span_parser)
    train_boosted_parser(recipe, files[:1], files[1:], folder / "fit", folder / "model", resources=resources)
    return DtreeParser.from_disk(folder / "model")


@pytest.mark.slow
def test_a_span_model_improves_accuracy(parser: DtreeParser, tmp_path: Path) -> None:
    files = [TreebankFile.parse(text) for text in (TRAIN, DEV)]
    without = FitRecipe.from_dict({**RECIPE, "templates": "standard"})
    train_boosted_parser(without, files[:1], files[1:], tmp_path / "fit", tmp_path / "model")
    dev = files[1].read()
    ours, words = (
        score_trees(dev, parse_sentences(one, dev))[0].to_dict()["all"]["f1"]
        for one in (parser, load_parser(tmp_path / "model"))
    )
    assert ours > words + 0.03 and ours > 0.92


@pytest.mark.slow
def test_batches_copies_and_files_give_the_same_parses(parser: DtreeParser, tmp_path: Path) -> None:
    dev = [(s.tree.words, s.tags) for s in TreebankFile.parse(DEV).read()]
    wanted = [parser.parse(*sentence) for sentence in dev]
    parser.to_disk(tmp_path / "model")
    again = load_parser(tmp_path / "model")
    assert again.to_bytes() == parser.to_bytes() and parser.parse_batch(dev) == wanted == again.parse_batch(dev)
    statuses = [result.status for result in wanted]
    assert statuses.count("optimal") > 0.9 * len(dev) and set(statuses) <= {"optimal", "complete", "fallback"}
    greedy = parser.with_settings(budget=0)
    assert greedy.span_parser is parser.span_parser
    assert {greedy.parse(*one).status for one in dev} <= {"greedy", "fallback"}
    words, tags = next(iter(self_test_sentences(*parser.vocabulary)))
    assert parser.parse(words, tags).tree.words == tuple(words)
    long = "cat " * 450
    found = parser.parse(long.split(), ["NN"] * 450)
    assert found.tree.n_tokens == 450 and found.status in ("greedy", "fallback")


@pytest.mark.slow
def test_the_fallback_is_the_span_parsers_tree(parser: DtreeParser) -> None:
    words, tags = "The old cat sat on the mat .".split(), "DT JJ NN VBD IN DT NN .".split()
    nothing = replace(parser.model, max_arity=2, labels=np.zeros_like(parser.model.labels))
    lost = DtreeParser(nothing, parser.settings.with_changes(budget=0), span_parser=parser.span_parser)
    found = lost.parse(words, tags)
    assert found.status == "fallback" and found.tree == parser.span_parser.parse(words, tags).tree


def test_a_model_and_its_span_model_belong_together(parser: DtreeParser) -> None:
    other = replace(parser.model.lexicon, chains=type(parser.model.lexicon.chains)(("", "X")))
    with pytest.raises(Exception, match=r"table of the span model's labels|other label chains"):
        DtreeParser(replace(parser.model, lexicon=other))
    data = bytearray(parser.to_bytes())
    data[len(data) // 2] ^= 255
    with pytest.raises(ModelFormatError):
        DtreeParser.from_bytes(bytes(data))
    assert load_span_parser(save(parser)).model.fingerprint() == parser.span_parser.model.fingerprint()
    with pytest.raises(ModelFormatError, match="the span model must be of kind 'span'"):
        load_span_parser(embedded_model("en_trees"))


def save(parser: DtreeParser) -> Path:
    """Write a parser to a temporary folder."""
    import tempfile

    path = Path(tempfile.mkdtemp()) / "model"
    parser.to_disk(path)
    return path


@pytest.mark.slow
def test_trees_over_a_pretrained_encoder(tmp_path: Path) -> None:
    model = replace(random_pretrained_model(), meta={"name": "random", "lang": "en", "treebanks": []})
    PretrainedSpanParser(model).to_disk(tmp_path / "span")
    files = [TreebankFile.parse(f"{SAMPLE / part}") for part in ("train.mrg,limit=60", "dev.mrg,limit=9")]
    recipe = FitRecipe.from_dict({**RECIPE, "path": {**RECIPE["path"], "lambda_floor": 10.0}})
    resources = Resources(load_span_parser(tmp_path / "span"))
    train_boosted_parser(recipe, files[:1], files[1:], tmp_path / "fit", tmp_path / "model", resources=resources)
    parser = load_parser(tmp_path / "model")
    assert parser.span_parser.name == "pretrained" == load_span_parser(tmp_path / "model").name
    dev = [(s.tree.words, s.tags) for s in files[1].read()]
    found = parser.parse_batch(dev)
    assert found == [parser.parse(*sentence) for sentence in dev]
    assert len(parser.parse_k_best(*dev[0], 2)) == 2 and parser.span_posteriors(*dev[0])


def test_templates_must_fit_the_span_model(span_parser, tmp_path: Path) -> None:
    sentences = TreebankFile.parse(TRAIN).read()
    with pytest.raises(TrainingDataError, match="test span marginals; give a span model"):
        BoostingRun(FitRecipe.from_dict(RECIPE), sentences, [], tmp_path / "a")
    with pytest.raises(TrainingDataError, match="test no span marginals; set the recipe's templates=standard_read"):
        recipe = FitRecipe.from_dict({**RECIPE, "templates": "standard"})
        BoostingRun(recipe, sentences, [], tmp_path / "b", resources=Resources(span_parser))


def test_explanations_name_span_marginals(parser: DtreeParser) -> None:
    words, tags = "The old cat sat on the mat .".split(), "DT JJ NN VBD IN DT NN .".split()
    parser = parser.with_settings(marginal_weight=0.0, commit_threshold=1.0)
    result = parser.parse(words, tags)
    decisions = parser.explain(words, tags)
    posteriors = decisions.posteriors
    assert posteriors[0, 3, "NP"] > 0.9 and not [span for span in posteriors if span[:2] == (2, 5)]
    scored, groups = 0, set()
    for constituent in range(len(result.tree)):
        reasons = decisions.decision(constituent).reasons
        h = sum(rule.value for rule in reasons.rules)
        assert sum(group.value for group in reasons.groups) == pytest.approx(h)
        groups.update(group.name for group in reasons.groups)
        if result.costs[constituent] > 0:  # where the span model is confident, nothing is scored
            assert math.log1p(math.exp(-h)) == pytest.approx(result.costs[constituent], rel=1e-9)
            scored += 1
    assert scored and "span model on this span" in groups
    assert parser.span_posteriors(words, tags) == parser.span_parser.span_posteriors(words, tags)
    with pytest.raises(DtparseError, match="has no span model, so it gives no probabilities"):
        DtreeParser(replace(parser.model, span_model=b""), span_parser=None).span_posteriors(words, tags)


def test_the_span_parser_attaches_unattached_tokens(parser: DtreeParser, span_parser) -> None:
    words, tags = "The dog barks .".split(), "DT NN VBZ .".split()
    label_id = span_parser.labels.index
    items = np.array([[0, 4, label_id("S")], [2, 3, label_id("VP")]], dtype=np.int32)
    encoded = span_parser.encode([(words[:2], tags[:2]), (words, tags)])

    def attach(items: np.ndarray) -> tuple[list[list[int]], list[float]] | None:
        return span_parser.attach(tags, items, np.zeros(len(items)), encoded, 1)

    found = attach(items)
    assert found is not None and found[0] == [[0, 4, label_id("S")], [0, 2, label_id("NP")], [2, 3, label_id("VP")]]
    assert found[1][0] == found[1][2] == 0 and 0 < found[1][1] < 0.1
    assert attach(np.array(found[0], dtype=np.int32)) is None
    items = np.array([[0, 4, label_id("NP")]], dtype=np.int32)  # words with no VP or S next to them are not unattached
    assert attach(items) is None
    for sentence in TreebankFile.parse(DEV).read():
        for attached in (False, True):
            tree = parser.with_settings(attach_unattached=attached).parse(sentence.tree.words, sentence.tags).tree
            assert tree.n_tokens == len(sentence.tags) and (not attached or not unattached_tokens(tree))


def test_repeated_labels_of_a_span_come_from_the_span_model(parser: DtreeParser) -> None:
    names = parser.model.lexicon.labels
    top, s, np_, vp = (names.id_of(label) for label in ("TOP", "S", "NP", "VP"))
    repairs = DtreeParser(parser.model, parser.settings, span_parser=parser.span_parser).repairs
    repairs._repeated_chains = {1: [np_, np_], 2: [s, vp, s]}
    columns = parser.model.lexicon.encode("The dog barks .".split(), "DT NN VBZ .".split())
    items = np.array([[0, 4, top], [0, 4, s], [0, 2, np_], [2, 3, vp]], dtype=np.int32)
    costs = np.array([0.0, 0.1, 0.2, 0.3])

    def found(chain: int, prob: float, span: tuple[int, int] = (0, 2)) -> tuple[list, list]:
        row = np.array([span], np.int32), np.array([0.99]), np.array([[chain, -1]], np.int32), np.array([[prob, 0.0]])
        more = repairs._add_repeated_unaries(with_marginals(columns, SpanMarginals(*row)), items, costs)
        return more[0].tolist(), more[1].tolist()

    same = items.tolist(), costs.tolist()
    twice = [[0, 4, top], [0, 4, s], [0, 2, np_], [0, 2, np_], [2, 3, vp]], [0.0, 0.1, 0.2, 0.2, 0.3]
    assert found(1, 0.6) == twice and found(1, 0.4) == same and found(3, 0.9) == same
    assert found(2, 0.9) == same, "the trees have another label there"
    assert found(1, 0.9, (2, 3)) == same and found(1, 0.9, (1, 2)) == same


@pytest.mark.slow
def test_jackknifed_marginals_are_of_networks_that_have_not_seen_the_trees(tmp_path: Path) -> None:
    small = [
        "epochs=3",
        "batch_tokens=100",
        "warmup_steps=10",
        "ema_decay=0.9",
        "learning_rate=0.005",
        "min_word_count=1",
        "shape.width=16",
        "shape.units=12",
        "shape.layers=1",
        "shape.projection=12",
    ]
    command = ["jackknife-marginals", "--train", TRAIN, "--folds", "2", "--workers", "1", "--set", *small]
    command += ["--workdir", str(tmp_path / "work"), "--out", str(tmp_path / "out")]
    assert main(command) == 0
    (path,) = (tmp_path / "out").iterdir()
    chains, lengths, marginals = read_marginals(path)
    trees = TreebankFile.parse(TRAIN).read()
    assert lengths == [len(s.tags) for s in trees] and chains[0] == "" and "NP" in chains
    assert all(
        ((one.chain_probs.sum(axis=1) <= one.span_probs + 1e-5) & (one.span_probs > 0)).all() for one in marginals
    )
    first = path.read_bytes()
    assert main(command) == 0 and path.read_bytes() == first, "a finished run is not repeated"
    read = TreebankFile.parse(f"{TRAIN},marginals={path}").read()
    assert all((a.marginals.spans == b.spans).all() for a, b in zip(read, marginals, strict=True) if a.marginals)
    save_marginals(path, chains, lengths[1:], marginals[1:])
    with pytest.raises(TrainingDataError, match="has the marginals of other sentences"):
        TreebankFile.parse(f"{TRAIN},marginals={path}").read()
    assert main([*command[:3], "--folds", "1", *command[5:]]) == 1
