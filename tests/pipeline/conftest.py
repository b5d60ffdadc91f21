"""A tagger by word list, pipelines with the rule parser instead of a trained one, and small dependency models."""

from __future__ import annotations

from importlib import import_module

import pytest
import spacy
from spacy.language import Language
from spacy.tokens import Doc

import spacy_dtparse.core
from spacy_dtparse.core.registry import CONSTITUENT_FACTORIES

from ..documents import ROOT
from .rule_parser import MAGIC, RuleParser

TAGS = {
    "the": "DT", "a": "DT", "old": "JJ", "cat": "NN", "dog": "NN", "mat": "NN", "she": "PRP", "it": "PRP",
    "sat": "VBD", "saw": "VBD", "sleeps": "VBZ", "run": "VB", "on": "IN", "quietly": "RB",
    "(": "-LRB-", ")": "-RRB-",    ".": ".", ",": ",", "hello": "UH",
}  # fmt: skip


@Language.component("list_tagger", assigns=["token.tag"])
def list_tagger(doc: Doc) -> Doc:
    for token in doc:
        token.tag_ = "_SP" if token.is_space else TAGS.get(token.lower_, "NN")
    return doc


def load_rule_or_real(source):
    data = source if isinstance(source, bytes) else spacy_dtparse.core.read_model(source)
    return RuleParser.from_bytes(data) if data.startswith(MAGIC) else REAL_LOAD(data)


REAL_LOAD = spacy_dtparse.core.load_parser


@pytest.fixture(autouse=True)
def rule_parser_loads(monkeypatch):
    monkeypatch.setattr(spacy_dtparse.core, "load_parser", load_rule_or_real)


@pytest.fixture
def model_file(tmp_path):
    path = tmp_path / "rule.model"
    path.write_bytes(RuleParser("from the file").to_bytes())
    return path


COMPONENTS = {
    factory: next(
        one
        for one in vars(import_module(f"spacy_dtparse.{factory}.component")).values()
        if getattr(one, "factory", "") == factory
    )
    for factory in CONSTITUENT_FACTORIES
}
both_factories = pytest.mark.parametrize("factory", CONSTITUENT_FACTORIES)
"""For tests of the components of all these factories."""


def make_nlp(model_file, factory="dtparse", **config):
    nlp = spacy.blank("en")
    nlp.add_pipe("sentencizer")
    nlp.add_pipe("list_tagger")
    nlp.add_pipe(factory, config={"model": str(model_file), **config})
    return nlp


@pytest.fixture
def factory():
    return "dtparse"


@pytest.fixture
def nlp(model_file, factory):
    return make_nlp(model_file, factory)


@pytest.fixture(scope="session")
def latent_parser():
    """A parser of two small grammars with latent annotations, which choose the tags, and one that prunes for them."""
    from spacy_dtparse.pcfgla.parser import PcfgParser
    from training.data.corpus import read_treebank
    from training.pcfgla.latent_training import LatentOptions, train_latent

    options = LatentOptions(cycles=3, iterations=3, merge_iterations=1, smooth_iterations=1, seeds=(0, 1))
    sentences = read_treebank(ROOT / "assets" / "sample" / "train.mrg", limit=60)
    return PcfgParser(train_latent(sentences, options, meta={"name": "tiny", "lang": "en"}))


def train_links(folder, limit=None, change=None, **options):
    """Train a small dependency parser on the sample trees; `change` replaces the columns of a sentence."""
    from dataclasses import replace

    from spacy_dtparse.bpm_parser.parser import DependencyParser
    from training.bpm_parser.fitting import train_dependency_model
    from training.bpm_parser.options import DependencyOptions
    from training.bpm_parser.running import read_treebank_file

    sentences = read_treebank_file(str(ROOT / "assets" / "sample" / "train.mrg"), "en")[:limit]
    if change is not None:
        sentences = [replace(sentence, columns=change(sentence.columns)) for sentence in sentences]
    small = {"members": 2, "epochs": 3, "stages": 2, "label_members": 1, **options}
    meta = {"name": "tiny", "lang": "en"}
    return DependencyParser(train_dependency_model(sentences, [], DependencyOptions(**small), folder, meta))


N_TRAINING_TREES = 60
"""Number of trees on which the dependency parser of the tests is trained."""


@pytest.fixture(scope="session")
def link_parser(tmp_path_factory):
    """A dependency parser with two stages and labels."""
    return train_links(tmp_path_factory.mktemp("links"), N_TRAINING_TREES)


@pytest.fixture(scope="session")
def stored_link_model(link_parser, tmp_path_factory):
    path = tmp_path_factory.mktemp("link_model") / "links.model"
    link_parser.to_disk(path)
    return path


@pytest.fixture
def link_model(stored_link_model, tmp_path):
    """A model file that the test may remove."""
    path = tmp_path / "links.model"
    path.write_bytes(stored_link_model.read_bytes())
    return path


def make_links_nlp(model, **config):
    """Make a pipeline of a tagger and bpm_parser; if the model is None, it comes from the data on disk."""
    nlp = spacy.blank("en")
    nlp.add_pipe("sentencizer")
    nlp.add_pipe("list_tagger")
    nlp.add_pipe("bpm_parser", config={"model": None if model is None else str(model), **config})
    return nlp


@pytest.fixture
def linked(link_model):
    return make_links_nlp(link_model)


def tree_of(doc):
    """The annotation that bpm_parser writes."""
    return [(token.head.i, token.dep_, token.is_sent_start) for token in doc]
