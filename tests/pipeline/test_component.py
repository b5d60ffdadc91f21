"""The component on Docs of every kind: ordinary ones, and those that cause errors."""

from __future__ import annotations

import subprocess
import sys
import textwrap
import warnings
from pathlib import Path

import pytest
import spacy
from confection import ConfigValidationError
from spacy.tokens import Doc

from spacy_dtparse import is_parsed
from spacy_dtparse.errors import ConfigError, MissingAnnotationError, ModelFormatError
from spacy_dtparse.model_io.container import container_to_bytes

from .conftest import COMPONENTS, REAL_LOAD, both_factories, make_nlp
from .rule_parser import RuleParser

ROOT = Path(__file__).parents[2]


def test_parses_in_pre_order_and_does_not_change_tags(nlp):
    doc = nlp("The old cat sat on the mat. She sleeps.")
    assert [(s.text, s.label_) for s in doc.spans["constituents"]] == [
        ("The old cat sat on the mat.", "S"),
        ("The old cat", "NP"),
        ("sat on the mat.", "VP"),
        ("the mat", "NP"),
        ("She sleeps.", "S"),
        ("She", "NP"),
        ("sleeps.", "VP"),
    ]
    assert [token.tag_ for token in doc[:4]] == ["DT", "JJ", "NN", "VBD"]
    attrs = doc.spans["constituents"].attrs
    assert attrs["version"] == 2 and attrs["parser"] == "rule" and attrs["n_tokens"] == len(doc)
    assert len(attrs["costs"]) == len(doc.spans["constituents"])


def test_white_space_tokens_are_not_parsed(nlp):
    doc = nlp("The \n cat  sat.\n\n  ")
    assert any(token.is_space for token in doc)
    first = doc.spans["constituents"][0]
    assert first.text.endswith(".") and not any(doc[k].is_space for k in (first.start, first.end - 1))
    assert doc.spans["constituents"][1].text == "The \n cat"


@pytest.mark.parametrize("text", ["", " ", "\n\n\n", "\t \u00a0"])
def test_nothing_to_parse(nlp, text):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        doc = nlp(text)
    assert doc._.constituents == [] and "constituents" in doc.spans
    assert [info["status"] for info in doc.spans["constituents"].attrs["sentences"]] == ["empty"] * bool(len(doc))


@both_factories
def test_a_blank_sentence_between_others(nlp, factory):
    doc = Doc(
        nlp.vocab,
        words=["run", ".", "\n", " ", "run"],
        tags=["VB", ".", "_SP", "_SP", "VB"],
        sent_starts=[True, False, True, False, True],
    )
    with nlp.select_pipes(enable=[factory]):
        doc = nlp(doc)
    assert [info["status"] for info in doc.spans["constituents"].attrs["sentences"]] == ["optimal", "empty", "optimal"]
    assert [s.label_ for s in doc._.constituents] == ["S", "VP", "S", "VP"]


@both_factories
def test_no_sentence_boundaries_is_one_sentence_with_one_warning(model_file, factory):
    nlp = spacy.blank("en")
    nlp.add_pipe("list_tagger")
    nlp.add_pipe(factory, config={"model": str(model_file)})
    with pytest.warns(UserWarning, match="no sentence boundaries.*senter") as caught:
        docs = list(nlp.pipe(["She sat. It sat.", "The cat sat. Run."]))
    assert len(caught) == 1
    assert [info["end"] for info in docs[0].spans["constituents"].attrs["sentences"]] == [len(docs[0])]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        nlp("run")  # one token: nothing to warn of


def test_boundaries_in_only_some_places_and_from_a_hook(nlp):
    doc = Doc(nlp.vocab, words=["she", "sat", "it", "sat"], tags=["PRP", "VBD"] * 2)
    doc[2].is_sent_start = True
    component = nlp.get_pipe("dtparse")
    assert [(i["start"], i["end"]) for i in component(doc).spans["constituents"].attrs["sentences"]] == [(0, 2), (2, 4)]
    hooked = Doc(nlp.vocab, words=["she", "sat", "it", "sat"], tags=["PRP", "VBD"] * 2)
    hooked.user_hooks["sents"] = lambda d: iter([d[0:3], d[3:4]])
    sentences = component(hooked).spans["constituents"].attrs["sentences"]
    assert [(i["start"], i["end"]) for i in sentences] == [(0, 3), (3, 4)]


