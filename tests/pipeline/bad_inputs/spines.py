"""Docs and settings of the spine tagger."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import spacy
from spacy.tokens import Doc

from spacy_dtparse.errors import ConfigError, MissingAnnotationError
from spacy_dtparse.pipeline.sentences import is_blank
from spacy_dtparse.spine_tagger.component import SpineTagger
from spacy_dtparse.spine_tagger.tagger import SequenceTagger

from ...tagger_models import random_tagger
from .cases import Case, Raises, Returns

SPINES = "spines for every visible word"


@cache
def blank() -> Any:
    return spacy.blank("en")


def by_tagger(doc: Doc) -> Doc:
    """Tag the Doc with a spine_tagger that has not warned yet."""
    return SpineTagger(parser=SequenceTagger(random_tagger(0, 0.3, cutoff=99)))(doc)


def make_doc(words: str, tags: str | None = None) -> Doc:
    """A Doc of one sentence of words between spaces; "?" is a missing tag."""
    parts = words.split(" ")
    given = ["NN"] * len(parts) if tags is None else [tag.replace("?", "") for tag in tags.split(" ")]
    return Doc(blank().vocab, words=parts, tags=given, sent_starts=[True] + [False] * (len(parts) - 1))


def has_spines(doc: Doc) -> bool:
    """Whether exactly the visible words have spines, the most probable first."""
    found = [[chance for _, chance in token._.spines] for token in doc]
    return all(
        bool(probabilities) != is_blank(token.text) and probabilities == sorted(probabilities, reverse=True)
        for token, probabilities in zip(doc, found, strict=True)
    )


def case(name: str, make: Callable[[], Doc], gets: Returns | Raises) -> Case:
    return Case("spine_tagger", name, lambda bench: by_tagger(make()), gets)


SPINE_TAGGERS = [
    case("empty Doc", lambda: Doc(blank().vocab), Returns("the same Doc", lambda doc: not len(doc))),
    case("only white-space tokens", lambda: make_doc("\n \t \n"), Returns("no spines", has_spines)),
    case("emoji", lambda: make_doc("😀 👍🏽 🎉"), Returns(SPINES, has_spines)),
    case(
        "control characters and NUL", lambda: make_doc("The\x01 cat\x07 sat\x00 \x1b[31m"), Returns(SPINES, has_spines)
    ),
    case("right-to-left script", lambda: make_doc("הכלב רץ الكلب"), Returns(SPINES, has_spines)),
    case("token of 50,000 characters", lambda: make_doc("a" * 50_000 + " is long"), Returns(SPINES, has_spines)),
    case("one sentence of 3,000 tokens", lambda: make_doc("cat sat " * 1499 + "cat ."), Returns(SPINES, has_spines)),
    case(
        "tags never seen",
        lambda: make_doc("The cat sat", "FOO BAR BAZ"),
        Returns(SPINES, has_spines, "tags (token.tag_) that its model does not have"),
    ),
    case(
        "no tags",
        lambda: Doc(blank().vocab, words=["The", "cat"]),
        Raises(MissingAnnotationError, "spine_tagger needs part-of-speech tags"),
    ),
    case(
        "some tags missing",
        lambda: make_doc("The cat sat", "DT ? VBD"),
        Returns(SPINES + "; these words count as unknown", has_spines, "1 words of a Doc have no part-of-speech tag"),
    ),
    case(
        "no sentence boundaries",
        lambda: Doc(blank().vocab, words=["The", "cat"], tags=["DT", "NN"]),
        Returns("tagged as one sentence", has_spines, "no sentence boundaries"),
    ),
    Case(
        "spine_tagger",
        "beta above 1",
        lambda bench: spacy.blank("en").add_pipe("spine_tagger", config={"beta": 1.5}),
        Raises(ConfigError, "beta = 1.5"),
    ),
    Case(
        "spine_tagger",
        "unknown setting",
        lambda bench: spacy.blank("en").add_pipe("spine_tagger", config={"width": 2}),
        Raises("ConfigValidationError", "spine_tagger -> width"),
    ),
]
