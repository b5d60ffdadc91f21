"""Moving in the tree of a Doc: what is above, beside and between constituents and tokens.

As in `attributes`, a span from `doc._.constituents` stands for that one constituent, another span for the unary chain
over its tokens, and a token for the span of that token. The functions here count every member of a chain by itself,
give equal results for equal spans, and return spans that equal those in `doc._.constituents` (a token that is no
constituent is the span of that token).
"""

from itertools import islice

from spacy.tokens import Doc, Span, Token

from ..errors import DtparseError
from .attributes import Location, chain_end, child_nodes, children, locate, lowest_cover, tag_getter
from .constituents import ChainSpan, Constituents, make_span, read_constituents
from .phrases import head_rules_for


def ancestors(span: Span | Token) -> list[Span]:
    """The constituents above a constituent or token, from its parent to the root of its sentence.

    Each member of a unary chain counts, while `parent` goes to the top of a chain. Raises NonConstituentError if `span`
    is neither a constituent nor one token, NotParsedError if the Doc has no valid parse.
    """
    location = locate(span)
    return _spans(location, _upward(location.constituents, _above(location)))


def superconstituents(span: Span | Token) -> list[Span]:
    """All constituents that contain a constituent or token, itself included, from the lowest to the root.

    The counterpart of `subconstituents`; `token._.constituents` for tokens. Raises as `ancestors` does.
    """
    location = locate(span)
    return _spans(location, _upward(location.constituents, _node(location, span)))


def phrase(token: Token | Span) -> Span | None:
    """The smallest constituent that contains a token or is a constituent's own span; None for a token in none.

    *the old dog* for *old*; in a unary chain the lowest member. Raises as `ancestors` does.
    """
    location = locate(token)
    k = _node(location, token)
    return make_span(location.doc, location.constituents, k, with_level=True) if k >= 0 else None


def depth(span: Span | Token) -> int:
    """The number of constituents above a constituent or token, `len(ancestors(span))`: 0 at the root of a sentence.

    Raises as `ancestors` does.
    """
    location = locate(span)
    return len(_upward(location.constituents, _above(location)))


def siblings(span: Span | Token) -> list[Span]:
    """The other constituents and tokens directly below the same constituent, left to right.

    [] at the root of a sentence and for a member of a unary chain that is not its highest. Raises as `ancestors` does.
    """
    location = locate(span)
    above = _above(location)
    if above < 0:
        return []
    parent = make_span(location.doc, location.constituents, above, with_level=True)
    found = location.constituents
    if (found.starts[above], found.ends[above]) == (location.start, location.end):
        return []
    return [child for child in children(parent) if (child.start, child.end) != (location.start, location.end)]


def path(first: Span | Token, second: Span | Token | None = None) -> list[Span]:
    """The constituents and tokens on the way from `first` up to the lowest common ancestor and down to `second`, both
    included; without `second` those from the root of the sentence down to `first`.

    [] if the two are in different sentences. A span or token that stands for a unary chain is its lowest member. Raises
    DtparseError if the two belong to different Docs, otherwise as `ancestors` does.
    """
    start = locate(first)
    upward = _upward(start.constituents, _node(start, first))
    own = _leaf(start)
    if second is None:
        return [*_spans(start, upward[::-1]), *own]
    _check_docs(first, second)
    end = locate(second)
    if (start.start, start.end) == (end.start, end.end) and own:
        return own
    downward = _upward(end.constituents, _node(end, second))
    if not upward or not downward or upward[-1] != downward[-1]:
        return []
    while len(upward) > 1 and len(downward) > 1 and upward[-2] == downward[-2]:
        upward.pop()
        downward.pop()
    return [*own, *_spans(start, upward), *_spans(start, downward[:-1][::-1]), *_leaf(end)]


