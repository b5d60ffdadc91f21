"""The parts of clauses: subject, verb, objects, kind, own words, and triples of who did what, for English.

`extensions` registers the functions as `clause._.subject`, `clause._.verb`, `doc._.triples` and others. They read
labels and tags of the Penn Treebank and lists of English verbs; `trees.predicates` has the rules. For a sentence that
is no clause (a headline, *Good morning!*) they give None or an empty list.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from spacy.tokens import Doc, Span, Token

from ..core.parser import UNKNOWN_TAG
from ..errors import ConfigError, NonConstituentError
from ..trees.clause_kinds import antecedent as find_antecedent
from ..trees.clause_kinds import clause_kind as find_kind
from ..trees.controllers import understood_subject
from ..trees.labels import base_label
from ..trees.noun_phrases import CLAUSES
from ..trees.predicates import PredicateFinder, PredicateNodes
from ..trees.tree import TOP
from .attributes import locate
from .constituents import Constituents, make_span, read_constituents, tree_of
from .sentences import is_blank, plain_word, token_bounds

_LANGUAGES = ("en", "xx", "mul", "")
_SPLIT = CLAUSES | {"VP", "FRAG", "UCP", TOP, "TITLE", "HEADING", "CAPTION", "X"}
"""Labels of constituents whose clauses count as parts of a clause without verb of its own: coordinations and roots."""


class Predicate(NamedTuple):
    """A main verb with its arguments.

    `clause`: its clause; a VP for participles of nouns (*sold here* in *the books sold here*). `verb`: the main verb or
    copula. `verb_group`: the verb with its auxiliaries, modals, negations, *to* and particle. `subject`: None in
    imperatives and infinitives; after *there is* the noun phrase that exists. `objects`: noun phrases, an indirect one
    first, with the relative or question word if it is the object. `complement`: of a copula (*a nurse* in *is a
    nurse*). `agent`: in a passive, the noun phrase after *by*. `negated`: *not* or *never* belongs to the verb.
    `passive`: a passive participle.
    """

    clause: Span
    verb: Token
    verb_group: tuple[Token, ...]
    subject: Span | None
    objects: tuple[Span, ...]
    complement: Span | None
    agent: Span | None
    negated: bool
    passive: bool


class Triple(NamedTuple):
    """Who did what: `subject` and `object`, each a Span or None, and `verb`, the tokens of the verb group.

    The tokens of the verb include negations: *did not eat* says that nothing was eaten.
    """

    subject: Span | None
    verb: tuple[Token, ...]
    object: Span | None


class _Part(NamedTuple):
    """The tree over one root of a Doc's constituents. Constituent k of the tree is `first + k` of the Doc; token i is
    `positions[i]`."""

    doc: Doc
    constituents: Constituents
    first: int
    positions: list[int]
    finder: PredicateFinder

    def span(self, node: int) -> Span:
        if node < 0:
            return self.doc[self.positions[~node] : self.positions[~node] + 1]
        return make_span(self.doc, self.constituents, self.first + node, with_level=True)

    def optional(self, node: int | None) -> Span | None:
        return None if node is None else self.span(node)

    def predicate(self, one: PredicateNodes) -> Predicate:
        tokens = [self.doc[self.positions[i]] for i in one.group]
        objects = tuple(map(self.span, one.objects))
        verb = self.doc[self.positions[one.verb]]
        span, subject = self.span(one.clause), self.optional(one.subject)
        complement, agent = self.optional(one.complement), self.optional(one.agent)
        return Predicate(span, verb, tuple(tokens), subject, objects, complement, agent, one.negated, one.passive)


def predicates(where: Doc | Span, key: str | None = None) -> list[Predicate]:
    """The main verbs of a Doc, or within a Span, with subjects and objects, in the order of the verbs.

    Coordinated verb phrases (*came in and sat down*) are two predicates with one subject. Raises NotParsedError if the
    Doc has no valid parse, ConfigError if its language is not English.
    """
    return [part.predicate(one) for part, one in _predicates_in(where, key)]


def triples(where: Doc | Span, key: str | None = None) -> list[Triple]:
    """Who did what: a subject, the tokens of a verb group and an object for each main verb, in order.

    The object is the direct object, else the complement of a copula, else the clause that is said, known or wanted,
    else None. In a passive the subject is the agent after *by* or None, and the object is the passive's subject. A
    relative word is replaced by the phrase that it stands for, and a participle or infinitive gets the subject that is
    understood: *Jack went to fetch water* gives (Jack, went, None) and (Jack, to fetch, water). In a coordination of
    verbs each has a triple. Raises as `predicates` does.
    """
    return [_triple(part, one) for part, one in _predicates_in(where, key)]


def subject(clause: Span) -> Span | None:
    """The subject of a clause (of its first verb); None if there is none, as in an imperative.

    Of a passive it is the grammatical subject; of *there is a dog* it is *a dog*; of a relative clause it may be the
    relative word (see `antecedent`). Of coordinated clauses it is the subject of the first one. Raises
    NonConstituentError if `clause` is neither a clause nor a sentence, otherwise as `predicates` does.
    """
    part, found = _own(clause)
    return next((part.optional(one.subject) for one in found), None)


def verb(clause: Span) -> Token | None:
    """The main verb of a clause, or its copula, without auxiliaries; the first one of coordinated verbs, which
    `predicates` has all. None if there is no verb. Raises as `subject` does."""
    part, found = _own(clause)
    return next((part.doc[part.positions[one.verb]] for one in found), None)


def objects(clause: Span) -> list[Span]:
    """The objects of the verbs of a clause, noun phrases, in order and each once. The complement of a copula (*a nurse*
    in *is a nurse*) and a phrase of time (*slept two hours*) are none. Raises as `subject` does."""
    part, found = _own(clause)
    return [part.span(node) for node in dict.fromkeys(node for one in found for node in one.objects)]


def clause_tokens(clause: Span) -> list[Token]:
    """The tokens of a clause that are in none of the clauses within it (see `phrases.clauses`), white space left out.

    Raises as `subject` does.
    """
    part, k = _clause(clause)
    finder = part.finder
    start, end = finder.extent(k)
    nested = [False] * (end - start)
    for other in range(k + 1, len(finder.labels)):
        first, last = finder.extent(other)
        if first >= end:
            break
        if (
            finder.labels[other] in CLAUSES
            and finder.clause_of(other) not in (k, finder.clause_of(k))
            and not (nested[first - start])
        ):
            nested[first - start : last - start] = [True] * (last - first)
    return [part.doc[part.positions[start + i]] for i, inside in enumerate(nested) if not inside]


def clause_kind(clause: Span) -> str:
    """The kind of a clause: "main", "relative", "complement", "adverbial" or "quotation" (see `trees.clause_kinds`).

    Raises as `subject` does.
    """
    part, k = _clause(clause)
    return find_kind(part.finder, part.finder.clause_of(k))


def antecedent(clause: Span) -> Span | None:
    """The phrase that a relative clause modifies: *The man* for *who came*. None for another clause.

    Raises as `subject` does.
    """
    part, k = _clause(clause)
    return _antecedent(part, part.finder.clause_of(k))


def _antecedent(part: _Part, k: int) -> Span | None:
    extent = find_antecedent(part.finder, k)
    if extent is None:
        return None
    start, end = part.positions[extent[0]], part.positions[extent[1] - 1] + 1
    index = part.constituents.by_extent.get((start, end))
    if index is not None:
        return make_span(part.doc, part.constituents, index, with_level=True)
    return Span(part.doc, start, end, "NP")


def _triple(part: _Part, one: PredicateNodes) -> Triple:
    finder = part.finder
    who, what = _referent(part, one, one.subject), None
    if one.subject is None and one.gap != "subject" and not one.existential:
        who = _find_understood(part, one)
    if one.objects:
        what = _referent(part, one, one.objects[-1])
    elif one.gap == "object":
        what = _antecedent(part, one.clause)
    elif one.complement is not None:
        what = _referent(part, one, one.complement)
    elif one.clause_object is not None and find_kind(finder, finder.clause_of(one.clause_object)) in _SAID:
        what = part.span(finder.clause_of(one.clause_object))
    else:
        clauses = (kid for kid in finder.children[one.core] if kid >= 0 and finder.labels[kid] in CLAUSES)
        quoted = next((kid for kid in clauses if find_kind(finder, kid) == "quotation"), None)
        what = part.optional(quoted)
    if one.passive:
        who, what = part.optional(one.agent), what if one.objects else who
    return Triple(who, tuple(part.doc[part.positions[i]] for i in one.group), what)


_SAID = ("complement", "quotation")


def _referent(part: _Part, one: PredicateNodes, node: int | None) -> Span | None:
    """The Span of an argument; the antecedent of the clause instead of its relative word."""
    role = {"subject": one.subject, "object": one.objects[-1] if one.objects else None, "complement": one.complement}
    is_word = node is not None and part.finder.extent(node)[1] - part.finder.extent(node)[0] == 1  # not *whose dog*
    if node is not None and one.gap is not None and node == role[one.gap] and is_word:
        k = one.clause
        while k >= 0 and part.finder.extent(k)[0] > part.finder.extent(node)[0]:  # *who she said came*
            k = part.finder.parents[k]
        while k >= 0 and part.finder.labels[k] not in ("SBAR", "SBARQ"):
            k = part.finder.parents[k]
        found = None if k < 0 else _antecedent(part, part.finder.clause_of(k))
        return part.optional(node) if found is None else found
    return part.optional(node)


def _find_understood(part: _Part, one: PredicateNodes) -> Span | None:
    """The understood subject of a participle or infinitive, which may be that of another one around it."""
    finder = part.finder
    if finder.labels[one.clause] == "VP":  # *the books sold here*
        above = finder.parents[one.clause]
        while above >= 0 and finder.labels[above] == "VP":
            above = finder.parents[above]
        if above >= 0 and finder.labels[above] == "NP":
            return _antecedent(part, one.clause)
    around = understood_subject(finder, one)
    seen = {id(one)}
    while isinstance(around, PredicateNodes) and id(around) not in seen:
        seen.add(id(around))
        around = understood_subject(finder, around)
    return _referent(part, *around) if isinstance(around, tuple) else None


def _predicates_in(where: Doc | Span, key: str | None) -> Iterator[tuple[_Part, PredicateNodes]]:
    found = read_constituents(where.doc, key)
    first, last = token_bounds(where)
    k = 0
    while k < len(found.starts):
        if found.starts[k] < last and found.ends[k] > first:
            part = _part(where.doc, found, k)
            yield from ((part, one) for one in part.finder.found if first <= part.positions[one.verb] < last)
        k = found.ends_of_subtrees[k]


def _part(doc: Doc, found: Constituents, root: int) -> _Part:
    """The part of a Doc below a root of its constituents."""
    if doc.lang_ not in _LANGUAGES:
        raise ConfigError(
            f"this Doc's language is {doc.lang_!r}, and the parts of clauses are found in English only; "
            "doc._.clauses and doc._.phrases work for every language"
        )
    tokens = [token for token in doc[found.starts[root] : found.ends[root]] if not is_blank(token.text)]
    positions = [token.i for token in tokens]
    tags = [token.tag_ or UNKNOWN_TAG for token in tokens]
    tree = tree_of(found, positions, [plain_word(token.text) for token in tokens], tags)
    added = found.labels[root] != TOP
    return _Part(doc, found, root - added, positions, PredicateFinder(tree))


def _root(found: Constituents, k: int) -> int:
    """The root above constituent `k`; -1 for -1."""
    while k >= 0 and found.parents[k] >= 0:
        k = found.parents[k]
    return k


def _clause(clause: Span) -> tuple[_Part, int]:
    """The part of the Doc and the index, in its tree, of a clause. Raises NonConstituentError for another span."""
    location = locate(clause)
    found, k = location.constituents, location.constituent
    if k >= 0 and not location.exact:  # of a unary chain, its clause
        chain = range(k, found.ends_of_subtrees[k])
        members = (m for m in chain if found.chain_tops[m] == found.chain_tops[k])
        k = next((m for m in members if base_label(found.labels[m]) in CLAUSES), k)
    root = _root(found, k)
    if k < 0 or (k != root and base_label(found.labels[k]) not in CLAUSES | {"VP"}):
        what = "one token" if k < 0 else f"a constituent {found.labels[k]}"
        raise NonConstituentError(
            f"tokens {clause.start} to {clause.end} ({clause.text[:60]!r}) are {what}, not a clause; the clauses of a "
            "Doc are in doc._.clauses, its verbs with their subjects and objects in doc._.predicates"
        )
    part = _part(location.doc, found, root)
    return part, k - part.first


def subjects_verbs_kinds(
    doc: Doc, indices: Iterable[int], key: str | None = None
) -> Iterator[tuple[Span | None, Token | None, str | None]]:
    """The subject, verb and kind of each clause in `indices` (constituents of the Doc, ascending), as `subject`, `verb`
    and `clause_kind` find them; None for all three if the Doc's language is not English.

    The clauses of one sentence share one analysis, so the time is linear. Raises NotParsedError.
    """
    found = read_constituents(doc, key)
    part, end = None, 0
    for index in indices:
        if doc.lang_ not in _LANGUAGES:
            yield None, None, None
            continue
        if part is None or index >= end:
            root = _root(found, index)
            part, end = _part(doc, found, root), found.ends_of_subtrees[root]
        k = index - part.first
        one = next(iter(_own_predicates(part, k)), None)
        kind = find_kind(part.finder, part.finder.clause_of(k))
        yield (None, None, kind) if one is None else (part.optional(one.subject), doc[part.positions[one.verb]], kind)


def _own(clause: Span) -> tuple[_Part, list[PredicateNodes]]:
    part, k = _clause(clause)
    return part, _own_predicates(part, k)


def _own_predicates(part: _Part, k: int) -> list[PredicateNodes]:
    """The predicates of clause k itself; those of its first part that has some if it is a coordination."""
    finder = part.finder
    if finder.labels[k] == "VP" and finder.clause_of(k) not in finder.by_clause:
        inside = [
            one for one in finder.found if k <= one.phrase and finder.extent(one.phrase)[1] <= finder.extent(k)[1]
        ]
        return [one for one in inside if one.clause < k or one.clause == k]
    stack = [finder.clause_of(k)]
    while stack:
        k = stack.pop()
        if k in finder.by_clause:
            return sorted(finder.by_clause[k], key=lambda one: one.verb)
        below = [kid for kid in finder.children[k] if kid >= 0 and finder.labels[kid] in _SPLIT]
        plain = [kid for kid in below if finder.labels[kid] != "SBAR"]
        stack += reversed(plain or below)
    return []
