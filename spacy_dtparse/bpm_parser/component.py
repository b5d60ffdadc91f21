"""The spaCy component `bpm_parser`: words and tags in, `token.head`, `token.dep_` and sentence roots out."""

import time
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from spacy.attrs import LEMMA, POS, TAG
from spacy.language import Language
from spacy.tokens import Doc

from ..core.parser import UNKNOWN_TAG
from ..core.settings import DependencySettings
from ..errors import MissingAnnotationError
from ..pipeline.batch_pipe import DEADLINE, THREADS, BatchPipe
from ..pipeline.constituents import DEFAULT_KEY, group_key, read_constituents, read_spans, tree_of
from ..pipeline.dependencies import write_dependencies
from ..pipeline.factories import factory_of
from ..pipeline.model_pipe import KEY
from ..pipeline.phrases import mark_package_dependencies
from ..pipeline.sentences import WordPositions, attribute_texts, read_words
from ..trees.heads import head_rules, tree_guide

DEADLINE_EXCEEDED = "bpm_parser.deadline_exceeded"
"""Key of `doc.user_data`: [start, end] of each sentence whose parse was shortened by the deadline."""
_SOURCES = {"tag": ("tag_",), "pos": ("pos_",), "pos+tag": ("tag_", "pos_")}
_SETTERS = {"tag_": "tagger", "pos_": "morphologizer", "lemma_": "lemmatizer"}
_ATTRIBUTES = {"tag_": TAG, "pos_": POS, "lemma_": LEMMA}


class DependencyInput(NamedTuple):
    """The parser's input for a Doc: its sentences, each sentence's `TokenColumns` (None without words), and the seconds
    spent on reading per token."""

    sentences: Sequence[WordPositions]
    columns: Sequence[Any]
    seconds: float


class BpmParser(BatchPipe):
    """Dependency parsing with linear models of dependencies.

    `decoder`: "projective" (Eisner 1996) or "spanning" (Chu & Liu 1965, Edmonds 1967). `stages`: number of the model's
    stages to run; 1 is the parser of the paper. `max_tokens`: longer sentences are parsed in pieces. `threads`,
    `deadline`: see `BatchPipe`; sentences that exceeded the deadline are in `doc.user_data[DEADLINE_EXCEEDED]`.

    Reads the tags that the model needs (`token.tag_`, `token.pos_` or both, and `token.lemma_` for a model trained with
    lemmas) and sentence boundaries, and writes a tree for each sentence: one root, every other token on or below it.
    White space is not passed to the parser and depends on the word before it. A Doc without boundaries is parsed as one
    sentence, and a Doc with some tags missing is parsed, with a warning once each; a Doc without any tags raises
    MissingAnnotationError, which goes to nlp's error handler. On an error a Doc is left as it was. A model that is
    guided by constituents (as the embedded one) needs them in `doc.spans[spans_key]`, written by a constituent parser.
    """

    factory = "bpm_parser"
    EMBEDDED = "en_bpm"
    LOADER = "load_dependency_parser"
    SENTENCE_SETTERS = "senter, sentencizer"
    SETTINGS = {  # noqa: RUF012 (never changed)
        name: setting for name, setting in DependencySettings.ALLOWED.items() if name != "heads"
    }
    COMPONENT_SETTINGS = {"spans_key": (DEFAULT_KEY, KEY), "threads": THREADS, "deadline": DEADLINE}  # noqa: RUF012 (never changed)

    @property
    def cfg(self) -> dict[str, Any]:
        """The keyword arguments that `Pipe.score` passes to the scorer: none."""
        return {}

    def on_add(self, nlp: Language) -> None:
        """Record that the dependencies of this vocabulary's Docs are not those that spaCy's noun chunks expect."""
        mark_package_dependencies(nlp.vocab)

    def read_doc(self, doc: Doc) -> DependencyInput:
        """Return the sentences of a Doc as columns for the parser, with the heads and labels of the guiding trees if
        needed."""
        from .features import TokenColumns

        parser = self.configured_parser
        start_time = time.perf_counter()
        words, sentences = read_words(doc)
        names = _SOURCES[parser.source] + (("lemma_",) if parser.needs_lemmas else ())
        values = {name: attribute_texts(doc, _ATTRIBUTES[name]) for name in names}
        for name in names:
            self._check_values(name, words, values[name])
        self._check_boundaries(doc)
        guide: tuple[list[int], list[str]] = ([], [])
        if self._is_guided(doc, words, parser):
            leaf_tags = values.get("tag_") or attribute_texts(doc, TAG)
            if "" in leaf_tags:
                leaf_tags = [tag or UNKNOWN_TAG for tag in leaf_tags]
            rules = _text_guide(parser.meta.get("lang") or doc.lang_)
            guide = read_guide(doc, self.spans_key, words, sentences, leaf_tags, rules)
        tags, pos, lemmas = (values.get(name, []) for name in _SETTERS)
        doc_columns = (words, tags, pos, lemmas, *guide)
        columns = [
            TokenColumns(*(_sentence_values(column, positions) for column in doc_columns)) if positions else None
            for _, _, positions in sentences
        ]
        return DependencyInput(sentences, columns, (time.perf_counter() - start_time) / max(len(doc), 1))

    def predict(self, inputs: Sequence[DependencyInput]) -> list[list[Any]]:
        """Return the tree of each sentence of the Docs, None for a sentence without words."""
        parser, timed = self.timed_parser, self.timed is not None

        def parse(columns: Any, seconds: float) -> Any:
            return parser.parse(columns, seconds * len(columns.words)) if timed else parser.parse(columns)

        return [
            [
                None if columns_of_sentence is None else parse(columns_of_sentence, one.seconds)
                for columns_of_sentence in one.columns
            ]
            for one in inputs
        ]

    def set_parser(self, parser: Any) -> None:
        super().set_parser(parser)
        self.timed = None
        if self.deadline is not None:
            from .deadline import DependencyDeadline  # numba

            self.timed = DependencyDeadline(self.configured_parser, self.deadline)

    def set_annotations(self, doc: Doc, parser_input: DependencyInput, parses_of_doc: Sequence[Any]) -> None:
        """Set heads and labels; white space depends on the word before it."""
        mark_package_dependencies(doc.vocab, doc)
        if not len(doc):
            return
        write_dependencies(doc, parser_input.sentences, parses_of_doc)
        parses = zip(parser_input.sentences, parses_of_doc, strict=True)
        exceeded = [[sentence.start, sentence.end] for sentence, parse in parses if parse and parse.deadline_exceeded]
        if exceeded:
            doc.user_data[DEADLINE_EXCEEDED] = exceeded
        else:
            doc.user_data.pop(DEADLINE_EXCEEDED, None)

    def _check_values(self, attribute: str, words: Sequence[str], values: Sequence[str]) -> None:
        """Warn of words ("" is none) without a value that the model needs. Raises MissingAnnotationError if all words
        lack it."""
        if "" not in values:
            return
        n_words = len(words) - words.count("")
        missing = sum(word != "" and value == "" for word, value in zip(words, values, strict=True))
        if n_words and missing == n_words:
            raise MissingAnnotationError(
                f"{self.name} needs token.{attribute}, and none of the {missing} words of this Doc has it. Put a "
                f"component that sets it (such as a {_SETTERS[attribute]}) before {self.name!r} in the pipeline, or "
                "set it yourself"
            )
        if missing:
            self._warn_once(
                attribute,
                f"{self.name}: {missing} words of a Doc have no token.{attribute}; they are parsed as unknown. Check "
                "the component before it that sets it",
            )

    def _is_guided(self, doc: Doc, words: Sequence[str], parser: Any) -> bool:
        """Whether the parser needs the Doc's constituents. Raises MissingAnnotationError if it does and the Doc has
        none."""
        if not parser.needs_guide or not any(words):
            return False
        if group_key(doc, self.spans_key) is None:
            raise MissingAnnotationError(
                f"{self.name}: its model is guided by constituents, and this Doc has none in doc.spans"
                f"[{self.spans_key!r}]. Put a constituent parser (such as span_parser) before {self.name!r} in the "
                "pipeline, set spans_key to the key that it writes, or give a model without a guide"
            )
        return True


