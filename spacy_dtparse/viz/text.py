"""A tree as text with box characters: upright if the width allows it, else on its side."""

import unicodedata
from collections.abc import Sequence

from ..errors import ConfigError
from ..trees.tree import Tree
from .layout import side_rows
from .upright import upright_tree

MAX_INDENT = 200
"""Column at which deeper constituents are not indented any further."""
MIN_WIDTH = 20
"""Minimum number of columns of a text tree."""
LAYOUTS = ("auto", "down", "side")

_BOXES = {False: ("├─ ", "└─ ", "│  ", " ── "), True: ("+- ", "`- ", "|  ", " -- ")}
_NARROW = {False: ("├", "└", "│", " ─ "), True: ("+", "`", "|", " - ")}


def text_tree(
    tree: Tree,
    *,
    ascii_only: bool = False,
    tags: bool = True,
    width: int | None = None,
    layout: str = "side",
    probabilities: Sequence[float | None] | None = None,
) -> str:
    """Format `tree` with one constituent or token per line, children below and to the right of their parent.

    A constituent over a single child shares its child's line: `NP ── PRP  We`. `ascii_only` draws with | + - instead of
    box characters; `tags` writes each token's tag before it. Line breaks and other control characters in words are
    written as �; joiners and soft hyphens stay. `width`: maximum number of columns (None: no limit); to fit, levels are
    indented by one column instead of three, and finally lines are broken. `layout`: "side", as described; "down" has
    the words in one row below the labels, whatever the width; "auto" is "down" if that fits. `probabilities`: a
    probability for each constituent, written after its label.

    Raises ConfigError for another `layout` or a `width` below MIN_WIDTH.
    """
    check_text(layout, width)
    labels = [
        _plain(label) if probability is None else f"{_plain(label)} {probability:.2f}"
        for label, probability in zip(tree.labels, probabilities or [None] * len(tree.labels), strict=True)
    ]
    words = [_plain(word) for word in tree.words]
    above = [_plain(tag) if tags else "" for tag in tree.tags]
    if layout != "side":
        limit = width if layout == "auto" else None
        drawn = upright_tree(tree, labels, above, words, columns, clusters, ascii_only, limit)
        if drawn is not None:
            return drawn
    leaves = [f"{tag}  {word}" if tag else word for tag, word in zip(above, words, strict=True)]
    lines = _side(tree, labels, leaves, _BOXES[ascii_only], MAX_INDENT)
    if width is not None and max(columns(first) + columns(content) for first, _, content in lines) > width:
        lines = _side(tree, labels, leaves, _NARROW[ascii_only], min(MAX_INDENT, width // 2))
        return "\n".join(part for line in lines for part in _break_line(*line, width))
    return "\n".join(first + content for first, _, content in lines)


def check_text(layout: str, width: int | None) -> None:
    """Raise ConfigError for a value that is not allowed."""
    if layout not in LAYOUTS:
        raise ConfigError(f"layout={layout!r}; allowed are {', '.join(map(repr, LAYOUTS))}")
    if width is not None and (isinstance(width, bool) or not isinstance(width, int) or width < MIN_WIDTH):
        raise ConfigError(f"width={width!r}; give the columns of a line, a whole number from {MIN_WIDTH}, or None")


_INVISIBLE = frozenset("\u00ad\u180e\u200b\u200c\u200d\u2060\ufeff") | frozenset(map(chr, range(0xE0020, 0xE0080)))
"""Characters that words may have and that take no column: soft hyphens, joiners and non-joiners, spaces without width,
and tags (of the flags of regions)."""
_JOINER, _EMOJI_STYLE = "\u200d", "\ufe0f"
_FLAG_LETTERS = ("\U0001f1e6", "\U0001f1ff")
_SKIN_TONES = ("\U0001f3fb", "\U0001f3ff")


def clusters(text: str) -> list[str]:
    """Split a text into what a reader takes for one character (grapheme clusters): a character with its marks, joiners
    and other characters without width, emoji joined by U+200D, an emoji with a skin tone, a flag's two letters.

    (Unicode's UAX 29 without Hangul given as single letters, and with a virama not joining two consonants.)
    """
    if text.isascii():
        return list(text)
    found: list[str] = []
    for c in text:
        before = found[-1] if found else ""
        joined = before.endswith(_JOINER) and unicodedata.category(c) == "So"
        flag = len(before) == 1 and all(_FLAG_LETTERS[0] <= one <= _FLAG_LETTERS[1] for one in (before, c))
        leading = len(found) == 1 and all(map(_is_extending, before))  # such as a space without width
        if before and (_is_extending(c) or joined or flag or leading):
            found[-1] += c
        else:
            found.append(c)
    return found


def columns(text: str) -> int:
    """The number of columns of a text in a terminal."""
    if text.isascii():
        return len(text)
    return sum(map(_cluster_columns, clusters(text)))


def _is_extending(c: str) -> bool:
    """Whether a character is drawn together with the one before it."""
    return c in _INVISIBLE or unicodedata.category(c) in ("Mn", "Me", "Mc") or _SKIN_TONES[0] <= c <= _SKIN_TONES[1]


def _cluster_columns(cluster: str) -> int:
    """The columns of a grapheme cluster: two for wide characters, for flags and for emoji, else one; a mark that
    takes a place of its own (as many vowels of Hindi) counts."""
    marks = sum(unicodedata.category(c) == "Mc" for c in cluster)
    base = next((c for c in cluster if not _is_extending(c)), "")
    if not base:
        return marks
    flag = len(cluster) > 1 and _FLAG_LETTERS[0] <= base <= _FLAG_LETTERS[1]
    if flag or unicodedata.east_asian_width(base) in "WF" or (_EMOJI_STYLE in cluster and not base.isalpha()):
        return 2
    return 1 + marks


def _side(
    tree: Tree, labels: list[str], leaves: list[str], boxes: tuple[str, str, str, str], max_indent: int
) -> list[tuple[str, str, str]]:
    """Each line as its prefix, the prefix of its continuation lines, and its text."""
    tee, corner, bar, line = boxes
    lines: list[tuple[str, str, str]] = []
    below: list[str] = []  # for each line the text that its children's lines begin with
    for chain, _, above, is_last in side_rows(tree):
        first = rest = "" if above < 0 else below[above]
        if above >= 0:
            first += corner if is_last else tee
            if len(rest) < max_indent:
                rest += " " * len(bar) if is_last else bar
        below.append(rest)
        content = line.join(labels[node] if node >= 0 else leaves[~node] for node in chain)
        lines.append((first, rest if chain[-1] < 0 else rest + bar, content))
    return lines


def _break_line(first: str, rest: str, content: str, width: int) -> list[str]:
    """A line as lines of `width` columns, broken at blanks if there are any."""
    done, start = [], first
    while columns(start) + columns(content) > width:
        available = max(width - columns(start), 1)
        end, used = 0, 0
        for cluster in clusters(content):
            used += columns(cluster)
            if used > available and end:
                break
            end += len(cluster)
        blank = content.rfind(" ", 1, end + 1)
        end = blank if blank > 0 else end
        done.append(f"{start}{content[:end]}".rstrip())
        content, start = content[end:].lstrip(), f"{rest}  "
    return [*done, start + content]


def _plain(text: str) -> str:
    """`text` without characters that would break or reorder the lines of a terminal."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c == "\u00a0" or c in _INVISIBLE else "\ufffd" for c in text)
