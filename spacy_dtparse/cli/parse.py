"""Parse texts from the command line, files or standard input."""

from __future__ import annotations

import argparse
import codecs
import json
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from itertools import count
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NamedTuple

from ..errors import DtparseError
from ..stored_names import stored_as, to_stored
from ..text import check_text
from .language import LanguageWarning
from .pipelines import (
    add_pipeline_arguments,
    enable_probabilities,
    get_component,
    load_pipeline,
    positive_number,
    quiet_warnings,
    sentence_pipes,
)
from .progress import Progress, stop_workers_on_error

if TYPE_CHECKING:
    from spacy.language import Language
    from spacy.tokens import Doc, Span

    from ..pipeline.component import ConstituentPipe

FORMATS = ("brackets", "pretty", "json", "conllu")

Line = tuple[str, int, str]
"""Name of its file, its number from 1, and its text without the line end."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of `dtparse parse`."""
    parser.add_argument("files", nargs="*", metavar="FILE", help="text files; without any, or with -, standard input")
    parser.add_argument("--text", action="append", metavar="TEXT", help="a text to parse (may be repeated)")
    parser.add_argument(
        "--format",
        choices=FORMATS,
        default="brackets",
        help="brackets: one tree per line (default); pretty: indented; json: one object per sentence and line; conllu: "
        "CoNLL-U with heads",
    )
    kind = parser.add_mutually_exclusive_group()
    kind.add_argument("--paragraphs", action="store_true", help="a blank line ends a text, not every line end")
    kind.add_argument("--pretokenized", action="store_true", help="each line is a sentence of tokens between spaces")
    kind.add_argument("--tagged", action="store_true", help="each line is a sentence of token_TAG pairs between spaces")
    parser.add_argument(
        "--k-best",
        type=positive_number,
        metavar="K",
        help="the K best trees of each sentence, with rank, margin (how much worse than the first) and probability",
    )
    parser.add_argument(
        "--probabilities", action="store_true", help="with --format json: the probability that each is right"
    )
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
    if options.probabilities and options.format != "json":
        raise DtparseError(f"--probabilities: the format {options.format!r} cannot contain them; add --format json")
    nlp = load_pipeline(options.pipeline, options.model, options.budget, deadline=options.deadline)
    if options.probabilities:
        enable_probabilities(get_component(nlp))
    if options.tagged or options.pretokenized:
        inputs: list[tuple[Origin, Any]] = list(docs_of_tokens(nlp, lines, options.tagged))
        enabled = sentence_pipes(nlp, only_parser=options.tagged)
    else:
        texts_of_lines = ((Origin(name, number), line) for name, number, line in lines if line.strip())
        inputs = list(paragraphs(lines) if options.paragraphs else texts_of_lines)
        for origin, text in inputs:
            check_text(text, f"{origin.document}:{origin.line}")
        enabled = nlp.pipe_names
    pipe, ids, language = get_component(nlp), count(1), LanguageWarning(nlp)
    progress = Progress(len(inputs), bool(options.files))
    with nlp.select_pipes(enable=enabled):
        docs = nlp.pipe((text for _, text in inputs), n_process=options.n_process, batch_size=options.batch_size)
        with closing(docs), stop_workers_on_error():  # type: ignore[type-var]
            for (origin, _), doc in zip(inputs, docs, strict=True):
                language.check(doc, f"{origin.document}:{origin.line}" if options.files else "the text")
                for output in format_doc(doc, options.format, pipe, origin, ids, options.k_best):
                    sys.stdout.write(output + "\n")
                if len(doc) == 0 and options.format != "conllu":
                    sys.stdout.write("\n")  # keep a blank line of pretokenized input
                progress.step(len(doc))
    language.end()
    progress.end()


@stored_as("document", "line")
class Origin(NamedTuple):
    """Origin of a text: the name of its file and the number of its first line."""

    document: str
    line: int


def docs_of_tokens(nlp: Language, lines: Iterable[Line], tagged: bool) -> Iterator[tuple[Origin, Doc]]:
    """Build Docs of one sentence each from lines of tokens; a blank line becomes an empty Doc.

    Raises DtparseError with file and line for a token without a tag if `tagged`.
    """
    from spacy.tokens import Doc

    for name, number, line in lines:
        words, tags = split_line(line, tagged, f"{name}:{number}")
        starts: list[bool | int | None] = [k == 0 for k in range(len(words))]
        yield Origin(name, number), Doc(nlp.vocab, words=words, tags=tags, sent_starts=starts)


