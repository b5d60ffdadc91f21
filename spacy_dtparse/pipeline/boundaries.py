"""The spaCy component `visible_sentences`: no sentence consists of white space only.

spaCy imports this module in every spacy.blank() and spacy.load() of the environment, so it must stay light. (No `from
__future__ import annotations` here: spaCy reads the annotations of the component.)
"""

from collections.abc import Callable

from spacy.attrs import SENT_START
from spacy.language import Language
from spacy.tokens import Doc

from .provenance import add_requirement
from .sentences import is_blank

FACTORY = "visible_sentences"


def visible_sentences(doc: Doc) -> Doc:
    """Move sentence starts from white space to the next word; runs after the component that sets them.

    A run of white space belongs to the sentence before it, at the beginning of a Doc to the first one. A Doc of white
    space only stays one sentence. A Doc without boundaries is left alone, and so is one whose boundaries come from its
    dependency trees: spaCy does not let them be moved.
    """
    blanks = [token.i for token in doc if is_blank(token.text)]
    if not blanks or not doc.has_annotation("SENT_START") or doc.has_annotation("DEP"):
        return doc
    flags = doc.to_array([SENT_START]).reshape(-1).astype("int64")
    for i in blanks:  # from left to right, so that a start moves through a whole run
        following = i + 1
        if i and flags[i] == 1:
            flags[i] = -1
            if following < len(flags):
                flags[following] = 1
    first = next((token.i for token in doc if not is_blank(token.text)), None)
    if first:
        flags[1 : first + 1] = -1
    for token, flag in zip(doc, flags.tolist(), strict=True):
        if token.i:
            token.is_sent_start = flag == 1
    return doc


@Language.factory(FACTORY, requires=["token.is_sent_start"], assigns=["token.is_sent_start"])
def make_visible_sentences(nlp: Language, name: str) -> Callable[[Doc], Doc]:
    """Return the component, the function `visible_sentences`."""
    add_requirement(nlp)
    return visible_sentences
