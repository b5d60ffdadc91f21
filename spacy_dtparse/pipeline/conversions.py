"""Parsed sentences in other formats: NLTK's trees, CoNLL-U, plain data for JSON.

(Penn brackets are `attributes.parse_string` and `str(to_tree(…))`.)
"""

from bisect import bisect_left
from collections.abc import Iterator
from typing import Any

from spacy.tokens import Doc, Span, Token

from ..errors import DtparseError, NonConstituentError, TreeError
from ..text import escape_token
from ..trees.bracket_writer import write_tree
from ..trees.brackets import parse_tree
from ..trees.tree import TOP, Tree
from .attributes import parse_string, sentence_infos, to_tree
from .constituents import group_key, read_constituents
from .phrases import head_rules_for
from .sentences import plain_word, visible_tokens


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

    A node with one string is a leaf, its label the tag. `top`: see `trees.read_trees`. Round brackets in words are
    escaped. Raises TreeError for a node without children and for a string that has siblings, TreeFormatError for a tree
    that brackets cannot represent.
    """
    parts: list[str] = []
    stack: list[Any] = [tree]
    while stack:
        node = stack.pop()
        if node is None:
            parts.append(")")
            continue
        children = list(node)
        label = str(node.label())
        if not children:
            raise TreeError(f"the node {label!r} has no children; a leaf has one string, a constituent has nodes")
        words = [child for child in children if isinstance(child, str)]
        if words and len(children) > 1:
            raise TreeError(f"the word {words[0]!r} has siblings in {label!r}; give each word a node, its tag")
        parts.append(f" ({escape_token(plain_word(label))} ")
        if words:
            parts.append(f"{escape_token(plain_word(words[0]))})")
        else:
            stack += [None, *reversed(children)]
    return parse_tree("".join(parts), top=top)


def to_conllu(where: Doc | Span, key: str | None = None, first_id: int = 1) -> str:
    """The sentences of a Doc, or all sentences that overlap a Span, in CoNLL-U, without white-space tokens; `sent_id`
    counts from `first_id`.

    HEAD and DEPREL come from the Doc if it has dependencies. Otherwise HEAD comes from the head rules applied to the
    constituents (see `head`), and DEPREL is `root` or `dep`. Raises NotParsedError if the Doc has neither.
    """
    doc = where.doc
    first, last = (0, len(doc)) if isinstance(where, Doc) else (where.start, where.end)
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
                else [(head, "dep") for head in sentence_heads(sentence, key)]
            )
            for position, (token, (head, label)) in enumerate(zip(words, links, strict=True), 1):
                columns = [str(position), " ".join(token.text.split()), token.lemma_, token.pos_, token.tag_]
                columns += [str(token.morph), str(head + 1), "root" if head < 0 else label, "", _misc(token)]
                lines.append("\t".join(column or "_" for column in columns))
            lines.append("")
            sent_id += 1
    return "".join(f"{line}\n" for line in lines)


def sentence_heads(sentence: Span, key: str | None = None) -> tuple[int, ...]:
    """The head of each word of a sentence by the head rules, as its index among the words; -1 for the sentence's
    head."""
    return head_rules_for(sentence.doc, key).links(to_tree(sentence, key))[0]


def sentence_record(sentence: Span, key: str | None = None) -> dict[str, Any]:
    """A parsed sentence that has a word, as plain data.

    `text`; `start_char`, `end_char`: in the text of the Doc, as all character offsets; `tokens`: each with `text`,
    `tag`, `pos`, `start_char`, `end_char` and `head`, the index of its head token (by the head rules; null for the
    sentence's head and white space); `constituents` in pre-order: each with `label`, `start`, `end` (indices of its
    first token and of the one past its last), `start_char`, `end_char`, `level` (in its unary chain, 1 is the highest),
    `head` (a token's index), `score` (see `score`; null if unknown) and `probability`, if the parser computed it;
    `tree`: in brackets; and the entries of `sentence_infos`. Raises NotParsedError if the Doc has no valid parse.
    """
    doc, start, end = sentence.doc, sentence.start, sentence.end
    found, tree, name = read_constituents(doc, key), to_tree(sentence, key), group_key(doc, key)
    attrs = doc.spans[name].attrs if name is not None else {}
    scores, probabilities = attrs.get("scores"), attrs.get("probabilities")
    positions = [token.i for token in sentence if token.text.strip()]
    rules = head_rules_for(doc, key)
    links = dict(zip(positions, rules.links(tree)[0], strict=True))
    first, last = bisect_left(found.starts, start), bisect_left(found.starts, end)
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
            "score": scores[k] if scores else None,
            **({"probability": probabilities[k]} if probabilities else {}),
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


def _misc(token: Token) -> str:
    following = token.i + 1 < len(token.doc) and not token.nbor().text.strip()
    return "" if token.whitespace_ or following else "SpaceAfter=No"
