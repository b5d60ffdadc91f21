"""Entries of the shipped pipelines: the annotation of Docs, the results of the parsers, the stored data."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

from spacy.language import Language
from spacy.tokens import Doc, Span

import spacy_dtparse
from spacy_dtparse.core import Capability

from . import project, sentences
from .store import Entry, bits, same, text

SUBSET = {"en_pcfgla": 6, "en_trees": 4}
"""The slow parsers parse every n-th text only; the others parse all."""
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
    """Yield entries of tags, sentence starts, the stored bytes of the tagger, and its tags with other settings."""
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
    """Yield entries of the annotation of a constituent parser, and of its bytes."""
    nlp, docs = pipeline(name), parsed(name)
    component = project.component_of(nlp)
    yield same(f"{name}/tags", [[token.tag_ for token in doc] for doc in docs])
    yield same(f"{name}/brackets", [brackets(doc) for doc in docs])
    yield same(f"{name}/spans", [[describe_span(span) for span in doc._.constituents] for doc in docs])
    infos = [spacy_dtparse.sentence_infos(doc) for doc in docs]
    yield same(f"{name}/statuses", [[list(info.values())[:3] for info in own] for own in infos])
    yield bits(f"{name}/sentence infos", infos)
    yield bits(f"{name}/costs", [[spacy_dtparse.cost(span) for span in doc._.constituents] for doc in docs])
    groups = [project.group_of(doc, component) for doc in docs]
    yield bits(f"{name}/stored group", [[group.name, dict(group.attrs)] for group in groups])
    names = [[sorted(group.attrs), [sorted(info) for info in own]] for group, own in zip(groups, infos, strict=True)]
    yield same(f"{name}/names of facts", names)
    yield from stored_entries(name, nlp, component)
    texts = sentences.some(SUBSET.get(name, 1) * 9)
    yield same(f"{name}/brackets of single texts", [brackets(nlp(text)) for text in texts])
    yield same(f"{name}/heads", [[[span._.head.i for span in doc._.constituents]] for doc in docs[::3]])
    yield same(f"{name}/noun chunks", [[[chunk.start, chunk.end] for chunk in doc.noun_chunks] for doc in docs])
    yield same(f"{name}/clauses", [list(map(describe_span, spacy_dtparse.clauses(doc))) for doc in docs])
    yield from _parser_entries(name, component, docs)


def _parser_entries(name: str, component: Any, docs: Sequence[Doc]) -> Iterator[Entry]:
    """Yield entries of parses with other settings and with spines, and of probabilities of constituents."""
    few = [one for doc in docs[::4] for one in project.sentences_of(component, doc)][:: SUBSET.get(name, 1)]
    for named, settings in project.variants_of(name).items():
        parser = project.parser_of(component, **settings)
        described = [project.describe_parse(parser.parse(*one)) for one in few]
        yield same(f"{name}/with {named}", [first for first, _ in described])
        yield bits(f"{name}/with {named}, numbers", [second for _, second in described])
    parser = project.parser_of(component)
    short = [one for one in few if 4 <= len(one[0]) <= 14][:20]
    posteriors = [sorted(parser.span_posteriors(*one).items()) for one in short if _has_posteriors(parser)]
    yield bits(f"{name}/posteriors", posteriors)
    if Capability.SUPERTAGS in parser.capabilities:
        described = []
        for one in short:
            best = parser.parse_k_best(*one, 3)
            described.append(project.describe_parse(parser.parse(*one, project.spine_texts(best))))
        yield same(f"{name}/with spines", [first for first, _ in described])
        yield bits(f"{name}/with spines, numbers", [second for _, second in described])


def _has_posteriors(parser: Any) -> bool:
    """Whether a parser computes probabilities; boosted trees do if they have a span model."""
    return parser.calibration is not None


def dependency_entries(name: str) -> Iterator[Entry]:
    """Yield entries of the annotation of the dependency parser, of its scores, and of its bytes."""
    nlp, docs = pipeline(name), parsed(name)
    component = project.component_of(nlp)
    yield same(f"{name}/heads", [[token.head.i for token in doc] for doc in docs])
    yield same(f"{name}/labels of heads", [[token.dep_ for token in doc] for doc in docs])
    yield same(f"{name}/sentence starts", [[token.is_sent_start for token in doc] for doc in docs])
    yield same(f"{name}/brackets", [brackets(doc) for doc in docs])
    yield same(f"{name}/head_consistency", [list(spacy_dtparse.head_consistency(doc)) for doc in docs if len(doc)])
    yield same(f"{name}/rows", [spacy_dtparse.to_conllu(doc) for doc in docs if doc.text.strip()])
    yield from stored_entries(name, nlp, component)
    columns = [one for doc in docs[::3] for one in project.columns_of(component, doc)]
    for named, settings in {"given settings": {}, **project.variants_of(name)}.items():
        parser = project.parser_of(component, **settings)
        described = [project.describe_dependencies(parser.parse(one)) for one in columns]
        yield same(f"{name}/with {named}", described)
    parser = project.parser_of(component)
    described = [[project.describe_dependencies(one) for one in parser.parse_k_best(own, 4)] for own in columns[:25]]
    yield same(f"{name}/k best", described)
    yield same(f"{name}/scores of links", [parser.link_scores(own) for own in columns[:25]])


def stored_entries(name: str, nlp: Language, component: Any) -> Iterator[Entry]:
    """Yield entries of the bytes of component and parser, the labels, and the config of a saved pipeline."""
    yield same(f"{name}/component bytes", component.to_bytes())
    parser = project.parser_of(component)
    yield same(f"{name}/model bytes", parser.to_bytes())
    yield same(f"{name}/labels", parser.labels)
    yield same(f"{name}/model meta", parser.meta)
    yield text(f"{name}/config", nlp.config.to_str())  # the names of settings are for people


def brackets(doc: Doc) -> list[str]:
    """The bracketed trees of a Doc's sentences."""
    return [sentence._.parse_string for sentence in doc.sents] if len(doc) else []


def describe_span(span: Span) -> list[Any]:
    """The position and label of a constituent, and its level in a chain."""
    return [span.start, span.end, span.label_, span.id_]
