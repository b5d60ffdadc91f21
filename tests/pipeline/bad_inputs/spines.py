"""Docs and settings of the taggers of spines."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import spacy
from spacy.tokens import Doc
from spacy.training import Example

from spacy_dtparse.errors import ConfigError, ModelFormatError, TrainingDataError
from spacy_dtparse.parsers.tagging import SequenceTagger
from spacy_dtparse.pipeline.component import SpineTagger
from spacy_dtparse.pipeline.sentences import MissingAnnotationError, is_blank
from spacy_dtparse.pipeline.spines import write_spines

from ...tagger_models import random_tagger
from .cases import Bench, Case, Raises, Returns

NETWORK = {
    "@architectures": "spacy.Tagger.v2",
    "tok2vec": {
        "@architectures": "spacy.HashEmbedCNN.v2", "pretrained_vectors": None, "width": 8, "depth": 1,
        "embed_size": 50, "window_size": 1, "maxout_pieces": 2, "subword_features": True,
    },
}  # fmt: skip
SPINES = "spines for every visible word"


@cache
def blank() -> Any:
    return spacy.blank("en")


def by_tagger(doc: Doc) -> Doc:
    """The Doc through a spine_tagger that has not warned yet."""
    return SpineTagger(parser=SequenceTagger(random_tagger(0, 0.3, cutoff=99)))(doc)


def new_network(**settings: Any) -> Any:
    """A spine_tok2vec that knows no labels."""
    return spacy.blank("en").add_pipe("spine_tok2vec", config={"model": NETWORK, **settings})


def lesson(words: str = "The cat sat", spines: str = "- NP VP+S") -> Example:
    gold = Doc(blank().vocab, words=words.split())
    write_spines(gold, range(len(spines.split())), [[(spine, 1.0)] for spine in spines.split()])
    return Example(Doc(blank().vocab, words=words.split()), gold)


@cache
def network() -> Any:
    """A spine_tok2vec that has learned nothing yet, with labels."""
    component = new_network()
    component.initialize(lambda: [lesson()])
    return component


def by_network(doc: Doc) -> Doc:
    return network()(doc)


def made(words: str, tags: str | None = None) -> Doc:
    """A Doc of one sentence of words between spaces; "?" is a missing tag."""
    parts = words.split(" ")
    given = ["NN"] * len(parts) if tags is None else [tag.replace("?", "") for tag in tags.split(" ")]
    return Doc(blank().vocab, words=parts, tags=given, sent_starts=[True] + [False] * (len(parts) - 1))


def offered(doc: Doc) -> bool:
    """Whether exactly the visible words have spines, likeliest first."""
    found = [[chance for _, chance in token._.spines] for token in doc]
    return all(
        bool(chances) != is_blank(token.text) and chances == sorted(chances, reverse=True)
        for token, chances in zip(doc, found, strict=True)
    )


def both(name: str, make: Callable[[], Doc], gets: Returns | Raises) -> list[Case]:
    return [
        Case(factory, name, lambda bench, run=run: run(make()), gets)
        for factory, run in (("spine_tagger", by_tagger), ("spine_tok2vec", by_network))
    ]


def case(factory: str, name: str, make: Callable[[Bench], Any], gets: Returns | Raises) -> Case:
    return Case(factory, name, make, gets)


def no_training(name: str, examples: Callable[[], list[Example]], phrase: str, **options: Any) -> Case:
    return case(
        "spine_tok2vec",
        name,
        lambda bench: new_network().initialize(examples, **options),
        Raises(ConfigError if options else TrainingDataError, phrase),
    )


SPINE_TAGGERS = [
    *both("empty Doc", lambda: Doc(blank().vocab), Returns("it", lambda doc: not len(doc))),
    *both("only white-space tokens", lambda: made("\n \t \n"), Returns("no spines", offered)),
    *both("emoji", lambda: made("😀 👍🏽 🎉"), Returns(SPINES, offered)),
    *both("control characters and NUL", lambda: made("The\x01 cat\x07 sat\x00 \x1b[31m"), Returns(SPINES, offered)),
    *both("right-to-left script", lambda: made("הכלב רץ الكلب"), Returns(SPINES, offered)),
    *both("token of 50,000 characters", lambda: made("a" * 50_000 + " is long"), Returns(SPINES, offered)),
    *both("one sentence of 3,000 tokens", lambda: made("cat sat " * 1499 + "cat ."), Returns(SPINES, offered)),
    *both("tags never seen", lambda: made("The cat sat", "FOO BAR BAZ"), Returns(SPINES, offered)),
    case(
        "spine_tagger",
        "no tags",
        lambda bench: by_tagger(Doc(blank().vocab, words=["The", "cat"])),
        Raises(MissingAnnotationError, "spine_tagger needs part-of-speech tags"),
    ),
    case(
        "spine_tagger",
        "some tags missing",
        lambda bench: by_tagger(made("The cat sat", "DT ? VBD")),
        Returns(SPINES + "; these words count as unknown", offered, "1 words of a Doc have no part-of-speech tag"),
    ),
    case(
        "spine_tagger",
        "no sentence boundaries",
        lambda bench: by_tagger(Doc(blank().vocab, words=["The", "cat"], tags=["DT", "NN"])),
        Returns("tagged as one sentence", offered, "no sentence boundaries"),
    ),
    case(
        "spine_tok2vec",
        "no tags, for a network that reads words",
        lambda bench: by_network(Doc(blank().vocab, words=["The", "cat"])),
        Returns(SPINES, offered),
    ),
    case(
        "spine_tok2vec",
        "a Doc before training",
        lambda bench: new_network()(made("The cat")),
        Raises(ModelFormatError, "it has no labels"),
    ),
    case("spine_tok2vec", "beta above 1", lambda bench: new_network(beta=1.5), Raises(ConfigError, "beta = 1.5")),
    case(
        "spine_tok2vec",
        "unknown setting",
        lambda bench: new_network(beam=2),
        Raises("ConfigValidationError", "spine_tok2vec -> beam"),
    ),
    case(
        "spine_tok2vec",
        "empty label",
        lambda bench: new_network().add_label(""),
        Raises(ConfigError, "label ''; it is a non-empty string"),
    ),
    no_training(
        "training Docs without spines",
        lambda: [Example(made("The cat"), made("The cat"))],
        "no word of the training Docs has a category in doc.spans",
    ),
    no_training("least = 0", lambda: [lesson()], "least = 0; it is a whole number from 1", least=0),
]
