"""Trees of `.psd` files (GreynirCorpus, the Penn-Helsinki family) as plain Penn brackets, line by line."""

import html
import re
from collections.abc import Iterable, Iterator

from ..text import escape_token

SUFFIX = ".psd"
BESIDE = frozenset(
    {"META", "METADATA", "COMMENT", "CODE", "ID", "lemma", "LEMMA", "exp_seg", "exp_abbrev", "exp_lemma"}
)
"""Labels of what stands in a tree beside its words."""

_PART = re.compile(r"\(\s*([^\s()\\]*)|\)|\s+|(?:\\.|[^\s()\\])+", re.ASCII)
_NOTHING = re.compile(r"\(\s*[^\s()]*\s*\)", re.ASCII)


def plain_lines(lines: Iterable[str]) -> Iterator[str]:
    """The lines with white space in place of brackets that are labelled as in BESIDE or hold nothing, and with the
    words in the form that `escape_token` gives them: round brackets are written "\\(" or "&#40;" in these files, other
    characters perhaps as other entities. There are as many lines as before, so an error names the right one."""
    depth = 0  # of open brackets of what is being passed over
    for line in lines:
        kept: list[str] = []
        for part in _PART.finditer(line):
            text = part[0]
            if depth:
                depth += text.startswith("(") - (text == ")")
            elif text.startswith("("):
                depth = int(part[1] in BESIDE)
                kept.append(" " if depth else text)
            elif text == ")" or text.isspace():
                kept.append(text)
            else:
                kept.append(_word(text))
        yield _NOTHING.sub(" ", "".join(kept))


def _word(text: str) -> str:
    if "&" not in text and "\\" not in text:
        return text
    return escape_token(html.unescape(re.sub(r"\\(.)", r"\1", text)))
