"""Strategies that generate texts and Docs of any kind."""

from __future__ import annotations

from typing import Any, NamedTuple

from hypothesis import strategies as st
from spacy.tokens import Doc, Span

PLAIN = ["The", "old", "dog", "slept", ".", "She", "and", "in", "the", "garden", "that", "I", "saw", "him", ",", "!"]
ODD = [
    *'()[{"”…—-$%',
    "-LRB-",
    "-RRB-",
    "``",
    "''",
    "’s",
    "n't",
    "http://x.org/a(b)",
    "a/b",
    "1,000.5",
    "--",
    "\u200b",
    "\u200f",
    "\u202e",
    "\ufeff",
    "\u00ad",
    "שלום",
    "مرحبا",
    "你好",
    "ДОМ",
    "é",
    "e\u0301",
    "👩\u200d👩\u200d👧",
    "\x00",
    "\x07",
    "\x7f",
    "\ufffe",
    "\U0010ffff",
    "x" * 300,
    "(TOP",
    "TOP",
    "level-1",
    "S",
    "NP",
]
SPACE = [" ", "\n", "\t", "\u00a0", "\u2028", "\u3000", "\r\n", "\x1c", "  \n "]
TAGS = ["NN", "DT", "VBD", ".", ",", "IN", "-LRB-", "``", "XX", "PRP$", "_SP"]
ALIEN = ["", "NOUN", "名詞", "(", " ", "TOP", "NN\n", "-NONE-", "x" * 200]

characters = st.characters(exclude_categories=("Cs",))
texts = st.one_of(
    st.text(characters, max_size=60),
    st.lists(st.sampled_from(PLAIN + ODD + SPACE), max_size=25).map(" ".join),
    st.lists(st.sampled_from(PLAIN + ODD + SPACE), max_size=12).map("".join),
    st.lists(st.sampled_from(PLAIN), min_size=1, max_size=60).map(" ".join),
)


class Made(NamedTuple):
    """The arguments from which a Doc is built."""

    words: list[str]
    spaces: list[bool]
    tags: list[str] | None
    starts: list[bool | None] | None
    old: list[tuple[int, int, str]]
    data: bool

    def doc(self, vocab: Any) -> Doc:
        """The Doc, in a vocabulary."""
        doc = Doc(vocab, words=self.words, spaces=self.spaces, tags=self.tags, sent_starts=self.starts)
        doc.spans["constituents"] = [Span(doc, first, last, label=label) for first, last, label in self.old]
        doc.spans["mine"] = [Span(doc, first, last, label=label) for first, last, label in self.old]
        if self.data:
            doc.user_data["mine"] = {"of": len(doc)}
        return doc


@st.composite
def docs(draw, least: int = 0, most: int = 25, tagged: bool = False) -> Made:
    """Docs of other tokenizers: any words, white space and brackets among them; tags that are missing, alien or right;
    sentences that begin anywhere; spans that were there before. `tagged`: one word at least has a tag."""
    word = st.one_of(st.sampled_from(PLAIN), st.sampled_from(ODD + SPACE), st.text(characters, min_size=1, max_size=8))
    words = draw(st.lists(word, min_size=least, max_size=most))
    n = len(words)
    some_tags = st.lists(st.sampled_from(TAGS * 3 + ALIEN), min_size=n, max_size=n)
    tags = draw(some_tags if tagged else st.one_of(st.none(), some_tags))
    if tagged and n and tags is not None:
        tags = ["NN" if not tag.strip() else tag for tag in tags]
    starts = draw(st.one_of(st.none(), st.lists(st.sampled_from([True, False, False, None]), min_size=n, max_size=n)))
    spaces = draw(st.lists(st.booleans(), min_size=n, max_size=n))
    old = []
    if n:
        pair = st.tuples(st.integers(0, n - 1), st.integers(1, 5), st.sampled_from(["NP", "", "X Y", "TOP"]))
        old = [(first, min(first + size, n), label) for first, size, label in draw(st.lists(pair, max_size=3))]
    return Made(words, spaces, tags, starts, old, draw(st.booleans()))
