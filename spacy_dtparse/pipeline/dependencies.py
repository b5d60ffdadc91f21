"""The spaCy component `bpm_parser`: words and tags in, `token.head`, `token.dep_` and sentence roots out.

spaCy imports this module in every spacy.blank() and spacy.load() of the environment, so it must stay light: parsers
and numba are imported where a model is loaded. (No `from __future__ import annotations` here: spaCy reads the
annotations of the factory.)
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, Optional, Union

import numpy as np
from spacy.attrs import DEP, HEAD, SENT_START
from spacy.language import Language
from spacy.tokens import Doc

from ..checks import one_of, whole_number
from ..errors import ConfigError
from ..models import embedded_dependency_model
from ..trees.heads import head_rules, tree_guide
from .attributes import to_tree
from .constituents import DEFAULT_KEY, group_key
from .model_pipe import ModelPipe
from .sentences import MissingAnnotationError, has_boundaries, plain_word, visible_tokens

SCORE_WEIGHTS = {
    "dep_uas": 0.5,
    "dep_las": 0.5,
    "dep_las_per_type": None,
    "sents_p": None,
    "sents_r": None,
    "sents_f": None,
}
ROOT = "ROOT"
"""`token.dep_` of a sentence's root, as everywhere in spaCy."""
OTHER = "dep"
"""`token.dep_` of white space, and of all links where a model has no labels."""
_READ = {"tag": ("tag_",), "pos": ("pos_",), "pos+tag": ("tag_", "pos_")}


class WordColumns(NamedTuple):
    """One sentence [start, end) of a Doc: words without white space, their tags, coarse tags, lemmas, and places in the
    Doc."""

    start: int
    end: int
    words: tuple[str, ...]
    tags: tuple[str, ...]
    pos: tuple[str, ...]
    lemmas: tuple[str, ...]
    places: tuple[int, ...]


class BpmParser(ModelPipe):
    """Dependency parsing with linear models of links; see `make_bpm_parser`.

    Reads tags as the model says (`token.tag_`, `token.pos_` or both, and `token.lemma_` for one trained with lemmas)
    and sentence boundaries, and writes a tree for each sentence: one root, every other token on or below it. White
    space is not shown to the parser and depends on the word before it. A Doc without boundaries is taken as one
    sentence, and one with some of its tags missing is parsed, with a warning once each; a Doc without any tags raises
    MissingAnnotationError, which goes to nlp's error handler. On an error a Doc is left as it was. A model whose guide
    are constituents (as the embedded one) needs them in `doc.spans[spans_key]`, where a constituent parser puts them.
    """

    factory = "bpm_parser"
    default_model = staticmethod(embedded_dependency_model)
    SETTINGS = {  # noqa: RUF012 (never changed)
        "decoder": one_of("projective", "spanning"),
        "stages": whole_number(1),
        "max_tokens": whole_number(1),
    }

    decoder: Optional[str]  # noqa: UP045
    stages: Optional[int]  # noqa: UP045
    max_tokens: Optional[int]  # noqa: UP045

    OWN = ("spans_key",)

    def __init__(self, name: str = "", *, spans_key: str = DEFAULT_KEY, **settings: Any):
        if not isinstance(spans_key, str) or not spans_key:
            raise ConfigError(
                f"{name or self.factory}: spans_key = {spans_key!r}; it is a non-empty string, a key of doc.spans"
            )
        self.spans_key = spans_key
        super().__init__(name, **settings)

    @staticmethod
    def read_parser(source: Path | bytes) -> Any:
        """The dependency parser of a model file or of its bytes."""
        from ..parsers import load_dependency_parser

        return load_dependency_parser(source)

    @property
    def cfg(self) -> dict[str, Any]:
        """What `Pipe.score` hands to the scorer: nothing."""
        return {}

    def __call__(self, doc: Doc) -> Doc:
        """Parse `doc` and set heads and labels; on an error the Doc is left as it was."""
        parser = self.configured_parser
        sentences = self._read(doc, parser)
        heads, labels = np.zeros(len(doc), np.int64), [OTHER] * len(doc)
        if parser.needs_guide and any(s.words for s in sentences) and group_key(doc, self.spans_key) is None:
            raise MissingAnnotationError(
                f"{self.name}: its model is guided by constituents, and this Doc has none in doc.spans"
                f"[{self.spans_key!r}]. Put a constituent parser (such as span_parser) before {self.name!r} in the "
                "pipeline, set spans_key to the key that it writes, or give a model without a guide"
            )
        for sentence in sentences:
            self._parse(parser, sentence, self._guide(doc, parser, sentence), heads, labels)
        if len(doc):
            strings = doc.vocab.strings
            columns = np.empty((len(doc), 2), np.uint64)
            columns[:, 0] = heads.view(np.uint64)
            columns[:, 1] = [strings.add(label) for label in labels]
            doc.from_array([HEAD, DEP], columns)  # type: ignore[arg-type]
            _keep_boundaries(doc, [sentence.start for sentence in sentences])
        return doc

    def _guide(self, doc: Doc, parser: Any, sentence: WordColumns) -> tuple[tuple[int, ...], tuple[str, ...]]:
        """The heads and labels of a guide, where the model reads one."""
        if not parser.needs_guide or not sentence.words:
            return (), ()
        rules = head_rules(parser.meta.get("lang") or doc.lang_)
        return tree_guide(to_tree(doc[sentence.start : sentence.end], self.spans_key), rules)

    def _parse(
        self,
        parser: Any,
        sentence: WordColumns,
        guide: tuple[tuple[int, ...], tuple[str, ...]],
        heads: np.ndarray,
        labels: list[str],
    ) -> None:
        """Set the sentence's part of `heads`, relative as spaCy has them, and of `labels`."""
        from ..features.linear.linkparts import TokenColumns

        start, places = sentence.start, sentence.places
        if not places:  # white space only
            heads[start : sentence.end] = start - np.arange(start, sentence.end)
            labels[start] = ROOT
            return
        found = parser.parse(TokenColumns(sentence.words, sentence.tags, sentence.pos, sentence.lemmas, *guide))
        for place, head, label in zip(places, found.heads, found.labels or [OTHER] * len(places), strict=True):
            heads[place] = places[head] - place if head >= 0 else 0
            labels[place] = label if head >= 0 else ROOT
        words = set(places)
        before = places[0]
        for place in range(start, sentence.end):
            if place in words:
                before = place
            else:
                heads[place] = before - place

    def _read(self, doc: Doc, parser: Any) -> list[WordColumns]:
        """The sentences of a Doc. Raises MissingAnnotationError when no word has what the model reads."""
        attributes = _READ[parser.source] + (("lemma_",) if parser.needs_lemmas else ())
        missing, n_words, sentences = dict.fromkeys(attributes, 0), 0, []
        for start, end, tokens in visible_tokens(doc):
            n_words += len(tokens)
            read: dict[str, tuple[str, ...]] = {
                name: tuple(getattr(token, name) for token in tokens) for name in attributes
            }
            for name, column in read.items():
                missing[name] += column.count("")
            sentences.append(
                WordColumns(
                    start, end, tuple(plain_word(token.text) for token in tokens), read.get("tag_", ()),
                    read.get("pos_", ()), read.get("lemma_", ()), tuple(token.i for token in tokens),
                )
            )  # fmt: skip
        for name, times in missing.items():
            if n_words and times == n_words:
                raise MissingAnnotationError(
                    f"{self.name} needs token.{name}, and none of the {n_words} words of this Doc has it. Put a "
                    f"component that sets it (such as a {_SETTERS[name]}) before {self.name!r} in the pipeline, or set "
                    "it yourself"
                )
            if times:
                self._warn_once(
                    name,
                    f"{self.name}: {times} words of a Doc have no token.{name}; they are parsed as unknown. Check the "
                    "component before it that sets it",
                )
        if sentences and not has_boundaries(doc):
            self._warn_once(
                "sentences",
                f"{self.name}: a Doc has no sentence boundaries and is parsed as one sentence. Put a component that "
                "sets them (senter, sentencizer) before it",
            )
        return sentences


