"""A pretrained encoder of BERT's or MPNet's shape, from a folder in the usual form, run by `transformers`.

`pretrained` finds such folders. The word pieces of the known encoders are lower-case, so word shapes have a separate
embedding (`network.TeacherNetwork`).
"""

import json
import platform
import re
from collections.abc import Callable
from functools import cache, lru_cache, partial
from pathlib import Path
from typing import Any

from spacy_dtparse.errors import ConfigError

from .pretrained import NEEDED, WEIGHTS

MODEL_TYPES = ("bert", "mpnet")
"""Model types (`model_type` of config.json) that are supported."""
MAX_PIECES = 12
"""Maximum number of word pieces of a word; further ones are dropped."""

try:
    import torch  # isort: skip (if all are missing, the message names the largest)
    import safetensors.torch
    import transformers
    from tokenizers import Tokenizer
    from torch import nn
except ImportError as error:  # pragma: no cover (the extra is installed where this is tested)
    raise ConfigError(
        f"the teacher needs {error.name or 'torch'}, which is not installed ({error}): {NEEDED}"
    ) from None


training_attention = partial(nn.attention.sdpa_kernel, nn.attention.SDPBackend.MATH)
"""Context in which attention is computed by matrix products, for training: the derivative of torch's fused kernel takes
a third of the time of a whole step on a CPU."""


@cache
def has_bfloat16() -> bool:
    """Whether this CPU multiplies bfloat16 matrices (AMX, AVX-512 BF16, Arm's BF16). Others emulate it, which takes
    more than ten times as long as float32 with AVX2."""
    names = ("_is_amx_tile_supported", "_is_avx512_bf16_supported")
    if platform.machine().lower() in ("x86_64", "amd64"):
        return any(getattr(torch.cpu, name, bool)() for name in names)
    return bool(torch.ops.mkldnn._is_mkldnn_bf16_supported())


def mixed_precision() -> Any:
    """A context in which matrices are multiplied as bfloat16 where `has_bfloat16`, else as float32."""
    return torch.autocast("cpu", dtype=torch.bfloat16, enabled=has_bfloat16())


def encoder_config(folder: Path) -> Any:
    """The configuration of an encoder, without dropout of its own. Raises ConfigError for an unknown shape."""
    data = json.loads((folder / "config.json").read_text(encoding="utf8"))
    if data.get("model_type") not in MODEL_TYPES:
        raise ConfigError(
            f"{folder}: an encoder of type {data.get('model_type')!r}; allowed are {', '.join(MODEL_TYPES)}"
        )
    config = transformers.AutoConfig.for_model(**data)
    config.hidden_dropout_prob = config.attention_probs_dropout_prob = 0.0
    return config


def count_positions(folder: Path) -> int:
    """The number of word pieces that the encoder of a folder reads, those at the ends of a sentence included. The first
    two of MPNet's positions are for padding."""
    config = encoder_config(folder)
    return int(config.max_position_embeddings) - (2 if config.model_type == "mpnet" else 0)


class WordPieces:
    """Maps a word to ids of word pieces (`ids_of`). `begin`, `end`: ids of the pieces before and after a sentence."""

    def __init__(self, folder: Path) -> None:
        self._tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()
        markers = self._tokenizer.encode("").ids
        self.begin, self.end = int(markers[0]), int(markers[-1])
        self._unknown: Any = self._tokenizer.token_to_id("[UNK]")
        self.ids_of = lru_cache(500_000)(self._ids_of)

    def _ids_of(self, word: str) -> tuple[int, ...]:
        """Return one or more ids, at most `MAX_PIECES`."""
        ids = self._tokenizer.encode(word, add_special_tokens=False).ids[:MAX_PIECES]
        return tuple(ids) or (self._unknown,)


def locked_dropout(x: torch.Tensor, rate: float, generator: torch.Generator | None) -> torch.Tensor:
    """Apply dropout to the columns of x (sentences, tokens, width), the same for all tokens of a sentence.

    torch's dropout draws a number for every element, which takes longer than the layers do on short sentences.
    """
    if generator is None or rate == 0:
        return x
    mask = torch.rand((x.shape[0], 1, x.shape[2]), generator=generator) >= rate
    return x * (mask.to(x.dtype) / (1 - rate))


Drop = Callable[[torch.Tensor], torch.Tensor]
"""`locked_dropout` with a rate and a generator."""
no_dropout: Drop = partial(locked_dropout, rate=0.0, generator=None)


class _Dropout(nn.Module):
    """The dropout that `Encoder.forward` was given, instead of torch's."""

    drop: Drop = staticmethod(no_dropout)
    p = 0.0
    """Rate for attention weights, which some layers ask for."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.drop(x) if x.dim() == 3 else x


class Encoder(nn.Module):
    """A pretrained encoder; the embeddings of word pieces are frozen.

    `forward` takes ids of word pieces (sentences, pieces), vectors added to their embeddings (sentences, pieces,
    width), and a bool mask (sentences, pieces), False at padding; it returns vectors (sentences, pieces, width).
    """

    def __init__(self, config: Any):
        super().__init__()
        self.width, self.n_layers = int(config.hidden_size), int(config.num_hidden_layers)
        self.model = transformers.AutoModel.from_config(config, **_NO_POOLER)
        self.words.weight.requires_grad_(False)
        self._drops = [_Dropout() for _ in range(_replace_dropout(self.model, None))]
        _replace_dropout(self.model, iter(self._drops))

    @property
    def words(self) -> Any:
        """The embeddings of word pieces."""
        return self.model.embeddings.word_embeddings

    def load(self, folder: Path) -> None:
        """Load the weights of a folder. Raises ConfigError if some are missing."""
        weights = safetensors.torch.load_file(folder / WEIGHTS)
        weights = {re.sub(r"^(bert|mpnet)\.", "", name): tensor for name, tensor in weights.items()}
        result = self.model.load_state_dict(weights, strict=False)
        lacking = [name for name in result.missing_keys if "position_ids" not in name]
        if lacking:
            raise ConfigError(f"{folder}: {WEIGHTS} lacks {', '.join(lacking[:3])}; fetch it again")

    def forward(
        self, pieces: torch.Tensor, added: torch.Tensor, there: torch.Tensor, drop: Drop = no_dropout
    ) -> torch.Tensor:
        """Compute the vectors of word pieces; see the class."""
        for module in self._drops:
            module.drop = drop
        x = self.words(pieces) + added
        return self.model(inputs_embeds=x, attention_mask=there.long()).last_hidden_state

    @staticmethod
    def layer_of(name: str) -> int | None:
        """The index of the layer of a parameter, None for embeddings and parameters that all layers share."""
        found = re.search(r"\.layer\.(\d+)\.", name)
        return None if found is None else int(found.group(1))


_NO_POOLER: dict[str, Any] = {"add_pooling_layer": False}


def _replace_dropout(module: nn.Module, drops: Any) -> int:
    """Replace each dropout between layers by the next of `drops`; only count them where that is None."""
    count = 0
    for name, child in module.named_children():
        if isinstance(child, nn.Dropout | _Dropout):
            count += 1
            if drops is not None:
                setattr(module, name, next(drops))
        else:
            count += _replace_dropout(child, drops)
    return count
