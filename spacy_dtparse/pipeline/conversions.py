"""Parsed sentences in other formats: NLTK's trees, CoNLL-U, plain data for JSON.

(Penn brackets are `attributes.parse_string` and `str(to_tree(…))`.)
"""

from bisect import bisect_left
from collections.abc import Iterator
from typing import Any

from spacy.tokens import Doc, Span, Token

from ..core.parser import UNKNOWN_TAG
from ..errors import DtparseError, NonConstituentError, TreeError, shorten
from ..text import escape_token
from ..trees.bracket_writer import write_tree
from ..trees.brackets import parse_tree
from ..trees.tree import TOP, Tree
from .attributes import parse_string, sentence_infos, to_tree
from .constituents import group_key, read_constituents, values_at
from .phrases import head_rules_for
from .sentences import plain_word, token_bounds, visible_tokens


def to_nltk(span: Span | Token) -> Any:
    """The subtree at `span` as an nltk.Tree, whose words are written as `parse_string` writes them.

    Raises DtparseError if NLTK is not installed, NonConstituentError if `span` is neither a constituent nor one token
    or has no word, NotParsedError if the Doc has no valid parse.
    """
    try:
        from nltk.tree import Tree as NltkTree
    except ImportError as error:
        raise DtparseError("to_nltk needs NLTK, which is not installed: pip install nltk") from error
    brackets = parse_string(span)
    if not brackets:
        raise NonConstituentError("white space has no tree; give a constituent, a sentence with a word, or a token")
    return NltkTree.fromstring(brackets)


def from_nltk(tree: Any, top: str | None = TOP) -> Tree:
    """The Tree of an nltk.Tree (or of anything with `label()` and children), as `parse_tree` reads its brackets.

    A node with one string is a leaf, its label the tag. A pair (word, tag), as in the trees of NLTK's chunkers, is a
    leaf, too, with XX for a tag None. A word that is no string (a number, a spaCy token) is written as one. `top`: see
    `trees.read_trees`. Round brackets in words are escaped. Raises TreeError for a node without children, for a string
    that has siblings and for leaves of other kinds, TreeFormatError for a tree that brackets cannot represent.
    """
    if not _is_node(tree):
        raise TreeError(
            f"{shorten(repr(tree), 60)} is no tree; give an nltk.Tree, or an object with label() and children"
        )
    parts: list[str] = []
    stack: list[Any] = [tree]
    while stack:
        node = stack.pop()
        if node is _CLOSE:
            parts.append(")")
            continue
        if isinstance(node, tuple):
            parts.append(_leaf(*_read_pair(node)))
            continue
        children = list(node)
        label = str(node.label())
        if not children:
            raise TreeError(f"the node {label!r} has no children; a leaf has one string, a constituent has nodes")
        words = [_word(child, label) for child in children if not _is_node(child) and not isinstance(child, tuple)]
        if words and len(children) > 1:
            raise TreeError(
                f"the word {words[0]!r} has siblings in {label!r}; give each word a node, its tag, or write it as a "
                "pair (word, tag)"
            )
        if words:
            parts.append(_leaf(words[0], label))
        else:
            parts.append(f" ({escape_token(plain_word(label))} ")
            stack += [_CLOSE, *reversed(children)]
    return parse_tree("".join(parts), top=top)


_CLOSE = object()
"""In the stack of `from_nltk`: the end of a constituent."""


def _is_node(value: Any) -> bool:
    """Whether a value is a node of a tree in the way of NLTK."""
    return callable(getattr(value, "label", None)) and hasattr(value, "__iter__")


def _word(leaf: Any, label: str) -> str:
    """The text of a leaf. Raises TreeError for one that stands for no word."""
    if isinstance(leaf, str):
        return leaf
    if leaf is None or isinstance(leaf, bytes | list | dict | set | frozenset):
        raise TreeError(
            f"the leaf {shorten(repr(leaf), 60)} in {label!r} is no word; give a string or a pair (word, tag)"
        )
    return str(leaf)


def _read_pair(pair: tuple[Any, ...]) -> tuple[str, str]:
    """The word and the tag of a leaf (word, tag). Raises TreeError for a tuple of another form."""
    if len(pair) != 2 or isinstance(pair[0], tuple) or not (pair[1] is None or isinstance(pair[1], str)):
        raise TreeError(
            f"the leaf {shorten(repr(pair), 60)} is no pair (word, tag); give two strings, such as ('cat', 'NN')"
        )
    return _word(pair[0], str(pair[1])), pair[1] or UNKNOWN_TAG


def _leaf(word: str, tag: str) -> str:
    return f" ({escape_token(plain_word(tag))} {escape_token(plain_word(word))})"


