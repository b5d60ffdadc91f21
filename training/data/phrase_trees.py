"""Constituency trees of CoNLL-U treebanks, by the rules of the component `dependency_phrases`."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, chain, count
from pathlib import Path
from typing import NamedTuple

from spacy_dtparse.dependency_phrases.profile import load_profile
from spacy_dtparse.dependency_phrases.projectivity import make_projective
from spacy_dtparse.dependency_phrases.rules import find_phrases
from spacy_dtparse.dependency_phrases.schemes import UNIVERSAL, find_scheme, to_universal
from spacy_dtparse.errors import ConfigError, TrainingDataError
from spacy_dtparse.trees import Tree

from .bad_input import numbered_lines, skip_or_raise

_COLUMNS = 10
_RANGE = re.compile(r"([0-9]+)-([0-9]+)")
_EMPTY = re.compile(r"[0-9]+\.[0-9]+")
_FEATURES = {"VerbForm": ("VERB", "AUX"), "PronType": ("PRON", "DET", "ADV")}
"""Features that become part of a tag, and the parts of speech for which they do."""
_QUESTIONS = ("Int", "Rel")
"""The values of PronType that become part of a tag."""


class ConlluSentence(NamedTuple):
    """The syntactic words of a sentence, as parallel lists, and its tokens in the text.

    `heads`: 0-based, -1 for the root. `tokens`: text and first and last word [start, end) of each token of the text; a
    multiword token (French *du*) has several words. `empty`: number of empty nodes that were left out.
    """

    words: list[str]
    pos: list[str]
    features: list[str]
    heads: list[int]
    relations: list[str]
    tokens: list[tuple[str, int, int]]
    empty: int


@dataclass
class PhraseCounts:
    """Counts over the sentences of a treebank: `sentences`; `lifted`, `repaired`: see `find_phrases`; `multiword`
    tokens; `dropped` constituents inside multiword tokens; `empty` nodes."""

    counts: Counter[str] = field(default_factory=Counter)

    def __str__(self) -> str:
        count = self.counts
        return (
            f"phrases by rule from the dependencies of {count['sentences']} sentences: {count['lifted']} crossing arcs "
            f"lifted, {count['repaired']} heads repaired, {count['multiword']} multiword tokens, {count['dropped']} "
            f"constituents inside them dropped, {count['empty']} empty nodes left out"
        )


def read_sentences(path: Path, encoding: str = "utf-8") -> Iterator[ConlluSentence]:
    """Read the sentences of a CoNLL-U file. A sentence with a line that is not CoNLL-U is skipped or raises
    TrainingDataError, with file and line, by --errors."""
    rows: list[list[str]] = []
    is_bad, last = False, 0
    for number, line in chain(numbered_lines(path, encoding), [(0, "")]):
        if line is None:
            is_bad = True
        elif not line.strip():
            sentence = None if is_bad or not rows else _read_sentence(rows, f"{path}:{last}")
            rows, is_bad = [], False
            if sentence is not None:
                yield sentence
        elif not is_bad and not line.startswith("#"):
            cells = line.split("\t")
            rows.append(cells)
            if len(cells) != _COLUMNS:
                problem = f"{len(cells)} columns; CoNLL-U has {_COLUMNS}, separated by tabs"
                skip_or_raise(TrainingDataError(f"{path}:{number}: {problem}"))
                is_bad = True
        last = number


def _read_sentence(rows: list[list[str]], where: str) -> ConlluSentence | None:
    """The sentence of some lines; None if it is skipped."""
    try:
        return _make_sentence(rows, where)
    except TrainingDataError as error:
        skip_or_raise(error)
        return None


def _make_sentence(rows: list[list[str]], where: str) -> ConlluSentence:
    words = [row for row in rows if row[0].isdecimal()]
    if not words or [row[0] for row in words] != [str(i + 1) for i in range(len(words))]:
        raise TrainingDataError(f"{where}: the tokens of the sentence that ends here are not numbered 1, 2, 3 …")
    if not all(row[6].isdecimal() for row in words):
        bad = next(row[6] for row in words if not row[6].isdecimal())
        raise TrainingDataError(f"{where}: a head is {bad!r}; it must be a token's number, or 0 for the root")
    ranges = {}
    for row in rows:
        if match := _RANGE.fullmatch(row[0]):
            ranges[int(match[1]) - 1] = (row[1], int(match[2]))
    tokens, i = [], 0
    while i < len(words):
        text, end = ranges.get(i, (words[i][1], i + 1))
        tokens.append((text, i, min(max(end, i + 1), len(words))))
        i = tokens[-1][2]
    columns = ([row[index] for row in words] for index in (1, 3, 5, 7))
    forms, pos, features, relations = columns
    return ConlluSentence(
        forms, pos, ["" if one == "_" else one for one in features], [int(row[6]) - 1 for row in words], relations,
        tokens, sum(_EMPTY.fullmatch(row[0]) is not None for row in rows),
    )  # fmt: skip


def training_tag(pos: str, features: str) -> str:
    """The tag of a word: its part of speech with the features that matter for phrases: VERB.Fin, PRON.Rel.

    Some treebanks have no VerbForm: verbs with a mood are finite, others with a tense are participles. Cases are left
    out: a tagger confuses them in small treebanks, which costs more than they are worth.
    """
    values = dict(pair.split("=", 1) for pair in features.split("|") if "=" in pair)
    if "Mood" in values:
        values.setdefault("VerbForm", "Fin")
    elif "Tense" in values and "Person" not in values:
        values.setdefault("VerbForm", "Part")
    parts = [pos]
    for name, kinds in _FEATURES.items():
        value = values.get(name, "").partition(",")[0]
        if value and pos in kinds and (name != "PronType" or value in _QUESTIONS):
            parts.append(value)
    return ".".join(parts)


def phrase_tree(sentence: ConlluSentence, lang: str, profile: str, counts: PhraseCounts, scheme: str) -> Tree:
    """The tree of a sentence over the tokens of its text. A multiword token is in a constituent if all its words are;
    its tag joins theirs by `+`: ADP+DET."""
    heads, relations = to_universal(scheme, sentence.pos, sentence.heads, sentence.relations)
    rules = load_profile(profile, lang, scheme != UNIVERSAL)
    found = find_phrases(sentence.words, sentence.pos, sentence.features, heads, relations, rules)
    first_leaf, last_leaf = [0] * len(sentence.words), [0] * len(sentence.words)  # of the token that begins, ends there
    for leaf, (_, start, end) in enumerate(sentence.tokens):
        first_leaf[start:end] = [leaf, *[leaf + 1] * (end - start - 1)]
        last_leaf[start:end] = [*[leaf] * (end - start - 1), leaf + 1]
    spans: list[tuple[int, int, str]] = []
    for start, end, label in found.spans:
        leaves = first_leaf[start], last_leaf[end - 1], label
        if leaves[0] < leaves[1] and not (spans and spans[-1] == leaves):
            spans.append(leaves)
    tags = [
        "+".join(training_tag(sentence.pos[i], sentence.features[i]) for i in range(start, end))
        for _, start, end in sentence.tokens
    ]
    counts.counts.update(
        sentences=1, lifted=found.lifted, repaired=found.repaired, empty=sentence.empty,
        multiword=sum(end - start > 1 for _, start, end in sentence.tokens), dropped=len(found.spans) - len(spans),
    )  # fmt: skip
    words = [text.replace("\xa0", " ") for text, *_ in sentence.tokens]
    return Tree.from_spans(words, tags, [(0, len(words), "TOP"), *spans])


def token_rows(sentence: ConlluSentence, tags: Sequence[str]) -> str:
    """The dependencies between the tokens of the text, in CoNLL-U, for the trainer of dependency parsers. `tags`: of
    the tokens, for XPOS.

    A multiword token has the head and the relation of its word that is nearest to the root. A token with white space
    becomes several, as in the trees; the others depend on its first (goeswith). Crossing arcs are lifted.
    """
    tree = make_projective(sentence.heads)
    heads, depths = tree.heads, [0] * len(sentence.words)
    for i in tree.order:
        depths[i] = depths[heads[i]] + 1 if heads[i] >= 0 else 0
    token_of = [token for token, (_, start, end) in enumerate(sentence.tokens) for _ in range(start, end)]
    parts = [text.split() or [text] for text, *_ in sentence.tokens]
    numbers = list(accumulate(map(len, parts), initial=1))  # of the first part of each token
    rows = []
    for token, (_, start, end) in enumerate(sentence.tokens):
        i = min(range(start, end), key=depths.__getitem__)  # its head is less deep, so tokens form no cycle
        head = 0 if heads[i] < 0 else numbers[token_of[heads[i]]]
        links = [(head, "root" if head == 0 else sentence.relations[i])]
        links += [(numbers[token], "goeswith")] * (len(parts[token]) - 1)
        for number, word, (above, relation) in zip(count(numbers[token]), parts[token], links, strict=False):
            cells = (number, word, "_", sentence.pos[i], tags[token], "_", above, relation, "_", "_")
            rows.append("\t".join(map(str, cells)))
    return "\n".join(rows) + "\n\n"


def read_phrase_trees(
    path: Path, lang: str, profile: str = "universal", encoding: str = "utf-8"
) -> tuple[list[Tree], list[str], PhraseCounts]:
    """Read a CoNLL-U file as constituency trees, and the dependencies of each sentence (see `token_rows`). Raises
    TrainingDataError, also for labels of another scheme."""
    sentences: Sequence[ConlluSentence] = list(read_sentences(path, encoding))
    counts = PhraseCounts()
    try:
        scheme = find_scheme({relation for sentence in sentences for relation in sentence.relations})
    except ConfigError as error:
        raise TrainingDataError(f"{path}: {error}") from None
    trees = [phrase_tree(sentence, lang, profile, counts, scheme) for sentence in sentences]
    rows = [token_rows(sentence, tree.tags) for sentence, tree in zip(sentences, trees, strict=True)]
    return trees, rows, counts
