"""The tags of a treebank that a reader does not know, taken for tags that it knows."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import replace

from spacy.language import Language

from spacy_dtparse.features.span.wordparts import TAG, WordParts
from spacy_dtparse.parsers.span import SpanParser

from .corpus import Sentence, every_nth
from .evaluate import tag_lists

_FEW = 0.5
"""Share of tokens with a tag that the reader knows, below which its tag set counts as another one."""
_SENTENCES = 3000


def knows_tags(reader: SpanParser, sentences: Sequence[Sentence]) -> bool:
    """Whether the tags of most tokens of the sentences are the reader's."""
    known = frozenset(reader.model.words.tables[TAG]) | reader.model.words.aliases.keys()
    tags = Counter(tag for sentence in sentences for tag in sentence.tags)
    return sum(times for tag, times in tags.items() if tag in known) >= _FEW * tags.total()


def with_aliases(reader: SpanParser, sentences: Sequence[Sentence], nlp: Language) -> SpanParser:
    """The reader with each tag of the sentences taken for the one that its words mostly get from `nlp`, a pipeline
    whose tags the reader has learned from."""
    chosen = every_nth(sentences, _SENTENCES)
    counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for sentence, theirs in zip(chosen, tag_lists(nlp, (s.tree.words for s in chosen)), strict=True):
        for tag, other in zip(sentence.tags, theirs, strict=True):
            counts[tag][other] += 1
    words = reader.model.words
    known = frozenset(words.tables[TAG])
    usual = {tag: min(others, key=lambda other: (-others[other], other)) for tag, others in counts.items()}
    aliases = {tag: other for tag, other in sorted(usual.items()) if tag != other and other in known}
    return SpanParser(replace(reader.model, words=WordParts(words.tables, aliases)), reader.settings)
