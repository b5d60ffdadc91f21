"""A network that was trained on the device, or the mean of several, as a teacher's folder."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from spacy_dtparse.errors import ConfigError

from ...data.shards import LabelSets
from ...runs.files import write_atomically, write_json
from ..encoder import encoder_config, safetensors, torch
from ..model import Teacher, save_teacher
from ..network import TeacherNetwork
from ..pretrained import KNOWN, WEIGHTS, encoder_folder
from .arrays import LISTS
from .encoder import layer_parts
from .network import count_layers
from .saving import mean_weights

_HEADS = ("gaps", "label_norm", "labels", "tag_hidden", "tags")
_EMBEDDINGS = "encoder.model.embeddings"


def import_networks(arrays: Path, paths: Sequence[Path], encoder: str, out: Path) -> Teacher:
    """Write the mean of students in files of `save_network` as a teacher's folder, and return it. `arrays`: the folder
    of arrays from which they learned; `encoder`: the pretrained encoder, by name or folder, whose embeddings of word
    pieces, in float32, and tokenizer the teacher has. Raises ConfigError if the encoder is not BERT's."""
    folder = encoder_folder(encoder)
    config = json.loads((folder / "config.json").read_text(encoding="utf8"))
    if config.get("model_type") != "bert":
        raise ConfigError(f"{folder}: an encoder of type {config.get('model_type')!r}; students have one of BERT's")
    weights = mean_weights(paths)
    lists = LabelSets.from_dict(json.loads((arrays / LISTS).read_text(encoding="utf8")))
    out.mkdir(parents=True, exist_ok=True)
    write_json(out / "config.json", {**config, "num_hidden_layers": count_layers(weights)})
    write_atomically(out / "tokenizer.json", (folder / "tokenizer.json").read_bytes())
    sizes = len(lists.chains), len(lists.tags), len(lists.sources)
    network = TeacherNetwork(encoder_config(out), *sizes, weights["form"].shape[0])
    pretrained = safetensors.torch.load_file(folder / WEIGHTS)
    (words,) = (tensor for name, tensor in pretrained.items() if name.endswith("word_embeddings.weight"))
    network.load_state_dict(teacher_weights(weights, words, network.state_dict()))
    meta = {"encoder": KNOWN[encoder].digest} if encoder in KNOWN else {}
    teacher = Teacher(lists, (network.eval(),), meta, out)
    save_teacher(out, teacher)
    return teacher


def teacher_weights(
    weights: Mapping[str, torch.Tensor], words: torch.Tensor, state: Mapping[str, torch.Tensor]
) -> dict[str, torch.Tensor]:
    """The weights of a TeacherNetwork on BERT's encoder from those of a `Network`. `words`: embeddings of word pieces;
    `state`: names and shapes of the result. The embeddings of token types, which the positions contain, are 0."""
    found = {
        f"{_EMBEDDINGS}.word_embeddings.weight": words.float(),
        f"{_EMBEDDINGS}.position_embeddings.weight": weights["encoder.positions"],
        "form": weights["form"],
        "alone.weight": weights["boundaries"][None],
        "shapes.weight": weights["shapes.weight"][: len(state["shapes.weight"])],
        "sources.weight": weights["sources.weight"],
    }
    for part in ("weight", "bias"):
        found[f"{_EMBEDDINGS}.LayerNorm.{part}"] = weights[f"encoder.norm.{part}"]
        for name in _HEADS:
            found[f"{name}.{part}"] = weights[f"{name}.{part}"]
        for layer in range(count_layers(weights)):
            for name, targets in layer_parts("bert").items():
                pieces = weights[f"encoder.layers.{layer}.{name}.{part}"].chunk(len(targets))
                for target, piece in zip(targets, pieces, strict=True):
                    found[f"encoder.model.encoder.layer.{layer}.{target}.{part}"] = piece
    for name, tensor in state.items():
        if name not in found:
            found[name] = torch.zeros_like(tensor) if "token_type_embeddings" in name else tensor
    return found
