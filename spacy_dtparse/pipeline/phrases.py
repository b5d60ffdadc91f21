"""Phrases by label, clauses, noun chunks and heads, as plain functions over the constituents of a Doc.

`extensions` registers them as `doc._.phrases`, `doc._.clauses`, `span._.head` and others.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from difflib import get_close_matches
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from spacy.attrs import POS, TAG
from spacy.errors import Errors
from spacy.tokens import Doc, Span, Token

from ..core.parser import UNKNOWN_TAG
from ..errors import ConfigError, DtparseError, NoNounChunksError, NotParsedError
from ..trees.heads import HeadRules, head_rules
from ..trees.labels import base_label
from ..trees.noun_phrases import CLAUSES, NOUN_PHRASES, noun_phrases
from ..trees.tree import TOP, Tree
from .attributes import child_nodes, has_universal_tags, locate, tag_getter, to_tree
from .constituent_group import attribute, raw_attrs
from .constituents import Constituents, group_key, make_span, read_constituents, token_values
from .sentences import token_bounds, visible_tokens

FRAMES = frozenset(("SBAR", "SBARQ"))
"""Clauses that consist of another clause and a word before it (that, because, who, why …)."""
HEAD_RULES = "head_rules"
"""The attribute of a span group that holds the head rules of its constituents: a language code, or the rules as plain
data."""
CHUNK_SOURCES = ("auto", "constituents", "dependencies")
"""The sources of `doc.noun_chunks`."""


def phrases(
    where: Doc | Span, labels: str | Iterable[str], maximal: bool = False, key: str | None = None
) -> list[Span]:
    """The constituents of a Doc, or within a Span, that have one of these labels, in pre-order.

    A label without function tags also stands for labels with them: "NP" for NP-SBJ. `maximal`: leave out those inside
    another one in the result. `key`: see `constituents`. A Span counts among its own phrases; for a member of a unary
    chain, the members below it count too. Raises NotParsedError if the Doc has no valid parse, ConfigError if no label
    is given, or one that neither the Doc nor its parser has.
    """
    wanted = frozenset((labels,) if isinstance(labels, str) else labels)
    if not wanted or not all(isinstance(label, str) and label for label in wanted):
        raise ConfigError(f"labels = {labels!r}; give a label, such as 'NP', or several")
    found, inside = _constituents_in(where, key)
    _check_labels(where.doc, wanted, found, key)
    indices, end = [], 0
    for k in inside:
        label = found.labels[k]
        if k >= end and (label in wanted or base_label(label) in wanted):
            indices.append(k)
            end = found.ends_of_subtrees[k] if maximal else end
    return [make_span(where.doc, found, k, with_level=True) for k in indices]


def clauses(where: Doc | Span, key: str | None = None) -> list[Span]:
    """The clauses of a Doc, or within a Span, in pre-order.

    A clause is a constituent S, SBAR, SBARQ, SINV or SQ. Of a unary chain only the highest counts. A clause that is the
    only one directly below an SBAR or SBARQ is the same clause without its first words (*that it rains*, *it rains*)
    and does not count. Clauses may be nested. `key`: as for `constituents`. Raises NotParsedError if the Doc has no
    valid parse.
    """
    found, inside = _constituents_in(where, key)
    clause_labels = {k: base_label(found.labels[k]) for k in inside if base_label(found.labels[k]) in CLAUSES}
    below: dict[int, int] = {}
    for k in clause_labels:
        below[found.parents[k]] = below.get(found.parents[k], 0) + 1
    indices, chains = [], set()
    for k in clause_labels:
        above, top = found.parents[k], found.chain_tops[k]
        is_framed = clause_labels.get(above) in FRAMES and below[above] == 1
        if top not in chains and not is_framed:
            indices.append(k)
        chains.add(top)
    return [make_span(where.doc, found, k, with_level=True) for k in indices]


def head(span: Span | Token, key: str | None = None, rules: HeadRules | None = None) -> Token:
    """The head of a constituent or sentence: the token that the head rules find. A token is its own head.

    White space is never a head. `key`: as for `constituents`. `rules`: head rules, by default those of the parser's
    model, else those of the Doc's language.
    Raises NonConstituentError if `span` is neither a constituent nor one token, NotParsedError if the Doc has no valid
    parse.
    """
    location = locate(span, key)
    doc, constituent = location.doc, location.constituent
    if constituent < 0:
        return doc[location.start]
    return doc[_cached_head(doc, location.constituents, rules or head_rules_for(doc, key), constituent, key)]


class _CachedHeads(NamedTuple):
    """The head token of each of the constituents of a Doc by these rules, and the tags of its tokens, uint64 (n,).

    `first_tokens`, `last_tokens`: the range of the tokens whose tags the head of a constituent depends on: the children
    of constituents from there down to the head, where these have several children.
    """

    constituents: Constituents
    rules: HeadRules
    tags: np.ndarray
    heads: list[int]
    first_tokens: list[int]
    last_tokens: list[int]


_HEADS: WeakKeyDictionary[Doc, _CachedHeads] = WeakKeyDictionary()


def _cached_head(doc: Doc, found: Constituents, rules: HeadRules, constituent: int, key: str | None = None) -> int:
    """The head token of a constituent; all are computed again if the constituents, the rules, or tags on which this one
    depends have changed."""
    attribute = POS if has_universal_tags(doc, key) else TAG
    cached = _HEADS.get(doc)
    if cached is None or cached.constituents is not found or cached.rules != rules:
        cached = None
    else:
        first, last = cached.first_tokens[constituent], cached.last_tokens[constituent] + 1
        if first < last and not np.array_equal(cached.tags[first:last], token_values(doc[first:last], attribute)):
            cached = None
    if cached is None:
        tags = doc.to_array(attribute).reshape(-1)
        cached = _HEADS[doc] = _CachedHeads(found, rules, tags, *_find_heads(doc, found, rules, key))
    return cached.heads[constituent]


def _find_heads(
    doc: Doc, found: Constituents, rules: HeadRules, key: str | None
) -> tuple[list[int], list[int], list[int]]:
    """The head token of each constituent, and the first and the last token whose tag it depends on, in linear time."""
    heads, tag_of = list(found.starts), tag_getter(doc, key)
    first_tokens, last_tokens = [len(doc)] * len(heads), [-1] * len(heads)
    for k in range(len(heads) - 1, -1, -1):
        nodes = list(child_nodes(doc, found, k, exact=True))
        if nodes:
            at = 0
            if len(nodes) > 1:
                names = [found.labels[c] if c >= 0 else tag_of(doc[i]) or UNKNOWN_TAG for c, i in nodes]
                at = rules.head_child(found.labels[k], names)
                tokens = [i for c, i in nodes if c < 0]
                if tokens:
                    first_tokens[k], last_tokens[k] = tokens[0], tokens[-1]
            child, token = nodes[at]
            heads[k] = token
            if child >= 0:
                heads[k] = heads[child]
                first_tokens[k] = min(first_tokens[k], first_tokens[child])
                last_tokens[k] = max(last_tokens[k], last_tokens[child])
    return heads, first_tokens, last_tokens


def noun_chunks(where: Doc | Span, key: str | None = None) -> list[Span]:
    """The base noun phrases of a Doc, or within a Span, as `trees.noun_phrases` finds them, labelled NP, in order.

    Unlike `doc.noun_chunks`, it never uses dependencies. `key`: as for `constituents`. Raises NotParsedError if the Doc
    has no valid parse.
    """
    label = where.doc.vocab.strings.add("NP")
    return [Span(where.doc, start, end, label) for start, end in find_in_trees(where, key, noun_phrases)]


def head_rules_for(doc: Doc, key: str | None = None) -> HeadRules:
    """The head rules for the constituents of a Doc: those of the parser's model, else those of a language."""
    name = group_key(doc, key)
    entry = None if name is None else attribute(doc.spans[name], HEAD_RULES)
    return HeadRules.from_dict(entry) if isinstance(entry, dict) else head_rules(entry or doc.lang_)


