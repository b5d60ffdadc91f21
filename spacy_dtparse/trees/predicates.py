"""Predicates of a tree: each verb group with its subject and objects, found from labels, tags and English verbs.

A node is an int: k >= 0 is constituent k, ~i < 0 is token i, as in `Tree.child_lists`.
"""

from dataclasses import dataclass, field

from . import verb_words as words_of
from .gaps import fill_gap
from .labels import base_label
from .noun_phrases import CLAUSES
from .tree import Tree

FRAMES = frozenset(("SBAR", "SBARQ"))
CORES = frozenset(("S", "SQ", "SINV"))
VERB_TAGS = frozenset(("MD", "TO", "VB", "VBD", "VBG", "VBN", "VBP", "VBZ", "BES", "HVS"))
_NOMINAL = frozenset(("NP", "QP", "NX", "NML", "NAC", "CIT"))
_PRONOUN_TAGS = frozenset(("PRP", "NN", "NNS", "NNP", "NNPS", "EX", "WP", "WDT", "DT", "CD"))
_COMPLEMENTS = _NOMINAL | {"ADJP", "PP", "ADVP", "UCP", "S", "SBAR", "WHADJP"}
_SEPARATORS = frozenset(("CC", ",", ":", "CONJP"))


@dataclass
class PredicateNodes:
    """A main verb of a tree with its arguments.

    `clause`: its clause, a constituent (a VP outside clauses: *sold here* in *the books sold here*). `core`: the
    S, SQ or SINV directly around the verb phrase, else that phrase. `verb`: the main verb or copula, a token. `group`:
    all tokens of the verb group, ascending: auxiliaries, negations, *to*, particle. `phrase`: the constituent that
    contains the verb and its objects. `subject`, `objects`, `complement` (of a copula), `agent` (after *by*),
    `clause_object`: nodes. `gap`: the role that a relative or question word has, or would have (*the book I read*):
    "subject", "object", "complement", None.
    """

    clause: int
    core: int
    verb: int
    group: tuple[int, ...]
    phrase: int
    subject: int | None = None
    objects: list[int] = field(default_factory=list)
    complement: int | None = None
    agent: int | None = None
    clause_object: int | None = None
    negated: bool = False
    passive: bool = False
    existential: bool = False
    gap: str | None = None


