"""Docs, settings, models and treebanks of the dependency parser."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

from spacy.tokens import Doc
from spacy.vocab import Vocab

import spacy_dtparse
from spacy_dtparse.bpm_parser.component import BpmParser
from spacy_dtparse.bpm_parser.features import TokenColumns
from spacy_dtparse.cli import main
from spacy_dtparse.core import load_dependency_parser
from spacy_dtparse.dtparse.component import DtParse
from spacy_dtparse.errors import (
    ConfigError,
    DtparseError,
    MissingAnnotationError,
    ModelFormatError,
    NotParsedError,
    TrainingDataError,
)
from spacy_dtparse.model_io.container import container_to_bytes
from training.bpm_parser.options import DependencyOptions
from training.bpm_parser.running import read_treebank_file, train_dependency_parser
from training.data.dependencies import read_conllu, tree_problem

from .cases import Bench, Case, Exits, Raises, Returns
from .files import flipped

CAT, CAT_TAGS = "The cat sat .", "DT NN VBD ."
TREES = "one dependency tree per sentence"


def make_doc(words: str, tags: str | None = None, starts: str | None = None) -> Doc:
    """Make a Doc like `Bench.doc`, with a separate vocabulary."""
    flags = {"1": True, "0": False, "?": None}
    return Doc(
        Vocab(),
        words=words.split(" "),
        tags=None if tags is None else [tag.replace("-", "") for tag in tags.split(" ")],
        sent_starts=None if starts is None else [flags[flag] for flag in starts],
    )


def parsed(words: str, tags: str | None = None, starts: str | None = None) -> Callable[[Bench], Doc]:
    """Parse the Doc of `make_doc` with a bpm_parser that has not warned yet."""
    return lambda bench: BpmParser(model=bench.link_model())(make_doc(words, tags, starts))


def whole(doc: Doc) -> bool:
    """Whether each sentence is a tree with one root."""
    for sentence in doc.sents:
        heads = [0 if token.head.i == token.i else token.head.i - sentence.start + 1 for token in sentence]
        roots = [token.dep_ == "ROOT" for token in sentence]
        if tree_problem(heads) or roots != [head == 0 for head in heads]:
            return False
    return True


def case(name: str, make: Callable[[Bench], Any], gets: Raises | Exits | Returns) -> Case:
    return Case("bpm_parser", name, make, gets)


def odd(name: str, words: str, gets: str = TREES) -> Case:
    """Odd words, all of them nouns of one sentence."""
    n = len(words.split(" "))
    make = parsed(words, " ".join(["NN"] * n), "1" + "0" * (n - 1))
    return case(name, make, Returns(gets, lambda doc: whole(doc) and [t.text for t in doc] == words.split(" ")))


def setting(name: str, phrase: str, error: type[Exception] | str = ConfigError, **settings: Any) -> Case:
    def make(bench: Bench) -> Any:
        return bench.component("bpm_parser", **{"model": str(bench.link_model()), **settings})

    return case(name, make, Raises(error, phrase))


def damaged(name: str, change: Callable[[bytes], bytes], phrase: str) -> Case:
    def make(bench: Bench) -> Any:
        return load_dependency_parser(bench.file(change(bench.link_model().read_bytes()), "model"))

    return case(f"model file: {name}", make, Raises(ModelFormatError, phrase))


LINKS = [
    case(
        "empty Doc",
        lambda bench: BpmParser(model=bench.link_model())(Doc(Vocab())),
        Returns("the same Doc", lambda d: not d),
    ),
    case("no tags", parsed(CAT), Raises(MissingAnnotationError, "needs token.tag_, and none of the 4 words")),
    case(
        "some tags missing",
        parsed(CAT, "DT - VBD .", "1000"),
        Returns(TREES + "; these words count as unknown", whole, "1 words of a Doc have no token.tag_"),
    ),
    case("tags the model has never seen", parsed(CAT, "FOO BAR BAZ QUX", "1000"), Returns(TREES, whole)),
    case(
        "no sentence boundaries",
        parsed(CAT + " " + CAT, CAT_TAGS + " " + CAT_TAGS),
        Returns("one tree over the whole Doc", lambda doc: len(list(doc.sents)) == 1 and whole(doc), "as one sentence"),
    ),
    case(
        "boundaries set for some tokens only",
        parsed(CAT + " " + CAT, CAT_TAGS + " " + CAT_TAGS, "1???1???"),
        Returns(
            "one sentence from each start that is set", lambda doc: [s.end for s in doc.sents] == [4, 8] and whole(doc)
        ),
    ),
    case(
        "every token starts a sentence",
        parsed(CAT, CAT_TAGS, "1111"),
        Returns("roots only", lambda doc: all(token.dep_ == "ROOT" for token in doc) and whole(doc)),
    ),
    case(
        "only white-space tokens",
        parsed("\n \t \n", "_SP _SP _SP", "101"),
        Returns("the first of each sentence is its root", lambda doc: [t.head.i for t in doc] == [0, 0, 2]),
    ),
    case(
        "one sentence of 3,000 tokens",
        parsed("cat sat " * 1499 + "cat .", "NN VBD " * 1499 + "NN .", "1" + "0" * 2999),
        Returns("one tree, of pieces of at most `max_tokens` tokens", lambda doc: whole(doc) and len(doc) == 3000),
    ),
    odd("emoji", "😀 👍🏽 🎉"),
    odd("control characters and NUL", "The\x01 cat\x07 sat\x00 \x1b[31m", TREES + "; the characters stay"),
    odd("right-to-left script", "הכלב רץ الكلب"),
    odd("token of 50,000 characters", "a" * 50_000 + " is long"),
    odd("words that models use internally", "<root> <before> <after> <number>"),
    case(
        "another component's heads, then parsed",
        lambda bench: BpmParser(model=bench.link_model())(
            Doc(Vocab(), words=CAT.split(), tags=CAT_TAGS.split(), heads=[0, 0, 0, 0], deps=["ROOT", "x", "x", "x"])
        ),
        Returns("replaced", lambda doc: whole(doc) and not any(token.dep_ == "x" for token in doc)),
    ),
    case(
        "head_consistency without heads",
        lambda bench: spacy_dtparse.head_consistency(
            DtParse(parser=bench.rule_parser())(make_doc(CAT, CAT_TAGS, "1000"))
        ),
        Raises(MissingAnnotationError, "this Doc has no dependency heads"),
    ),
    case(
        "head_consistency without constituents",
        lambda bench: spacy_dtparse.head_consistency(parsed(CAT, CAT_TAGS, "1000")(bench)),
        Raises(NotParsedError, "add 'dtparse' to the pipeline"),
    ),
    case(
        "no word, from Python",
        lambda bench: load_dependency_parser(bench.link_model()).parse(TokenColumns([], [])),
        Raises(DtparseError, "an empty sentence has no tree"),
    ),
    case(
        "fewer tags than words, from Python",
        lambda bench: load_dependency_parser(bench.link_model()).parse(TokenColumns(["a", "b"], ["DT"])),
        Raises(DtparseError, "2 words but 1 tags; the model reads them"),
    ),
    case(
        "zero trees requested, from Python",
        lambda bench: load_dependency_parser(bench.link_model()).parse_k_best(TokenColumns(["a"], ["DT"]), 0),
        Raises(ConfigError, "k is 0; it must be 1 or more"),
    ),
    setting("unknown name", "bpm_parser -> budget", "ConfigValidationError", budget=0),
    setting("decoder of a wrong type", "bpm_parser -> decoder", "ConfigValidationError", decoder=3),
    setting("unknown decoder", "decoder = 'best'; it is 'projective' or 'spanning'", decoder="best"),
    setting("no stage at all", "stages = 0; it is a whole number from 1", stages=0),
    setting("more stages than the model has", "'stages' is 9; the model has 2", stages=9),
    setting("no tokens at all", "max_tokens = 0; it is a whole number from 1", max_tokens=0),
    damaged("empty", lambda data: b"", "the model is empty (0 bytes)"),
    damaged("foreign (a ZIP file)", lambda data: b"PK\x03\x04" + data, "not a spacy-dtparse model file"),
    damaged("cut off near the end", lambda data: data[:-100], "truncated model file"),
    damaged(
        "one bit flipped in the content",
        lambda data: flipped(data, len(data) // 2),
        "does not have the digest in its header",
    ),
    damaged(
        "newer version", lambda data: data[:8] + struct.pack("<H", 9) + data[10:], "this release reads up to 1: update"
    ),
    damaged(
        "right kind, no content",
        lambda data: container_to_bytes("dependency", {}, {}),
        "the dependency model has version None; this release reads version 1",
    ),
    damaged(
        "of a span network",
        lambda data: container_to_bytes("span", {}, {}),
        "builds constituents, not dependencies; use it with nlp.add_pipe('span_parser'",
    ),
    case(
        "model file: of dependencies, given to dtparse",
        lambda bench: bench.component("dtparse", model=str(bench.link_model())),
        Raises(ModelFormatError, "builds dependencies, not constituents; use it with nlp.add_pipe('bpm_parser'"),
    ),
    case(
        "model file: of dependencies, given to pcfgla",
        lambda bench: bench.component("pcfgla", model=str(bench.link_model())),
        Raises(ModelFormatError, "builds dependencies, not constituents; use it with nlp.add_pipe('bpm_parser'"),
    ),
    case(
        "model file: of dependencies, given to `dtparse parse`",
        lambda bench: main(["parse", "--text", "a", "--model", str(bench.link_model())]),
        Exits(1, "builds dependencies, and this command is about constituents"),
    ),
]


def row(number: int, head: object, word: str = "cat") -> str:
    return f"{number}\t{word}\t{word}\tNOUN\tNN\t_\t{head}\tdep\t_\t_\n"


RANGE = "1-2\tacat\t" + "_\t" * 7 + "_\n"
EMPTY = "1.1\tof\t" + "_\t" * 7 + "_\n"


def conllu(name: str, data: str | bytes, phrase: str) -> Case:
    def make(bench: Bench) -> Any:
        return list(read_conllu(bench.file(data.encode() if isinstance(data, str) else data, "input.conllu")))

    return Case("CoNLL-U", name, make, Raises(TrainingDataError, phrase))


def option(name: str, phrase: str, **options: Any) -> Case:
    return Case("CoNLL-U", name, lambda bench: DependencyOptions(**options), Raises(ConfigError, phrase))


CONLLU = [
    conllu("too few columns", "1\tcat\t_\n", "input.conllu:1: 3 columns; CoNLL-U has 10"),
    conllu("spaces instead of tabs", row(1, 0).replace("\t", " "), "input.conllu:1: 1 columns"),
    conllu("no blank line between sentences", row(1, 0) + row(1, 0), "is a blank line missing before it?"),
    conllu("head that is not a number", row(1, "x"), "input.conllu:1: the head is 'x'"),
    conllu("no head", row(1, "_"), "the head is '_'; it must be a token's number, or 0 for the root"),
    conllu("head outside of the sentence", row(1, 0) + row(2, 7), "token 2 has the head 7; allowed are 0 to 2"),
    conllu("no root", row(1, 2) + row(2, 1), "0 tokens have the head 0; exactly one must be the root"),
    conllu("two roots", row(1, 0) + row(2, 0), "2 tokens have the head 0"),
    conllu("cycle", row(1, 0) + row(2, 3) + row(3, 2), "token 2 is on or below a cycle of heads (2 -> 3 -> 2)"),
    conllu("bytes that are not UTF-8", row(1, 0).encode() + b"\xff\n", "this is not UTF-8"),
    Case(
        "CoNLL-U",
        "ranges, empty nodes, comments, no blank line at the end",
        lambda bench: list(read_conllu(bench.file(f"# a\n{RANGE}{row(1, 2)}{EMPTY}{row(2, 0)}".encode()))),
        Returns("one sentence of the numbered tokens", lambda found: [s.heads for s in found] == [(2, 0)]),
    ),
    Case(
        "CoNLL-U",
        "empty file, to train on",
        lambda bench: train_dependency_parser(
            [str(bench.file(b"", "input.conllu"))], [], DependencyOptions(), {}, bench.folder / "model", workers=1
        ),
        Raises(TrainingDataError, "no training sentence has at most 100 tokens"),
    ),
    Case(
        "CoNLL-U",
        "unknown option of a file",
        lambda bench: read_treebank_file("a.conllu,weight=2", "en"),
        Raises(ConfigError, "'weight' is no option; allowed are tags=PATH, limit=N, block=K/N"),
    ),
    option("unknown decoder, to train", "decoder is 'best'; it must be 'projective' or 'spanning'", decoder="best"),
    option("unknown method", "method is 'svm'; it must be 'perceptron' or 'mira'", method="svm"),
    option("no learner at all", "members is 0; it must be a whole number from 1", members=0),
    option("too many stages", "stages is 9; it must be a whole number from 1 to 4", stages=9),
]
