"""Proofs in model files of all kinds: made when written, made again and compared when read."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest

from spacy_dtparse.bpm_parser.features import TextRules
from spacy_dtparse.bpm_parser.parser import DependencyParser
from spacy_dtparse.core.self_test import SELF_TEST_SENTENCES, self_test_sentences
from spacy_dtparse.core.settings import DependencySettings, PcfgSettings, SpanSettings, TaggerSettings
from spacy_dtparse.core.stored import StoredParser
from spacy_dtparse.model_io.container import container_from_bytes, container_kind
from spacy_dtparse.pcfgla.parser import PcfgParser
from spacy_dtparse.span_parser.parser import SpanParser
from spacy_dtparse.spine_tagger.tagger import SequenceTagger

from .. import dependency_models, span_models
from ..model_io.damage import GONE, refuses
from ..pcfgla import test_parser
from ..tagger_models import random_tagger

pytestmark = pytest.mark.kernel

OTHER_SETTINGS = {
    SpanParser: SpanSettings(budget=0, attach_unattached=False, exclude_labels=("NP",)),
    PcfgParser: PcfgSettings(prune=0.1, tags="own"),
    DependencyParser: DependencySettings(stages=1, heads=1),
    SequenceTagger: TaggerSettings(beam=1),
}


@cache
def parser_of(kind: Any) -> StoredParser:
    """A small parser of each kind (boosted trees have separate tests in test_bundle)."""
    model: Any = {
        SpanParser: lambda: span_models.random_model(2),
        PcfgParser: test_parser.model,
        DependencyParser: lambda: dependency_models.random_model(2),
        SequenceTagger: lambda: random_tagger(1),
    }[kind]()
    return kind(model)


@pytest.mark.slow
@pytest.mark.parametrize("kind", OTHER_SETTINGS)
def test_a_wrong_golden_parse_is_refused(kind: Any) -> None:
    data = parser_of(kind).to_bytes()
    meta, _ = container_from_bytes(data, container_kind(data))
    assert (
        len(meta["proofs"]) == len(SELF_TEST_SENTENCES) + 1 and meta["proofs"] == parser_of(kind).make_golden_parses()
    )
    kind.from_bytes(data, OTHER_SETTINGS[kind])  # whatever the settings
    name = next(name for name in meta["proofs"][2] if name not in ("words", "tags"))
    numbers = meta["proofs"][2][name]
    wrong = [number + 1 for number in numbers] if isinstance(numbers, list) else numbers * 1.01
    for change, message in (
        ({name: wrong}, "self-test 2 of the model scores .* where the model was made"),
        ({name: []}, rf"self-test 2 of the model scores .* but nan|proofs\[2\]\.{name} is \[\]; it must be"),
        ({"words": ["a"]}, "self-test 2 of the model "),
        ({"words": [1] * len(meta["proofs"][2]["tags"])}, r"proofs\[2\].words\[0\] is 1; it must be a text"),
        ({"tags": 7}, r"proofs\[2\].tags is 7; it must be a list"),
    ):
        golden_parses = [dict(golden_parse) for golden_parse in meta["proofs"]]
        golden_parses[2].update(change)
        refuses(kind.from_bytes, data, {"proofs": golden_parses}, message)
    refuses(kind.from_bytes, data, {"proofs": [3]}, r"proofs\[0\] is 3; it must be a dict")


@pytest.mark.parametrize("kind", OTHER_SETTINGS)
def test_a_file_without_golden_parses_is_refused(kind: Any) -> None:
    data = parser_of(kind).to_bytes()
    refuses(kind.from_bytes, data, {"proofs": GONE}, "lacks 'proofs'")
    refuses(kind.from_bytes, data, {"proofs": []}, "the model has no self-test")


def test_tags_are_those_of_the_model() -> None:
    pairs = list(self_test_sentences(["été", "ville"], ["NOUN", "VERB", ","]))
    assert len(pairs) == len(SELF_TEST_SENTENCES) + 1 and pairs[-1][0].count("ville") == 4
    for words, tags in pairs:
        assert len(words) == len(tags) and set(tags) <= {"NOUN", "VERB", ","}
    assert next(tags for _, tags in self_test_sentences([], []))[0] == "NNP"


def test_positional_tags_are_made_whole() -> None:
    rules = TextRules(places=(0, 4))
    assert rules.whole_tag("N4") == "N---4" and rules.tag("N---4", "") == "N4"
