"""Training documents: consecutive sentences in one of several typographies, drawn anew at every pass."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from spacy.attrs import NORM, ORTH
from spacy.language import Language
from spacy.tokenizer import Tokenizer
from spacy.tokens import Doc
from spacy.training import Example

from training.pos_tagger.config import AugmentConfig, FitConfig
from training.pos_tagger.splitting import WordSplitter
from training.pos_tagger.treebanks import Sentence

FINAL_TAG = "."
SPACE_TAG = "_SP"
_CURLY_DOUBLE = {"``": "“", "''": "”"}
_CURLY_SINGLE = {"``": "‘", "''": "’"}
_DASHES = {"--": "—"}
_BREAKS = ("\n", "\n\n", " ", "  ")


def curly_words(sentence: Sentence) -> tuple[str, ...]:
    """The words with typographic quotes, apostrophes and dashes; tags tell opening from closing quotes."""
    words = []
    for word, tag in zip(sentence.words, sentence.tags, strict=True):
        if word == '"':
            word = _CURLY_DOUBLE.get(tag, word)
        elif word == "'":
            word = _CURLY_SINGLE.get(tag, "’")
        else:
            word = _DASHES.get(word, word).replace("'", "’")
        words.append(word)
    return tuple(words)


def title_words(sentence: Sentence) -> tuple[str, ...]:
    """The words with capitals as in English titles (short function words stay as they are)."""
    small = {"IN", "DT", "CC", "TO"}
    return tuple(
        word if tag in small or not word.islower() else word[:1].upper() + word[1:]
        for word, tag in zip(sentence.words, sentence.tags, strict=True)
    )


class TokenizerNorms:
    """The NORMs that a tokenizer's exceptions give to words ("n't" has the norm "not")."""

    def __init__(self, nlp: Language) -> None:
        self._rules = {
            tuple(piece[ORTH] for piece in pieces): tuple(piece.get(NORM) for piece in pieces)
            for pieces in cast(Tokenizer, nlp.tokenizer).rules.values()
        }
        self._longest = max((len(key) for key in self._rules), default=0)

    def __call__(self, words: Sequence[str]) -> list[str | None]:
        """The NORM of each word; None where the word's own is kept."""
        words = tuple(words)
        result: list[str | None] = []
        while (start := len(result)) < len(words):
            for size in range(min(self._longest, len(words) - start), 0, -1):
                norms = self._rules.get(words[start : start + size])
                if norms is not None:
                    break
            else:
                norms = (None,)
            result.extend(norms)
        return result


@dataclass
class _Tokens:
    """Words, their norms (None: the vocabulary's), tags, and whether a sentence begins at each."""

    words: list[str]
    norms: list[str | None]
    tags: list[str]
    starts: list[bool]

    def __len__(self) -> int:
        return len(self.words)

    def extend(self, other: _Tokens, start: int = 0, stop: int | None = None) -> None:
        """Append the tokens [start, stop) of other."""
        for mine, theirs in zip(vars(self).values(), vars(other).values(), strict=True):
            mine.extend(theirs[start:stop])


