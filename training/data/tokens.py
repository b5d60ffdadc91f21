"""The tokenizer of a trained pipeline: spaCy's tokenizer for the language, adapted to the tokens of treebanks: with
lists for English, with the training sentences for other languages. A saved pipeline contains it."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import cast

import spacy
from spacy.language import Language
from spacy.symbols import ORTH
from spacy.tokenizer import Tokenizer
from spacy.util import compile_infix_regex

from spacy_dtparse.errors import ConfigError
from spacy_dtparse.text import raw_word
from spacy_dtparse.trees import Tree

UNSPLIT = (
    "MR. MRS. MS. DR. PROF. REV. GEN. SEN. REP. GOV. JR. SR. Sr. Col. COL. Capt. CAPT. Lt. LT. Sgt. SGT. Cpl. Maj. "
    "Hon. HON. Messrs. Figs. Fig. Vol. pp. cf. al. etc. viz. approx. dept. Dept. Ave. Blvd."
).split()
"""English abbreviations that keep their full stop."""
SPLIT = {
    "I.": ("I", "."),  # spaCy would treat it as an initial
    "d'you": ("d'", "you"),
    "'tis": ("'t", "is"),
    "'twas": ("'t", "was"),
    "'twere": ("'t", "were"),
    "'twill": ("'t", "will"),
    "wanna": ("wan", "na"),
    "gimme": ("gim", "me"),
    "lemme": ("lem", "me"),
}
"""English words that are two tokens. Lower-case ones are also split with an initial capital and a curly apostrophe."""
_MIN_COUNT = 2
_MIN_HYPHENATED = 10
_HYPHENATED = re.compile(r"[^\W\d_]-[^\W\d_]")


def blank_pipeline(lang: str, sentences: Iterable[Sequence[str]] = ()) -> Language:
    """spaCy's blank pipeline of a language. Its tokenizer uses `UNSPLIT` and `SPLIT` for English; for other languages
    it is adapted to the tokens of `sentences` (see `adapt_tokenizer`). Raises ConfigError if spaCy lacks the language
    or a package for it."""
    try:
        nlp = spacy.blank(lang)
    except ImportError as error:
        raise ConfigError(
            f"--lang {lang}: spaCy has no tokenizer for it ({' '.join(str(error).split())[:200]}); give a code of "
            "spaCy (is, de, …), install the package that it needs, or use xx, which stands for any language"
        ) from error
    if lang == "en":
        add_tokens(nlp)
    else:
        adapt_tokenizer(nlp, sentences)
    return nlp


def add_tokens(nlp: Language) -> None:
    """Add `UNSPLIT` and `SPLIT` as special cases to the tokenizer of an English pipeline, in place."""
    tokenizer = cast(Tokenizer, nlp.tokenizer)
    for word in UNSPLIT:
        tokenizer.add_special_case(word, [{ORTH: word}])
    for word, pieces in SPLIT.items():
        for first in {pieces[0], pieces[0].capitalize(), _capital_after_apostrophe(pieces[0])}:
            for apostrophe in "'’" if "'" in word else "'":
                here = [first.replace("'", apostrophe), *pieces[1:]]
                tokenizer.add_special_case("".join(here), [{ORTH: piece} for piece in here])


def adapt_tokenizer(nlp: Language, sentences: Iterable[Sequence[str]]) -> None:
    """Adapt the tokenizer: it no longer splits tokens that occur at least twice, and more often than their pieces occur
    in sequence. It no longer splits at hyphens if the sentences have hyphens within words."""
    tokenizer = nlp.tokenizer
    if not isinstance(tokenizer, Tokenizer):  # one of another package, as for Japanese
        return
    sentences = [list(sentence) for sentence in sentences]
    words = Counter(word for sentence in sentences for word in sentence)
    inside = sum(times for word, times in words.items() if _HYPHENATED.search(word))
    between = sum(
        before[-1:].isalpha() and word == "-" and after[:1].isalpha()
        for sentence in sentences
        for before, word, after in zip(sentence, sentence[1:], sentence[2:], strict=False)
    )
    if inside >= _MIN_HYPHENATED and inside > between:
        infixes = [infix for infix in nlp.Defaults.infixes or () if not re.search(str(infix), "a-a")]
        tokenizer.infix_finditer = compile_infix_regex(infixes).finditer
    scratch = spacy.blank(str(nlp.lang))  # so that words to be split do not enter the vocabulary of `nlp`
    cast(Tokenizer, scratch.tokenizer).infix_finditer = tokenizer.infix_finditer
    pieces_by_word = {word: pieces(scratch, word) for word, times in words.items() if times >= _MIN_COUNT}
    cut = {word: parts for word, parts in pieces_by_word.items() if len(parts) > 1}
    apart = _count_sequences(sentences, set(cut.values()))
    for word, parts in cut.items():
        if words[word] > apart[parts]:
            tokenizer.add_special_case(word, [{ORTH: word}])


def pieces(nlp: Language, word: str) -> tuple[str, ...]:
    """The tokens into which the tokenizer splits a single word."""
    return tuple(token.text for token in nlp.make_doc(word))


def differently_split_words(nlp: Language, trees: Iterable[Tree]) -> Counter[tuple[str, tuple[str, ...]]]:
    """Count the words of the trees that the tokenizer would split: (word, its pieces) -> occurrences. Clitics ('ve,
    d') are left out, because a text never has them alone."""
    words = Counter(raw_word(word) for tree in trees for word in tree.words if not {*word[0], *word[-1]} & {*"'’"})
    found = ((word, pieces(nlp, word), times) for word, times in words.items())
    return Counter({(word, parts): times for word, parts, times in found if len(parts) > 1})


def _count_sequences(sentences: Iterable[Sequence[str]], wanted: set[tuple[str, ...]]) -> Counter[tuple[str, ...]]:
    """Count the occurrences of these sequences of tokens."""
    lengths = sorted({len(parts) for parts in wanted})
    return Counter(
        found
        for sentence in sentences
        for size in lengths
        for start in range(len(sentence) - size + 1)
        if (found := tuple(sentence[start : start + size])) in wanted
    )


def _capital_after_apostrophe(piece: str) -> str:
    """Capitalise after an initial apostrophe: 'tis -> 'Tis."""
    return piece[0] + piece[1:].capitalize() if piece[0] == "'" else piece