def split_line(line: str, tagged: bool, location: str) -> tuple[list[str], list[str] | None]:
    """Tokens, and tags if `tagged`: `The_DT cat_NN`. Escaped brackets (-LRB-) become brackets."""
    from ..text import raw_word

    items = line.split()
    if not tagged:
        return [raw_word(item) for item in items], None
    words, tags = [], []
    for item in items:
        word, _, tag = item.rpartition("_")
        if not word or not tag:
            raise DtparseError(f"{location}: {item!r} is not a token_TAG pair; write cat_NN, or use --pretokenized")
        words.append(raw_word(word))
        tags.append(tag)
    return words, tags


def format_doc(
    doc: Doc, form: str, pipe: ConstituentPipe, origin: Origin, ids: Iterator[int], k: int | None = None
) -> Iterator[str]:
    """Yield one string per sentence that has a word, in one of FORMATS; with `k` one for each of its k best trees.
    `origin`, `ids`: for JSON and CoNLL-U."""
    from ..pipeline.component import ParserInput
    from ..pipeline.k_best import best_trees
    from ..pipeline.sentences import visible_tokens

    if k is None:
        visible = ((start, end) for start, end, words in visible_tokens(doc) if words)
        for number, (start, end) in enumerate(visible, 1):
            yield format_sentence(doc[start:end], form, pipe.spans_key, origin, number, ids)
        return
    for number, (sentence_input, ranked) in enumerate(best_trees(pipe, doc, k), 1):
        for one in ranked:
            pipe.set_annotations(doc, ParserInput([sentence_input], {}), [one.result])
            rank_fields = {"rank": one.rank, "margin": one.margin, "probability": one.probability}
            yield format_sentence(
                doc[sentence_input.start : sentence_input.end], form, pipe.spans_key, origin, number, ids, rank_fields
            )


def format_sentence(
    sentence: Span, form: str, key: str, origin: Origin, number: int, ids: Iterator[int],
    rank_fields: Mapping[str, Any] | None = None,
) -> str:  # fmt: skip
    """Format a sentence's tree in one of FORMATS.

    `number`: of the sentence in its text, from 1; `rank_fields`: for a tree in a list of best trees, its rank, margin
    and probability, written before it.
    """
    from ..pipeline.attributes import to_tree
    from ..pipeline.conversions import sentence_record, to_conllu
    from ..trees.bracket_writer import write_tree, write_tree_pretty

    rank_fields = rank_fields or {}
    if form == "json":
        header = {**to_stored(origin), "sentence": number, **rank_fields}
        return json.dumps({**header, **sentence_record(sentence, key)}, ensure_ascii=False)
    shown = {name: f"{value:.4f}" if isinstance(value, float) else value for name, value in rank_fields.items()}
    shown = {name: "-" if value is None else value for name, value in shown.items()}
    comments = "".join(f"# {name} = {value}\n" for name, value in shown.items())
    if form == "conllu":
        header_lines = f"# document = {origin.document}\n# line = {origin.line}\n{comments}"
        return header_lines + to_conllu(sentence, key, next(ids))[:-1]
    tree = to_tree(sentence, key)
    if form == "pretty":
        return comments + write_tree_pretty(tree, width=80)
    return "".join(f"{value}\t" for value in shown.values()) + write_tree(tree)


def read_lines(paths: Iterable[str], encoding: str) -> Iterator[Line]:
    """Yield the lines of each file; "-" is standard input, and a byte order mark is skipped.

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


def paragraphs(lines: Iterable[Line]) -> Iterator[tuple[Origin, str]]:
    """Yield texts of consecutive lines up to a blank one or the end of a file, joined by spaces."""
    block: list[str] = []
    origin = Origin("", 0)
    for name, number, line in lines:
        if block and (not line.strip() or name != origin.document):
            yield origin, " ".join(block)
            block = []
        if line.strip():
            origin = origin if block else Origin(name, number)
            block.append(line.strip())
    if block:
        yield origin, " ".join(block)
