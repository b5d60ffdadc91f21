"""Map the tags of a treebank to tags that a span model was trained with."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import replace

from spacy.language import Language

from spacy_dtparse.span_parser.features import TAG
from spacy_dtparse.span_parser.parser import SpanParser

from .corpus import Sentence, take_evenly
from .evaluate import tag_lists

_FEW = 0.5
"""If the span model has the tags of a smaller fraction of the tokens, its tag set counts as a different one."""
_SENTENCES = 3000


def has_known_tags(span_parser: SpanParser, sentences: Sequence[Sentence]) -> bool:
    """Return whether the span model was trained with the tags of most tokens of the sentences."""
    known = frozenset(span_parser.model.words.tables[TAG]) | span_parser.model.words.aliases.keys()
    tags = Counter(tag for sentence in sentences for tag in sentence.tags)
    return sum(times for tag, times in tags.items() if tag in known) >= _FEW * tags.total()


def map_tags(span_parser: SpanParser, sentences: Sequence[Sentence], nlp: Language) -> SpanParser:
    """The span parser with aliases for the tags of the sentences: each tag is mapped to the tag that `nlp`, a pipeline
    with the span model's tag set, most often gives to the same words."""
    sampled = take_evenly(sentences, _SENTENCES)
    counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for sentence, theirs in zip(sampled, tag_lists(nlp, (s.tree.words for s in sampled)), strict=True):
        for tag, other in zip(sentence.tags, theirs, strict=True):
            counts[tag][other] += 1
    words = span_parser.model.words
    known = frozenset(words.tables[TAG])
    usual = {tag: min(others, key=lambda other: (-others[other], other)) for tag, others in counts.items()}
    aliases = {tag: other for tag, other in sorted(usual.items()) if tag != other and other in known}
    return type(span_parser)(replace(span_parser.model, words=words.with_aliases(aliases)), span_parser.settings)
