"""Parse Penn brackets, `(TOP (NP (DT the) (NN cat)))`: any number of lines per tree or trees per line."""

from __future__ import annotations

import io
import os
import re
import warnings
from collections import deque
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, Any, cast

from ..errors import ConfigError, TreeFormatError
from .bracket_lines import (
    check_encoding,
    decode_lines,
    first_column,
    numbered_lines,
    opens_in_column_1,
    read_file,
    strip_bom,
    whole_lines,
)
from .labels import TOP_LABELS
from .psd import SUFFIX, plain_lines
from .tree import TOP, Tree

# Only ASCII white space separates: no-break and other typographic spaces may stand inside a word.
_TOKEN = re.compile(
    r"\(\s*([^\s()]+)\s+([^\s()]+)\s*\)"  # 1 tag, 2 word: a whole leaf
    r"|\(\s*([^\s()]*)"  # 3 label, perhaps empty or still to come on the next line
    r"|(\)+)"  # 4
    r"|([^\s()]+)",  # 5 text
    re.ASCII,
)
_LEAF, _OPEN, _CLOSE, _TEXT = 2, 3, 4, 5
MAX_REPEATED = 10_000
"""Number of lines after which a tree whose end does not come is given up in "skip" mode."""
NO_BREAK_SPACE = "\u00a0"
_UNDECODED = re.compile("[\udc80-\udcff]")  # the surrogateescape handler turns bad bytes into these


def read_trees(
    source: str | os.PathLike | IO | Iterable[str],
    *,
    top: str | None = TOP,
    keep_root: bool = False,
    encoding: str = "utf-8",
    on_error: str = "raise",
    errors: list[TreeFormatError] | None = None,
) -> Iterator[Tree]:
    """Iterate over the trees of `source` without holding the file in memory.

    `source`: a path, an open file (text or binary) or an iterable of lines. Lines of any length are read in pieces.
    If the path ends with .psd, metadata, comments, codes and lemmas in the trees are skipped (see
    `psd.plain_lines`). `top`: the root label: it replaces an empty top, ROOT, TOP, S1 or VROOT, and a tree without
    any of them gets a new root. None leaves the top as written. `keep_root`: such a root keeps its own label, and
    only a tree without one gets `top`. Words, function tags and empty elements are not changed; a leaf with several
    words becomes one token, joined by no-break spaces. `on_error`: "raise" stops at the first malformed tree;
    "skip" drops only that tree and appends the error to `errors`, or warns if no list is given; "replace" does the
    same, and undecodable bytes become U+FFFD. A tree that is never closed ends before the next line that opens a
    bracket in column 1, unless trees before it have such lines inside; if the tree after it has a closing bracket
    too many, both are read as one tree.

    Raises TreeFormatError (with path, line and column) for malformed trees and undecodable bytes,
    ConfigError for an unknown `on_error` or `encoding`, OSError if the file cannot be opened.
    """
    if on_error not in ("raise", "skip", "replace"):
        raise ConfigError(f"on_error={on_error!r}; allowed are 'raise', 'skip' and 'replace'")
    check_encoding(encoding)  # raises for an unknown one
    skip, bad_bytes = on_error != "raise", "replace" if on_error == "replace" else "surrogateescape"
    if isinstance(source, str | os.PathLike):
        path = Path(source)
        return _read_path(path, _BracketParser(str(path), top, skip, errors, keep_root), encoding, bad_bytes)
    name = getattr(source, "name", None)
    parser = _BracketParser(name if isinstance(name, str) else None, top, skip, errors, keep_root)
    is_file = isinstance(source, io.IOBase)
    return parser.trees((read_file if is_file else decode_lines)(cast("Iterable[Any]", source), encoding, bad_bytes))


def _read_path(path: Path, parser: _BracketParser, encoding: str, bad_bytes: str) -> Iterator[Tree]:
    with path.open("rb") as file:
        lines = read_file(file, encoding, bad_bytes)
        yield from parser.trees(plain_lines(whole_lines(lines)) if path.suffix == SUFFIX else lines)


def parse_trees(string: str, *, top: str | None = TOP) -> list[Tree]:
    """Parse all trees of `string`. Raises TreeFormatError with line and column."""
    return list(_BracketParser(None, top, False, None).trees(string.split("\n")))


def parse_tree(string: str, *, top: str | None = TOP) -> Tree:
    """Parse the single tree of `string`. Raises TreeFormatError if it is malformed or there is not exactly one."""
    trees = parse_trees(string, top=top)
    if len(trees) != 1:
        raise TreeFormatError(f"{len(trees)} trees where one was expected; parse_trees reads any number")
    return trees[0]


class _Problem(Exception):
    """Describes an error in a tree."""


