"""What breaks the conventions of the everyday trees (assets/everyday/GUIDE.md), as far as a program can see it."""

from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import cast

import spacy
from spacy.language import Language
from spacy.symbols import ORTH
from spacy.tokenizer import Tokenizer

from spacy_dtparse.text import unescape_token
from spacy_dtparse.trees import TOP, Tree, read_trees

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
_CLAUSES = frozenset("S SQ SINV SBARQ FRAG".split())
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


@lru_cache(maxsize=1)
def _tokenizer() -> Language:
    nlp = spacy.blank("en")
    add_tokens(nlp)
    return nlp


@lru_cache(maxsize=1)
def _contracted() -> frozenset[str]:
    """Tokens that the tokenizer cuts words into which it knows as a whole (d', you)."""
    rules = cast(Tokenizer, _tokenizer().tokenizer).rules or {}
    return frozenset(piece[ORTH] for pieces in rules.values() for piece in pieces)


def problems(tree: Tree) -> Iterator[str]:
    """What is wrong with a tree, in words; nothing where all is well."""
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
        for place, tag in enumerate(tree.tags):
            if tag == "." and place >= len(tree.tags) - 2 and tree.token_parents()[place] != top[0]:
                yield "the final stop is not a child of the node below TOP"
    for node in range(1, len(tree.labels)):
        yield from _node_problems(tree, node, child_lists[node])
    for word in map(unescape_token, tree.words):
        pieces = _pieces(word)
        if len(pieces) > 1 and word[-1:] != "." and word not in _contracted():
            yield f"{word!r} is no token of spaCy's, which makes {' '.join(pieces)!r} of it"


def _pieces(word: str) -> list[str]:
    """What spaCy's tokenizer makes of a word, which may be the end of a contraction (I + 've)."""
    if word in ("``", "''"):
        return [word]
    after = [token.text for token in _tokenizer().tokenizer(f"I{word}")]
    return [word] if after[-1] == word else [token.text for token in _tokenizer().tokenizer(word)]


def _node_problems(tree: Tree, node: int, children: list[int]) -> Iterator[str]:
    label = tree.labels[node]
    names = [tree.labels[child] if child >= 0 else tree.tags[~child] for child in children]
    bare = [tree.tags[~child] for child in children if child < 0]
    phrases = {tree.labels[child] for child in children if child >= 0}
    for problem in _label_problems(label, names, bare, phrases):
        yield f"({label} {' '.join(names)}): {problem}"


def _label_problems(label: str, names: list[str], bare: list[str], phrases: set[str]) -> Iterator[str]:
    """What is wrong with a constituent of children `names`, of which `bare` are tags and `phrases` labels."""
    if names == [label]:
        yield f"{label} over {label} alone"
    if label in _CLAUSES:
        yield from _clause_problems(label, set(names), bare)
    if label == "VP":
        yield from _vp_problems(set(names), bare)
    if label == "NP":
        if set(bare) & {"NN", "NNS", "NNP", "NNPS", "PRP", "EX"} and phrases & {"PP", "VP", "RRC"}:
            yield "a postmodified noun has an NP of its own"
        if set(bare) & {"MD", "TO", "VBZ", "VBP", "VBD"}:
            yield "a verb is a child of NP"
    if label == "SBAR" and "SBAR" not in phrases and names[-1:] == ["NP"]:
        yield "SBAR ends in NP; is there no clause?"
    if label in _HEADS and not set(names) & _HEADS[label] and "UCP" not in names:
        yield f"none of {' '.join(sorted(_HEADS[label]))}"
    if label == "INTJ" and phrases - {"NP", "INTJ", "ADJP", "ADVP", "PP"}:
        yield "what is in INTJ?"
    if label == "QP" and len(names) == 1:
        yield "QP over one word"


def _clause_problems(label: str, names: set[str], bare: list[str]) -> Iterator[str]:
    lone = [name for name in bare if name in _NOUNS]
    if label != "FRAG" and lone:
        yield f"{lone[0]} is a child of {label}; give it a phrase of its own"
    if label == "S" and set(bare) & {"VB", "VBG", "VBN", "TO"}:
        yield "a verb is a child of S; it needs a VP"
    if label == "S" and set(bare) & {"MD", "VBZ", "VBP", "VBD"}:
        yield "a verb is a child of S; it needs a VP (or S should be SQ)"
    if label == "SQ" and not names & (VERBS | {"VP", "SQ"}):
        yield "SQ without a verb"
    if label == "S" and not names & _PREDICATES:
        yield "S without a predicate"


def _vp_problems(names: set[str], bare: list[str]) -> Iterator[str]:
    if not names & (VERBS | {"VP", "TO", "UCP"}):
        yield "VP without a verb"
    if ("MD" in bare or "TO" in bare) and set(bare) & {"VB", "VBP", "VBD", "VBZ"}:
        yield "the verb after MD or TO needs a VP of its own"
    if sum(name in VERBS for name in bare) > 1 and "CC" not in bare:
        yield "two verbs in one VP; each has a VP of its own"
    lone = [name for name in bare if name in (_NOUNS - {"VBG", "VBN"}) and name not in VERBS]
    if lone:
        yield f"{lone[0]} is a child of VP; give it a phrase of its own"
    if "IN" in bare or "RP" in bare:
        yield "a preposition or particle is a child of VP; it needs PP or PRT"


def check_file(path: Path) -> list[str]:
    """The problems of all trees of a file, each with its tree's number and words, those met twice among them."""
    found = []
    seen: dict[tuple[str, ...], int] = {}
    for number, tree in enumerate(read_trees(path), 1):
        key = tuple(word.lower() for word in tree.words if any(map(str.isalnum, word)))
        if key in seen:
            found.append(f"{path}, tree {number}: the same words as tree {seen[key]}: {' '.join(tree.words)}")
        seen.setdefault(key, number)
        found += [f"{path}, tree {number}: {problem} | {' '.join(tree.words)}" for problem in problems(tree)]
    return found
