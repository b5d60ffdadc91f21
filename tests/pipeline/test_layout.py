"""Sentence starts of lists, schedules, logs, headings, verse, and text that a width broke; ¦ stands before each start
but the first."""

from __future__ import annotations

import numpy as np
import pytest
from spacy.tokens import Doc

import spacy_dtparse
from spacy_dtparse.models import HERE
from spacy_dtparse.pipeline import layout

pytestmark = [
    pytest.mark.embedded,
    pytest.mark.skipif(not (HERE / "en_dtparse" / "config.cfg").exists(), reason="no English pipeline"),
]

NUMBERS = """
5 apples. ¦6 pears. ¦7 plums.
7 boys. ¦9 girls. ¦2 teachers.
10:30 Tea. ¦11:00 Talk.
7:15 Wake up. ¦7:45 Breakfast. ¦8:30 School bus.
08:15 Train leaves Leeds. ¦09:40 Train reaches York. ¦10:05 Bus to the museum.
He paid 5 dollars. ¦6 of them were mine.
It rained in 1998. ¦2,000 people lost their homes.
The book is No. 7 in the series. ¦No. 8 is out in May.
Mr. Smith lives on St. John St. 5 in Boston.
See Fig. 5 and p. 6 for more.
Please call the office on 555 0142, ext. 12.
10 January. ¦Snow all day. ¦11 January. ¦We stayed at home.
1. Open the box. ¦2. Read the note. ¦3. Close the box.
2 cups of flour; 1 cup of sugar; 3 eggs.
"""
LISTS = """
12 May 2019/¦13 May 2019
- Buy milk/¦- Feed the cat
1. Open the box./¦2. Read the note./¦3. Close the box.
1) Wash the rice/¦2) Boil the water/¦3) Add the rice
a) Wash the rice/¦b) Boil the water
A. A red coat/¦B. A blue hat/¦C. A green scarf
I. The house/¦II. The garden/¦III. The road
(a) the name of the firm;/¦(b) the date of the contract;/¦(c) the price.
* Buy milk/¦* Feed the cat/¦* Call Ann
– Two shirts/¦– One pair of boots/¦– A warm hat
+ fast/¦+ quiet/¦- expensive
Milk/¦Eggs/¦Bread
Shopping list:/¦- milk/¦- eggs/¦- two loaves of bread
To do:/¦1. Pay the rent/¦2. Call the plumber
2 eggs, beaten/¦100 g flour/¦1 cup of warm milk
10:30 Tea/¦11:00 Talk/¦12:00 Lunch
9:00 Registration/¦9:30 Opening words by the mayor/¦10:15 Coffee
9 am Breakfast/¦10 am Walk to the lake/¦1 pm Lunch
10:30-11:00 Tea/¦11:00-12:00 Talk
March 3: Paid the rent/¦March 9: Sold the car/¦April 2: Moved to Leeds
2019-05-12 ERROR disk full/¦2019-05-13 INFO disk cleaned
2020-01-05 10:22:01 WARN memory low/¦2020-01-05 10:22:09 ERROR process stopped
[12:01] Server started/¦[12:02] User logged in/¦[12:05] Server stopped
12:01:33 connection lost/¦12:01:35 connection restored/¦12:02:10 file saved
12/05/2019 Paid 40 pounds/¦13/05/2019 Paid 12 pounds
> Can you come on Friday?/¦Yes, I can./¦> And on Sunday?/¦No, sorry.
Home/¦About us/¦Contact/¦Log in
Opening hours/¦Monday to Friday: 9 am to 5 pm/¦Saturday: 10 am to 2 pm
Dear Ann,//¦Thank you for the letter. ¦I was glad to get it.//¦Best wishes,/¦Tom
How to Plant a Tree/¦Dig a hole that is twice as wide as the roots. ¦Water it well.
Results/¦We found 12 nests in 2018.//¦Discussion/¦The nests were small.
"""
BROKEN = """
The old man/walked down to/the sea.
We met Anna Smith and her husband at the station in the north of/London, and then we took the bus to the house of her/Thames.
The club has 120 members, of whom 40 are women, and in the year/2018 it bought a new boat for 3,400 pounds, paid for by/20 of the members.
Thank you for your letter of the third of June, which reached us on/Monday. ¦We have looked at the pump that you sent.
> We saw that the house had been sold to the/> family from Leeds, who had lived there for/> many years.
He was late/- as always - and sat down.
The temperature was/-5 degrees in the morning and/-3 degrees at noon.
I bought apples, pears/and plums.
I walked alone along the lane/That leads down to the mill/And heard the slow and heavy rain/Fall softly on the hill.
When all the lamps are lit at night/And all the doors are barred,/The old grey cat sits down to watch/The moonlight in the yard.
My brother went to sea one day/In boots too big for him,/And when the wind blew cold and grey/He found he could not swim.
"""  # noqa: E501 (lines of up to 72 characters are joined by /)


