"""Convert raw text to tagged sentences for a teacher to parse."""

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import spacy
from spacy.language import Language
from spacy.tokens import Doc

from spacy_dtparse import load as load_embedded
from spacy_dtparse.core.registry import CONSTITUENT_FACTORIES
from spacy_dtparse.errors import ConfigError, ModelFormatError
from spacy_dtparse.pipeline.second_tags import read_ambiguous_tags

from .text import TextFile
from .treebanks import TreebankFile

HYPHENS = frozenset("-\u2010\u2011")
MIN_WORD_FRACTION = 0.5
"""At least this fraction of a sentence's tokens must be words (begin with a letter), one of them in lower case."""

DROPPED = ("short", "long", "no_language", "in_treebank", "duplicate")
"""Reasons to leave out sentences; a sentence with several reasons counts for the first."""


class TaggedSentence(NamedTuple):
    """A sentence of raw text. `file`: index of the text; `words`, `tags`: of each token."""

    file: int
    words: tuple[str, ...]
    tags: tuple[str, ...]


@dataclass(frozen=True)
class SentenceSelection:
    """Criteria for selecting sentences of texts.

    `min_words`, `max_words`: minimum and maximum tokens of a sentence, including punctuation. `keep_hyphens`: words are
    not split at hyphens, as in the Wall Street Journal and GENIA treebanks (spaCy splits them, as CRAFT and GUM do).
    `exclude`: treebanks whose sentences are left out, such as the dev part that students are scored on. `limit`: take
    only the first sentences of the selection.

    Raises ConfigError for values out of range.
    """

    min_words: int = 3
    max_words: int = 40
    keep_hyphens: bool = False
    exclude: tuple[TreebankFile, ...] = ()
    limit: int | None = None

    def __post_init__(self) -> None:
        if not 1 <= self.min_words <= self.max_words:
            raise ConfigError(
                f"sentences of {self.min_words} to {self.max_words} words are required; the minimum must be 1 or more "
                "and the maximum not below it (--min-words, --max-words)"
            )
        if self.limit is not None and self.limit < 1:
            raise ConfigError(f"the limit is {self.limit} sentences; give 1 or more (--limit)")


def load_tagger(pipeline: str | None = None) -> Language:
    """Load a pipeline that tags and splits sentences, without its parser; None: the embedded English one. Raises
    ModelFormatError if there is no such pipeline."""
    if pipeline is None:
        return load_embedded("en_span", exclude=["span_parser"])
    try:
        nlp = spacy.load(pipeline)
    except (OSError, ValueError) as error:
        raise ModelFormatError(
            f"cannot load {pipeline} as a spaCy pipeline ({error}); give a folder or an installed package"
        ) from error
    for name in nlp.pipe_names:
        if nlp.get_pipe_meta(name).factory in CONSTITUENT_FACTORIES:
            nlp.remove_pipe(name)
    return nlp


def pipeline_metadata(nlp: Language) -> dict[str, Any]:
    """Language, name, version and a digest of the pipeline's weights, as plain data."""
    digest = hashlib.sha256()
    for name, pipe in nlp.pipeline:
        digest.update(name.encode())
        model = getattr(pipe, "model", None)
        if model is not None:
            digest.update(model.to_bytes())
    meta = nlp.meta
    return {"lang": meta["lang"], "name": meta["name"], "version": meta["version"], "sha256": digest.hexdigest()}


def join_hyphens(words: Sequence[str], spaces: Sequence[bool]) -> tuple[list[str], list[bool]]:
    """Join words that a tokenizer split at hyphens: `high`, `-`, `rise` becomes `high-rise`. Returns (words, spaces).

    A hyphen is joined to both sides if there is no space around it and a letter or digit (or, before it, a full stop)
    next to it.
    """
    out: list[str] = []
    out_spaces: list[bool] = []
    glued, before, space_before = False, " ", True
    for word, space, following in zip(words, spaces, [*words[1:], " "], strict=True):
        hyphen = (
            word in HYPHENS
            and not (space_before or space)
            and (before[-1].isalnum() or before[-1] == ".")
            and following[0].isalnum()
        )
        if glued or hyphen:
            out[-1] += word
            out_spaces[-1] = space
        else:
            out.append(word)
            out_spaces.append(space)
        glued, before, space_before = hyphen, word, space
    return out, out_spaces