def _keep_boundaries(doc: Doc, starts: list[int]) -> None:
    """Mark sentence starts again where spaCy found others.

    It takes them from the left edges of trees, and gives up on the edges of trees with many links across one another.
    """
    flags = np.full(len(doc), -1, np.int64)
    flags[starts] = 1
    if not np.array_equal(doc.to_array([SENT_START]).reshape(-1).astype(np.int64), flags):
        doc.from_array([SENT_START], flags.view(np.uint64).reshape(-1, 1))  # type: ignore[arg-type]


_SETTERS = {"tag_": "tagger", "pos_": "morphologizer", "lemma_": "lemmatizer"}


@Language.factory(
    "bpm_parser",
    assigns=["token.dep", "token.head", "token.is_sent_start", "doc.sents"],
    default_config={
        "model": None,
        **dict.fromkeys(BpmParser.SETTINGS),
        "spans_key": DEFAULT_KEY,
        "scorer": {"@scorers": "spacy.parser_scorer.v1"},
    },
    default_score_weights=SCORE_WEIGHTS,
)
def make_bpm_parser(
    nlp: Language,
    name: str,
    model: Optional[Union[str, Path]],  # noqa: UP007, UP045
    decoder: Optional[str],  # noqa: UP045
    stages: Optional[int],  # noqa: UP045
    max_tokens: Optional[int],  # noqa: UP045
    spans_key: str,
    scorer: Optional[Callable],  # noqa: UP045
) -> BpmParser:
    """Build the component for `nlp.add_pipe("bpm_parser", config={…})`.

    `model`: None for the embedded English model (loaded at the first Doc), or the path of a model file or of a folder
    with one. A path is read at once; where it is gone the component waits for its data from disk and says so.
    `decoder`: "projective" (Eisner 1996) or "spanning" (Chu & Liu 1965, Edmonds 1967). `stages`: how many of the
    model's stages are run; 1 is the parser of the paper. `max_tokens`: longer sentences are parsed in pieces. None for
    any of these is the model's own setting. `spans_key`: where the constituents are that guide a model trained with
    such a guide. Raises ConfigError for a value that is not allowed.
    """
    component = BpmParser(
        name, model=model, scorer=scorer, decoder=decoder, stages=stages, max_tokens=max_tokens,
        spans_key=spans_key,
    )
    component.attach(nlp)
    return component
