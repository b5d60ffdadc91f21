"""Measure the syntax of texts: clauses, T-units and others, and their ratios (Lu 2010).

The exit code is 1 if something was skipped (--errors).
"""

from __future__ import annotations

import argparse
import csv
import io
import re
from collections.abc import Iterable, Iterator
from itertools import chain, groupby, islice
from typing import IO, TYPE_CHECKING, Any

from ..errors import DtparseError, TreeFormatError
from ..json_text import to_json
from ..text import check_text
from ..trees.bad_input import on_error
from .bad_input import add_errors_argument, report_skipped
from .lines import LineDecoder, check_files, open_file
from .pipelines import add_pipeline_arguments, load_chosen_pipeline
from .terminal import printable_path

if TYPE_CHECKING:
    from spacy.language import Language

    from ..query.measures import SyntaxMeasures

FORMATS = ("table", "csv", "json")
INPUTS = ("auto", "text", "trees")
MAX_COLUMNS = 6
"""Maximum number of texts for which a table has a column for each; more become rows."""
_TREES = re.compile(rb"(?:\xef\xbb\xbf)?\s*\(\s*(?:[A-Z][A-Z0-9+=|-]*)?\s*\(\s*[A-Z$.,:`'#-][A-Z0-9$.,:`'+=|-]*[\s(]")
"""The beginning of a file of bracketed trees."""
_N_BYTES = 4096
"""Length of the beginning in bytes."""


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
    add_errors_argument(parser, "line or tree")
    add_pipeline_arguments(parser)


def run(options: argparse.Namespace) -> int:
    """Print the measures of each file; return 1 if something was skipped, else 0."""
    from ..query.measures import SyntaxMeasures

    if options.text and options.files:
        raise DtparseError("give --text or files, not both")
    names = options.files or ["-"]
    check_files([] if options.text else names, options.encoding, "measure")
    measured: list[tuple[str, SyntaxMeasures]] = []
    skipped: list[DtparseError] = []
    measure = _Measuring(options, skipped)
    for text in options.text or ():
        data = io.BytesIO(text.encode("utf-8", "surrogateescape"))
        measured.append(("--text", measure.text("--text", data, "utf-8")))
    for name in () if options.text else names:
        with _open_seekable(name) as file:
            measured.append((printable_path(name), measure.file(name, file)))
    if options.format == "table" and len(measured) > 1:
        measured.append(("all", sum((found for _, found in measured), SyntaxMeasures())))
    for line in format_measures(measured, options.format):
        print(line)
    trees = [error for error in skipped if isinstance(error, TreeFormatError)]
    lines = [error for error in skipped if not isinstance(error, TreeFormatError)]
    return report_skipped(trees) | report_skipped(lines, "malformed line")


def format_measures(measured: list[tuple[str, SyntaxMeasures]], form: str) -> Iterator[str]:
    """The lines of one of FORMATS, for pairs of a name and measures."""
    from ..query.measures import RATIOS, STRUCTURES, format_measure

    names = [*STRUCTURES, *RATIOS]
    if form == "json":
        for name, found in measured:
            yield to_json({"file": name, **found.to_dict()})
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


def _open_seekable(name: str) -> IO[bytes]:
    """Open a file; a pipe, which cannot be read again after a look at its beginning, is read."""
    file = open_file(name)
    if file.seekable():
        return file
    data: Any = io.BytesIO(file.read())
    data.name = "<stdin>"  # for messages
    return data


class _Measuring:
    """Measures files; appends the errors of skipped lines and trees to `skipped`."""

    def __init__(self, options: argparse.Namespace, skipped: list[DtparseError]):
        self.options, self.skipped = options, skipped
        self._nlp: Language | None = None

    def file(self, name: str, file: IO[bytes]) -> SyntaxMeasures:
        """The measures of a file of text or trees."""
        start = file.read(_N_BYTES) if self.options.input == "auto" else b""
        if start:
            file.seek(0)
        if self.options.input == "trees" or _TREES.match(start):
            return self._trees(name, file)
        return self.text(name, file, self.options.encoding)

    def text(self, name: str, file: IO[bytes], encoding: str) -> SyntaxMeasures:
        """The measures of a text. A blank line ends a paragraph, which is parsed as a Doc of its own."""
        from ..pipeline.measures import measure_syntax

        lines = LineDecoder(encoding, self.options.errors, self.skipped).lines(file, name)
        groups = groupby((line.text for line in lines), lambda text: bool(text.strip()))
        paragraphs = ("\n".join(group) for is_text, group in groups if is_text)
        first = next(paragraphs, None)
        if first is None:
            raise DtparseError(f"{name}: there is no text in it; give a text, a file with one, or pipe one in")
        if self._nlp is None:
            options = self.options
            self._nlp = load_chosen_pipeline(options)
        return measure_syntax(self._nlp.pipe(_check_texts(chain([first], paragraphs), name)), self.options.counting)

    def _trees(self, name: str, file: IO[bytes]) -> SyntaxMeasures:
        from ..query.measures import measure_trees
        from ..trees.brackets import read_trees

        errors: list[TreeFormatError] = []
        source: Any = file if name == "-" else name
        trees = read_trees(
            source, encoding=self.options.encoding, on_error=on_error(self.options.errors), errors=errors
        )
        first = list(islice(trees, 1))
        if not first and not errors:
            raise DtparseError(f"{name}: no tree in it; give a file of bracketed trees, (TOP (NP (NN test)))")
        found = measure_trees(chain(first, trees), self.options.counting)
        self.skipped += errors
        return found


def _check_texts(texts: Iterable[str], name: str) -> Iterator[str]:
    for text in texts:
        check_text(text, name)
        yield text
