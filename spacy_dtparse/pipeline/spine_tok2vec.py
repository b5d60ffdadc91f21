"""The spaCy component `spine_tok2vec`: what `spine_tagger` writes, by a network on spaCy's tok2vec that `spacy train`
trains.

spaCy imports this module in every spacy.blank() and spacy.load() of the environment, so it must stay light: it imports
nothing that spaCy has not loaded by then. (No `from __future__ import annotations` here: spaCy reads the annotations of
the factory and of `initialize`.)
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, List, Optional  # noqa: UP035 (spaCy resolves them)

import numpy as np
from spacy.errors import Errors
from spacy.language import Language
from spacy.pipeline.tagger import DEFAULT_TAGGER_MODEL
from spacy.pipeline.trainable_pipe import TrainablePipe
from spacy.tokens import Doc, Token
from spacy.training import Example, validate_examples, validate_get_examples
from spacy.util import minibatch
from spacy.vocab import Vocab
from thinc.api import Model, SequenceCategoricalCrossentropy
from thinc.types import Floats2d

from ..errors import ConfigError, ModelFormatError, TrainingDataError
from .extensions import register_extensions
from .sentences import is_blank
from .spine_scorer import SCORE_WEIGHTS, spine_score
from .spines import SPINES_KEY, Offer, check_offering, write_spines

FACTORY = "spine_tok2vec"


def multitags(chances: np.ndarray, labels: Sequence[str], beta: float) -> Sequence[Offer]:
    """For each row of `chances` (float, words × labels) the labels that have at least `beta` times the greatest one,
    best first, equal ones in the order of `labels`."""
    kept = chances >= beta * chances.max(axis=1, keepdims=True)
    rows, columns = np.nonzero(kept)
    order = np.lexsort((columns, -chances[rows, columns], rows))
    rows, columns = rows[order], columns[order]
    offers: list[list[tuple[str, float]]] = [[] for _ in chances]
    for row, column, chance in zip(rows.tolist(), columns.tolist(), chances[rows, columns].tolist(), strict=True):
        offers[row].append((labels[column], chance))
    return offers


class SpineTok2Vec(TrainablePipe):
    """Categories of words by a network; see `make_spine_tok2vec`.

    Reads what its tok2vec reads, words in the default one, and writes `doc.spans[spans_key]`. White-space tokens get no
    category. Learns from `doc.spans[spans_key]` of reference Docs, a span for each word, labelled with its category; a
    word without one, or with one that is not in `labels`, teaches nothing. Raises ModelFormatError when it is used
    before it is trained.
    """

    def __init__(
        self,
        vocab: Vocab,
        model: Model[List[Doc], List[Floats2d]],  # noqa: UP006
        name: str = FACTORY,
        *,
        beta: float = 0.01,
        spans_key: str = SPINES_KEY,
        scorer: Callable | None = spine_score,
    ):
        check_offering(name, beta, spans_key)
        self.vocab, self.model, self.name, self.scorer = vocab, model, name, scorer
        self.beta, self.spans_key = beta, spans_key
        self.cfg: dict[str, Any] = {"labels": []}
        if model.has_ref("softmax"):  # spaCy's tagger wants no probabilities and leaves its scores as they are
            model.get_ref("softmax").attrs["softmax_normalize"] = True
        register_extensions()

    @property
    def labels(self) -> tuple[str, ...]:  # type: ignore[override]
        """The categories that a word can get."""
        return tuple(self.cfg["labels"])

    @property
    def label_data(self) -> tuple[str, ...]:  # type: ignore[override]
        """What `spacy init labels` writes for `initialize`."""
        return self.labels

    def add_label(self, label: str) -> int:
        """Add a category, before training; 0 when it was there, else 1. Raises ConfigError for what is no text."""
        if not isinstance(label, str) or not label:
            raise ConfigError(f"{self.name}: label {label!r}; it is a non-empty string, a category of words")
        if label in self.cfg["labels"]:
            return 0
        self._allow_extra_label()
        self.cfg["labels"].append(label)
        self.vocab.strings.add(label)
        return 1

    # ---- tagging ----

    def predict(self, docs: Iterable[Doc]) -> list[np.ndarray]:
        """The probabilities of `labels`, float32 (tokens, labels) for each Doc."""
        docs = list(docs)
        self._require_training()
        if not any(map(len, docs)):
            return [np.zeros((0, len(self.labels)), np.float32) for _ in docs]
        return [self.model.ops.to_numpy(chances) for chances in self.model.predict(docs)]

    def set_annotations(self, docs: Iterable[Doc], scores: Sequence[np.ndarray]) -> None:
        """Set `doc.spans[self.spans_key]` by the probabilities of `predict`."""
        if not Token.has_extension("spine"):  # in another process
            register_extensions()
        labels = self.labels
        for doc, chances in zip(docs, scores, strict=True):
            places = [token.i for token in doc if not is_blank(token.text)]
            write_spines(doc, places, multitags(chances[places], labels, self.beta), self.spans_key)

    def pipe(self, stream: Iterable[Doc], *, batch_size: int = 128) -> Iterator[Doc]:
        """Tag Docs in batches. One that cannot be tagged goes to nlp's error handler, alone."""
        handle = self.get_error_handler()
        for docs in minibatch(stream, size=batch_size):
            try:
                found: Sequence[np.ndarray | None] = self.predict(docs)
            except Exception:  # of one of them: all are tried again, one by one
                found = [None] * len(docs)
            for doc, chances in zip(docs, found, strict=True):
                try:
                    self.set_annotations([doc], self.predict([doc]) if chances is None else [chances])
                except Exception as error:
                    handle(self.name, self, [doc], error)
                else:
                    yield doc

    def score(self, examples: Iterable[Example], **settings: Any) -> dict[str, Any]:
        """What the scorer finds in `doc.spans[self.spans_key]`."""
        return super().score(examples, **{"spans_key": self.spans_key, **settings})

    # ---- training ----

    def initialize(
        self,
        get_examples: Callable[[], Iterable[Example]],
        *,
        nlp: Optional[Language] = None,  # noqa: UP045
        labels: Optional[List[str]] = None,  # noqa: UP006, UP045
        least: int = 1,
    ) -> None:
        """Take the labels from the examples, or from `labels`, and give the network its sizes.

        `least`: categories met less often are no labels; it says nothing of given `labels`. Raises TrainingDataError
        where there is no category, or none as often, ConfigError for a `least` that is no whole number from 1.
        """
        validate_get_examples(get_examples, "SpineTok2Vec.initialize")
        if isinstance(least, bool) or not isinstance(least, int) or least < 1:
            raise ConfigError(f"{self.name}: least = {least!r}; it is a whole number from 1")
        for label in self._frequent(get_examples(), least) if labels is None else labels:
            self.add_label(label)
        self._require_labels()
        sample = [example.predicted for example in islice(get_examples(), 10)]
        shapes = [self.model.ops.alloc2f(len(doc), len(self.labels)) for doc in sample]
        self.model.initialize(X=sample, Y=shapes)

    def _frequent(self, examples: Iterable[Example], least: int) -> list[str]:
        """The categories that the examples have at least so many times, sorted."""
        counts: Counter[str] = Counter()
        for example in examples:
            counts.update(self._categories(example.reference).values())
        if not counts:
            raise TrainingDataError(
                f"{self.name}: no word of the training Docs has a category in doc.spans[{self.spans_key!r}]; read them "
                "with spacy_dtparse.BracketCorpus.v1 and categories = 'spine', write them with `dtparse convert "
                "--categories spine`, or set the spans yourself"
            )
        frequent = sorted(name for name, count in counts.items() if count >= least)
        if not frequent:
            raise TrainingDataError(
                f"{self.name}: no category is met {least} times, the most frequent one {max(counts.values())} times; "
                "give a smaller number for `least`"
            )
        return frequent

    def update(
        self, examples: Iterable[Example], *, drop: float = 0.0, sgd: Any = None, losses: dict[str, float] | None = None
    ) -> dict[str, float]:
        """Learn from a batch of examples; the losses, with this component's added."""
        self._require_training()
        return super().update(examples, drop=drop, sgd=sgd, losses=losses)

    def get_loss(self, examples: Iterable[Example], scores: Sequence[Floats2d]) -> tuple[float, list[Floats2d]]:
        """The cross-entropy loss of probabilities, and its gradient."""
        examples = list(examples)
        validate_examples(examples, "SpineTok2Vec.get_loss")
        measure = SequenceCategoricalCrossentropy(names=list(self.labels), normalize=False)
        gold: Any = [self._gold(example) for example in examples]
        gradient, loss = measure(scores, gold)
        if self.model.ops.xp.isnan(loss):
            raise ValueError(Errors.E910.format(name=self.name))
        return float(loss), gradient

    def _categories(self, doc: Doc) -> dict[int, str]:
        """The categories of a reference Doc's words by their places."""
        group = doc.spans[self.spans_key] if self.spans_key in doc.spans else ()
        long = next((span for span in group if len(span) != 1), None)
        if long is not None:
            raise TrainingDataError(
                f"{self.name}: {long.text!r} in doc.spans[{self.spans_key!r}] of a training Doc is {len(long)} tokens; "
                "categories are of words, a span of one token each. Give the key of such spans as `spans_key`"
            )
        return {span.start: span.label_ for span in group if span.label_}

    def _gold(self, example: Example) -> list[str | None]:
        """The category of each predicted token, None where it is not one word of the reference, or not in `labels`."""
        there, back = example.alignment.y2x, example.alignment.x2y
        known = set(self.cfg["labels"])
        gold: list[str | None] = [None] * len(example.predicted)
        for place, name in self._categories(example.reference).items():
            found = there[place]
            if name in known and len(found) == 1 and len(back[int(found[0])]) == 1:
                gold[int(found[0])] = name
        return gold

    def _require_training(self) -> None:
        if not self.cfg["labels"]:
            raise ModelFormatError(
                f"{self.name}: it has no labels, for it is not trained yet; train it with `python -m spacy train`, "
                "call nlp.initialize with examples, or load a pipeline with a trained one"
            )


@Language.factory(
    FACTORY,
    assigns=["doc.spans", "token._.spine", "token._.spines"],
    default_config={
        "model": DEFAULT_TAGGER_MODEL,
        "beta": 0.01,
        "spans_key": SPINES_KEY,
        "scorer": {"@scorers": "spacy_dtparse.spine_scorer.v1"},
    },
    default_score_weights=SCORE_WEIGHTS,
)
def make_spine_tok2vec(
    nlp: Language,
    name: str,
    model: Model[List[Doc], List[Floats2d]],  # noqa: UP006
    beta: float,
    spans_key: str,
    scorer: Optional[Callable],  # noqa: UP045
) -> SpineTok2Vec:
    """Build the component for `nlp.add_pipe("spine_tok2vec", config={…})`.

    `model`: an architecture from Docs to a row of probabilities for each token, by default spaCy's tagger
    (spacy.Tagger.v2 on spacy.HashEmbedCNN.v2); its tok2vec may listen to one that components share. `beta`,
    `spans_key`: as in `make_spine_tagger`. Raises ConfigError for a value that is not allowed.
    """
    return SpineTok2Vec(nlp.vocab, model, name, beta=beta, spans_key=spans_key, scorer=scorer)
