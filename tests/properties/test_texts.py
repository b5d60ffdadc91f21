"""Whole pipelines on arbitrary text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_dtparse.cli import main
from spacy_dtparse.errors import DtparseError
from spacy_dtparse.text import check_text
from spacy_dtparse.trees import read_trees

from .checking import KEY, check, same
from .conftest import PARSERS, few, pipeline
from .making import ODD, PLAIN, texts


@given(st.lists(texts, min_size=1, max_size=3))
def test_any_text_is_parsed(name, several):
    nlp = pipeline(name)
    parser = nlp.get_pipe("span_parser" if name == "en_bpm" else PARSERS[name]).parser
    one_by_one = [nlp(text) for text in several]
    for doc in one_by_one:
        assert KEY in doc.spans
        check(doc, parser)
    together = list(nlp.pipe(several))
    assert all(map(same, one_by_one, together))


@pytest.mark.slow
@few(2)
@given(st.lists(texts, min_size=20, max_size=40))
def test_two_processes_find_the_same(several):
    nlp = pipeline("en_dtparse")
    assert all(map(same, map(nlp, several), nlp.pipe(several, n_process=2, batch_size=5)))


@pytest.mark.slow
@few(4)
@given(texts)
def test_the_command_writes_trees(capsys, tmp_path_factory, text):
    line = " ".join(text.split())
    if not line.strip() or line.startswith("-"):
        return
    capsys.readouterr()
    code = main(["parse", "--text", line])
    out = capsys.readouterr().out
    assert code == 0
    path = tmp_path_factory.mktemp("found") / "all.mrg"
    path.write_text(out, encoding="utf8")
    assert sum(len(tree.words) for tree in read_trees(path)) > 0


@given(st.text(st.characters(categories=("Cs",)), min_size=1, max_size=3))
def test_lone_surrogates_do_not_stop_a_batch(surrogates):
    nlp = pipeline("en_span")
    handled = []
    nlp.set_error_handler(lambda name, pipe, docs, error: handled.append(error))
    try:
        with pytest.raises(UnicodeEncodeError):  # spaCy's
            nlp(f"The {surrogates} dog.")
    finally:
        nlp.set_error_handler(None)
    assert len(nlp("The dog slept.")._.constituents) > 2


@pytest.mark.slow
@few(6)
@given(st.lists(st.sampled_from([*PLAIN, *ODD, "\n"]), min_size=1, max_size=5), st.sampled_from(["", " "]))
def test_long_texts(pieces, between):
    nlp = pipeline("en_dtparse")
    text = (between.join(pieces) + between) * (10_000 // len(pieces))
    try:
        check_text(text)
    except DtparseError as error:
        assert "without" in str(error)
        return
    docs = list(nlp.pipe([text[:50_000], "The dog slept."]))
    for doc in docs:
        check(doc, nlp.get_pipe("dtparse").parser)


@pytest.mark.slow
@pytest.mark.parametrize("character", ["a", "(", "ä", "。", "1", "-"])
def test_a_megabyte_without_a_space_is_parsed_or_refused(character):
    text = character * 1_000_000
    try:
        check_text(text)
    except DtparseError:
        assert not character.isalnum()
        return
    doc = pipeline("en_dtparse")(text)
    check(doc, pipeline("en_dtparse").get_pipe("dtparse").parser)