def head_rules_entry(parser: Any, doc: Doc) -> Any:
    """The entry for head rules in the attrs of a parser's constituents: see `HEAD_RULES`; None if there is nothing to
    record."""
    rules = parser.head_rules
    return rules.to_dict() if rules is not None else parser.meta.get("lang") or doc.lang_ or None


class NounChunks:
    """Replacement for spaCy's noun chunk iterator, for all Docs of a vocabulary.

    `before`: the iterator of the language, which reads dependencies, or None. `source`: one of CHUNK_SOURCES, the
    setting of the parser that was added last; None before one is. "auto": dependencies if the Doc has some that
    `before` can read, else constituents. The group of a Doc's constituents may name another source.
    `package_dependencies`: whether the dependencies are those of this package: `bpm_parser`, whose English labels
    are Universal Dependencies, and heads without labels; spaCy's English iterator can read neither, so "auto" means
    constituents. `labels`: the labels of the parsers that were used.
    """

    def __init__(self, before: Any = None, source: str | None = None):
        self.before = before
        self.source = source
        self.package_dependencies = False
        self.labels: frozenset[str] = frozenset()

    def __call__(self, where: Doc | Span) -> Iterator[tuple[int, int, int]]:
        """Yield the range and label of each chunk. Raises NotParsedError if the Doc lacks the annotation for them."""
        doc = where.doc
        source, has_dependencies = self._source_for(doc), doc.has_annotation("DEP")
        if source == "auto" and has_dependencies and self.before is not None and not self.package_dependencies:
            source = "dependencies"
        if source == "dependencies":
            if self.before is None:
                raise NotImplementedError(Errors.E894.format(lang=doc.vocab.lang))  # as `Doc.noun_chunks` does
            if not has_dependencies:
                raise NotParsedError(
                    "this Doc has no dependencies for its noun chunks; add a dependency parser to the pipeline, or set "
                    "noun_chunks of the constituency parser to 'auto' or 'constituents'"
                )
            yield from self.before(where)
            return
        try:
            found = find_in_trees(where, None, noun_phrases)
        except DtparseError as error:
            if self.source is None and self.before is not None:  # a pipeline without constituents
                yield from self.before(where)
                return
            kind = NoNounChunksError if self.before is None else NotParsedError
            raise kind(f"no noun chunks: {error}") from error
        label = doc.vocab.strings.add("NP")
        yield from ((start, end, label) for start, end in found)

    def _source_for(self, doc: Doc) -> str:
        """The source for a Doc: that of its constituents, or of the vocabulary if it has none or they do not say."""
        name = group_key(doc)
        if name is None or attribute(doc.spans[name], "kind") is None:
            return self.source or "auto"
        return str(attribute(doc.spans[name], "noun_chunks", "auto"))


