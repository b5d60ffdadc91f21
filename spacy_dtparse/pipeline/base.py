"""What the spaCy components `dtparse`, `span_parser` and `pcfgla` have in common: Docs in, constituents in `doc.spans`
out; the model's way is `model_pipe`'s. `component` has their factories.

spaCy imports this module in every spacy.blank() and spacy.load() of the environment, so it must stay light: parsers
and numba are imported where a model is loaded.
"""

import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from spacy.language import Language
from spacy.tokens import Doc

from ..checks import Setting
from ..errors import ConfigError
from ..parsers.base import BatchParser, ConstituentParser, ParseResult
from ..parsers.kinds import CONSTITUENT_FACTORIES
from .constituents import DEFAULT_KEY, ParsedSentence, write_constituents
from .extensions import register_extensions
from .model_pipe import ModelPipe
from .scorer import parseval_score
from .sentences import SentenceInput, has_boundaries, read_sentences
from .spines import SPINES_KEY, Offer, read_offers

FACTORIES = CONSTITUENT_FACTORIES
"""The factories of this package's constituent parsers."""

ALL_FACTORIES = (*FACTORIES, "bpm_parser", "spine_tagger")
"""The factories of all components of this package, none of which is needed for tags or sentence boundaries."""

ASSIGNS = ["doc.spans", "doc._.constituents", "span._.labels", "span._.parse_string"]

SCORE_WEIGHTS = {
    "const_f": 1.0,
    "const_p": None,
    "const_r": None,
    "const_f_evalb": None,
    "const_uf": None,
    "const_exact": None,
    "const_cross": None,
    "const_per_type": None,
}


def default_config(settings: Mapping[str, Setting]) -> dict[str, Any]:
    """The config of a component with these settings of its parser: all of them the model's own."""
    return {
        "model": None,
        **dict.fromkeys(settings),
        "settings": None,
        "spans_key": DEFAULT_KEY,
        "spines_key": SPINES_KEY,
        "scorer": {"@scorers": "spacy_dtparse.parseval_scorer.v1"},
    }


