"""`spacy_dtparse.constituents_suggester.v1`: its candidates, and a spancat in spaCy's training loop with it."""

from __future__ import annotations

import pickle
from configparser import ConfigParser
from itertools import product
from pathlib import Path

import numpy as np
import pytest
import spacy
from spacy.cli.init_config import init_config
from spacy.cli.train import train
from spacy.tokens import Doc, DocBin
from spacy.training import Example
from spacy.util import registry
from thinc.api import NumpyOps

import spacy_dtparse
from spacy_dtparse.errors import ConfigError, NotParsedError
from spacy_dtparse.pipeline.corpus import doc_from_trees
from spacy_dtparse.pipeline.suggester import ConstituentsSuggester
from spacy_dtparse.trees import parse_trees

from ..documents import blocks
from .conftest import make_nlp

NAME = "spacy_dtparse.constituents_suggester.v1"
TREES = """
(TOP (S (NP-SBJ (DT The) (JJ old) (NN dog)) (VP (VBD slept) (PP (IN in) (NP (NN hay)))) (. .)))
(TOP (S (NP (PRP She)) (VP (VBD laughed))))
"""


@pytest.fixture
def doc():
    return doc_from_trees(parse_trees(TREES), spacy.blank("en").vocab)


def candidates(doc: Doc, **settings) -> list[str]:
    return [doc[start:end].text for start, end in ConstituentsSuggester(**settings).ranges(doc).tolist()]


def labelled(doc: Doc) -> list[tuple[str, str]]:
    """The spans of a spancat."""
    return [(span.text, span.label_) for span in doc.spans["sc"]]


def test_constituents_once_by_start_then_end(doc):
    assert candidates(doc, tokens=False) == [
        "The old dog",
        "The old dog slept in hay.",
        "slept in hay",
        "in hay",
        "hay",
        "She",
        "She laughed",
        "laughed",
    ]
    every = candidates(doc)
    assert every[:2] == ["The", "The old dog"] and len(every) == len(set(every)) == 8 + 6
    assert candidates(doc, tokens=False, labels=("NP",)) == ["The old dog", "hay", "She"]
    assert candidates(doc, tokens=False, labels=("NP-SBJ", "PP")) == ["The old dog", "in hay"]
    assert candidates(doc, tokens=False, min_size=2, max_size=3) == [
        "The old dog",
        "slept in hay",
        "in hay",
        "She laughed",
    ]


def test_neighbours_below_one_constituent(doc):
    def added(most: int, **settings) -> set[str]:
        return set(candidates(doc, siblings=most, **settings)) - set(candidates(doc, **settings))

    assert added(2) == {"The old", "old dog", "The old dog slept in hay", "slept in hay."}
    assert added(9) == added(4) == added(2), "three below S are all of it; nothing crosses sentences"
    assert added(4, tokens=False) == added(4)
    assert added(4, labels=("NP",)) == {"The old", "old dog"}


def test_a_batch_has_lengths_and_may_have_empty_docs(doc, nlp):
    suggester = registry.misc.get(NAME)()
    blank = nlp("\n ")
    found = suggester([nlp.make_doc(""), doc, blank, doc], ops=NumpyOps())
    assert found.lengths.tolist() == [0, 14, 0, 14] and found.lengths.dtype == np.int32
    assert found.dataXd.shape == (28, 2) and found.dataXd.dtype == np.int32
    assert (found.dataXd[:14] == suggester.ranges(doc)).all() and (found.dataXd[14:] == found.dataXd[:14]).all()
    assert suggester([]).dataXd.shape == suggester([blank]).dataXd.shape == (0, 2)
    spaced = nlp("The old  cat \n sat.")
    texts = candidates(spaced, siblings=4)
    assert "The old  cat" in texts and all(text == text.strip() and text for text in texts)
    assert pickle.loads(pickle.dumps(suggester)) == suggester


def test_docs_without_constituents(doc):
    unparsed = spacy.blank("en")("It was cold.")
    with pytest.raises(NotParsedError, match=r"'It was cold\.' has no constituents .* annotating_components"):
        ConstituentsSuggester()([doc, unparsed])
    with pytest.raises(NotParsedError, match=r"doc\.spans\['mine'\]"):
        ConstituentsSuggester(spans_key="mine")([doc])
    edge = next(c for c in doc._.constituents if c.start and c.end < len(doc))
    with doc.retokenize() as retokenizer:
        retokenizer.merge(doc[edge.start - 1 : edge.start + 1])
    with pytest.raises(NotParsedError, match="merged or split after parsing"):
        ConstituentsSuggester()([doc])


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"labels": []}, "setting 'labels' is .*; it must be a list of labels"),
        ({"labels": "NP"}, "setting 'labels' is 'NP'; it must be a list of labels"),
        ({"siblings": 0}, "setting 'siblings' is 0; it must be a whole number from 1"),
        ({"min_size": 3, "max_size": 2}, "max_size = 2 is below min_size = 3"),
        ({"spans_key": ""}, "setting 'spans_key' is ''"),
    ],
)
def test_invalid_settings(settings, message):
    with pytest.raises(ConfigError, match=message):
        registry.misc.get(NAME)(**settings)


