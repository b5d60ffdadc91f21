"""The spaCy component `bpm_parser`: words and tags in, `token.head`, `token.dep_` and sentence roots out."""

from typing import Any

import numpy as np
from spacy.attrs import DEP, HEAD, SENT_START
from spacy.tokens import Doc, Span, Token

from ..parsers.settings import DependencySettings
from ..trees.heads import head_rules, tree_guide
from .attributes import to_tree
from .constituents import DEFAULT_KEY, group_key
from .model_pipe import KEY, ModelPipe, factory_of
from .sentences import MissingAnnotationError, plain_word, visible_tokens

ROOT = "ROOT"
"""`token.dep_` of a sentence's root, as everywhere in spaCy."""
OTHER = "dep"
"""`token.dep_` of white space, and of all links where a model has no labels."""
_READ = {"tag": ("tag_",), "pos": ("pos_",), "pos+tag": ("tag_", "pos_")}
_SETTERS = {"tag_": "tagger", "pos_": "morphologizer", "lemma_": "lemmatizer"}


class BpmParser(ModelPipe):
    """Dependency parsing with linear models of links.

    `decoder`: "projective" (Eisner 1996) or "spanning" (Chu & Liu 1965, Edmonds 1967). `stages`: how many of the
    model's stages are run; 1 is the parser of the paper. `max_tokens`: longer sentences are parsed in pieces.

    Reads tags as the model says (`token.tag_`, `token.pos_` or both, and `token.lemma_` for one trained with lemmas)
    and sentence boundaries, and writes a tree for each sentence: one root, every other token on or below it. White
    space is not shown to the parser and depends on the word before it. A Doc without boundaries is taken as one
    sentence, and one with some of its tags missing is parsed, with a warning once each; a Doc without any tags raises
    MissingAnnotationError, which goes to nlp's error handler. On an error a Doc is left as it was. A model whose guide
    are constituents (as the embedded one) needs them in `doc.spans[spans_key]`, where a constituent parser puts them.
    """

    factory = "bpm_parser"
    EMBEDDED = "en_bpm"
    LOADER = "load_dependency_parser"
    SPLITTERS = "senter, sentencizer"
    SETTINGS = {  # noqa: RUF012 (never changed)
        name: setting for name, setting in DependencySettings.ALLOWED.items() if name != "heads"
    }
    OWN = {"spans_key": (DEFAULT_KEY, KEY)}  # noqa: RUF012 (never changed)

    @property
    def cfg(self) -> dict[str, Any]:
        """What `Pipe.score` hands to the scorer: nothing."""
        return {}

    def __call__(self, doc: Doc) -> Doc:
        """Parse `doc` and set heads and labels; on an error the Doc is left as it was."""
        parser = self.configured_parser
        sentences = list(visible_tokens(doc))
        read = _READ[parser.source] + (("lemma_",) if parser.needs_lemmas else ())
        words = [token for _, _, tokens in sentences for token in tokens]
        for attribute in read:
            self._expect(attribute, words)
        self._expect_boundaries(doc)
        heads, labels = np.zeros(len(doc), np.int64), [OTHER] * len(doc)
        if parser.needs_guide and words and group_key(doc, self.spans_key) is None:
            raise MissingAnnotationError(
                f"{self.name}: its model is guided by constituents, and this Doc has none in doc.spans"
                f"[{self.spans_key!r}]. Put a constituent parser (such as span_parser) before {self.name!r} in the "
                "pipeline, set spans_key to the key that it writes, or give a model without a guide"
            )
        for start, end, tokens in sentences:
            if tokens:
                _attach(self._links(parser, read, doc[start:end], tokens), start, end, tokens, heads, labels)
            else:  # white space only
                heads[start:end] = start - np.arange(start, end)
                labels[start] = ROOT
        if len(doc):
            strings = doc.vocab.strings
            columns = np.empty((len(doc), 2), np.uint64)
            columns[:, 0] = heads.view(np.uint64)
            columns[:, 1] = [strings.add(label) for label in labels]
            doc.from_array([HEAD, DEP], columns)  # type: ignore[arg-type]
            _keep_boundaries(doc, [start for start, _, _ in sentences])
        return doc

    def _expect(self, attribute: str, words: list[Token]) -> None:
        """Warn of words that lack what the model reads. Raises MissingAnnotationError when all of them do."""
        missing = sum(not getattr(token, attribute) for token in words)
        if words and missing == len(words):
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

    def _links(self, parser: Any, read: tuple[str, ...], sentence: Span, tokens: list[Token]) -> Any:
        """The parse of a sentence, of whose visible `tokens` the parser reads the attributes `read`."""
        from ..features.linear.linkparts import TokenColumns

        words = tuple(plain_word(token.text) for token in tokens)
        tags, pos, lemmas = (tuple(getattr(t, name) for t in tokens) if name in read else () for name in _SETTERS)
        guide: tuple[tuple[int, ...], tuple[str, ...]] = (), ()
        if parser.needs_guide:
            rules = head_rules(parser.meta.get("lang") or sentence.doc.lang_)
            guide = tree_guide(to_tree(sentence, self.spans_key), rules)
        return parser.parse(TokenColumns(words, tags, pos, lemmas, *guide))


def _attach(parse: Any, start: int, end: int, tokens: list[Token], heads: np.ndarray, labels: list[str]) -> None:
    """Set the part of a sentence [start, end) in `heads`, relative as spaCy has them, and `labels`; white space depends
    on the word before it."""
    places = [token.i for token in tokens]
    before = np.clip(np.searchsorted(places, np.arange(start, end), "right") - 1, 0, None)  # the word before a token
    heads[start:end] = np.array(places)[before] - np.arange(start, end)
    for place, head, label in zip(places, parse.heads, parse.labels or [OTHER] * len(places), strict=True):
        heads[place] = places[head] - place if head >= 0 else 0
        labels[place] = label if head >= 0 else ROOT


def _keep_boundaries(doc: Doc, starts: list[int]) -> None:
    """Mark sentence starts again where spaCy found others.

    It takes them from the left edges of trees, and gives up on the edges of trees with many links across one another.
    """
    flags = np.full(len(doc), -1, np.int64)
    flags[starts] = 1
    if not np.array_equal(doc.to_array([SENT_START]).reshape(-1).astype(np.int64), flags):
        doc.from_array([SENT_START], flags.view(np.uint64).reshape(-1, 1))  # type: ignore[arg-type]


make_bpm_parser = factory_of(
    BpmParser,
    "spacy.parser_scorer.v1",
    assigns=["token.dep", "token.head", "token.is_sent_start", "doc.sents"],
    default_score_weights={
        "dep_uas": 0.5,
        "dep_las": 0.5,
        **dict.fromkeys(("dep_las_per_type", "sents_p", "sents_r", "sents_f")),
    },
)
