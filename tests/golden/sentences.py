"""The input texts of golden digests; all were written for this project."""

from __future__ import annotations

from functools import cache
from pathlib import Path

HERE = Path(__file__).resolve().parent

SPECIAL = (
    "", " ", "\n\n", " \t ", "\u200b", "…", "((((", "))", "?", "🙂", "🙂 🙃 🙂🙂", "Hello   world .\n\n  She  slept.",
    "\n  one\n\n\ntwo  \n", "a\u3000b", "The old man\nwalked down to\nthe sea.", "Yes", "No.", "Stop!", "42", "Why?",
    "Run, run, run, run!", "I", "IBM", "don't", "e.g.", "-", "--- --- ---", "\u00e0 la carte caf\u00e9s cost \u20ac5",
    "e\u0301tude", "x" * 300, "The cat (the black one [not the grey {or white} one]) slept.", "<b>Bold</b> &amp; plain",
    "See https://example.org/a/b?c=d&e=f#g or mail me@example.org.", "C:\\Users\\anna\\notes.txt is gone.",
    "Call +44 20 7946 0018 by 31/12/2025 at 5:45 p.m., or pay $1,234,567.89 (5.5% more).",
    "Milk\nEggs\nBread\n- Butter\n- Cheese", "1. Open the box. 2. Read the note. 3. Close the box.",
    "\"Go home,\" said Ann, \"and don't come back.\" 'Why?' he asked.", "“Who,” she said, “wrote ‘the end’?”",
    "WHO LEFT THE GATE OPEN AND LET THE HENS OUT", "who left the gate open and let the hens out",
    "Who Left The Gate Open And Let The Hens Out?", "the the the the", "of of of", "word " * 70,
    "Please, could you tell me where, when, and why the meeting that we were told about was moved?",
    "Не понимаю, what does it mean?", "他 said hello.", "\ufeffThe file begins oddly.",
    "soft\u00adhyphen and no\u00a0break",
    "What she said he thought they knew was that the boat the boy the dog bit built sank.",
)  # fmt: skip
"""Texts of one word or none, with odd characters, lists, brackets, quotations, numbers, addresses."""

LONG = (
    "When the ferry that the council had bought from the islands after the long winter of the strike finally left the "
    "harbour, the old captain, who had promised his wife, his two daughters and the mayor that he would never again "
    "sail in fog, stood on the bridge, looked at the grey water between the rocks and the lighthouse, and, because "
    "nobody on board had noticed that the wind had turned, gave the order that everyone later said was wrong.",
    "We sell apples, pears, plums, grapes, figs, dates, nuts, beans, peas, leeks, onions, carrots, beets, herbs, eggs, "
    "milk, cream, butter, cheese, bread, rolls, cakes, pies, jam, honey, tea, coffee, juice, soap, candles, string, "
    "paper, pens, stamps, cards, toys, books, maps, boots, hats, gloves and, on Fridays, fish.",
    "She knew that he thought that they believed that the man who said that the woman whose sister had married the "
    "doctor that treated the child which had fallen from the wall that the mason who drank had built had left was "
    "wrong, but she did not say so, for the train was late, the station was cold, and there was nothing to eat.",
)
"""Sentences of more than fifty tokens."""


@cache
def texts() -> tuple[str, ...]:
    """All texts: sentences.txt, special ones, long ones, and one of more than 300 tokens without a sentence
    boundary."""
    return (*_lines(), *SPECIAL, *LONG, over_long())


@cache
def some(every: int) -> tuple[str, ...]:
    """Every `every`-th text."""
    return texts()[::every]


@cache
def short(count: int, max_words: int = 14) -> tuple[str, ...]:
    """`count` evenly spread sentences of sentences.txt with 5 to `max_words` words between blanks."""
    found = [line for line in _lines() if 5 <= len(line.split()) <= max_words]
    return tuple(found[:: max(len(found) // count, 1)][:count])


def over_long() -> str:
    """Clauses joined by conjunctions: one sentence that is too long for a chart."""
    clauses = [line.rstrip(".?! ") for line in short(60) if "." not in line[:-1]]
    return " and ".join(clauses)[:1900] + "."


def _lines() -> list[str]:
    return (HERE / "sentences.txt").read_text(encoding="utf8").splitlines()
