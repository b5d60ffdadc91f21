"""Bad and odd inputs, one row each: how it is made and what it gets. docs/bad_inputs.md is this table.

Print it for the document: python -c "from tests.pipeline.test_bad_inputs import table; print(table())"
"""

from __future__ import annotations

import re
import struct
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import spacy
from spacy.tokens import Doc, DocBin, Span
from spacy.vocab import Vocab

import spacy_dtparse
from spacy_dtparse.cli import main
from spacy_dtparse.errors import ConfigError, ModelFormatError, TrainingDataError, TreeError, TreeFormatError
from spacy_dtparse.model.container import container_to_bytes
from spacy_dtparse.models import EMBEDDED_PIPELINE, MODEL_FILE, embedded_trees
from spacy_dtparse.parsers import load_parser
from spacy_dtparse.parsers.dtree import SearchSettings
from spacy_dtparse.pipeline.component import DtParse
from spacy_dtparse.pipeline.constituents import NonConstituentError, NotParsedError
from spacy_dtparse.pipeline.sentences import MissingAnnotationError, is_blank, plain_word
from spacy_dtparse.trees.brackets import parse_tree, read_trees, unescape_token
from training.corpus import read_treebank
from training.fit import Fit
from training.recipe import FitRecipe
from training.treebanks import TreebankFile

from ..documents import ROOT

NEED_MODEL = ("text", "Doc", "model file", "command line")


