"""A tagger by word list, and pipelines with the rule parser in place of a trained one."""

from __future__ import annotations

import pytest
import spacy
from spacy.language import Language
from spacy.tokens import Doc

import spacy_dtparse.parsers
from spacy_dtparse.pipeline.component import FACTORIES, DtParse, PcfgLa

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
    data = source if isinstance(source, bytes) else spacy_dtparse.parsers.read_model(source)
    return RuleParser.from_bytes(data) if data.startswith(MAGIC) else REAL_LOAD(data)


REAL_LOAD = spacy_dtparse.parsers.load_parser


@pytest.fixture(autouse=True)
def rule_parser_loads(monkeypatch):
    monkeypatch.setattr(spacy_dtparse.parsers, "load_parser", load_rule_or_real)


@pytest.fixture
def model_file(tmp_path):
    path = tmp_path / "rule.model"
    path.write_bytes(RuleParser("from the file").to_bytes())
    return path


COMPONENTS = {"dtparse": DtParse, "pcfgla": PcfgLa}
both_factories = pytest.mark.parametrize("factory", FACTORIES)
"""What holds for the components of both factories."""


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
