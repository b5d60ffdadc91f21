"""A tree as a self-contained SVG: labels above, words below, no scripts, no fonts, no network."""

import re
from xml.sax.saxutils import escape, quoteattr

from ..errors import ConfigError
from ..trees.tree import Tree

_CHARACTER = 8.0  # px: a wide estimate of a character of a 14 px font, so that nothing overlaps
_GAP = 16.0
_LEVEL = 44.0
_MARGIN = 16.0
_TEXT = 14
_STYLE = (
    "text{{font:{size}px sans-serif;text-anchor:middle;unicode-bidi:plaintext}}"
    ".label{{fill:{label};font-weight:bold}}.tag{{fill:{tag}}}.word{{fill:{word}}}"
    ".edge{{fill:none;stroke:{edge}}}"
)


_THEMES = {
    "light": {"label": "#1f4e79", "tag": "#6b6b6b", "word": "#111", "edge": "#8a8a8a", "background": "white"},
    "dark": {"label": "#79b8ff", "tag": "#a8a8a8", "word": "#eee", "edge": "#7d8590", "background": "#0d1117"},
}
_FORBIDDEN = re.compile("[^\\t\\n\\r\\x20-\\ud7ff\\ue000-\\ufffd\\U00010000-\\U0010ffff]")  # by XML 1.0
_WIDE = re.compile("[\\u1100-\\u115f\\u2e80-\\ua4cf\\uac00-\\ud7a3\\uf900-\\ufaff\\ufe30-\\ufe6f\\uff00-\\uff60]")


def svg_tree(
    tree: Tree,
    *,
    title: str | None = None,
    direction: str = "ltr",
    tags: bool = True,
    theme: str = "light",
    background: str | None = None,
) -> str:
    """`tree` as an SVG document of its own, the same bytes for the same tree.

    Words stand in one row at the bottom, `tags` above them, every constituent above the middle of its children.
    `direction`: "ltr", or "rtl" to draw the first word at the right. `title`: text for screen readers (default: the
    sentence). `theme`: "light", or "dark" for dark pages. `background`: a CSS colour, or "none" (default: the theme's).

    Raises ConfigError for another `direction` or `theme`, or a `background` that is not a plain CSS colour.
    """
    if direction not in ("ltr", "rtl"):
        raise ConfigError(f"direction={direction!r}; allowed are 'ltr' and 'rtl'")
    if theme not in _THEMES:
        raise ConfigError(f"theme={theme!r}; allowed are {' and '.join(map(repr, _THEMES))}")
    colours = _THEMES[theme]
    background = colours["background"] if background is None else background
    if not re.fullmatch(r"[\w#(),.% -]+", background):
        raise ConfigError(f"background={background!r}; give a CSS colour such as 'white', '#fff' or 'none'")
    child_lists, depths = tree.child_lists(), tree.depths()
    n, m = len(tree.words), len(tree.labels)
    bottom = max(depths) + 1  # the level of tags; words stand just below
    token_x, width = _columns(tree, child_lists, tags)
    x = [0.0] * m
    for k in range(m - 1, -1, -1):
        ends = [x[c] if c >= 0 else token_x[~c] for c in (child_lists[k][0], child_lists[k][-1])]
        x[k] = (ends[0] + ends[1]) / 2
    if direction == "rtl":
        x = [width - place for place in x]
        token_x = [width - place for place in token_x]
    word_y = _MARGIN + _TEXT + bottom * _LEVEL + (_TEXT + 6 if tags else 0)
    height = word_y + _MARGIN
    label = " ".join(tree.words) if title is None else title
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_number(width)}" height="{_number(height)}" '
        f'viewBox="0 0 {_number(width)} {_number(height)}" role="img" aria-label={quoteattr(_legal(label))}>',
        f"<style>{_STYLE.format(size=_TEXT, **colours)}</style>",
    ]
    if background != "none":
        parts.append(f'<rect width="100%" height="100%" fill="{background}"/>')
    for k, children in enumerate(child_lists):
        for child in children:
            to_x, to_level = (x[child], depths[child]) if child >= 0 else (token_x[~child], bottom)
            top = _MARGIN + _TEXT + 5 + depths[k] * _LEVEL
            knee = _MARGIN - 3 + (depths[k] + 1) * _LEVEL  # slanted for one level, then straight down
            foot = _MARGIN - 3 + to_level * _LEVEL
            down = f"V{_number(foot)}" if foot > knee else ""
            line = f"M{_number(x[k])} {_number(top)}L{_number(to_x)} {_number(knee)}{down}"
            parts.append(f'<path class="edge" d="{line}"/>')
    for k in range(m):
        parts.append(_text("label", x[k], _MARGIN + _TEXT + depths[k] * _LEVEL, tree.labels[k]))
    for i in range(n):
        if tags:
            parts.append(_text("tag", token_x[i], _MARGIN + _TEXT + bottom * _LEVEL, tree.tags[i]))
        parts.append(_text("word", token_x[i], word_y, tree.words[i]))
    parts.append("</svg>")
    return "\n".join(parts) + "\n"


def _columns(tree: Tree, child_lists: list[list[int]], tags: bool) -> tuple[list[float], float]:
    """The middle of each token's column, and the width of the drawing.

    A column is as wide as its word, its tag, and the labels that stand right above it: those of constituents over this
    token alone. A wider label above several tokens spreads its share over their columns.
    """
    widths = [max(_width(word), _width(tag) if tags else 0.0) for word, tag in zip(tree.words, tree.tags, strict=True)]
    for k in range(len(tree.labels) - 1, -1, -1):
        start, end = tree.starts[k], tree.ends[k]
        share = _width(tree.labels[k]) / (end - start)
        if share > _CHARACTER:
            widths[start:end] = [max(width, share) for width in widths[start:end]]
    middles, place = [], _MARGIN
    for width in widths:
        middles.append(place + width / 2)
        place += width + _GAP
    return middles, place - _GAP + _MARGIN


def _width(text: str) -> float:
    return _CHARACTER * (len(text) + len(_WIDE.findall(text)))


def _text(kind: str, x: float, y: float, text: str) -> str:
    return f'<text class="{kind}" x="{_number(x)}" y="{_number(y)}">{escape(_legal(text))}</text>'


def _legal(text: str) -> str:
    """`text` with characters that XML forbids, and direction overrides, shown as �."""
    text = _FORBIDDEN.sub("\ufffd", text)
    return re.sub("[\u202a-\u202e\u2066-\u2069]", "\ufffd", text)


def _number(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")
