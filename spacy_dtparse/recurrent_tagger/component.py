"""The spaCy component `recurrent_tagger`: tokens in, `token.tag_`, `token.pos_` and sentence starts out.

(No `from __future__ import annotations` here: spaCy reads the annotations of registered functions.)
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import repeat
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from spacy.attrs import POS, SENT_START, SPACY, TAG
from spacy.language import Language
from spacy.parts_of_speech import IDS
from spacy.scorer import Scorer
from spacy.strings import get_string_id
from spacy.tokens import Doc, Token
from spacy.training import Example
from spacy.util import registry

from ..checks import boolean
from ..core.ambiguous_tags import AmbiguousTag
from ..core.settings import RecurrentTaggerSettings
from ..errors import ModelFormatError
from ..models import embedded_tagger
from ..pipeline import layout
from ..pipeline.batches import batches
from ..pipeline.factories import factory_of
from ..pipeline.model_pipe import ModelPipe
from ..pipeline.second_tags import character_offsets, read_ambiguous_tags, token_second_tag, write_ambiguous_tags
from ..pipeline.sentences import token_texts
from ..trees.universal import PARTS_OF_SPEECH, WORDS, universal_part

if TYPE_CHECKING:
    from .tagger import TaggerOutput

_POS = {get_string_id(tag): IDS[pos] for tag, pos in PARTS_OF_SPEECH.items()}
_POS_OF_WORDS = {
    word: {get_string_id(tag): IDS[pos] for tag, pos in of_tags.items()} for word, of_tags in WORDS.items()
}
"""Maps from the hashes of tags to spaCy's ids of parts of speech, in general and for some words."""

_STARTS, _NO_START = np.array([1, -1]).astype(np.uint64)
"""spaCy's values for a token that starts a sentence and for one that does not."""

SCORE_WEIGHTS = {"tag_acc": 0.5, "sents_f": 0.5, "sents_p": None, "sents_r": None}


@registry.scorers("spacy_dtparse.tag_scorer.v1")
def make_tag_scorer() -> Callable:
    """The function `tag_score`, for the setting `scorer` of the component."""
    return tag_score


def tag_score(examples: Iterable[Example], **_: Any) -> dict[str, Any]:
    """`tag_acc`, the fraction of correct tags, and `sents_p`, `sents_r`, `sents_f` of sentences, in the format of
    spaCy's components."""
    examples = list(examples)
    sents = Scorer.score_spans(
        examples, "sents", has_annotation=lambda doc: doc.has_annotation("SENT_START"), getter=lambda doc, _: doc.sents
    )
    return {**Scorer.score_token_attr(examples, "tag"), **{k: v for k, v in sents.items() if k in SCORE_WEIGHTS}}


