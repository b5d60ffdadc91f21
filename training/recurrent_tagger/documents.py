"""Training documents: consecutive sentences in one of several typographies, drawn again in every pass."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain, repeat
from typing import NamedTuple

import numpy as np
from spacy.language import Language
from spacy.tokenizer import Tokenizer
from spacy.tokens import Doc
from spacy.training import Example

from training.data.tagged_treebanks import CorpusSentence
from training.recurrent_tagger.config import AugmentConfig, FitConfig

SPACE_TAG = "_SP"
_CURLY = {('"', "``"): "“", ('"', "''"): "”", ("'", "``"): "‘"}
_BREAKS = ("\n", "\n\n", " ", "  ")
_SIGN_TAGS = {"-": "HYPH", "–": "HYPH", "‐": "HYPH", "/": "HYPH", "+": "SYM", "'": "SYM", "°": "NN", ".": "."}
_FINAL = frozenset(". ! ? … 。 ！ ？ ؟ ۔ । ॥".split())
_INNER = re.compile(r"[-.,]")  # may stand inside a piece: "IL-2", "r.m.s", "1,000"
_MODIFIER = frozenset({"JJ", "VBN", "VBG", "NN", "CD", "RB", "IN"})


def curly_words(sentence: CorpusSentence) -> tuple[str, ...]:
    """The words with typographic quotes, apostrophes and dashes; tags distinguish opening from closing quotes."""
    pairs = zip(sentence.words, sentence.tags, strict=True)
    return tuple("—" if pair[0] == "--" else _CURLY.get(pair, pair[0].replace("'", "’")) for pair in pairs)


def title_words(sentence: CorpusSentence) -> tuple[str, ...]:
    """The words with capitals as in English titles (short function words stay as they are)."""
    return tuple(
        word if tag in ("IN", "DT", "CC", "TO") or not word.islower() else word[:1].upper() + word[1:]
        for word, tag in zip(sentence.words, sentence.tags, strict=True)
    )


class WordSplitter:
    """Splits treebank words as spaCy's tokenizer would ("T-cell" as "T", "-", "cell"), and guesses the parts' tags.
    GENIA, the Wall Street Journal and part of MASC do not split hyphenated words; CRAFT and GUM, and spaCy's tokenizer
    in users' texts, split most of them. Training on split sentences shows the tagger such words in their usual
    contexts, and prevents the senter from ending a sentence after "Fig" + ".". A part gets its most frequent tag in
    ``evidence``, sentences of treebanks that split; only signs and last parts are certain enough to be set by rule. If
    tags are not the Penn Treebank's (``penn``), a part that is not in the evidence gets the tag of the whole word."""

    def __init__(self, tokenizer: Tokenizer, evidence: Iterable[CorpusSentence], penn: bool = True) -> None:
        self._penn = penn
        counts: dict[str, Counter[str]] = defaultdict(Counter)
        for sentence in evidence:
            for word, tag in zip(sentence.words, sentence.tags, strict=True):
                counts[word][tag] += 1
        # Equal counts: the alphabetically first tag, so that the order of the evidence does not matter.
        self._majority = {word: min(tags, key=lambda tag: (-tags[tag], tag)) for word, tags in counts.items()}
        self._pieces = cache(lambda word: tuple(token.text for token in tokenizer(word)))

    def split(self, sentence: CorpusSentence) -> CorpusSentence | None:
        """Split the words of a sentence; None if there is nothing to split. Words are split at hyphens, slashes and a
        few signs ("Ca2+", "5'") and before a final full stop ("Fig."): users' texts often differ from treebanks there,
        and the tags can be guessed."""
        words: list[str] = []
        tags: list[str] = []
        for word, tag in zip(sentence.words, sentence.tags, strict=True):
            pieces = self._pieces(word)
            split = len(pieces) > 1 and _splittable(pieces)
            words += pieces if split else [word]
            tags += self._tags(pieces, tag) if split else [tag]
        return CorpusSentence(tuple(words), tuple(tags)) if len(words) > len(sentence.words) else None

    def _tags(self, pieces: tuple[str, ...], whole: str) -> list[str]:
        if not self._penn:
            sign = pieces[-1] in _SIGN_TAGS
            return [
                *(self._known_tag(piece) or whole for piece in pieces[:-1]),
                (sign and self._known_tag(pieces[-1])) or whole,
            ]
        result = [self._guess(piece, whole) for piece in pieces]
        last = max(i for i, piece in enumerate(pieces) if piece not in _SIGN_TAGS)
        if whole not in {"JJ", "CD"} or "-" not in pieces:
            result[last] = whole
        elif result[last] not in _MODIFIER:
            result[last] = "JJ"
        return result

    def _known_tag(self, piece: str) -> str:
        return self._majority.get(piece) or self._majority.get(piece.lower()) or ""

    def _guess(self, piece: str, whole: str) -> str:
        known = _SIGN_TAGS.get(piece) or self._known_tag(piece)
        if known or piece[0].isdigit():
            return known or "CD"
        return "NNP" if whole in {"NNP", "NNPS"} and piece[0].isupper() else "NN"


