"""Accessors for constituents as plain functions (`extensions` registers them as `doc._.…`, `span._.…`, `token._.…`).

They have the names and the meaning of benepar's extensions, so code written for benepar works unchanged. As there, a
plain span stands for the whole unary chain over its tokens, and a token for the span of that token. A span from
`doc._.constituents` carries its chain level as its id and stands for that one constituent, so the members of a chain
can be distinguished. `parent`, `children` and `subconstituents` of a plain span or token give spans that stand for
their chains, and equal the chain's highest member in `doc._.constituents`. White space at a span's edges is ignored:
`sent._.parse_string` works for a sentence with a trailing newline.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterator
from operator import attrgetter
from typing import Any, NamedTuple

from spacy.tokens import Doc, Span, Token

from ..core.parser import UNKNOWN_TAG
from ..errors import NonConstituentError, NotParsedError, TreeError
from ..text import escape_token
from ..trees.tree import Tree
from .boundary_changes import describe_changed_boundaries
from .constituent_group import attribute, sentence_records
from .constituents import (
    Constituents,
    are_tokens_unchanged,
    chain_level,
    constituents_at,
    group_key,
    make_span,
    read_constituents,
    read_spans,
    tree_of,
    value_at,
)
from .sentences import UNIVERSAL_TAGS, is_blank, plain_word, visible_tokens


class Location(NamedTuple):
    """The constituent that a span stands for.

    `constituent`: its index, -1 for a token that is none; `exact`: one member of a chain.
    """

    doc: Doc
    constituents: Constituents
    constituent: int
    start: int
    end: int
    exact: bool


def is_parsed(doc: Doc, key: str | None = None) -> bool:
    """Whether the Doc has constituents that fit its tokens. `key`: as for `constituents`. Raises nothing."""
    try:
        read_constituents(doc, key)
    except (NotParsedError, TreeError):
        return False
    return True


def constituents(doc: Doc, key: str | None = None) -> list[Span]:
    """All constituents of the Doc in pre-order, labelled, with their chain levels as ids.

    `key`: the span group; by default "constituents", else the first one that a parser wrote. Raises NotParsedError if
    the Doc has no constituents, as after `Span.as_doc()`, or tokens were merged or split after parsing so that one
    crosses the edge of a constituent (see `retokenized`), TreeError if the spans of the group cross.
    """
    found = read_constituents(doc, key)
    return [make_span(doc, found, k, with_level=True) for k in range(len(found.starts))]


def labels(span: Span | Token) -> tuple[str, ...]:
    """The labels of the unary chain at `span` from top to bottom; () for a token that is no constituent.

    For a member of a chain, its label and those below it. Raises NonConstituentError if `span` is neither a constituent
    nor one token, NotParsedError if the Doc has no valid parse.
    """
    _, found, k, *_ = locate(span)
    return tuple(found.labels[k : chain_end(found, k)]) if k >= 0 else ()


def parse_string(span: Span | Token) -> str:
    """The subtree at `span` in Penn brackets on one line, without TOP if another constituent covers the sentence.

    Brackets in words are escaped (-LRB- …), white space inside a merged token becomes `_`, a missing tag XX. A span of
    white space only, such as the one sentence of a blank text, gives an empty string. Raises as `labels` does.
    """
    if span.doc and _begins_with_blank(span) and is_blank(span.text):
        read_constituents(span.doc)
        return ""
    doc, found, k, start, end, _ = locate(span, inside=True)
    blanks = found.blanks
    close_at: list[int] = []
    parts: list[str] = []
    tag_of = tag_getter(doc)
    last = found.ends_of_subtrees[k] if k >= 0 else -1
    for token in doc[start:end]:
        if blanks and token.i in blanks:
            continue
        while 0 <= k < last and found.starts[k] == token.i:
            parts.append(f"({_escape(found.labels[k])} ")
            close_at.append(found.ends[k])
            k += 1
        parts.append(f"({_escape(tag_of(token) or UNKNOWN_TAG)} {_escape(token.text)})")
        while close_at and close_at[-1] <= token.i + 1:
            close_at.pop()
            parts.append(")")
        parts.append(" ")
    return "".join(parts).strip()


def children(span: Span) -> Iterator[Span]:
    """The constituents and single tokens directly below the chain (or the one constituent) at `span`, left to right.

    Raises as `labels` does.
    """
    doc, found, k, _, _, exact = locate(span)
    nodes = list(child_nodes(doc, found, k, exact))
    edges = {token for _, token in nodes} | {found.ends[child] - 1 for child, _ in nodes if child >= 0}
    if not are_tokens_unchanged(doc, edges):
        doc, found, k, _, _, exact = locate(span, inside=True)
        nodes = list(child_nodes(doc, found, k, exact))
    for child, token in nodes:
        yield doc[token : token + 1] if child < 0 else make_span(doc, found, child, with_level=exact)


def child_nodes(doc: Doc, found: Constituents, k: int, exact: bool) -> Iterator[tuple[int, int]]:
    """The nodes directly below a chain, or the one constituent, at index `k`, left to right: (index of the constituent,
    its first token), or (-1, token). None for -1. The time depends on the number of children only."""
    if k < 0:
        return
    bottom = chain_end(found, k) - 1
    if exact and bottom > k:
        yield k + 1, found.starts[k]
        return
    child, last = bottom + 1, found.ends_of_subtrees[bottom]
    token, end = found.starts[k], found.ends[k]
    if end - token == 1:
        return
    while token < end:
        if child < last and found.starts[child] == token:
            yield child, token
            token, child = found.ends[child], found.ends_of_subtrees[child]
        else:
            if not is_blank(doc[token].text):
                yield -1, token
            token += 1


def parent(span: Span | Token) -> Span | None:
    """The constituent directly above the chain (or the one constituent) at `span`; None above a sentence.

    Raises as `labels` does.
    """
    doc, found, k, start, end, exact = locate(span)
    above = found.parents[k] if k >= 0 else lowest_cover(found, start, end)
    return make_span(doc, found, above if exact else found.chain_tops[above], with_level=exact) if above >= 0 else None


def lowest_cover(found: Constituents, start: int, end: int) -> int:
    """The lowest constituent that covers the tokens [start, end), -1 if there is none."""
    k = bisect_right(found.starts, start) - 1
    while k >= 0 and found.ends[k] < end:
        k = found.parents[k]
    return k


def subconstituents(span: Span) -> Iterator[Span]:
    """`span` itself and everything below it in pre-order, single tokens included, every chain once.

    For one member of a chain, the members below it are yielded one by one. Raises as `labels` does.
    """
    doc, found, top, start, _, exact = locate(span, inside=True)
    stack = [(top, start)]
    while stack:
        k, token = stack.pop()
        yield doc[token : token + 1] if k < 0 else make_span(doc, found, k, with_level=exact)
        stack.extend(reversed(list(child_nodes(doc, found, k, exact))))


def cost(span: Span) -> float | None:
    """The cost −ln p of the inference that built the constituent (the highest of a chain), in nats; None if unknown.

    With `span_parser` p is the constituent's probability, with boosted trees the probability of their decision.
    Doc.from_docs and JSON drop the costs. Raises as `labels` does.
    """
    return _read_value(span, "costs")


def probability(span: Span) -> float | None:
    """The calibrated probability, from 0 to 1, that the constituent (the highest of a chain) is right; None unless the
    parser's setting `probabilities` is on.

    Calibrated: on development trees, this fraction of the constituents with such a probability was right. Doc.from_docs
    and JSON drop the probabilities. Raises as `labels` does.
    """
    return _read_value(span, "probabilities")


def tree_probability(span: Span) -> float | None:
    """The probability, from 0 to 1, that all constituents of the sentence in which `span` begins are right and none is
    missing; None as for `probability`. Raises NotParsedError as `sentence_infos` does."""
    infos = sentence_infos(span.doc)
    return next((one.get("tree_probability") for one in infos if one["start"] <= span.start < one["end"]), None)


def _read_value(span: Span, name_in_attrs: str) -> float | None:
    """The value for the constituent at `span` in a list of the span group's attrs; None if unknown."""
    location = locate(span)
    name = group_key(location.doc)
    if name is None or location.constituent < 0:
        return None
    return value_at(location.doc, name, name_in_attrs, location.constituent)


