"""The spaCy component `dependency_phrases`: a dependency parse in, constituents out, by rule, without a model.

spaCy imports this module in every spacy.blank() and spacy.load() of the environment, so it must stay light. (No `from
__future__ import annotations` here: spaCy reads the annotations of factories.)
"""
# ruff: noqa: UP007, UP045 (older releases of spaCy do not support X | None)

import weakref
from collections.abc import Callable, Iterable, Sequence
from math import nan
from pathlib import Path
from typing import Any, ClassVar, Optional, Union

import numpy as np
from spacy.attrs import DEP, HEAD, MORPH, POS, TAG
from spacy.language import Language
from spacy.pipeline.pipe import Pipe
from spacy.tokens import Doc
from spacy.vocab import Vocab

from ..checks import Setting, one_of
from ..core.parser import ParseResult
from ..errors import ConfigError, MissingAnnotationError
from ..pipeline.constituent_group import raw_attrs
from ..pipeline.constituent_pipe import FACTORY_METADATA, SCORER
from ..pipeline.constituents import DEFAULT_KEY
from ..pipeline.extensions import register_extensions
from ..pipeline.model_pipe import KEY
from ..pipeline.phrases import CHUNK_SOURCES, set_noun_chunks_source
from ..pipeline.provenance import add_requirement
from ..pipeline.scorer import parseval_score
from ..pipeline.sentences import UNIVERSAL_TAGS, WordPositions, attribute_texts, read_words
from ..pipeline.settings import change_config
from ..pipeline.shared_keys import ASSIGNED, warn_of_shared_key
from ..pipeline.writing import ParsedSentence, write_constituents
from ..trees.tree import TOP, Tree
from ..trees.universal import part_of_speech
from .profile import PROFILES, load_profile
from .schemes import CLEARNLP, SCHEMES, find_scheme, tag_features, to_universal

FACTORY = "dependency_phrases"
_IN_EVERY_SCHEME = frozenset(("", "root", "dep"))
"""Labels of every parser, listed or not."""
_SETTINGS: dict[str, tuple[Any, Setting]] = {
    "spans_key": (DEFAULT_KEY, KEY),
    "profile": (PROFILES[0], one_of(*PROFILES)),
    "scheme": (SCHEMES[0], one_of(*SCHEMES)),
    "noun_chunks": (CHUNK_SOURCES[0], one_of(*CHUNK_SOURCES)),
}