class PredicateFinder:
    """The predicates of one tree, in `found`, ordered by verb.

    `children`, `labels` (without function tags), `parents`: of the constituents. `words`: in lower case. `by_core`: the
    predicates directly in each S, SQ or SINV. `by_phrase`: the last predicate of each phrase. `by_clause`: the
    predicates of each clause.
    """

    def __init__(self, tree: Tree):
        self.tree = tree
        self.children = tree.child_lists()
        self.labels = [base_label(label) for label in tree.labels]
        self.parents = tree.parents()
        self.words = [word.lower() for word in tree.words]
        self.found: list[PredicateNodes] = []
        self.by_core: dict[int, list[PredicateNodes]] = {}
        self.by_phrase: dict[int, PredicateNodes] = {}
        self.by_clause: dict[int, list[PredicateNodes]] = {}
        self._n_clauses = [0] * len(self.labels)
        for k, above in enumerate(self.parents):
            if above >= 0 and self.labels[k] in CLAUSES:
                self._n_clauses[above] += 1
        self._clause_tops = list(range(len(self.labels)))
        for k, above in enumerate(self.parents):
            same = above >= 0 and self.extent(above) == self.extent(k) and self.labels[above] in CLAUSES
            if self.labels[k] in CLAUSES and (same or (above >= 0 and self.is_frame(above))):
                self._clause_tops[k] = self._clause_tops[above]
        for k, label in enumerate(self.labels):
            outer = self.labels[self.parents[k]] if k else ""
            if label in CORES:
                self._read_core(k)
            elif label == "VP" and outer not in CORES and outer != "VP":
                self._read_verb_phrase(k, k, None, ())
        for k in range(len(self.labels)):
            if self.labels[k] in FRAMES:
                fill_gap(self, k)
        for one in reversed(self.found):
            if one.subject is not None and not one.existential and self._is_there(one.subject):
                self._raise_existential(one)
        self.found.sort(key=lambda one: one.verb)

    def name(self, node: int) -> str:
        """The label of a constituent, the tag of a token."""
        return self.labels[node] if node >= 0 else self.tree.tags[~node]

    def extent(self, node: int) -> tuple[int, int]:
        """The range [start, end) of a node's tokens."""
        return (self.tree.starts[node], self.tree.ends[node]) if node >= 0 else (~node, ~node + 1)

    def clause_of(self, core: int) -> int:
        """The highest constituent that is the same clause: through unary chains and the frame of a single clause."""
        return self._clause_tops[core]

    def is_frame(self, k: int) -> bool:
        """Whether a constituent is an SBAR or SBARQ around a single clause."""
        return self.labels[k] in FRAMES and self._n_clauses[k] == 1

    def clauses_below(self, k: int) -> list[int]:
        """The clauses directly below a constituent."""
        return [child for child in self.children[k] if child >= 0 and self.labels[child] in CLAUSES]

    # ---- the parts of a clause ----

    def _read_core(self, k: int) -> None:
        """Read the verb groups directly below an S, SQ or SINV, with their subject."""
        kids = self.children[k]
        names = [self.name(kid) for kid in kids]
        phrases = [index for index, name in enumerate(names) if name == "VP"]
        verbs = [index for index, name in enumerate(names) if kids[index] < 0 and name in VERB_TAGS]
        clause = self.clause_of(k)
        first = self.tree.tags[~kids[verbs[0]]] if verbs else ""
        if verbs and self.labels[k] == "S" and not phrases and first in ("VB", "VBG", "VBN", "TO"):
            subject = self._subject_before(k, kids, names, verbs[0])  # a verb phrase without its VP
            self._add_verbs(clause, k, kids, names, verbs, (), subject, k)
            return
        if verbs and (not phrases or verbs[0] < phrases[0]):
            self._read_question(k, clause, kids, names, verbs, phrases)
            return
        if not phrases:
            return
        subject = self._subject_before(k, kids, names, phrases[0])
        if subject is None and self.labels[k] == "SINV":
            subject = next((kids[i] for i in range(phrases[-1] + 1, len(kids)) if self._is_nominal(kids[i])), None)
        for index in phrases:
            self._read_verb_phrase(clause, kids[index], subject, (), core=k)

    def _read_question(
        self, k: int, clause: int, kids: list[int], names: list[str], verbs: list[int], phrases: list[int]
    ) -> None:
        """Read a clause whose verb is before its subject: *did she come*, *is he a teacher*."""
        first = verbs[0]
        group = [~kids[i] for i in verbs if not phrases or i < phrases[0]]
        group += [~kids[i] for i in range(len(kids)) if kids[i] < 0 and self.words[~kids[i]] in words_of.NEGATIONS]
        nominal = [i for i in range(first + 1, len(kids)) if self._is_nominal(kids[i])]
        before = [i for i in range(first) if self._is_nominal(kids[i])]
        at = next((i for i in nominal if not phrases or i < phrases[0]), None)
        if at is None and before and names[before[-1]] in _NOMINAL:
            at = before[-1]
        if at is None and nominal and self.labels[k] == "SINV":
            at = nominal[0]
        subject = None if at is None else kids[at]
        if phrases:
            for index in phrases:
                self._read_verb_phrase(clause, kids[index], subject, tuple(sorted(group)), core=k)
            one = self.by_core.get(k, [None])[-1]
            fronted = [kids[i] for i in before if i != at and names[i] == "NP"]  # *not a word did she say*
            if one is not None and fronted and not (one.objects or one.passive or one.complement is not None):
                one.objects += [kid for kid in fronted[-1:] if not self.is_adverbial(kid, self.words[one.verb])]
            return
        rest = [kids[i] for i in range(first + 1, len(kids)) if i != at]
        self._add(clause, k, ~kids[verbs[-1]], tuple(sorted(group)), subject, rest, core=k)

    def _subject_before(self, k: int, kids: list[int], names: list[str], phrase: int) -> int | None:
        """The subject before a verb phrase: the nearest noun phrase, else a clause; not a name that is addressed."""
        first_verb = self._first_verb(kids[phrase])
        is_base = first_verb >= 0 and self.tree.tags[first_verb] == "VB"
        for index in range(phrase - 1, -1, -1):
            if self._is_nominal(kids[index]):
                commas = names[index + 1 : phrase].count(",")
                if commas % 2 and (is_base or self.tree.tags[first_verb] in ("VBG", "VBN")):
                    return None
                return kids[index]
        before = [i for i in range(phrase) if kids[i] >= 0 and (names[i] in CLAUSES or names[i] == "PP")]
        if before and before[-1] == phrase - 1 and names[before[-1]] in CLAUSES and self.labels[k] != "SINV":
            kid = kids[before[-1]]
            word = self.words[self.tree.starts[kid]]
            if names[before[-1]] == "S" or word in (
                "that",
                "whether",
                "what",
                "who",
                "how",
                "why",
                "whatever",
                "whoever",
            ):
                return kid
        return None

    def _first_verb(self, k: int) -> int:
        """The first verb of a verb phrase, a token; -1 if there is none."""
        stack = [k]
        while stack:
            node = stack.pop()
            if node < 0:
                if self.tree.tags[~node] in VERB_TAGS:
                    return ~node
            elif self.labels[node] == "VP":
                stack.extend(reversed(self.children[node]))
        return -1

    def _is_nominal(self, node: int) -> bool:
        return self.labels[node] in _NOMINAL if node >= 0 else self.tree.tags[~node] in _PRONOUN_TAGS

    # ---- verb groups ----

    def _read_verb_phrase(
        self, clause: int, k: int, subject: int | None, group: tuple[int, ...], core: int | None = None
    ) -> None:
        """Read the verbs of a verb phrase; `group`: the auxiliaries before it."""
        stack: list[tuple[int, int, int | None, tuple[int, ...], int | None]] = [(clause, k, subject, group, core)]
        while stack:
            clause, phrase, subject, before, core = stack.pop()
            kids = self.children[phrase]
            tags = [self.name(kid) for kid in kids]
            verbs = [i for i, kid in enumerate(kids) if kid < 0 and tags[i] in VERB_TAGS]
            below = [i for i, tag in enumerate(tags) if tag == "VP"]
            negations = [~kid for kid in kids if kid < 0 and self.words[~kid] in words_of.NEGATIONS]
            negations += [~adverb for kid in kids if (adverb := self._single_word(kid)) < 0 and kid >= 0
                          and self.words[~adverb] in words_of.NEGATIONS]  # fmt: skip
            if not verbs and below:
                for i in reversed(below):
                    stack.append((clause, kids[i], subject, (*before, *self._in_front(negations, kids[i])), core))
                continue
            if not verbs:
                head = next((~kid for kid in kids if kid < 0 and tags[kids.index(kid)][:2] in ("NN", "JJ", "FW")), None)
                if head is not None:
                    self._add(clause, phrase, head, (*before, head), subject, [x for x in kids if x != ~head], core)
                continue
            after = [i for i in below if i > verbs[0] and not self._is_adjective(kids[i], ~kids[verbs[-1]])]
            last = max((i for i in verbs if not after or i < after[0]), default=verbs[0])
            joined = bool(after) and any(tag == "CC" for tag in tags[last + 1 : after[0]])
            if after and not joined and self._is_auxiliary(~kids[last], tags[last]):
                group = (*before, *(~kids[i] for i in verbs if i <= last), *self._in_front(negations, kids[after[0]]))
                stack += [(clause, kids[i], subject, group, core) for i in reversed(after)]
                continue
            stop = after[0] if joined else len(kids)
            self._add_verbs(clause, phrase, kids[:stop], tags, verbs, (*before, *negations), subject, core)
            for i in reversed(after):
                if joined:
                    stack.append((clause, kids[i], subject, before, core))
                else:  # *stopped eating* without an S
                    stack.append((kids[i], kids[i], None, (), None))

    def _add_verbs(
        self, clause: int, phrase: int, kids: list[int], tags: list[str], verbs: list[int], before: tuple[int, ...],
        subject: int | None, core: int | None,
    ) -> None:  # fmt: skip
        """Add a predicate for each of the coordinated verbs (*buys and sells*) of a phrase."""
        runs: list[list[int]] = []
        for index in verbs:
            if index >= len(kids):
                continue
            between = tags[runs[-1][-1] + 1 : index] if runs else []
            if runs and not _SEPARATORS.intersection(between):
                runs[-1].append(index)
            else:
                runs.append([index])
        shared = tuple(~kids[i] for i in runs[0][:-1])
        rest = [kid for i, kid in enumerate(kids) if i > runs[-1][-1]]
        for run in runs:
            verb = ~kids[run[-1]]
            group = (*before, *shared, *(~kids[i] for i in run))
            self._add(clause, phrase, verb, tuple(sorted({*group})), subject, rest, core)

    def _is_auxiliary(self, token: int, tag: str) -> bool:
        return tag in ("MD", "TO") or self.words[token] in words_of.AUXILIARIES

    def _is_adjective(self, phrase: int, verb: int) -> bool:
        """Whether a VP after *be* has an adjective and no verb, so that it is a complement."""
        tags = [self.name(kid) for kid in self.children[phrase]]
        return (
            self.words[verb] in words_of.BE and "JJ" in tags and not VERB_TAGS.intersection(tags) and "VP" not in tags
        )

    def _in_front(self, tokens: list[int], node: int) -> list[int]:
        return [token for token in tokens if token < self.extent(node)[0]]

    def _single_word(self, node: int) -> int:
        """The only token of a phrase of one word, as a node; `node` itself for others."""
        return ~self.extent(node)[0] if node >= 0 and self.extent(node)[1] - self.extent(node)[0] == 1 else node

    def _add(
        self, clause: int, phrase: int, verb: int, group: tuple[int, ...], subject: int | None, rest: list[int],
        core: int | None = None,
    ) -> None:  # fmt: skip
        """Add a predicate. `rest`: the nodes after its verb."""
        one = PredicateNodes(clause, phrase if core is None else core, verb, group, phrase, subject)
        for kid in rest:
            if kid >= 0 and self.labels[kid] == "PRT":
                one.group = (*one.group, *range(*self.extent(kid)))
        one.group = tuple(sorted({*one.group, verb}))
        words = [self.words[i] for i in one.group]
        one.negated = any(word in words_of.NEGATIONS for word in words)
        one.passive = self._is_passive(one, rest)
        self._read_objects(one, rest)
        self.found.append(one)
        self.by_phrase[phrase] = one
        self.by_core.setdefault(one.core, []).append(one)
        self.by_clause.setdefault(clause, []).append(one)

    def _is_passive(self, one: PredicateNodes, rest: list[int]) -> bool:
        """Whether a participle is after *be* or *get*, or without auxiliary (*the books sold here*)."""
        if self.tree.tags[one.verb] != "VBN":
            return False
        before = [i for i in one.group if i < one.verb and self.words[i] not in words_of.NEGATIONS]
        if not before:  # *passed* in *A man passed* may have the wrong tag
            above = self.parents[one.core]
            return one.subject is None or (above >= 0 and self.labels[above] in ("PP", "VP", "NP", "ADJP"))
        last = self.words[before[-1]]
        if last in words_of.IS_OR_HAS and self.tree.tags[before[-1]] != "POS":
            return self.words[one.verb] not in words_of.NOT_PASSIVE and not any(self._is_nominal(x) for x in rest)
        return last in words_of.BE or last in words_of.GET

    # ---- objects ----

    def _read_objects(self, one: PredicateNodes, rest: list[int]) -> None:
        """Set objects, complement, agent, clause, and the subject after *there is*."""
        verb = self.words[one.verb]
        nominal = [kid for kid in rest if self._is_nominal(kid)]
        if one.subject is not None and self._is_there(one.subject) and nominal:
            one.existential = True
            one.subject = nominal[0]
            return
        is_linking = verb in words_of.LINKING and not (one.passive and verb not in words_of.BE)
        if is_linking:
            kinds = _COMPLEMENTS | {"VP"}
            one.complement = next((kid for kid in rest if self.name(kid) in kinds or kid in nominal), None)
            return
        for kid in nominal:
            if not self.is_adverbial(kid, verb, bool(one.objects)):
                one.objects.append(kid)
        if verb in words_of.NAMING and len(one.objects) > 1 - one.passive:
            one.complement = one.objects.pop()
        for kid in rest:
            if kid >= 0 and self.labels[kid] == "PP" and one.passive and one.agent is None:
                one.agent = self._agent(kid)
            if kid >= 0 and self.labels[kid] == "S":
                embedded = self._object_in(kid, verb)
                if embedded is not None and not one.objects:
                    one.objects.append(embedded)
                elif one.clause_object is None:
                    one.clause_object = kid
            elif kid >= 0 and self.labels[kid] in CLAUSES and one.clause_object is None:
                one.clause_object = kid

    def _is_there(self, node: int) -> bool:
        start, end = self.extent(node)
        return end - start == 1 and self.tree.tags[start] == "EX"

    def _raise_existential(self, one: PredicateNodes) -> None:
        """Set the subject of *there used to be a mill* and of its infinitive."""
        clause = one.complement if one.clause_object is None else one.clause_object
        below = [] if clause is None else self.by_core.get(clause, [])
        for inner in below:
            if inner.complement is not None and self.words[inner.verb] in words_of.BE:
                inner.subject, inner.complement, inner.existential = inner.complement, None, True
            if inner.subject is not None:
                one.subject, one.existential = inner.subject, True

    def _agent(self, phrase: int) -> int | None:
        kids = self.children[phrase]
        if kids[0] < 0 and self.words[~kids[0]] == "by":
            return next((kid for kid in kids[1:] if self._is_nominal(kid)), None)
        return None

    def _object_in(self, clause: int, above: str) -> int | None:
        """The noun phrase of a clause without finite verb, which is the object of the verb above: *made him happy*,
        *want him to go*, *kept him waiting*; None for another clause. `above`: the verb above."""
        kids = self.children[clause]
        if not kids or not self._is_nominal(kids[0]):
            return None
        phrase = next((kid for kid in kids if kid >= 0 and self.labels[kid] == "VP"), None)
        if phrase is None:
            return kids[0]
        verb = self._first_verb(phrase)
        tag = self.tree.tags[verb] if verb >= 0 else ""
        return kids[0] if tag in ("TO", "VB", "VBN") or (tag == "VBG" and above in words_of.KEEPING) else None

    def is_adverbial(self, node: int, verb: str, has_object: bool = False) -> bool:
        """Whether a noun phrase says when, how long or how far."""
        if node < 0:
            return self.words[~node] in words_of.TIME_NOUNS and self.tree.tags[~node] not in ("PRP", "DT")
        k = node
        while (inner := self.children[k][0]) >= 0 and self.labels[inner] in _NOMINAL and self.labels[k] in _NOMINAL:
            k = inner
        last = self.tree.ends[k] - 1
        while last > self.tree.starts[k] and self.tree.tags[last] in (".", ",", ":", "POS", "RB", "IN", "CD", "''"):
            last -= 1
        if self.tree.tags[last] in ("PRP", "PRP$") and self.words[last].endswith(("self", "selves")):
            return False
        if self.words[last] not in words_of.TIME_NOUNS:
            return False
        first = self.words[self.tree.starts[k]]
        if first in words_of.WHEN or (last == self.tree.starts[k] and self.tree.tags[last] in ("NN", "NNP")):
            return verb not in words_of.SPENDING
        return verb not in (words_of.DITRANSITIVE | words_of.SPENDING if has_object else words_of.TAKES_TIME)
