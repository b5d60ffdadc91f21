"""Facts: the conditions of rules that test the same thing, summarized in one clause (see `wording`)."""

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache

from .names import NOTHING, READER
from .wording import TAGS, AtomTest, amount_words, phrase, place_words, thing, verb


@lru_cache(1 << 14)
def topic_of(subject: str) -> str:
    """Return the topic of a condition's subject: its item or token, or the span of a marginal; else the subject."""
    spans = "window|with right|with left|of right"
    belief = re.match(rf"({READER}(?:{spans})) (chain|sure|mass|second chain|second sure)$", subject)
    if belief:
        return f"{belief[1]}{' second' if belief[2].startswith('second') else ''}"
    if subject.startswith((READER, "some ", "items of ", "terminals of ")) or " " not in subject:
        return subject
    return subject.rpartition(" ")[0]


def fact(topic: str, known: Mapping[str, str], asked: Sequence[tuple[AtomTest, bool]]) -> str:
    """Summarize conditions on a topic in one clause. `known`: subject -> value. `asked`: (test, whether it holds),
    the largest contribution first."""
    subjects = list(dict.fromkeys(test.subject for test, _ in asked))
    told = {subject: known[subject] for subject in subjects if subject in known}
    if topic.startswith(READER) and told:
        return _belief_fact(topic, told, known)
    if told and topic not in told and not topic.startswith("some "):
        return _place_fact(topic, {subject.rpartition(" ")[2]: value for subject, value in told.items()}, known)
    test, holds = asked[0]
    if test.operator == "has":
        values = [other.value for other, there in asked if there == holds]
        return phrase(test) if holds else none_of(test.subject, values)
    if told:
        return phrase(AtomTest(topic, "=", told[topic]))
    own = [(other, there) for other, there in asked if other.subject == test.subject]
    if all(other.operator != "=" or other.value == NOTHING for other, _ in own):
        return within(own)
    return none_of(test.subject, [other.value for other, _ in own if other.operator == "="])


def _place_fact(place: str, told: dict[str, str], known: Mapping[str, str]) -> str:
    """Summarize the known label, part of speech and word at a position in one clause."""
    if NOTHING in told.values():
        name = next(name for name, value in told.items() if value == NOTHING)
        return phrase(AtomTest(f"{place} {name}", "=", NOTHING))
    label = known.get(f"{place} label", "")
    of_word = " terminal " in f" {place} " or label in TAGS or told.get("tag") == label
    word = thing("word", told["word"]) if "word" in told else ""
    kind = label if "label" in told or (label and label not in TAGS) else ""
    tag = told["tag"] if "tag" in told and told["tag"] != kind else ""
    if of_word:
        parts = [part for part in (word, thing("tag", kind or tag) if kind or tag else "") if part]
    else:
        inner = word + (f" ({tag})" if word and tag else "") or (thing("tag", tag) if tag else "")
        parts = [" ".join(filter(None, (thing("label", kind) if kind else "", f"headed by {inner}" if inner else "")))]
    if not any(parts):
        name, value = next(iter(told.items()))
        parts = [thing(name, value)]
    return f"{place_words(place)} is {', '.join(filter(None, parts))}"


def _belief_fact(topic: str, told: dict[str, str], known: Mapping[str, str]) -> str:
    """Summarize the span model's choice for a span and its probability in one clause."""
    span = topic.removesuffix(" second")
    second = "second " if topic != span else ""
    chain, sure = known.get(f"{span} {second}chain"), known.get(f"{span} {second}sure")
    if not any(subject.endswith(("chain", "sure")) for subject in told):
        subject, value = next(iter(told.items()))
        return phrase(AtomTest(subject, "=", value))
    if chain in (None, NOTHING):
        return (
            phrase(AtomTest(f"{span} {second}chain", "=", NOTHING))
            if chain
            else phrase(AtomTest(f"{span} {second}sure", "=", str(sure)))
        )
    amount = "" if sure in (None, NOTHING) else f" (probability {amount_words('=', str(sure), True)})"
    return phrase(AtomTest(f"{span} {second}chain", "=", str(chain))) + amount


def none_of(subject: str, values: Sequence[str], most: int = 3) -> str:
    """Return a clause which says that a thing has none of the values; it names at most `most` of them."""
    operator = "has" if subject.startswith("some ") else "="
    told = phrase(AtomTest(subject, operator, values[0]), holds=False)
    more = [value for value in values[1:] if value != NOTHING]
    if not more or values[0] == NOTHING or subject.startswith(("items of ", "terminals of ", READER)):
        return told
    short = [TAGS.get(value, f"“{value[1:-1]}”" if value[:1] == '"' else value) for value in [values[0], *more][:most]]
    rest = ["…"] if len(more) >= most else []
    listed = ", ".join([*short, *rest]) if rest else f"{', '.join(short[:-1])} or {short[-1]}"
    if operator == "has":
        _, found, where = told.partition(" among ")
        return f"no {listed}{found}{where}" if found else f"{told} nor {listed}"
    place, _, attribute = subject.rpartition(" ")
    return f"{place_words(place)} {verb(attribute, ' terminal ' in f' {place} ', False)}{listed}" if place else told


def within(limits: Sequence[tuple[AtomTest, bool]]) -> str:
    """Combine tests of one number, each with whether it holds, in one clause."""
    subject, least, most = limits[0][0].subject, None, None
    for (_, operator, value), holds in limits:
        if operator == "=":
            if holds:
                return phrase(AtomTest(subject, "=", value))
        elif (operator == "<") == holds:
            most = value if most is None or float(value) < float(most) else most
        else:
            least = value if least is None or float(value) > float(least) else least
    if least is None and most is None:
        return phrase(*limits[0])
    if subject.startswith(("items of ", "terminals of ")):
        bounds = [] if least is None else [phrase(AtomTest(subject, ">", least))]
        return " and ".join(bounds + ([] if most is None else [phrase(AtomTest(subject, ">", most), holds=False)]))
    if least is not None and most is not None:
        return phrase(AtomTest(subject, "=", f"{least} to {most}"))
    return phrase(AtomTest(subject, "<", str(most or least)), holds=most is not None)
