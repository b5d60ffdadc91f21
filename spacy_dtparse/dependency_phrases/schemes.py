"""Label schemes of dependency parsers, and their conversion to the relations of Universal Dependencies."""

import json
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

from ..errors import ConfigError

UNIVERSAL, CLEARNLP = "universal", "clearnlp"
SCHEMES = ("auto", UNIVERSAL, CLEARNLP)
_MAX_UNKNOWN = 0.2
"""Fraction of unknown labels above which a parse counts as one of another scheme."""

_FEATURES_OF_TAGS = {
    "VERB": "VerbForm", "AUX": "VerbForm", "PRON": "PronType", "DET": "PronType", "ADV": "PronType",
}  # fmt: skip


class _Tables(NamedTuple):
    universal: frozenset[str]
    older: dict[str, str]
    clearnlp: dict[str, str]
    clearnlp_only: frozenset[str]
    tiger: frozenset[str]


@cache
def _tables() -> _Tables:
    data = json.loads((Path(__file__).parent / "schemes.json").read_text(encoding="utf-8"))
    return _Tables(
        frozenset(data["universal"]), data["older"], data["clearnlp"], frozenset(data["clearnlp_only"]),
        frozenset(data["tiger"]),
    )  # fmt: skip


def find_scheme(labels: Iterable[str]) -> str:
    """Return the scheme of a parser's labels, UNIVERSAL or CLEARNLP. Universal Dependencies of version 1 count as
    UNIVERSAL. Raises ConfigError, which names the scheme if it is known, for others."""
    tables, labels = _tables(), {label.lower() for label in labels if label}
    if labels & tables.clearnlp_only:
        return CLEARNLP
    known = tables.universal | set(tables.older)
    unknown = sorted(label for label in labels if label.partition(":")[0] not in known)
    if len(unknown) <= _MAX_UNKNOWN * len(labels):
        return UNIVERSAL
    if tables.clearnlp.keys() >= set(unknown):
        return CLEARNLP
    shown = ", ".join(unknown[:6])
    scheme = (
        f"those of the TIGER treebank ({shown})"
        if tables.tiger.issuperset(unknown)
        else f"of no known scheme ({shown})"
    )
    raise ConfigError(
        f"the dependency labels are {scheme}; phrases can be made of Universal Dependencies and of ClearNLP's labels, "
        "those of spaCy's English pipelines. Use a parser that was trained with Universal Dependencies, of spaCy, "
        "Stanza or UDPipe"
    )


def to_universal(
    scheme: str, pos: Sequence[str], heads: Sequence[int], labels: Sequence[str]
) -> tuple[list[int], list[str]]:
    """Return heads and relations of Universal Dependencies for a sentence with the labels of a scheme.

    `heads`: 0-based, -1 for the root. With ClearNLP's labels the object of a preposition becomes its head, as in
    Universal Dependencies; a copula stays the head of its clause.
    """
    tables = _tables()
    if scheme == UNIVERSAL:
        return list(heads), [_universal(tables, label) for label in labels]
    heads, relations = list(heads), [label.lower() for label in labels]
    n = len(heads)
    complements: dict[int, int] = {}
    for i, relation in enumerate(relations):
        if relation in ("pobj", "pcomp") and 0 <= heads[i] < n and heads[i] != i:
            complements.setdefault(heads[i], i)
    given = list(relations)
    for i, relation in enumerate(given):
        relations[i] = tables.clearnlp.get(relation, _universal(tables, relation))
    for i in sorted(complements):
        complement, above = complements[i], heads[i]
        is_clause = given[complement] == "pcomp" and pos[complement] in ("VERB", "AUX")
        if given[i] not in ("prep", "agent", "dative", "conj"):
            continue
        is_noun = 0 <= above < n and pos[above] in ("NOUN", "PROPN", "PRON", "NUM", "DET", "SYM", "X")
        if given[i] == "conj":
            relations[complement] = "conj"
        elif is_clause:
            relations[complement] = "acl" if is_noun else "advcl"
        else:
            relations[complement] = "nmod" if is_noun else "obl"
        heads[complement], heads[i] = above, complement
        relations[i] = "mark" if is_clause else "case"
        for k in range(n):
            if heads[k] == i and k != complement:
                heads[k] = complement
    return heads, relations


def _universal(tables: _Tables, label: str) -> str:
    """A label of Universal Dependencies of version 2; "dep" for an unknown one."""
    label = label.lower()
    label = tables.older.get(label, label)
    return label if label.partition(":")[0] in tables.universal else "dep"


def tag_features(tag: str) -> str:
    """The features in a tag of `python -m training` for treebanks of Universal Dependencies: "VerbForm=Fin" of
    VERB.Fin, "PronType=Rel" of PRON.Rel; "" for other tags."""
    part, _, value = tag.partition("+")[0].partition(".")
    name = _FEATURES_OF_TAGS.get(part)
    return f"{name}={value}" if name and value.isalpha() else ""
