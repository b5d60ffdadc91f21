"""`render`: the trees of Docs and spans as SVG, HTML or text."""

import builtins
from bisect import bisect_left
from collections.abc import Iterable, Mapping
from math import exp
from typing import Any

from spacy.tokens import Doc, Span

from ..errors import ConfigError, shorten
from ..trees.tree import TOP, Tree
from ..viz import draw
from ..viz.drawing import check_options
from .attributes import to_tree
from .constituents import group_key, read_constituents, values_in_order
from .sentences import token_bounds, visible_tokens

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
    docs/drawings.md; with `probabilities` each label has the constituent's probability, or exp(-cost) if the parser's
    setting `probabilities` is off. `jupyter`: True displays the drawing in a notebook at once, also in a loop, as
    displaCy does; by default, in a notebook, the result displays itself as the last value of a cell; False: neither.
    The result is a string all the same (a `viz.Drawing`, with a method `save`). `key`: of the span group.

    Raises NotParsedError for a Doc without constituents, NonConstituentError for a span that cuts one, ConfigError for
    another style, option or value, or if there are no probabilities to show.
    """
    with_probabilities = check_options(style, options).probabilities
    if jupyter not in (None, True, False):
        raise ConfigError(f"jupyter={jupyter!r}; allowed are True, False and None")
    items: Iterable[Any] = [docs] if isinstance(docs, Doc | Span | Tree) else docs
    if isinstance(items, str | bytes) or not isinstance(items, Iterable):
        raise ConfigError(
            f"{type(items).__name__} {shorten(repr(items), 40)} cannot be drawn; give a parsed Doc, a Span, a Tree, or "
            "a list of them"
        )
    trees: list[Tree] = []
    probabilities: list[list[float | None]] = []
    for one in items:
        if isinstance(one, Tree):
            pairs: list[tuple[Tree, list[float | None]]] = [(one, [None] * len(one))]
        elif isinstance(one, Doc | Span):
            pairs = trees_with_probabilities(one, key)
        else:
            raise ConfigError(
                f"{type(one).__name__} {shorten(repr(one), 40)} cannot be drawn; give a parsed Doc, a Span or a Tree"
            )
        trees += [tree for tree, _ in pairs]
        probabilities += [tree_probabilities for _, tree_probabilities in pairs]
    if with_probabilities and trees and all(one is None for of_tree in probabilities for one in of_tree):
        raise ConfigError(
            "probabilities=True, but there are none: a Tree has none, and Doc.from_docs and JSON drop them"
        )
    drawn = draw(trees, style, page, options, probabilities)
    if jupyter:
        return drawn.display()
    return drawn if jupyter is None and in_notebook() else str.__str__(drawn)


def trees_with_probabilities(doc: Doc | Span, key: str | None = None) -> list[tuple[Tree, list[float | None]]]:
    """The Tree of each sentence, or of each part of one in a span, and the probabilities of its constituents.

    The root of a part of a sentence is the constituent that covers it, if there is one, else TOP.
    """
    full_doc, (first, last) = doc.doc, token_bounds(doc)
    found = read_constituents(full_doc, key)
    name = group_key(full_doc, key)
    assert name is not None
    probabilities_of_doc = values_in_order(full_doc, name, "probabilities") or [
        None if cost is None else exp(-cost) for cost in values_in_order(full_doc, name, "costs") or ()
    ]
    if len(probabilities_of_doc) != len(found.starts):
        probabilities_of_doc = [None] * len(found.starts)
    pairs = []
    for start, end, words in visible_tokens(full_doc):
        words = [token for token in words if first <= token.i < last]
        if not words:
            continue
        tree = to_tree(full_doc[max(start, first) : min(end, last)], key)
        start_token, end_token = words[0].i, words[-1].i + 1
        inside = range(bisect_left(found.starts, start_token), bisect_left(found.starts, end_token))
        tree_probabilities = [probabilities_of_doc[k] for k in inside if found.ends[k] <= end_token]
        probabilities: list[float | None] = [*[None] * (len(tree) - len(tree_probabilities)), *tree_probabilities]
        partly = start < first or end > last
        if partly and tree.labels[0] == TOP and len(tree) > 1 and tree.ends[1] - tree.starts[1] == tree.n_tokens:
            tree = Tree.unchecked(tree.words, tree.tags, tree.labels[1:], tree.starts[1:], tree.ends[1:])
            probabilities = probabilities[1:]
        pairs.append((tree, probabilities))
    return pairs


def in_notebook() -> bool:
    """Whether this process is a notebook's kernel. The shells of Colab and others derive from that of Jupyter."""
    shell = getattr(builtins, "get_ipython", None)
    return shell is not None and any(kind.__name__ == "ZMQInteractiveShell" for kind in type(shell()).__mro__)
