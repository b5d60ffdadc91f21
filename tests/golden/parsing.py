"""Entries of the shipped pipelines: what they write into Docs, what their parsers say, what they store."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

from spacy.language import Language
from spacy.tokens import Doc, Span

import spacy_dtparse

from . import project, sentences
from .store import Entry, bits, same

SUBSET = {"en_pcfgla": 6, "en_trees": 4}
"""Of the slow ones every n-th text only; the others parse all."""
BATCH_SIZE = 64


@cache
def pipeline(name: str) -> Language:
    """A shipped pipeline."""
    return project.load(name)


@cache
def parsed(name: str) -> tuple[Doc, ...]:
    """The texts, parsed by a shipped pipeline."""
    return tuple(pipeline(name).pipe(sentences.some(SUBSET.get(name, 1)), batch_size=BATCH_SIZE))


def tagger_entries(group: str) -> Iterator[Entry]:
    """Tags, sentence starts, stored bytes of the tagger, and its tags with other settings."""
    nlp = pipeline(project.NETWORK)
    docs = parsed(project.NETWORK)
    yield same(f"{group}/words", [[token.text_with_ws for token in doc] for doc in docs])
    yield same(f"{group}/tags", [[token.tag_ for token in doc] for doc in docs])
    yield same(f"{group}/parts of speech", [[token.pos_ for token in doc] for doc in docs])
    yield same(f"{group}/sentence starts", [[token.is_sent_start for token in doc] for doc in docs])
    component = project.tagger_of(nlp)
    yield same(f"{group}/component bytes", component.to_bytes())
    tagger = project.parser_of(component)
    yield same(f"{group}/model bytes", tagger.to_bytes())
    yield same(f"{group}/labels", tagger.labels)
    texts = [[token.text for token in doc] for doc in docs if len(doc) > 1][::4]
    for named, settings in project.tagger_variants().items():
        found = project.parser_of(component, **settings).tag(texts)
        yield same(f"{group}/with {named}", [[tags.tolist(), starts.tolist()] for tags, starts in found])


def constituent_entries(name: str) -> Iterator[Entry]:
    """What a parser of constituents writes into Docs, and its bytes."""
    nlp, docs = pipeline(name), parsed(name)
    component = project.component_of(nlp)
    yield same(f"{name}/tags", [[token.tag_ for token in doc] for doc in docs])
    yield same(f"{name}/brackets", [brackets(doc) for doc in docs])
    yield same(f"{name}/spans", [[span_facts(span) for span in doc._.constituents] for doc in docs])
    infos = [spacy_dtparse.sentence_infos(doc) for doc in docs]
    yield same(f"{name}/statuses", [[list(info.values())[:3] for info in own] for own in infos])
    yield bits(f"{name}/sentence infos", infos)
    yield bits(f"{name}/scores", [[spacy_dtparse.score(span) for span in doc._.constituents] for doc in docs])
    groups = [project.group_of(doc, component) for doc in docs]
    yield bits(f"{name}/stored group", [[group.name, dict(group.attrs)] for group in groups])
    names = [[sorted(group.attrs), [sorted(info) for info in own]] for group, own in zip(groups, infos, strict=True)]
    yield same(f"{name}/names of facts", names)
    yield from stored_entries(name, nlp, component)
    texts = sentences.some(SUBSET.get(name, 1) * 9)
    yield same(f"{name}/brackets of single texts", [brackets(nlp(text)) for text in texts])
    yield same(f"{name}/heads", [[[span._.head.i for span in doc._.constituents]] for doc in docs[::3]])
    yield same(f"{name}/noun chunks", [[[chunk.start, chunk.end] for chunk in doc.noun_chunks] for doc in docs])
    yield same(f"{name}/clauses", [list(map(span_facts, spacy_dtparse.clauses(doc))) for doc in docs])
    yield from _parser_entries(name, component, docs)


def _parser_entries(name: str, component: Any, docs: Sequence[Doc]) -> Iterator[Entry]:
    """Parses with other settings, with spines, and probabilities of constituents."""
    few = [one for doc in docs[::4] for one in project.sentences_of(component, doc)][:: SUBSET.get(name, 1)]
    for named, settings in project.variants_of(name).items():
        parser = project.parser_of(component, **settings)
        told = [project.told_of(parser.parse(*one)) for one in few]
        yield same(f"{name}/with {named}", [first for first, _ in told])
        yield bits(f"{name}/with {named}, numbers", [second for _, second in told])
    parser = project.parser_of(component)
    short = [one for one in few if 4 <= len(one[0]) <= 14][:20]
    posteriors = [sorted(parser.span_posteriors(*one).items()) for one in short if _has_posteriors(parser)]
    yield bits(f"{name}/posteriors", posteriors)
    if getattr(parser, "reads_spines", False):
        told = []
        for one in short:
            best = parser.parse_k_best(*one, 3)
            told.append(project.told_of(parser.parse(*one, project.spine_texts(best))))
        yield same(f"{name}/with spines", [first for first, _ in told])
        yield bits(f"{name}/with spines, numbers", [second for _, second in told])


def _has_posteriors(parser: Any) -> bool:
    """Whether a parser knows probabilities; boosted trees do where they have a reader."""
    return parser.calibration is not None


def dependency_entries(name: str) -> Iterator[Entry]:
    """What the parser of heads writes into Docs, its numbers, and its bytes."""
    nlp, docs = pipeline(name), parsed(name)
    component = project.component_of(nlp)
    yield same(f"{name}/heads", [[token.head.i for token in doc] for doc in docs])
    yield same(f"{name}/labels of heads", [[token.dep_ for token in doc] for doc in docs])
    yield same(f"{name}/sentence starts", [[token.is_sent_start for token in doc] for doc in docs])
    yield same(f"{name}/brackets", [brackets(doc) for doc in docs])
    yield same(f"{name}/agreement", [list(spacy_dtparse.agreement(doc)) for doc in docs if len(doc)])
    yield same(f"{name}/rows", [spacy_dtparse.to_conllu(doc) for doc in docs if doc.text.strip()])
    yield from stored_entries(name, nlp, component)
    columns = [one for doc in docs[::3] for one in project.columns_of(component, doc)]
    for named, settings in {"given settings": {}, **project.variants_of(name)}.items():
        parser = project.parser_of(component, **settings)
        told = [project.told_of_links(parser.parse(one)) for one in columns]
        yield same(f"{name}/with {named}", told)
    parser = project.parser_of(component)
    told = [[project.told_of_links(one) for one in parser.parse_k_best(own, 4)] for own in columns[:25]]
    yield same(f"{name}/k best", told)
    yield same(f"{name}/scores of links", [parser.link_scores(own) for own in columns[:25]])


def stored_entries(name: str, nlp: Language, component: Any) -> Iterator[Entry]:
    """The bytes of component and parser, labels, and the config that a saved pipeline would have."""
    yield same(f"{name}/component bytes", component.to_bytes())
    parser = project.parser_of(component)
    yield same(f"{name}/model bytes", parser.to_bytes())
    yield same(f"{name}/labels", parser.labels)
    yield same(f"{name}/model meta", parser.meta)
    yield same(f"{name}/config", nlp.config.to_str())


def brackets(doc: Doc) -> list[str]:
    """The trees of a Doc's sentences."""
    return [sentence._.parse_string for sentence in doc.sents] if len(doc) else []


def span_facts(span: Span) -> list[Any]:
    """Place, label and level in a chain of a constituent."""
    return [span.start, span.end, span.label_, span.id_]