@pytest.fixture(scope="module")
def nlp():
    return spacy_dtparse.load("en_span", exclude=["span_parser"])


def sentences(doc):
    return [sent.text.strip() for sent in doc.sents]


def written(text):
    return [part.strip() for part in text.split("¦")]


@pytest.mark.parametrize("line", NUMBERS.strip().split("\n"))
def test_numbers_after_full_stops(nlp, line):
    assert sentences(nlp(line.replace("¦", ""))) == written(line)


@pytest.mark.parametrize("line", LISTS.strip().split("\n"))
def test_lines_of_lists(nlp, line):
    marked = line if "/05/" in line else line.replace("/", "\n")
    marked = marked.replace("pounds/", "pounds\n")
    assert sentences(nlp(marked.replace("¦", ""))) == written(marked)
    after = written("\n\n" + marked)
    assert sentences(nlp("\n\n" + marked.replace("¦", ""))) == after, "empty lines before the list"


@pytest.mark.parametrize("line", BROKEN.strip().split("\n"))
def test_line_breaks_inside_sentences(nlp, line):
    marked = line.replace("/", "\n")
    assert sentences(nlp(marked.replace("¦", ""))) == written(marked)


def test_starts_that_are_given_stay(nlp):
    text = "- Buy milk\n- Feed the cat"
    words = [token.text for token in nlp.make_doc(text)]
    doc = nlp(Doc(nlp.vocab, words=words, sent_starts=[True, *[False] * (len(words) - 1)]))
    assert len(list(doc.sents)) == 1
    assert len(list(nlp(Doc(nlp.vocab, words=words)).sents)) == 2, "also without the text's spaces"


def test_a_long_address_does_not_change_the_width(nlp):
    prose = (
        "We looked at the house that stands on the hill behind the mill of\n"
        "Newton, but the owner had sold it to a man from the city before\n"
        "Easter, and so we drove on to the coast and looked at the one in\n"
        "Whitby that our friends had seen in the spring on this page by\n"
        "https://example.org/a/very/long/address/of/a/house/on/a/hill/behind/a/mill/which/nobody/would/type.html\n"
        "and on others."
    )
    assert len(sentences(nlp(prose))) == 1


def test_each_token_of_odd_texts_is_decided(nlp):
    for text in ("1.\n2.\n3.", "(a\n(b\n", "- \n- ", "* * *\n* * *", "\n\n", "[\n(\n1", "10:30-\n11:00-", "5", "\n5\n"):
        doc = nlp(text)
        assert doc[0].is_sent_start and all(token.is_sent_start is not None for token in doc)
        assert not any(token.is_sent_start for token in doc[1:] if token.is_space)


def test_text_without_lines_and_numbers_is_left_to_the_tagger():
    texts, odds = ["Cats", "sleep", "."], np.array([np.inf, -1.0, -9.0])
    assert not layout.may_change(texts, odds)
    assert layout.may_change([*texts, "\n", "Dogs"], np.array([np.inf, -1.0, -9.0, -np.inf, 5.0]))
    offsets, spaces = np.array([0, 5, 10]), np.array([True, False, False])
    starts = layout.sentence_starts(texts, ["NNS", "VBP", "."], odds, offsets, spaces)
    assert starts.tolist() == [True, False, False]
