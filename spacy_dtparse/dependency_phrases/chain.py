"""The chain of phrases of one head: the ranks of its dependents, and the labels of its levels."""

from bisect import bisect_right
from collections.abc import Iterator

from .clauses import find_correlate, has_conjunction, has_unmarked_frame, heads_clause, is_infinite, is_inverted
from .sentence import ADJECTIVE, ADVERB, AUXILIARIES, INTERJECTION, NOUN, SUBJECTS, VERB, Sentence

# Ranks. BASE to CASE_CONJUNCT: in the phrase of a noun, adjective or adverb. The others: in a clause. Dependents after
# a conjunct have its rank plus one. Auxiliaries are nested: the k-th has the rank AUXILIARY + 2 * k.
BASE, MODIFIER, CONJUNCT, CASE, CASE_CONJUNCT = 0, 10, 14, 20, 30
VERB_PHRASE, VERB_CONJUNCT, AUXILIARY, PREDICATE_CONJUNCT = 40, 42, 50, 92
CLAUSE, CLAUSE_CONJUNCT, MARKER, MARKER_CONJUNCT, OUTER_VERB, OUTER_CLAUSE = 100, 102, 110, 130, 140, 150
CORRELATE, CORRELATE_CASE = 160, 170
_CONJUNCTS = frozenset((CONJUNCT, CASE_CONJUNCT, VERB_CONJUNCT, PREDICATE_CONJUNCT, CLAUSE_CONJUNCT, MARKER_CONJUNCT))
_MAX_AUXILIARIES = 15
_BASE = frozenset(("det", "amod", "nummod", "compound", "flat", "fixed", "goeswith", "clf"))
_IN_NOUN_PHRASE = _BASE | {"nmod", "appos", "acl", "case", "reparandum"}
_WORDS_BESIDE_NOUN = frozenset(("nmod:unmarked", "nmod:desc", "nmod:npmod"))
"""Relations of nouns and numbers that are no phrase if they are one word: *July* 1805, *General* Grant."""
_WORD_PARTS = frozenset(("compound", "flat", "fixed", "goeswith"))
_COMPLEMENTS = frozenset(("obj", "iobj", "obl", "xcomp", "ccomp"))
_BESIDE_CLAUSE = frozenset(("discourse", "vocative", "dislocated", "parataxis", "list", "cc"))
_PHRASES = {NOUN: "NP", ADJECTIVE: "ADJP", ADVERB: "ADVP", INTERJECTION: "INTJ"}


def after_conjunct(rank: int) -> int:
    """The rank of a dependent that is at least as high as one of this rank nearer to the head."""
    return rank + 1 if rank in _CONJUNCTS else rank


