"""From a Doc to what a parser takes: sentences of words and tags, each word with its place in the Doc."""

from collections.abc import Iterator
from typing import NamedTuple

from spacy.attrs import SENT_START
from spacy.tokens import Doc, Token

from ..errors import DtparseError
from ..parsers.base import UNKNOWN_TAG


class MissingAnnotationError(DtparseError):
    """A Doc lacks what parsing needs."""


class SentenceInput(NamedTuple):
    """One sentence [start, end) of a Doc. `words`, `tags` and `places` (indices in the Doc) leave white space out."""

    start: int
    end: int
    words: tuple[str, ...]
    tags: tuple[str, ...]
    places: tuple[int, ...]


def is_blank(text: str) -> bool:
    """Whether a token has no visible text, so that no parser sees it."""
    return not text.strip()


def plain_word(text: str) -> str:
    """The text of a token as one word: white space inside it, as merged tokens have, becomes `_`."""
    return text if not any(map(str.isspace, text)) else "_".join(text.split())


def sentence_bounds(doc: Doc) -> list[tuple[int, int]]:
    """The half-open token ranges of the sentences; the whole Doc is one where no boundary is set.

    Unlike `Doc.sents` this never raises: a Doc with boundaries in only some places is cut there.
    """
    if len(doc) == 0:
        return []
    if "sents" in doc.user_hooks:
        return [(sent.start, sent.end) for sent in doc.sents]
    flags = doc.to_array([SENT_START]).reshape(-1).tolist()
    starts = [0] + [place for place in range(1, len(flags)) if flags[place] == 1]
    return list(zip(starts, [*starts[1:], len(doc)], strict=True))


def has_boundaries(doc: Doc) -> bool:
    """Whether anything says where sentences begin; true for a Doc that has no room for a boundary."""
    return len(doc) < 2 or "sents" in doc.user_hooks or doc.has_annotation("SENT_START")


def visible_tokens(doc: Doc) -> Iterator[tuple[int, int, list[Token]]]:
    """Each sentence of `doc`, blank ones included: its range [start, end), and those of its tokens that parsers see."""
    for start, end in sentence_bounds(doc):
        yield start, end, [token for token in doc[start:end] if not is_blank(token.text)]


def read_sentences(doc: Doc, component: str = "dtparse", needs_tags: bool = True) -> tuple[list[SentenceInput], int]:
    """The sentences of `doc`, blank ones included, and how many words have no tag.

    Raises MissingAnnotationError when there are words and none has a tag, if `needs_tags`.
    """
    sentences, untagged, n_words = [], 0, 0
    for start, end, tokens in visible_tokens(doc):
        tags = [token.tag_ for token in tokens]
        untagged += tags.count("")
        n_words += len(tokens)
        words = tuple(plain_word(token.text) for token in tokens)
        known = tuple(tag or UNKNOWN_TAG for tag in tags)
        sentences.append(SentenceInput(start, end, words, known, tuple(token.i for token in tokens)))
    if needs_tags and n_words and untagged == n_words:
        raise MissingAnnotationError(
            f"{component} needs part-of-speech tags (token.tag_), and none of the {n_words} words of this Doc has one. "
            f"Put a tagger before {component!r} in the pipeline, use spacy_dtparse.load(), or set the tags yourself: "
            "Doc(vocab, words=…, tags=…)"
        )
    return sentences, untagged
