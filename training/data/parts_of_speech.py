"""Parts of speech of dependency treebanks as labels of words, and back."""

from collections.abc import Sequence
from dataclasses import replace

from spacy_dtparse.features.linear.linkparts import TextRules
from spacy_dtparse.parsers.tagging import SequenceTagger

from .dependencies import DependencySentence

_BETWEEN, _NOTHING = "|", "-"


def part_labels(sentence: DependencySentence, rules: TextRules) -> tuple[str, ...]:
    """What a tagger learns from a sentence: of its parts of speech, coarse and fine ("NOUN|NN"), all that `rules` read;
    characters of a positional tag that they pass over are "-".
    """
    tags, pos = sentence.columns.tags, sentence.columns.pos
    if rules.places:
        tags = tuple(
            "".join(char if place in rules.places else _NOTHING for place, char in enumerate(tag)) for tag in tags
        )
    none = ("",) * len(sentence.heads)
    coarse, fine = none if rules.source == "tag" else pos, none if rules.source == "pos" else tags
    return tuple(f"{one}{_BETWEEN}{other}" for one, other in zip(coarse, fine, strict=True))


def with_labels(sentence: DependencySentence, labels: Sequence[str]) -> DependencySentence:
    """The sentence with parts of speech from labels such as `part_labels` gives."""
    parts = [label.partition(_BETWEEN) for label in labels]
    columns = sentence.columns._replace(tags=tuple(fine for *_, fine in parts), pos=tuple(part[0] for part in parts))
    return replace(sentence, columns=columns)


def retagged(tagger: SequenceTagger, sentences: Sequence[DependencySentence]) -> list[DependencySentence]:
    """The sentences with parts of speech by a tagger of such labels."""
    return [with_labels(sentence, tagger.tag(sentence.columns.words)) for sentence in sentences]
