"""Descriptions in words of Penn-style labels, tags and function tags: NP is a noun phrase."""

import re

from .labels import base_label

_LABELS = """
TOP     root of the tree
ROOT    root of the tree
S       clause
SBAR    subordinate clause
SBARQ   direct question with a question word
SINV    clause with the subject after the verb
SQ      yes/no question, or the rest of a question after its question word
ADJP    adjective phrase
ADVP    adverb phrase
CAPTION caption of a figure or table
CIT     citation
CONJP   conjunction of several words
EDITED  words that the speaker corrects
FRAG    fragment: no complete clause
HEADING heading
INTJ    interjection
LST     list marker
NAC     words that modify a noun and are no constituent otherwise
NML     part of a noun phrase that modifies its noun
NP      noun phrase
NX      part of a noun phrase with coordination
PP      prepositional phrase
PRN     parenthesis: an insertion
PRT     particle of a verb
QP      quantity of several words
RRC     relative clause without a relative pronoun and a finite verb
TITLE   title
UCP     coordination of different kinds of phrases
VP      verb phrase
WHADJP  adjective phrase with a question word
WHADVP  adverb phrase with a question word
WHNP    noun phrase with a question word or relative pronoun
WHPP    prepositional phrase with a question word or relative pronoun
X       unknown or uncertain constituent
"""
_TAGS = """
``     opening quotation mark
''     closing quotation mark
,      comma
:      colon, semicolon, dash or ellipsis
.      punctuation at the end of a sentence
$      currency sign
#      number sign
-LRB-  opening round bracket
-RRB-  closing round bracket
-LSB-  opening square bracket
-RSB-  closing square bracket
-LCB-  opening curly bracket
-RCB-  closing curly bracket
-NONE- empty element
ADD    e-mail or web address
AFX    affix
CC     coordinating conjunction
CD     cardinal number
CODE   markup or code
DT     determiner
EX     existential there
FW     foreign word
GW     part of a word that is written apart
HYPH   hyphen
IN     preposition or subordinating conjunction
JJ     adjective
JJR    adjective, comparative
JJS    adjective, superlative
LS     list item marker
MD     modal verb
NFP    superfluous punctuation
NN     noun, singular or mass
NNP    proper noun, singular
NNPS   proper noun, plural
NNS    noun, plural
PDT    predeterminer
POS    possessive ending
PRP    personal pronoun
PRP$   possessive pronoun
RB     adverb
RBR    adverb, comparative
RBS    adverb, superlative
RP     particle
SU     symbol
SYM    symbol
TO     to
UH     interjection
VB     verb, base form
VBD    verb, past tense
VBG    verb, gerund or present participle
VBN    verb, past participle
VBP    verb, present tense, not third person singular
VBZ    verb, present tense, third person singular
WDT    determiner that asks or relates
WP     pronoun that asks or relates
WP$    possessive pronoun that asks or relates
WRB    adverb that asks or relates
XX     unknown word
_SP    white space
"""
_FUNCTIONS = """
ADV adverbial
BNF benefactive
CLF cleft
CLR closely related
DIR direction
DTV dative
ETC list that continues
EXT extent
HLN headline
IMP imperative
LGS logical subject
LOC place
MNR manner
NOM nominal
PRD predicate
PRP purpose or reason
PUT complement of "put"
SBJ subject
SEZ direct speech
TMP time
TPC topicalized
TTL title
UNF unfinished
VOC vocative
"""


def _table(lines: str) -> dict[str, str]:
    return {name: words.strip() for name, _, words in (line.partition(" ") for line in lines.strip().splitlines())}


LABELS = _table(_LABELS)
"""Label -> its description."""
TAGS = _table(_TAGS)
"""Part-of-speech tag -> its description."""
FUNCTIONS = _table(_FUNCTIONS)
"""Function tag -> its description."""


def describe_label(label: str) -> str:
    """Return the description of a constituent's label with its function tags, "NP-SBJ-1" -> "noun phrase, subject"; ""
    if the label has none. Indices and unknown function tags are left out.

    Source: the bracketing guidelines of the Penn Treebank (Bies et al. 1995) and of CRAFT.
    """
    plain = base_label(label)
    if plain not in LABELS:
        return ""
    functions = [FUNCTIONS[name] for name in re.split("[-=|]", label[len(plain) :]) if name in FUNCTIONS]
    return ", ".join([LABELS[plain], *functions])


def describe_tag(tag: str) -> str:
    """Return the description of a part-of-speech tag of the Penn Treebank or of newer treebanks in its style; "" for a
    tag of another set."""
    return TAGS.get(tag, "")
