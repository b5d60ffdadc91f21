"""Weights of encoders and networks in files of numpy arrays, and the shape of an encoder.

Large matrices may be rounded to int8 with a factor per row, which makes a file four times as small; this changes them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

_ROUNDED, _FACTORS = "|q", "|f"
"""Endings of the names of a rounded matrix, int8 (rows, columns), and of its rows' factors, float32 (rows, 1)."""
_MIN_ROUNDED_ROWS = 384
"""Minimum rows of an encoder's matrix that is rounded."""


@dataclass(frozen=True)
class EncoderShape:
    """The shape of an encoder. `kind`: bert or mpnet; `width`, `inner_width`, `heads`, `layers` of its layers;
    `vocabulary`: number of word pieces; `positions`: rows of the table of positions; `epsilon` of its norms; `begin`,
    `end`, `pad`: ids of the word pieces before and after a sentence and of padding."""

    kind: str
    width: int
    inner_width: int
    heads: int
    layers: int
    vocabulary: int
    positions: int
    epsilon: float
    begin: int
    end: int
    pad: int

    @classmethod
    def from_folder(cls, folder: Path) -> EncoderShape:
        """The shape of the encoder in a folder with config.json and tokenizer.json. Raises ValueError for other kinds
        than bert and mpnet."""
        config = json.loads((folder / "config.json").read_text(encoding="utf8"))
        kind, ids = config["model_type"], piece_ids(folder)
        if kind not in ("bert", "mpnet") or config.get("hidden_act", "gelu") != "gelu":
            raise ValueError(f"{folder}: an encoder of type {kind!r}; allowed are bert and mpnet with gelu")
        if kind == "mpnet" and config.get("relative_attention_num_buckets", 32) != 32:
            raise ValueError(f"{folder}: there must be 32 buckets of relative positions")
        begin, end, pad = ("[CLS]", "[SEP]", "[PAD]") if kind == "bert" else ("<s>", "</s>", "<pad>")
        return cls(
            kind,
            config["hidden_size"],
            config["intermediate_size"],
            config["num_attention_heads"],
            config["num_hidden_layers"],
            config["vocab_size"],
            config["max_position_embeddings"],
            config["layer_norm_eps"],
            ids[begin],
            ids[end],
            ids[pad],
        )

    @classmethod
    def load(cls, path: Path) -> EncoderShape:
        """Read what `save` wrote."""
        return cls(**json.loads(path.read_text(encoding="utf8")))

    def save(self, path: Path) -> None:
        """Write a JSON file."""
        fields = {
            "kind": self.kind, "width": self.width, "inner_width": self.inner_width, "heads": self.heads,
            "layers": self.layers, "vocabulary": self.vocabulary, "positions": self.positions,
            "epsilon": self.epsilon, "begin": self.begin, "end": self.end, "pad": self.pad,
        }  # fmt: skip
        path.write_text(json.dumps(fields), encoding="utf8")


def piece_ids(folder: Path) -> dict[str, int]:
    """The ids of an encoder's word pieces, with those that its tokenizer adds."""
    data = json.loads((folder / "tokenizer.json").read_text(encoding="utf8"))
    ids = dict(data["model"]["vocab"])
    ids.update((token["content"], token["id"]) for token in data["added_tokens"])
    return ids


def piece_map(source: Path, target: Path) -> np.ndarray:
    """int32 (word pieces of the encoder in `source`,): the id of each word piece in the encoder `target`, that of the
    unknown word piece where there is none."""
    vocabulary = json.loads((source / "tokenizer.json").read_text(encoding="utf8"))["model"]["vocab"]
    ids = piece_ids(target)
    unknown = ids.get("[UNK]", ids.get("<unk>"))
    return np.array([ids.get(piece, unknown) for piece in sorted(vocabulary, key=vocabulary.__getitem__)], np.int32)


def round_rows(weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Round a matrix to int8: the rounded matrix, and the factors float32 (rows, 1) that it is to be multiplied by."""
    factors = (np.maximum(np.abs(weights).max(-1, keepdims=True), 1e-8) / np.float32(127)).astype(np.float32)
    return np.rint(weights / factors).astype(np.int8), factors


def save_weights(path: Path, weights: Mapping[str, np.ndarray], rounded: Callable[[str, np.ndarray], bool]) -> None:
    """Write arrays to an .npz file, with those for which `rounded` is true as int8."""
    content: dict[str, Any] = {}
    for name, array in weights.items():
        if rounded(name, array):
            content[name + _ROUNDED], content[name + _FACTORS] = round_rows(array)
        else:
            content[name] = array
    np.savez(path, **content)


def load_weights(path: Path) -> dict[str, np.ndarray]:
    """Read what `save_weights` wrote, as float32."""
    found = {}
    with np.load(path) as file:
        for name in file.files:
            if name.endswith(_ROUNDED):
                plain = name.removesuffix(_ROUNDED)
                found[plain] = file[name].astype(np.float32) * file[plain + _FACTORS]
            elif not name.endswith(_FACTORS):
                found[name] = file[name].astype(np.float32)
    return found


def save_encoder(path: Path, weights: Mapping[str, np.ndarray], int8: bool) -> None:
    """Write the weights of a pretrained encoder, without its pooler. `int8`: round its matrices, except the tables of
    positions."""

    def is_rounded(name: str, array: np.ndarray) -> bool:
        return int8 and array.ndim == 2 and array.shape[0] >= _MIN_ROUNDED_ROWS and "position" not in name

    plain = {re.sub(r"^(bert|mpnet)\.", "", name): array.astype(np.float32) for name, array in weights.items()}
    used = {name: array for name, array in plain.items() if "pooler" not in name and "position_ids" not in name}
    save_weights(path, used, is_rounded)
