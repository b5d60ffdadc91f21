"""Head rules as data: the English table of Collins (1999, p. 240) with the labels that newer treebanks add.

A rule is a list of scans over the children, tried in turn until one finds the head; a scan is a mode and labels:

- `left` / `right`: search for each label in order of priority, from that end: the first label that is found wins;
- `left-any` / `right-any`: the first child from that end with one of the labels;
- `first` / `last`: the child at that end, if it has one of the labels.

If no scan finds a head, it is the first child that is not punctuation, from the end where the last scan started; if all
are punctuation, the child at that end. Collins removed punctuation at the edges and so needs no such exception; without
punctuation the two agree.
"""

from typing import Any

_TABLE = """
ADJP L NNS QP NN $ ADVP JJ VBN VBG ADJP JJR NP JJS DT FW RBR RBS SBAR RB
ADVP R RB RBR RBS FW ADVP TO CD JJR JJ IN NP JJS NN
CONJP R CC RB IN
FRAG R
INTJ L
LST R LS :
NAC L NN NNS NNP NNPS NP NAC EX $ CD QP PRP VBG JJ JJS JJR ADJP FW
PP R IN TO VBG VBN RP FW
PRN L
PRT R RP
QP L $ IN NNS NN JJ RB DT CD QP JJR JJS
RRC R VP NP ADVP ADJP PP
S L TO IN VP S SBAR ADJP UCP NP
SBAR L WHNP WHPP WHADVP WHADJP IN DT S SQ SINV SBAR FRAG
SBARQ L SQ S SINV SBARQ FRAG
SINV L VBZ VBD VBP VB MD VP S SINV ADJP NP
SQ L VBZ VBD VBP VB MD VP SQ
UCP R
VP L TO VBD VBN MD VBZ VB VBG VBP VP ADJP NN NNS NP
WHADJP L CC WRB JJ ADJP
WHADVP R CC WRB
WHNP L WDT WP WP$ WHADJP WHPP WHNP
WHPP R IN TO FW
X L
TOP L
EDITED L
META L
TITLE L S SINV SQ SBARQ NP NML FRAG VP UCP
HEADING L S SINV SQ SBARQ NP NML FRAG VP UCP
CAPTION L S SINV SQ SBARQ NP NML FRAG VP UCP
"""
# NML occurs in craft and masc, NX in wsj and gum; CIT (craft) is a flat citation, close to a noun phrase.
_NOUNS = ["NN", "NNP", "NNPS", "NNS", "NX", "NML", "POS", "JJR"]
_NOUN_PHRASE: list[tuple[str, list[str]]] = [
    ("last", ["POS"]),
    ("right-any", _NOUNS),
    ("left", ["NP"]),
    ("right-any", ["$", "ADJP", "PRN"]),
    ("right-any", ["CD"]),
    ("right-any", ["JJ", "JJS", "RB", "QP"]),
]

# Guesses the head of a candidate from its children, before its label is known.
_CANDIDATE: list[tuple[str, list[str]]] = [
    ("left-any", ["VP", "TO", "MD", "VBZ", "VBD", "VBP"]),  # a clause or verb phrase
    ("first", ["IN", "WDT", "WP", "WHNP", "WHPP", "WHADVP", "WRB"]),  # a prepositional phrase or SBAR
    ("last", ["POS"]),
    ("right-any", ["NN", "NNP", "NNPS", "NNS", "NX", "NML", "POS"]),  # a flat noun phrase
    ("first", ["VB", "VBN", "VBG"]),  # no noun among the children: the verb with its phrases
    ("left", ["NP"]),
    ("right-any", ["$", "JJR", "ADJP", "PRN"]),
    ("right-any", ["CD"]),
    ("right-any", ["JJ", "JJS", "RB", "QP"]),
    ("left", ["S", "SINV", "SQ", "SBARQ", "SBAR", "PP"]),
    ("right", []),
]

COLLINS = {
    "rules": {
        **{
            label: [({"L": "left", "R": "right"}[side], labels)]
            for label, side, *labels in map(str.split, _TABLE.strip().splitlines())
        },
        **dict.fromkeys(("NP", "NML", "NX", "CIT"), _NOUN_PHRASE),
    },
    "default": [("left", [])],
    "candidate": _CANDIDATE,
    "conjunctions": ("CC",),
    "no_coordination": ("NX",),
    "punctuation": (
        *(",", ":", ".", "``", "''", "-LRB-", "-RRB-", "-LSB-", "-RSB-", "-LCB-", "-RCB-"),
        *("HYPH", "NFP", "SU", "CODE", "-NONE-"),
    ),
}
"""The fields of `heads.HeadRules` for English."""

_VERB_PHRASE = ["VERB", "VP", "ADJP", "ADJ", "NP", "WHNP", "ADVP", "PP", "SBAR", "S", "AUX", "NOUN"]
_CLAUSE = [
    ("left", ["VP", "S", "SQ", "SBARQ", "ADJP"]),
    ("right-any", ["NP", "PP", "ADVP"]),
    ("left", ["SBAR", "VERB", "AUX"]),
]
_PHRASE = [
    ("right-any", ["NOUN", "PROPN", "PRON"]),
    ("left", ["NP", "WHNP"]),
    ("right", ["NUM", "QP", "ADJP", "ADJ", "X", "SYM", "DET", "VERB"]),
]
_ADPOSITIONAL = ["NP", "WHNP", "ADJP", "ADVP", "WHADVP", "PP", "S", "VP", "NOUN", "PROPN", "PRON", "ADP"]
UNIVERSAL: dict[str, Any] = {
    "rules": {
        **{label: _CLAUSE for label in ("S", "SQ", "SINV", "FRAG", "TOP")},
        **{label: [("left", ["S", "SQ", "SBAR", "SBARQ", "VP", "ADJP", "NP", "PP"])] for label in ("SBAR", "SBARQ")},
        "VP": [("left", _VERB_PHRASE)],
        **{label: _PHRASE for label in ("NP", "WHNP")},
        **{label: [("left", _ADPOSITIONAL)] for label in ("PP", "WHPP")},
        **{label: [("right", ["ADJ", "VERB", "NOUN"]), ("left", ["ADJP"])] for label in ("ADJP", "WHADJP")},
        **{label: [("right", ["ADV"]), ("left", ["ADVP"])] for label in ("ADVP", "WHADVP")},
        "QP": [("right", ["NUM", "QP", "ADJ"])],
        "PRN": [("left", ["S", "SBAR", "VP", "NP", "PP", "ADJP", "ADVP"])],
    },
    "default": [("left", [])],
    "candidate": [("left", [])],
    "conjunctions": [],
    "no_coordination": [],
    "punctuation": ["PUNCT"],
}
"""For trees with universal parts of speech: the heads of Universal Dependencies."""