@both_factories
def test_no_tags_is_an_error_that_says_what_to_add(model_file, factory):
    nlp = spacy.blank("en")
    nlp.add_pipe("sentencizer")
    nlp.add_pipe(factory, config={"model": str(model_file)})
    with pytest.raises(MissingAnnotationError, match=f"Put a tagger before '{factory}'"):
        nlp("The cat sat.")
    assert nlp("  ")._.constituents == []


@both_factories
def test_some_tags_missing_become_unknown_with_one_warning(nlp, factory):
    component = nlp.get_pipe(factory)
    docs = [
        Doc(nlp.vocab, words=["she", "sat", "zzz"], tags=["PRP", "VBD", ""], sent_starts=[True, False, False])
        for _ in range(2)
    ]
    with pytest.warns(UserWarning, match="1 words of a Doc have no part-of-speech tag") as caught:
        for doc in docs:
            component(doc)
    assert len(caught) == 1
    assert docs[0][2].tag_ == "" and "(XX zzz)" in docs[0][:]._.parse_string


@both_factories
def test_tags_unknown_to_the_parser(nlp, factory):
    doc = Doc(nlp.vocab, words=["she", "sat"], tags=["GIBBERISH", "(odd tag)"], sent_starts=[True, False])
    assert nlp.get_pipe(factory)(doc)[:]._.parse_string == "(FRAG (GIBBERISH she) (-LRB-odd_tag-RRB- sat))"


@both_factories
def test_long_sentence(nlp, factory):
    n = 2000
    starts = [k == 0 for k in range(n)]
    doc = Doc(nlp.vocab, words=["cat", "quietly"] * (n // 2), tags=["NN", "RB"] * (n // 2), sent_starts=starts)
    doc = nlp.get_pipe(factory)(doc)
    assert doc._.constituents[0].end == n
    assert doc.spans["constituents"].attrs["sentences"][0]["status"] == "greedy"
    assert next(iter(doc.sents))._.parse_string.count("(NN cat)") == n // 2


def test_settings_reach_the_parser(model_file):
    text = "She sat quietly."
    searched = make_nlp(model_file)(text)
    greedy = make_nlp(model_file, budget=0)(text)
    short = make_nlp(model_file, max_tokens=3)(text)
    assert len(searched._.constituents) == 4 and len(greedy._.constituents) == len(short._.constituents) == 3
    assert greedy.spans["constituents"].attrs["sentences"][0]["greedy_optimal"] is None


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"budget": -1}, "dtparse: budget = -1; it is a whole number from 0, or None"),
        ({"max_tokens": -5}, "max_tokens = -5"),
        ({"spans_key": ""}, "spans_key"),
        ({"factory": "pcfgla", "max_tokens": 0}, "pcfgla: max_tokens = 0; it is a whole number from 1, or None"),
        ({"factory": "pcfgla", "decoder": "best"}, "decoder = 'best'"),
        ({"factory": "pcfgla", "prune": 1}, "prune = 1; it is a number from 0 to below 1"),
        ({"factory": "pcfgla", "beam": -0.5}, "beam = -0.5; it is a number from 0 to below 1"),
        ({"factory": "pcfgla", "tags": "gold"}, "tags = 'gold'; it is 'own' or 'given'"),
        ({"factory": "pcfgla", "spans_key": ""}, "spans_key"),
    ],
)
def test_bad_settings(model_file, config, message):
    with pytest.raises(ConfigError, match=message):
        make_nlp(model_file, **config)


@both_factories
def test_unknown_settings(model_file, factory):
    with pytest.raises(ConfigValidationError, match="foo"):
        make_nlp(model_file, factory, foo=1)
    with pytest.raises(ConfigValidationError, match="max_tokens"):
        make_nlp(model_file, factory, max_tokens="many")
    other = {"dtparse": "tags", "span_parser": "window_filter", "pcfgla": "budget"}[factory]
    with pytest.raises(ConfigError, match=f"there is no setting {other}; allowed are model, .*max_tokens.*, spans_key"):
        COMPONENTS[factory](**{other: 1})


