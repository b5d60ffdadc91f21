"""Sentence starts of lists, schedules, logs and verse: corrections of a tagger's log odds by the layout of the text.

The tagger learned line breaks from running text, in which they say little. It does not compare a line with the others
of its text. The rules here do, and lower the log odds that a start needs where the layout supports one:

- A paragraph after an empty line nearly always begins a sentence.
- A line break that no fixed width explains, since the next word would have fitted on the line, was meant by the writer.
- Lines that begin with the same kind of marker (bullet, number of an item, clock time, date) are items of one list.
- A number after a full stop begins a sentence if the sentence before it began with a number of the same kind.

No sentence begins directly after such a marker: *10:30 Tea* is one. Lines of verse that end without a mark do not end
a sentence. All other starts are the tagger's own. The thresholds come from the English Web Treebank's training part,
whose sentences were joined, put on lines of their own, and wrapped at 40 and 72 characters; those of numbers from lists
like *5 apples. 6 pears.*
"""

import re
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

PARAGRAPH, PARAGRAPH_LOWER = -5.0, -3.0
"""Minimum log odds of a start after an empty line, in general and before a lower-case letter."""
HARD_BREAK = -3.0
"""Minimum log odds of a start after a line break that no width explains."""
ITEM = -5.0
"""Minimum log odds of a start after such a line break, at a line that begins with a number as another line does."""
NUMBER, SAME_NUMBER = -1.5, -5.5
"""Minimum log odds of a start at a number after a final mark, in general and if the sentence before it begins with the
same kind of number."""
WIDTH, FULL = 50, 0.8
"""A line is full from FULL times the width on: lines that a person broke differ in length. The width is the upper
quartile of the lines' lengths in characters, at least WIDTH: one long address says nothing about the others."""
SHORT = 4
"""Maximum length of a noun that may be an abbreviation without its full stop."""
STANZA = 4
"""Minimum number of lines of verse."""

_FINAL = frozenset(". ! ? … ... ?! !? !! ??".split())
_CLOSING = frozenset("\" '' ' ” ’ » ) ]".split())
_BULLETS = frozenset("- – — * ** • · + ‣ ▪ ▫ ◦ ● ○ ■ □ ☐ ☑ ✓ ✔ ✗ ➔ → ⁃ ∙ --".split())
_QUOTED = frozenset({">", ">>", ">>>"})
"""Signs before each line of a quoted e-mail, in which a sentence may go on from line to line."""
_WEAK = frozenset({"number", "quoted"})
"""Kinds of markers that alone are no reason for a start."""
_ITEM_NUMBER = re.compile(r"\d{1,3}|[A-Za-z]|[ivxIVX]{2,5}")
_NUMBERED = re.compile(r"(?:\d{1,3}|[A-Za-z]|[ivxIVX]{2,5})[.)]")
_CLOCK = re.compile(r"[012]?\d[:.][0-5]\d(?::[0-5]\d(?:[.,]\d+)?)?")
_HALF_DAY = frozenset("am pm a.m. p.m. a.m p.m AM PM A.M. P.M.".split())
_DATE = re.compile(r"\d{1,4}([-/.])\d{1,2}\1\d{1,4}")
_DAY = re.compile(r"[0-3]?\d(?:st|nd|rd|th)?")
_YEAR = re.compile(r"\d{4}")
_MONTHS = frozenset(
    "January February March April May June July August September October November December Jan Feb Mar Apr Jun Jul "
    "Aug Sep Sept Oct Nov Dec Jan. Feb. Mar. Apr. Jun. Jul. Aug. Sep. Sept. Oct. Nov. Dec.".split()
)
_FUNCTION_TAGS = frozenset({"CC", "IN", "TO", "WDT", "WP", "WP$", "WRB"})
"""Penn tags of words at which a line of verse continues a sentence."""


class Line(NamedTuple):
    """Tokens first to last (inclusive) of a text, white space left out at both ends.

    `breaks`: number of line breaks before it. `kind`: of its marker, "" if it has none. `body`: the first token after
    the marker.
    """

    first: int
    last: int
    breaks: int
    kind: str
    body: int


def sentence_starts(
    texts: Sequence[str], tags: Sequence[str], odds: np.ndarray, offsets: np.ndarray, spaces: np.ndarray
) -> np.ndarray:
    """Return bool (n,): whether a sentence begins at each token.

    `texts`, `tags`: of the tokens. `odds`: float (n,), log odds of a start, −inf at white space, inf at the first token
    of the text. `offsets`: int (n,), their first characters. `spaces`: bool (n,), whether a blank follows.
    """
    starts = odds > 0
    _apply_numbers(texts, tags, odds, starts)
    if _has_line_break(texts, odds):
        lines = _lines(texts)
        if len(lines) > 1:
            _apply_lines(lines, texts, tags, odds, _full_lines(lines, texts, offsets, spaces), starts)
    return starts


def may_change(texts: Sequence[str], odds: np.ndarray) -> bool:
    """Whether the layout may change the starts of these tokens: a line break between them, or a number that may start a
    sentence."""
    return _has_line_break(texts, odds) or bool(_numbers(texts, odds))


