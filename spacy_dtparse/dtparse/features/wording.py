"""Descriptions of atoms in linguists' terms, derived from the atoms' names: the thing that is tested and its value."""

import re
from functools import lru_cache
from typing import NamedTuple

from .names import NOTHING, SPAN_MODEL_PREFIX

SPAN, NEIGHBOURS, HEAD, EDGES, INSIDE, LEFT, RIGHT, LENGTH, ALWAYS, OTHER = GROUPS = (
    "span model on this span",
    "span model on neighbouring spans",
    "head",
    "first and last child",
    "among the children",
    "to the left",
    "to the right",
    "length",
    "always",
    "other",
)
"""Groups of tests, by the things they test."""

TAGS = {
    "CC": "conjunction", "CD": "number", "DT": "determiner", "EX": "existential there", "FW": "foreign word",
    "IN": "preposition", "JJ": "adjective", "JJR": "comparative adjective",
    "JJS": "superlative adjective", "MD": "modal", "NN": "noun", "NNS": "plural noun", "NNP": "proper noun",
    "NNPS": "plural proper noun", "PDT": "predeterminer", "POS": "possessive ending", "PRP": "pronoun",
    "PRP$": "possessive pronoun", "RB": "adverb", "RBR": "comparative adverb", "RBS": "superlative adverb",
    "RP": "particle", "TO": "to", "UH": "interjection", "VB": "base-form verb",
    "VBD": "past-tense verb", "VBG": "-ing form", "VBN": "past participle", "VBP": "present-tense verb",
    "VBZ": "third-person verb", "WDT": "wh-determiner", "WP": "wh-pronoun", "WP$": "possessive wh-pronoun",
    "WRB": "wh-adverb", ",": "comma", ".": "sentence-final mark",
    ":": "colon or dash", "``": "opening quote", "''": "closing quote", "-LRB-": "opening bracket",
    "-RRB-": "closing bracket", "HYPH": "hyphen", "SYM": "symbol", "$": "currency sign", "LS": "list marker",
    "NFP": "unusual punctuation mark", "ADD": "address",
}  # fmt: skip
"""Names of the parts of speech of the Penn Treebank."""

_ORDINAL = ("", "second ", "third ", "fourth ")
_BUT = ("", " but one", " but two", " but three")


class AtomTest(NamedTuple):
    """One test of an atom. `subject`: the thing that is tested, always named in the same way. `operator`: "=", "<",
    ">=", ">" or "has" (a group of items has such a member). `value`: as in the atom's name."""

    subject: str
    operator: str
    value: str


def atom_tests(name: str) -> tuple[AtomTest, ...]:
    """Return the tests that an atom's name (from `names.atom_names`) consists of."""
    return tuple(_test(part) for part in name.split(" & "))


def _test(text: str) -> AtomTest:
    if text.startswith("labels = "):
        return AtomTest("labels", "=", text[9:])
    group = re.match(r"(some item|some terminal) of (.+?): (\w+) = (.*)$", text)
    if group:
        return AtomTest(f"{group[1]} of {group[2]}: {group[3]}", "has", group[4])
    limit = re.match(r"(.+?) (=|>=|<|>) (.*)$", text)
    if limit:
        return AtomTest(limit[1], limit[2], limit[3])
    if text.endswith(f": {NOTHING}"):
        return AtomTest(text.removesuffix(f": {NOTHING}"), "=", NOTHING)
    return AtomTest(text, "=", "")


@lru_cache(1 << 14)
def group_of(subject: str) -> str:
    """Return the one of GROUPS that a test belongs to, from its subject."""
    if subject.startswith(SPAN_MODEL_PREFIX):
        return SPAN if subject.startswith(f"{SPAN_MODEL_PREFIX}window") else NEIGHBOURS
    if subject in ("labels", ALWAYS):
        return INSIDE if subject == "labels" else ALWAYS
    if re.match(r"(items|terminals) of ", subject):
        return RIGHT if "right context" in subject else LEFT if "left context" in subject else LENGTH
    some = re.match(r"some (item|terminal) of (.+): ", subject)
    if some:
        return LEFT if "left context" in some[2] else RIGHT if "right context" in some[2] else INSIDE
    root = re.sub(r"^((first|head|last) child of )+", "", subject)
    position = re.match(r"(first|last|head|start|end|left|right|front)\b(?: (item|terminal) (-?\d+))?", root)
    if position is None:
        return OTHER
    where, space, offset = position.groups()
    if where in ("left", "right"):
        return LEFT if where == "left" else RIGHT
    if where == "head":
        return HEAD
    outer = space is None or int(offset) == 0 or space == "terminal"
    return EDGES if where in ("first", "last") or outer else INSIDE


