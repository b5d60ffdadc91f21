"""bpm_parser with a model that constituents guide."""

from __future__ import annotations

import warnings
from collections import Counter
from functools import partial

import pytest
from spacy.tokens import Doc

import spacy_dtparse
from spacy_dtparse.bpm_parser import component
from spacy_dtparse.bpm_parser.features import TextRules, TokenColumns
from spacy_dtparse.bpm_parser.parser import DependencyParser
from spacy_dtparse.core import load_dependency_parser
from spacy_dtparse.errors import ConfigError, DtparseError, MissingAnnotationError
from spacy_dtparse.models import open_parser
from spacy_dtparse.pipeline.attributes import to_tree
from spacy_dtparse.trees.heads import COLLINS, tree_guide
from training.bpm_parser.fitting import attachment_scores, train_dependency_model
from training.bpm_parser.options import DependencyOptions
from training.bpm_parser.running import add_guides, read_treebank_file

from ..documents import ROOT

pytestmark = pytest.mark.embedded
TEXT = "The old cat sat on the mat. She gave it to her friend in the garden."


@pytest.fixture(scope="module")
def guided(tmp_path_factory):
    """(A dependency parser trained on the sample and guided by the embedded constituent parser, its training
    sentences)."""
    sentences = read_treebank_file(f"{ROOT}/assets/sample/train.mrg,limit=120", "en")
    sentences = add_guides(open_parser("en_span"), sentences, "en")
    options = DependencyOptions(
        rules=TextRules(guide="constituents"), stages=2, members=2, epochs=3, folds=3, guide_members=1, label_members=1
    )
    model = train_dependency_model(sentences, (), options, tmp_path_factory.mktemp("guided"), {"lang": "en"})
    return DependencyParser(model), sentences


@pytest.fixture(scope="module")
def model_path(guided, tmp_path_factory):
    path = tmp_path_factory.mktemp("guided-model") / "model"
    guided[0].to_disk(path)
    return path


@pytest.fixture
def nlp(model_path):
    nlp = spacy_dtparse.load()
    nlp.add_pipe("bpm_parser", config={"model": str(model_path)})
    return nlp


def heads_of(doc):
    return [(token.head.i, token.dep_) for token in doc]


def test_it_learns_and_names_its_needs(guided):
    parser, sentences = guided
    assert parser.needs_guide and not parser.needs_lemmas
    assert attachment_scores(parser, sentences).to_dict()["all"]["uas"] > 0.97  # 0.99 when this was written
    assert load_dependency_parser(parser.to_bytes()).parse(sentences[0].columns) == parser.parse(sentences[0].columns)


def test_the_guide_changes_the_heads(guided):
    """With another tree as its guide the parser finds other heads."""
    parser, sentences = guided
    changed = 0
    for sentence in sentences[:30]:
        n = len(sentence.heads)
        flat = sentence.columns._replace(guide_heads=tuple(range(-1, n - 1)), guide_labels=("root",) * n)
        changed += parser.parse(flat).heads != parser.parse(sentence.columns).heads
    assert changed > 0


def test_the_pipeline_gives_it_the_constituents_of_the_doc(nlp, guided):
    doc = nlp(TEXT)
    for sent in doc.sents:
        words, tags = [t.text for t in sent], [t.tag_ for t in sent]
        guide = tree_guide(to_tree(sent), COLLINS)
        found = guided[0].parse(TokenColumns(words, tags, (), (), *guide))
        assert [t.head.i - sent.start if t.head.i != t.i else -1 for t in sent] == list(found.heads)


@pytest.mark.slow
def test_the_guide_is_the_same_in_any_batch_and_in_threads(nlp, model_path):
    texts = [TEXT, "  The old cat  sat.\n\nShe slept. ", "", "Run!"] * 5
    wanted = [heads_of(nlp(text)) for text in texts]
    for size in (1, 3, 100):
        assert [heads_of(doc) for doc in nlp.pipe(texts, batch_size=size)] == wanted
    threaded = spacy_dtparse.load()
    threaded.add_pipe("bpm_parser", config={"model": str(model_path), "threads": 2})
    assert [heads_of(doc) for doc in threaded.pipe(texts, batch_size=3)] == wanted


