"""Settings of the taggers, as frozen dataclasses with defaults."""

import hashlib
import json
from dataclasses import dataclass

from spacy_dtparse.checks import check, fraction, integer, real
from spacy_dtparse.stored_names import stored_as, to_stored


@stored_as("width", "units", "layers", "least", "most")
@dataclass(frozen=True)
class NetworkConfig:
    """Sizes of the network: `width` of the embedding table, `units` per direction, number of `layers`. Words and parts
    of words are listed if they occur at least `min_count` times and are among the `max_vocab` most frequent ones of
    their kind."""

    width: int = 64
    units: int = 80
    layers: int = 2
    min_count: int = 3
    max_vocab: int = 30_000

    def __post_init__(self) -> None:
        check(self, dict.fromkeys(("width", "units", "layers", "min_count", "max_vocab"), integer(1)), "network")


@stored_as("curly", "lower", "title", "upper", "split_hyphens", "drop_final", "newline", "wrapped")
@dataclass(frozen=True)
class AugmentConfig:
    """Probability per sentence of a typographic variant in training; 0 turns a variant off.

    curly: typographic quotes, apostrophes and dashes.
    lower, title, upper: the sentence in lower case, with capitalised words, in capitals.
    split_hyphens: words that spaCy's tokenizer would split ("T-cell", "Fig.") as their parts.
    drop_final: without the final punctuation (as in headings); only useful with sentence starts.
    newline: a whitespace token ("\\n", "\\n\\n" or a second space) after the sentence, like those of spaCy's
        tokenizer; four times as likely after a sentence that lost its final punctuation.
    wrapped: probability per document of line breaks within sentences, every 8 to 16 words, or of runs of blanks.
    """

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


@stored_as("epochs batch learn_rate warmup_steps dropout_table dropout_layers hide starts average run_lengths seed")
@dataclass(frozen=True)
class FitConfig:
    """The training loop.

    epochs: passes over the training sentences (may be fractional).
    batch_tokens: words per update.
    learning_rate: the peak; linear warm-up over ``warmup_steps`` updates, at most a tenth of all, and linear decay to
        zero.
    dropout_table, dropout_layers: dropout rates of the inputs of the first layer, and of the others.
    word_dropout: a word that occurs ``count`` times is replaced by the unknown word with probability
        ``word_dropout / (word_dropout + count)`` (Kiperwasser & Goldberg 2016).
    start_weight: weight of the loss of sentence starts, relative to that of tags.
    ema_decay: decay of the running means of all parameters; the trained network consists of these means.
    run_lengths: numbers of consecutive sentences joined in one document, drawn uniformly.
    """

    epochs: float = 2.0
    batch_tokens: int = 800
    learning_rate: float = 0.003
    warmup_steps: int = 100
    dropout_table: float = 0.1
    dropout_layers: float = 0.15
    word_dropout: float = 0.8
    start_weight: float = 1.0
    ema_decay: float = 0.999
    run_lengths: tuple[int, ...] = (1, 1, 1, 2, 3, 4, 6, 8)
    seed: int = 7

    def __post_init__(self) -> None:
        fractions = dict.fromkeys(("dropout_table", "dropout_layers", "ema_decay"), fraction())
        above = dict.fromkeys(("epochs", "learning_rate"), real(0, above=True))
        check(
            self, {"batch_tokens": integer(1), "word_dropout": real(0), "start_weight": real(0), **above, **fractions}
        )


@stored_as("network", "augment", "fit", "penn_forms")
@dataclass(frozen=True)
class TaggingConfig:
    """All settings that determine a trained tagger, except the sentences. `penn_forms`: whether an English tagger
    always gives *to* and dashes their tags in the Penn Treebank (TO, :), for treebanks that disagree on them."""

    network: NetworkConfig = NetworkConfig()
    augment: AugmentConfig = AugmentConfig()
    fit: FitConfig = FitConfig()
    penn_forms: bool = False

    def fingerprint(self) -> str:
        """A short hash of all settings; equal settings give equal fingerprints."""
        return hashlib.sha256(json.dumps(to_stored(self), sort_keys=True).encode()).hexdigest()[:16]


# Treebank tokenization, as in the parser's training trees; short training, since there is one tagger per fold.
JACKKNIFE = TaggingConfig()
# Users' texts: split hyphens, line breaks, missing final punctuation; longer training.
FINAL = TaggingConfig(
    augment=AugmentConfig(lower=0.05, split_hyphens=0.5, drop_final=0.12, newline=0.12, wrapped=0.08),
    fit=FitConfig(epochs=4.0),
)
