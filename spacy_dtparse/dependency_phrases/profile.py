"""Profiles of the rules: which phrases there are, and the words and relations of languages that they need."""

import json
from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path
from typing import Any

from ..errors import ConfigError

FOLDER = Path(__file__).parent / "profiles"
UNIVERSAL = "universal"


@dataclass(frozen=True)
class Profile:
    """Options of the rules. All sets are of relations without subtypes, or of words in lower case.

    `word_relations`: dependents that are no phrase. `small_relations`: dependents that are a phrase only if they have
    more than one word; all others are always phrases. `nominal_relations`: their dependents are noun phrases whatever
    their part of speech is. `infinitive_markers`: a marker that is one of these, or a particle, opens a verb phrase and
    no SBAR. `question_words`: pronouns and adverbs that open questions and relative clauses, where the morphology does
    not say so (PronType); `relative_words`: those that only open relative clauses. `subordinators`: markers of gerunds
    that open an SBAR and no PP (`gerund_phrases`). `sentence_adverbs`: adverbs before an adjective that do not belong
    to its phrase; `focus_adverbs`: those before a predicate noun that do. `verb_suffixes`: auxiliaries and markers
    after a verb that have no phrase of their own.

    `flat_coordination`: nouns without modifiers are coordinated without a phrase each. `adverbs_beside_verb`: an adverb
    before the first verb is beside the verb phrase. `adverbs_beside_participle`: an adverb between an auxiliary and the
    verb is beside the inner verb phrase. `unmarked_clauses`: a clause that depends on a verb, or a relative clause, has
    an SBAR even without a marker. `gerund_phrases`: an adposition before a gerund opens a PP. `small_clauses`: an
    object and the predicate after it are a clause. `question_marks`: a question mark is enough for an SQ.
    `chained_conjuncts`: a conjunct of a conjunct belongs to the first one. `flat_complements`: a clause that completes
    a noun (*the wish to go*) is in its innermost phrase. `plain_subjects`: a question word that is the subject is an
    NP. `clitic_pronouns`: an object pronoun before a finite verb is in its VP, as in *je le vois*, and not fronted.
    `noun_obliques`: an oblique after a predicate noun is in its NP (*is [a company in the city]*), for treebanks that
    have `obl` in place of `nmod` for prepositional phrases. `possessive_phrases`: a possessive pronoun before its noun
    is an NP, where it is the genitive of a personal pronoun.
    """

    name: str = UNIVERSAL
    word_relations: frozenset[str] = frozenset()
    small_relations: frozenset[str] = frozenset()
    nominal_relations: frozenset[str] = frozenset()
    infinitive_markers: frozenset[str] = frozenset()
    question_words: frozenset[str] = frozenset()
    relative_words: frozenset[str] = frozenset()
    subordinators: frozenset[str] = frozenset()
    sentence_adverbs: frozenset[str] = frozenset()
    focus_adverbs: frozenset[str] = frozenset()
    verb_suffixes: frozenset[str] = frozenset()
    flat_coordination: bool = False
    adverbs_beside_verb: bool = False
    adverbs_beside_participle: bool = False
    unmarked_clauses: bool = False
    gerund_phrases: bool = False
    small_clauses: bool = False
    question_marks: bool = True
    chained_conjuncts: bool = False
    flat_complements: bool = False
    plain_subjects: bool = False
    clitic_pronouns: bool = True
    noun_obliques: bool = False
    possessive_phrases: bool = False


PROFILES = (UNIVERSAL, "penn", "gum")


@cache
def load_profile(name: str = UNIVERSAL, lang: str = "", chained_conjuncts: bool = False) -> Profile:
    """Load a profile with the words of a language (a code, "" or an unknown one for none). `chained_conjuncts`: see
    `Profile`. Raises ConfigError for an unknown profile."""
    if name not in PROFILES:
        raise ConfigError(f"profile = {name!r}; allowed are {', '.join(map(repr, PROFILES))}")
    data = _read(name)
    while base := data.pop("base", None):
        data = _read(base) | data
    for key, value in _read("languages").get(lang.partition("-")[0], {}).items():
        data[key] = [*data.get(key, []), *value] if isinstance(value, list) else value
    data["chained_conjuncts"] = chained_conjuncts
    known = {field.name for field in fields(Profile)}
    assert known.issuperset(data), sorted(set(data) - known)
    values: dict[str, Any] = {
        key: frozenset(value) if isinstance(value, list) else value for key, value in data.items()
    }
    return Profile(**values)


def _read(name: str) -> dict[str, Any]:
    return dict(json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8")))
