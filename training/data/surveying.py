"""What a new treebank brings that training should know of: said after it was converted, with what to do about it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from spacy.language import Language

from spacy_dtparse.trees import Tree, base_label

from .tokens import cut_otherwise

_MANY_TAGS = 150
_SHOWN = 4
_FEW_CUT = 0.001


def findings(raw: Sequence[Tree], train: Sequence[Tree], dev: Sequence[Tree], nlp: Language) -> list[str]:
    """Lines on a converted treebank. `raw`: the trees of train as they were written, after a scheme; `nlp`: whose
    tokenizer will cut texts."""
    labels = Counter(label for tree in train for label in tree.labels[1:])
    lines = [f"{len(labels)} labels: {', '.join(f'{label} {count}' for label, count in labels.most_common(12))}"]
    return [*lines, *_functions(raw), *_roots(train), *_tags(train, dev), *_tokens(raw, train, nlp)]


def _functions(raw: Sequence[Tree]) -> list[str]:
    cut = Counter(label for tree in raw for label in tree.labels[1:] if base_label(label) != label)
    if not cut:
        return []
    shown = ", ".join(f"{label} is {base_label(label)}" for label, _ in cut.most_common(_SHOWN))
    return [
        f"{len(cut)} labels lost their function tags: {shown}; "
        'to keep one, give a scheme with {"labels": {"NP-SBJ": "SUBJECT"}}'
    ]


def _roots(train: Sequence[Tree]) -> list[str]:
    tops = Counter(tree.labels[1] if len(tree.labels) > 1 and tree.ends[1] == tree.n_tokens else "" for tree in train)
    label, count = tops.most_common(1)[0]
    inner = any(name == label for tree in train for name in tree.labels[2:])
    if not label or inner or count < 0.95 * len(train):
        return []
    return [
        f"{label} is around {count} of {len(train)} sentences and nowhere else, so it is right by itself and raises "
        f"scores. Boosted trees need it where sentences have several parts below it; for --parser span a scheme with "
        f'{{"labels": {{"{label}": ""}}}} takes it away'
    ]


def _tags(train: Sequence[Tree], dev: Sequence[Tree]) -> list[str]:
    known = Counter(tag for tree in train for tag in tree.tags)
    line = f"{len(known)} tags, {sum(count == 1 for count in known.values())} of them once"
    tokens = [tag for tree in dev for tag in tree.tags]
    if tokens:
        line += f"; {sum(tag not in known for tag in tokens) / len(tokens):.2%} of dev's tokens have another one"
    if len(known) > _MANY_TAGS:
        line += (
            "; a tagger gets so many wrong more often: a scheme with a tag_pattern makes fewer "
            '("[^_]+": what stands before the first _)'
        )
    return [line]


def _tokens(raw: Sequence[Tree], train: Sequence[Tree], nlp: Language) -> list[str]:
    lines = []
    spaced = [word for tree in raw for word in tree.words if len(word.split()) > 1]
    if spaced:
        some = ", ".join(repr(" ".join(word.split())) for word, _ in Counter(spaced).most_common(_SHOWN))
        lines.append(
            f"{len(spaced)} tokens with spaces in them ({some}) are now a token for each word, with the tag of the "
            "whole, as texts will have them"
        )
    otherwise = cut_otherwise(nlp, train)
    total, tokens = sum(otherwise.values()), sum(tree.n_tokens for tree in train)
    if total > _FEW_CUT * tokens:
        some = ", ".join(f"{word} as {' '.join(pieces)}" for (word, pieces), _ in otherwise.most_common(_SHOWN))
        lines.append(
            f"spaCy's tokenizer of {nlp.lang!r} cuts {total} tokens ({total / tokens:.2%}) otherwise: {some}"
            + ("" if nlp.lang == "en" else "; `tag` teaches it those that it meets twice")
        )
    return lines