class RecurrentTaggerPipe(ModelPipe):
    """Tags and sentence starts by simple recurrent units that process the whole Doc in both directions.

    `max_tokens`: a longer Doc is processed in pieces (see `core.settings.RecurrentTaggerSettings`). `overwrite`:
    whether to replace existing tags and sentence starts; false: only missing ones are set. `sentences`: whether to set
    sentence starts at all. `pos`: whether to set `token.pos_` as well, from the tags by `trees.universal`, if the model
    is English or its tags begin with universal parts of speech (VERB.Fin).

    Also sets `token._.second_tag`: the second-best tag if it is at least a tenth as probable as the best one, else "".
    Reads tokens only. White space never starts a sentence. In lists, schedules, logs and other lines the layout of the
    text counts as well (see `layout`).
    """

    factory = "recurrent_tagger"
    LOADER = "load_tagger"
    PAST_VERB = "tagged"
    SETTINGS = RecurrentTaggerSettings.ALLOWED
    COMPONENT_SETTINGS = {  # noqa: RUF012 (never changed)
        "overwrite": (False, boolean()),
        "sentences": (True, boolean()),
        "pos": (True, boolean()),
    }

    _language: str | None = "en"
    overwrite: bool
    sentences: bool
    pos: bool

    def __init__(self, name: str = "", *, scorer: Callable | None = tag_score, **settings: Any):
        super().__init__(name, scorer=scorer, **settings)

    def prepare(self) -> None:
        """Register `token._.second_tag`."""
        if not Token.has_extension("second_tag"):
            Token.set_extension("second_tag", getter=token_second_tag)

    @property
    def cfg(self) -> dict[str, Any]:
        """The keyword arguments that `Pipe.score` passes to the scorer: none."""
        return {}

    @classmethod
    def default_model(cls) -> str:
        """The English tagger's model file."""
        return embedded_tagger()

    def on_add(self, nlp: Language) -> None:
        """Note the language of `nlp`: the embedded model is English."""
        self._language = nlp.lang

    @property
    def parser(self) -> Any:
        """The tagger; loads it if necessary. Raises ModelFormatError if there is none for the language."""
        if self._loaded_parser is None and self._source is None and self._language != "en":
            raise ModelFormatError(
                f"recurrent_tagger has an embedded model for English ('en'), and none for {self._language!r}; name "
                "one, nlp.add_pipe('recurrent_tagger', config={'model': 'path/to/model'}), which `python -m training "
                "train-tagger` trains, or load a pipeline with it"
            )
        return super().parser

    def __call__(self, doc: Doc) -> Doc:
        """Tag `doc`; on an error the Doc is left as it was."""
        self._annotate([doc])
        return doc

    def pipe(self, stream: Iterable[Doc], *, batch_size: int = 128) -> Iterator[Doc]:
        """Tag a stream of Docs, some thousand tokens at a time. Only a Doc that raises goes to the error handler."""
        handle = self.get_error_handler()
        for docs in batches(stream, batch_size):
            try:
                self._annotate(docs)
                yield from docs
            except Exception:
                for doc in docs:
                    try:
                        self._annotate([doc])
                        yield doc
                    except Exception as error:
                        handle(self.name, self, [doc], error)

    def _annotate(self, docs: Sequence[Doc]) -> None:
        tagger = self.configured_parser
        wanted = [doc for doc in docs if len(doc) and self._needs_annotation(doc)]
        texts = [token_texts(doc) for doc in wanted]
        found = tagger.tag_texts(texts)
        is_universal = all(map(universal_part, tagger.names))
        with_pos = self.pos and (is_universal or tagger.meta.get("lang") == "en")
        for doc, doc_texts, one in zip(wanted, texts, found, strict=True):
            starts = self._sentence_starts(doc, doc_texts, tagger.names, one.tags, one.start_odds)
            self._set_annotations(
                doc, tagger.names, one, starts, (() if is_universal else doc_texts) if with_pos else None
            )
        for doc in docs if with_pos and len(wanted) < len(docs) else ():
            if len(doc) and not doc.has_annotation("POS", require_complete=True):
                pos = self._pos_ids(doc, doc.to_array(TAG).reshape(-1), () if is_universal else token_texts(doc))
                doc.from_array([POS], cast(Any, pos.reshape(-1, 1)))

    def _sentence_starts(
        self, doc: Doc, texts: Sequence[str], names: Sequence[str], tags: np.ndarray, odds: np.ndarray
    ) -> np.ndarray:
        """Whether a sentence begins at each token, bool (n,): by the log odds, and by the layout of lists and lines."""
        if not layout.may_change(texts, odds) or not self._sets_sentences(doc):
            return odds > 0
        spaces = doc.to_array(SPACY).reshape(-1) > 0
        names_here = [names[tag] for tag in tags.tolist()]
        return layout.sentence_starts(texts, names_here, odds, character_offsets(doc), spaces)

    def _needs_annotation(self, doc: Doc) -> bool:
        """Whether tags or sentence starts have to be set."""
        return self.overwrite or not doc.has_annotation("TAG", require_complete=True) or self._sets_sentences(doc)

    def _sets_sentences(self, doc: Doc) -> bool:
        """Whether sentence starts have to be set: not if dependency trees have set them."""
        if not self.sentences or doc.has_annotation("DEP"):
            return False
        return self.overwrite or not doc.has_annotation("SENT_START")

    def _pos_ids(self, doc: Doc, tags: np.ndarray, texts: Sequence[str]) -> np.ndarray:
        """The ids of the parts of speech for the hashes of tags, 0 for tags of another set; existing ones in the Doc
        are kept. `texts`: those of the tokens, () for tags that begin with universal parts of speech."""
        hashes = tags.tolist()
        of_tag: Any = _POS
        if not len(texts):
            parts = {tag: universal_part(doc.vocab.strings[tag]) for tag in set(hashes)}
            of_tag = {tag: IDS[part] for tag, part in parts.items() if part}
        pos_ids = np.fromiter(map(of_tag.get, hashes, repeat(0)), np.uint64, len(hashes))
        special = _POS_OF_WORDS
        for i in [i for i, text in enumerate(texts) if text in special]:
            pos_ids[i] = special[texts[i]].get(hashes[i], pos_ids[i])
        if not self.overwrite and doc.has_annotation("POS"):
            existing = doc.to_array(POS).reshape(-1)
            pos_ids = np.where(existing == 0, pos_ids, existing)
        return pos_ids

    def _set_annotations(
        self, doc: Doc, names: Sequence[str], found: "TaggerOutput", starts: np.ndarray, texts: Sequence[str] | None
    ) -> None:
        tags = found.tags
        hashes = np.zeros(len(names), dtype=np.uint64)
        add = doc.vocab.strings.add
        for tag_id in set(tags.tolist()):
            hashes[tag_id] = add(names[tag_id])
        tag_hashes, is_given = hashes[tags], None
        if not self.overwrite and doc.has_annotation("TAG"):
            existing = doc.to_array(TAG).reshape(-1)
            is_given = existing != 0
            tag_hashes = np.where(is_given, existing, tag_hashes)
        self._set_second_tags(doc, names, found, is_given)
        attributes, columns = [TAG], np.empty((len(tag_hashes), 3), dtype=np.uint64)
        columns[:, 0] = tag_hashes
        if self._sets_sentences(doc):
            columns[:, len(attributes)] = np.where(starts, _STARTS, _NO_START)
            attributes.append(SENT_START)
        if texts is not None:
            columns[:, len(attributes)] = self._pos_ids(doc, tag_hashes, texts)
            attributes.append(POS)
        doc.from_array(attributes, cast(Any, columns[:, : len(attributes)]))

    @staticmethod
    def _set_second_tags(doc: Doc, names: Sequence[str], found: "TaggerOutput", is_given: np.ndarray | None) -> None:
        """Store second-best tags; not for tags that were given, bool (n,), None: none was."""
        seconds = found.second_tags
        made: dict[int, AmbiguousTag] = {}
        if is_given is not None:
            made, seconds = read_ambiguous_tags(doc), np.where(is_given, -1, seconds)
        if seconds.max() >= 0:
            for i in np.flatnonzero(seconds >= 0).tolist():
                made[i] = AmbiguousTag(names[found.tags[i]], names[seconds[i]])
        if made or doc.user_data:
            write_ambiguous_tags(doc, made.items())


make_recurrent_tagger = factory_of(
    RecurrentTaggerPipe,
    "spacy_dtparse.tag_scorer.v1",
    assigns=["token.tag", "token.pos", "token.is_sent_start", "doc.sents"],
    default_score_weights=SCORE_WEIGHTS,
)
