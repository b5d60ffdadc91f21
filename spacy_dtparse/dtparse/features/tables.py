"""The shipped template tables.

`baseline` and `kitchen_sink` follow Turian & Melamed 2006a (section 4.1 and table 3; details in the papers' program):
they test only whether some item of a group has a value. `standard` is ours: one-hot positions, a few groups, and pairs
and triples of positions, so that a tree needs one test where the papers' sets need several. `standard_read` adds
templates on span marginals.

Names of tables and of attributes are stored in model files, so they do not change: "read" means with span marginals;
"believed" a window that is a constituent under the span model, "mass" the probability of a span, "sure" that of its
label chain (see `templates.MARGINALS`).
"""

from itertools import product

from ...errors import ConfigError
from .templates import Position, Templates

ITEM_ATTRIBUTES = ("label", "tag", "class", "word")
TERMINAL_ATTRIBUTES = ("tag", "class", "word")
UNBOUNDED = (
    "left_context", "right_context", "span", "non_leftmost", "non_rightmost", "non_head", "left_of_head",
    "right_of_head",
)  # fmt: skip
COUNTED = ("span_first", "span_last", "left_of_head", "right_of_head", "left_context", "right_context")


def _items(where: str, offsets: range | tuple[int, ...]) -> list[Position]:
    return [("item", where, offset) for offset in offsets]


def _terminals(where: str, offsets: range | tuple[int, ...]) -> list[Position]:
    return [("terminal", where, offset) for offset in offsets]


def baseline() -> Templates:
    """The papers' 300 K set: the first/last n items of the span, n left/right of the head, the first n of each context
    (n = 1..3), and the head item."""
    grouped = [("some_item", group, n, False, name) for group, n, name in product(COUNTED, (1, 2, 3), ITEM_ATTRIBUTES)]
    unary = [(("item", "head", 0), attribute) for attribute in ITEM_ATTRIBUTES]
    return Templates("baseline", tuple(unary), (), tuple(grouped), False)


def kitchen_sink() -> Templates:
    """The papers' 1.1 M set, groups (a) to (g): positions, counted groups, unbounded groups of items and of the
    terminals below them, terminals around the span, children of the outer and head children, and lengths."""
    offsets = {"start": range(4), "end": range(4), "head": range(-3, 4), "left": range(3), "right": range(3)}
    items = [position for where, counted in offsets.items() for position in _items(where, counted)]
    terminals = [position for where, counted in offsets.items() for position in _terminals(where, counted)]
    unary = [*product(items, ITEM_ATTRIBUTES), *product(terminals, TERMINAL_ATTRIBUTES)]
    outer: list[Position] = [("item", "start", 0), ("item", "head", 0), ("item", "end", 0)]
    children = [("child", which, item) for which, item in product(("first", "head", "last"), outer)]
    unary += product(children, ("label", "tag", "class"))
    grouped: list[tuple[str, str, int, bool, str | None]] = [
        ("some_item", group, n, False, attribute)
        for group, n, attribute in product(COUNTED, (1, 2, 3, 4), ITEM_ATTRIBUTES)
    ]
    unbounded = [(group, False) for group in UNBOUNDED] + [(group, True) for group in UNBOUNDED if group != "span"]
    for group, with_head in unbounded:
        grouped += [("some_item", group, 0, with_head, attribute) for attribute in ITEM_ATTRIBUTES]
        grouped += [("some_terminal", group, 0, with_head, attribute) for attribute in TERMINAL_ATTRIBUTES]
        grouped += [(kind, group, 0, with_head, None) for kind in ("items", "terminals")]
    return Templates("kitchen_sink", tuple(unary), (), tuple(grouped), False)


def standard() -> Templates:
    """Our table for shift_reduce: one-hot positions with pairs and triples; the default of the trainer."""
    unary: list[tuple[Position, str]] = []

    def add(positions: list[Position], attributes: tuple[str, ...]) -> None:
        unary.extend(product(positions, attributes))

    add(_items("front", range(4)), ("label",))
    add(_items("front", range(2)), ("tag", "word"))
    add(_terminals("left", range(3)), ("tag", "word"))
    add(_terminals("left", (0,)), ("shape", "class"))
    add(_items("start", (1, 2)), ("label", "tag"))
    add(_items("end", range(3)), ("label", "tag"))
    add(_items("end", (0,)), ("word",))
    add(_items("head", (0,)), ("label", "tag", "class", "word", "shape"))
    add(_items("head", (-1, 1)), ("label", "word"))
    add(_items("right", range(3)), ("label", "tag"))
    add(_items("right", range(2)), ("word",))
    add(_items("right", (0,)), ("class",))
    add(_terminals("start", (0, 1)), ("tag", "word"))
    add(_terminals("end", (0, 1)), ("tag", "word"))
    add(_terminals("right", (0, 1, 2)), ("tag", "word"))
    outer: list[Position] = [("item", "start", 0), ("item", "head", 0), ("item", "end", 0)]
    add([("child", which, item) for which, item in product(("first", "head", "last"), outer)], ("label",))
    add([("child", "last", ("item", "end", 0))], ("word",))
    add([("child", "first", ("item", "right", 0)), ("child", "last", ("item", "right", 0))], ("label",))
    first, second = ("item", "start", 0), ("item", "start", 1)
    last, head = ("item", "end", 0), ("item", "head", 0)
    left, left2 = ("terminal", "left", 0), ("terminal", "left", 1)
    right, right2 = ("item", "right", 0), ("item", "right", 1)
    tuples = (
        ((first, "label"), (last, "label")),
        ((first, "label"), (head, "label"), (last, "label")),
        ((left, "tag"), (first, "label"), (last, "label")),
        ((first, "label"), (last, "label"), (right, "label")),
        ((left, "tag"), (head, "tag"), (right, "label")),
        ((left2, "tag"), (left, "tag"), (first, "label")),
        ((last, "label"), (right, "label"), (right2, "label")),
        ((head, "word"), (last, "label")),
        ((head, "word"), (left, "tag")),
        ((head, "word"), (right, "label")),
        ((head, "word"), (right, "tag")),
        ((left, "word"), (first, "label")),
        ((left, "word"), (head, "label"), (right, "label")),
        ((head, "word"), (last, "word")),
        ((head, "word"), (right, "word")),
        ((left, "word"), (head, "word")),
        ((head, "tag"), (last, "tag"), (right, "tag")),
        ((first, "label"), (second, "label"), (last, "label")),
        ((first, "word"), (last, "label")),
        ((("terminal", "end", 0), "word"), (right, "label")),
    )
    grouped: list[tuple[str, str, int, bool, str | None]] = [
        ("some_item", "span", 0, False, "label"),
        ("some_item", "left_of_head", 0, False, "label"),
        ("some_item", "right_of_head", 0, False, "label"),
        ("items", "span", 0, False, None),
        ("terminals", "span", 0, False, None),
        ("items", "right_context", 4, False, None),
    ]
    return Templates("standard", tuple(unary), tuples, tuple(grouped), True)


