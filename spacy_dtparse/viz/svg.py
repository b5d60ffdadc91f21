"""A tree as a self-contained SVG: no scripts, no fonts, no network.

Two layouts: "down" has the labels above and the words in one row below; "side" has a line for each word and stays as
narrow as a page for long sentences.
"""

import math
import re
from collections.abc import Sequence
from typing import NamedTuple
from xml.sax.saxutils import escape, quoteattr

from ..errors import ConfigError
from ..trees.tree import Tree
from .colors import PLAIN, Colors, check_color, check_colors, check_theme, color_class, color_rules
from .layout import place_nodes, side_rows

LAYOUTS = ("auto", "down", "side")
MAX_DOWN_TOKENS = 25
"""Maximum number of tokens for which the layout "auto" is "down"."""

Probabilities = Sequence[float | None]
"""A probability for each constituent of a tree, None if there is none to show."""

_CHARACTER = 8.0  # px: a wide estimate of a character of a 14 px font, so that nothing overlaps
_SMALL = 6.0  # the same for probabilities
_GAP = 16.0
_LEVEL = 44.0
_STEEP = 280.0  # width at which lines to children would be too flat to follow
_PROBABILITY = 12.0  # height of a probability below its label
_MARGIN = 16.0
_TEXT = 14
_ROW = 22.0  # of the layout "side"
_INDENT = 22.0
_BETWEEN = 12.0  # trees of one drawing
_FORM = (
    "{scope} text{{font:{size}px sans-serif;text-anchor:middle;unicode-bidi:plaintext}}"
    "{scope} .side text{{text-anchor:start;white-space:pre}}{scope} .rtl text{{direction:rtl;unicode-bidi:isolate}}"
    "{scope} .rtl tspan{{unicode-bidi:isolate}}"
    "{scope} .label{{font-weight:bold}}{scope} .probability,{scope} .line{{font-size:10px;font-weight:normal}}"
    "{scope} .edge{{fill:none}}"
)
_COLORS = (
    "{scope} .label{{fill:{label}}}{scope} .tag,{scope} .probability,{scope} .line{{fill:{tag}}}"
    "{scope} .word{{fill:{word}}}{scope} .edge{{stroke:{edge}}}{scope} .ground{{fill:{background}}}"
)
_FORBIDDEN = re.compile("[^\\t\\n\\r\\x20-\\ud7ff\\ue000-\\ufffd\\U00010000-\\U0010ffff]")  # by XML 1.0
_WIDE = re.compile("[\\u1100-\\u115f\\u2e80-\\ua4cf\\uac00-\\ud7a3\\uf900-\\ufaff\\ufe30-\\ufe6f\\uff00-\\uff60]")


class Look(NamedTuple):
    """Options of a drawing; see `svg_trees`."""

    direction: str = "ltr"
    tags: bool = True
    theme: str = "light"
    background: str | None = None
    colors: Colors = True
    layout: str = "down"
    numbered: bool = False


class _Shape(NamedTuple):
    """A tree's elements, and their size."""

    width: float
    height: float
    parts: list[str]


def svg_trees(trees: Sequence[Tree], look: Look, probabilities: Sequence[Probabilities] | None = None) -> str:
    """Draw the trees, one below the other, as one SVG document.

    Fields of `look`: `layout` "down" has the words in one row at the bottom, `tags` above them, every constituent above
    the middle of its children; "side" has a line for each word, as `text_tree`; "auto" is "down" for trees of up to
    MAX_DOWN_TOKENS tokens. `direction`: "ltr", or "rtl" for the first word at the right. `theme`: "light", "dark", or
    "auto" for the theme of the viewer's system. `background`: a CSS colour, or "none" (default: the theme's). `colors`:
    of labels, see `colors.Colors`. `numbered`: labels have their constituent's index as `data-constituent`, words
    theirs as `data-token`. `probabilities`: probabilities to show with the labels, for each tree.

    Raises ConfigError for another `direction`, `theme` or `layout`, or a colour that is not a plain CSS colour.
    """
    check_look(look)
    shapes, x, y = [], 0.0, 0.0
    for index, tree in enumerate(trees):
        is_down = look.layout == "down" or (look.layout == "auto" and tree.n_tokens <= MAX_DOWN_TOKENS)
        draw = _down if is_down else _side
        shapes.append(draw(tree, look, (None,) * len(tree) if probabilities is None else probabilities[index]))
    parts = []
    for shape in shapes:
        is_shifted = y > 0 and len(shapes) > 1
        parts += (
            [f'<g transform="translate(0 {_format_number(y)})">', *shape.parts, "</g>"] if is_shifted else shape.parts
        )
        x, y = max(x, shape.width), y + shape.height + _BETWEEN
    width, height = x or 2 * _MARGIN, y - _BETWEEN if shapes else 2 * _MARGIN
    label = " ".join(word for tree in trees for word in tree.words)  # for screen readers
    scope = f"svg.dtparse-{look.theme}"
    labels = {name for tree in trees for name in tree.labels}
    style = _FORM.format(scope=scope, size=_TEXT) + color_rules(look.theme, scope, _COLORS, labels, look.colors)
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="dtparse-{look.theme}" width="{_format_number(width)}" '
        f'height="{_format_number(height)}" viewBox="0 0 {_format_number(width)} {_format_number(height)}" role="img" '
        f"aria-label={quoteattr(legal(label))}>"
    )
    return "\n".join([head, f"<style>{style}</style>", *_ground(look), *parts, "</svg>"]) + "\n"