def sentence_infos(doc: Doc, key: str | None = None) -> list[dict[str, Any]]:
    """How each sentence was parsed, a dict for each; [] if Doc.from_docs or JSON dropped this information.

    `start`, `end`: tokens of the Doc. `status`: one of `core.parser.STATUSES`, or "gold" if the tree was given. `cost`,
    `n_states`, `n_scored`, `greedy_optimal`, `n_searches`, `ambiguity`: as in `ParseResult`; absent for a sentence
    without words or with a given tree. `deadline_exceeded`: True if the deadline was exceeded, else absent. Raises
    NotParsedError if tokens were merged or split and the constituents cannot fit them.
    """
    name = group_key(doc, key)
    if name is None:
        return []
    read_spans(doc, name)
    return sentence_records(doc.spans[name])


def to_tree(span: Span, key: str | None = None) -> Tree:
    """The Tree of a sentence or of any span of whole constituents and tokens, root TOP, white-space tokens left out.

    `key`: as for `constituents`. Raises NonConstituentError if a constituent crosses the edge of `span` or `span` has
    no word, NotParsedError if the Doc has no valid parse.
    """
    doc, tag_of = span.doc, tag_getter(span.doc, key)
    if span.start < span.end:
        _edge_tokens(span)
    found = read_constituents(doc, key, span)
    tokens = [token for token in span if not is_blank(token.text)]
    if not tokens:
        raise NonConstituentError(f"tokens {span.start} to {span.end} are white space only; they have no tree")
    tags = [tag_of(token) or UNKNOWN_TAG for token in tokens]
    try:
        return tree_of(found, [token.i for token in tokens], [plain_word(token.text) for token in tokens], tags)
    except NonConstituentError as error:
        changed = describe_changed_boundaries(doc, key)
        if not changed:
            raise
        raise NonConstituentError(f"{error}. {changed}") from None