@both_factories
def test_bad_models(tmp_path, factory):
    nlp = spacy.blank("en")
    with pytest.raises(ModelFormatError, match="folder without a 'model' file"):
        nlp.add_pipe(factory, config={"model": str(tmp_path)})
    empty = tmp_path / "empty"
    empty.write_bytes(b"")
    with pytest.raises(ModelFormatError, match=r"\(0 bytes\)"):
        nlp.add_pipe(factory, config={"model": str(empty)})
    with pytest.warns(UserWarning, match="there is no model file"):
        nlp.add_pipe(factory, config={"model": str(tmp_path / "gone")})
    for name, message in (("en_big", "for 'dtparse' are en_dtparse, en_trees"), ("en_dtpars", "mean 'en_dtparse'")):
        with pytest.raises(ConfigError, match=f"there is no model {name!r}.*{message}"):
            spacy.blank("en").add_pipe("dtparse", config={"model": name})
    doc = Doc(nlp.vocab, words=["she"], tags=["PRP"])
    with pytest.raises(ModelFormatError, match=r"no model file .*gone"):
        nlp.get_pipe(factory)(doc)


@both_factories
def test_a_bad_doc_does_not_fail_its_batch(nlp, factory):
    texts = ["The cat sat.", "CRASH now.", "She sat."]
    with pytest.raises(RuntimeError, match="told to crash"):
        list(nlp.pipe(texts))
    seen = []
    nlp.set_error_handler(lambda name, proc, docs, error: seen.append((name, [d.text for d in docs], str(error))))
    docs = list(nlp.pipe(texts, batch_size=3))
    assert [doc.text for doc in docs] == ["The cat sat.", "She sat."]
    assert seen == [(factory, ["CRASH now."], "this parser was told to crash")]
    assert nlp("CRASH now.").spans.get("constituents") is None


@both_factories
def test_parsing_again_replaces_the_result(nlp, factory):
    doc = nlp("She sat quietly.")
    nlp.get_pipe(factory).set_parser(RuleParser(budget=0))
    again = nlp.get_pipe(factory)(doc)
    assert again is doc and len(doc._.constituents) == 3


@both_factories
def test_analyze_pipes_and_select_pipes(nlp, factory):
    found = nlp.analyze_pipes()
    assert found["problems"][factory] == [] and "doc._.constituents" in found["summary"][factory]["assigns"]
    untagged = spacy.blank("en")
    untagged.add_pipe(factory)
    assert untagged.analyze_pipes()["problems"][factory] == [
        *([] if factory == "pcfgla" else ["token.tag"]),
        "token.is_sent_start",
    ]
    with nlp.select_pipes(disable=[factory]):
        assert not is_parsed(nlp("The cat sat."))


@both_factories
def test_labels_and_protocol(nlp, factory):
    component = nlp.get_pipe(factory)
    assert component.labels == RuleParser.labels and nlp.meta["labels"][factory] == list(RuleParser.labels)
    assert not component.is_trainable
    assert COMPONENTS[factory]().labels == ()


def test_importing_the_plugin_loads_neither_numba_nor_a_parser():
    program = textwrap.dedent(
        """
        import sys
        sys.path.insert(0, sys.argv[1])
        import spacy_dtparse
        assert "spacy" not in sys.modules
        import spacy
        import spacy_dtparse.pipeline.registration
        nlp = spacy.blank("en")
        assert "spacy_dtparse.model_io.container" not in sys.modules
        nlp.add_pipe("dtparse")
        nlp.add_pipe("pcfgla", config={"spans_key": "pcfgla"})
        nlp.add_pipe("bpm_parser")
        nlp.add_pipe("spine_tagger")
        assert nlp.analyze_pipes() and nlp.meta
        heavy = (".kernels", ".features", ".model", ".stored", *("." + k + ".parser" for k in ("dtparse", "pcfgla")))
        loaded = [
            name for name in sys.modules
            if name.startswith(("numba", "llvmlite")) or (name.startswith("spacy_dtparse.") and name.endswith(heavy))
        ]
        assert not loaded, loaded
        """
    )
    done = subprocess.run([sys.executable, "-c", program, str(ROOT)], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr


def test_model_files_of_unknown_kind(tmp_path):
    with pytest.raises(ModelFormatError, match="no parser for model files of kind 'pcfgla', only 'dtree'"):
        REAL_LOAD(container_to_bytes("pcfgla", {}, {}))
    with pytest.raises(ModelFormatError, match="not a spacy-dtparse model file"):
        REAL_LOAD(b"PK\x03\x04 something else entirely, long enough to have a header " * 4)
