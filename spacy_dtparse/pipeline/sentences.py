"""Sentences of words and tags for parsers, each word with its position in the Doc."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from spacy.attrs import ORTH, SENT_START, TAG
from spacy.tokens import Doc, Span, Token

from ..core.parser import UNKNOWN_TAG
from ..errors import MissingAnnotationError
from ..symbols import Memo

UNIVERSAL_TAGS = "universal_tags"
"""The attribute of a span group whose trees have `token.pos_` for tags, not `token.tag_`."""


class SentenceInput(NamedTuple):
    """One sentence [start, end) of a Doc.

    `words`, `tags` and `positions` (token indices in the Doc) leave white space out.
    """

    start: int
    end: int
    words: tuple[str, ...]
    tags: tuple[str, ...]
    positions: tuple[int, ...]


def is_blank(text: str) -> bool:
    """Whether a token has no visible text, so that no parser gets it."""
    return not text.strip()


def plain_word(text: str) -> str:
    """The text of a token as one word: white space inside it, as in merged tokens, becomes `_`."""
    return text if not any(map(str.isspace, text)) else "_".join(text.split())


_MAX_TEXTS = 8_192
_texts: dict[int, str] = {}
"""Cache of the texts of tokens by spaCy's hashes: a dict look-up takes a fifth of the time of `token.text`."""


def token_texts(doc: Doc) -> list[str]:
    """The text of each token."""
    hashes: list[Any] = doc.to_array(ORTH).reshape(-1).tolist()
    try:
        return list(map(_texts.__getitem__, hashes))
    except KeyError:
        strings = doc.vocab.strings
        texts = {text_hash: _texts.get(text_hash) or strings[text_hash] for text_hash in set(hashes)}
        if len(_texts) > _MAX_TEXTS:
            _texts.clear()
        _texts.update(texts)
        return list(map(texts.__getitem__, hashes))


_visible: set[int] = set()
"""Cache of hashes of texts that are not blank."""


def blank_tokens(doc: Doc) -> frozenset[int]:
    """The tokens that have no visible text."""
    hashes: list[Any] = doc.to_array(ORTH).reshape(-1).tolist()
    if _visible.issuperset(hashes):  # the usual case, in a third of the time
        return frozenset()
    strings, unknown = doc.vocab.strings, set(hashes) - _visible
    visible = {text_hash for text_hash in unknown if not is_blank(strings[text_hash])}
    if len(_visible) > _MAX_TEXTS:
        _visible.clear()
    _visible.update(visible)
    blank = unknown - visible
    return frozenset(i for i, text_hash in enumerate(hashes) if text_hash in blank)


def attribute_texts(doc: Doc, attribute: int) -> list[str]:
    """The string of an attribute (of `spacy.attrs`: TAG, POS, LEMMA …) of each token, "" if it is not set."""
    hashes: list[Any] = doc.to_array(attribute).reshape(-1).tolist()
    return list(map(Memo[Any, str](doc.vocab.strings.__getitem__).__getitem__, hashes))


_plain = Memo[str, str](lambda text: "" if is_blank(text) else plain_word(text))
"""The word for a token's text, "" for white space."""


def sentence_bounds(doc: Doc) -> list[tuple[int, int]]:
    """The half-open token ranges of the sentences; the whole Doc is one if no boundary is set.

    Unlike `Doc.sents` this never raises: a Doc with boundaries in only some places is cut there.
    """
    if len(doc) == 0:
        return []
    if "sents" in doc.user_hooks:
        return [(sent.start, sent.end) for sent in doc.sents]
    flags = doc.to_array([SENT_START]).reshape(-1)
    starts = [0, *(np.flatnonzero(flags[1:] == 1) + 1).tolist()]
    return list(zip(starts, [*starts[1:], len(doc)], strict=True))


def has_boundaries(doc: Doc) -> bool:
    """Whether sentence starts are set; true for a Doc that is too short for a boundary."""
    return len(doc) < 2 or "sents" in doc.user_hooks or doc.has_annotation("SENT_START")


def token_bounds(where: Doc | Span) -> tuple[int, int]:
    """The half-open token range of a Doc or Span."""
    return (0, len(where)) if isinstance(where, Doc) else (where.start, where.end)


def visible_tokens(doc: Doc) -> Iterator[tuple[int, int, list[Token]]]:
    """Yield each sentence of `doc`, blank ones included: its range [start, end), and its tokens without white space."""
    for start, end in sentence_bounds(doc):
        yield start, end, [token for token in doc[start:end] if not is_blank(token.text)]


class WordPositions(NamedTuple):
    """A sentence [start, end) of a Doc; `positions`: token indices of its words in the Doc, white space left out."""

    start: int
    end: int
    positions: Sequence[int]


def read_words(doc: Doc) -> tuple[list[str], list[WordPositions]]:
    """The word of each token, "" for white space, and the sentences of `doc`, blank ones included."""
    words = list(map(_plain.__getitem__, token_texts(doc)))
    sentences, with_blanks = [], "" in words
    for start, end in sentence_bounds(doc):
        positions: Sequence[int] = range(start, end)
        if with_blanks and "" in words[start:end]:
            positions = [i for i in positions if words[i]]
        sentences.append(WordPositions(start, end, positions))
    return words, sentences


def read_sentences(doc: Doc, component: str = "dtparse", needs_tags: bool = True) -> tuple[list[SentenceInput], int]:
    """The sentences of `doc`, blank ones included, and the number of words without a tag.

    Raises MissingAnnotationError if there are words and none has a tag, and `needs_tags`.
    """
    words, bounds = read_words(doc)
    tags = attribute_texts(doc, TAG)
    sentences, untagged, n_words = [], 0, 0
    for start, end, positions in bounds:
        if isinstance(positions, range):
            sentence_words, sentence_tags = words[start:end], tags[start:end]
        else:
            sentence_words, sentence_tags = [words[i] for i in positions], [tags[i] for i in positions]
        if "" in sentence_tags:
            untagged += sentence_tags.count("")
            sentence_tags = [tag or UNKNOWN_TAG for tag in sentence_tags]
        n_words += len(sentence_tags)
        sentences.append(SentenceInput(start, end, tuple(sentence_words), tuple(sentence_tags), tuple(positions)))
    if needs_tags and n_words and untagged == n_words:
        raise MissingAnnotationError(
            f"{component} needs part-of-speech tags (token.tag_), and none of the {n_words} words of this Doc has one. "
            f"Put a tagger before {component!r} in the pipeline, use spacy_dtparse.load(), or set the tags yourself: "
            "Doc(vocab, words=…, tags=…)"
        )
    return sentences, untagged
