"""Convert `.psd` files (GreynirCorpus, the Penn-Helsinki family) to plain Penn brackets, line by line."""

import html
import re
from collections.abc import Iterable, Iterator

from ..text import escape_token

SUFFIX = ".psd"
METADATA_LABELS = frozenset(
    {"META", "METADATA", "COMMENT", "CODE", "ID", "lemma", "LEMMA", "exp_seg", "exp_abbrev", "exp_lemma"}
)
"""Labels of brackets in a tree that contain metadata instead of words."""

_PART = re.compile(r"\(\s*([^\s()\\]*)|\)|\s+|(?:\\.|[^\s()\\])+", re.ASCII)
_NOTHING = re.compile(r"\(\s*[^\s()]*\s*\)", re.ASCII)


def plain_lines(lines: Iterable[str]) -> Iterator[str]:
    """Replace brackets whose label is in METADATA_LABELS, and empty ones, by white space, and escape words as
    `escape_token` does: in these files round brackets are written "\\(" or "&#40;", and other characters may be other
    entities. The number of lines does not change, so error messages name the right line."""
    depth = 0  # number of open brackets inside a skipped bracket
    for line in lines:
        parts: list[str] = []
        for part in _PART.finditer(line):
            text = part[0]
            if depth:
                depth += text.startswith("(") - (text == ")")
            elif text.startswith("("):
                depth = int(part[1] in METADATA_LABELS)
                parts.append(" " if depth else text)
            elif text == ")" or text.isspace():
                parts.append(text)
            else:
                parts.append(_word(text))
        yield _NOTHING.sub(" ", "".join(parts))


def _word(text: str) -> str:
    if "&" not in text and "\\" not in text:
        return text
    return escape_token(html.unescape(re.sub(r"\\(.)", r"\1", text)))
