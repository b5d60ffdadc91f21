"""The model files that are changed: one or two small ones of every kind."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import numpy as np

from spacy_dtparse.bpm_parser.parser import DependencyParser
from spacy_dtparse.dtparse.features.lexicon import Lexicon
from spacy_dtparse.dtparse.features.tables import get_templates
from spacy_dtparse.dtparse.features.templates import compile_templates
from spacy_dtparse.dtparse.kernels.atoms import AtomMap
from spacy_dtparse.dtparse.kernels.features import PARTS_WIDTH
from spacy_dtparse.dtparse.kernels.pruning import LEVELS
from spacy_dtparse.dtparse.model.model import DtreeModel, hash_table
from spacy_dtparse.dtparse.model.window_filter import WindowFilter
from spacy_dtparse.dtparse.parser import DtreeParser
from spacy_dtparse.pcfgla.model.latent_part import Emissions, LatentPart
from spacy_dtparse.pcfgla.model.model import TAG, PcfgGrammar, PcfgModel
from spacy_dtparse.pcfgla.parser import PcfgParser
from spacy_dtparse.recurrent_tagger.tagger import RecurrentTagger
from spacy_dtparse.span_parser.features import WordParts
from spacy_dtparse.span_parser.model import SpanModel
from spacy_dtparse.span_parser.parser import SpanParser
from spacy_dtparse.spine_tagger.tagger import SequenceTagger
from spacy_dtparse.trees.heads import COLLINS
from spacy_dtparse.trees.tree import TOP
from tests import dependency_models, recurrent_models, span_models, tagger_models
from tests.jit.harness import hand_made
from tests.reference.decision_trees import flatten, random_tree
from training.data.corpus import read_treebank
from training.pcfgla import Markov, PcfgOptions, train_pcfg

SAMPLE = Path(__file__).resolve().parents[2] / "assets" / "sample" / "train.mrg"


def bases() -> dict[str, bytes]:
    """Model files by name: the kind, and after a dash its special feature."""
    window_filter = WindowFilter(
        np.random.default_rng(0).integers(-90, 90, 64).astype(np.int16), (0.001, 0.01), (-200, 100)
    )
    plain = pcfg()
    parsers = {
        "dtree": DtreeParser(replace(hand_made("shift_reduce", seed=1).model, window_filter=window_filter)),
        "dtree-bottom": DtreeParser(hand_made("bottom_up", seed=2, table="standard").model),
        "dtree-span-model": DtreeParser(with_span_model()),
        "span": SpanParser(with_aliases(span_models.with_attach_table(span_models.random_model(2)))),
        "pcfg": PcfgParser(plain),
        "pcfg-latent": PcfgParser(
            replace(plain, latent=(latent(plain, 1), latent(plain, 2)), pruners=(latent(plain, 3),))
        ),
        "dependency": DependencyParser(dependency_models.random_model(2)),
        "dependency-guide": DependencyParser(
            dependency_models.random_model(2, decoder="spanning", guide="constituents")
        ),
        "recurrent": RecurrentTagger(recurrent_models.random_model()),
        "tagger": SequenceTagger(tagger_models.random_tagger()),
    }
    return {name: parser.to_bytes() for name, parser in parsers.items()}


def with_aliases(model: SpanModel) -> SpanModel:
    """The model with tags of another tag set."""
    return replace(model, words=WordParts(model.words.tables, {"XX": "NN", "ADD": "NN", "NNP": "NN"}))


def pcfg() -> PcfgModel:
    """A grammar of a few sentences."""
    sentences = [sentence for sentence in read_treebank(SAMPLE) if len(sentence.tree.words) <= 8][:12]
    return train_pcfg(sentences, PcfgOptions(Markov(1, 0, "left", 1), given_tags=False))


def latent(model: PcfgModel, seed: int) -> LatentPart:
    """A grammar with two latent values of every symbol but the root's, and random probabilities."""
    rng, coarse = np.random.default_rng(seed), model.coarse
    sizes = np.full(len(coarse.names), 2, dtype=np.int32)
    sizes[model.root(coarse)] = 1
    unary = np.column_stack([coarse.unary, np.full(len(coarse.unary), -1)])
    rules = np.concatenate([coarse.binary, unary]).astype(np.int32)
    wide = np.append(sizes, 1)
    values = 0.2 * rng.random(int(wide[rules].prod(axis=1).sum()))
    first = np.concatenate([[0], np.cumsum(sizes)])
    entries = [[first[s] + x for s in _symbols(coarse, c) for x in range(sizes[s])] for c in range(len(model.words))]
    from_class = np.cumsum([0, *map(len, entries)])
    symbol = np.concatenate(entries).astype(np.int32)
    floor = np.where(np.repeat(coarse.kind == TAG, sizes), -9.0, np.nan)
    return LatentPart(sizes, rules, values, Emissions(from_class, symbol, -3 * rng.random(len(symbol)), floor))


def _symbols(grammar: PcfgGrammar, number: int) -> list[int]:
    low, high = grammar.emissions.from_class[number : number + 2]
    return grammar.emissions.symbol[low:high].tolist()


def with_span_model() -> DtreeModel:
    """Random trees over a random span network."""
    rng, numbers = random.Random(0), np.random.default_rng(0)
    span_parser = SpanParser(span_models.with_attach_table(span_models.random_model(1)))
    labels, tags = (*span_parser.labels, TOP), span_parser.model.words.tables[1].strings
    words = ("*rare*", "the", "cat", "dog", "sat", "on")
    lexicon = Lexicon.build(labels, tags, words, "NN", chains=span_parser.chain_names)
    templates, n_atoms = get_templates("standard_read"), 60
    direct = np.full(compile_templates(templates, lexicon.sizes)[1], -1, dtype=np.int32)
    direct[numbers.choice(len(direct), n_atoms, replace=False)] = np.arange(n_atoms)
    none = np.zeros(0, dtype=np.int32)
    trees = [[random_tree(rng, n_atoms, rng.randint(1, 4)) for _ in range(5)] for _ in range(len(labels) + 1)]
    table = numbers.integers(0, 2 ** len(labels), (2, LEVELS, len(lexicon.chains) + 1)).astype(np.uint64)
    return DtreeModel(
        lexicon,
        templates,
        COLLINS,
        "shift_reduce",
        8,
        True,
        ("drop_repeated_unary",),
        AtomMap(direct, *hash_table(none, none), np.array([n_atoms, 0, 0], dtype=np.int64)),
        np.zeros((n_atoms, PARTS_WIDTH), dtype=np.int32),
        tuple(flatten(own, rng) for own in trees),
        {"lang": "en"},
        span_model=span_parser.to_bytes(),
        labels=table,
    )