class DocumentSampler:
    """Draws the training documents of one pass from groups of consecutive sentences, as spaCy's Examples.

    `groups` are lists of sentences that follow one another in a treebank; a group listed twice is seen
    twice a pass. Documents never cross groups. All drawing comes from generators seeded by `fit.seed`.
    `splitter` splits words where `augment` wants that. The Docs have the vocabulary of `nlp`.
    """

    def __init__(
        self,
        groups: Sequence[Sequence[Sentence]],
        augment: AugmentConfig,
        fit: FitConfig,
        nlp: Language,
        splitter: WordSplitter | None = None,
    ) -> None:
        self._groups = groups
        self._augment = augment
        self._lengths = fit.run_lengths
        self._random = np.random.default_rng(fit.seed)
        self._spacing = np.random.default_rng([fit.seed, 1])
        self._vocab = nlp.vocab
        self._norms = TokenizerNorms(nlp)
        self._splitter = splitter

    def words_per_pass(self) -> int:
        """Number of training words of one pass, before augmentation."""
        return sum(len(sentence.tags) for group in self._groups for sentence in group)

    def one_pass(self) -> Iterator[Example]:
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
            tokens = self._document(self._groups[number][start:stop])
            if len(tokens):
                yield self._example(tokens)

    def _example(self, tokens: _Tokens) -> Example:
        seen = Doc(self._vocab, words=tokens.words)
        for token, norm in zip(seen, tokens.norms, strict=True):
            if norm is not None:
                token.norm_ = norm
        starts: list[bool | int | None] = [*tokens.starts]
        return Example(seen, Doc(self._vocab, words=tokens.words, tags=tokens.tags, sent_starts=starts))

    def _document(self, sentences: Sequence[Sentence]) -> _Tokens:
        # Typography, line breaks and lower case belong to a document, the rest to a sentence.
        augment = self._augment
        curly, norms, lower = self._random.random(3)
        wrapped = self._spacing.random()
        tokens = _Tokens([], [], [], [])
        for sentence in sentences:
            case, split, drop = self._random.random(3)
            if self._splitter is not None and split < augment.split_hyphens:
                sentence = self._splitter.split(sentence) or sentence
            exceptions = True  # whether the tokenizer's exceptions set the norms
            if lower < augment.lower:
                words = tuple(word.lower() for word in sentence.words)
            elif case < augment.title:
                words = title_words(sentence)
            elif case < augment.title + augment.upper:
                words, exceptions = tuple(word.upper() for word in sentence.words), False
            elif curly < augment.curly:
                words = curly_words(sentence)
            else:
                words, exceptions = sentence.words, norms < augment.tokenizer_norms
            size = len(words)
            dropped = size > 1 and drop < augment.drop_final and sentence.tags[-1] == FINAL_TAG
            size -= dropped
            if size == 0:
                continue
            part = _Tokens(
                [*words[:size]],
                self._norms(words)[:size] if exceptions else [None] * size,
                [*sentence.tags[:size]],
                [True] + [False] * (size - 1),
            )
            tokens.extend(self._wrap(part) if wrapped < augment.wrapped else part)
            if self._spacing.random() < augment.newline * (4 if dropped else 1):
                tokens.extend(_space(int(self._spacing.integers(3))))
        return tokens

    def _wrap(self, part: _Tokens) -> _Tokens:
        """The part with a line break every 8 to 16 words, or with more than one blank here and there."""
        lines = self._spacing.random() < 0.5
        result = _Tokens([], [], [], [])
        start = 0
        while start < len(part):
            stop = start + int(self._spacing.integers(8, 17) if lines else self._spacing.integers(1, 9))
            result.extend(part, start, stop)
            if stop < len(part):
                result.extend(_space(0 if lines else int(self._spacing.integers(2, 4))))
            start = stop
        return result


def _space(which: int) -> _Tokens:
    # A whitespace token belongs to the sentence before it, as in spaCy's own training data.
    return _Tokens([_BREAKS[which]], [None], [SPACE_TAG], [False])


_ENDINGS = "com|org|net|edu|gov|mil|info|biz|io|tv|eu|uk|de|fr|es|nl|se|ch|at|ca|au|nz|jp|cn|ru|br|pl|dk|no|fi"
_EMOJI = "\U0001f000-\U0001faff\u2600-\u2605\u2615\u2639-\u263b\u2661\u2665\u26a1\u2728\u2764\u2b50\u200d\ufe0f"
FORMS = {
    "ADD": (
        r"^(?:[Hh][Tt][Tt][Pp][Ss]?://|[Ww][Ww][Ww]\.)\S+$",
        rf"^[A-Za-z0-9-]{{2,}}(?:\.[A-Za-z0-9-]+)*\.(?:{_ENDINGS})(?:[/:?]\S*)?$",
        r"^[\w.+-]+@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+$",
        r"^@\w{2,}$",
    ),
    "NFP": (rf"^[{_EMOJI}]+$",),
    ":": (r"^\u2026+$",),
}
"""Regular expressions of whole tokens by tag."""
NAME = "attribute_ruler"


def add_forms(nlp: Language, tags: Collection[str]) -> None:
    """Add spaCy's `attribute_ruler` after the tagger, with FORMS for those of the tags that there are."""
    known = {tag: forms for tag, forms in FORMS.items() if tag in tags}
    if not known:
        return
    ruler = cast(Any, nlp.add_pipe(NAME, after="tagger"))
    for tag, forms in known.items():
        ruler.add([[{"TEXT": {"REGEX": form}}] for form in forms], {"TAG": tag})
