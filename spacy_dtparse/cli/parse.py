"""Parse texts from the command line, files or standard input."""

from __future__ import annotations

import argparse
import codecs
import json
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from ..errors import DtparseError
from .pipelines import (
    add_pipeline_arguments,
    get_component,
    load_pipeline,
    positive_number,
    quiet_warnings,
    sentence_pipes,
)

if TYPE_CHECKING:
    from spacy.language import Language
    from spacy.tokens import Doc, Span

FORMATS = ("brackets", "pretty", "json")

Line = tuple[str, int, str]
"""Name of its file, its number from 1, and its text without the end."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `dtparse parse`."""
    parser.add_argument("files", nargs="*", metavar="FILE", help="text files; - or nothing reads standard input")
    parser.add_argument("--text", action="append", metavar="TEXT", help="a text to parse (may be repeated)")
    parser.add_argument(
        "--format",
        choices=FORMATS,
        default="brackets",
        help="brackets: one tree per line (default); pretty: indented; json: one object per sentence and line",
    )
    kind = parser.add_mutually_exclusive_group()
    kind.add_argument("--paragraphs", action="store_true", help="a blank line ends a text, not every line end")
    kind.add_argument("--pretokenized", action="store_true", help="each line is a sentence of tokens between spaces")
    kind.add_argument("--tagged", action="store_true", help="each line is a sentence of token_TAG pairs between spaces")
    parser.add_argument("--encoding", default="utf-8", help="of the input files (default: utf-8)")
    parser.add_argument("--n-process", type=positive_number, default=1, metavar="N", help="processes (default: 1)")
    parser.add_argument("--batch-size", type=positive_number, default=64, metavar="N", help="texts per batch")
    add_pipeline_arguments(parser)


def run(options: argparse.Namespace) -> None:
    """Print the trees."""
    quiet_warnings()
    if options.text and options.files:
        raise DtparseError("give --text or files, not both")
    if options.text:
        lines = [("--text", number, text) for number, text in enumerate(options.text, 1)]
    else:
        lines = list(read_lines(options.files or ["-"], options.encoding))  # report bad files before loading
    if not any(line.strip() for _, _, line in lines):
        raise DtparseError("the input has no text; give a text, a file with one, or pipe one in")
    nlp = load_pipeline(options.pipeline, options.model, options.budget)
    if options.tagged or options.pretokenized:
        texts: Iterable[Any] = tokenized(nlp, lines, options.tagged)
        kept = sentence_pipes(nlp, only_parser=options.tagged)
    else:
        texts = paragraphs(lines) if options.paragraphs else (line for _, _, line in lines if line.strip())
        kept = nlp.pipe_names
    key = get_component(nlp).spans_key
    with nlp.select_pipes(enable=kept):
        for doc in nlp.pipe(texts, n_process=options.n_process, batch_size=options.batch_size):
            for output in format_doc(doc, options.format, key):
                sys.stdout.write(output + "\n")
            if len(doc) == 0:
                sys.stdout.write("\n")  # a blank line of pretokenized input stays one


def tokenized(nlp: Language, lines: Iterable[Line], tagged: bool) -> list[Doc]:
    """Docs of one sentence each from lines of tokens; a blank line is an empty Doc.

    Raises DtparseError with file and line for a token without a tag when `tagged`.
    """
    from spacy.tokens import Doc

    docs = []
    for name, number, line in lines:
        words, tags = split_line(line, tagged, f"{name}:{number}")
        starts: list[bool | int | None] = [k == 0 for k in range(len(words))]
        docs.append(Doc(nlp.vocab, words=words, tags=tags, sent_starts=starts))
    return docs


def split_line(line: str, tagged: bool, place: str) -> tuple[list[str], list[str] | None]:
    """Tokens, and tags if `tagged`: `The_DT cat_NN`. Escaped brackets (-LRB-) become brackets."""
    from ..text import raw_word

    items = line.split()
    if not tagged:
        return [raw_word(item) for item in items], None
    words, tags = [], []
    for item in items:
        word, _, tag = item.rpartition("_")
        if not word or not tag:
            raise DtparseError(f"{place}: {item!r} is not a token_TAG pair; write cat_NN, or use --pretokenized")
        words.append(raw_word(word))
        tags.append(tag)
    return words, tags


