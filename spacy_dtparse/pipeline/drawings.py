"""`render`: the trees of Docs and spans as SVG, HTML or text."""

from __future__ import annotations

import builtins
from bisect import bisect_left
from collections.abc import Iterable, Mapping
from math import exp
from typing import Any

from spacy.tokens import Doc, Span

from ..errors import ConfigError
from ..trees.tree import TOP, Tree
from ..viz import draw
from ..viz.drawing import check_options
from .attributes import to_tree
from .constituents import group_key, read_constituents
from .sentences import visible_tokens

Drawable = Doc | Span | Tree


def render(
    docs: Drawable | Iterable[Drawable],
    style: str = "tree",
    page: bool = False,
    jupyter: bool | None = None,
    options: Mapping[str, Any] | None = None,
    key: str | None = None,
) -> str:
    """Draw the constituent trees of a parsed Doc, of a span of one, or Trees.

    `docs`: one, or several in a list. `style`: "tree" (SVG), "spans" (HTML: brackets under the words) or "text" (for
    the terminal). `page`: a complete HTML page. `options`: a mapping; its names are in the table under Look at trees in
    docs/use.md; with `scores` each label has the constituent's probability, or exp(-score) if the parser's setting
    `probabilities` is off. `jupyter`: whether the result displays itself in a notebook; by default if it is created in
    one. It is a string all the same (a `viz.Drawing`, with a method `save`). `key`: of the span group.

    Raises NotParsedError for a Doc without constituents, NonConstituentError for a span that cuts one, ConfigError for
    another style, option or value, or if there are no scores to show.
    """
    with_scores = check_options(style, options).scores
    if jupyter not in (None, True, False):
        raise ConfigError(f"jupyter={jupyter!r}; allowed are True, False and None")
    given: Iterable[Any] = [docs] if isinstance(docs, Doc | Span | Tree) else docs
    if isinstance(given, str | bytes) or not isinstance(given, Iterable):
        raise ConfigError(f"{_seen(given)} cannot be drawn; give a parsed Doc, a Span, a Tree, or a list of them")
    trees: list[Tree] = []
    scores: list[list[float | None]] = []
    for one in given:
        if isinstance(one, Tree):
            pairs: list[tuple[Tree, list[float | None]]] = [(one, [None] * len(one))]
        elif isinstance(one, Doc | Span):
            pairs = drawn_trees(one, key)
        else:
            raise ConfigError(f"{_seen(one)} cannot be drawn; give a parsed Doc, a Span or a Tree")
        trees += [tree for tree, _ in pairs]
        scores += [own for _, own in pairs]
    if with_scores and trees and not any(score is not None for own in scores for score in own):
        raise ConfigError("scores=True, but there are none: a Tree has no scores, and Doc.from_docs and JSON drop them")
    drawn = draw(trees, style, page, options, scores)
    return drawn if jupyter or (jupyter is None and in_notebook()) else str.__str__(drawn)


def drawn_trees(doc: Doc | Span, key: str | None = None) -> list[tuple[Tree, list[float | None]]]:
    """The Tree of each sentence, or of each part of one in a span, and the probabilities of its constituents.

    The root of a part of a sentence is the constituent that covers it, if there is one, else TOP.
    """
    whole, first, last = (doc.doc, doc.start, doc.end) if isinstance(doc, Span) else (doc, 0, len(doc))
    found = read_constituents(whole, key)
    name = group_key(whole, key)
    attrs = {} if name is None else whole.spans[name].attrs
    told = attrs.get("probabilities") or [None if cost is None else exp(-cost) for cost in attrs.get("scores", ())]
    if len(told) != len(found.starts):
        told = [None] * len(found.starts)
    pairs = []
    for start, end, words in visible_tokens(whole):
        words = [token for token in words if first <= token.i < last]
        if not words:
            continue
        tree = to_tree(whole[max(start, first) : min(end, last)], key)
        place, stop = words[0].i, words[-1].i + 1
        inside = range(bisect_left(found.starts, place), bisect_left(found.starts, stop))
        own = [told[k] for k in inside if found.ends[k] <= stop]
        probabilities: list[float | None] = [*[None] * (len(tree) - len(own)), *own]
        partly = start < first or end > last
        if partly and tree.labels[0] == TOP and len(tree) > 1 and tree.ends[1] - tree.starts[1] == tree.n_tokens:
            tree = Tree.trusted(tree.words, tree.tags, tree.labels[1:], tree.starts[1:], tree.ends[1:])
            probabilities = probabilities[1:]
        pairs.append((tree, probabilities))
    return pairs


def in_notebook() -> bool:
    """Whether this process is a notebook's kernel."""
    shell = getattr(builtins, "get_ipython", None)
    return shell is not None and type(shell()).__name__ == "ZMQInteractiveShell"


def _seen(value: Any) -> str:
    shown = repr(value)
    return f"{type(value).__name__} {shown if len(shown) <= 40 else shown[:39] + '…'}"
