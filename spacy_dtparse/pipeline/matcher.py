"""ConstituentMatcher: patterns over the constituents of Docs, in the manner of spaCy's matchers."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
from spacy.attrs import IDS, TAG
from spacy.tokens import Doc, Span
from spacy.vocab import Vocab

from ..checks import short_repr
from ..core.parser import UNKNOWN_TAG
from ..errors import ConfigError, PatternError
from ..query import Forest, Matching, Node, Pattern, compile_pattern
from ..query.forest import Nodes
from ..query.limits import SearchLimits
from ..trees.heads import HeadRules
from ..trees.tree import TOP, Tree
from .constituents import Constituents, make_span, read_constituents, tree_of
from .phrases import head_rules_for
from .sentences import attribute_texts, read_words, token_bounds

OnMatch = Callable[["ConstituentMatcher", Doc, int, list[Any]], Any]
_NUMERIC = ("LENGTH", "IS_", "LIKE_")


class _MatcherSentence(NamedTuple):
    """A tree of the Doc with index `doc` among those searched; its leaf k is token `positions[k]`."""

    doc: int
    found: Constituents
    positions: Sequence[int]
    tree: Tree


class ConstituentMatcher:
    """Finds constituents by patterns: Tregex as text, or dicts with attributes of tokens (see `query.dicts`).

    Patterns are compiled when they are added, and all are searched for at once. `spans_key`: the span group with the
    constituents (default: as for `doc._.constituents`); `rules`: head rules (default: those of each Doc, as for
    `span._.head`). `max_matches`, `timeout`: limits for each Doc, the latter in seconds, for untrusted patterns:
    SearchLimitError is raised if one is exceeded; None is no limit.
    """

    def __init__(
        self,
        vocab: Vocab,
        *,
        spans_key: str | None = None,
        rules: HeadRules | None = None,
        max_matches: int | None = None,
        timeout: float | None = None,
    ):
        self.vocab = vocab
        self.limits = SearchLimits(max_matches, timeout)
        self.spans_key = spans_key
        self.rules = rules
        self._patterns: dict[int, list[Pattern]] = {}
        self._callbacks: dict[int, OnMatch | None] = {}

    def __len__(self) -> int:
        """The number of keys."""
        return len(self._patterns)

    def __contains__(self, key: str | int) -> bool:
        """Whether there are patterns for a key."""
        return self._key_id(key) in self._patterns

    def _key_id(self, key: str | int) -> int:
        return self.vocab.strings[key] if isinstance(key, str) else key

    def _key_text(self, key: int) -> str:
        try:
            return self.vocab.strings[key]
        except KeyError:
            raise ConfigError(
                f"the key {key} has no text, which a label needs; add the patterns under a string"
            ) from None

    def add(self, key: str | int, patterns: Sequence[str | Mapping[str, Any]], on_match: OnMatch | None = None) -> None:
        """Add patterns for a key, to those that it already has.

        `on_match`: called with the matcher, the Doc, the index of a match and all matches, as tuples. Raises
        PatternError, which shows the location, for a malformed pattern.
        """
        if isinstance(patterns, str | Mapping) or not isinstance(patterns, Iterable):
            raise PatternError(f"the patterns for {key!r} are {short_repr(patterns)}; give a list of patterns")
        compiled = [compile_pattern(pattern) for pattern in patterns]
        if not compiled:
            raise PatternError(f"there are no patterns for {key!r}; give a list of at least one")
        if on_match is not None and not callable(on_match):
            raise ConfigError(f"on_match is {on_match!r}; give a function of the matcher, Doc, number and matches")
        key_id = self.vocab.strings.add(key) if isinstance(key, str) else key
        self._patterns.setdefault(key_id, []).extend(compiled)
        self._callbacks[key_id] = on_match

    def remove(self, key: str | int) -> None:
        """Remove a key and its patterns. Raises ConfigError if there is none."""
        if key not in self:
            raise ConfigError(f"there are no patterns for {key!r} in this matcher")
        del self._patterns[self._key_id(key)], self._callbacks[self._key_id(key)]

    def get(self, key: str | int, default: Any = None) -> Any:
        """(on_match, patterns as they were added) of a key, or `default`."""
        if key not in self:
            return default
        key_id = self._key_id(key)
        return self._callbacks[key_id], [pattern.source for pattern in self._patterns[key_id]]

    def __call__(self, doclike: Doc | Span, *, as_spans: bool = False, with_names: bool = False) -> list[Any]:
        """The matches in a Doc, or in a Span of whole constituents, in the order of the text, parents first.

        A match is (match_id, start, end), tokens of the Doc, or with `as_spans` a span whose label is the key, as in
        spaCy's matchers; its id is the level of the constituent in its chain, as in `doc._.constituents`, so that
        `span._.parent` and the like are those of this constituent. `with_names` adds a dict of the nodes that have
        names in the pattern, and returns one match for each assignment of the names: (match_id, start, end, names), or
        with `as_spans` (span, names). The dict has name -> span with the label of the node: that of the constituent,
        the tag, or none for a word. Raises NotParsedError, NonConstituentError for a Span that cuts through a
        constituent, and with `as_spans` ConfigError for a key that is a number without a text.
        """
        return self._search([doclike], as_spans, with_names)[0]

    def pipe(
        self, docs: Iterable[Doc], *, batch_size: int = 256, as_spans: bool = False, with_names: bool = False
    ) -> Iterator[tuple[Doc, list[Any]]]:
        """Yield each Doc with its matches. `batch_size` Docs are searched at once, which is many times faster than one
        by one."""
        rest = iter(docs)
        while batch := list(islice(rest, 1 if self.limits else batch_size)):
            yield from zip(batch, self._search(batch, as_spans, with_names), strict=True)

    def _search(self, doclikes: Sequence[Doc | Span], as_spans: bool, with_names: bool) -> list[list[Any]]:
        docs = [doclike.doc for doclike in doclikes]
        sentences = [
            sentence
            for index, doclike in enumerate(doclikes)
            for sentence in _sentences(index, doclike, self.spans_key)
        ]

        def values(attribute: str) -> list[Any]:
            of_docs = [_values(doc, attribute) for doc in docs]
            return [of_docs[sentence.doc][i] for sentence in sentences for i in sentence.positions]

        def rules() -> Iterator[HeadRules]:
            of_docs = [head_rules_for(doc, self.spans_key) if self.rules is None else self.rules for doc in docs]
            yield from (of_docs[sentence.doc] for sentence in sentences)

        forest = Forest((sentence.tree for sentence in sentences), rules(), values)
        found: list[list[Any]] = [[] for _ in docs]
        spans: dict[int, Span] = {}

        def span(x: int) -> Span:
            if x not in spans:
                sentence = sentences[int(forest.tree_of[x])]
                spans[x] = _span(docs[sentence.doc], sentence, forest.node(x))
            return spans[x]

        nodes, keys, names = self._find_matches(Matching(forest, self.limits), with_names)
        token_of_leaf = np.fromiter((i for sentence in sentences for i in sentence.positions), np.int64)
        doc_of = np.array([sentence.doc for sentence in sentences], dtype=np.int64)
        starts, ends = (
            token_of_leaf[forest.starts[nodes]].tolist(),
            (token_of_leaf[forest.ends[nodes] - 1] + 1).tolist(),
        )
        owners = doc_of[forest.tree_of[nodes]].tolist()
        for k, (key, owner) in enumerate(zip(keys, owners, strict=True)):
            match = (key, starts[k], ends[k])
            found[owner].append((*match, {name: span(y) for name, y in names[k].items()}) if with_names else match)
        self._call_back(docs, found)
        if not as_spans:
            return found
        spans_of: list[list[Any]] = [[] for _ in docs]
        for x, key, owner in zip(nodes.tolist(), keys, owners, strict=True):
            own = span(x)
            labelled = Span(docs[owner], own.start, own.end, label=self._key_text(key), span_id=own.id)
            spans_of[owner].append((labelled, found[owner][len(spans_of[owner])][-1]) if with_names else labelled)
        return spans_of

    def _call_back(self, docs: Sequence[Doc], found: Sequence[list[Any]]) -> None:
        """Call the functions given to `add` for each match."""
        if all(callback is None for callback in self._callbacks.values()):
            return
        for doc, matches in zip(docs, found, strict=True):
            for index, one in enumerate(matches):
                callback = self._callbacks.get(one[0])
                if callback is not None:
                    callback(self, doc, index, matches)

    def _find_matches(self, matching: Matching, with_names: bool) -> tuple[Nodes, list[int], list[dict[str, int]]]:
        """Nodes, keys and names of all matches by node and then by key, in the order of adding, each once; names only
        if `with_names`."""
        nodes: list[Nodes] = [np.zeros(0, np.int64)]
        names: list[dict[str, int]] = []
        for patterns in self._patterns.values():
            if with_names:
                seen = {
                    (x, *sorted(found.items())): found
                    for pattern in patterns
                    for x, found in matching.ways(pattern.parsed)
                }
                nodes.append(np.array([same[0] for same in seen], dtype=np.int64))
                names += seen.values()
            else:
                parts = [matching.nodes(pattern.parsed) for pattern in patterns]
                nodes.append(parts[0] if len(parts) == 1 else np.unique(np.concatenate(parts)))
        every = np.concatenate(nodes)
        key_indices = np.repeat(np.arange(len(nodes)), [len(some) for some in nodes])
        order = np.lexsort((key_indices, every))
        keys = [0, *self._patterns]
        return every[order], [keys[k] for k in key_indices[order].tolist()], [names[k] for k in order.tolist() if names]


def _sentences(doc_index: int, doclike: Doc | Span, key: str | None) -> Iterator[_MatcherSentence]:
    """The trees of a Doc, or of the part of each sentence inside a Span; blank sentences have none."""
    doc = doclike.doc
    found = read_constituents(doc, key)
    words, bounds = read_words(doc)
    tags = attribute_texts(doc, TAG)
    first, last = token_bounds(doclike)
    for start, end, within in bounds:
        positions = within if first <= start and end <= last else [i for i in within if first <= i < last]
        if len(positions):
            leaf_tags = [tags[i] or UNKNOWN_TAG for i in positions]
            yield _MatcherSentence(
                doc_index, found, positions, tree_of(found, positions, [words[i] for i in positions], leaf_tags)
            )


def _values(doc: Doc, attribute: str) -> list[Any]:
    """An attribute of each token of a Doc, as text or as a number."""
    attribute_id = IDS["ORTH" if attribute == "TEXT" else attribute]
    if attribute.startswith(_NUMERIC):
        return doc.to_array(attribute_id).reshape(-1).tolist()
    return attribute_texts(doc, attribute_id)


def _span(doc: Doc, sentence: _MatcherSentence, node: Node) -> Span:
    """The Span of the Doc for a node; also for TOP, which is no constituent if another one covers the sentence."""
    start, end = sentence.positions[node.start], sentence.positions[node.end - 1] + 1
    if node.kind != "constituent":
        return Span(doc, start, end, label=node.label if node.kind == "tag" else "")
    tree, k, found = sentence.tree, node.number, sentence.found
    index = found.by_extent.get((start, end), -1)
    top = k
    while top and (tree.starts[top - 1], tree.ends[top - 1]) == (node.start, node.end):
        top -= 1
    if top == 0 and (index < 0 or found.labels[index] != TOP):  # a TOP in the tree but not in the Doc
        if k == 0:
            return Span(doc, start, end, label=TOP)
        top = 1
    return make_span(doc, found, index + k - top, with_level=True)