def set_noun_chunks_source(vocab: Any, doc: Any = None, source: str = "auto", labels: Iterable[str] = ()) -> None:
    """Set the source of `doc.noun_chunks`, for new Docs with this vocabulary and for the existing `doc`. `labels`:
    those of the parser, if its model is loaded."""
    chunks = _install(vocab)
    chunks.source = source
    if not chunks.labels.issuperset(labels):
        chunks.labels = chunks.labels.union(labels)
    if doc is not None and not isinstance(doc.noun_chunks_iterator, NounChunks):
        doc.noun_chunks_iterator = chunks


def mark_package_dependencies(vocab: Any, doc: Doc | None = None) -> None:
    """Record that the dependencies of Docs with this vocabulary are those of this package. If `doc` has constituents
    whose source of noun chunks is "auto", it becomes "constituents", also where `doc` is stored."""
    _install(vocab).package_dependencies = True
    name = None if doc is None else group_key(doc)
    if doc is not None and name is not None and "kind" in (attrs := raw_attrs(doc.spans[name])):
        attrs.setdefault("noun_chunks", "constituents")


def has_package_dependencies(doc: Doc) -> bool:
    """Whether a Doc has dependencies, and those of its vocabulary are this package's."""
    return _install(doc.vocab).package_dependencies and doc.has_annotation("DEP")