def _has_line_break(texts: Sequence[str], odds: np.ndarray) -> bool:
    return any("\n" in texts[i] for i in np.flatnonzero(odds == -np.inf).tolist())


def _numbers(texts: Sequence[str], odds: np.ndarray) -> list[int]:
    """The numbers that may start a sentence, but for the first token."""
    return [i for i in np.flatnonzero(odds > SAME_NUMBER).tolist() if i and texts[i][0].isdigit()]


# ---- numbers within a line ----


def _apply_numbers(texts: Sequence[str], tags: Sequence[str], odds: np.ndarray, starts: np.ndarray) -> None:
    """Set starts at numbers after final marks."""
    for i in _numbers(texts, odds):
        if not _follows_final_mark(texts, i):
            continue
        kind, body = _marker(texts, i, len(texts))
        before = _start_before(starts, i)
        kind_before, body_before = _marker(texts, before, i)
        earlier = _start_before(starts, before) if before else 0
        marker = _marker(texts, earlier, i)
        if before and (marker[1] == before or (marker[1] == before - 1 and _follows_final_mark(texts, before))):
            before, (kind_before, body_before) = earlier, marker  # the tagger cut after a marker
        kind, kind_before = kind.replace("item", "number"), kind_before.replace("item", "number")
        same = kind == kind_before != ""
        needed = SAME_NUMBER if same else 0.0 if _may_be_abbreviated(texts, tags, i) else NUMBER
        if odds[i] > needed:
            starts[i] = True
            if same and kind in ("clock", "date"):
                starts[before + 1 : body_before + 1] = False
                starts[i + 1 : body + 1] = False


def _may_be_abbreviated(texts: Sequence[str], tags: Sequence[str], i: int) -> bool:
    """Whether a short noun and a full stop stand before token `i`: *ext. 12*."""
    return i > 1 and texts[i - 1] == "." and len(texts[i - 2]) <= SHORT and tags[i - 2].startswith("NN")


def _start_before(starts: np.ndarray, i: int) -> int:
    """The last start before token `i`, which is not the first."""
    i -= 1
    while i > 0 and not starts[i]:
        i -= 1
    return i


def _follows_final_mark(texts: Sequence[str], i: int) -> bool:
    """Whether the token before `i`, white space and closing quotes and brackets aside, ends a sentence."""
    i -= 1
    while i >= 0 and (texts[i] in _CLOSING or not texts[i].strip()):
        i -= 1
    return i >= 0 and texts[i] in _FINAL


# ---- lines ----


def _lines(texts: Sequence[str]) -> list[Line]:
    """The lines with words."""
    lines: list[Line] = []
    first, last, breaks = -1, -1, 0
    for i, text in enumerate([*texts, "\n"]):
        if text.strip():
            first, last = (i if first < 0 else first), i
            continue
        count = text.count("\n")
        if count and first >= 0:
            lines.append(Line(first, last, breaks, *_marker(texts, first, last + 1)))
            first, breaks = -1, 0
        breaks += count
    return lines