def check_look(look: Look) -> None:
    """Raise ConfigError for a value that is not allowed."""
    if look.direction not in ("ltr", "rtl"):
        raise ConfigError(f"direction={look.direction!r}; allowed are 'ltr' and 'rtl'")
    if look.layout not in LAYOUTS:
        raise ConfigError(f"layout={look.layout!r}; allowed are {', '.join(map(repr, LAYOUTS))}")
    check_theme(look.theme)
    if look.background is not None:
        check_color("background", look.background)
    check_colors(look.colors)


def fitting_layout(tree: Tree, probabilities: Probabilities, width: float, height: float = math.inf) -> str:
    """The layout for a space in pixels: "down" if it fits, or fits in the height and is no wider than "side", which is
    the other one."""
    down, side = (draw(tree, Look(), probabilities) for draw in (_down, _side))
    return "down" if down.width <= max(width, side.width) and down.height <= height else "side"


def _ground(look: Look) -> list[str]:
    if look.background == "none":
        return []
    if look.background is None and look.theme == "auto":
        return ['<rect class="ground" width="100%" height="100%"/>']
    background = look.background or PLAIN[look.theme]["background"]
    return [f'<rect width="100%" height="100%" fill="{background}"/>']


def _down(tree: Tree, look: Look, probabilities: Probabilities) -> _Shape:
    depths = tree.depths()
    n, m = len(tree.words), len(tree.labels)
    bottom = max(depths) + 1  # the level of tags; words stand just below
    levels = [*depths, *[bottom] * n]  # as x, by node: token i is at ~i
    lower = _PROBABILITY if any(probability is not None for probability in probabilities) else 0.0
    level = _LEVEL + lower
    sizes = [
        max(_width(word), _width(tag) if look.tags else 0.0) for word, tag in zip(tree.words, tree.tags, strict=True)
    ]
    label_sizes = [
        max(_label_width(label), 0.0 if probability is None else _SMALL * 4)
        for label, probability in zip(tree.labels, probabilities, strict=True)
    ]
    x, right = place_nodes(tree, sizes, label_sizes, _MARGIN, _GAP, _CHARACTER)
    width = right + _MARGIN
    if look.direction == "rtl":
        x = [width - one for one in x]
    word_y = _MARGIN + _TEXT + bottom * level + (_TEXT + 6 if look.tags else 0)
    parts = []
    for k, children in enumerate(tree.child_lists()):
        top = _MARGIN + _TEXT + 5 + depths[k] * level + (lower if probabilities[k] is not None else 0)
        knee = _MARGIN - 3 + (depths[k] + 1) * level
        is_wide = abs(x[children[0]] - x[children[-1]]) > _STEEP
        for child in children:
            to_x, foot = x[child], _MARGIN - 3 + levels[child] * level
            if is_wide:  # down, across, down
                across = f"V{_format_number(int((top + knee) / 2) + 0.5)}H{_format_number(to_x)}"
                line = f"M{_format_number(x[k])} {_format_number(top)}{across}V{_format_number(foot)}"
            else:  # slanted for one level, then straight down
                down = f"V{_format_number(foot)}" if foot > knee else ""
                line = (
                    f"M{_format_number(x[k])} {_format_number(top)}L{_format_number(to_x)} {_format_number(knee)}{down}"
                )
            parts.append(f'<path class="edge" d="{line}"/>')
    for k in range(m):
        y = _MARGIN + _TEXT + depths[k] * level
        parts.append(_text(_label_about(tree, k, look), x[k], y, tree.labels[k]))
        if probabilities[k] is not None:
            parts.append(_text('class="probability"', x[k], y + _PROBABILITY, probability_text(probabilities[k])))
    for i in range(n):
        if look.tags:
            parts.append(_text('class="tag"', x[~i], _MARGIN + _TEXT + bottom * level, tree.tags[i]))
        parts.append(_text(_word_about(i, look), x[~i], word_y, tree.words[i]))
    return _Shape(width, word_y + _MARGIN, parts)