def format_doc(doc: Doc, form: str, key: str) -> Iterator[str]:
    """One string per sentence that has a word, in one of FORMATS."""
    from ..pipeline.attributes import to_tree
    from ..pipeline.sentences import visible_tokens
    from ..trees.bracket_writer import write_tree, write_tree_pretty

    for start, end, words in visible_tokens(doc):
        sentence = doc[start:end]
        if not words:
            continue
        if form == "json":
            yield json.dumps(sentence_record(sentence, key), ensure_ascii=False)
        else:
            tree = to_tree(sentence, key)
            yield write_tree(tree) if form == "brackets" else write_tree_pretty(tree, width=80)


def sentence_record(sentence: Span, key: str) -> dict[str, Any]:
    """Plain data of a parsed sentence; constituents are [first token, past the last, label, cost or null]."""
    from ..pipeline.attributes import sentence_infos, to_tree
    from ..trees.bracket_writer import write_tree

    doc, start, end = sentence.doc, sentence.start, sentence.end
    group = doc.spans[key]
    scores = group.attrs.get("scores") or [None] * len(group)
    info = next((info for info in sentence_infos(doc, key) if info["start"] == start), {})
    return {
        "text": sentence.text,
        "tokens": [token.text for token in sentence],
        "tags": [token.tag_ for token in sentence],
        "constituents": [
            [span.start - start, span.end - start, span.label_, score]
            for span, score in zip(group, scores, strict=True)
            if start <= span.start < end
        ],
        "tree": write_tree(to_tree(sentence, key)),
        **{name: value for name, value in info.items() if name not in ("start", "end")},
    }


def read_lines(paths: Iterable[str], encoding: str) -> Iterator[Line]:
    """The lines of each file; "-" is standard input, and a byte order mark is skipped.

    Raises DtparseError with file and line for missing files and undecodable bytes.
    """
    try:
        codecs.lookup(encoding)
    except LookupError:
        raise DtparseError(f"unknown encoding {encoding!r}; try utf-8, latin-1 or utf-16") from None
    for path in paths:
        if path == "-":
            yield from _decode(sys.stdin.buffer, "standard input", encoding)
            continue
        if Path(path).is_dir():
            raise DtparseError(f"{path} is a folder; name the files in it")
        try:
            file = open(path, "rb")
        except FileNotFoundError:
            raise DtparseError(f"there is no file {path}; to parse a text, use --text") from None
        with file:
            yield from _decode(file, path, encoding)


def _decode(file: IO[bytes], name: str, encoding: str) -> Iterator[Line]:
    wide = codecs.lookup(encoding).name.startswith(("utf-16", "utf-32"))
    lines: Iterable[bytes] = [file.read()] if wide else file  # a wide line end is several bytes
    number = 0
    for raw in lines:
        try:
            text = raw.decode(encoding)
        except UnicodeDecodeError as error:
            raise DtparseError(
                f"{name}:{number + 1}: byte {error.start + 1} of the line is not {encoding} ({error.reason}); give the "
                "file's encoding with --encoding"
            ) from None
        for line in text.split("\n")[: -1 if text.endswith("\n") else None]:
            number += 1
            yield name, number, (line.removeprefix("\ufeff") if number == 1 else line).removesuffix("\r")


def paragraphs(lines: Iterable[Line]) -> Iterator[str]:
    """Texts of consecutive lines up to a blank one or the end of a file."""
    block: list[str] = []
    current = None
    for name, _, line in lines:
        if block and (not line.strip() or name != current):
            yield " ".join(block)
            block = []
        current = name
        if line.strip():
            block.append(line.strip())
    if block:
        yield " ".join(block)