def sentence_key(words: Iterable[str]) -> str:
    """A key that is equal for sentences that differ only in tokenization, case, punctuation and the spelling of
    brackets."""
    return "".join(character for word in words for character in word.casefold() if character.isalnum())


def is_language(words: Sequence[str]) -> bool:
    """Return whether a sentence looks like language: half of its tokens are words, not all of them capitalised."""
    letters = [word for word in words if word[0].isalpha()]
    return len(letters) >= MIN_WORD_FRACTION * len(words) and any(word[0].islower() for word in letters)


def _docs(nlp: Language, paragraphs: Iterable[str], keep_hyphens: bool) -> Iterator[Doc]:
    for paragraph in paragraphs:
        doc = nlp.make_doc(paragraph)
        if keep_hyphens:
            words, spaces = join_hyphens([t.text for t in doc], [bool(t.whitespace_) for t in doc])
            if len(words) < len(doc):
                doc = Doc(nlp.vocab, words=words, spaces=spaces)
        yield doc


def tagged_sentences(nlp: Language, paragraphs: Iterable[str], keep_hyphens: bool) -> Iterator[tuple[list, list]]:
    """(words, tags) of each sentence of the paragraphs. Words are joined before tagging, so that the whole word gets a
    tag. Raises ConfigError if the pipeline sets no sentence boundaries or no tags."""
    for doc in nlp.pipe(_docs(nlp, paragraphs, keep_hyphens), batch_size=64):
        if not doc.has_annotation("SENT_START") or not all(token.tag_ for token in doc):
            lacking = "tags" if doc.has_annotation("SENT_START") else "sentence boundaries"
            raise ConfigError(
                f"the pipeline {nlp.meta['name']!r} ({', '.join(nlp.pipe_names) or 'no components'}) sets no "
                f"{lacking}; give one with a tagger that sets them, or with a senter"
            )
        ambiguous = read_ambiguous_tags(doc)
        for sentence in doc.sents:
            tokens = [token for token in sentence if not token.is_space]
            yield [token.text for token in tokens], [ambiguous.get(token.i, token.tag_) for token in tokens]


def select_sentences(
    nlp: Language, files: Sequence[TextFile], reading: SentenceSelection
) -> tuple[list[TaggedSentence], list[dict[str, Any]]]:
    """(Sentences to parse; for each file its name, the numbers of paragraphs, sentences and words read, and the number
    of sentences left out for each reason in DROPPED). Raises TrainingDataError for files that cannot be read or
    treebanks without trees, ConfigError as `tagged_sentences` does, and if there is no file."""
    if not files:
        raise ConfigError("no text to parse; give --text FILE, UTF-8 with one paragraph per line")
    banned = {sentence_key(s.tree.words) for file in reading.exclude for s in file.read()}
    seen_keys: set[str] = set()
    found: list[TaggedSentence] = []
    counts: list[dict[str, Any]] = []
    for i, file in enumerate(files):
        paragraphs = file.paragraphs()
        dropped = dict.fromkeys(DROPPED, 0)
        count = {"name": file.name, "paragraphs": len(paragraphs), "sentences": 0, "words": 0}
        counts.append({**count, "dropped": dropped})
        for words, tags in tagged_sentences(nlp, paragraphs, reading.keep_hyphens):
            if len(found) == reading.limit:
                break
            counts[-1]["sentences"] += 1
            counts[-1]["words"] += len(words)
            key = sentence_key(words)
            reasons = (
                len(words) < reading.min_words,
                len(words) > reading.max_words,
                not words or not is_language(words),
                key in banned,
                key in seen_keys,
            )
            if any(reasons):
                dropped[DROPPED[reasons.index(True)]] += 1
            else:
                seen_keys.add(key)
                found.append(TaggedSentence(i, tuple(words), tuple(tags)))
    if not found:
        raise ConfigError(
            f"all {sum(c['sentences'] for c in counts)} sentences of the text were left out "
            f"({counts[0]['dropped']}); give more text, or change --min-words and --max-words"
        )
    return found, counts
