"""The recurrent tagger: pieces of long texts, forms, white space, threads, the way through bytes."""

from __future__ import annotations

import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from spacy_dtparse.core import load_parser, load_tagger
from spacy_dtparse.errors import ConfigError, ModelFormatError
from spacy_dtparse.recurrent_tagger.model import read_model, write_model
from spacy_dtparse.recurrent_tagger.tagger import OVERLAP, RecurrentTagger
from tests.recurrent_models import TEXTS, random_model


def plain(found: list[tuple[np.ndarray, np.ndarray]]) -> list[tuple[list[int], list[bool]]]:
    return [(tags.tolist(), starts.tolist()) for tags, starts in found]


def test_sentences_begin_at_words() -> None:
    tagger = RecurrentTagger(random_model(5))
    for text in (TEXTS[0], ["\n", "\n\n", "The", " ", "cat"], ["\n"], ["cat"]):
        ((tags, starts),) = tagger.tag([text])
        words = [k for k, token in enumerate(text) if token.strip()]
        assert not any(starts[k] for k in range(1, len(text)) if k not in words) and starts[0]
        assert not words or starts[words[0]] == (words[0] == 0), "white space before the first word goes with it"
        names = [tagger.names[tag] for tag in tags]
        assert [name == "_SP" for name in names] == [not token.strip() for token in text]
    assert plain(tagger.tag([[], []])) == [([], []), ([], [])] and tagger.tag([]) == []


def test_both_kinds_of_starts_come_out() -> None:
    found = [RecurrentTagger(random_model(seed)).tag(TEXTS[:1])[0][1][1:] for seed in range(6)]
    assert any(starts.any() for starts in found) and not all(starts.all() for starts in found)


def test_forms_decide_before_the_network_does() -> None:
    tagger = RecurrentTagger(random_model())
    assert tagger.names[-2:] == ("ADD", "_SP")
    text = ["Dogs", "@nina", "bark", "\u2026", "@", "mail@nina"]
    ((tags, _),) = tagger.tag([text])
    names = [tagger.names[tag] for tag in tags]
    assert names[1] == "ADD" and names[3] == "." and "ADD" not in names[4:] and names[0] != "ADD"
    free = RecurrentTagger(random_model(space=""))
    assert "_SP" not in free.names and free.tag([["\n", "cat"]])[0][0].max() < len(free.names)


def test_texts_are_tagged_alike_in_any_batch() -> None:
    tagger = RecurrentTagger(random_model(1))
    texts = [*TEXTS, [], *(TEXTS[0][:n] for n in range(1, 16))] * 9
    together = plain(tagger.tag(texts))
    assert together == [plain(tagger.tag([text]))[0] for text in texts]
    with ThreadPoolExecutor(4) as pool:
        assert all(found == together for found in pool.map(lambda _: plain(tagger.tag(texts)), range(4)))


def test_long_texts_are_tagged_in_pieces() -> None:
    tagger = RecurrentTagger(random_model(2))
    text = TEXTS[0] * 40
    whole, pieces = tagger.tag([text])[0], tagger.with_settings(max_tokens=100).tag([text])[0]
    assert len(pieces[0]) == len(text) == 640 and np.mean(whole[0] == pieces[0]) > 0.95
    first, last = tagger.tag([text[: 100 + OVERLAP]])[0], tagger.tag([text[600 - OVERLAP :]])[0]
    assert np.array_equal(pieces[0][:100], first[0][:100])
    assert np.array_equal(pieces[0][600:], last[0][OVERLAP:])
    middle = tagger.tag([text[200 - OVERLAP : 300 + OVERLAP]])[0]
    assert np.array_equal(pieces[0][200:300], middle[0][OVERLAP:-OVERLAP])
    single = tagger.with_settings(max_tokens=1).tag([text[:70]])[0][0]
    assert len(single) == 70 and np.mean(single == whole[0][:70]) > 0.9
    with pytest.raises(ConfigError, match="max_tokens"):
        tagger.with_settings(max_tokens=0)


def test_taggers_round_trip_through_bytes_and_pickles(tmp_path) -> None:
    tagger = RecurrentTagger(random_model(3)).with_settings(max_tokens=20)
    wanted = plain(tagger.tag(TEXTS))
    tagger.to_disk(tmp_path / "tagger.model")
    loaded = load_tagger(tmp_path / "tagger.model")
    assert isinstance(loaded, RecurrentTagger) and plain(loaded.tag(TEXTS)) == wanted
    again = pickle.loads(pickle.dumps(tagger))
    assert again.settings == tagger.settings and plain(again.tag(TEXTS)) == wanted
    assert tagger.describe()["units"] == 8 and tagger.describe()["tags"] == 6
    with pytest.raises(ModelFormatError, match=r"builds tags, not constituents; .*'recurrent_tagger'"):
        load_parser(tmp_path / "tagger.model")


def test_a_file_that_means_something_else_here_is_refused() -> None:
    model = random_model(3)
    data = RecurrentTagger(model).to_bytes()
    _, golden_parses = read_model(data)
    assert len(golden_parses) == 6 and all(
        len(golden_parse["tags"]) and golden_parse["starts"] for golden_parse in golden_parses
    )
    golden_parses[2]["starts"][0] += 1
    with pytest.raises(ModelFormatError, match="self-test 2 of the model scores"):
        RecurrentTagger.from_bytes(write_model(model, golden_parses))