class ConstituentPipe(ModelPipe):
    """A constituent parser as a pipeline component; a subclass says which parser, with which settings.

    Reads `token.tag_` and sentence boundaries, never writes them. White-space tokens are not shown to the parser. A
    Doc without boundaries is taken as one sentence, with a warning once. Where the parser needs tags, a Doc without
    some of its tags gets XX there, with a warning once, and a Doc without any raises MissingAnnotationError, which
    goes to nlp's error handler. Where the parser reads spines (`reads_spines`) and all words of a sentence have some in
    `doc.spans[spines_key]`, as a spine_tagger before it writes them, they prune its search.
    """

    OWN: ClassVar[tuple[str, ...]] = ("spans_key", "spines_key")

    def __init__(
        self,
        name: str = "",
        *,
        parser: ConstituentParser | None = None,
        model: str | Path | None = None,
        spans_key: str = DEFAULT_KEY,
        spines_key: str | None = SPINES_KEY,
        scorer: Callable | None = parseval_score,
        settings: Mapping[str, Any] | None = None,
        **typed: Any,
    ):
        if not isinstance(spans_key, str) or not spans_key:
            raise ConfigError(
                f"{name or self.factory}: spans_key = {spans_key!r}; it is a non-empty string, a key of doc.spans"
            )
        if spines_key is not None and (not isinstance(spines_key, str) or not spines_key):
            raise ConfigError(
                f"{name or self.factory}: spines_key = {spines_key!r}; it is a non-empty string, a key of doc.spans, "
                "or None for a parser that is to see no spines"
            )
        self.prepare()
        self.spans_key, self.spines_key = spans_key, spines_key
        typed |= self._from_table(name or self.factory, settings)
        super().__init__(name, parser=parser, model=model, scorer=scorer, **typed)

    def _from_table(self, name: str, table: Mapping[str, Any] | None) -> dict[str, Any]:
        """What 0.1.0 had in a table `settings` of its own, as settings beside the others."""
        if not table:
            return {}
        if not isinstance(table, Mapping):
            raise ConfigError(f"{name}: settings = {table!r}; give each setting by its own name")
        warnings.warn(
            f"{name}: the table `settings` is of pipelines saved by spacy-dtparse 0.1.0; give {', '.join(table)} "
            "beside the other settings",
            stacklevel=5,
        )
        return dict(table)

    def prepare(self) -> None:
        """Register the attributes that read constituents."""
        register_extensions()

    @property
    def needs_tags(self) -> bool:
        """Whether a Doc must have tags: the parser reads them."""
        return True

    def warn_of_others(self, nlp: Language) -> None:
        """Warn when a component that `nlp` has and runs writes the same key of `doc.spans` as this one will."""
        for name, other in nlp.pipeline:
            if isinstance(other, ConstituentPipe) and other is not self and other.spans_key == self.spans_key:
                warnings.warn(
                    f"{self.name}: {name!r} of the same pipeline writes doc.spans[{self.spans_key!r}], too; the result "
                    f"of the later one replaces that of the other. To have both, give one of them a key of its own: "
                    f"config={{'spans_key': {self.name!r}}}",
                    stacklevel=3,
                )

    @property
    def cfg(self) -> dict[str, Any]:
        """What `Pipe.score` hands to the scorer."""
        return {"spans_key": self.spans_key}

    # ---- parsing ----

    def __call__(self, doc: Doc) -> Doc:
        """Parse `doc` and set `doc.spans[self.spans_key]`; on an error the Doc is left as it was."""
        needs_tags = self.needs_tags
        sentences, untagged = read_sentences(doc, self.name, needs_tags)
        parser = self.parser
        if untagged and needs_tags:
            self._warn_once(
                "tags",
                f"{self.name}: {untagged} words of a Doc have no part-of-speech tag; they are parsed as "
                "unknown (XX). Check the tagger before it",
            )
        if sentences and not has_boundaries(doc):
            self._warn_once(
                "sentences",
                f"{self.name}: a Doc has no sentence boundaries and is parsed as one sentence. Put a "
                "component that sets them (senter, parser, sentencizer) before it",
            )
        offers = self.offers(doc)
        found = self._parse_all(sentences, offers)
        parsed = [ParsedSentence(s.start, s.end, s.places, r) for s, r in zip(sentences, found, strict=True)]
        write_constituents(doc, parsed, self.spans_key, parser.name)
        return doc

    def offers(self, doc: Doc) -> Mapping[int, Offer]:
        """The likely spines of words by their places in the Doc, {} where the parser is not to see any."""
        if self.spines_key is None or not getattr(self.configured_parser, "reads_spines", False):
            return {}
        return read_offers(doc, self.spines_key)

    def _parse_all(
        self, sentences: Sequence[SentenceInput], offers: Mapping[int, Offer]
    ) -> list[ParseResult | None]:
        """The parses of a Doc's sentences; None for those without words."""
        if offers or not isinstance(self._searching, BatchParser):
            return [self._parse(sentence, offers) for sentence in sentences]
        found = iter(self._searching.parse_batch([(s.words, s.tags) for s in sentences if s.words]))
        return [next(found) if sentence.words else None for sentence in sentences]

    def _parse(self, sentence: SentenceInput, offers: Mapping[int, Offer]) -> ParseResult | None:
        """The sentence's parse, with its words' spines where all of them have some."""
        assert self._searching is not None
        if not sentence.words:
            return None
        if offers:
            spines = [offers.get(place, ()) for place in sentence.places]
            if all(spines):
                return self._searching.parse(sentence.words, sentence.tags, spines)
        return self._searching.parse(sentence.words, sentence.tags)

    # `pipe` and `score` are Pipe's: Doc by Doc, so that a bad one does not take its batch along.
