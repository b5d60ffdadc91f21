"""A dependency tree with what the rules need of each token: its kind, its role, its dependents, the extent of its
subtree."""

from collections import Counter
from collections.abc import Sequence
from itertools import accumulate

from .profile import Profile
from .projectivity import ProjectiveTree

NOUN, ADJECTIVE, ADVERB, VERB, PARTICLE, INTERJECTION = range(6)
_KINDS = {
    "NOUN": NOUN, "PROPN": NOUN, "PRON": NOUN, "NUM": NOUN, "SYM": NOUN, "X": NOUN, "DET": NOUN, "ADJ": ADJECTIVE,
    "ADV": ADVERB, "VERB": VERB, "AUX": VERB, "INTJ": INTERJECTION,
}  # fmt: skip
SUBJECTS = frozenset(("nsubj", "csubj"))
AUXILIARIES = frozenset(("aux", "cop"))
_BRACKETS = {"(": ")", "[": "]", "{": "}", "（": "）", "【": "】", "-LRB-": "-RRB-", "-LSB-": "-RSB-", "-LCB-": "-RCB-"}
_CLOSING = _BRACKETS | {
    '"': '"', "“": "”", "„": "“", "«": "»", "»": "«", "‘": "’", "‚": "‘", "‹": "›", "``": "''", "「": "」", "『": "』",
    "《": "》",
}  # fmt: skip
_COMMAS = frozenset((",", "，", "、", "-", "–", "—", "--"))
_LEFT_MODIFIERS = frozenset(("acl", "advcl"))
_FLAT_PARTS = frozenset(("det", "amod", "nummod", "compound", "flat", "fixed", "goeswith", "clf"))
_QUESTION_MARKS = frozenset(("?", "？", "؟", "?!", "??"))
_PRONOUNS = frozenset(("PRON", "DET", "ADV", "ADJ", "NUM"))
_MAX_WH_PATH = 64
"""Maximum number of tokens from a question word up to the phrase that it opens."""
_WITHIN_WH = frozenset(("det", "nmod", "amod", "advmod", "nummod", "case"))


