"""Words that are escaped as in treebanks (-LRB-, 1\\/2) give the same results as typed ones, through every door."""

from __future__ import annotations

import pytest
import spacy
from spacy.tokens import Doc

import spacy_dtparse
from spacy_dtparse.bpm_parser.features import TextRules
from spacy_dtparse.cli import main
from spacy_dtparse.cli.parse import split_line
from spacy_dtparse.dtparse.features.lexicon import RARE, Lexicon
from spacy_dtparse.models import PARSERS, open_parser
from spacy_dtparse.pcfgla.features import WordClasses
from spacy_dtparse.recurrent_tagger.features import token_parts
from spacy_dtparse.span_parser.features import word_parts
from spacy_dtparse.spine_tagger.features import TagParts
from spacy_dtparse.text import normal_word, read_word, word_shape, zero_digits

PAIRS = (
    ("-LRB-", "("), ("-RRB-", ")"), ("-LSB-", "["), ("-RSB-", "]"), ("-LCB-", "{"), ("-RCB-", "}"),
    ("f-LRB-x-RRB-", "f(x)"), ("1\\/2", "1/2"), ("either\\/or", "either/or"), ("\\*", "*"), ("\\*\\*", "**"),
    ("S\\*Bank", "S*Bank"), (":-RRB-", ":)"), ("http:\\/\\/example.org\\/a", "http://example.org/a"),
)  # fmt: skip
SENTENCES = (
    ("The firm ( a unit of Acme ) fell 1/2 point .", "The firm -LRB- a unit of Acme -RRB- fell 1\\/2 point ."),
    (
        "He paid $ 12 { about 3/4 of it } for * two * books .",
        "He paid $ 12 -LCB- about 3\\/4 of it -RCB- for \\* two \\* books .",
    ),
    ("It [ the unit ] was sold and/or closed .", "It -LSB- the unit -RSB- was sold and\\/or closed ."),
)


@pytest.mark.parametrize(("escaped", "typed"), PAIRS)
def test_all_features_read_a_word_in_one_way(escaped, typed):
    assert read_word(escaped) == read_word(typed) == typed
    assert normal_word(escaped) == normal_word(typed) and word_shape(escaped) == word_shape(typed)
    assert token_parts(escaped) == token_parts(typed) and word_parts(escaped) == word_parts(typed)
    assert TextRules().word(escaped) == TextRules().word(typed)
    classes = WordClasses([zero_digits(typed), "*s*", "*sd*", "*unknown*"])
    assert classes.class_of(escaped, False) == classes.class_of(typed, False) == int(typed.startswith("*"))
    lexicon = Lexicon.build(["NP", "TOP"], ["NN"], [RARE, normal_word(typed)], "NN")
    assert lexicon.encode([escaped], ["NN"]).tolist() == lexicon.encode([typed], ["NN"]).tolist()
    parts = TagParts.build([([typed] * 30, ["NN"] * 30, ["N"] * 30)])
    assert parts.encode([escaped], ["NN"]).tolist() == parts.encode([typed], ["NN"]).tolist()
    assert split_line(escaped, False, "")[0] == [typed]


def test_quotes_keep_their_direction():
    assert [read_word(word) for word in ("``", "''", "`", "'", '"')] == ["``", "''", "`", "'", '"']
    assert [read_word(word) for word in ("C:\\dir", "\\", "-LR-", "-", "LRB")] == ["C:\\dir", "\\", "-LR-", "-", "LRB"]


def _results(nlp, text, **annotations):
    doc = nlp(Doc(nlp.vocab, words=text.split(), **annotations))
    return (
        [(token.tag_, token.pos_, token.head.i, token.dep_, token.is_sent_start) for token in doc],
        [(span.start, span.end, span._.labels) for span in doc._.constituents],
    )


@pytest.mark.slow
@pytest.mark.embedded
@pytest.mark.parametrize("name", PARSERS)
def test_docs_of_escaped_words(name):
    nlp = spacy_dtparse.load(name)
    for typed, escaped in SENTENCES:
        tags, constituents = _results(nlp, typed)
        assert _results(nlp, escaped) == (tags, constituents)
        assert "-LRB-" in [tag for tag, *_ in tags]
        own = _results(nlp, escaped, tags=[tag for tag, *_ in tags])
        assert own[1] == constituents
        assert typed != SENTENCES[0][0] or any("PRN" in labels for _, _, labels in constituents)


@pytest.mark.slow
@pytest.mark.embedded
@pytest.mark.parametrize("name", [name for name, factory in PARSERS.items() if factory != "bpm_parser"])
def test_parsers_called_directly(name):
    parser = open_parser(name)
    tags = ["DT", "NN", "-LRB-", "DT", "NN", "IN", "NNP", "-RRB-", "VBD", "CD", "NN", "."]
    typed, escaped = (parser.parse(text.split(), tags).tree for text in SENTENCES[0])
    assert (typed.labels, typed.starts, typed.ends) == (escaped.labels, escaped.starts, escaped.ends)


@pytest.mark.slow
@pytest.mark.embedded
def test_files_of_plain_text_and_of_tokens(tmp_path, capsys):
    trees = []
    for option, text in (
        ("--pretokenized", SENTENCES[0][0]),
        ("--pretokenized", SENTENCES[0][1]),
        ("", SENTENCES[0][1]),
    ):
        (tmp_path / "a.txt").write_text(text + "\n")
        assert main(["parse", *filter(None, [option]), str(tmp_path / "a.txt")]) == 0
        trees.append(capsys.readouterr().out)
    assert trees[0] == trees[1] == trees[2].replace("1\\/2", "1/2")
    assert "(PRN (-LRB- -LRB-)" in trees[0]


@pytest.mark.embedded
def test_blank_pipeline_with_a_parser():
    nlp = spacy.blank("en")
    nlp.add_pipe("span_parser")
    doc = nlp(
        Doc(
            nlp.vocab,
            words=["It", "-LRB-", "he", "-RRB-", "fell"],
            tags=["PRP", "-LRB-", "PRP", "-RRB-", "VBD"],
            sent_starts=[True, *[False] * 4],
        )
    )
    assert "PRN" in str([span._.labels for span in doc._.constituents])