def _full_lines(lines: Sequence[Line], texts: Sequence[str], offsets: np.ndarray, spaces: np.ndarray) -> list[bool]:
    """For each line whether its width explains the line break after it: the next word would not have fitted."""
    lengths = [int(offsets[line.last]) + len(texts[line.last]) - int(offsets[line.first]) for line in lines]
    full = [False] * len(lines)
    for start, end in _blocks(lines):
        width = FULL * max(WIDTH, sorted(lengths[start:end])[3 * (end - start) // 4])
        for k in range(start, end - 1):
            word_end = lines[k + 1].first
            while word_end < lines[k + 1].last and not spaces[word_end]:
                word_end += 1
            word = int(offsets[word_end]) + len(texts[word_end]) - int(offsets[lines[k + 1].first])
            full[k] = lengths[k] + 1 + word > width
    return full


def _blocks(lines: Sequence[Line]) -> list[tuple[int, int]]:
    """The half-open ranges of lines between empty ones."""
    cuts = [0, *(k for k in range(1, len(lines)) if lines[k].breaks > 1), len(lines)]
    return list(pairwise(cuts))


def _apply_lines(
    lines: Sequence[Line],
    texts: Sequence[str],
    tags: Sequence[str],
    odds: np.ndarray,
    full: Sequence[bool],
    starts: np.ndarray,
) -> None:
    """Set the starts at the beginning of lines, and remove those after the markers of items."""
    for start, end in _blocks(lines):
        kinds = Counter(line.kind for line in lines[start:end])
        for k, line in enumerate(lines[start:end], start):
            count = kinds[line.kind] if line.kind else 0
            is_list = count > 1 and 2 * count >= end - start
            if k:
                needed = _needed_odds(line, count > 1, is_list, full[k - 1], texts[lines[k - 1].last], texts)
                starts[line.first] |= odds[line.first] > needed
            if is_list and line.kind != "number" and (not k or starts[line.first]):
                starts[line.first + 1 : min(line.body, line.last) + 1] = False
        if _is_verse(lines[start:end], texts, tags):
            for before, line in pairwise(lines[start:end]):
                if not _follows_final_mark(texts, line.first) and texts[before.last] != ":":
                    starts[line.first] = False


def _needed_odds(line: Line, is_item: bool, is_list: bool, full: bool, end_before: str, texts: Sequence[str]) -> float:
    """The minimum log odds of a start at a line. `is_item`: whether another line between the same empty lines has the
    same kind of marker; `is_list`: whether at least half of them have; `full`: whether the line before it is full, and
    `end_before` its last token."""
    is_bullet = line.kind == "bullet" and line.body <= line.last
    lower = texts[line.body if is_bullet else line.first][0].islower()
    if is_item and line.kind not in _WEAK and (is_list or not full):
        return 0.0 if full and lower and line.breaks < 2 else -np.inf
    if line.breaks > 1:
        return PARAGRAPH_LOWER if lower else PARAGRAPH
    if full or lower or end_before == ",":
        return 0.0
    return ITEM if is_item else HARD_BREAK


def _is_verse(lines: Sequence[Line], texts: Sequence[str], tags: Sequence[str]) -> bool:
    """Whether lines are verse: similarly long, all with a capital; the last one ends a sentence, at least two others do
    not, and a quarter of these are continued after a comma, or by a conjunction or preposition."""
    if len(lines) < STANZA or texts[lines[-1].last] not in _FINAL | _CLOSING:
        return False
    sizes = [line.last + 1 - line.first for line in lines]
    if min(sizes) < 3 or max(sizes) > 3 * min(sizes) or any(line.kind for line in lines):
        return False
    if not all(text[0].isupper() or text in "\"“‘'" for text in (texts[line.first] for line in lines)):
        return False
    unfinished = continued = 0
    for before, line in pairwise(lines):
        if not _follows_final_mark(texts, line.first):
            unfinished += 1
            continued += texts[before.last] in (",", ";", "—", "–", "-") or tags[line.first] in _FUNCTION_TAGS
    return continued >= 1 and 4 * continued >= unfinished >= 2


# ---- markers ----


def _marker(texts: Sequence[str], first: int, end: int) -> tuple[str, int]:
    """The kind of the marker at token `first` of a line that ends before `end` ("bullet", "quoted", "item", "clock",
    "date", "number", or "" for none), and the token after it."""
    text = texts[first]
    if text in _BULLETS:
        return ("bullet", first + 1) if first + 1 < end else ("", first)
    if text in _QUOTED:
        return ("quoted", first + 1) if first + 1 < end else ("", first)
    opened = text in ("[", "(")
    i = first + opened
    if i >= end:
        return "", first
    kind, after = _date(texts, i, end)
    if not kind:
        kind, after = _clock(texts, i, end)
    elif after < end and _CLOCK.fullmatch(texts[after]):  # a date with a time
        after = _clock(texts, after, end)[1]
    if kind:
        return kind, after + (after < end and opened and texts[after] in ("]", ")"))
    following = texts[i + 1] if i + 1 < end else ""
    if _ITEM_NUMBER.fullmatch(texts[i]) and (following == ")" or (not opened and following == ".")):
        return ("item", i + 2) if i + 2 < end else ("", first)
    if not opened and _NUMBERED.fullmatch(text) and following:
        return "item", i + 1
    if text[0].isdigit() and following.isspace() and "\n" not in following:  # a column of numbers
        return "item", i + 2
    return ("number", first + 1) if text[0].isdigit() else ("", first)


def _clock(texts: Sequence[str], i: int, end: int) -> tuple[str, int]:
    """("clock", the token after it) if a time of day, or a range of two, begins at `i`, else ("", i)."""
    after = i + 1
    if _CLOCK.fullmatch(texts[i]):
        after += after < end and texts[after] in _HALF_DAY
    elif texts[i].isdigit() and after < end and texts[after] in _HALF_DAY:
        after += 1
    else:
        return "", i
    if after + 1 < end and texts[after] in ("-", "–", "—", "to"):
        kind, last = _clock(texts, after + 1, end)
        if kind:
            return "clock", last
    return "clock", after


def _date(texts: Sequence[str], i: int, end: int) -> tuple[str, int]:
    """("date", the token after it) if a date with a day begins at `i`, else ("", i)."""
    if _DATE.fullmatch(texts[i]):
        return "date", i + 1
    following = texts[i + 1] if i + 1 < end else ""
    if following in ("-", "/") and i + 4 < end + 1 and _DATE.fullmatch("".join(texts[i : min(i + 5, end)])):
        return "date", i + 5
    day_first = _DAY.fullmatch(texts[i]) and following in _MONTHS
    if not day_first and not (texts[i] in _MONTHS and _DAY.fullmatch(following)):
        return "", i
    after = i + 2
    if after + 1 < end and texts[after] == "," and _YEAR.fullmatch(texts[after + 1]):
        return "date", after + 2
    return "date", after + (after < end and _YEAR.fullmatch(texts[after]) is not None)