class _BracketParser:
    """State of one parse: the tree under construction as flat lists, and the stack of its open brackets."""

    def __init__(
        self,
        path: str | None,
        top: str | None,
        skip: bool,
        errors: list[TreeFormatError] | None,
        keep_root: bool = False,
    ):
        self.keep_root = keep_root
        self.path, self.top, self.skip, self.errors = path, top, skip, errors
        self.skipping = 0  # open brackets of a malformed tree that is being dropped
        self.stray = False  # text outside of trees was reported already
        self.begun = False  # a bracket was read
        self.tree_per_line = False  # an earlier tree was never closed: a bracket in column 1 begins a tree
        self.flush_left = False  # a complete tree has brackets in column 1 inside
        self.roots: set[str] = set()  # labels of the roots of such trees
        self.again: list[tuple[int, str]] = []  # lines to parse again
        self.location = (0, 0)  # line and column of the current match
        self._clear()

    def _clear(self) -> None:
        self.words: list[str] = []
        self.tags: list[str] = []
        self.labels: list[str] = []
        self.starts: list[int] = []
        self.ends: list[int] = []
        self.stack: list[int] = []
        self.locations: list[tuple[int, int]] = []  # line and column of each open bracket
        self.unlabelled = False  # the innermost open bracket has no label yet
        self.word: str | None = None  # the word of a leaf whose bracket is still open
        self.repeated: list[tuple[int, str]] = []  # lines to parse again if this tree is never closed

    def trees(self, lines: Iterable[str]) -> Iterator[Tree]:
        """Iterate over the trees of `lines`."""
        fresh = numbered_lines(lines)
        waiting: deque[tuple[int, str]] = deque()  # lines to parse again
        while True:
            line_number, text = waiting.popleft() if waiting else next(fresh, (0, ""))
            if line_number:
                yield from self._line(line_number, strip_bom(text) if line_number == 1 else text)
            elif self.stack:
                self._give_up()
            else:
                return
            if self.again:
                waiting.extendleft(reversed(self.again))
                self.again = []

    def _line(self, line_number: int, text: str) -> list[Tree]:
        """Parse one line; return the trees that it completes."""
        if self.skip:
            self._next_line(line_number, text)
            if self.again:
                return []
        decoded = text.isascii() or _UNDECODED.search(text) is None
        done: list[Tree] = []
        first = first_column(text)
        for match in _TOKEN.finditer(text):
            if self.skipping:
                self._pass_over(match)
                continue
            depth, self.location = len(self.stack), (line_number, first + match.start())
            try:
                bad = None if decoded else _UNDECODED.search(match[0])
                if bad is not None:
                    raise _Problem(
                        f"byte 0x{ord(bad[0]) - 0xDC00:02x} is not valid in the file's encoding; give the right "
                        "`encoding` (UTF-8 is assumed) or repair the file"
                    )
                self._take(match, done)
            except _Problem as problem:
                self._recover(match, depth, problem)
                if self.again:  # this line is among them
                    break
        return done

    def _next_line(self, line_number: int, text: str) -> None:
        """In "skip" mode, check whether a bracket in column 1 begins the next tree."""
        in_column_1 = opens_in_column_1(text)
        if in_column_1:
            self.skipping = 0
            if self.stack and self.tree_per_line:
                self._report_unclosed()
        if self.stack and (self.repeated or in_column_1):
            self.repeated.append((line_number, text))
            if len(self.repeated) > MAX_REPEATED and not self.flush_left:
                self._give_up()

    def _give_up(self) -> None:
        """Report a tree that was never closed. In "skip" mode the lines from the next one that may begin a tree are
        parsed again: a bracket in column 1 does, unless trees of this file have such brackets inside; then it has the
        label of their roots."""
        start = 0
        if self.flush_left:
            labels = ((line[1:].split() or [""])[0].partition("(")[0] for _, line in self.repeated)
            starts = (
                k for k, label in enumerate(labels) if opens_in_column_1(self.repeated[k][1]) and label in self.roots
            )
            start = next(starts, len(self.repeated))
        else:
            self.tree_per_line = bool(self.repeated)
        again = self.repeated[start:]
        self._report_unclosed()
        self.again = again

    def _pass_over(self, match: re.Match) -> None:
        """Count the brackets of the tree that is being dropped."""
        if match.lastindex == _OPEN:
            self.skipping += 1
        elif match.lastindex == _CLOSE:
            self.skipping = max(self.skipping - len(match[0]), 0)

    def _recover(self, match: re.Match, depth: int, problem: _Problem) -> None:
        """Report a problem and drop the tree; `depth`: its number of open brackets before the match."""
        repeated, kind, (line, column) = self.repeated, match.lastindex, self.location
        begins = kind == _OPEN and column == 1 and depth > 0  # the next tree
        if len(repeated) > begins and not self.flush_left:
            self._give_up()  # the tree was never closed before the lines that are parsed again
            return
        self._clear()
        self._report(str(problem), line, column)
        if begins:
            self._open(match[3], True)
            self.repeated = repeated[-1:]
        elif kind == _CLOSE:
            self.skipping = max(depth - len(match[0]), 0)
        else:
            self.skipping = depth + (kind == _OPEN)

    def _take(self, match: re.Match, done: list[Tree]) -> None:
        """Process a leaf, a bracket, or text. Raises _Problem."""
        kind = match.lastindex
        if kind == _TEXT:
            self._text(match[5])
            return
        self.unlabelled = False
        self.begun = True
        if kind == _LEAF:
            self._check_no_word()
            self.tags.append(match[1])
            self.words.append(match[2])
            self.stray = False
            if not self.stack:
                self._finish(done)
        elif kind == _OPEN:
            self._open(match[3], bool(match[3]) or match.string[match.end() :].strip() != "")
        else:
            line, column = self.location
            for location in range(column, column + len(match[4])):
                self.location = line, location
                self._close(done)

    def _open(self, label: str, certain: bool) -> None:
        """Process an opening bracket; `certain` is false if its label may still come on the next line."""
        self._check_no_word()
        if self.stack and certain:
            self._check_inner(label)
        self.unlabelled = not label
        self.stray = False
        self.stack.append(len(self.labels))
        self.labels.append(label)
        self.starts.append(len(self.words))
        self.ends.append(-1)
        self.locations.append(self.location)

    def _check_inner(self, label: str) -> None:
        """Raise _Problem for a top label inside a tree: the outer tree was not closed."""
        if self.top is None or label not in TOP_LABELS or (not label and self.location[1] > 1):
            return
        if len(self.stack) == 1 and len(self.labels) == 1 and not self.words and self.labels[0] in TOP_LABELS:
            return
        raise _Problem(f"'({label}' begins a tree inside a tree; {self._start_hint()}")

    def _text(self, text: str) -> None:
        if not self.stack:
            if not (self.stray and self.skip):
                self.stray = True
                hint = "" if self.begun else "; if all is plain text, parse it first: dtparse parse FILE > TREES.mrg"
                raise _Problem(
                    f"text {text!r} stands outside of any tree; remove it, or write it as a leaf (TAG {text}){hint}"
                )
        elif self.unlabelled:
            self.unlabelled = False
            self.labels[-1] = text
        elif self.word is not None:
            self.word += NO_BREAK_SPACE + text
        elif len(self.labels) - 1 != self.stack[-1] or len(self.words) != self.starts[-1]:
            raise _Problem(f"word {text!r} stands next to constituents or leaves; write (TAG {text})")
        else:
            self.word = text

    def _check_no_word(self) -> None:
        if self.word is not None:
            raise _Problem(
                f"'({self.labels[-1]} {self.word} (…' contains a word and a bracket; a leaf is written (TAG word), "
                "a round bracket in a word -LRB- or -RRB-"
            )

    def _close(self, done: list[Tree]) -> None:
        if not self.stack:
            raise _Problem("')' closes nothing; remove it, or add the bracket that it should close")
        top, (line, column) = self.stack[-1], self.locations[-1]
        if self.word is not None:
            self.starts.pop()
            self.ends.pop()
            self.tags.append(self.labels.pop())
            self.words.append(self.word)
            self.word = None
        elif self.starts[top] == len(self.words):
            label = self.labels[top]
            raise _Problem(f"'({label})' has no word; a leaf is written (TAG word), a constituent contains leaves")
        else:
            self.ends[top] = len(self.words)
            if len(self.stack) > 1 and not self.labels[top] and self.top is not None:
                if len(self.labels) == top + 1 or self.ends[top + 1] != self.ends[top]:
                    raise _Problem(f"the bracket of line {line}, column {column} has no label; give it one")
                del self.labels[top], self.starts[top], self.ends[top]
        self.stack.pop()
        self.locations.pop()
        if not self.stack:
            self._finish(done)

    def _finish(self, done: list[Tree]) -> None:
        """Set the root of the completed tree and append it to `done`."""
        labels, starts, ends = self.labels, self.starts, self.ends
        if self.repeated and labels:
            self.flush_left = True
            self.roots.add(labels[0])
        if self.top is None:
            if not labels:
                raise _Problem(
                    f"'({self.tags[0]} {self.words[0]})' is a leaf without a constituent; wrap it or set `top`"
                )
        elif labels and labels[0] in TOP_LABELS:
            if len(labels) > 1 and labels[1] in TOP_LABELS and ends[1] == ends[0]:
                del labels[1], starts[1], ends[1]
            labels[0] = labels[0] if self.keep_root else self.top
        else:
            labels.insert(0, self.top)
            starts.insert(0, 0)
            ends.insert(0, len(self.words))
        done.append(Tree.unchecked(self.words, self.tags, labels, starts, ends))
        self._clear()

    def _start_hint(self) -> str:
        line, column = self.locations[0]
        return f"is a ')' missing in the tree that begins in line {line}, column {column}?"

    def _report_unclosed(self) -> None:
        # A later bracket in column 1 is probably the next tree: the error is before it.
        inner = (
            next((i for i, location in enumerate(self.locations) if i and location[1] == 1), len(self.locations)) - 1
        )
        line, column = self.locations[inner]
        label, begun = self.labels[self.stack[inner]], self._start_hint()
        self._clear()
        self._report(f"the bracket '({label}' is never closed; {begun}", line, column)

    def _report(self, message: str, line: int, column: int) -> None:
        error = TreeFormatError(message, path=self.path, line=line, column=column)
        if not self.skip:
            raise error from None
        if self.errors is None:
            warnings.warn(f"tree skipped: {error}", stacklevel=2)
        else:
            self.errors.append(error)