def tag_getter(doc: Doc, key: str | None = None) -> Callable[[Token], str]:
    """The function that returns the tag of a token in the trees of a Doc: `token.tag_`, or `token.pos_` if its
    constituents were made of universal parts of speech."""
    return attrgetter("pos_" if has_universal_tags(doc, key) else "tag_")


def has_universal_tags(doc: Doc, key: str | None = None) -> bool:
    """Whether the tags of the trees of a Doc are universal parts of speech."""
    name = group_key(doc, key)
    return name is not None and attribute(doc.spans[name], UNIVERSAL_TAGS, False)


def trees(doc: Doc, key: str | None = None) -> list[Tree]:
    """The Tree of each sentence that has a word, in order. Raises NotParsedError if the Doc has no valid parse."""
    read_constituents(doc, key)
    return [to_tree(doc[start:end], key) for start, end, words in visible_tokens(doc) if words]


def _escape(text: str) -> str:
    """Escape a word, tag or label for brackets."""
    return escape_token(plain_word(text))


def _begins_with_blank(span: Span | Token) -> bool:
    """Whether a span is empty, or its first token has no visible text; also true for one beyond the Doc's end."""
    if isinstance(span, Token):
        return True
    doc, start = span.doc, span.start
    return not (start < span.end and start < len(doc)) or is_blank(doc[start].text)


def chain_end(found: Constituents, k: int) -> int:
    """One past the lowest member of the chain that constituent `k` belongs to."""
    return bisect_right(found.chain_tops, found.chain_tops[k], k)


def without_blanks(doc: Doc, start: int, end: int) -> tuple[int, int]:
    """The token range [start, end) without white space at its edges."""
    while start < end and is_blank(doc[start].text):
        start += 1
    while end > start and is_blank(doc[end - 1].text):
        end -= 1
    return start, end


def _edge_tokens(span: Span) -> tuple[Token, Token]:
    """The first and the last token of a Span that is not empty. Raises NonConstituentError for a Span that was made
    before tokens were merged or split, since spaCy leaves its token numbers as they were."""
    doc, start, end = span.doc, span.start, span.end
    if end <= len(doc):
        first, last = doc[start], doc[end - 1]
        if first.idx == span.start_char and last.idx + len(last) == span.end_char:
            return first, last
    text = doc.text[span.start_char : span.end_char]
    raise NonConstituentError(
        f"this Span of {text[:60]!r} was made before tokens of its Doc were merged or split; take it from the Doc "
        f"again: doc.char_span({span.start_char}, {span.end_char}), or doc._.constituents"
    )


def locate(span: Span | Token, key: str | None = None, inside: bool = False) -> Location:
    """Find the constituent that `span` stands for. Raises NotParsedError, NonConstituentError.

    `inside`: notice tokens that were merged or split within `span` since the last look, not only at its edges.
    """
    doc = span.doc
    if isinstance(span, Token):
        span = doc[span.i : span.i + 1]
    start, end = span.start, span.end
    if start == end:
        found = read_constituents(doc, key)
    else:
        first, last = _edge_tokens(span)
        found = read_constituents(doc, key, span) if inside else constituents_at(doc, key, first, last)
        if found.blanks or end - start == 1:  # one token: `constituents_at` does not compare where it ends
            start, end = without_blanks(doc, start, end)
    constituent = found.by_extent.get((start, end), -1)
    if constituent < 0:
        if end - start == 1:
            return Location(doc, found, -1, start, end, False)
        what = "white space only" if start == end else "not a constituent"
        changed = describe_changed_boundaries(doc, key) if start < end else ""
        raise NonConstituentError(
            f"tokens {span.start} to {span.end} ({span.text[:60]!r}) are {what}"
            + (f". {changed}" if changed else "; the constituents of a Doc are in doc._.constituents")
        )
    level = chain_level(span)
    exact = level is not None and constituent + level < chain_end(found, constituent)
    return Location(doc, found, constituent + (level or 0) * exact, start, end, exact)
