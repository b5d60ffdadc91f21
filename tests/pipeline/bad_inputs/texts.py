"""Odd texts and Docs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from spacy.tokens import Doc, DocBin, Span
from spacy.vocab import Vocab

import spacy_dtparse
from spacy_dtparse.dtparse.component import DtParse
from spacy_dtparse.errors import MissingAnnotationError, NonConstituentError, NotParsedError, TreeError

from .cases import TREES, Bench, Case, Raises, Returns, has, statuses, whole


def text(name: str, value: str, gets: str, check: Callable[[Doc], Any] = bool) -> Case:
    """A text that its Doc does not change; the Doc is `whole` and passes `check`."""
    return Case(
        "text",
        name,
        lambda bench: bench.nlp(value),
        Returns(gets, lambda doc: doc.text == value and whole(doc) and bool(check(doc))),
    )


TEXTS = [
    text("empty", "", "an empty Doc without constituents", lambda doc: not len(doc) and not doc._.constituents),
    text(
        "white space only",
        " \n\t  ",
        "no constituents, status `empty`",
        lambda doc: not doc._.constituents and statuses(doc) == {"empty"},
    ),
    Case(
        "text",
        "white space only, as brackets",
        lambda bench: bench.nlp(" \n\t  ")[:]._.parse_string,
        Returns("an empty string", lambda brackets: brackets == ""),
    ),
    text("punctuation only", "... !? -- ;", TREES, lambda doc: doc._.constituents),
    text("emoji only", "😀 👍🏽 🎉", TREES, has("😀", "🎉")),
    text("one character", "a", "constituents over one token", lambda doc: {len(s) for s in doc._.constituents} == {1}),
    text("2,000 tokens", "the cat sat on the mat and " * 286, TREES, lambda doc: len(doc) > 2000),
    text(
        "control characters", "The\x01 cat\x07 sat \x1b[31m.", TREES + "; the characters stay", has("The\x01", "\x07")
    ),
    text("NUL inside a word", "The cat\x00 sat.", TREES + "; the character stays", has("cat\x00")),
    Case(
        "text",
        "lone surrogate",
        lambda bench: bench.nlp("The \ud800 cat."),
        Raises(UnicodeEncodeError, "surrogates not allowed"),
    ),
    text("right-to-left script", "הכלב רץ מהר.", TREES + ", in logical order", has("הכלב")),
    text(
        "combining marks",
        "T\u0301he\u0308 c\u0327a\u0300t s\u0323at.",
        TREES + "; no normalization",
        has("c\u0327a\u0300t"),
    ),
    text("zero-width and no-break spaces", "The\u200bcat\u00a0sat\ufeff here.", TREES, lambda doc: doc._.constituents),
    text("token of 50,000 characters", "a" * 50_000 + " is long.", TREES, has("a" * 50_000)),
    text("1,000 brackets without a space", "(" * 1000, TREES + "; time grows with their square (spaCy's tokenizer)"),
    text("brackets only", "( ) [ ] { } ( (", TREES + "; the brackets escaped in strings", has("-LRB-", "-RCB-")),
    text("unbalanced quotes", "\"She said 'the cat sat.", TREES, has("(PRP She)")),
    text(
        "URLs with brackets in them",
        "See https://example.org/a(b)?c=d&e=f or mail a.b@example.org .",
        TREES + "; the brackets escaped in strings",
        has("https://example.org/a-LRB-b-RRB-?c=d&e=f"),
    ),
    text(
        "newlines within a sentence",
        "The cat\nsat on\r\nthe mat.",
        TREES + "; newlines are not leaves",
        has("(VBD sat)"),
    ),
    text("mixed scripts", "The кот sat on 桌子 and الكلب ran.", TREES, has("кот", "桌子", "الكلب")),
    text("numbers only", "3.14 1,000 2e-7 -5", TREES, has("(CD 1,000)")),
    Case(
        "text",
        "not a text (a number)",
        lambda bench: bench.nlp(5),
        Raises(ValueError, "Expected a string, Doc, or bytes"),
    ),
]


def from_docs(bench: Bench) -> Doc:
    return Doc.from_docs([bench.nlp("The cat sat."), bench.nlp("A dog ran home.")])


def merged(bench: Bench, start: int = 0, end: int = 3) -> Doc:
    doc = bench.nlp("The old cat sat.")
    with doc.retokenize() as retokenizer:
        retokenizer.merge(doc[start:end])
    return doc


def stored(bench: Bench) -> Doc:
    doc_bin = DocBin(docs=[bench.nlp("The cat sat on the mat.")], store_user_data=True)
    return next(iter(DocBin().from_bytes(doc_bin.to_bytes()).get_docs(Vocab())))


def with_spans(bench: Bench, parse: bool, *extents: tuple[int, int]) -> Doc:
    """A Doc with spans of another program under the component's key, before parsing or without it."""
    doc = bench.nlp.make_doc("The cat sat on the mat.")
    doc.spans["constituents"] = [Span(doc, start, end, "MINE") for start, end in extents]
    return bench.nlp(doc) if parse else doc


CAT, CAT_TAGS = "The cat sat .", "DT NN VBD ."

