"""Kinds of clauses, by the head `h` of a clause in a sentence `s`."""

from .sentence import AUXILIARIES, SUBJECTS, Sentence


def find_correlate(s: Sentence, h: int) -> int:
    """The pronoun that stands for a clause in the sentence above it, as in Icelandic *með [því að fara]*, "by [it,
    to go]", -1 for none: a modifier as only nouns have, before the marker of a clause with the relation of a noun."""
    if s.relations[h] not in s.profile.nominal_relations:
        return -1
    before = s.before[h]
    found = next((d for d in before if s.pos[d] in ("PRON", "DET") and s.relations[d] in ("nmod", "det")), -1)
    has_marker = any(d > found and s.relations[d] == "mark" for d in before)
    return found if has_marker and not s.is_wh[found] else -1


def heads_clause(s: Sentence, h: int) -> bool:
    """Whether the head is a conjunction with the relation of a noun and a clause of its own: *speaks of [that …]*."""
    is_nominal = s.pos[h] == "SCONJ" and s.relations[h] in s.profile.nominal_relations
    return is_nominal and any(s.is_clause[d] for d in s.after[h])


def is_infinite(s: Sentence, h: int) -> bool:
    """Whether the head is an infinitive, gerund or converb without subject and auxiliary: nothing is fronted, so
    all that is before it is in its VP."""
    if s.has_subject[h] or s.has_aux[h]:
        return False
    return any(f"VerbForm={form}" in s.features[h] for form in ("Inf", "Ger", "Conv"))


def has_unmarked_frame(s: Sentence, h: int) -> bool:
    """Whether a clause has an SBAR without a marker (see `Profile.unmarked_clauses`)."""
    if not s.profile.unmarked_clauses or not s.has_subject[h] or s.relations[h] == "conj":
        return False
    if "relcl" in s.full_relations[h] and s.is_free[s.heads[h]]:
        return False
    if "relcl" in s.full_relations[h]:
        return True
    return s.relations[h] == "ccomp" and (s.has_aux[h] or "VerbForm=Fin" in s.features[h])


def is_inverted(s: Sentence, h: int) -> bool:
    """Whether an auxiliary is before the subject."""
    subject = next((k for k in (*s.before[h], *s.after[h]) if s.relations[k] in SUBJECTS), -1)
    return any(s.relations[k] in AUXILIARIES and k < subject for k in s.before[h])


def has_conjunction(s: Sentence, h: int) -> bool:
    """Whether a conjunction opens the clause."""
    return any(s.relations[k] == "mark" and not s.is_infinitive_marker(k) for k in s.before[h])
