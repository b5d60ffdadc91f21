"""Facts: the conditions of rules that test the same thing, summarized in one clause (see `wording`)."""

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache

from .names import NOTHING, SPAN_MODEL_PREFIX
from .wording import TAGS, AtomTest, amount_phrase, phrase, position_phrase, value_phrase, verb


@lru_cache(1 << 14)
def topic_of(subject: str) -> str:
    """Return the topic of a condition's subject: its item or token, or the span of a marginal; else the subject."""
    spans = "window|with right|with left|of right"
    matched = re.match(rf"({SPAN_MODEL_PREFIX}(?:{spans})) (chain|sure|mass|second chain|second sure)$", subject)
    if matched:
        return f"{matched[1]}{' second' if matched[2].startswith('second') else ''}"
    if subject.startswith((SPAN_MODEL_PREFIX, "some ", "items of ", "terminals of ")) or " " not in subject:
        return subject
    return subject.rpartition(" ")[0]


def fact_clause(topic: str, known: Mapping[str, str], conditions: Sequence[tuple[AtomTest, bool]]) -> str:
    """Summarize conditions on a topic in one clause. `known`: subject -> value. `conditions`: (test, whether it holds),
    the largest contribution first."""
    subjects = list(dict.fromkeys(test.subject for test, _ in conditions))
    known_values = {subject: known[subject] for subject in subjects if subject in known}
    if topic.startswith(SPAN_MODEL_PREFIX) and known_values:
        return _marginal_clause(topic, known_values, known)
    if known_values and topic not in known_values and not topic.startswith("some "):
        return _position_clause(
            topic, {subject.rpartition(" ")[2]: value for subject, value in known_values.items()}, known
        )
    test, holds = conditions[0]
    if test.operator == "has":
        values = [other.value for other, there in conditions if there == holds]
        return phrase(test) if holds else negative_clause(test.subject, values)
    if known_values:
        return phrase(AtomTest(topic, "=", known_values[topic]))
    same_subject = [(other, there) for other, there in conditions if other.subject == test.subject]
    if all(other.operator != "=" or other.value == NOTHING for other, _ in same_subject):
        return range_clause(same_subject)
    return negative_clause(test.subject, [other.value for other, _ in same_subject if other.operator == "="])


def _position_clause(position: str, known_values: dict[str, str], known: Mapping[str, str]) -> str:
    """Summarize the known label, part of speech and word at a position in one clause."""
    if NOTHING in known_values.values():
        name = next(name for name, value in known_values.items() if value == NOTHING)
        return phrase(AtomTest(f"{position} {name}", "=", NOTHING))
    label = known.get(f"{position} label", "")
    of_word = " terminal " in f" {position} " or label in TAGS or known_values.get("tag") == label
    word = value_phrase("word", known_values["word"]) if "word" in known_values else ""
    kind = label if "label" in known_values or (label and label not in TAGS) else ""
    tag = known_values["tag"] if "tag" in known_values and known_values["tag"] != kind else ""
    if of_word:
        parts = [part for part in (word, value_phrase("tag", kind or tag) if kind or tag else "") if part]
    else:
        inner = word + (f" ({tag})" if word and tag else "") or (value_phrase("tag", tag) if tag else "")
        parts = [
            " ".join(filter(None, (value_phrase("label", kind) if kind else "", f"headed by {inner}" if inner else "")))
        ]
    if not any(parts):
        name, value = next(iter(known_values.items()))
        parts = [value_phrase(name, value)]
    return f"{position_phrase(position)} is {', '.join(filter(None, parts))}"


def _marginal_clause(topic: str, known_values: dict[str, str], known: Mapping[str, str]) -> str:
    """Summarize the span model's choice for a span and its probability in one clause."""
    span = topic.removesuffix(" second")
    second = "second " if topic != span else ""
    chain, probability = known.get(f"{span} {second}chain"), known.get(f"{span} {second}sure")
    if not any(subject.endswith(("chain", "sure")) for subject in known_values):
        subject, value = next(iter(known_values.items()))
        return phrase(AtomTest(subject, "=", value))
    if chain in (None, NOTHING):
        return (
            phrase(AtomTest(f"{span} {second}chain", "=", NOTHING))
            if chain
            else phrase(AtomTest(f"{span} {second}sure", "=", str(probability)))
        )
    amount = "" if probability in (None, NOTHING) else f" (probability {amount_phrase('=', str(probability), True)})"
    return phrase(AtomTest(f"{span} {second}chain", "=", str(chain))) + amount


def negative_clause(subject: str, values: Sequence[str], max_values: int = 3) -> str:
    """Return a clause which says that a thing has none of the values; it names at most `max_values` of them."""
    operator = "has" if subject.startswith("some ") else "="
    clause = phrase(AtomTest(subject, operator, values[0]), holds=False)
    others = [value for value in values[1:] if value != NOTHING]
    if not others or values[0] == NOTHING or subject.startswith(("items of ", "terminals of ", SPAN_MODEL_PREFIX)):
        return clause
    short = [
        TAGS.get(value, f"“{value[1:-1]}”" if value[:1] == '"' else value)
        for value in [values[0], *others][:max_values]
    ]
    rest = ["…"] if len(others) >= max_values else []
    listed = ", ".join([*short, *rest]) if rest else f"{', '.join(short[:-1])} or {short[-1]}"
    if operator == "has":
        _, found, where = clause.partition(" among ")
        return f"no {listed}{found}{where}" if found else f"{clause} nor {listed}"
    position, _, attribute = subject.rpartition(" ")
    return (
        f"{position_phrase(position)} {verb(attribute, ' terminal ' in f' {position} ', False)}{listed}"
        if position
        else clause
    )


def range_clause(limits: Sequence[tuple[AtomTest, bool]]) -> str:
    """Combine tests of one number, each with whether it holds, in one clause."""
    subject, lower, upper = limits[0][0].subject, None, None
    for (_, operator, value), holds in limits:
        if operator == "=":
            if holds:
                return phrase(AtomTest(subject, "=", value))
        elif (operator == "<") == holds:
            upper = value if upper is None or float(value) < float(upper) else upper
        else:
            lower = value if lower is None or float(value) > float(lower) else lower
    if lower is None and upper is None:
        return phrase(*limits[0])
    if subject.startswith(("items of ", "terminals of ")):
        bounds = [] if lower is None else [phrase(AtomTest(subject, ">", lower))]
        return " and ".join(bounds + ([] if upper is None else [phrase(AtomTest(subject, ">", upper), holds=False)]))
    if lower is not None and upper is not None:
        return phrase(AtomTest(subject, "=", f"{lower} to {upper}"))
    return phrase(AtomTest(subject, "<", str(upper or lower)), holds=upper is not None)
