"""A check that the tags of Docs belong to the tag set that a parser was trained with."""

from collections import Counter
from collections.abc import Sequence

from ..core.parser import UNKNOWN_TAG
from .sentences import SentenceInput

_MIN_WORDS = 20
"""Minimum number of words before anything is reported, unless all words of a Doc have unknown tags."""
_MIN_TAGS = 2
"""Minimum number of different unknown tags of a Doc in which all are unknown: a text of emoji may have one."""
_MAX_UNKNOWN = 0.5
"""Fraction of unknown tags above which the tags count as those of another set."""


class TagSetCheck:
    """Counts words with unknown tags over the Docs of a component, until there are enough for a decision."""

    def __init__(self) -> None:
        self._words = 0
        self._unknown_tags: Counter[str] = Counter()

    def problem(self, sentences: Sequence[SentenceInput], known: frozenset[str]) -> str:
        """Describe the problem if most words have unknown tags; "" if not, or if there were too few words so far. If
        all words of a Doc have unknown tags, a few words are enough. `known`: the model's tags, empty if they are not
        available."""
        if not known:
            return ""
        doc_words, doc_tags = 0, Counter[str]()
        for _, _, _, tags, _ in sentences:
            doc_words += len(tags)
            if not known.issuperset(tags):
                doc_tags.update(tag for tag in tags if tag not in known and tag != UNKNOWN_TAG)
        self._words += doc_words
        self._unknown_tags += doc_tags
        all_unknown = len(doc_tags) >= _MIN_TAGS and doc_tags.total() == doc_words
        if self._words < _MIN_WORDS and not all_unknown:
            return ""
        words, unknown_tags = self._words, self._unknown_tags
        self._words, self._unknown_tags = 0, Counter()
        unknown = sum(unknown_tags.values())
        if unknown <= _MAX_UNKNOWN * words:
            if not all_unknown:
                return ""
            words, unknown_tags, unknown = doc_words, doc_tags, doc_words
        seen, usual = ", ".join(tag for tag, _ in unknown_tags.most_common(4)), ", ".join(_examples(known))
        return (
            f"{unknown} of {words} words have tags (token.tag_) that its model does not have, such as {seen}; it was "
            f"trained with others, such as {usual}. They are treated as unknown, and trees are likely wrong. "
            "Put a tagger of that tag set before it (universal tags belong into token.pos_), use spacy_dtparse.load(), "
            "or train a parser with your tags"
        )


def _examples(known: frozenset[str]) -> list[str]:
    """Some of the known tags, preferably short ones of letters."""
    plain = [tag for tag in known if tag.isalpha() and tag != UNKNOWN_TAG]
    return sorted(plain or known, key=lambda tag: (len(tag), tag))[:5]
