"""Properties of a new treebank that matter for training, reported after its conversion, with advice."""

from collections import Counter
from collections.abc import Sequence

from spacy.language import Language

from spacy_dtparse.trees import Tree, base_label

from .tokens import differently_split_words

_MANY_TAGS = 150
_SHOWN = 4
_FEW_CUT = 0.001


def findings(raw: Sequence[Tree], train: Sequence[Tree], dev: Sequence[Tree], nlp: Language) -> list[str]:
    """Messages about a converted treebank. `raw`: the trees of train before cleaning, with the scheme applied; `nlp`:
    pipeline whose tokenizer will split texts."""
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
        'to retain one, give a scheme with {"labels": {"NP-SBJ": "SUBJECT"}}'
    ]


def _roots(train: Sequence[Tree]) -> list[str]:
    tops = Counter(tree.labels[1] if len(tree.labels) > 1 and tree.ends[1] == tree.n_tokens else "" for tree in train)
    label, count = tops.most_common(1)[0]
    inner = any(name == label for tree in train for name in tree.labels[2:])
    if not label or inner or count < 0.95 * len(train):
        return []
    return [
        f"{label} spans {count} of {len(train)} sentences and occurs nowhere else, so it is trivially correct and "
        f"raises scores. Boosted trees need it if sentences have several parts below it; for --parser span a scheme "
        f'with {{"labels": {{"{label}": ""}}}} removes it'
    ]


def _tags(train: Sequence[Tree], dev: Sequence[Tree]) -> list[str]:
    known = Counter(tag for tree in train for tag in tree.tags)
    line = f"{len(known)} tags, {sum(count == 1 for count in known.values())} of them occur once"
    tokens = [tag for tree in dev for tag in tree.tags]
    if tokens:
        line += f"; {sum(tag not in known for tag in tokens) / len(tokens):.2%} of dev's tokens have other tags"
    if len(known) > _MANY_TAGS:
        line += (
            "; a tagger is less accurate with so many: a scheme with a tag_pattern reduces them "
            '("[^_]+": the text before the first _)'
        )
    return [line]


def _tokens(raw: Sequence[Tree], train: Sequence[Tree], nlp: Language) -> list[str]:
    lines = []
    spaced = [word for tree in raw for word in tree.words if len(word.split()) > 1]
    if spaced:
        some = ", ".join(repr(" ".join(word.split())) for word, _ in Counter(spaced).most_common(_SHOWN))
        lines.append(
            f"{len(spaced)} tokens with spaces ({some}) were split into one token for each word, with the tag of the "
            "whole, because texts will have such tokens"
        )
    otherwise = differently_split_words(nlp, train)
    total, tokens = sum(otherwise.values()), sum(tree.n_tokens for tree in train)
    if total > _FEW_CUT * tokens:
        some = ", ".join(f"{word} as {' '.join(pieces)}" for (word, pieces), _ in otherwise.most_common(_SHOWN))
        lines.append(
            f"spaCy's tokenizer of {nlp.lang!r} splits {total} tokens ({total / tokens:.2%}) differently: {some}"
            + ("" if nlp.lang == "en" else "; `train-tagger` adapts it to those that occur at least twice")
        )
    return lines