def _splittable(pieces: tuple[str, ...]) -> bool:
    if (pieces[0] in _SIGN_TAGS and pieces[0] != "°") or ("'" in pieces and not pieces[0][-1].isdigit()):
        return False  # "'ve" alone, "an'": in a text, these are attached to their neighbours
    return all(piece in _SIGN_TAGS or _INNER.sub("", piece).isalnum() for piece in pieces)


class TokenRow(NamedTuple):
    """A token of a training document. `start`: whether a sentence begins here."""

    word: str
    tag: str
    start: bool


@dataclass
class DocumentSampler:
    """Draws the training documents of one pass from groups of consecutive sentences. `groups`: lists of sentences that
    follow one another in a treebank; a group listed twice occurs twice per pass. Documents never cross groups. All
    random draws come from generators seeded by `fit.seed`. `splitter` splits words with the probability in
    `augment`."""

    groups: Sequence[Sequence[CorpusSentence]]
    augment: AugmentConfig
    fit: FitConfig
    splitter: WordSplitter | None = None

    def __post_init__(self) -> None:
        self._random, self._spacing = (np.random.default_rng(seed) for seed in (self.fit.seed, [self.fit.seed, 1]))

    def examples(self, nlp: Language) -> Iterator[Example]:
        """Yield `one_pass` as spaCy's Examples, whose Docs have the vocabulary of `nlp`."""
        for tokens in self.one_pass():
            words, tags, starts = (list(column) for column in zip(*tokens, strict=True))
            reference = Doc(nlp.vocab, words=words, tags=tags, sent_starts=starts)
            yield Example(Doc(nlp.vocab, words=words), reference)

    def one_pass(self) -> Iterator[list[TokenRow]]:
        """Yield all documents of one pass, in random order, as lists of tokens."""
        runs: list[Sequence[CorpusSentence]] = []
        for group in self.groups:
            start = 0
            while start < len(group):
                runs.append(group[start : start + int(self._random.choice(self.fit.run_lengths))])
                start += len(runs[-1])
        for index in self._random.permutation(len(runs)):
            if tokens := self._document(runs[index]):
                yield tokens

    def _document(self, sentences: Sequence[CorpusSentence]) -> list[TokenRow]:
        # Curly quotes, line breaks and lower case are drawn per document, the rest per sentence.
        augment = self.augment
        curly, lower = self._random.random(2)
        wrapped = self._spacing.random()
        tokens: list[TokenRow] = []
        for sentence in sentences:
            case, split, drop = self._random.random(3)
            if self.splitter is not None and split < augment.split_hyphens:
                sentence = self.splitter.split(sentence) or sentence
            if lower < augment.lower:
                words = tuple(word.lower() for word in sentence.words)
            elif case < augment.title:
                words = title_words(sentence)
            elif case < augment.title + augment.upper:
                words = tuple(word.upper() for word in sentence.words)
            elif curly < augment.curly:
                words = curly_words(sentence)
            else:
                words = sentence.words
            if not words:
                continue
            part = list(map(TokenRow, words, sentence.tags, chain([True], repeat(False))))
            shortened = len(part) > 1 and drop < augment.drop_final and part[-1].word in _FINAL
            if shortened:
                part.pop()
            tokens += self._wrap(part) if wrapped < augment.wrapped else part
            if self._spacing.random() < augment.newline * (4 if shortened else 1):
                tokens.append(_space(int(self._spacing.integers(3))))
        return tokens

    def _wrap(self, part: list[TokenRow]) -> list[TokenRow]:
        """Insert a line break every 8 to 16 words, or runs of blanks every 1 to 8 words."""
        lines = self._spacing.random() < 0.5
        result: list[TokenRow] = []
        while part:
            size = int(self._spacing.integers(*((8, 17) if lines else (1, 9))))
            result, part = result + part[:size], part[size:]
            if part:
                result.append(_space(0 if lines else int(self._spacing.integers(2, 4))))
        return result


def _space(which: int) -> TokenRow:
    # A whitespace token belongs to the sentence before it, as in spaCy's own training data.
    return TokenRow(_BREAKS[which], SPACE_TAG, False)
