"""Check the everyday trees for violations of their conventions (assets/everyday/GUIDE.md)."""

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import cast

import spacy
from spacy.language import Language
from spacy.symbols import ORTH
from spacy.tokenizer import Tokenizer

from spacy_dtparse.text import unescape_token
from spacy_dtparse.trees import TOP, Tree
from training.data.bad_input import read_trees

from .tokens import add_tokens

TAGS = frozenset(
    "CC CD DT EX FW HYPH IN JJ JJR JJS LS MD NN NNS NNP NNPS PDT POS PRP PRP$ RB RBR RBS RP SYM TO UH VB VBD VBG VBN "
    "VBP VBZ WDT WP WP$ WRB $ # , . : `` '' -LRB- -RRB- ADD NFP".split()
)
LABELS = frozenset(
    "ADJP ADVP CONJP FRAG INTJ NP NX PP PRN PRT QP RRC S SBAR SBARQ SINV SQ UCP VP WHADJP WHADVP WHNP WHPP X".split()
)
ROOTS = frozenset("S SQ SBARQ SINV NP VP PP ADVP ADJP INTJ SBAR UCP X FRAG WHNP WHADVP WHADJP".split())
VERBS = frozenset("VB VBD VBG VBN VBP VBZ MD".split())
FINITE = frozenset("VBD VBP VBZ MD".split())
_PHRASED = frozenset("S SQ SINV SBARQ VP".split())
"""Labels of constituents whose children may not be nouns or adjectives, only phrases of them."""
_PREDICATES = frozenset("VP S SBAR SQ SBARQ SINV NP ADJP PP ADVP UCP".split())
_NOUNS = frozenset("NN NNS NNP NNPS PRP PRP$ EX CD JJ JJR JJS PDT VBG VBN POS $ FW".split())
_HEADS = {
    "PP": frozenset("IN TO VBG VBN RB RP JJ CC PP FW".split()),
    "PRT": frozenset(("RP", "RB", "IN")),
    "ADVP": frozenset("RB RBR RBS IN RP JJ JJR JJS ADVP DT NN FW CD NP WRB PP".split()),
    "ADJP": frozenset("JJ JJR JJS VBN VBG ADJP RB NN CD RBR RBS DT QP IN $ NP".split()),
    "WHNP": frozenset("WP WDT WP$ WHNP WHADJP WRB WHPP".split()),
    "WHADVP": frozenset("WRB WHADVP".split()),
    "WHADJP": frozenset("WRB WHADJP".split()),
    "WHPP": frozenset("WHNP WHADVP".split()),
    "SBAR": frozenset("S SBAR SINV SQ FRAG VP NP X WHADVP WHNP WHPP WHADJP".split()),  # "I know why": a sluice
    "SBARQ": frozenset("SQ S SBARQ SINV FRAG VP NP PP".split()),
}


@cache
def _tokenizer() -> Language:
    nlp = spacy.blank("en")
    add_tokens(nlp)
    return nlp


@cache
def _special_case_pieces() -> frozenset[str]:
    """The pieces of the tokenizer's special cases (d', you)."""
    rules = cast(Tokenizer, _tokenizer().tokenizer).rules or {}
    return frozenset(piece[ORTH] for pieces in rules.values() for piece in pieces)


def problems(tree: Tree) -> Iterator[str]:
    """The problems of a tree, as messages."""
    for tag in sorted(set(tree.tags) - TAGS):
        yield f"{tag} is no tag of the guide"
    for label in sorted({*tree.labels[1:]} - LABELS):
        yield f"{label} is no label of the guide"
    if tree.labels[0] != TOP:
        yield f"the root is {tree.labels[0]}, not {TOP}"
        return
    child_lists = tree.child_lists()
    top = child_lists[0]
    if len(top) != 1 or top[0] < 0:
        yield "TOP must have one child, a constituent"
    else:
        if tree.labels[top[0]] not in ROOTS:
            yield f"{tree.labels[top[0]]} cannot be the whole sentence"
        for i, tag in enumerate(tree.tags):
            if tag == "." and i >= len(tree.tags) - 2 and tree.token_parents()[i] != top[0]:
                yield "the final stop is not a child of the node below TOP"
    for node in range(1, len(tree.labels)):
        yield from _node_problems(tree, node, child_lists)
    for word in map(unescape_token, tree.words):
        pieces = _pieces(word)
        if len(pieces) > 1 and word[-1:] != "." and word not in _special_case_pieces():
            yield f"{word!r} is no token of spaCy's tokenizer, which splits it into {' '.join(pieces)!r}"