class Sentence:
    """The tokens of a sentence, as parallel lists.

    `heads`: projective, with each conjunction attached to the head of its conjunct. `relations`: without subtypes;
    `full_relations`: with them. `roles`: the relation, that of the first conjunct for a conjunct. `kinds`: NOUN …
    `before`, `after`: dependents from the nearest to the farthest, without `is_mark`: punctuation without dependents.
    `starts`, `ends`: extent [start, end) of the subtree, with brackets around it; `closing`: the end with the second of
    two commas around it, 0 without one. `nearest_case`: the last dependent `case` before the token, -1 for none.
    `partner`: the conjunct of a conjunction, -1 for none. `is_wh`: the head of a phrase that opens a question or a
    relative clause; `is_free`: with a relative clause of its own. `is_flat`: a member of a coordination of words.
    `has_subject`, `has_aux`, `has_marker`: whether there is such a dependent. `is_clause`: whether the head projects a
    clause.
    """

    def __init__(
        self,
        words: Sequence[str],
        pos: Sequence[str],
        features: Sequence[str],
        tree: ProjectiveTree,
        relations: Sequence[str],
        profile: Profile,
    ):
        n = len(words)
        self.words, self.pos, self.features, self.profile = words, pos, features, profile
        self.lower = [word.lower() for word in words]
        self.heads, self.order = list(tree.heads), tree.order
        self.full_relations = relations
        self.relations = [relation.partition(":")[0] for relation in relations]
        self.root = tree.order[0]
        self._set_adverbs()
        self.is_mark = [one == "PUNCT" or relation == "punct" for one, relation in zip(pos, relations, strict=True)]
        self.partner = [-1] * n
        self._set_marks()
        self._attach_conjunctions(tree)
        self._set_dependents(n)
        self._set_extents(n)
        self._set_kinds(n)
        self._set_flat(n)
        self._set_wh(n)
        self._set_clauses(n)
        last = next((i for i in reversed(range(n)) if words[i] in _QUESTION_MARKS), -1)
        self.is_question = last >= 0 and all(self.is_mark[i] for i in range(last, n))

    def _set_adverbs(self) -> None:
        """Count adverbs as modifiers that are marked as markers but do not open a clause: *er kommt wieder*."""
        relations, heads = self.relations, self.heads
        subjects = {heads[i]: i for i in reversed(range(len(heads))) if relations[i] in SUBJECTS}
        for i, relation in enumerate(relations):
            if relation == "mark" and self.pos[i] in ("ADV", "VERB") and heads[i] >= 0:
                if i > subjects.get(heads[i], heads[i]) or heads[heads[i]] < 0:
                    relations[i] = "advmod" if self.pos[i] == "ADV" else "compound"
            elif relation == "case" and self.full_relations[i] in ("case:suff", "case:pref"):
                relations[i] = "compound"
            elif relation == "mark" and self.lower[i] in self.profile.verb_suffixes:
                relations[i] = "compound"  # Chinese: *runs very fast*

    def _set_marks(self) -> None:
        for i in reversed(self.order):  # dependents first
            head = self.heads[i]
            if not self.is_mark[i] and head >= 0:
                self.is_mark[head] = False

    def _attach_conjunctions(self, tree: ProjectiveTree) -> None:
        """Attach a conjunction that opens a conjunct to the first conjunct; with chained conjuncts, these too."""
        heads, relations = self.heads, self.relations
        if self.profile.chained_conjuncts:
            last_other: dict[int, int] = {}  # of each head
            for i, head in enumerate(tree.heads):
                if relations[i] not in ("conj", "cc", "punct"):
                    last_other[head] = i
            for i in self.order:  # conjuncts of conjuncts, and the conjunctions before them
                head = heads[i]
                if relations[i] in ("conj", "cc") and 0 <= head < i and relations[head] == "conj" and heads[head] >= 0:
                    if last_other.get(head, -1) < i:
                        heads[i] = heads[head]
        n_marks = [0, *accumulate(self.is_mark)]
        for i, relation in enumerate(relations):
            head = heads[i]
            if relation in _LEFT_MODIFIERS and head > i and heads[head] > head and relations[head] == "nsubj":
                last = tree.right_edges[i]
                if (self.is_mark[last] or self.is_mark[last + 1]) and tree.left_edges[head] == tree.left_edges[i]:
                    heads[i] = heads[head]  # *Born in France, she …*: beside the subject
            elif relation == "cc" and head > i and relations[head] == "conj" and heads[head] >= 0:
                first = tree.left_edges[head]
                if tree.left_edges[i] == i and n_marks[i] - n_marks[first] == i - first:  # after marks only
                    heads[i] = heads[head]
                    self.partner[i] = head

    def _set_dependents(self, n: int) -> None:
        before: list[list[int]] = [[] for _ in range(n)]
        after: list[list[int]] = [[] for _ in range(n)]
        for i, head in enumerate(self.heads):
            if head > i:
                if not self.is_mark[i]:
                    before[head].append(i)
            elif head >= 0 and not self.is_mark[i]:
                after[head].append(i)
        for dependents in before:
            dependents.reverse()
        self.before, self.after = before, after
        self._index_after = [0] * n  # of each token after its head, among these dependents
        for dependents in after:
            for index, i in enumerate(dependents):
                self._index_after[i] = index
        self.nearest_case = [
            next((k for k in dependents if self.relations[k] == "case"), -1) for dependents in before
        ]  # before the head

    def _set_partners(self, n: int) -> None:
        """Find the partner of each bracket and quotation mark: the one that closes or opens it, -1 for none."""
        self.mark_partner = partner = [-1] * n
        stack: list[tuple[str, int]] = []
        n_open: Counter[str] = Counter()  # the closing marks in the stack
        for i, word in enumerate(self.words):
            if not self.is_mark[i]:
                continue
            if stack and word == stack[-1][0]:
                n_open[word] -= 1
                opening = stack.pop()[1]
                partner[i], partner[opening] = opening, i
            elif word in _CLOSING:
                stack.append((_CLOSING[word], i))
                n_open[_CLOSING[word]] += 1
            elif n_open[word]:
                while word != stack[-1][0]:
                    n_open[stack.pop()[0]] -= 1
                n_open[word] -= 1
                opening = stack.pop()[1]
                partner[i], partner[opening] = opening, i

    def extend(self, start: int, end: int) -> tuple[int, int]:
        """Extend an extent by the bracket or quotation mark next to it whose partner is inside."""
        partner = self.mark_partner
        while end < len(partner) and start <= partner[end] < end:
            end += 1
        while start and start <= partner[start - 1] < end:
            start -= 1
        return start, end

    def _set_extents(self, n: int) -> None:
        starts, ends, heads, words = list(range(n)), list(range(1, n + 1)), self.heads, self.words
        self._set_partners(n)
        self.in_brackets = [False] * n
        is_mark, partner = self.is_mark, self.mark_partner
        is_noun = [_KINDS.get(one) == NOUN for one in self.pos]
        self.closing = closing = [0] * n
        for i in reversed(self.order):
            if is_mark[i]:
                continue
            start, end = self.extend(starts[i], ends[i])
            head = heads[i]
            if start and partner[start - 1] == end and words[start - 1] in _BRACKETS:
                self.in_brackets[i] = True
                start, end = start - 1, end + 1
            starts[i], ends[i] = start, end
            if head < 0:
                continue
            starts[head] = min(starts[head], start)
            if i > head and end < n - 1 and is_mark[end] and is_mark[start - 1] and words[end] == words[start - 1]:
                if words[end] in _COMMAS and heads[end] < end and is_noun[head] and self.relations[i] != "conj":
                    end = closing[i] = end + 1
            ends[head] = max(ends[head], end)
        self.starts, self.ends = starts, ends

    def _set_kinds(self, n: int) -> None:
        relations, pos = self.relations, self.pos
        self.roles = roles = list(relations)
        for i in self.order:
            head = self.heads[i]
            if relations[i] == "conj" and head >= 0:
                roles[i] = roles[head]
            elif head < 0:
                roles[i] = "root"
        self.has_subject, self.has_aux, self.has_marker = [False] * n, [False] * n, [False] * n
        has_determiner, is_passive = [False] * n, [False] * n
        looks_nominal = [False] * n
        for i, relation in enumerate(relations):
            head = self.heads[i]
            if head < 0:
                continue
            if relation in SUBJECTS:
                self.has_subject[head] = True
            elif relation in AUXILIARIES:
                self.has_aux[head] = True
                is_passive[head] |= self.full_relations[i] == "aux:pass"
            elif relation == "mark" and (i > head or not self.is_infinitive_marker(i)):
                self.has_marker[head] = True
            elif relation == "det":
                has_determiner[head] = True
            elif relation in ("amod", "nummod") or (relation == "case" and "Gender=" in self.features[head]):
                looks_nominal[head] = True
        self.kinds = kinds = [_KINDS.get(one, PARTICLE) for one in pos]
        nominal = self.profile.nominal_relations
        for i, kind in enumerate(kinds):
            if kind == ADJECTIVE:
                if has_determiner[i] or roles[i] in nominal:
                    kinds[i] = NOUN
                elif is_passive[i]:
                    kinds[i] = VERB  # Czech: *was written*
            elif kind == ADVERB and (has_determiner[i] or looks_nominal[i]):
                kinds[i] = NOUN  # Icelandic: *last year*, *in September*, tagged as adverbs
            elif kind == PARTICLE and pos[i] == "PART" and roles[i] in nominal:
                kinds[i] = NOUN  # suffixes of Chinese nouns
            elif kind == VERB and not self.has_subject[i]:
                if roles[i] == "amod" and not self.has_aux[i]:
                    kinds[i] = ADJECTIVE
                elif has_determiner[i] and roles[i] in nominal:
                    kinds[i] = NOUN

    def is_beside_noun(self, i: int) -> bool:
        """Whether a token is a single word next to others, or a number (*July 8, 1805*)."""
        return not (self.before[i] or self.after[i]) and (self.pos[i] == "NUM" or not self.is_mark[i - 1])

    def small_clause_start(self, i: int) -> int:
        """Where the small clause begins of which a token is the predicate (*she made [him happy]*, *[him go]*), -1 for
        none: at the object before it, or after a participle at the predicate itself."""
        head = self.heads[i]
        if (
            not self.profile.small_clauses
            or self.relations[i] != "xcomp"
            or not 0 <= head < i
            or self.kinds[head] != VERB
        ):
            return -1
        position = self._index_after[i]
        if position and self.relations[self.after[head][position - 1]] == "obj":
            return self.starts[self.after[head][position - 1]]
        is_predicate = self.kinds[i] != VERB and "VerbForm=Part" in self.features[head]
        return self.starts[i] if is_predicate and not position else -1

    def is_set_off(self, i: int) -> bool:
        """Whether there is punctuation next to a token."""
        return (i > 0 and self.is_mark[i - 1]) or (i + 1 < len(self.words) and self.is_mark[i + 1])

    def is_before_case(self, i: int) -> bool:
        """Whether a token is a modifier of an adpositional phrase (*even with me*)."""
        return self.nearest_case[self.heads[i]] > i

    def start_is_new(self, d: int) -> bool:
        """Whether the subtree of a token begins after a mark that ends sentences."""
        before = self.starts[d] - 1
        return before >= 0 and self.words[before] in (".", "!", "?", ";", ":") and self.is_mark[before]

    def _set_flat(self, n: int) -> None:
        """Find coordinations of words without phrases of their own."""
        self.is_flat = is_flat = [False] * n
        flat_nouns = self.profile.flat_coordination
        for i in range(n):
            conjuncts = [k for k in self.after[i] if self.relations[k] == "conj"]
            if not conjuncts or any(self.before[k] or self.after[k] for k in conjuncts):
                continue
            if any(
                self.relations[k] == "cc" and (self.before[k] or self.after[k])
                for k in (*self.before[i], *self.after[i])
            ):
                continue
            inner = [k for k in self.after[i] if k < conjuncts[-1] and self.relations[k] not in ("conj", "cc")]
            kind = self.kinds[i]
            if kind == VERB:
                fits = flat_nouns and not inner and all(self.kinds[k] == VERB for k in conjuncts)
            elif kind == NOUN:
                fits = flat_nouns or self.roles[i] in self.profile.word_relations
                inner += [
                    k
                    for k in self.before[i]
                    if self.relations[k] in ("nmod", "acl") and self.full_relations[k] != "nmod:poss"
                ]
                fits = fits and all(self.relations[k] in _FLAT_PARTS for k in inner)
                fits = fits and all(self.kinds[k] == NOUN for k in conjuncts)
            else:
                fits = not inner and all(self.kinds[k] == kind for k in conjuncts)
            if fits:
                for k in (i, *conjuncts):
                    is_flat[k] = True

    def is_infinitive_marker(self, i: int) -> bool:
        """Whether a marker is part of a verb phrase (*to go*), not of an SBAR."""
        return self.pos[i] == "PART" or self.lower[i] in self.profile.infinitive_markers

    def _set_wh(self, n: int) -> None:
        self.is_wh = is_wh = [False] * n
        self.is_free = [False] * n
        first_other, first_subject = ([n] * n for _ in range(2))  # dependents before their head
        for head, dependents in enumerate(self.before):
            for k in dependents:
                if self.relations[k] != "case":
                    first_other[head] = k
                if self.relations[k] in SUBJECTS:
                    first_subject[head] = k
        for i, feature in enumerate(self.features):
            if "PronType=Int" in feature or "PronType=Rel" in feature or "PronType=Exc" in feature:
                if self.pos[i] not in _PRONOUNS:
                    continue
            elif self.pos[i] not in _PRONOUNS or self.lower[i] not in self.profile.question_words:
                above = self.heads[i]
                if (
                    self.lower[i] not in self.profile.relative_words
                    or above < i
                    or self.relations[i] in ("det", "mark")
                ):
                    continue
                if "relcl" not in self.full_relations[above]:
                    continue
            path, at = [i], i
            while (head := self.heads[at]) >= 0 and self.relations[at] in _WITHIN_WH and self.kinds[head] != VERB:
                if self.has_subject[head] or self.has_aux[head]:
                    break
                if first_other[head] < at or len(path) == _MAX_WH_PATH:
                    break
                path.append(head)
                at = head
            if head > at and first_subject[head] < at:
                continue  # *she wanted what*
            is_fronted = head >= 0 and at < head and self.relations[at] not in ("case", "cc", "mark")
            if at == i and any("relcl" in self.full_relations[k] for k in self.after[at]):
                self.is_free[i] = is_wh[i] = True  # *what he said*
                continue
            is_predicate = self.has_aux[at] or self.has_subject[at]
            if is_fronted or is_predicate:
                for k in path:
                    is_wh[k] = True
            if is_fronted:
                self.has_marker[head] = True

    def _set_clauses(self, n: int) -> None:
        self.is_clause = is_clause = [False] * n
        words = self.profile.word_relations
        for i in self.order:
            role = self.roles[i]
            if self.relations[i] == "conj" and self.heads[i] >= 0:
                is_clause[i] = self.has_subject[i] or self.has_marker[i]
            elif self.has_subject[i]:
                is_clause[i] = True
            elif self.kinds[i] != VERB:
                is_clause[i] = self.has_aux[i]
            elif role in words:
                is_clause[i] = False
            elif role == "acl" and self.kinds[self.heads[i]] != VERB:
                is_clause[i] = (
                    self.has_marker[i]
                    or self.has_aux[i]
                    or "VerbForm=Fin" in self.features[i]
                    or "relcl" in self.full_relations[i]
                    or any(self.relations[k] == "mark" for k in self.before[i])
                )
            elif role == "xcomp":
                is_marked = any(
                    self.relations[k] == "mark" or (self.relations[k] == "aux" and self.pos[k] == "PART")
                    for k in self.before[i]
                )
                is_clause[i] = is_marked and self.small_clause_start(i) < 0
            else:
                is_clause[i] = True