class Bench:
    """What the rows are made with: the embedded pipeline, and a folder for files."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.nlp: Any = None

    def file(self, data: bytes, name: str = "input") -> Path:
        path = self.folder / name
        path.write_bytes(data)
        return path

    def doc(self, words: str, tags: str | None = None, starts: str | None = None) -> Doc:
        """A Doc of words between spaces; "-" is a missing tag; `starts` has 1, 0 or ? for each word."""
        flags = {"1": True, "0": False, "?": None}
        return Doc(
            self.nlp.vocab,
            words=words.split(" "),
            tags=None if tags is None else [tag.replace("-", "") for tag in tags.split(" ")],
            sent_starts=None if starts is None else [flags[flag] for flag in starts],
        )

    def parse(self, *arguments: str | None) -> Doc:
        """The Doc of `doc` through a dtparse component that has not warned yet."""
        component = DtParse(parser=self.nlp.get_pipe("dtparse").parser)
        return component(self.doc(*arguments))  # type: ignore[arg-type]

    def model(self) -> bytes:
        return (EMBEDDED_PIPELINE / "dtparse" / MODEL_FILE).read_bytes()

    def component(self, factory: str = "dtparse", **settings: Any) -> DtParse:
        return spacy.blank("en").add_pipe(factory, config=settings)  # type: ignore[return-value]


class Raises(NamedTuple):
    error: type[Exception] | str
    phrase: str

    def __str__(self) -> str:
        name = self.error if isinstance(self.error, str) else self.error.__name__
        return f"{name}: `… {self.phrase} …`"


class Exits(NamedTuple):
    code: int
    phrase: str

    def __str__(self) -> str:
        return f"exit code {self.code}, on standard error: `… {self.phrase} …`"


class Returns(NamedTuple):
    text: str
    check: Callable[[Any], bool]
    warning: str = ""

    def __str__(self) -> str:
        return self.text + (f", and a warning: `… {self.warning} …`" if self.warning else "")


class Case(NamedTuple):
    area: str
    name: str
    make: Callable[[Bench], Any]
    gets: Raises | Exits | Returns


def whole(doc: Doc) -> bool:
    """Whether every sentence has a tree of exactly its visible tokens, readable again from its brackets."""
    for sentence in doc.sents if len(doc) else ():
        words = [plain_word(token.text) for token in sentence if not is_blank(token.text)]
        if words:
            tree = parse_tree(sentence._.parse_string)
            if [unescape_token(word) for word in tree.words] != words or tree.labels[0] != "TOP":
                return False
    infos = spacy_dtparse.sentence_infos(doc)
    return [(info["start"], info["end"]) for info in infos] == [(s.start, s.end) for s in doc.sents if len(doc)]


def text(name: str, value: str, gets: str, check: Callable[[Doc], Any] = bool) -> Case:
    """A text whose Doc keeps it unchanged, is `whole`, and passes `check`."""
    return Case(
        "text",
        name,
        lambda bench: bench.nlp(value),
        Returns(gets, lambda doc: doc.text == value and whole(doc) and bool(check(doc))),
    )


def statuses(doc: Doc) -> set[str]:
    return {info["status"] for info in spacy_dtparse.sentence_infos(doc)}


def has(*parts: str) -> Callable[[Doc], bool]:
    """Whether the brackets of the sentences hold all `parts`."""
    return lambda doc: all(part in " ".join(s._.parse_string for s in doc.sents) for part in parts)


TREES = "one tree per sentence, of all its tokens"

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
        "white space only, brackets asked for",
        lambda bench: bench.nlp(" \n\t  ")[:]._.parse_string,
        Raises(NonConstituentError, "are white space only"),
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


def merged(bench: Bench) -> Doc:
    doc = bench.nlp("The old cat sat.")
    with doc.retokenize() as retokenizer:
        retokenizer.merge(doc[0:3])
    return doc


def stored(bench: Bench) -> Doc:
    doc_bin = DocBin(docs=[bench.nlp("The cat sat on the mat.")], store_user_data=True)
    return next(iter(DocBin().from_bytes(doc_bin.to_bytes()).get_docs(Vocab())))


def with_spans(bench: Bench, parse: bool, *extents: tuple[int, int]) -> Doc:
    """A Doc with somebody else's spans under the component's key, before parsing or without it."""
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
        Returns(TREES + ", with these tags", lambda doc: whole(doc) and has("(BAR cat)")(doc)),
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
            "cut where a start is set",
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
        Returns("one tree, found greedily (status `greedy`)", lambda doc: whole(doc) and statuses(doc) == {"greedy"}),
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
        "retokenized after parsing, all constituents",
        lambda bench: merged(bench)._.constituents,
        Returns("none", lambda found: found == [], "were merged or split after parsing"),
    ),
    Case(
        "Doc",
        "retokenized after parsing, one span",
        lambda bench: merged(bench)[:]._.parse_string,
        Raises(NotParsedError, "were merged or split after parsing"),
    ),
    Case(
        "Doc",
        "retokenized and parsed again",
        lambda bench: bench.nlp.get_pipe("dtparse")(merged(bench)),
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
        "somebody else's spans under the key, then parsed",
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
        "span that is no constituent",
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


def bracketed(name: str, data: bytes, gets: Raises | Returns) -> Case:
    """A file for both readers of treebanks, that of the package and that of training; they must agree."""

    def make(bench: Bench) -> Any:
        path = bench.file(data, "input.mrg")
        try:
            trees = list(read_trees(path))
        except TreeFormatError as error:
            with pytest.raises(TreeFormatError, match=re.escape(str(error))):
                read_treebank(path)
            assert str(path) in str(error) and error.line is not None and error.column is not None
            raise
        assert len(read_treebank(path)) == len(trees)
        return trees

    return Case("treebank", name, make, gets)


def tagged(tags: bytes) -> Callable[[Bench], Any]:
    """Two trees with a file of tags."""
    return lambda bench: read_treebank(
        bench.file(b"(TOP (NP (NN cat)))\n(TOP (NP (NN dog)))\n", "two.mrg"), bench.file(tags, "tags")
    )


TREEBANKS = [
    bracketed(
        "bracket never closed", b"(TOP (NP (NN cat))\n", Raises(TreeFormatError, "is never closed; is a ')' missing")
    ),
    bracketed("bracket too many", b"(TOP (NN cat)))\n", Raises(TreeFormatError, "')' closes nothing")),
    bracketed(
        "text outside of trees", b"hello (TOP (NN cat))\n", Raises(TreeFormatError, "stands outside of any tree")
    ),
    bracketed(
        "text beside leaves",
        b"(TOP (NP (DT the) cat))\n",
        Raises(TreeFormatError, "stands beside constituents or leaves"),
    ),
    bracketed("empty constituent", b"(TOP (NP ) (NN cat))\n", Raises(TreeFormatError, "'(NP)' holds no word")),
    bracketed(
        "constituent without a label", b"(TOP ( (NN a)) (NN b))\n", Raises(TreeFormatError, "has no label; give it one")
    ),
    bracketed(
        "words without tags",
        b"(TOP (NP the cat))\n",
        Returns(
            "one leaf with tag NP: several words of a leaf are one token",
            lambda trees: trees[0].words == ("the\u00a0cat",),
        ),
    ),
    bracketed(
        "bytes that are not UTF-8",
        b"(TOP (NN caf\xe9))\n",
        Raises(TreeFormatError, "byte 0xe9 is not valid in the file's encoding"),
    ),
    bracketed("binary file", b"\0\0\0\0", Raises(TreeFormatError, "stands outside of any tree")),
    bracketed(
        "3,000 constituents deep",
        b"(TOP " + b"(NP " * 3000 + b"(NN a)" + b")" * 3001,
        Returns("the tree", lambda trees: len(trees[0].labels) == 3001),
    ),
    bracketed("empty file", b"", Returns("no trees", lambda trees: trees == [])),
    Case(
        "treebank",
        "empty file, to train on",
        lambda bench: TreebankFile(bench.file(b"")).read(),
        Raises(TrainingDataError, "no tree in it"),
    ),
    Case(
        "treebank",
        "no such file, to train on",
        lambda bench: TreebankFile(bench.folder / "no.mrg").read(),
        Raises(TrainingDataError, "there is no file"),
    ),
    Case(
        "treebank",
        "too few lines of tags",
        tagged(b"NN\n"),
        Raises(TrainingDataError, "0 tags for the 1 words of tree 2"),
    ),
    Case(
        "treebank",
        "too many lines of tags",
        tagged(b"NN\nNN\nNN\n"),
        Raises(TrainingDataError, "has 3 lines for the 2 trees"),
    ),
    Case(
        "treebank",
        "too many tags in a line",
        tagged(b"NN NN\nNN\n"),
        Raises(TrainingDataError, "2 tags for the 1 words of tree 1"),
    ),
    Case(
        "treebank", "tags that are not UTF-8", tagged(b"\xff\nNN\n"), Raises(TrainingDataError, "cannot read the tags")
    ),
    Case(
        "treebank",
        "training without sentences",
        lambda bench: Fit(FitRecipe(), [], [], bench.folder),
        Raises(TrainingDataError, "there are no training sentences"),
    ),
]


def damaged(name: str, change: Callable[[bytes], bytes], phrase: str) -> Case:
    """A changed model, as a file; its bytes get the same."""

    def make(bench: Bench) -> Any:
        data = change(bench.model())
        with pytest.raises(ModelFormatError, match=re.escape(phrase)):
            load_parser(data)
        return load_parser(bench.file(data, "model"))

    return Case("model file", name, make, Raises(ModelFormatError, phrase))


def flipped(data: bytes, place: int) -> bytes:
    return data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :]


MODELS = [
    damaged("empty", lambda data: b"", "the model is empty (0 bytes)"),
    damaged("foreign (a ZIP file)", lambda data: b"PK\x03\x04" + data, "not a spacy-dtparse model file"),
    damaged("cut off in the header", lambda data: data[:40], "truncated model file"),
    damaged("cut off near the end", lambda data: data[:-100], "truncated model file"),
    damaged("further bytes at the end", lambda data: data + b"\n", "1 bytes follow the end of the model file"),
    damaged(
        "one bit flipped in the content",
        lambda data: flipped(data, len(data) // 2),
        "does not have the digest in its header",
    ),
    damaged("one bit flipped in the digest", lambda data: flipped(data, 40), "does not have the digest in its header"),
    damaged(
        "of another kind",
        lambda data: container_to_bytes("lexicon", {}, {}),
        "no parser for model files of kind 'lexicon'",
    ),
    damaged(
        "right kind, no content", lambda data: container_to_bytes("dtree", {}, {}), "the ensemble has version None"
    ),
    damaged(
        "span network, no content",
        lambda data: container_to_bytes("span", {}, {}),
        "the span model has version None; this release reads version 1",
    ),
    damaged(
        "newer version",
        lambda data: data[:8] + struct.pack("<H", 9) + data[10:],
        "this release reads up to 1: update spacy-dtparse",
    ),
    Case(
        "model file",
        "missing",
        lambda bench: load_parser(bench.folder / "no"),
        Raises(ModelFormatError, "there is no model file"),
    ),
    Case(
        "model file",
        "a folder",
        lambda bench: load_parser(bench.folder),
        Raises(ModelFormatError, "is a folder; give the model file inside it"),
    ),
    Case(
        "model file",
        "a folder without a model, as component setting",
        lambda bench: bench.component(model=str(bench.folder)),
        Raises(ModelFormatError, "is a folder without a 'model' file"),
    ),
    Case(
        "model file",
        "of decision trees, given to pcfgla",
        lambda bench: bench.component("pcfgla", model=str(embedded_trees())),
        Raises(ModelFormatError, "is not one for the factory 'pcfgla'; use it with nlp.add_pipe('dtparse'"),
    ),
    Case(
        "model file",
        "of a span network, given to pcfgla",
        lambda bench: bench.component("pcfgla", model=str(bench.file(bench.model(), "my.model"))),
        Raises(ModelFormatError, "is not one for the factory 'pcfgla'; use it with nlp.add_pipe('dtparse'"),
    ),
    Case(
        "model file",
        "junk, as component setting",
        lambda bench: bench.component(model=str(bench.file(b"junk", "my.model"))),
        Raises(ModelFormatError, "my.model: not a spacy-dtparse model file"),
    ),
]


def setting(name: str, phrase: str, error: type[Exception] | str = ConfigError, **settings: Any) -> Case:
    return Case("component setting", name, lambda bench: bench.component(**settings), Raises(error, phrase))


SETTINGS = [
    setting("unknown name", "dtparse -> foo", "ConfigValidationError", foo=1),
    setting("budget of a wrong type", "dtparse -> budget", "ConfigValidationError", budget="many"),
    setting("negative budget", "budget = -1; it is a whole number from 0", budget=-1),
    setting("negative max_tokens", "max_tokens = -2; it is a whole number from 0", max_tokens=-2),
    setting("empty spans_key", "it is a non-empty string, a key of doc.spans", spans_key=""),
    setting("pcfgla: unknown name", "pcfgla -> budget", "ConfigValidationError", factory="pcfgla", budget=0),
    setting("pcfgla: tags neither own nor given", "it is 'own' or 'given', or None", factory="pcfgla", tags="gold"),
    setting("pcfgla: prune above what is left", "it is a number from 0 to below 1", factory="pcfgla", prune=1.0),
    setting("pcfgla: negative beam", "beam = -0.1; it is a number from 0 to below 1", factory="pcfgla", beam=-0.1),
    setting("pcfgla: no tokens at all", "max_tokens = 0; it is a whole number from 1", factory="pcfgla", max_tokens=0),
    setting("unknown scorer", "Could not find function 'no.such'", "RegistryError", scorer={"@scorers": "no.such"}),
    Case(
        "component setting",
        "model path that does not exist",
        lambda bench: bench.component(model=str(bench.folder / "no")),
        Returns(
            "a component that waits for its data from disk", lambda found: found.labels == (), "there is no model file"
        ),
    ),
    Case(
        "component setting",
        "model path that does not exist, then a Doc",
        lambda bench: bench.component(model=str(bench.folder / "no")).parser,
        Raises(ModelFormatError, "there is no model file"),
    ),
    Case(
        "component setting",
        "confident = 0",
        lambda bench: SearchSettings(confident=0),
        Raises(ConfigError, "'confident' is 0; it must be a number above 0"),
    ),
    Case(
        "component setting",
        "confident below 0",
        lambda bench: SearchSettings(confident=-1.5),
        Raises(ConfigError, "'confident' is -1.5; it must be a number above 0"),
    ),
    Case(
        "component setting",
        "gate = 1: drop everything",
        lambda bench: SearchSettings(gate=1),
        Raises(ConfigError, "'gate' is 1; it must be a number from 0 to below 1"),
    ),
    Case(
        "component setting",
        "unknown search setting",
        lambda bench: SearchSettings().with_changes(beam=4),
        Raises(ConfigError, "unknown search setting beam; allowed are"),
    ),
]


def recipe(name: str, phrase: str, **settings: Any) -> Case:
    return Case("training recipe", name, lambda bench: FitRecipe.from_dict(settings), Raises(ConfigError, phrase))


RECIPES = [
    recipe("unknown setting", "unknown recipe setting foo; allowed are", foo=1),
    recipe("unknown strategy", "'strategy' is 'top_down'; allowed are", strategy="top_down"),
    recipe("unknown templates", "'templates' is 'huge'; allowed are", templates="huge"),
    recipe("unknown preprocessing step", "'preprocessing' is 'lemmatize'; allowed are", preprocessing=["lemmatize"]),
    recipe("preprocessing that is no list", "it must be a JSON list", preprocessing="strip_empty"),
    recipe("negative_weight = 0", "'negative_weight' is 0; it must be a number, at least 1e-06", negative_weight=0),
    recipe(
        "negative_weight that is not a number",
        "'negative_weight' is nan; it must be a number",
        negative_weight=float("nan"),
    ),
    recipe("max_arity = 1", "it must be a whole number, at least 2 and at most 64", max_arity=1),
    recipe("fractional max_arity", "'max_arity' is 2.5; it must be a whole number", max_arity=2.5),
    recipe("number as text", "'seed' is '7'; it must be a whole number", seed="7"),
    recipe("text for true or false", "'edge_punctuation' is 'no'; allowed are true, false", edge_punctuation="no"),
    recipe("λ decay of 2", "decay is 2; allowed: above 0 and below 1", path={"decay": 2}),
    recipe("λ start below 0", "lambda_start is -1; allowed: None, or above 0", path={"lambda_start": -1}),
    recipe("λ floor below 0", "lambda_floor is -1; allowed: 0 or more", path={"lambda_floor": -1}),
    recipe("λ path without an end", "training would never end", path={"patience": None}),
    recipe("λ path that is no object", "'path' is 3; it must be a JSON object", path=3),
    recipe("unknown gain of the learner", "gain is 'huge'; allowed:", learner={"gain": "huge"}),
    Case(
        "training recipe",
        "malformed JSON",
        lambda bench: FitRecipe.from_json(bench.file(b"{")),
        Raises(ConfigError, "give a JSON file of recipe settings"),
    ),
    Case(
        "training recipe",
        "JSON list",
        lambda bench: FitRecipe.from_json(bench.file(b"[]")),
        Raises(ConfigError, "a recipe is a JSON object, not a list"),
    ),
    Case(
        "training recipe",
        "treebank weight of 0",
        lambda bench: TreebankFile.parse("a.mrg,weight=0"),
        Raises(ConfigError, "the weight is 0.0; it must be above 0"),
    ),
    Case(
        "training recipe",
        "treebank weight that is no number",
        lambda bench: TreebankFile.parse("a.mrg,weight=big"),
        Raises(ConfigError, "'big' is no number for 'weight'"),
    ),
    Case(
        "training recipe",
        "unknown option of a treebank",
        lambda bench: TreebankFile.parse("a.mrg,foo=1"),
        Raises(ConfigError, "'foo=1' is no option of a treebank"),
    ),
]

COMMANDS = [
    Case(
        "command line",
        "file that does not exist",
        lambda bench: main(["parse", str(bench.folder / "no.txt")]),
        Exits(1, "there is no file"),
    ),
    Case(
        "command line",
        "file that is not UTF-8",
        lambda bench: main(["parse", str(bench.file(b"caf\xe9\n"))]),
        Exits(1, "byte 4 of the line is not utf-8"),
    ),
    Case(
        "command line", "empty text", lambda bench: main(["parse", "--text", "  "]), Exits(1, "the input has no text")
    ),
    Case(
        "command line",
        "lone surrogate in the text",
        lambda bench: main(["The cat\udcff sat."]),
        Exits(1, "(a lone surrogate)"),
    ),
    Case(
        "command line",
        "token without a tag in tagged input",
        lambda bench: main(["parse", "--tagged", str(bench.file(b"the cat\n"))]),
        Exits(1, "is not a token_TAG pair"),
    ),
    Case(
        "command line",
        "unknown pipeline",
        lambda bench: main(["parse", "--pipeline", "no_such", "--text", "a"]),
        Exits(1, "cannot load the pipeline 'no_such'"),
    ),
    Case(
        "command line",
        "missing model",
        lambda bench: main(["parse", "--model", str(bench.folder / "no"), "--text", "a"]),
        Exits(1, "there is no model file"),
    ),
    Case(
        "command line",
        "negative budget option",
        lambda bench: main(["parse", "--text", "a", "--budget", "-1"]),
        Exits(2, "'-1' is not a whole number from 0"),
    ),
    Case(
        "command line",
        "evaluate on an empty treebank",
        lambda bench: main(["evaluate", str(bench.file(b""))]),
        Exits(1, "no tree in it"),
    ),
    Case(
        "command line",
        "evaluate files of different lengths",
        lambda bench: main(
            ["evaluate", str(bench.file(b"(TOP (NN a))", "a")), str(bench.file(b"(TOP (NN a)) (TOP (NN b))", "b"))]
        ),
        Exits(1, "give one predicted tree per gold tree"),
    ),
]

CASES = [*TEXTS, *DOCS, *TREEBANKS, *MODELS, *SETTINGS, *RECIPES, *COMMANDS]


def table() -> str:
    """The rows of docs/bad_inputs.md."""
    rows = ["| what | kind | what it gets |", "|---|---|---|"]
    rows += [f"| {case.area} | {case.name} | {case.gets} |" for case in CASES]
    return "\n".join(rows)


@pytest.fixture(scope="module")
def pipeline():
    return spacy_dtparse.load()


@pytest.fixture
def bench(tmp_path, request):
    bench = Bench(tmp_path)
    if "embedded" in request.keywords:
        bench.nlp = request.getfixturevalue("pipeline")
    return bench


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(
            case, id=f"{case.area}: {case.name}", marks=[pytest.mark.embedded] if case.area in NEED_MODEL else []
        )
        for case in CASES
    ],
)
def test_it_gets_what_the_table_says(case, bench, capsys):
    gets = case.gets
    if isinstance(gets, Raises):
        kinds = Exception if isinstance(gets.error, str) else gets.error
        with warnings.catch_warnings(), pytest.raises(kinds, match=re.escape(gets.phrase)) as caught:
            warnings.simplefilter("ignore")
            case.make(bench)
        assert type(caught.value).__name__ == (gets.error if isinstance(gets.error, str) else gets.error.__name__)
    elif isinstance(gets, Exits):
        try:
            code = case.make(bench)
        except SystemExit as stop:
            code = stop.code
        output = capsys.readouterr()
        assert code == gets.code and gets.phrase in output.err and not output.out
        assert "Traceback" not in output.err
    else:
        with warnings.catch_warnings(record=True) as caught_warnings:
            warnings.simplefilter("always")
            result = case.make(bench)
            held = gets.check(result)
        messages = [str(w.message) for w in caught_warnings if w.category is UserWarning]
        assert held
        assert all(gets.warning and gets.warning in message for message in messages), messages
        assert bool(messages) == bool(gets.warning)


def test_the_document_is_this_table():
    assert len(CASES) == len({(case.area, case.name) for case in CASES}) >= 45
    document = (ROOT / "docs" / "bad_inputs.md").read_text(encoding="utf8")
    assert [line for line in document.splitlines() if line.startswith("|")] == table().splitlines()