def _pieces(word: str) -> list[str]:
    """The tokens into which spaCy's tokenizer splits a word, which may be the end of a contraction (I + 've)."""
    if word in ("``", "''"):
        return [word]
    after = [token.text for token in _tokenizer().tokenizer(f"I{word}")]
    return [word] if after[-1] == word else [token.text for token in _tokenizer().tokenizer(word)]


def _node_problems(tree: Tree, node: int, child_lists: list[list[int]]) -> Iterator[str]:
    """The problems of a constituent."""
    label, children = tree.labels[node], child_lists[node]
    finite = any(
        child >= 0 and tree.labels[child] == "VP" and any(k < 0 and tree.tags[~k] in FINITE for k in child_lists[child])
        for child in children
    )
    names = [tree.labels[child] if child >= 0 else tree.tags[~child] for child in children]
    token_tags = [tree.tags[~child] for child in children if child < 0]
    below, tags, phrases = set(names), set(token_tags), {tree.labels[child] for child in children if child >= 0}
    noun = next((tag for tag in token_tags if tag in (_NOUNS - VERBS if label == "VP" else _NOUNS)), None)
    heads = _HEADS.get(label, frozenset())
    wrong = {
        f"{label} over {label} alone": names == [label],
        f"{noun} is a child of {label}; give it a phrase of its own": label in _PHRASED and noun,
        "a verb is a child of S; it needs a VP": label == "S" and tags & {"VB", "VBG", "VBN", "TO"},
        "a verb is a child of S; it needs a VP (or S should be SQ)": (
            label == "S" and tags & {"MD", "VBZ", "VBP", "VBD"}
        ),
        "SQ without a verb": label == "SQ" and not below & (VERBS | {"VP", "SQ"}),
        "S without a predicate": label == "S" and not below & _PREDICATES,
        "VP without a verb": label == "VP" and not below & (VERBS | {"VP", "TO", "UCP", "SYM"}),
        "the verb after MD or TO needs a VP of its own": (
            label == "VP" and tags & {"MD", "TO"} and tags & {"VB", "VBP", "VBD", "VBZ"}
        ),
        "two verbs in one VP; each has a VP of its own": (
            label == "VP" and sum(tag in VERBS for tag in token_tags) > 1 and "CC" not in tags
        ),
        "a preposition or particle is a child of VP; it needs PP or PRT": label == "VP" and tags & {"IN", "RP"},
        "a postmodified noun has an NP of its own": (
            label == "NP" and tags & {"NN", "NNS", "NNP", "NNPS", "PRP", "EX"} and phrases & {"PP", "VP", "RRC"}
        ),
        "a verb is a child of NP": label == "NP" and tags & {"MD", "TO", "VBZ", "VBP", "VBD"},
        "a finite VP is a child of NP; is the NP longer than its noun and postmodifiers?": label == "NP" and finite,
        "SBAR ends in NP; is there no clause?": label == "SBAR" and "SBAR" not in phrases and names[-1:] == ["NP"],
        f"none of {' '.join(sorted(heads))}": heads and not below & {*heads, "UCP"},
        "what is in INTJ?": label == "INTJ" and phrases - {"NP", "INTJ", "ADJP", "ADVP", "PP"},
        "QP over one word": label == "QP" and len(names) == 1,
    }
    yield from (f"({label} {' '.join(names)}): {problem}" for problem, found in wrong.items() if found)


def check_conventions(path: Path) -> list[str]:
    """The problems of all trees of a file, each with the tree's number and words; duplicates are a problem, too."""
    found = []
    first_tree: dict[tuple[str, ...], int] = {}
    for i, tree in enumerate(read_trees(path), 1):
        key = tuple(word.lower() for word in tree.words if any(map(str.isalnum, word)))
        if key in first_tree:
            found.append(f"{path}, tree {i}: the same words as tree {first_tree[key]}: {' '.join(tree.words)}")
        first_tree.setdefault(key, i)
        found += [f"{path}, tree {i}: {problem} | {' '.join(tree.words)}" for problem in problems(tree)]
    return found