class DependencyPhrases(Pipe):
    """Constituents from the dependencies of a Doc, by rule.

    `spans_key`: key of the result in `doc.spans`. `profile`: "universal", or "penn" for trees in the style of the Penn
    Treebank (English). `scheme`: the dependency labels, "universal" or "clearnlp" (spaCy's English pipelines); "auto":
    the scheme that the labels of the pipeline's parser and of the Doc show. `noun_chunks`: the source of
    `doc.noun_chunks`, as in the constituency parsers.

    Reads `token.head`, `token.dep_`, `token.pos_`, `token.morph` (if all are empty, the features in tags such as
    VERB.Fin) and sentence boundaries; writes `doc.spans[spans_key]` and nothing else. White space is in no constituent
    unless words on both sides are. Raises MissingAnnotationError for a Doc without dependencies or parts of speech,
    ConfigError for labels of another scheme; then the Doc is left as it was.
    """

    SETTINGS: ClassVar[dict[str, Setting]] = {}
    COMPONENT_SETTINGS: ClassVar[dict[str, tuple[Any, Setting]]] = _SETTINGS

    def __init__(self, name: str = FACTORY, *, scorer: Optional[Callable] = parseval_score, **settings: Any):
        self.name, self.scorer = name, scorer
        self._nlp: Optional[weakref.ref[Language]] = None
        self.lang = ""
        self._stored_labels: tuple[str, ...] = ()  # of a pickled component, which has no pipeline
        for key, (default, _) in _SETTINGS.items():
            setattr(self, key, settings.pop(key, default))
        if settings:
            raise ConfigError(f"{name}: no setting {', '.join(sorted(settings))}; allowed are {', '.join(_SETTINGS)}")
        register_extensions()

    lang: str
    """The language of the pipeline, for the words of the profile."""
    spans_key: str
    profile: str
    scheme: str
    noun_chunks: str

    def __setattr__(self, name: str, value: Any) -> None:
        """Set an attribute. A setting is saved with the pipeline. Raises ConfigError for a value that is not allowed;
        then nothing changes."""
        if name in _SETTINGS and not (allowed := _SETTINGS[name][1]).fits(value):
            raise ConfigError(f"{self.name}: {name} = {value!r}; allowed is {allowed.allowed}")
        super().__setattr__(name, value)
        if name in _SETTINGS:
            change_config(self._nlp, self, name, value)

    @property
    def cfg(self) -> dict[str, Any]:
        """The keyword arguments that `Pipe.score` passes to the scorer."""
        return {"spans_key": self.spans_key}

    def __call__(self, doc: Doc) -> Doc:
        """Set the constituents of `doc`."""
        words, sentences = read_words(doc)
        n_words = sum(len(sentence.positions) for sentence in sentences)
        columns = self._read_columns(doc, words, n_words)
        penn = self.profile != PROFILES[0]
        results = [self._convert(words, columns, sentence) for sentence in sentences]
        parsed = [
            ParsedSentence(*sentence, None if result is None else result[0])
            for sentence, result in zip(sentences, results, strict=True)
        ]
        rules = "en" if penn else "universal"
        write_constituents(doc, parsed, self.spans_key, FACTORY, rules, self.noun_chunks)
        attrs = raw_attrs(doc.spans[self.spans_key])
        if not penn:
            attrs[UNIVERSAL_TAGS] = True
        for info, result in zip(attrs["sentences"], results, strict=True):
            if result is not None:
                info.update(lifted=result[1], repaired=result[2])
        set_noun_chunks_source(doc.vocab, doc, self.noun_chunks)
        return doc

    def _read_columns(self, doc: Doc, words: Sequence[str], n_words: int) -> tuple[list, list, list, list, str]:
        """The part of speech, features, head (in the Doc) and label of each token, and the scheme of the labels."""
        pos, labels = attribute_texts(doc, POS), attribute_texts(doc, DEP)
        if n_words and not any(label for label, word in zip(labels, words, strict=True) if word):
            raise MissingAnnotationError(
                f"{self.name} needs dependencies (token.head, token.dep_), and this Doc has none. Put a dependency "
                "parser before it in the pipeline, or use the Docs of a pipeline that has one"
            )
        if n_words and not any(pos):
            pos = [part_of_speech(token.lower_, token.tag_) for token in doc]
            for token, part in zip(doc, pos, strict=True):
                token.pos_ = part  # the tags of the trees
        if n_words and not any(pos):
            raise MissingAnnotationError(
                f"{self.name} needs universal parts of speech (token.pos_), and none of the {n_words} words of this "
                "Doc has one. Put a morphologizer or an attribute_ruler before it in the pipeline"
            )
        offsets = doc.to_array(HEAD).reshape(-1).astype(np.int64)
        heads = (offsets + np.arange(len(doc))).tolist()
        features = attribute_texts(doc, MORPH)
        if not any(features):
            features = [tag_features(tag) for tag in attribute_texts(doc, TAG)]
        return pos, features, heads, labels, self._find_scheme(labels, n_words, doc.vocab)

    def _find_scheme(self, labels: Sequence[str], n_words: int, vocab: Vocab) -> str:
        if self.scheme != SCHEMES[0] or not n_words:
            return self.scheme
        seen = {label.lower() for label in labels} - _IN_EVERY_SCHEME
        known = {label.lower() for label in self._parser_labels(vocab)}
        try:
            return find_scheme(seen | known if seen <= known else seen)  # other labels: the Doc is of another parser
        except ConfigError as error:
            raise ConfigError(f"{self.name}: {error}") from None

    def _parser_labels(self, vocab: Optional[Vocab] = None) -> tuple[str, ...]:
        """The labels of the pipeline's dependency parser; () for Docs of another `vocab`, since spaCy lets a second
        pipeline share the component of the first (`source=`)."""
        nlp = self._nlp() if self._nlp is not None else None
        if nlp is None:
            return self._stored_labels
        if vocab is not None and vocab is not nlp.vocab:
            return ()
        for _, pipe in reversed(nlp.pipeline):
            if hasattr(pipe, "moves"):  # spaCy's parser
                return tuple(label for label in getattr(pipe, "labels", ()) if label == label.lower())
        return ()

    def _convert(
        self, words: Sequence[str], columns: tuple, sentence: WordPositions
    ) -> Optional[tuple[ParseResult, int, int]]:
        """The parse of a sentence, and the numbers of lifted arcs and of repaired heads; None without words."""
        positions = sentence.positions
        if not positions:
            return None
        from .rules import find_phrases  # at the first Doc

        all_pos, all_features, all_heads, all_labels, scheme = columns
        pos = [all_pos[i] for i in positions]
        index = {i: k for k, i in enumerate(positions)}
        heads = []
        above_space: dict[int, int] = {}
        for i in positions:
            above, passed = all_heads[i], set()
            while above not in index and sentence.start <= above < sentence.end and above not in passed:
                passed.add(above)  # white space
                above = above_space.get(above, all_heads[above])
            above_space.update(dict.fromkeys(passed, above))
            heads.append(-1 if above == i else index.get(above, -1))
        heads, relations = to_universal(scheme, pos, heads, [all_labels[i] for i in positions])
        features = [all_features[i] for i in positions]
        profile = load_profile(self.profile, self.lang, scheme == CLEARNLP)
        texts = [words[i] for i in positions]
        found = find_phrases(texts, pos, features, heads, relations, profile)
        spans = [(0, len(texts), TOP), *found.spans]
        tree = Tree.unchecked(
            texts, pos, [label for *_, label in spans], [start for start, *_ in spans], [end for _, end, _ in spans]
        )
        result = ParseResult(tree, (nan,) * len(spans), nan, "complete")
        return result, found.lifted, found.repaired

    def __reduce__(self) -> tuple:
        settings = {key: getattr(self, key) for key in _SETTINGS}
        return _restore, (self.name, self.scorer, self.lang, settings, self._parser_labels())

    def to_bytes(self, *, exclude: Iterable[str] = ()) -> bytes:
        """Nothing: the settings are in the pipeline's config."""
        return b""

    def from_bytes(self, data: bytes, *, exclude: Iterable[str] = ()) -> "DependencyPhrases":
        """See `to_bytes`."""
        return self

    def to_disk(self, path: Union[str, Path], *, exclude: Iterable[str] = ()) -> None:
        """Write nothing: the settings are in the pipeline's config."""

    def from_disk(self, path: Union[str, Path], *, exclude: Iterable[str] = ()) -> "DependencyPhrases":
        """See `to_disk`."""
        return self


