"""Sentences as arrays: every typographic variant of every sentence, and documents drawn from them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from training.pos_tagger.config import AugmentConfig, FitConfig
from training.pos_tagger.lexicon import Lexicon, curly_words, title_words
from training.pos_tagger.sentences import Sentence

FINAL_TAG = "."
SPACE_TAG = "_SP"
VARIANTS = ("plain", "tokenizer_norms", "curly", "lower", "title", "upper")


@dataclass(frozen=True)
class EncodedSentence:
    """One sentence for training.

    words: int32 [variants, words], word types of ``Lexicon`` in the order of ``VARIANTS``.
    tags: int32 [words], numbers of the gold tags.
    split: the same sentence with hyphenated words split as spaCy splits them, or None when nothing changes.
    """

    words: np.ndarray
    tags: np.ndarray
    split: EncodedSentence | None = None


@dataclass(frozen=True)
class Document:
    """Consecutive sentences put together: int32 arrays of word types, tags and sentence starts (1 or 0)."""

    words: np.ndarray
    tags: np.ndarray
    starts: np.ndarray

    def __len__(self) -> int:
        return len(self.words)


def encode(sentence: Sentence, lexicon: Lexicon, tag_numbers: dict[str, int]) -> EncodedSentence:
    """Number the words of all variants and the tags. Raises KeyError at a tag that ``tag_numbers`` lacks."""
    words = sentence.words
    curly = curly_words(sentence)
    rows = [
        lexicon.numbers(words),
        lexicon.tokenizer_numbers(words),
        lexicon.tokenizer_numbers(curly),
        lexicon.tokenizer_numbers(tuple(word.lower() for word in words)),
        lexicon.tokenizer_numbers(title_words(sentence)),
        lexicon.numbers(tuple(word.upper() for word in words)),
    ]
    tags = np.array([tag_numbers[tag] for tag in sentence.tags], dtype=np.int32)
    return EncodedSentence(np.stack(rows).reshape(len(VARIANTS), len(words)), tags)


class DocumentSampler:
    """Draws the training documents of one pass from groups of consecutive sentences.

    ``groups`` are lists of sentences that follow one another in a treebank; a group listed twice is seen
    twice a pass. Documents never cross groups. All drawing comes from generators seeded by ``fit.seed``.
    """

    def __init__(
        self,
        groups: Sequence[Sequence[EncodedSentence]],
        augment: AugmentConfig,
        fit: FitConfig,
        lexicon: Lexicon,
        tag_numbers: dict[str, int],
    ) -> None:
        self._groups = groups
        self._augment = augment
        self._lengths = fit.run_lengths
        self._random = np.random.default_rng(fit.seed)
        self._spacing = np.random.default_rng([fit.seed, 1])
        self._final_tag = tag_numbers.get(FINAL_TAG, -1)
        if augment.inserts_space:
            if SPACE_TAG not in tag_numbers:
                raise ValueError(f"whitespace tokens are asked for, but the tags lack {SPACE_TAG}; add it")
            self._space_tag = tag_numbers[SPACE_TAG]
            self._breaks = [lexicon.number(text) for text in ("\n", "\n\n", " ", "  ")]

    def words_per_pass(self) -> int:
        """Number of training words of one pass, before augmentation."""
        return sum(len(sentence.tags) for group in self._groups for sentence in group)

    def one_pass(self) -> Iterator[Document]:
        """All documents of one pass, in random order."""
        runs: list[tuple[int, int, int]] = []
        for number, group in enumerate(self._groups):
            start = 0
            while start < len(group):
                stop = min(len(group), start + int(self._random.choice(self._lengths)))
                runs.append((number, start, stop))
                start = stop
        for index in self._random.permutation(len(runs)):
            number, start, stop = runs[index]
            document = self._document(self._groups[number][start:stop])
            if len(document):
                yield document

    def _document(self, sentences: Sequence[EncodedSentence]) -> Document:
        # Typography, line breaks and lower case belong to a document, the rest to a sentence.
        augment = self._augment
        curly, norms, lower = self._random.random(3)
        wrapped = self._spacing.random()
        base = 0
        if curly < augment.curly:
            base = VARIANTS.index("curly")
        elif norms < augment.tokenizer_norms:
            base = VARIANTS.index("tokenizer_norms")
        parts: list[Document] = []
        for sentence in sentences:
            case, split, drop = self._random.random(3)
            if sentence.split is not None and split < augment.split_hyphens:
                sentence = sentence.split
            row = base
            if lower < augment.lower:
                row = VARIANTS.index("lower")
            elif case < augment.title:
                row = VARIANTS.index("title")
            elif case < augment.title + augment.upper:
                row = VARIANTS.index("upper")
            size = len(sentence.tags)
            dropped = size > 1 and drop < augment.drop_final and int(sentence.tags[-1]) == self._final_tag
            size -= dropped
            if size == 0:
                continue
            starts = np.zeros(size, dtype=np.int32)
            starts[0] = 1
            part = Document(sentence.words[row, :size], sentence.tags[:size], starts)
            if wrapped < augment.wrapped:
                part = self._wrap(part)
            parts.append(part)
            if self._spacing.random() < augment.newline * (4 if dropped else 1):
                parts.append(self._space(int(self._spacing.integers(3))))
        return _join(parts)

    def _space(self, which: int) -> Document:
        # A whitespace token belongs to the sentence before it, as in spaCy's own training data.
        return Document(*(np.array([x], dtype=np.int32) for x in (self._breaks[which], self._space_tag, 0)))

    def _wrap(self, part: Document) -> Document:
        """The part with a line break every 8 to 16 words, or with more than one blank here and there."""
        lines = self._spacing.random() < 0.5
        pieces: list[Document] = []
        start = 0
        while start < len(part):
            stop = start + int(self._spacing.integers(8, 17) if lines else self._spacing.integers(1, 9))
            pieces.append(Document(part.words[start:stop], part.tags[start:stop], part.starts[start:stop]))
            if stop < len(part):
                pieces.append(self._space(0 if lines else int(self._spacing.integers(2, 4))))
            start = stop
        return _join(pieces)


def _join(parts: Sequence[Document]) -> Document:
    if not parts:
        return Document(*(np.zeros(0, dtype=np.int32) for _ in range(3)))
    return Document(
        np.concatenate([part.words for part in parts]),
        np.concatenate([part.tags for part in parts]),
        np.concatenate([part.starts for part in parts]),
    )