class Chain:
    """The chain of phrases of token `h`."""

    __slots__ = (
        "_conjuncts", "base", "correlate", "frame", "h", "in_clause", "is_clause", "is_verb", "n_aux", "s",
        "verb_phrase",
    )  # fmt: skip

    def __init__(self, s: Sentence, h: int):
        self.s, self.h = s, h
        kind, role = s.kinds[h], s.roles[h]
        self.is_verb = kind == VERB
        self.is_clause = s.is_clause[h]
        self.n_aux = 0
        self._conjuncts: list[int] | None = None  # after the head, once they are needed
        self.frame = "SBAR"
        self.correlate = find_correlate(s, h) if self.is_clause and s.before[h] else -1
        self.base = self._base_label(kind, role)
        if self.is_verb:
            self.verb_phrase = VERB_PHRASE
        elif s.has_aux[h]:
            self.verb_phrase = AUXILIARY
        else:
            self.verb_phrase = CLAUSE if self.is_clause else MODIFIER if kind == NOUN else BASE
        self.in_clause = CLAUSE if self.is_clause else self.verb_phrase

    def _base_label(self, kind: int, role: str) -> str:
        """The label of the innermost phrase, "" for none."""
        s, h = self.s, self.h
        profile = s.profile
        relation = s.full_relations[h]
        if relation == "compound:prt":
            return "PRT"
        if role == "case" and s.heads[h] < h and s.kinds[s.heads[h]] == VERB:
            return "PP" if s.pos[h] == "ADP" else ""  # *whom they look at*
        if role == "cc" and s.after[h]:
            return "CONJP"
        if s.is_flat[h] and s.relations[h] == "conj":
            return ""
        if kind == VERB:
            return "" if role in profile.word_relations and not s.is_clause[h] else "VP"
        is_single = not s.before[h] and not s.after[h]
        if kind == INTERJECTION and is_single and s.heads[h] >= 0 and not s.is_set_off(h):
            return ""
        if role in profile.word_relations and not s.is_clause[h]:
            return ""
        if kind == NOUN and s.before[h] and s.pos[s.before[h][-1]] == "SYM" and s.relations[s.before[h][-1]] == "case":
            return ""
        if is_single:
            if role in profile.small_relations:
                return ""
            if kind == ADVERB and not s.is_wh[h]:
                above = s.heads[h]
                kind_above = s.kinds[above] if above >= 0 else VERB
                in_clause = above < 0 or s.is_clause[above]
                if kind_above in (ADJECTIVE, ADVERB) and (self._is_degree(h) or not in_clause):
                    return ""
                if kind_above == NOUN and s.lower[h] in profile.focus_adverbs:
                    return ""
                if kind_above == NOUN and not in_clause and not s.is_before_case(h):
                    return ""
                if "Polarity=Neg" in s.features[h]:
                    return ""
            if (relation in _WORDS_BESIDE_NOUN and s.is_beside_noun(h)) or (
                kind == NOUN and relation == "advmod" and s.pos[h] == "DET"
            ):
                return ""
            if relation.endswith((":npmod", ":unmarked")) and s.kinds[s.heads[h]] in (ADJECTIVE, ADVERB):
                return ""
            is_word = relation == "expl:pv" or (
                relation == "nmod:poss" and h < s.heads[h] and not s.profile.possessive_phrases
            )
            if is_word and kind == NOUN and s.pos[h] in ("PRON", "DET"):
                return ""
        if s.pos[h] == "NUM" and role in ("nummod", "amod", "advmod", "dep"):
            return "QP"
        label = _PHRASES.get(kind, "")
        if not label:
            if (is_single and s.pos[h] == "PART") or s.pos[h] in ("CCONJ", "CONJ"):
                return ""
            if heads_clause(s, h):
                return "SBAR"
            label = "ADVP" if role in ("advmod", "advcl") else "PP" if s.pos[h] == "ADP" else "X"
        if not s.is_wh[h] or kind == INTERJECTION or (s.profile.plain_subjects and s.relations[h] == "nsubj"):
            return label
        return "WH" + label

    # ---- ranks ----

    def ranks_before(self) -> Iterator[tuple[int, int]]:
        """The rank and position of each dependent before the head, from the nearest on."""
        s, h = self.s, self.h
        dependents = s.before[h]
        relations = s.relations
        farthest_aux = farthest_subject = farthest_marker = h
        for d in dependents:
            relation = relations[d]
            if relation in AUXILIARIES:
                farthest_aux = d
            elif relation in SUBJECTS:
                farthest_subject = d
            elif relation == "mark" and s.is_infinitive_marker(d):
                farthest_aux = d
            elif relation == "mark" or s.is_wh[d]:
                farthest_marker = d
        is_finite = self.is_verb and self.is_clause and farthest_marker == h and not is_infinite(s, h)
        has_outer = any(s.full_relations[d].endswith(":outer") for d in dependents)
        inner = True
        for d in dependents:
            relation = relations[d]
            inner = inner and relation not in SUBJECTS and relation != "mark"
            if relation in _BESIDE_CLAUSE:
                yield self._rank_of_partner(d), d
            elif d == self.correlate:
                yield CORRELATE, d
            elif relation == "case" and d < self.correlate:
                yield CORRELATE_CASE, d
            elif has_outer and relation in SUBJECTS and s.full_relations[d].endswith(":outer"):
                yield OUTER_CLAUSE, d
            elif has_outer and relation in AUXILIARIES and not inner:
                yield OUTER_VERB, d
            elif relation in AUXILIARIES:
                yield self._next_aux(), d
            elif relation == "mark" and s.kinds[h] == NOUN and not self.is_clause and s.is_infinitive_marker(d):
                yield CASE, d  # *back to work*
            elif relation == "mark" and s.is_infinitive_marker(d):
                yield self._next_aux(), d
            elif relation == "mark" or (s.is_wh[d] and (self.is_clause or self.is_verb)):
                yield self._marker(d), d
            elif relation in SUBJECTS or s.full_relations[d] in ("expl", "expl:subj"):
                yield self.in_clause, d
            elif relation == "case":
                yield self._case(d), d
            elif relation in _WORD_PARTS:
                yield BASE, d
            elif not self.is_verb and (relation in _IN_NOUN_PHRASE or not self.is_clause):
                yield (MODIFIER if relation in ("acl", "advcl") and s.kinds[h] == NOUN else BASE), d
            elif not self.is_verb and s.kinds[h] == NOUN and s.lower[d] in s.profile.focus_adverbs:
                yield BASE, d
            elif not self.is_verb and relation == "advmod" and s.kinds[h] != NOUN and self._is_degree(d):
                yield BASE, d
            elif s.kinds[h] == ADJECTIVE and not s.has_aux[h] and relation == "obl" and h > d > farthest_subject:
                yield BASE, d  # Chinese: *taller than me*
            else:
                yield self._rank_before_verb(d, farthest_aux, farthest_subject, is_finite), d

    def _rank_before_verb(self, d: int, farthest_aux: int, farthest_subject: int, is_finite: bool) -> int:
        """The rank of an object, modifier or adverb before a predicate."""
        s = self.s
        profile, relation = s.profile, s.relations[d]
        is_adverb = relation == "advmod"
        inner = self.verb_phrase
        if self.n_aux:
            inner = AUXILIARY + 2 * (self.n_aux - 1)
        if d > farthest_aux:  # between an auxiliary and the verb
            if is_adverb and profile.adverbs_beside_participle:
                return AUXILIARY + 2 * self.n_aux
            return inner
        if d > farthest_subject and is_adverb and profile.adverbs_beside_verb and not self._is_negative(d):
            return CLAUSE if farthest_subject < self.h and self.is_clause else inner
        if not is_finite or d > farthest_subject:
            return inner
        is_clitic = s.pos[d] in ("PRON", "PART") and relation in ("obj", "iobj", "expl", "obl", "advmod")
        if s.pos[d] == "PRON" and not profile.clitic_pronouns:
            is_clitic = relation == "expl"
        return inner if is_clitic or (is_adverb and self._is_negative(d)) else CLAUSE

    def ranks_after(self) -> Iterator[tuple[int, int]]:
        """The rank and position of each dependent after the head, from the nearest on."""
        s, h = self.s, self.h
        relations = s.relations
        is_noun = s.kinds[h] == NOUN
        has_expletive = any(relations[d] == "expl" for d in s.before[h])
        last_complement = next((d for d in reversed(s.after[h]) if relations[d] in _COMPLEMENTS), -1)
        for d in s.after[h]:
            relation = relations[d]
            if relation == "conj":
                yield self._conjunct(d), d
            elif relation in AUXILIARIES:
                is_suffix = self.is_verb and (last_complement > d or s.lower[d] in s.profile.verb_suffixes)
                yield (VERB_PHRASE if is_suffix else self._next_aux()), d
            elif relation in SUBJECTS:
                yield (self.verb_phrase if has_expletive or not self.is_clause else CLAUSE), d
            elif relation in _BESIDE_CLAUSE:
                yield self._rank_of_partner(d), d
            elif relation == "mark":
                yield self._marker(d), d
            elif relation == "case":
                yield (VERB_PHRASE if self.is_verb else self._case(d)), d
            elif relation in _WORD_PARTS and s.full_relations[d] != "compound:prt":
                yield BASE, d
            elif self.is_verb:
                yield (CLAUSE if s.start_is_new(d) and self.is_clause else VERB_PHRASE), d
            elif relation in _BASE:
                yield (MODIFIER if relation == "amod" and is_noun and s.after[d] else BASE), d
            elif s.full_relations[d] in _WORDS_BESIDE_NOUN and s.is_beside_noun(d):
                yield BASE, d
            elif s.is_free[h] and "relcl" in s.full_relations[d]:
                yield MODIFIER, d
            elif s.profile.flat_complements and s.full_relations[d] == "acl" and s.is_clause[d]:
                yield BASE, d
            elif relation in _IN_NOUN_PHRASE or not (self.is_clause or s.has_aux[h]) or self._is_noun_oblique(d):
                yield (MODIFIER if is_noun else BASE), d
            elif not is_noun and relation in ("obl", "xcomp", "ccomp", "advcl", "advmod", "obj"):
                yield BASE, d
            else:
                yield self.verb_phrase, d

    def _is_noun_oblique(self, d: int) -> bool:
        """Whether a dependent of a predicate noun modifies the noun, where its relation does not say so."""
        s = self.s
        return s.profile.noun_obliques and s.kinds[self.h] == NOUN and s.relations[d] == "obl"

    def _next_aux(self) -> int:
        rank = AUXILIARY + 2 * self.n_aux
        self.n_aux = min(self.n_aux + 1, _MAX_AUXILIARIES)
        return rank

    def _case(self, d: int) -> int:
        s = self.s
        if s.pos[d] == "SYM":  # 1871 - 72
            return BASE
        if self.is_verb:
            self.frame = "PP"
            return MARKER
        if s.relations[self.h] == "nmod" and s.pos[d] == "PART" and d > self.h:  # the child 's book
            return BASE
        return CASE

    def _marker(self, d: int) -> int:
        s = self.s
        if s.profile.gerund_phrases and s.lower[d] not in s.profile.subordinators:
            feature = s.features[self.h]
            is_gerund = "VerbForm=Ger" in feature or ("VerbForm=Part" in feature and "Tense=Pres" in feature)
            if (is_gerund and not s.has_subject[self.h]) or s.lower[d] in ("with", "without"):
                self.frame = "PP"
        return MARKER

    def _is_degree(self, d: int) -> bool:
        s = self.s
        return d == s.heads[d] - 1 and not self._is_negative(d) and s.lower[d] not in s.profile.sentence_adverbs

    def _is_negative(self, d: int) -> bool:
        return "Polarity=Neg" in self.s.features[d] or self.s.pos[d] == "PART"

    def _rank_of_partner(self, d: int) -> int:
        """The rank of a conjunction, that of its conjunct; of another dependent beside the clause."""
        s = self.s
        partner = s.partner[d]
        if partner < 0 and s.relations[d] == "cc":
            if self._conjuncts is None:
                self._conjuncts = [k for k in s.after[self.h] if s.relations[k] == "conj"]
            later = bisect_right(self._conjuncts, d)
            partner = self._conjuncts[later] if later < len(self._conjuncts) else -1
        if partner >= 0:
            return self._conjunct(partner)
        if s.relations[d] == "parataxis" and d > self.h and self.is_clause and s.is_clause[d] and not s.in_brackets[d]:
            return CLAUSE_CONJUNCT
        if s.in_brackets[d] and d > self.h and self.is_verb:
            return VERB_PHRASE
        if self.is_clause or s.roles[self.h] == "root":
            return CLAUSE
        if self.is_verb:
            return VERB_PHRASE
        return MODIFIER if s.kinds[self.h] == NOUN else BASE

    def _conjunct(self, d: int) -> int:
        """The level at which a conjunct is coordinated."""
        s, h = self.s, self.h
        if s.is_flat[h] and s.is_flat[d]:
            return VERB_PHRASE if self.is_verb else BASE
        is_predicate = s.kinds[d] == VERB or s.has_aux[d]
        if s.is_clause[d] and (self.is_clause or self.is_verb):
            if s.has_marker[d] and s.has_marker[h]:
                return MARKER_CONJUNCT
            return CLAUSE_CONJUNCT
        if self.is_verb or (is_predicate and self.is_clause):
            if not s.has_aux[h]:
                return VERB_CONJUNCT if self.is_verb else PREDICATE_CONJUNCT
            has_own = s.has_aux[d] or "VerbForm=Fin" in s.features[d]
            return PREDICATE_CONJUNCT if has_own or not self.is_verb else VERB_CONJUNCT
        if s.nearest_case[h] >= 0 and any(s.relations[k] == "case" for k in (*s.before[d], *s.after[d])):
            return CASE_CONJUNCT
        return CONJUNCT

    # ---- labels ----

    def needed_ranks(self) -> tuple[int, ...]:
        """The levels that are phrases even without dependents."""
        s, h = self.s, self.h
        base: tuple[int, ...] = ()
        if self.is_verb:
            base = (VERB_PHRASE,) if self.base else ()
        elif self.base and (s.roles[h] not in s.profile.small_relations or not (s.before[h] or s.after[h])):
            base = (BASE, MODIFIER) if self.base == "SBAR" else (BASE,)
        if not self.is_clause:
            return base
        return (*base, CLAUSE) if not has_unmarked_frame(s, h) else (*base, CLAUSE, MARKER)

    def label(self, rank: int) -> str:
        """The label of a level, "" for no phrase."""
        s, h = self.s, self.h
        if rank < CASE:
            if s.is_free[h] and rank >= MODIFIER:
                return "SBAR"
            if self.base == "SBAR" and rank >= MODIFIER:
                return "NP"
            return "" if self.is_verb else self.base
        if rank < VERB_PHRASE:
            return "WHPP" if s.is_wh[h] and not s.is_free[h] else "PP"
        if rank < CLAUSE:
            return "VP" if self.base else ""
        if rank < MARKER:
            if self.is_clause or any(s.relations[k] == "parataxis" and s.is_clause[k] for k in s.after[h]):
                return self._clause_label()
            return "VP" if self.is_verb else "FRAG"
        if rank >= CORRELATE:
            return "NP" if rank < CORRELATE_CASE else "PP"
        if rank >= MARKER_CONJUNCT:
            return "SBAR" if rank < OUTER_VERB else "VP" if rank < OUTER_CLAUSE else "S"
        return self._frame_label()

    def _is_root(self) -> bool:
        s = self.s
        return s.roles[self.h] in ("root", "parataxis")

    def _clause_label(self) -> str:
        s, h = self.s, self.h
        if not self._is_root() or not s.is_question:
            return "S"
        if s.has_marker[h] and not has_conjunction(s, h):
            return "SQ"
        return "SQ" if s.profile.question_marks or is_inverted(s, h) else "S"

    def _frame_label(self) -> str:
        if self.frame != "SBAR":
            return self.frame
        is_question = self._is_root() and self.s.is_question
        return "SBARQ" if is_question and not has_conjunction(self.s, self.h) else "SBAR"

    def add_predicate_question(self, spans: list[tuple[int, int, int, str]], start: int, end: int) -> bool:
        """Add the phrases of a clause whose predicate is its question word (*who he is*), if `h` is one: the phrase of
        the word, the clause beyond it, and the SBAR or SBARQ over both."""
        s, h = self.s, self.h
        if not (self.is_clause and s.is_wh[h] and s.has_aux[h]) or any(s.relations[k] in SUBJECTS for k in s.before[h]):
            return False
        phrase = [k for k in s.before[h] if s.relations[k] in _IN_NOUN_PHRASE]
        rest = [k for k in s.after[h] if s.relations[k] in AUXILIARIES or s.relations[k] in SUBJECTS]
        if not rest or len(phrase) < len(s.before[h]):
            return False
        beyond = s.starts[rest[0]]
        if self.base:
            spans.append((start, -beyond, -BASE, self.base))
        spans.append((beyond, -end, -CLAUSE, "SQ" if self._is_root() and s.is_question else "S"))
        spans.append((start, -end, -MARKER, self._frame_label()))
        return True
