"""Tokens that spaCy's English tokenizer cuts otherwise than the treebanks: abbreviations and contractions as people
write them. A pipeline that is saved keeps them."""

from typing import cast

from spacy.language import Language
from spacy.symbols import ORTH
from spacy.tokenizer import Tokenizer

WHOLE = (
    "MR. MRS. MS. DR. PROF. REV. GEN. SEN. REP. GOV. JR. SR. Sr. Col. COL. Capt. CAPT. Lt. LT. Sgt. SGT. Cpl. Maj. "
    "Hon. HON. Messrs. Figs. Fig. Vol. pp. cf. al. etc. viz. approx. dept. Dept. Ave. Blvd."
).split()
"""Abbreviations that keep their stop."""
SPLIT = {
    "I.": ("I", "."),  # spaCy takes it for an initial
    "d'you": ("d'", "you"),
    "'tis": ("'t", "is"),
    "'twas": ("'t", "was"),
    "'twere": ("'t", "were"),
    "'twill": ("'t", "will"),
    "wanna": ("wan", "na"),
    "gimme": ("gim", "me"),
    "lemme": ("lem", "me"),
}
"""Words of two tokens. Those of lower case are split with a capital and with a curly apostrophe, too."""


def add_tokens(nlp: Language) -> None:
    """Teach WHOLE and SPLIT to the tokenizer of an English pipeline, in place."""
    tokenizer = cast(Tokenizer, nlp.tokenizer)
    for word in WHOLE:
        tokenizer.add_special_case(word, [{ORTH: word}])
    for word, pieces in SPLIT.items():
        for first in {pieces[0], pieces[0].capitalize(), _capital_after_apostrophe(pieces[0])}:
            for apostrophe in "'’" if "'" in word else "'":
                here = [first.replace("'", apostrophe), *pieces[1:]]
                tokenizer.add_special_case("".join(here), [{ORTH: piece} for piece in here])


def _capital_after_apostrophe(piece: str) -> str:
    """'tis begins with a capital as 'Tis."""
    return piece[0] + piece[1:].capitalize() if piece[0] == "'" else piece