def phrase(test: AtomTest, holds: bool = True) -> str:
    """Return a test, or its negation, as a clause."""
    subject, operator, value = test
    if subject.startswith(SPAN_MODEL_PREFIX):
        return _marginal_phrase(subject.removeprefix(SPAN_MODEL_PREFIX), operator, value, holds)
    if subject == "labels":
        return f"its children are {'' if holds else 'not '}{value}"
    some = re.match(r"some (item|terminal) of (.+): (\w+)$", subject)
    if some:
        noun_phrase = value_phrase(some[3], value)
        noun_phrase = re.sub(r"^an? ", "", noun_phrase) if not holds else noun_phrase
        return f"{'' if holds else 'no '}{noun_phrase} {_region(some[2], some[1])}"
    count = re.match(r"(items|terminals) of (.+)$", subject)
    if count:
        return _length(count[1], count[2], operator, int(value), holds)
    if not value:
        return f"{'' if holds else 'not '}{subject}"
    position, _, attribute = subject.rpartition(" ")
    if value == NOTHING and not position.endswith("child"):
        inner = re.match(r"(?:first|head|last) child of (.+)$", position)
        if inner is None:
            return f"there is {'no' if holds else 'a'} {re.sub(r'^(its|the) ', '', position_phrase(position))}"
        return f"{position_phrase(inner[1])} is {'a single word' if holds else 'a phrase, not a single word'}"
    of_word = " terminal " in f" {position} "
    return f"{position_phrase(position)} {verb(attribute, of_word, holds)}{value_phrase(attribute, value)}"


def verb(attribute: str, of_word: bool, holds: bool) -> str:
    """Return the verb of a clause about an attribute at a position; `of_word`: of a word, not of an item."""
    is_direct = of_word or attribute in ("label", "shape", "cluster", "class")
    return f"is {'' if holds else 'not '}{'' if is_direct else 'headed by '}"


def value_phrase(attribute: str, value: str) -> str:
    """Return a value as a noun phrase."""
    if value == NOTHING:
        return "anything"
    if attribute in ("label", "tag"):
        name = TAGS.get(value)
        if name:
            article = "an" if name[0] in "aeiou" else "a"
            return f"{article} {name} ({value})" if value not in ("TO", "EX") else f"a “{name}” ({value})"
        return f"{'an' if value[:1] in 'AEFILMNORSX' and value[:2] not in ('UC', 'FR') else 'a'} {value}"
    if attribute == "class":
        return f"of the class {value}"
    if attribute == "shape":
        return f"written like {value}"
    if attribute == "cluster":
        return f"of the word cluster {value}"
    return "a rare word" if value == '"*rare*"' else f"“{value[1:-1]}”" if value[:1] == '"' else value


def position_phrase(position: str) -> str:
    """Return a position as a noun phrase."""
    inner = re.match(r"(first|head|last) child of (.+)$", position)
    if inner:
        return f"{'the head' if inner[1] == 'head' else f'the {inner[1]} child'} of {position_phrase(inner[2])}"
    simple = {"first": "its first child", "last": "its last child", "head": "its head"}
    if position in simple:
        return simple[position]
    where, space, offset = re.match(r"(\w+) (item|terminal) (-?\d+)$", position).groups()  # type: ignore[union-attr]
    k, noun = int(offset), "child" if space == "item" else "word"
    if where == "head":
        if k == 0:
            return "its head word" if space == "terminal" else "its head"
        far = _ordinal(abs(k) - 1)
        return f"the {far}{noun} {'before' if k < 0 else 'after'} its head"
    if where in ("left", "right"):
        noun = "item" if space == "item" else "word"
        return f"the {_ordinal(k) or 'next '}{noun} on the {where}"
    if where == "end":
        return f"its last {noun}{_counted_from_end(k)}"
    if where == "front" and k:  # counted from the first child on, and it may lie beyond the last
        return f"the next item{_counted_from_end(k - 1)} after its first child"
    return f"its {'first ' if k == 0 else _ordinal(k)}{noun}"


def _ordinal(k: int) -> str:
    """Return the ordinal number of index k, "" for the first."""
    return _ORDINAL[k] if k < len(_ORDINAL) else f"{k + 1}th "


def _counted_from_end(k: int) -> str:
    return _BUT[k] if k < len(_BUT) else f" but {k}"


