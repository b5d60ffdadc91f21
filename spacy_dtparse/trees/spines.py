"""Spines, the supertags of a constituent tree (Carreras et al. 2008; Kummerfeld et al. 2010)."""

from collections.abc import Iterable, Sequence

from ..errors import TreeError
from .heads import CANDIDATE, COLLINS, HeadRules
from .tree import TOP, Tree

Spine = tuple[str, ...]
EMPTY_SPINE = "-"
"""Text form of the spine of a word that heads no constituent."""

SEPARATOR = "+"
"""Separator of the labels in the text form of a spine; no label may contain it."""

RESERVED = "(|).", "<>"
"""Characters with which no label in a spine may begin, and with which none may end: they mark directional spines."""


def spines(tree: Tree, rules: HeadRules = COLLINS) -> list[Spine]:
    """Return the spine of each token (n tuples): the labels of the constituents that it heads, from the lowest up.

    Constituent 0, the root (TOP in trees from `read_trees`), is in no spine; every other is in the spine of its head.
    """
    found: list[list[str]] = [[] for _ in tree.words]
    tokens = rules.heads(tree)
    for k in range(len(tree.labels) - 1, 0, -1):
        found[tokens[k]].append(tree.labels[k])
    return [tuple(labels) for labels in found]


def format_spine(spine: Sequence[str]) -> str:
    """Format a spine: "NP", "VP+S", "-" if it is empty.

    Raises TreeError for a label that is empty, is "-", contains "+" or white space, or begins or ends with a RESERVED
    character.
    """
    for label in spine:
        if not label or label == EMPTY_SPINE or SEPARATOR in label or any(map(str.isspace, label)):
            raise TreeError(
                f"label {label!r} cannot be written in a spine; rename it to one that is not empty and not "
                f"{EMPTY_SPINE!r}, without {SEPARATOR!r} and white space"
            )
        first_characters, last_characters = RESERVED
        if label[0] in first_characters or label[-1] in last_characters:
            raise TreeError(
                f"label {label!r} cannot be written in a spine; rename it to one that does not begin with one of "
                f"{first_characters} nor end with one of {last_characters}"
            )
    return SEPARATOR.join(spine) or EMPTY_SPINE


def parse_spine(text: str) -> Spine:
    """Parse a spine: the inverse of `format_spine`. Raises TreeError for any other text."""
    spine = () if text == EMPTY_SPINE else tuple(text.split(SEPARATOR))
    try:
        format_spine(spine)
    except TreeError as error:
        raise TreeError(
            f"{text!r} is not a spine; give labels with {SEPARATOR!r} between them, or {EMPTY_SPINE!r} ({error})"
        ) from None
    return spine


def tree_from_spines(
    words: Sequence[str],
    tags: Sequence[str],
    brackets: Iterable[tuple[int, int]],
    spines: Sequence[Sequence[str]],
    top: str = TOP,
) -> Tree:
    """Build the unique tree with these spines over the unlabelled `brackets`: the inverse of `spines`.

    `brackets`: (start, end) of every constituent, in any order, including the root; one for each member of a unary
    chain. `spines`: one per token. `top`: the root's label. A token's spine of l labels labels the l lowest
    constituents above the token, so heads need not be given.

    Raises TreeError if the brackets do not form a tree, a spine reaches beyond the root, or a constituent is in two
    spines or in none.
    """
    shape = Tree.from_spans(words, tags, ((start, end, CANDIDATE) for start, end in brackets))
    if len(spines) != len(shape.words):
        raise TreeError(f"{len(spines)} spines for {len(shape.words)} tokens; give one for each, () for no label")
    labels: list[str] = [top, *[CANDIDATE] * (len(shape.labels) - 1)]
    heads, parents = [-1] * len(shape.labels), shape.parents()
    for token, k in enumerate(shape.token_parents()):
        spine = spines[token]
        if isinstance(spine, str):
            raise TreeError(f"the spine of token {token} is the text {spine!r}; give its labels (see parse_spine)")
        for height, label in enumerate(spine):
            if k == 0:
                raise TreeError(
                    f"the spine of token {token} has {len(spine)} labels, but only {height} constituents are above the "
                    "token and below the root; give more brackets or a shorter spine"
                )
            if heads[k] >= 0:
                raise TreeError(
                    f"tokens {heads[k]} and {token} both head the constituent [{shape.starts[k]}, {shape.ends[k]}); "
                    "make one of their spines shorter"
                )
            labels[k], heads[k] = label, token
            k = parents[k]
    if -1 in heads[1:]:
        k = heads.index(-1, 1)
        raise TreeError(
            f"no spine reaches the constituent [{shape.starts[k]}, {shape.ends[k]}); one of its tokens must head it, "
            "with a longer spine"
        )
    return Tree(shape.words, shape.tags, labels, shape.starts, shape.ends)