DOCS = [
    Case(
        "Doc",
        "no tags",
        lambda bench: bench.parse(CAT),
        Raises(MissingAnnotationError, "needs part-of-speech tags (token.tag_)"),
    ),
    Case(
        "Doc",
        "some tags missing",
        lambda bench: bench.parse(CAT, "DT - VBD .", "1000"),
        Returns(
            TREES + "; missing tags are XX",
            lambda doc: whole(doc) and has("(XX cat)")(doc),
            "have no part-of-speech tag",
        ),
    ),
    Case(
        "Doc",
        "tags the model has never seen",
        lambda bench: bench.parse(CAT, "FOO BAR BAZ QUX", "1000"),
        Returns(
            TREES + ", with these tags",
            lambda doc: whole(doc) and has("(BAR cat)")(doc),
            "tags (token.tag_) that its model does not have",
        ),
    ),
    Case(
        "Doc",
        "no sentence boundaries",
        lambda bench: bench.parse(CAT, CAT_TAGS),
        Returns(
            "one tree over the whole Doc",
            lambda doc: spacy_dtparse.to_tree(doc[:]).words == tuple(CAT.split()),
            "is parsed as one sentence",
        ),
    ),
    Case(
        "Doc",
        "boundaries set for some tokens only",
        lambda bench: bench.parse("The cat sat . A dog ran .", "DT NN VBD . DT NN VBD .", "1???1???"),
        Returns(
            "one sentence from each start that is set",
            lambda doc: [info["end"] for info in spacy_dtparse.sentence_infos(doc)] == [4, 8],
        ),
    ),
    Case(
        "Doc",
        "every token starts a sentence",
        lambda bench: bench.parse(CAT, CAT_TAGS, "1111"),
        Returns("one tree per token", lambda doc: whole(doc) and len(spacy_dtparse.sentence_infos(doc)) == 4),
    ),
    Case(
        "Doc",
        "wrong boundary inside a sentence",
        lambda bench: bench.parse(CAT, CAT_TAGS, "1010"),
        Returns("one tree per given sentence", lambda doc: whole(doc) and len(spacy_dtparse.sentence_infos(doc)) == 2),
    ),
    Case(
        "Doc",
        "only white-space tokens",
        lambda bench: DtParse(parser=bench.nlp.get_pipe("dtparse").parser)(
            Doc(bench.nlp.vocab, words=["\n", "\t"], tags=["_SP", "_SP"], sent_starts=[True, False])
        ),
        Returns("no constituents, status `empty`", lambda doc: not doc._.constituents and statuses(doc) == {"empty"}),
    ),
    Case(
        "Doc",
        "one sentence of 2,000 tokens",
        lambda bench: bench.parse("cat sat " * 999 + "cat .", "NN VBD " * 999 + "NN .", "1" + "0" * 1999),
        Returns(
            "one tree: that of the span model, because the search finds none (status `fallback`)",
            lambda doc: whole(doc) and statuses(doc) == {"fallback"},
        ),
    ),
    Case(
        "Doc",
        "Doc.from_docs of parsed Docs",
        from_docs,
        Returns("the constituents of both", lambda doc: has("dog", "cat")(doc) and spacy_dtparse.is_parsed(doc)),
    ),
    Case(
        "Doc",
        "Span.as_doc of a parsed Doc",
        lambda bench: bench.nlp("The cat sat.")[:].as_doc()[:]._.parse_string,
        Raises(NotParsedError, "Span.as_doc() and some conversions drop span groups"),
    ),
    Case(
        "Doc",
        "Span.as_doc of a parsed Doc, all constituents",
        lambda bench: bench.nlp("The cat sat.")[:].as_doc()._.constituents,
        Raises(NotParsedError, "Span.as_doc() and some conversions drop span groups"),
    ),
    Case(
        "Doc",
        "retokenized after parsing, within a constituent",
        merged,
        Returns(TREES + "; white space in a merged token is `_`", lambda doc: whole(doc) and has("The_old_cat")(doc)),
    ),
    Case(
        "Doc",
        "retokenized after parsing, across the edge of a constituent",
        lambda bench: merged(bench, 2, 4)._.constituents,
        Raises(NotParsedError, "were merged or split after parsing"),
    ),
    Case(
        "Doc",
        "retokenized and parsed again",
        lambda bench: bench.nlp.get_pipe("dtparse")(merged(bench, 0, 3)),
        Returns(TREES + "; white space in a merged token is `_`", lambda doc: whole(doc) and has("The_old_cat")(doc)),
    ),
    Case("Doc", "DocBin into a fresh vocabulary", stored, Returns("the constituents as they were", whole)),
    Case(
        "Doc",
        "JSON and back",
        lambda bench: Doc(Vocab()).from_json(bench.nlp("The cat sat on the mat.").to_json()),
        Returns("the constituents", lambda doc: spacy_dtparse.is_parsed(doc) and has("(VBD sat)")(doc)),
    ),
    Case(
        "Doc",
        "other spans under the key, then parsed",
        lambda bench: with_spans(bench, True, (0, 1)),
        Returns(
            "replaced by the constituents",
            lambda doc: whole(doc) and not any(s.label_ == "MINE" for s in doc.spans["constituents"]),
        ),
    ),
    Case(
        "Doc",
        "crossing spans under the key",
        lambda bench: with_spans(bench, False, (0, 2), (1, 3))._.constituents,
        Raises(TreeError, "cross; the constituents of a Doc must nest"),
    ),
    Case(
        "Doc",
        "span that is not a constituent",
        lambda bench: with_spans(bench, False, (0, 2))[1:3]._.labels,
        Raises(NonConstituentError, "are not a constituent"),
    ),
    Case(
        "Doc",
        "never parsed",
        lambda bench: bench.nlp.make_doc("The cat sat.")[:]._.labels,
        Raises(NotParsedError, "add 'dtparse' to the pipeline"),
    ),
]
