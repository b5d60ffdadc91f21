"""Measure the syntax of texts: clauses, T-units and others, and their ratios (Lu 2010).

The exit code is 1 if something was skipped (--errors).
"""

from __future__ import annotations

import argparse
import codecs
import csv
import io
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import DtparseError
from ..text import check_text
from .bad_input import ERRORS
from .pipelines import add_pipeline_arguments, load_pipeline, quiet_warnings

if TYPE_CHECKING:
    from spacy.language import Language

    from ..query.measures import SyntaxMeasures

FORMATS = ("table", "csv", "json")
INPUTS = ("auto", "text", "trees")
MAX_COLUMNS = 6
"""Maximum number of texts for which a table has a column for each; more become rows."""
_TREES = re.compile(rb"(?:\xef\xbb\xbf)?\s*\(\s*(?:[A-Z][A-Z0-9+=|-]*)?\s*\(\s*[A-Z$.,:`'#-][A-Z0-9$.,:`'+=|-]*[\s(]")
"""The beginning of a file of bracketed trees."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of `dtparse measure`."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument(
        "files", nargs="*", metavar="FILE", help="texts, or bracketed trees; without any, or with -, standard input"
    )
    parser.add_argument("--text", action="append", metavar="TEXT", help="a text to measure (may be repeated)")
    parser.add_argument(
        "--format",
        choices=FORMATS,
        default="table",
        help="table (default); csv: a line for each file; json: an object for each file, on a line",
    )
    parser.add_argument(
        "--input",
        choices=INPUTS,
        default="auto",
        help="whether the files are texts or bracketed trees (default: what each of them looks like)",
    )
    parser.add_argument(
        "--counting",
        choices=("definitions", "l2sca"),
        default="definitions",
        help="count by the definitions in docs/measures.md (default), or by the published patterns of L2SCA",
    )
    parser.add_argument("--encoding", default="utf-8", help="of the input files (default: utf-8)")
    parser.add_argument(
        "--errors",
        choices=ERRORS,
        default="strict",
        help="at a bad byte or malformed tree: stop (strict, default); skip the line or tree; or also replace bad "
        "bytes by U+FFFD",
    )
    add_pipeline_arguments(parser)


def run(options: argparse.Namespace) -> int:
    """Print the measures of each file; return 1 if something was skipped, else 0."""
    from ..query.measures import SyntaxMeasures

    quiet_warnings()
    if options.text and options.files:
        raise DtparseError("give --text or files, not both")
    try:
        codecs.lookup(options.encoding)
    except LookupError:
        raise DtparseError(f"unknown encoding {options.encoding!r}; try utf-8, latin-1 or utf-16") from None
    sources = [("--text", text.encode("utf-8", "surrogateescape")) for text in options.text or ()]
    encoding = "utf-8" if options.text else options.encoding
    sources = sources or [(name, _read(name)) for name in options.files or ["-"]]
    nlp: Language | None = None
    skipped: list[str] = []
    measured: list[tuple[str, SyntaxMeasures]] = []
    for name, data in sources:
        if options.input == "trees" or (options.input == "auto" and not options.text and _TREES.match(data)):
            found = _measure_trees(name, data, encoding, options, skipped)
        else:
            text = _decode(name, data, encoding, options.errors, skipped)
            if not text.strip():
                raise DtparseError(f"{name}: there is no text in it; give a text, a file with one, or pipe one in")
            if nlp is None:
                nlp = load_pipeline(options.pipeline, options.model, options.budget, deadline=options.deadline)
            found = _measure_text(nlp, name, text, options.counting)
        measured.append((name, found))
    if options.format == "table" and len(measured) > 1:
        measured.append(("all", sum((found for _, found in measured), SyntaxMeasures())))
    for line in format_measures(measured, options.format):
        print(line)
    if skipped:
        what = "1 bad line or tree was" if len(skipped) == 1 else f"{len(skipped)} bad lines or trees were"
        print(f"dtparse: warning: {what} skipped or changed; the first: {skipped[0]}", file=sys.stderr)
    return 1 if skipped else 0


def format_measures(measured: list[tuple[str, SyntaxMeasures]], form: str) -> Iterator[str]:
    """The lines of one of FORMATS, for pairs of a name and measures."""
    from ..query.measures import RATIOS, STRUCTURES, format_measure

    names = [*STRUCTURES, *RATIOS]
    if form == "json":
        for name, found in measured:
            yield json.dumps({"file": name, **found.to_dict()}, ensure_ascii=False)
    elif form == "csv":
        target = io.StringIO()
        writer = csv.writer(target, lineterminator="\n")
        writer.writerow(["file", *names])
        for name, found in measured:
            writer.writerow([name, *("" if value is None else round(value, 6) for value in found.to_dict().values())])
        yield target.getvalue().removesuffix("\n")
    elif len(measured) == 1:
        yield str(measured[0][1])
    else:
        texts = [[name, *map(format_measure, found.to_dict().values())] for name, found in measured]
        rows = [["", *names], *texts]
        if len(measured) <= MAX_COLUMNS:
            described = [STRUCTURES[name] if name in STRUCTURES else RATIOS[name][2] for name in names]
            rows = [*map(list, zip(*rows, ["", *described], strict=True))]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        for row in rows:
            cells = [cell.rjust(width) for cell, width in zip(row, widths, strict=True)]
            cells[0] = row[0].ljust(widths[0])
            if len(measured) <= MAX_COLUMNS:
                cells[-1] = row[-1]
            yield "  ".join(cells).rstrip()


def _read(name: str) -> bytes:
    if name == "-":
        return sys.stdin.buffer.read()
    path = Path(name)
    if path.is_dir():
        raise DtparseError(f"{name} is a folder; name the files in it")
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise DtparseError(f"there is no file {name}; to measure a text, use --text") from None


def _decode(name: str, data: bytes, encoding: str, errors: str, skipped: list[str]) -> str:
    """The text of a file. With `errors` "skip" without lines that have bad bytes, which `skipped` then names."""
    try:
        return data.decode(encoding).removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        number = data.count(b"\n", 0, error.start) + 1
        message = f"{name}:{number}: byte {error.start + 1} of the file is not {encoding} ({error.reason})"
        if errors == "strict":
            raise DtparseError(f"{message}; give the file's encoding with --encoding, or use --errors skip") from None
    lines = []
    for number, line in enumerate(data.split(b"\n"), 1):
        try:
            lines.append(line.decode(encoding))
        except UnicodeDecodeError as error:
            skipped.append(f"{name}:{number}: not {encoding} ({error.reason})")
            if errors == "replace":
                lines.append(line.decode(encoding, "replace"))
    return "\n".join(lines).removeprefix("\ufeff")


def _measure_text(nlp: Language, name: str, text: str, counting: str) -> SyntaxMeasures:
    """The measures of a text. A blank line ends a paragraph, which is parsed as a Doc of its own."""
    from ..pipeline.measures import measure_syntax

    check_text(text, name)
    paragraphs = (part for part in re.split(r"\n[^\S\n]*\n", text.replace("\r\n", "\n")) if part.strip())
    return measure_syntax(nlp.pipe(paragraphs), counting)


def _measure_trees(
    name: str, data: bytes, encoding: str, options: argparse.Namespace, skipped: list[str]
) -> SyntaxMeasures:
    from ..errors import TreeFormatError
    from ..query.measures import measure_trees
    from ..trees.brackets import read_trees
    from ..trees.psd import SUFFIX, plain_lines

    source: Any = io.BytesIO(data)
    if name.endswith(SUFFIX):
        source = plain_lines(data.decode(encoding, "surrogateescape").splitlines(keepends=True))
    else:
        source.name = "standard input" if name == "-" else name
    errors: list[TreeFormatError] = []
    on_error = "raise" if options.errors == "strict" else options.errors
    trees = list(read_trees(source, encoding=encoding, on_error=on_error, errors=errors))
    skipped += map(str, errors)
    if not trees and not errors:
        raise DtparseError(f"{name}: no tree in it; give a file of bracketed trees, (TOP (NP (NN test)))")
    return measure_trees(trees, options.counting)
