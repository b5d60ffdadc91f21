"""Parse texts from the command line, files or standard input."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from ..errors import DtparseError
from .pipelines import (
    add_pipeline_arguments,
    get_component,
    load_pipeline,
    positive_number,
    quiet_warnings,
    sentence_pipes,
)
from .reading import paragraphs, read_lines

if TYPE_CHECKING:
    from spacy.language import Language
    from spacy.tokens import Doc, Span

FORMATS = ("brackets", "pretty", "json")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `dtparse parse`."""
    parser.add_argument(
        "files", nargs="*", metavar="FILE", help="text files; - or nothing reads standard input"
    )
    parser.add_argument("--text", action="append", metavar="TEXT", help="a text to parse (may be repeated)")
    parser.add_argument(
        "--format",
        choices=FORMATS,
        default="brackets",
        help="brackets: one tree per line (default); pretty: indented; json: one object per sentence "
        "and line",
    )
    kind = parser.add_mutually_exclusive_group()
    kind.add_argument(
        "--paragraphs", action="store_true", help="a blank line ends a text, not every line end"
    )
    kind.add_argument(
        "--pretokenized", action="store_true", help="each line is a sentence of tokens between spaces"
    )
    kind.add_argument(
        "--tagged", action="store_true", help="each line is a sentence of token_TAG pairs between spaces"
    )
    parser.add_argument("--encoding", default="utf-8", help="of the input files (default: utf-8)")
    parser.add_argument(
        "--n-process", type=positive_number, default=1, metavar="N", help="processes (default: 1)"
    )
    parser.add_argument("--batch-size", type=positive_number, default=64, metavar="N", help="texts per batch")
    add_pipeline_arguments(parser)


def run(options: argparse.Namespace) -> None:
    """Print the trees."""
    quiet_warnings()
    if options.text and options.files:
        raise DtparseError("give --text or files, not both")
    if options.text:
        lines: Iterable[tuple[str, int, str]] = [
            ("--text", k + 1, text) for k, text in enumerate(options.text)
        ]
    else:
        lines = list(read_lines(options.files or ["-"], options.encoding))  # report bad files before loading
    lines = list(lines)
    if not any(line.strip() for _, _, line in lines):
        raise DtparseError("the input has no text; give a text, a file with one, or pipe one in")
    nlp = load_pipeline(options.pipeline, options.model, options.budget)
    if options.tagged or options.pretokenized:
        docs = parse_tokenized(
            nlp, lines, tagged=options.tagged, n_process=options.n_process, batch_size=options.batch_size
        )
    else:
        texts = paragraphs(lines) if options.paragraphs else (line for _, _, line in lines if line.strip())
        docs = nlp.pipe(texts, n_process=options.n_process, batch_size=options.batch_size)
    key = get_component(nlp).spans_key
    for doc in docs:
        for output in format_doc(doc, options.format, key):
            sys.stdout.write(output + "\n")
        if len(doc) == 0:
            sys.stdout.write("\n")  # a blank line of pretokenized input stays one


def parse_tokenized(
    nlp: Language,
    lines: Iterable[tuple[str, int, str]],
    *,
    tagged: bool = False,
    n_process: int = 1,
    batch_size: int = 64,
) -> Iterator[Doc]:
    """Parsed Docs of one sentence each from lines of tokens; a blank line is an empty Doc.

    Raises DtparseError with file and line for a token without a tag when `tagged`.
    """
    from spacy.tokens import Doc

    docs = []
    for name, number, line in lines:
        words, tags = split_line(line, tagged, f"{name}:{number}")
        starts: list[bool | int | None] = [k == 0 for k in range(len(words))]
        docs.append(Doc(nlp.vocab, words=words, tags=tags, sent_starts=starts))
    keep = sentence_pipes(nlp, only_parser=tagged)
    with nlp.select_pipes(enable=keep):
        yield from nlp.pipe(docs, n_process=n_process, batch_size=batch_size)


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
            raise DtparseError(
                f"{place}: {item!r} is not a token_TAG pair; write cat_NN, or use --pretokenized"
            )
        words.append(raw_word(word))
        tags.append(tag)
    return words, tags


def format_doc(doc: Doc, form: str, key: str | None = None) -> Iterator[str]:
    """One string per sentence that has a word, in one of FORMATS."""
    from ..pipeline.attributes import to_tree
    from ..pipeline.sentences import is_blank, sentence_bounds
    from ..trees.bracket_writer import write_tree, write_tree_pretty

    for start, end in sentence_bounds(doc):
        sentence = doc[start:end]
        if all(is_blank(token.text) for token in sentence):
            continue
        if form == "json":
            yield json.dumps(sentence_record(sentence, key), ensure_ascii=False)
        else:
            tree = to_tree(sentence, key)
            yield write_tree(tree) if form == "brackets" else write_tree_pretty(tree, width=80)


def sentence_record(sentence: Span, key: str | None = None) -> dict[str, Any]:
    """Plain data of a parsed sentence; constituents are [first token, past the last, label, cost or null]."""
    from ..pipeline.attributes import sentence_infos, to_tree
    from ..pipeline.constituents import group_key
    from ..trees.bracket_writer import write_tree

    doc, start, end = sentence.doc, sentence.start, sentence.end
    group = doc.spans[group_key(doc, key)]
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