def read_guide(
    doc: Doc, key: str, words: Sequence[str], sentences: Sequence[WordPositions], tags: Sequence[str], guide: Any
) -> tuple[list[int], list[str]]:
    """`tree_guide` of the trees of a Doc's sentences, by a `TextGuide`: heads, as indices among the words of the
    sentence, and labels, for each token; for white space they are meaningless.

    `words`: one per token, "" for white space. `tags`: one per token. Raises as `read_constituents` and `tree_of` do.
    """
    starts, ends, label_ids, names, _ = read_spans(doc, key)
    visible = np.array(list(map(bool, words))) if "" in words else np.ones(len(words), np.bool_)
    bounds = [(start, end) for start, end, _ in sentences]
    links = guide.links(starts, ends, label_ids, names, tags, bounds, visible)
    if links is not None:
        return links
    constituents = read_constituents(doc, key)  # raises, or some constituents cover several sentences
    heads, labels = [0] * len(words), [""] * len(words)
    for _, _, positions in sentences:
        if positions:
            tree = tree_of(
                constituents, positions, _sentence_values(words, positions), _sentence_values(tags, positions)
            )
            for i, head, label in zip(positions, *tree_guide(tree, guide.rules), strict=True):
                heads[i], labels[i] = head, label
    return heads, labels


@lru_cache(maxsize=16)
def _text_guide(language: str) -> Any:
    """The `TextGuide` of a language."""
    from ..trees.heads_compiled import TextGuide

    return TextGuide(head_rules(language))


def _sentence_values(column: Sequence[Any], positions: Sequence[int]) -> tuple[Any, ...]:
    """The values of a column at a sentence's positions, () for a column that was not read."""
    if isinstance(positions, range):
        return tuple(column[positions.start : positions.stop])
    return tuple([column[i] for i in positions]) if column else ()


make_bpm_parser = factory_of(
    BpmParser,
    "spacy.parser_scorer.v1",
    requires=["token.is_sent_start"],
    assigns=["token.dep", "token.head", "token.is_sent_start", "doc.sents"],
    default_score_weights={
        "dep_uas": 0.5,
        "dep_las": 0.5,
        **dict.fromkeys(("dep_las_per_type", "sents_p", "sents_r", "sents_f")),
    },
)
