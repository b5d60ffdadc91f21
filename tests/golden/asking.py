"""Entries of the shipped parsers other than parses: k best trees, probabilities, constraints, explanations,
patterns."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from spacy.language import Language
from spacy.tokens import Doc, Span

import spacy_dtparse

from . import project, sentences
from .parsing import brackets, pipeline
from .store import Entry, bits, same, text

K_BEST_TEXTS = {"en_dtparse": 24, "en_span": 40, "en_trees": 12, "en_pcfgla": 10}
"""Number of sentences whose best trees are listed."""
EXPLAINED = {"en_dtparse": 6, "en_span": 10, "en_trees": 5, "en_pcfgla": 4}
"""Number of sentences whose constituents are explained."""
CONSTRAINED = {"en_dtparse": 16, "en_span": 24, "en_trees": 10, "en_pcfgla": 6}
"""Number of sentences parsed under constraints."""
PROBABLE = {"en_dtparse": 30, "en_span": 60, "en_pcfgla": 6}
"""Number of sentences with probabilities; en_trees has no calibration."""
PATTERNS = {
    "object": ["VP < (NP=object !< CC)"],
    "clause": ["S|SBAR << VBZ", "SBARQ"],
    "long": ["NP <, DT <- (NN . IN)"],
    "place": ["PP < (IN . (NP=where <# NN))"],
}

_NUMBER = re.compile(r"-?\d+(\.\d+)?(e-?\d+)?")
"""Numbers in a text; their last digits depend on the processor."""


def k_best_entries(name: str) -> Iterator[Entry]:
    """Yield entries of the best trees of sentences."""
    nlp = pipeline(name)
    listed = [spacy_dtparse.k_best(nlp, one, 5) for one in _single(nlp, K_BEST_TEXTS[name])]
    yield same(f"{name}/k best", [[[one.rank, one.brackets, one.status] for one in own] for own in listed])
    yield same(f"{name}/k best, constituents", [[one.constituents for one in own] for own in listed])
    numbers = [
        [[one.cost, one.margin, project.rounded(one.probability), one.result.costs] for one in own] for own in listed
    ]
    yield bits(f"{name}/k best, numbers", numbers)


def probability_entries(name: str) -> Iterator[Entry]:
    """Yield entries of the probabilities of constituents and trees."""
    if name not in PROBABLE:
        return
    docs = list(project.with_probabilities(name).pipe(sentences.short(PROBABLE[name]), batch_size=16))
    yield same(f"{name}/with probabilities", [brackets(doc) for doc in docs])
    described = [[spacy_dtparse.probability(span) for span in doc._.constituents] for doc in docs]
    yield bits(f"{name}/probabilities of constituents", described)
    trees = [[project.rounded(spacy_dtparse.tree_probability(one)) for one in doc.sents] for doc in docs]
    yield bits(f"{name}/probabilities of trees", trees)


def constraint_entries(name: str) -> Iterator[Entry]:
    """Yield entries of parses under satisfiable constraints: a constituent of the second best tree is required, or one
    of the best tree is forbidden."""
    nlp = pipeline(name)
    component = project.component_of(nlp)
    found, scores = [], []
    for number, doc in enumerate(_single(nlp, CONSTRAINED[name])):
        given = _untouched(doc)
        wanted = _wanted(nlp, doc, number)
        given.spans[project.constraints_key(component)] = [
            Span(given, start, end, label=label) for label, start, end in wanted
        ]
        component(given)
        statuses = [list(info.values())[:3] for info in spacy_dtparse.sentence_infos(given)]
        found.append([wanted, brackets(given), statuses])
        scores.append([spacy_dtparse.cost(span) for span in given._.constituents])
    yield same(f"{name}/under constraints", found)
    yield bits(f"{name}/under constraints, costs", scores)


def _wanted(nlp: Language, doc: Doc, number: int) -> list[tuple[str, int, int]]:
    """Return the constraint of sentence `number`, one of four kinds in turn: a constituent that only the second best
    tree has, with or without its label; no constituent of a label where the best tree has one; no constituent at all
    there."""
    best, *others = spacy_dtparse.k_best(nlp, doc, 2)
    own = [one for one in best.constituents if 1 < one[2] - one[1] < len(doc)]
    new = [one for one in others[0].constituents if one not in best.constituents] if others else []
    turn = number % 4
    if turn < 2 and new:
        label, start, end = new[0]
        return [(label if turn == 0 else "", start, end)]
    if not own:
        return [("", 0, 2)]
    label, start, end = own[number % len(own)]
    return [(f"!{label}" if turn != 3 else "!", start, end)]


def _untouched(doc: Doc) -> Doc:
    """Return an unparsed Doc with the same words, tags and sentences."""
    return Doc(
        doc.vocab,
        words=[token.text for token in doc],
        spaces=[bool(token.whitespace_) for token in doc],
        tags=[token.tag_ for token in doc],
        sent_starts=[bool(token.is_sent_start) for token in doc],
    )


def explanation_entries(name: str) -> Iterator[Entry]:
    """Yield entries of explanations of all constituents of some sentences."""
    nlp = pipeline(name)
    described: list[tuple[Any, Any, str]] = []
    for doc in _single(nlp, EXPLAINED[name]):
        described += map(project.describe_explanation, spacy_dtparse.explanations(nlp, doc))
        described.append(project.describe_explanation(spacy_dtparse.explain(nlp, doc._.constituents[-1])))
    yield same(f"{name}/explanations", [names for names, _, _ in described])
    yield bits(f"{name}/explanations, numbers", [numbers for _, numbers, _ in described])
    yield text(f"{name}/explanations as text, without numbers", [_NUMBER.sub("#", said) for _, _, said in described])


def pattern_entries(name: str) -> Iterator[Entry]:
    """Yield entries of the matches of patterns in parsed Docs, of drawings, and of tables."""
    nlp = pipeline(name)
    docs = _single(nlp, 60)
    matcher = spacy_dtparse.ConstituentMatcher(nlp.vocab)
    for key, patterns in PATTERNS.items():
        matcher.add(key, patterns)
    found = [[repr(one) for one in matcher(doc)] for doc in docs]
    yield same(f"{name}/number of matches", list(map(len, found)))
    yield bits(f"{name}/rows", [spacy_dtparse.sentence_record(doc[:]) for doc in docs])
    for style in ("tree", "spans", "text"):
        yield text(f"{name}/drawn as {style}", spacy_dtparse.render(docs[:12], style, jupyter=False))


def _single(nlp: Language, count: int) -> list[Doc]:
    """Return parsed texts that are one sentence."""
    docs = nlp.pipe(sentences.short(count), batch_size=16)
    return [doc for doc in docs if len(list(doc.sents)) == 1]