def _side(tree: Tree, look: Look, probabilities: Probabilities) -> _Shape:
    """A line for each token and for each constituent of several children, children below and right of their parent."""
    sign = -1 if look.direction == "rtl" else 1
    texts: list[str] = []
    edges, width = [], 0.0
    lowest: dict[int, tuple[float, int]] = {}  # row of a parent: x of the line down to its children, row of the last
    for row, (chain, depth, above, _) in enumerate(side_rows(tree)):
        x, y = _MARGIN + depth * _INDENT, _MARGIN + _TEXT + row * _ROW
        if above >= 0:
            edges.append(f"M{_format_number(sign * (x - 14))} {_format_number(y - 5)}h{sign * 10}")
            lowest[above] = x - 14, row
        parts, size = [], 0.0
        for index, node in enumerate(chain):
            if index:
                parts.append(_part('class="line"', " ── "))
                size += 30
            if node < 0:
                if look.tags:
                    parts.append(_part('class="tag"', f"{tree.tags[~node]}  "))
                    size += _label_width(tree.tags[~node]) + 8
                parts.append(_part(_word_about(~node, look), tree.words[~node]))
                size += _width(tree.words[~node])
                continue
            parts.append(_part(_label_about(tree, node, look), tree.labels[node]))
            size += _label_width(tree.labels[node])
            if probabilities[node] is not None:
                parts.append(_part('class="probability" dx="4"', probability_text(probabilities[node])))
                size += _SMALL * 5
        texts.append(f'<text x="{_format_number(sign * x)}" y="{_format_number(y)}">{"".join(parts)}</text>')
        width = max(width, x + size)
    for above, (x, row) in lowest.items():
        top, foot = _MARGIN + _TEXT + above * _ROW + 6, _MARGIN + _TEXT + row * _ROW - 5
        edges.append(f"M{_format_number(sign * x)} {_format_number(top)}V{_format_number(foot)}")
    width += _MARGIN
    opening = (
        '<g class="side">' if sign > 0 else f'<g class="side rtl" transform="translate({_format_number(width)} 0)">'
    )
    lines = [f'<path class="edge" d="{"".join(edges)}"/>'] if edges else []
    return _Shape(width, 2 * _MARGIN + len(texts) * _ROW, [opening, *lines, *texts, "</g>"])


def probability_text(probability: float | None) -> str:
    """Format a probability for drawings."""
    return "" if probability is None else f"{probability:.2f}"


def legal(text: str) -> str:
    """`text` with characters that XML forbids, and direction overrides, shown as �."""
    text = _FORBIDDEN.sub("\ufffd", text)
    return re.sub("[\u202a-\u202e\u2066-\u2069]", "\ufffd", text)


def _width(text: str) -> float:
    return _CHARACTER * (len(text) + len(_WIDE.findall(text)))


def _label_width(text: str) -> float:
    """The width of a text in capitals."""
    return _width(text) * 1.4


def _label_about(tree: Tree, k: int, look: Look) -> str:
    about = color_class(tree.labels[k], look.colors)
    return f'{about} data-constituent="{k}"' if look.numbered else about


def _word_about(i: int, look: Look) -> str:
    return f'class="word" data-token="{i}"' if look.numbered else 'class="word"'


def _text(about: str, x: float, y: float, text: str) -> str:
    return f'<text {about} x="{_format_number(x)}" y="{_format_number(y)}">{escape(legal(text))}</text>'


def _part(about: str, text: str) -> str:
    """Part of a line of text, placed after the previous part."""
    return f"<tspan {about}>{escape(legal(text))}</tspan>"


def _format_number(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")
