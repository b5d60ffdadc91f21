"""Settings of the taggers, as frozen dataclasses with defaults."""

import hashlib
import json
from dataclasses import asdict, dataclass


@dataclass(frozen=True)
class NetworkConfig:
    """The token-to-vector network (spaCy's ``HashEmbedCNN.v2``) that tagger and senter share. ``embed_size`` is the
    number of rows of the NORM table; PREFIX, SUFFIX and SHAPE have half as many. The defaults give about 6.5 MB of
    parameters."""

    width: int = 96
    depth: int = 4
    embed_size: int = 5000
    window_size: int = 1
    maxout_pieces: int = 3


@dataclass(frozen=True)
class AugmentConfig:
    """Chance per sentence of being shown in another typography; 0 turns a variant off.

    tokenizer_norms: NORM as spaCy's tokenizer sets it ("n't" has the norm "not").
    curly: typographic quotes, apostrophes and dashes.
    lower, title, upper: the sentence in lower case, with capitalised words, in capitals.
    split_hyphens: words that spaCy's tokenizer would split ("T-cell", "Fig.") as their parts.
    drop_final: the final punctuation taken away (as in headings); only useful with a senter.
    newline: a whitespace token ("\\n", "\\n\\n" or a second space) after the sentence, as spaCy's tokenizer
        makes them; after a sentence that lost its final punctuation four times as likely.
    wrapped: chance per document of line breaks within sentences, every 8 to 16 words, or of runs of blanks.
    """

    tokenizer_norms: float = 0.5
    curly: float = 0.15
    lower: float = 0.03
    title: float = 0.02
    upper: float = 0.01
    split_hyphens: float = 0.0
    drop_final: float = 0.0
    newline: float = 0.0
    wrapped: float = 0.0

    @property
    def inserts_space(self) -> bool:
        """Whether whitespace tokens (tag ``_SP``) occur in the training documents."""
        return self.newline > 0 or self.wrapped > 0


@dataclass(frozen=True)
class FitConfig:
    """The training loop.

    epochs: passes over the training sentences (may be fractional).
    batch_start, batch_stop, batch_growth: words per update, growing geometrically.
    learn_rate: the peak; linear warm-up over ``warmup_steps`` updates, then linear decay to zero.
    run_lengths: numbers of consecutive sentences put together in one document, drawn uniformly.
    """

    epochs: float = 2.0
    batch_start: int = 300
    batch_stop: int = 1500
    batch_growth: float = 1.005
    learn_rate: float = 0.003
    warmup_steps: int = 100
    dropout: float = 0.1
    l2: float = 0.01
    grad_clip: float = 1.0
    run_lengths: tuple[int, ...] = (1, 1, 1, 2, 3, 4, 6, 8)
    seed: int = 7


@dataclass(frozen=True)
class TaggingConfig:
    """Everything that decides what a tagger learns, save the sentences themselves."""

    network: NetworkConfig = NetworkConfig()
    augment: AugmentConfig = AugmentConfig()
    fit: FitConfig = FitConfig()

    def fingerprint(self) -> str:
        """A short hash of all settings; equal settings give equal fingerprints."""
        return hashlib.sha256(json.dumps(asdict(self), sort_keys=True).encode()).hexdigest()[:16]


# Treebank tokenization, as the parser's training trees have it; short fits, since there is one per fold.
JACKKNIFE = TaggingConfig()
# Users' texts: split hyphens, line breaks, missing final punctuation; a longer fit.
FINAL = TaggingConfig(
    augment=AugmentConfig(lower=0.05, split_hyphens=0.5, drop_final=0.12, newline=0.12, wrapped=0.08),
    fit=FitConfig(epochs=4.0),
)