def lowest_common_ancestor(*spans: Span | Token) -> Span | None:
    """The smallest constituent that contains all the given tokens and spans; None if they are in different sentences.

    A constituent contains itself. The spans need not be constituents: of one span it is the smallest constituent around
    it. In a unary chain it is the lowest member, or that member if it is one of the given spans. Raises DtparseError if
    no span is given or they belong to different Docs, NotParsedError if the Doc has no valid parse.
    """
    if not spans:
        raise DtparseError("lowest_common_ancestor needs at least one token or span; none was given")
    _check_docs(*spans)
    doc = spans[0].doc
    found = read_constituents(doc)
    nodes = [_covering(found, span) for span in spans]
    lowest, last = min(nodes), max(nodes)
    while lowest >= 0 and found.ends_of_subtrees[lowest] <= last:  # in pre-order, those below it are the next ones
        lowest = found.parents[lowest]
    return make_span(doc, found, lowest, with_level=True) if lowest >= 0 else None


def c_commands(first: Span | Token, second: Span | Token) -> bool:
    """Whether `first` c-commands `second` (Reinhart 1976): neither contains the other, and the lowest constituent above
    `first` that branches contains `second`.

    Punctuation does not branch: the subject of *It rains.* has one sister. Raises as `path` does.
    """
    _check_docs(first, second)
    one, other = locate(first), locate(second)
    if _contains(one, other) or _contains(other, one):
        return False
    found, above = one.constituents, _above(one)
    punctuation = head_rules_for(one.doc).punctuation
    while above >= 0 and not _branches(one.doc, found, above, punctuation):
        above = found.parents[above]
    return above >= 0 and found.starts[above] <= other.start and other.end <= found.ends[above]


def _branches(doc: Doc, found: Constituents, k: int, punctuation: frozenset[str]) -> bool:
    """Whether a constituent has two children that are no punctuation."""
    tag_of, nodes = tag_getter(doc), child_nodes(doc, found, k, exact=True)
    branches = (child for child, i in nodes if child >= 0 or tag_of(doc[i]) not in punctuation)
    return len(list(islice(branches, 2))) > 1


def _contains(one: Location, other: Location) -> bool:
    return one.start <= other.start and other.end <= one.end


def _spans(location: Location, indices: list[int]) -> list[Span]:
    return [make_span(location.doc, location.constituents, k, with_level=True) for k in indices]


def _upward(found: Constituents, k: int) -> list[int]:
    """Constituent `k` and those above it, from the lowest; [] for -1."""
    indices = []
    while k >= 0:
        indices.append(k)
        k = found.parents[k]
    return indices


def _above(location: Location) -> int:
    """The constituent directly above the chain or member of a location, -1 if there is none."""
    found = location.constituents
    if location.constituent >= 0:
        return found.parents[location.constituent]
    return lowest_cover(found, location.start, location.end)


def _node(location: Location, span: Span | Token) -> int:
    """The constituent at which a path ends: that of the location, the lowest member for a span that stands for a chain
    without being equal to a member; for a token that is no constituent the one above it."""
    k = location.constituent
    if k < 0:
        return _above(location)
    return k if location.exact or isinstance(span, ChainSpan) else chain_end(location.constituents, k) - 1


def _leaf(location: Location) -> list[Span]:
    """The token of a location that is no constituent."""
    return [] if location.constituent >= 0 else [location.doc[location.start : location.end]]


def _covering(found: Constituents, span: Span | Token) -> int:
    """The lowest constituent that contains a token or any span; that of the span if it is a member of a chain."""
    if isinstance(span, Token):
        return lowest_cover(found, span.i, span.i + 1)
    start, end = span.start, span.end
    if (start, end) in found.by_extent:
        return _node(locate(span), span)
    return lowest_cover(found, start, end)


def _check_docs(*spans: Span | Token) -> None:
    if any(span.doc is not spans[0].doc for span in spans):
        raise DtparseError(
            "the spans belong to different Docs; a path and a common ancestor exist in one Doc only: take all of them "
            "from the same parsed Doc"
        )