def _install(vocab: Any) -> NounChunks:
    if not isinstance(vocab.get_noun_chunks, NounChunks):
        vocab.get_noun_chunks = NounChunks(vocab.get_noun_chunks)
    chunks: NounChunks = vocab.get_noun_chunks
    return chunks


def find_in_trees(where: Doc | Span, key: str | None, find: Callable[[Tree, HeadRules], Iterable]) -> list[tuple]:
    """Results of `find` in the trees of a Doc, or within a Span: (start, end, …), the first two as tokens of the Doc.
    Raises NotParsedError if the Doc has no valid parse."""
    doc, (first, last) = where.doc, token_bounds(where)
    read_constituents(doc, key)
    rules, found = head_rules_for(doc, key), []
    for start, end, words in visible_tokens(doc):
        if words and start < last and end > first:
            for a, b, *rest in find(to_tree(doc[start:end], key), rules):
                found.append((words[a].i, words[b - 1].i + 1, *rest))
    return [one for one in found if first <= one[0] and one[1] <= last]


def _check_labels(doc: Doc, wanted: Iterable[str], found: Constituents, key: str | None) -> None:
    """Raise ConfigError for a wanted label that neither the Doc nor its parser has.

    Without the parser (its model has not been loaded, or the trees were given) only labels that differ from a known one
    in case or in a plural's "s" are refused.
    """
    of_doc = set(found.labels)
    missing = sorted(set(wanted) - of_doc - {TOP})
    if not missing or not (missing := [label for label in missing if label not in set(map(base_label, of_doc))]):
        return
    name, chunks = group_key(doc, key), doc.vocab.get_noun_chunks
    is_parsed = name is not None and bool(attribute(doc.spans[name], "parser"))
    of_parser: frozenset[str] = chunks.labels if is_parsed and isinstance(chunks, NounChunks) else frozenset()
    allowed = of_doc | (of_parser or {*head_rules_for(doc, key).rules, *CLAUSES, *NOUN_PHRASES})
    allowed |= {TOP, *map(base_label, allowed)}
    by_plain_form = {_plain_form(label): label for label in sorted(allowed, reverse=True)}
    for label in missing:
        if label in allowed:
            continue
        near = by_plain_form.get(_plain_form(label)) or by_plain_form.get(_plain_form(base_label(label)))
        if of_parser and near is None:
            near = next(iter(get_close_matches(label.upper(), sorted(allowed), 1)), None)
        if of_parser or (near is not None and near != base_label(label)):
            hint = "" if near is None else f"; did you mean {near!r}?"
            if any(token.tag_ == label for token in doc):
                hint = "; it is a tag, for which see token.tag_,"
            raise ConfigError(f"there is no label {label!r}{hint} (allowed are {', '.join(sorted(allowed))})")


def _plain_form(label: str) -> str:
    """The label in capitals, without the "s" of a plural."""
    return label.removesuffix("s").upper()


def _constituents_in(where: Doc | Span, key: str | None) -> tuple[Constituents, Sequence[int]]:
    """The constituents of a Doc, and the indices of those in it or within a span, in pre-order."""
    found = read_constituents(where.doc, key)
    if isinstance(where, Doc):
        return found, range(len(found.starts))
    first, last = bisect_left(found.starts, where.start), bisect_left(found.starts, where.end)
    if where.id and (where.start, where.end) in found.by_extent:
        first = max(first, locate(where, key).constituent)
    return found, [k for k in range(first, last) if found.ends[k] <= where.end]
