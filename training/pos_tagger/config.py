"""Settings of the taggers, as frozen dataclasses with defaults."""

import hashlib
import json
from dataclasses import dataclass

from spacy_dtparse.checks import check, real_number, share, whole_number
from spacy_dtparse.stored_names import stored_as, to_stored


@stored_as("width", "units", "layers", "least", "most")
@dataclass(frozen=True)
class NetworkConfig:
    """Sizes of the network: `width` of the table, `units` in a direction, `layers`. A word or part of one is listed
    that occurs at least `least` times, and no more than the `most` most frequent of a kind."""

    width: int = 64
    units: int = 80
    layers: int = 2
    least: int = 3
    most: int = 30_000

    def __post_init__(self) -> None:
        check(self, dict.fromkeys(("width", "units", "layers", "least", "most"), whole_number(1)), "network")


@stored_as("curly", "lower", "title", "upper", "split_hyphens", "drop_final", "newline", "wrapped")
@dataclass(frozen=True)
class AugmentConfig:
    """Chance per sentence of being shown in another typography; 0 turns a variant off.

    curly: typographic quotes, apostrophes and dashes.
    lower, title, upper: the sentence in lower case, with capitalised words, in capitals.
    split_hyphens: words that spaCy's tokenizer would split ("T-cell", "Fig.") as their parts.
    drop_final: the final punctuation taken away (as in headings); only useful with sentence starts.
    newline: a whitespace token ("\\n", "\\n\\n" or a second space) after the sentence, as spaCy's tokenizer
        makes them; after a sentence that lost its final punctuation four times as likely.
    wrapped: chance per document of line breaks within sentences, every 8 to 16 words, or of runs of blanks.
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


@stored_as(
    "epochs", "batch", "learn_rate", "warmup_steps", "dropout_table", "dropout_layers", "hide", "starts", "average",
    "run_lengths", "seed",
)  # fmt: skip
@dataclass(frozen=True)
class FitConfig:
    """The training loop.

    epochs: passes over the training sentences (may be fractional).
    batch: words per update.
    learn_rate: the peak; linear warm-up over ``warmup_steps`` updates, a tenth of all at most, and linear decay to
        zero.
    dropout_table, dropout_layers: share of the numbers set to 0 in what the first layer reads, and the others.
    hide: a word that occurs so many times is shown as an unknown one in half of the cases, a more frequent one less.
    starts: what the loss of sentence starts counts, beside that of tags.
    average: share of the running means of all values, which are what is kept, that an update leaves in them.
    run_lengths: numbers of consecutive sentences put together in one document, drawn uniformly.
    """

    epochs: float = 2.0
    batch: int = 800
    learn_rate: float = 0.003
    warmup_steps: int = 100
    dropout_table: float = 0.1
    dropout_layers: float = 0.15
    hide: float = 0.8
    starts: float = 1.0
    average: float = 0.999
    run_lengths: tuple[int, ...] = (1, 1, 1, 2, 3, 4, 6, 8)
    seed: int = 7

    def __post_init__(self) -> None:
        shares = dict.fromkeys(("dropout_table", "dropout_layers", "average"), share())
        above = dict.fromkeys(("epochs", "learn_rate"), real_number(0, above=True))
        check(self, {"batch": whole_number(1), "hide": real_number(0), "starts": real_number(0), **above, **shares})


@stored_as("network", "augment", "fit")
@dataclass(frozen=True)
class TaggingConfig:
    """Everything that decides what a tagger learns, save the sentences themselves."""

    network: NetworkConfig = NetworkConfig()
    augment: AugmentConfig = AugmentConfig()
    fit: FitConfig = FitConfig()

    def fingerprint(self) -> str:
        """A short hash of all settings; equal settings give equal fingerprints."""
        return hashlib.sha256(json.dumps(to_stored(self), sort_keys=True).encode()).hexdigest()[:16]


# Treebank tokenization, as the parser's training trees have it; short fits, since there is one per fold.
JACKKNIFE = TaggingConfig()
# Users' texts: split hyphens, line breaks, missing final punctuation; a longer fit.
FINAL = TaggingConfig(
    augment=AugmentConfig(lower=0.05, split_hyphens=0.5, drop_final=0.12, newline=0.12, wrapped=0.08),
    fit=FitConfig(epochs=4.0),
)