def to_conllu(where: Doc | Span, key: str | None = None, first_id: int = 1) -> str:
    """The sentences of a Doc, or all sentences that overlap a Span, in CoNLL-U, without white-space tokens; `sent_id`
    counts from `first_id`.

    HEAD and DEPREL come from the Doc if it has dependencies. Otherwise HEAD comes from the head rules applied to the
    constituents (see `head`), and DEPREL is `root` or `dep`. Raises NotParsedError if the Doc has neither.
    """
    doc = where.doc
    first, last = token_bounds(where)
    has_dependencies = len(doc) > 0 and doc.has_annotation("DEP")
    lines: list[str] = []
    sent_id = first_id
    for start, end, words in visible_tokens(doc):
        if words and start < last and end > first:
            sentence = doc[start:end]
            lines += [f"# sent_id = {sent_id}", f"# text = {' '.join(sentence.text.split())}"]
            links = (
                _doc_dependencies(words)
                if has_dependencies
                else [(head, "dep") for head in head_rules_for(doc, key).links(to_tree(sentence, key))[0]]
            )
            for position, (token, (head, label)) in enumerate(zip(words, links, strict=True), 1):
                columns = [str(position), _field(token.text, " "), _field(token.lemma_, " ")]
                columns += [_field(token.pos_), _field(token.tag_), _field(str(token.morph)), str(head + 1)]
                columns += ["root" if head < 0 else _field(label), "_", _misc(token) or "_"]
                lines.append("\t".join(columns))
            lines.append("")
            sent_id += 1
    return "".join(f"{line}\n" for line in lines)


def sentence_record(sentence: Span, key: str | None = None) -> dict[str, Any]:
    """A parsed sentence that has a word, as plain data.

    `text`; `start_char`, `end_char`: in the text of the Doc, as all character offsets; `tokens`: each with `text`,
    `tag`, `pos`, `start_char`, `end_char` and `head`, the index of its head token (by the head rules; null for the
    sentence's head and white space); `constituents` in pre-order: each with `label`, `start`, `end` (indices of its
    first token and of the one past its last), `start_char`, `end_char`, `level` (in its unary chain, 1 is the highest),
    `head` (a token's index), `cost` (see `cost`; null if unknown) and `probability`, if the parser computed it;
    `tree`: in brackets; and the entries of `sentence_infos`. Raises NotParsedError if the Doc has no valid parse.
    """
    doc, start, end = sentence.doc, sentence.start, sentence.end
    found, tree, name = read_constituents(doc, key), to_tree(sentence, key), group_key(doc, key)
    assert name is not None
    positions = [token.i for token in sentence if token.text.strip()]
    rules = head_rules_for(doc, key)
    links = dict(zip(positions, rules.links(tree)[0], strict=True))
    first, last = bisect_left(found.starts, start), bisect_left(found.starts, end)
    costs, probabilities = (values_at(doc, name, field, range(first, last)) for field in ("costs", "probabilities"))
    heads = rules.heads(tree)[len(tree.labels) - (last - first) :]  # without a TOP that is not in the group
    tokens = [
        {
            "text": token.text,
            "tag": token.tag_,
            "pos": token.pos_,
            "start_char": token.idx,
            "end_char": token.idx + len(token),
            "head": positions[links[token.i]] - start if links.get(token.i, -1) >= 0 else None,
        }
        for token in sentence
    ]
    constituents = [
        {
            "label": found.labels[k],
            "start": found.starts[k] - start,
            "end": found.ends[k] - start,
            "start_char": doc[found.starts[k]].idx,
            "end_char": doc[found.ends[k] - 1].idx + len(doc[found.ends[k] - 1]),
            "level": k - found.chain_tops[k] + 1,
            "head": positions[head] - start,
            "cost": costs[k - first] if costs else None,
            **({"probability": probabilities[k - first]} if probabilities else {}),
        }
        for k, head in zip(range(first, last), heads, strict=True)
    ]
    info = next((info for info in sentence_infos(doc, key) if info["start"] == start), {})
    return {
        "text": sentence.text,
        "start_char": sentence.start_char,
        "end_char": sentence.end_char,
        "tokens": tokens,
        "constituents": constituents,
        "tree": write_tree(tree),
        **{name: value for name, value in info.items() if name not in ("start", "end")},
    }


def _doc_dependencies(words: list[Token]) -> Iterator[tuple[int, str]]:
    """Index of the head, -1 for none, and label of each word, by the Doc's dependencies."""
    index_of = {token.i: index for index, token in enumerate(words)}
    for token in words:
        head = token.head
        while head.i not in index_of and head.head.i != head.i:  # white space
            head = head.head
        yield (-1 if head.i == token.i else index_of.get(head.i, -1)), token.dep_


def _field(text: str, space: str = "_") -> str:
    """The text of a field of CoNLL-U, where white space separates fields and lines; only forms and lemmas may have
    spaces."""
    return space.join(text.split()) or "_"


def _misc(token: Token) -> str:
    following = token.i + 1 < len(token.doc) and not token.nbor().text.strip()
    return "" if token.whitespace_ or following else "SpaceAfter=No"
