"""The second-best tags of recurrent_tagger, kept in `doc.user_data` for parsers that use them."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from spacy.attrs import LENGTH, SPACY
from spacy.tokens import Doc, Token

from ..core.ambiguous_tags import AmbiguousTag
from .sentences import SentenceInput

_NAME = "ambiguous_tag"
"""Not a registered extension attribute; `token._.second_tag` reads it."""
_Key = tuple[str, str, int, None]


def _key(offset: int) -> _Key:
    """The key of a token, by its character offset, in spaCy's format of extension attributes, so that spaCy moves it
    along: in `Doc.from_docs`, `Span.as_doc`, `Doc.to_bytes`."""
    return "._.", _NAME, offset, None


def character_offsets(doc: Doc) -> np.ndarray:
    """`token.idx` of each token, int64 (n,)."""
    lengths, spaces = doc.to_array([LENGTH, SPACY]).astype(np.int64).T
    return np.cumsum(lengths + spaces) - lengths - spaces


def write_ambiguous_tags(doc: Doc, tags: Iterable[tuple[int, AmbiguousTag]]) -> None:
    """Store ambiguous tags, given with token indices (`token.i`), in a Doc; earlier ones are removed."""
    stored = _user_data(doc)
    for key in _keys(doc):
        del stored[key]
    for position, tag in tags:
        token = doc[position]
        stored[_key(token.idx)] = [str(tag), tag.second, len(token)]


def _user_data(doc: Doc) -> dict[Any, Any]:
    return doc.user_data


def _keys(doc: Doc) -> list[_Key]:
    """The keys of tokens with ambiguous tags."""
    found = _user_data(doc)
    return [key for key in found if type(key) is tuple and len(key) == 4 and key[:2] == ("._.", _NAME)] if found else []


def read_ambiguous_tags(doc: Doc) -> dict[int, AmbiguousTag]:
    """Return the ambiguous tags by token index, without those of tokens that were merged away and of tokens whose
    `tag_` has changed."""
    keys, stored = _keys(doc), _user_data(doc)
    if not keys:
        return {}
    positions = {offset: i for i, offset in enumerate(character_offsets(doc).tolist())}
    found = {}
    for key in keys:
        position = positions.get(key[2])
        second = "" if position is None else _second_of(stored[key], doc[position])
        if position is not None and second:
            found[position] = AmbiguousTag(doc[position].tag_, second)
    return found


def _second_of(stored: Any, token: Token) -> str:
    """The second-best tag of the stored value of a token, "" if its text or its tag has changed."""
    first, second, length = stored
    return str(second) if first == token.tag_ and length == len(token) else ""


def add_second_tags(doc: Doc, sentences: Sequence[SentenceInput]) -> Sequence[SentenceInput]:
    """Return the sentences of a Doc with its ambiguous tags in place of plain ones."""
    ambiguous = sorted(read_ambiguous_tags(doc).items())
    if not ambiguous:
        return sentences
    found, at = list(sentences), 0
    for s, sentence in enumerate(sentences):
        first = at
        while at < len(ambiguous) and ambiguous[at][0] < sentence.end:
            at += 1
        if first < at:
            of_position = dict(zip(sentence.positions, sentence.tags, strict=True)) | dict(ambiguous[first:at])
            found[s] = sentence._replace(tags=tuple(of_position[i] for i in sentence.positions))
    return found


def token_second_tag(token: Token) -> str:
    """The second-best tag of recurrent_tagger if it is at least a tenth as probable as `token.tag_`; else "". Also ""
    if another component or the user has changed `token.tag_`."""
    stored = _user_data(token.doc).get(_key(token.idx))
    return "" if stored is None else _second_of(stored, token)