def test_words_tags_and_constituents_of_a_doc_are_read_once(nlp, monkeypatch):
    counts = Counter()

    def counted(name, real, *given):
        counts[name] += 1
        return real(*given)

    for name in ("read_words", "attribute_texts", "read_spans"):
        monkeypatch.setattr(component, name, partial(counted, name, getattr(component, name)))
    nlp(TEXT)
    assert counts == {"read_words": 1, "attribute_texts": 1, "read_spans": 1}


def test_without_constituents_the_error_says_what_to_do(model_path):
    nlp = spacy_dtparse.load("en_span", exclude=["span_parser"])
    nlp.add_pipe("bpm_parser", config={"model": str(model_path)})
    with pytest.raises(MissingAnnotationError, match=r"guided by constituents.*Put a constituent parser .* before"):
        nlp(TEXT)
    assert len(nlp("")) == 0
    caught = []
    nlp.set_error_handler(lambda name, component, docs, error: caught.append(type(error)))
    assert list(nlp.pipe([TEXT, TEXT])) == [] and caught == [MissingAnnotationError] * 2


@pytest.mark.slow
def test_constituents_under_another_key(model_path, nlp):
    other = spacy_dtparse.load("en_span", exclude=["span_parser"])
    other.add_pipe("span_parser", config={"spans_key": "phrases"})
    other.add_pipe("bpm_parser", config={"model": str(model_path), "spans_key": "phrases"})
    assert heads_of(other(TEXT)) == heads_of(nlp(TEXT))
    with pytest.raises(ConfigError, match="spans_key"):
        other.add_pipe("bpm_parser", name="again", config={"model": str(model_path), "spans_key": ""})


@pytest.mark.slow
def test_white_space_and_long_docs(nlp):
    doc = nlp("  The old cat  sat on the mat.\n\nShe slept.  ")
    assert sum(token.dep_ == "ROOT" for token in doc) == len(list(doc.sents))
    words = ["cat", "sat", "and"] * 300
    long = Doc(nlp.vocab, words=words, tags=["NN", "VBD", "CC"] * 300)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it has no sentence boundaries
        long = nlp.get_pipe("bpm_parser")(nlp.get_pipe("dtparse")(long))
    assert sum(token.dep_ == "ROOT" for token in long) == 1


@pytest.mark.parametrize("heads", [(1, 0, -1), (5, -1, -1), (-2, 0, 0), (0, -1, 1)])
def test_a_guide_that_is_no_tree_is_refused(guided, heads):
    columns = TokenColumns(("a", "b", "c"), ("NN", "NN", "NN"), (), (), heads, ("root",) * 3)
    with pytest.raises(DtparseError, match="guide's heads are no trees"):
        guided[0].parse(columns)


def test_a_guide_of_another_length_is_refused(guided):
    with pytest.raises(DtparseError, match="guide_heads"):
        guided[0].parse(TokenColumns(("a", "b"), ("NN", "NN"), (), (), (-1,), ("root", "root")))
    with pytest.raises(DtparseError, match="guide_heads"):
        guided[0].parse(TokenColumns(("a", "b"), ("NN", "NN")))


@pytest.mark.slow
def test_processes_and_bytes(nlp, model_path):
    wanted = [heads_of(doc) for doc in nlp.pipe([TEXT, "Run!", TEXT])]
    assert [heads_of(doc) for doc in nlp.pipe([TEXT, "Run!", TEXT], n_process=2)] == wanted
    again = spacy_dtparse.load()
    again.add_pipe("bpm_parser", config={"model": str(model_path)})
    again.from_bytes(nlp.to_bytes())
    assert heads_of(again(TEXT)) == wanted[0]


def test_the_embedded_model():
    nlp = spacy_dtparse.load()
    nlp.add_pipe("bpm_parser")
    doc = nlp("The old cat sat on the mat. She gave it to her friend.")
    found = {token.text: (token.dep_, token.head.text) for token in doc}
    assert found["cat"] == ("nsubj", "sat") and found["sat"] == ("ROOT", "sat") and found["mat"] == ("obl", "sat")
    assert found["She"] == ("nsubj", "gave") and found["gave"] == ("ROOT", "gave")
    assert spacy_dtparse.head_consistency(doc).connected_rate == 1.0
    meta = nlp.get_pipe("bpm_parser").parser.meta
    assert meta["license"] == "CC-BY-SA-4.0" and any("English Web Treebank" in credit for credit in meta["credits"])
