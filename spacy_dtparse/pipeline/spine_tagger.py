"""The spaCy component `spine_tagger`: words and tags in, `token._.spine` and `token._.spines` out.

spaCy imports this module in every spacy.blank() and spacy.load() of the environment, so it must stay light: parsers
and numba are imported where a model is loaded. (No `from __future__ import annotations` here: spaCy reads the
annotations of the factory.)
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Optional, Union

from spacy.language import Language
from spacy.tokens import Doc

from ..checks import share, whole_number
from ..errors import ConfigError, ModelFormatError
from .extensions import register_extensions
from .model_pipe import ModelPipe
from .sentences import has_boundaries, read_sentences
from .spine_scorer import SCORE_WEIGHTS, spine_score
from .spines import SPINES_KEY, write_spines


def _no_model() -> str:
    raise ModelFormatError(
        "spine_tagger has no embedded model; name one of your own, nlp.add_pipe('spine_tagger', config={'model': "
        "'path/to/model'}), which `python -m training tagger-fit` trains"
    )


class SpineTagger(ModelPipe):
    """Spines of words by a log-linear tagger; see `make_spine_tagger`.

    Reads `token.tag_` and sentence boundaries, and writes `doc.spans[spans_key]`. White-space tokens are not shown to
    the tagger and get no spine. A Doc without boundaries is taken as one sentence, and one without some of its tags
    gets XX there, with a warning once each; a Doc without any raises MissingAnnotationError, which goes to nlp's error
    handler. On an error a Doc is left as it was.
    """

    factory = "spine_tagger"
    default_model = staticmethod(_no_model)
    SETTINGS = {"beam": whole_number(1), "share": share()}  # noqa: RUF012 (never changed)
    OWN = ("beta", "spans_key")

    beam: Optional[int]  # noqa: UP045
    share: Optional[float]  # noqa: UP045

    def __init__(
        self,
        name: str = "",
        *,
        beta: float = 0.01,
        spans_key: str = SPINES_KEY,
        scorer: Callable | None = spine_score,
        **settings: Any,
    ):
        own = name or self.factory
        if isinstance(beta, bool) or not isinstance(beta, int | float) or not 0 <= beta <= 1:
            raise ConfigError(f"{own}: beta = {beta!r}; it is a number from 0 (all spines) to 1 (the best alone)")
        if not isinstance(spans_key, str) or not spans_key:
            raise ConfigError(f"{own}: spans_key = {spans_key!r}; it is a non-empty string, a key of doc.spans")
        self.beta, self.spans_key = beta, spans_key
        self.prepare()
        super().__init__(name, scorer=scorer, **settings)

    @staticmethod
    def read_parser(source: Path | bytes) -> Any:
        """The tagger of a model file or of its bytes."""
        from ..parsers import load_tagger

        return load_tagger(source)

    def prepare(self) -> None:
        """Register the attributes that read spines."""
        register_extensions()

    @property
    def cfg(self) -> dict[str, Any]:
        """What `Pipe.score` hands to the scorer."""
        return {"spans_key": self.spans_key}

    def __call__(self, doc: Doc) -> Doc:
        """Tag `doc` and set `doc.spans[self.spans_key]`; on an error the Doc is left as it was."""
        tagger = self.configured_parser
        sentences, untagged = read_sentences(doc, self.name, tagger.needs_tags)
        if untagged and tagger.needs_tags:
            self._warn_once(
                "tags",
                f"{self.name}: {untagged} words of a Doc have no part-of-speech tag; they are tagged as unknown (XX). "
                "Check the tagger before it",
            )
        if sentences and not has_boundaries(doc):
            self._warn_once(
                "sentences",
                f"{self.name}: a Doc has no sentence boundaries and is tagged as one sentence. Put a component that "
                "sets them (senter, parser, sentencizer) before it",
            )
        places: list[int] = []
        offers: list[list[tuple[str, float]]] = []
        for sentence in sentences:
            if sentence.words:
                places += sentence.places
                offers += tagger.multitag(sentence.words, sentence.tags, self.beta)
        write_spines(doc, places, offers, self.spans_key)
        return doc


@Language.factory(
    "spine_tagger",
    requires=["token.tag"],
    assigns=["doc.spans", "token._.spine", "token._.spines"],
    default_config={
        "model": None,
        "beta": 0.01,
        **dict.fromkeys(SpineTagger.SETTINGS),
        "spans_key": SPINES_KEY,
        "scorer": {"@scorers": "spacy_dtparse.spine_scorer.v1"},
    },
    default_score_weights=SCORE_WEIGHTS,
)
def make_spine_tagger(
    nlp: Language,
    name: str,
    model: Optional[Union[str, Path]],  # noqa: UP007, UP045
    beta: float,
    beam: Optional[int],  # noqa: UP045
    share: Optional[float],  # noqa: UP045
    spans_key: str,
    scorer: Optional[Callable],  # noqa: UP045
) -> SpineTagger:
    """Build the component for `nlp.add_pipe("spine_tagger", config={…})`.

    `model`: the path of a model file or of a folder with one, read at once; None waits for data from disk. `beta`: a
    word is offered the spines that have at least so many times the probability of its best. `beam`, `share`: see
    `parsers.tagging.TaggerSettings`; None is the model's own setting. `spans_key`: where the spines go in `doc.spans`.
    Raises ConfigError for a value that is not allowed.
    """
    component = SpineTagger(
        name, model=model, scorer=scorer, beta=beta, beam=beam, share=share, spans_key=spans_key
    )
    component.attach(nlp)
    return component