def _region(region: str, space: str) -> str:
    noun = "children" if space == "item" else "words"
    words = {
        "span": f"among its {noun}",
        "left of head": f"among its {noun} before the head",
        "right of head": f"among its {noun} after the head",
        "left context": "anywhere to the left",
        "right context": "anywhere to the right",
        "all but the first": f"among its {noun} after the first",
        "all but the last": f"among its {noun} before the last",
        "all but the head": f"among its {noun} other than the head",
    }
    plain = region.removesuffix(" with head")
    if plain in words:
        return words[plain] + (" or as the head" if plain != region else "")
    return f"among the {region}"


def _length(unit: str, region: str, operator: str, n: int, holds: bool) -> str:
    noun = {"items": "child", "terminals": "word"}[unit]
    right = re.match(r"(?:(\d+) of )?(right|left) context", region)
    if right:
        noun = "item"
    plural = f"{noun}ren" if noun == "child" else f"{noun}s"
    where = f" to the {right[2]}" if right else "" if region == "span" else f" ({region})"
    start = "there are " if right else "it has "
    if right and operator == ">" and n == 0:
        return f"there is {'something' if holds else 'nothing'}{where}"
    if operator == "=":
        start = start if holds else "there are not just " if right else "it does not have "
        return f"{start}{n} {noun if n == 1 else plural}{where}"
    bound = f"more than {n}" if holds else f"at most {n}"
    return f"{start}{bound} {noun if n == 1 else plural}{where}"


_SPANS = {
    "window": "this span",
    "with right": "this span and the next item",
    "with left": "this span and the word before it",
    "of right": "the next item",
}


def _marginal_phrase(subject: str, operator: str, value: str, holds: bool) -> str:
    span = next(name for name in ("with right", "with left", "of right", "window") if subject.startswith(name))
    attribute, where = subject.removeprefix(span).strip(), _SPANS[span]
    no = "" if holds else "not "
    if attribute in ("chain", "second chain"):
        if value == NOTHING:
            second = "no second choice" if attribute == "second chain" else "no constituent"
            some = "some second choice" if attribute == "second chain" else "some constituent"
            return f"the span model predicts {second if holds else some} for {where}"
        if attribute == "second chain":
            return f"the span model's second choice for {where} is {no}{_chain(value)}"
        return f"the span model {'labels' if holds else 'does not label'} {where} as {_chain(value)}"
    if value == NOTHING:
        return f"the span model has {'no' if holds else 'a'} value for {where}"
    amount = amount_phrase(operator, value, holds)
    nouns = {
        "mass": f"the span model gives {where} a probability {amount} of being a constituent",
        "sure": f"the span model gives its first choice for {where} a probability {amount}",
        "second sure": f"the span model gives its second choice for {where} a probability {amount}",
        "starting": f"the span model expects longer constituents to begin with {where} (expected number {amount})",
        "ending": f"the span model expects longer constituents to end with {where} (expected number {amount})",
        "crossing": f"the span model expects constituents to cross {where} (expected number {amount})",
    }
    return nouns[attribute]


def _chain(value: str) -> str:
    return " over ".join(value.split())


def amount_phrase(operator: str, value: str, holds: bool) -> str:
    """Return the limits of a probability in words."""
    if operator == "=":
        low, high = value.split(" to ")
        inside = f"above {low}" if high == "1" else f"below {high}" if low == "0" else f"from {low} to {high}"
        return inside if holds else f"not {inside}"
    below = (operator == "<") == holds
    return f"below {value}" if below else f"of at least {value}"


_COUNTED = re.compile(r"((?:(?:first|head|last) child of )*)(start|end|front|head) item (-?\d+) (\w+)$")


def is_counted(subject: str) -> bool:
    """Whether a subject is an item at a counted position, so that `canonical_subject` may give it another name."""
    return _COUNTED.match(subject) is not None


@lru_cache(1 << 16)
def canonical_subject(subject: str, arity: int, head: int) -> str:
    """Return a subject by its canonical name: children are counted from the first, items after the last child as items
    on the right. `head`: index of the head child."""
    match = _COUNTED.match(subject)
    if not match:
        return subject
    children, where, offset, attribute = match.groups()
    k = int(offset)
    position = arity - 1 - k if where == "end" else head + k if where == "head" else k
    if not 0 <= position < arity and where != "front":
        return subject
    name = f"right item {position - arity}" if position >= arity else f"start item {position}"
    name = "first" if position == 0 else "last" if position == arity - 1 else name
    return f"{children}{name} {attribute}"
