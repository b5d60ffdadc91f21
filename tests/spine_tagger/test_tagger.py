"""SequenceTagger: labels, multitags, settings, bytes, bad input."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from spacy_dtparse.bpm_parser.model import write_model as write_dependency_model
from spacy_dtparse.core import load_dependency_parser, load_parser, load_tagger
from spacy_dtparse.core.settings import TaggerSettings
from spacy_dtparse.errors import ConfigError, DtparseError, ModelFormatError
from spacy_dtparse.spine_tagger.tagger import SequenceTagger
from tests.dependency_models import random_model as random_dependency_model
from tests.jit.harness import KERNEL_MARKS
from tests.reference import tagging as slow
from tests.tagger_models import SENTENCES, allowed_labels, random_tagger, weights_by_key

pytestmark = KERNEL_MARKS

WORDS, TAGS = SENTENCES[2].words[3:7], SENTENCES[2].tags[3:7]


def test_labels_and_multitags_of_all_sequences() -> None:
    model = random_tagger(3, tagged=False)
    tagger = SequenceTagger(model, TaggerSettings(beam=1000, share=0.0))
    atoms = model.parts.encode(WORDS, ())
    wanted, best = slow.by_enumeration(
        atoms.tolist(), weights_by_key(model), allowed_labels(model.parts, atoms), model.scale
    )
    assert tagger.tag(WORDS) == [tagger.labels[label] for label in best]
    for beta in (0.0, 0.05, 1.0):
        for multitags, probs in zip(tagger.multitag(WORDS, beta=beta), wanted, strict=True):
            labels = [tagger.labels[label] for label in slow.labels_within_beta(probs, beta)]
            assert [label for label, _ in multitags] == labels
            assert [p for _, p in multitags] == pytest.approx([probs[tagger.labels.index(label)] for label in labels])
    for multitags in tagger.multitag(WORDS, beta=0.0):
        assert sum(chance for _, chance in multitags) == pytest.approx(1.0)


def test_a_lower_beta_gives_more_labels() -> None:
    tagger = SequenceTagger(random_tagger(3, tagged=False))
    counts = [sum(map(len, tagger.multitag(WORDS, beta=beta))) for beta in (1.0, 0.3, 0.0)]
    assert counts[0] < counts[1] < counts[2] and counts[0] == len(WORDS)


def test_settings_matter_and_are_checked() -> None:
    tagger = SequenceTagger(random_tagger(5, 0.4, tagged=False, cutoff=99))
    words = SENTENCES[0].words

    def probs(**settings) -> np.ndarray:
        return np.array([o[0][1] for o in tagger.with_settings(**settings).multitag(words)])

    assert not np.allclose(probs(beam=1), probs(beam=500, share=0.0))
    assert not np.allclose(probs(beam=500, share=0.9), probs(beam=500, share=0.0))
    assert tagger.with_settings().settings == tagger.settings == TaggerSettings()
    for settings, message in (
        ({"beam": 0}, "tagger setting 'beam' is 0; it must be a whole number from 1"),
        ({"beam": 2.5}, "must be a whole number"),
        ({"beam": 1001}, "a whole number from 1 to 1000"),
        ({"share": 1.0}, "a number from 0 to below 1"),
    ):
        with pytest.raises(ConfigError, match=message):
            tagger.with_settings(**settings)


@pytest.mark.parametrize("beta", [-0.1, 1.5, float("nan")])
def test_beta_is_checked(beta: float) -> None:
    with pytest.raises(ConfigError, match="it must be a number from 0 to 1"):
        SequenceTagger(random_tagger()).multitag(WORDS, TAGS, beta)


def test_bad_sentences() -> None:
    tagger = SequenceTagger(random_tagger())
    for call in (tagger.tag, tagger.multitag):
        with pytest.raises(DtparseError, match="give at least one word"):
            call([], [])
        with pytest.raises(DtparseError, match="4 words but 3 tags; give one tag per word"):
            call(WORDS, TAGS[:3])
        with pytest.raises(DtparseError, match="4 words but 0 tags"):
            call(WORDS)
    untagged = SequenceTagger(random_tagger(tagged=False))
    assert tagger.needs_tags and not untagged.needs_tags
    assert untagged.tag(WORDS) == untagged.tag(WORDS, TAGS), "tags are not looked at"
    assert len(tagger.tag(["", "\u2028", "x" * 10_000], ["DT", "??", ""])) == 3


def test_bytes_files_and_pickles(tmp_path) -> None:
    tagger = SequenceTagger(random_tagger(4), TaggerSettings(beam=3))
    data = tagger.to_bytes()
    path = tmp_path / "model"
    tagger.to_disk(path)
    for again in (load_tagger(data), load_tagger(path), pickle.loads(pickle.dumps(tagger))):
        assert again.to_bytes() == data and again.multitag(WORDS, TAGS) == tagger.multitag(WORDS, TAGS)
    assert pickle.loads(pickle.dumps(tagger)).settings.beam == 3
    assert load_tagger(data).describe()["weights"] == len(tagger.model.weights.weights)


def test_models_of_other_kinds_are_refused(tmp_path) -> None:
    data = SequenceTagger(random_tagger()).to_bytes()
    for load in (load_parser, load_dependency_parser):
        with pytest.raises(ModelFormatError, match=r"builds tags, not (constituents|dependencies); .*'spine_tagger'"):
            load(data)
    with pytest.raises(ModelFormatError, match=r"'dependency' .* builds dependencies, not tags; use it .*'bpm_parser'"):
        load_tagger(write_dependency_model(random_dependency_model(1)))
    path = tmp_path / "bad.model"
    path.write_bytes(data[:-3])
    with pytest.raises(ModelFormatError, match=r"bad\.model: truncated"):
        load_tagger(path)
