"""A tree as HTML: the text, and under it a bracket for every constituent, smaller ones nearer to the words.

Long sentences are cut into lines; a bracket that continues in the next line has an open end there. Constituents over
the same words of a line share a bracket, such as the members of a unary chain: `SBAR › S`.
"""

from collections.abc import Sequence
from typing import NamedTuple
from xml.sax.saxutils import escape

from ..trees.tree import TOP, Tree
from .colors import color_class, color_rules
from .svg import Look, Probabilities, legal, probability_text
from .text import columns

WIDTH = 90
"""Characters per line."""

_RULES = (
    "{scope} .line{{color:{word}}}{scope} .tag,{scope} .probability{{color:{tag}}}"
    "{scope} .label,{scope} .name{{--own:{label}}}"
    "{scope}.spans{{background:{background}}}"
)
_FORM = (
    "{scope}.spans{{font:15px/1.3 sans-serif;overflow-x:auto;padding:8px 12px}}"
    "{scope} .line{{display:grid;justify-content:start;margin:0 0 18px;width:max-content}}"
    "{scope} .word{{padding:2px 5px 3px;text-align:center;white-space:pre;unicode-bidi:plaintext}}"
    "{scope} .tag{{display:block;font-size:10px;line-height:1.1}}"
    "{scope} .label{{color:var(--own);border-top:3px solid var(--own);border-radius:2px;font:bold 11px/1.2 sans-serif;"
    "margin:2px 2px 0;padding:1px 3px 2px;white-space:nowrap}}"
    "{scope} .name{{color:var(--own)}}"
    "{scope} .from{{margin-left:0;border-left:3px dotted var(--own);border-top-left-radius:0}}"
    "{scope} .on{{margin-right:0;border-right:3px dotted var(--own);border-top-right-radius:0}}"
    "{scope} .probability{{font-weight:normal;margin-left:3px}}"
)


class _Bracket(NamedTuple):
    """Constituents `members`, from top to bottom, over the tokens [start, end) of a line, `height` rows below them."""

    start: int
    end: int
    height: int
    members: list[int]


def spans_html(
    trees: Sequence[Tree], look: Look, probabilities: Sequence[Probabilities] | None = None, width: int = WIDTH
) -> str:
    """Draw the trees one below the other as an HTML element; `look`, `probabilities`: as for `svg_trees`; `width`:
    maximum number of characters per line."""
    scope = f"div.dtparse-{look.theme}"
    labels = {name for tree in trees for name in tree.labels}
    style = _FORM.format(scope=scope) + color_rules(look.theme, scope, _RULES, labels, look.colors)
    ground = "" if look.background is None else f' style="background:{look.background}"'
    parts = [f'<div class="dtparse-{look.theme} spans" dir="{look.direction}"{ground}>', f"<style>{style}</style>"]
    for index, tree in enumerate(trees):
        tree_probabilities = (None,) * len(tree) if probabilities is None else probabilities[index]
        for start, end in cut_lines(tree, width, look.tags, tree_probabilities):
            parts.append(_line(tree, start, end, look, tree_probabilities))
    return "\n".join([*parts, "</div>"]) + "\n"


def cut_lines(
    tree: Tree, width: int, tags: bool = True, probabilities: Probabilities | None = None
) -> list[tuple[int, int]]:
    """The token ranges of the lines: each takes as many words as fit, at least one."""
    sizes = [columns(word) for word in tree.words]
    if tags:
        sizes = [max(size, columns(tag) * 3 // 4) for size, tag in zip(sizes, tree.tags, strict=True)]
    chains = [0] * len(sizes)  # width of the labels of constituents over one token
    for k, (start, end, label) in enumerate(tree.spans()):
        if end == start + 1 and k:
            chains[start] += (
                columns(label) + 2 + (4 if probabilities is not None and probabilities[k] is not None else 0)
            )
    lines, start, used = [], 0, 0
    for i, (size, chain) in enumerate(zip(sizes, chains, strict=True)):
        needed = max(size, chain) + 1
        if i > start and used + needed > width:
            lines.append((start, i))
            start, used = i, 0
        used += needed
    return [*lines, (start, tree.n_tokens)]


def _brackets(tree: Tree, start: int, end: int) -> list[_Bracket]:
    """The brackets below the tokens [start, end), without TOP."""
    clipped: dict[tuple[int, int, bool, bool], list[int]] = {}
    for k, (first, last, label) in enumerate(tree.spans()):
        if first < end and last > start and not (k == 0 and label == TOP):
            key = max(first, start), min(last, end), first < start, last > end
            clipped.setdefault(key, []).append(k)
    heights = [0] * (end - start)
    found = []
    # children come after their parents, so in reverse order the rows below a bracket are known
    for (first, last, _, _), members in sorted(clipped.items(), key=lambda item: item[1][-1], reverse=True):
        height = max(heights[first - start : last - start]) + 1
        heights[first - start : last - start] = [height] * (last - first)
        found.append(_Bracket(first, last, height, members))
    return found


def _line(tree: Tree, start: int, end: int, look: Look, probabilities: Probabilities) -> str:
    cells = []
    for i in range(start, end):
        tag = f'<span class="tag">{escape(legal(tree.tags[i]))}</span>' if look.tags else ""
        about = f' data-token="{i}"' if look.numbered else ""
        cells.append(
            f'<span class="word"{about} style="grid-area:1/{i - start + 1}">{tag}{escape(legal(tree.words[i]))}</span>'
        )
    for first, last, height, members in _brackets(tree, start, end):
        names = []
        for k in members:
            about = f'data-constituent="{k}" ' if look.numbered else ""
            shown = probability_text(probabilities[k])
            probability = f'<span class="probability">{shown}</span>' if shown else ""
            about += color_class(tree.labels[k], look.colors, "name")
            names.append(f"<span {about}>{escape(legal(tree.labels[k]))}{probability}</span>")
        top = members[0]
        kind = "label" + (" from" if tree.starts[top] < start else "") + (" on" if tree.ends[top] > end else "")
        area = f"grid-area:{height + 1}/{first - start + 1}/{height + 2}/{last - start + 1}"
        about = color_class(tree.labels[top], look.colors, kind, area)
        cells.append(f"<span {about}>{' › '.join(names)}</span>")
    return f'<div class="line">{"".join(cells)}</div>'
