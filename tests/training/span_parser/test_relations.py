"""Span networks that learn to predict relations of dependencies as well."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from spacy_dtparse.core import load_parser
from spacy_dtparse.errors import ConfigError, TrainingDataError
from spacy_dtparse.span_parser.features import WordParts
from spacy_dtparse.trees import Tree
from tests.span_models import count_parts
from training.data.corpus import Sentence
from training.data.relations import add_relations, directional_relations, list_relations, with_relations
from training.data.spans import chain_ids, count_chains, make_example
from training.data.treebanks import TreebankFile
from training.span_parser.fitting import SpanOptions, make_training_data, stored_options
from training.span_parser.jackknife import jackknifed_marginals
from training.span_parser.network import Dropout, Shape, SpanTrainer, init_relation_values, init_span_values
from training.span_parser.running import SpanSources, parse_settings, train_span_parser

TREE = Tree.from_spans(
    ["Anna", "liest", "ein", "Buch"],
    ["PROPN", "VERB", "DET", "NOUN"],
    [(0, 4, "TOP"), (0, 4, "S"), (0, 1, "NP"), (1, 4, "VP"), (2, 4, "NP")],
)
RELATIONS = ("nsubj>", "root", "det>", "obj<")
SENTENCE = Sentence(TREE, TREE.tags, "x", relations=RELATIONS)
ROWS = """1\tAnna\t_\tPROPN\t_\t_\t2\tnsubj:pass\t_\t_
2\tliest\t_\tVERB\t_\t_\t0\troot\t_\t_
3\tein\t_\tDET\t_\t_\t4\tdet\t_\t_
4\tBuch\t_\tNOUN\t_\t_\t2\tobj\t_\t_

"""
TEXT = "(TOP (S (NP (PROPN Anna)) (VP (VERB liest) (NP (DET ein) (NOUN Buch)))))\n"
SETTINGS = ["epochs=2", "batch_tokens=20", "shape.width=6", "shape.units=3", "shape.projection=4", "eval_every=9"]


def example():
    chains = ((), *count_chains([TREE]))
    words = WordParts.build(count_parts([(TREE.words, TREE.tags)]), 1, 1)
    made = make_example(SENTENCE, words, chain_ids(chains), Counter(TREE.words), 0.0)
    return words, chains, add_relations(made, SENTENCE, ("det>", "nsubj>", "obj<"))


def test_a_relation_says_where_the_head_is() -> None:
    assert directional_relations([1, -1, 3, 1], ["nsubj:pass", "root", "det", "obj"]) == RELATIONS


def test_rare_relations_are_not_listed() -> None:
    others = [replace(SENTENCE, relations=("nsubj>", "root", "det>", "obl<"))]
    assert list_relations([SENTENCE] * 4 + others) == ("det>", "nsubj>", "root")
    assert list_relations([replace(SENTENCE, relations=())]) == ()


def test_an_example_has_the_indices_of_relations() -> None:
    assert example()[2].relations.tolist() == [-1, 1, -1, 0, 2, -1], "none for the edges and what is not listed"
    without = replace(SENTENCE, relations=())
    assert add_relations(replace(example()[2], relations=None), without, ("det>",)).relations is None


@pytest.mark.kernel
def test_derivatives_are_those_of_small_changes() -> None:
    words, chains, one = example()
    batch = [one, replace(one, relations=None), replace(one, weight=0.5)]
    rng = np.random.default_rng(0)
    values = init_span_values(words.size, len(chains), Shape(5, 3, 2, 4), rng) | init_relation_values(3, 3, rng)
    values["bilinear"][:] = 0  # as in test_span
    trainer = SpanTrainer(values, Dropout(), relation_weight=0.7)
    trainer.add_gradients(batch, None)
    gradients = {name: slope.copy() for name, slope in trainer.gradients.items()}
    for name in ("relations", "relation_bias", "weights1", "recurrent"):
        flat = values[name].reshape(-1)
        for place in rng.integers(flat.size, size=4):
            kept, step = flat[place], np.float32(2e-2)
            flat[place] = kept + step
            above = sum(trainer.add_gradients(batch, None)[0])
            flat[place] = kept - step
            below = sum(trainer.add_gradients(batch, None)[0])
            flat[place] = kept
            assert gradients[name].reshape(-1)[place] == pytest.approx((above - below) / (2 * step), abs=3e-3), name


@pytest.mark.kernel
def test_the_model_has_no_parameters_of_relations(tmp_path) -> None:
    folder = tmp_path / "x"
    folder.mkdir()
    (folder / "train.mrg").write_text(TEXT * 6, "utf8")
    (folder / "train.conllu").write_text(ROWS * 6, "utf8")
    sizes = []
    for weight in (0.0, 0.5):
        options, out = parse_settings([*SETTINGS, f"relation_weight={weight}"], (0,)), tmp_path / f"{weight}.model"
        train_span_parser(SpanSources([TreebankFile(folder / "train.mrg")]), options, {"lang": "de"}, out, workers=1)
        model = load_parser(out).model
        sizes.append({name: array.shape for name, array in model.packed[0].arrays.items()})
        assert ("relation_weight" in model.meta["options"]) == (weight > 0)
    assert sizes[0] == sizes[1]


@pytest.mark.kernel
def test_networks_of_folds_learn_relations_too(tmp_path) -> None:
    folder = tmp_path / "x"
    folder.mkdir()
    (folder / "train.mrg").write_text(TEXT * 20, "utf8")
    (folder / "train.conllu").write_text(ROWS * 20, "utf8")
    options = parse_settings([*SETTINGS, "relation_weight=0.5"], (0,))
    files = [TreebankFile(folder / "train.mrg")]
    assert jackknifed_marginals(files, 2, options, tmp_path / "work", tmp_path / "out", workers=1)[0].is_file()


def test_what_is_missing_is_said(tmp_path) -> None:
    with pytest.raises(TrainingDataError, match="give a CoNLL-U treebank"):
        make_training_data([replace(SENTENCE, relations=())], (), SpanOptions(relation_weight=0.5))
    with pytest.raises(TrainingDataError, match="there is no file"):
        with_relations([SENTENCE], tmp_path / "none.conllu")
    (tmp_path / "two.conllu").write_text(ROWS, "utf8")
    with pytest.raises(TrainingDataError, match="other sentences"):
        with_relations([SENTENCE, SENTENCE], tmp_path / "two.conllu")
    with pytest.raises(ConfigError, match="relation_weight"):
        SpanOptions(relation_weight=-1)


def test_options_without_relations_are_stored_as_before() -> None:
    assert "relation_weight" not in stored_options(SpanOptions())
    assert stored_options(SpanOptions(relation_weight=0.5))["relation_weight"] == 0.5
