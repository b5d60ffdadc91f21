"""Universal parts of speech for the tags of the Penn Treebank and of newer treebanks in its style."""

_TAGS = """
ADJ   AFX JJ JJR JJS
ADP   IN RP
ADV   RB RBR RBS WRB
AUX   MD
CCONJ CC
DET   DT PDT
INTJ  UH
NOUN  NN NNS
NUM   CD LS
PART  POS TO
PRON  EX PRP PRP$ WDT WP WP$
PROPN ADD NNP NNPS
PUNCT '' `` , . : -LRB- -RRB- -LSB- -RSB- -LCB- -RCB- HYPH NFP SU
SPACE _SP
SYM   $ # SYM
VERB  VB VBD VBG VBN VBP VBZ
X     CODE FW GW XX
"""
_WORDS = """
AUX   VB,VBD,VBG,VBN,VBP,VBZ am are be been being is was were 'm 're 's ’m ’re ’s
PART  RB not n't n’t nt
PRON  NN anybody anyone anything everybody everyone everything nobody nothing somebody someone something
SCONJ IN although because if that though unless whether while
"""

PARTS_OF_SPEECH = {tag: pos for pos, *tags in map(str.split, _TAGS.strip().splitlines()) for tag in tags}
"""Tag -> universal part of speech; the most common one if a tag has several: DT is DET, verb tags are VERB, IN is ADP.
"""


WORDS = {
    form: dict.fromkeys(tags.split(","), pos)
    for pos, tags, *words in map(str.split, _WORDS.strip().splitlines())
    for word in words
    for form in {word, word.upper(), word[:1].upper() + word[1:]}
}
"""Word -> tag -> universal part of speech, for words that differ in every context from other words with their tag: *be*
is an auxiliary, *not* a particle, *anyone* a pronoun, *because* a conjunction."""


_UNIVERSAL = frozenset(line.split()[0] for line in _TAGS.strip().splitlines()) | {"SCONJ"}


def universal_part(tag: str) -> str:
    """Return the universal part of speech with which a tag begins: "VERB" of VERB.Fin, "ADP" of ADP+DET; "" if there is
    none. White space (_SP) is SPACE."""
    if tag == "_SP":
        return "SPACE"
    length = next((k for k, char in enumerate(tag) if not "A" <= char <= "Z"), len(tag))
    return tag[:length] if tag[:length] in _UNIVERSAL else ""


def part_of_speech(word: str, tag: str) -> str:
    """Return the universal part of speech of a word with its tag; "" for a tag of another tag set."""
    return WORDS.get(word, {}).get(tag) or PARTS_OF_SPEECH.get(tag, "")