def standard_clusters() -> Templates:
    """`standard` with word clusters, at positions whose words are tested and in pairs of positions."""
    base = standard()
    first, last, head = ("item", "start", 0), ("item", "end", 0), ("item", "head", 0)
    left, left2 = ("terminal", "left", 0), ("terminal", "left", 1)
    right, right2 = ("item", "right", 0), ("terminal", "right", 1)
    first_word, last_word = ("terminal", "start", 0), ("terminal", "end", 0)
    positions = (
        ("item", "front", 0),
        ("item", "front", 1),
        head,
        last,
        right,
        left,
        left2,
        right2,
        first_word,
        last_word,
    )
    of_head = ("child", "last", last)
    tuples = (
        ((head, "cluster"), (last, "label")),
        ((head, "cluster"), (left, "tag")),
        ((head, "cluster"), (right, "label")),
        ((head, "cluster"), (last, "cluster")),
        ((head, "cluster"), (right, "cluster")),
        ((left, "cluster"), (head, "cluster")),
        ((left, "cluster"), (first, "label")),
        ((left, "cluster"), (head, "label"), (right, "label")),
        ((first, "cluster"), (last, "label")),
        ((head, "cluster"), (last, "label"), (right, "label")),
        ((head, "cluster"), (left, "word")),
        ((head, "word"), (last, "cluster")),
        ((last_word, "cluster"), (right, "cluster")),
        ((head, "cluster"), (last, "label"), (of_head, "cluster")),
    )
    unary = (*base.unary, *product(positions, ("cluster",)), (of_head, "cluster"))
    return Templates("standard_clusters", unary, (*base.tuples, *tuples), base.grouped, True)


def standard_marginals() -> Templates:
    """`standard` with span marginals: of the window, of the window extended by the item to its right or by the token to
    its left, and of the item to its right."""
    base = standard()
    window, wider, longer, right = (
        ("believed", which, 0) for which in ("window", "with left", "with right", "of right")
    )
    first, last, next_item = ("item", "start", 0), ("item", "end", 0), ("item", "right", 0)
    left = ("terminal", "left", 0)
    chains = [(span, "chain") for span in (window, wider, longer, right)]
    ordered = [
        *product((window, right), ("mass", "sure", "starting", "crossing")),
        *product((wider, longer), ("mass", "sure")),
        (window, "second sure"),
        (window, "ending"),
        (wider, "starting"),
    ]
    tuples = (
        ((window, "chain"), (first, "label")),
        ((window, "chain"), (last, "label")),
        ((window, "chain"), (first, "label"), (last, "label")),
        ((window, "chain"), (window, "second chain")),
        ((window, "chain"), (next_item, "label")),
        ((window, "chain"), (left, "tag")),
        ((right, "chain"), (next_item, "label")),
        ((right, "chain"), (window, "chain")),
        ((window, "chain"), (longer, "chain")),
        ((window, "chain"), (wider, "chain")),
        ((window, "mass"), (window, "starting")),
        ((window, "mass"), (longer, "mass"), (wider, "mass")),
        ((right, "mass"), (right, "starting"), (right, "crossing")),
        ((window, "mass"), (window, "crossing"), (window, "starting")),
        ((window, "chain"), (window, "sure"), (first, "label")),
        ((window, "chain"), (window, "mass"), (window, "starting")),
    )
    unary = (*base.unary, *chains, (window, "second chain"))
    return Templates("standard_read", unary, (*base.tuples, *tuples), base.grouped, True, tuple(ordered))


TABLES = {
    "baseline": baseline,
    "kitchen_sink": kitchen_sink,
    "standard": standard,
    "standard_clusters": standard_clusters,
    "standard_read": standard_marginals,
}


def get_templates(name: str) -> Templates:
    """Return a shipped table by name. Raises ConfigError for an unknown one."""
    if name not in TABLES:
        raise ConfigError(f"unknown template table {name!r}; shipped tables are {', '.join(TABLES)}")
    return TABLES[name]()
