"""Structures of second-language writing research in a tree: clauses, T-units, complex nominals and others.

Source of the definitions: Lu (2010), Automatic analysis of syntactic complexity in second language writing, who gives
earlier ones (Hunt 1965, 1970; Cooper 1976). docs/measures.md states each of them, and where a count differs from that
of Lu's patterns, which `measures` applies as well.
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from itertools import accumulate

from ..text import raw_word
from ..trees.labels import TOP_LABELS, base_label
from ..trees.tree import Tree

STRUCTURES = {
    "W": "words", "S": "sentences", "VP": "verb phrases", "C": "clauses", "T": "T-units", "DC": "dependent clauses",
    "CT": "complex T-units", "CP": "coordinate phrases", "CN": "complex nominals",
}  # fmt: skip
"""Abbreviation -> name of a structure."""

Spans = list[tuple[int, int]]
"""First token, and one past the last token."""

_MAIN = frozenset(("S", "SINV", "SQ", "SBARQ"))
_CLAUSES = frozenset(("S", "SINV", "SQ"))
_FINITE = frozenset(("MD", "VBD", "VBP", "VBZ"))
_VERBS = _FINITE | {"TO", "VB", "VBG", "VBN"}
_COORDINATED = frozenset(("ADJP", "ADVP", "NP", "VP"))
_CONJUNCTIONS = frozenset(("CC", "CONJP"))
_MODIFIERS = frozenset(("JJ", "JJR", "JJS", "VBG", "VBN", "POS", "PP", "S"))
"""Tags and labels that make the noun phrase around them a complex nominal."""
_QUANTIFIERS = frozenset(("more", "most", "less", "least", "fewer", "fewest"))
"""Comparatives that quantify a noun and do not modify it."""
_COMPLEMENTIZERS = frozenset(("that", "for", "whether"))
_WH_ADVERBS = frozenset(("how", "why"))
"""WH adverbs that introduce nominal clauses; clauses with *when* and *where* in a verb phrase are mostly adverbial."""
_NOT_FINAL = frozenset(("CC", ",", ":"))


def find_structures(tree: Tree) -> dict[str, Spans]:
    """The structures of one sentence, each as spans of tokens in their order; the keys are those of STRUCTURES.

    `tree`: with a root such as TOP or without. A sentence without a clause is a fragment, and counts as one clause and
    one T-unit.
    """
    return _Structures(tree).find()


def is_word(token: str) -> bool:
    """Whether a token is a word: it contains a letter or digit. Brackets written as -LRB- and the like are none."""
    return any(map(str.isalnum, raw_word(token)))


class _Structures:
    """A tree with what the definitions ask for. A node k >= 0 is a constituent, ~i < 0 token i."""

    def __init__(self, tree: Tree):
        self.tree = tree
        self.labels = [base_label(label) for label in tree.labels]
        self.tags = [base_label(tag) for tag in tree.tags]
        self.words = [word.lower() for word in tree.words]
        self.children = tree.child_lists()
        self.parents = tree.parents()
        self._coordinations: dict[tuple[int, frozenset[str]], dict[int, None]] = {}
        self._subjects: dict[int, set[int]] = {}
        self.first_verbs = self._find_first_verbs()
        self.token_modifiers = _sums(
            tag in _MODIFIERS and word not in _QUANTIFIERS for tag, word in zip(self.tags, self.words, strict=True)
        )
        self.modifiers = _sums(label in _MODIFIERS for label in self.labels)
        self.appositions = _sums(self._is_apposition(k) for k in range(len(tree)))

    def find(self) -> dict[str, Spans]:
        tree = self.tree
        words = [(i, i + 1) for i, word in enumerate(tree.words) if is_word(word)]
        nodes = range(len(tree))
        main = self._main_clauses()
        clauses = [
            k
            for k in nodes
            if self.labels[k] in _CLAUSES and (self._is_finite(k) or (k in main and self._is_imperative(k)))
        ]
        dependent = sorted(self._span(k) for k in nodes if self.labels[k] == "SBAR" for k in self._finite_clauses(k))
        units = self._units(main)
        whole = [(0, tree.n_tokens)] if words else []
        found = {
            "W": words,
            "S": whole,
            "VP": sorted(
                [self._span(k) for k in nodes if self._is_verb_phrase(k)] + list(self._verbs_without_phrase())
            ),
            "C": [self._span(k) for k in clauses] or whole,
            "T": [self._trim(start, end) for start, end in units] if words else [],
            "DC": dependent,
            "CT": [self._trim(start, end) for start, end in units if _has_inside(dependent, start, end)],
            "CP": [self._span(k) for k in nodes if self._is_coordinate(k)],
            "CN": [self._span(k) for k in nodes if self._is_complex_nominal(k)],
        }
        assert found.keys() == STRUCTURES.keys()
        return found

    def _span(self, k: int) -> tuple[int, int]:
        return (self.tree.starts[k], self.tree.ends[k]) if k >= 0 else (~k, ~k + 1)

    def _name(self, child: int) -> str:
        return self.labels[child] if child >= 0 else self.tags[~child]

    def _trim(self, start: int, end: int) -> tuple[int, int]:
        """The span without a conjunction, comma or colon at its end."""
        while end > start + 1 and self.tags[end - 1] in _NOT_FINAL:
            end -= 1
        return start, end

    # Clauses and T-units

    def _find_first_verbs(self) -> list[str]:
        """For each constituent the tag of its first verb (*to* counts), or of that of the first verb phrase in it; ""
        for none."""
        found = [""] * len(self.labels)
        for k in range(len(self.labels) - 1, -1, -1):  # parts before the whole
            verbs = [self.tags[~child] for child in self.children[k] if child < 0 and self.tags[~child] in _VERBS]
            inner = [] if verbs else self._verb_phrases(k)[:1]
            found[k] = verbs[0] if verbs else found[inner[0]] if inner else ""
        return found

    def _verb_phrases(self, k: int) -> list[int]:
        return [child for child in self.children[k] if child >= 0 and self.labels[child] == "VP"]

    def _is_finite(self, k: int) -> bool:
        """Whether a finite verb is directly in a clause, or begins a verb phrase that is directly in it or one of its
        coordinated parts."""
        if any(child < 0 and self.tags[~child] in _FINITE for child in self.children[k]):
            return True
        parts = self._verb_phrases(k)
        while parts:
            part = parts.pop()
            if self.first_verbs[part] in _FINITE:
                return True
            names = [self._name(child) for child in self.children[part]]
            if not _CONJUNCTIONS.isdisjoint(names):
                parts += self._verb_phrases(part)
        return False

    def _is_imperative(self, k: int) -> bool:
        """Whether a clause is an imperative: a verb in its base form begins its verb phrase."""
        return any(self.first_verbs[part] == "VB" for part in self._verb_phrases(k))

    def _coordinated_clauses(self, k: int, labels: frozenset[str]) -> dict[int, None]:
        """The coordinated clauses of which a clause consists, in their order; none if it has a verb of its own."""
        if (k, labels) not in self._coordinations:
            names = {child: self._name(child) for child in self.children[k]}
            found = {child: None for child, name in names.items() if child >= 0 and name in labels}
            has_verb = any(name == "VP" or (child < 0 and name in _VERBS) for child, name in names.items())
            self._coordinations[k, labels] = {} if has_verb or len(found) < 2 else found
        return self._coordinations[k, labels]

    def _expand(self, k: int, labels: frozenset[str]) -> list[int]:
        """The clauses that a clause stands for, itself if it is no coordination; in their order."""
        found, stack = [], [k]
        while stack:
            k = stack.pop()
            parts = self._coordinated_clauses(k, labels)
            stack += reversed(parts)
            if not parts:
                found.append(k)
        return found

    def _finite_clauses(self, sbar: int) -> Iterator[int]:
        """The finite clauses directly in an SBAR, each one of coordinated ones."""
        for child in self.children[sbar]:
            if child >= 0 and self.labels[child] in _CLAUSES:
                yield from (part for part in self._expand(child, _MAIN) if self._is_finite(part))

    def _main_clauses(self) -> list[int]:
        """The main clauses of the sentence in their order: the highest ones, each one of coordinated ones."""
        top = [0]
        if self.labels[0] in TOP_LABELS:
            top = [child for child in self.children[0] if child >= 0]
        highest: list[int] = []
        for k in top:
            inside = [k] if self.labels[k] in _MAIN else [c for c in self.children[k] if c >= 0]
            highest += [one for one in inside if self.labels[one] in _MAIN]
        main: list[int] = []
        for k in highest:
            main += self._expand(k, _MAIN)
        for k in tuple(main):  # of a question with a WH word, the clause is inside
            if self.labels[k] == "SBARQ":
                main += [child for child in self.children[k] if child >= 0 and self.labels[child] in _CLAUSES]
        return main

    def _units(self, main: list[int]) -> Spans:
        """The spans of the T-units. They cover the sentence: words before the first main clause belong to its unit, and
        words after a main clause to the unit before them."""
        n = self.tree.n_tokens
        starts = [self.tree.starts[k] for k in main if not self._is_in_question(k)][1:]
        return list(zip([0, *starts], [*starts, n], strict=True))

    def _is_in_question(self, k: int) -> bool:
        return self.parents[k] >= 0 and self.labels[self.parents[k]] == "SBARQ" and self.labels[k] != "SBARQ"

    # Phrases

    def _is_verb_phrase(self, k: int) -> bool:
        return self.labels[k] == "VP" and (k == 0 or self.labels[self.parents[k]] != "VP")

    def _verbs_without_phrase(self) -> Iterator[tuple[int, int]]:
        """The finite verbs of clauses without a verb phrase: *Is* in *Is he here?*"""
        for k, label in enumerate(self.labels):
            if label in _CLAUSES and not self._verb_phrases(k):
                verbs = [child for child in self.children[k] if child < 0 and self.tags[~child] in _FINITE]
                yield from map(self._span, verbs[:1])

    def _is_coordinate(self, k: int) -> bool:
        names = [self._name(child) for child in self.children[k][1:]]
        return self.labels[k] in _COORDINATED and not _CONJUNCTIONS.isdisjoint(names)

    def _is_complex_nominal(self, k: int) -> bool:
        label = self.labels[k]
        if label == "NP":
            return (k == 0 or self.labels[self.parents[k]] != "NP") and self._is_modified(k)
        if label == "SBAR":
            return not self._coordinated_clauses(k, frozenset(("SBAR",))) and self._is_nominal_clause(k)
        return (
            label == "S"
            and not self._coordinated_clauses(k, _MAIN)
            and any(self.first_verbs[part] in ("TO", "VBG") for part in self._verb_phrases(k))
            and self._is_subject(self._highest_coordination(k))
        )

    def _is_apposition(self, k: int) -> bool:
        names = [self._name(child) for child in self.children[k]]
        return self.labels[k] == "NP" and names.count("NP") > 1 and _CONJUNCTIONS.isdisjoint(names)

    def _is_modified(self, k: int) -> bool:
        """Whether a noun phrase contains a modifier, or one with an apposition."""
        start, end = self._span(k)
        last = bisect_left(self.tree.starts, end, k)  # nodes are in pre-order, so those inside follow
        return (
            self.token_modifiers[end] > self.token_modifiers[start]
            or self.modifiers[last] > self.modifiers[k + 1]
            or self.appositions[last] > self.appositions[k]
        )

    def _highest_coordination(self, k: int) -> int:
        """The coordination that a clause is part of, with all above it; the clause itself if it is in none."""
        labels = frozenset(("SBAR",)) if self.labels[k] == "SBAR" else _MAIN
        while self.parents[k] >= 0 and k in self._coordinated_clauses(self.parents[k], labels):
            k = self.parents[k]
            if self.labels[k] not in labels:
                break
        return k

    def _is_subject(self, k: int) -> bool:
        """Whether a verb phrase follows a node, and no noun phrase or clause stands between that could be the
        subject."""
        above = self.parents[k]
        if above >= 0 and above not in self._subjects:
            found, before_verb = set(), False
            for child in reversed(self.children[above]):
                if before_verb:
                    found.add(child)
                name = self._name(child)
                before_verb = name == "VP" or (before_verb and name not in ("NP", "S", "SBAR", "SINV"))
            self._subjects[above] = found
        return above >= 0 and k in self._subjects[above]

    def _is_nominal_clause(self, k: int) -> bool:
        """Whether an SBAR is a subject, an object of a verb, or with a WH word an object of a preposition."""
        children = self.children[k]
        if not children:
            return False
        first = children[0]
        word = self.words[self._span(first)[0]]
        name = self._name(first)
        asks = name == "WHNP" or (name == "WHADVP" and word in _WH_ADVERBS) or (name == "IN" and word == "whether")
        if not (asks or name in _CLAUSES or (name == "IN" and word in _COMPLEMENTIZERS)):
            return False
        k = self._highest_coordination(k)
        above = self.labels[self.parents[k]] if self.parents[k] >= 0 else ""
        return above == "VP" or (above == "PP" and asks) or self._is_subject(k)


def _sums(values: Iterable[bool]) -> list[int]:
    """How many of the values before each index are true, and before the end."""
    return [0, *accumulate(map(int, values))]


def _has_inside(spans: Spans, start: int, end: int) -> bool:
    """Whether one of the sorted spans is within [start, end)."""
    first, last = (bisect_left(spans, (at, 0)) for at in (start, end))
    return any(b <= end for _, b in spans[first:last])