def test_spancat_learns_and_comes_back_from_disk(model_file, tmp_path):
    """The config names the suggester; the error of training without annotating components says what is missing."""
    nlp = make_nlp(model_file)
    suggester = {"@misc": NAME, "labels": ["NP"], "tokens": False}
    spancat = nlp.add_pipe("spancat", config={"suggester": suggester, "spans_key": "sc"})
    gold = nlp.make_doc("The old cat sat.")
    gold.spans["sc"] = [gold.char_span(0, 11, label="who")]
    example = Example(nlp.make_doc(gold.text), gold)
    with nlp.select_pipes(enable=["spancat"]):
        optimizer = nlp.initialize(lambda: [example])
    with pytest.raises(NotParsedError, match="annotating_components"):
        nlp.update([example], sgd=optimizer)
    for _ in range(30):
        fresh = Example(nlp.make_doc(gold.text), gold)
        nlp.update([fresh], sgd=optimizer, annotates=["sentencizer", "list_tagger", "dtparse"])
    assert labelled(nlp(gold.text)) == [("The old cat", "who")]
    nlp.to_disk(tmp_path / "pipeline")
    loaded = spacy.load(tmp_path / "pipeline")
    assert (
        loaded.get_pipe("spancat").suggester == spancat.suggester == ConstituentsSuggester(labels=("NP",), tokens=False)
    )
    assert loaded.config["components"]["spancat"]["suggester"]["labels"] == ["NP"]
    assert labelled(loaded(gold.text)) == [("The old cat", "who")]


WHO = ("the old dog", "my sister", "a tall woman from the village", "the boy who lives next door", "nobody")
DID = ("slept", "waited", "laughed")
WHERE = ("in the garden", "behind the house of my uncle", "at home", "on the bench that we painted")


def sentences() -> list[tuple[str, list[tuple[int, int, str]]]]:
    """Sentences with the characters of the subject and the place."""
    found = []
    for who, did, where in product(WHO, DID, WHERE):
        text = f"{who[0].upper()}{who[1:]} {did} {where}."
        place = len(who) + len(did) + 2
        found.append((text, [(0, len(who), "who"), (place, place + len(where), "where")]))
    return found


def sections(text: str) -> dict[str, dict[str, str]]:
    """The sections of a configuration, and their lines as keys and values."""
    reader = ConfigParser(interpolation=None)
    reader.optionxform = str
    reader.read_string(text)
    return {name: dict(reader[name]) for name in reader.sections()}


@pytest.mark.slow
@pytest.mark.embedded
def test_spacy_train_with_the_sections_of_the_documentation(tmp_path, monkeypatch):
    """The default configuration of spaCy with the sections of docs/spancat.md; it finds spans in new sentences."""
    monkeypatch.chdir(tmp_path)
    spacy_dtparse.load().to_disk("en_dtparse")
    (block,) = [block for block in blocks("docs/spancat.md", "ini") if NAME in block.text]
    config = sections(init_config(lang="en", pipeline=["spancat"], silent=True).to_str())
    for name, lines in sections(block.text).items():
        config[name] = config[name] | lines if name == "training" else lines
    config["training"] |= {"max_epochs": "12", "eval_frequency": "1000"}
    text = "".join(
        f"[{name}]\n" + "".join(f"{key} = {value}\n" for key, value in lines.items()) for name, lines in config.items()
    )
    Path("config.cfg").write_text(text, encoding="utf8")
    blank = spacy.blank("en")
    parts: dict[str, list[Doc]] = {"train": [], "dev": []}
    for number, (text, spans) in enumerate(sentences()):
        doc = blank(text)
        doc.spans["sc"] = [doc.char_span(*span) for span in spans]
        parts["dev" if number % 5 == 0 else "train"].append(doc)
    for part, docs in parts.items():
        DocBin(docs=docs).to_disk(f"{part}.spacy")
    train("config.cfg", "out", overrides={"paths.train": "train.spacy", "paths.dev": "dev.spacy"})
    nlp = spacy.load("out/model-last")
    assert nlp.pipe_names == ["tagger", "dtparse", "tok2vec", "spancat"]
    doc = nlp("A tall dog from the village waited behind the garden.")
    assert labelled(doc) == [("A tall dog from the village", "who"), ("behind the garden", "where")]
    scores = nlp.evaluate([Example(nlp.make_doc(doc.text), doc) for doc in parts["dev"]])
    assert scores["spans_sc_f"] > 0.95