def _restore(
    name: str, scorer: Any, lang: str, settings: dict[str, Any], parser_labels: tuple[str, ...]
) -> DependencyPhrases:
    component = DependencyPhrases(name, scorer=scorer, **settings)
    component.lang, component._stored_labels = lang, parser_labels
    return component


_METADATA = {**FACTORY_METADATA, "assigns": ["doc.spans", ASSIGNED, "span._.labels", "span._.parse_string"]}


@Language.factory(
    FACTORY,
    requires=["token.dep", "token.head", "token.pos"],
    default_config={**{key: default for key, (default, _) in _SETTINGS.items()}, "scorer": {"@scorers": SCORER}},
    **_METADATA,
)
def make_dependency_phrases(
    nlp: Language, name: str, spans_key: str, profile: str, scheme: str, noun_chunks: str, scorer: Optional[Callable]
) -> DependencyPhrases:
    """Return the component `dependency_phrases` for a pipeline."""
    component = DependencyPhrases(
        name, scorer=scorer, spans_key=spans_key, profile=profile, scheme=scheme, noun_chunks=noun_chunks
    )
    component._nlp, component.lang = weakref.ref(nlp), nlp.lang or ""
    set_noun_chunks_source(nlp.vocab, source=noun_chunks)
    warn_of_shared_key(component, nlp)
    add_requirement(nlp)
    return component
