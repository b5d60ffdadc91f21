"""bpm_parser's settings, models that read other columns, and the embedded model."""

from __future__ import annotations

import pytest
import spacy
from confection import ConfigValidationError
from spacy.tokens import Doc

from spacy_dtparse import models
from spacy_dtparse.bpm_parser.component import BpmParser
from spacy_dtparse.bpm_parser.features import TextRules, TokenColumns
from spacy_dtparse.core.settings import DependencySettings
from spacy_dtparse.errors import ConfigError, MissingAnnotationError, ModelFormatError

from ..packages import write_package
from .conftest import make_links_nlp, train_links
from .link_stubs import tagged, whole


@pytest.mark.parametrize(
    ("rules", "missing", "setter"),
    [
        (TextRules(source="pos"), "pos_", "morphologizer"),
        (TextRules(source="pos+tag"), "pos_", "morphologizer"),
        (TextRules(stem="lemma"), "lemma_", "lemmatizer"),
    ],
)
def test_models_that_read_pos_or_lemmas(tmp_path, rules, missing, setter):
    def columns(found):
        return TokenColumns(
            found.words, found.tags, [tag[:1] for tag in found.tags], [word.lower()[::-1] for word in found.words]
        )

    quick = {"members": 1, "epochs": 1, "stages": 1, "label_members": 0}
    parser = train_links(tmp_path / "run", 40, columns, rules=rules, **quick)
    component = BpmParser(parser=parser)
    vocab = spacy.blank("en").vocab
    values = {"tags": ["PRP", "VBD", "."], "pos": ["PRON", "VERB", "PUNCT"], "lemmas": ["she", "sit", "."]}
    words, starts = ["She", "sat", "."], [True, False, False]
    doc = whole(component(Doc(vocab, words=words, sent_starts=starts, **values)), [(0, 3)])
    given = {name: values[name] for name in ("tags", "pos", "lemmas")}
    found = parser.parse(TokenColumns(words, **given))
    assert [t.head.i if t.head.i != t.i else -1 for t in doc] == list(found.heads) and found.labels == ()
    assert {t.dep_ for t in doc} == {"ROOT", "dep"}  # a model without labels
    left_out = {"pos_": "pos", "lemma_": "lemmas"}[missing]
    lacking = {name: column for name, column in values.items() if name != left_out}
    with pytest.raises(MissingAnnotationError, match=rf"needs token.{missing}.*such as a {setter}\)"):
        component(Doc(vocab, words=words, sent_starts=starts, **lacking))
    partial = Doc(vocab, words=words, sent_starts=starts, **{**values, left_out: [*values[left_out][:2], ""]})
    with pytest.warns(UserWarning, match=f"1 words of a Doc have no token.{missing}"):
        component(partial)
    if rules.source == "pos":  # columns that are not read are not needed
        assert component(Doc(vocab, words=words, sent_starts=starts, pos=values["pos"])).has_annotation("DEP")


def test_settings_reach_the_parser(link_model, link_parser):
    nlp = make_links_nlp(link_model, decoder="spanning", stages=1, max_tokens=7)
    component = nlp.get_pipe("bpm_parser")
    assert component.configured_parser.settings == DependencySettings("spanning", 1, 7)
    assert component.parser.settings == DependencySettings()
    words = "the old cat sat on the mat and she saw it .".split()
    tags = "DT JJ NN VBD IN DT NN CC PRP VBD PRP .".split()
    doc = tagged(nlp.vocab, " ".join(words), " ".join(tags), {0})
    found = link_parser.with_settings(decoder="spanning", stages=1, max_tokens=7).parse(TokenColumns(words, tags))
    assert found.status == "pieces"
    assert [t.head.i if t.head.i != t.i else -1 for t in whole(component(doc), [(0, 12)])] == list(found.heads)


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"decoder": "best"}, "bpm_parser: decoder = 'best'; it is 'projective' or 'spanning', or None"),
        ({"stages": 0}, "bpm_parser: stages = 0; it is a whole number from 1, or None"),
        ({"stages": 3}, "'stages' is 3; the model has 2"),
        ({"threads": 0}, "bpm_parser: threads = 0; it is a whole number from 1 to 256"),
        ({"max_tokens": 0}, "bpm_parser: max_tokens = 0; it is a whole number from 1, or None"),
    ],
)
def test_bad_settings(link_model, config, message):
    with pytest.raises(ConfigError, match=message):
        make_links_nlp(link_model, **config)


def test_unknown_settings(link_model, link_parser):
    for wrong in ({"budget": 1}, {"stages": "all"}, {"decoder": 5}):
        with pytest.raises(ConfigValidationError, match=next(iter(wrong))):
            make_links_nlp(link_model, **wrong)
    message = "there is no setting budget; allowed are model, decoder, stages, max_tokens, spans_key, threads, deadline"
    with pytest.raises(ConfigError, match=message):
        BpmParser(parser=link_parser, budget=1)


def test_the_embedded_model(link_model, tmp_path, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(models, "find_spec", lambda module: None)
        with pytest.warns(UserWarning, match="en_bpm"):
            nlp = make_links_nlp(None)
        component = nlp.get_pipe("bpm_parser")
        assert component.labels == ()
        with pytest.raises(ModelFormatError, match=r"pip install \./packages/en_bpm"):
            nlp("She sleeps.")
    write_package(tmp_path, "en_bpm", "bpm_parser", link_model.read_bytes())
    monkeypatch.syspath_prepend(tmp_path)
    whole(nlp("She sleeps."), [(0, 3)])
    nlp.to_disk(tmp_path / "saved")
    assert (tmp_path / "saved" / "bpm_parser" / "model").read_bytes() == link_model.read_bytes()
