"""The spaCy component `spine_tagger`: words and tags in, `token._.spine` and `token._.spines` out."""

from collections.abc import Callable
from typing import Any

from spacy.tokens import Doc

from ..checks import Setting, real
from ..core.settings import TaggerSettings
from ..errors import ModelFormatError
from ..pipeline.extensions import register_extensions
from ..pipeline.model_pipe import KEY, ModelPipe, factory_of
from ..pipeline.spines import SPINES_KEY, write_spines
from .scorer import SCORE_WEIGHTS, spine_score


class SpineTagger(ModelPipe):
    """Spines of words by a log-linear tagger.

    `beta`: the candidates of a word are the spines with at least this fraction of the probability of the best. `beam`,
    `share`: see `core.settings.TaggerSettings`. `model` = None waits for data from disk: there is no embedded one.

    Reads `token.tag_` and sentence boundaries, and writes `doc.spans[spans_key]`. White-space tokens are not passed to
    the tagger and get no spine. A Doc without boundaries is tagged as one sentence, and words without a tag get XX,
    with a warning once each; a Doc without any tags raises MissingAnnotationError, which goes to nlp's error handler.
    On an error a Doc is left as it was.
    """

    factory = "spine_tagger"
    LOADER = "load_tagger"
    PAST_VERB = "tagged"
    SETTINGS = TaggerSettings.ALLOWED
    COMPONENT_SETTINGS = {  # noqa: RUF012 (never changed)
        "beta": (0.01, Setting(real(0, 1).fits, "a number from 0 (all spines) to 1 (the best alone)", float)),
        "spans_key": (SPINES_KEY, KEY),
    }

    beta: float

    def __init__(self, name: str = "", *, scorer: Callable | None = spine_score, **settings: Any):
        super().__init__(name, scorer=scorer, **settings)

    @classmethod
    def default_model(cls) -> str:
        """There is none: raises ModelFormatError."""
        raise ModelFormatError(
            "spine_tagger has no embedded model; name one of your own, nlp.add_pipe('spine_tagger', config={'model': "
            "'path/to/model'}), which `python -m training train-spine-tagger` trains"
        )

    def prepare(self) -> None:
        """Register the extension attributes for spines."""
        register_extensions()

    def __call__(self, doc: Doc) -> Doc:
        """Tag `doc` and set `doc.spans[self.spans_key]`; on an error the Doc is left as it was."""
        tagger = self.configured_parser
        sentences = self._read_sentences(doc, tagger.needs_tags)
        positions: list[int] = []
        supertags: list[list[tuple[str, float]]] = []
        for sentence in sentences:
            if sentence.words:
                positions += sentence.positions
                supertags += tagger.multitag(sentence.words, sentence.tags, self.beta)
        write_spines(doc, positions, supertags, self.spans_key)
        return doc


make_spine_tagger = factory_of(
    SpineTagger,
    "spacy_dtparse.spine_scorer.v1",
    requires=["token.tag"],
    assigns=["doc.spans", "token._.spine", "token._.spines"],
    default_score_weights=SCORE_WEIGHTS,
)
