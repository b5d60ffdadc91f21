"""A span parser over a pretrained encoder as a teacher's folder, from which its training can continue: the reverse of
`exporting`."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

import numpy as np

from spacy_dtparse.dtypes import REAL
from spacy_dtparse.errors import ConfigError
from spacy_dtparse.span_parser.model import SpanModel
from spacy_dtparse.span_parser.pretrained import PackedEncoder
from spacy_dtparse.span_parser.word_pieces import BEGIN, CONTINUED, END, MAX_CHARACTERS, UNKNOWN

from ..data.shards import NO_SOURCE, LabelSets
from ..nn.storage import real_arrays
from ..runs.files import write_json
from .encoder import encoder_config, torch
from .model import Teacher, save_teacher
from .network import TeacherNetwork
from .pretrained import KNOWN

_EPSILON = 1e-12
"""The number that is added to the variance in a normalisation, as in the parser's kernels."""
_SPECIAL = (BEGIN, END, UNKNOWN)


def import_model(model: SpanModel, out: Path) -> Teacher:
    """Write a span model over a pretrained encoder as a teacher's folder, and return the teacher.

    The matrices have the values to which the model rounded them (int8). The teacher has no source but NO_SOURCE, and
    its layer for tags, which a span model does not contain, has random weights. Raises ConfigError if the model has no
    pretrained encoder.
    """
    arrays, n_heads = _unpack(model)
    pieces, tags = map(tuple, model.words.tables)
    out.mkdir(parents=True, exist_ok=True)
    write_json(out / "config.json", _config(arrays, n_heads))
    write_json(out / "tokenizer.json", _tokenizer(pieces))
    lists = LabelSets(model.chains, tags, (NO_SOURCE,))
    torch.manual_seed(0)
    sizes = len(lists.chains), len(lists.tags), len(lists.sources)
    network = TeacherNetwork(encoder_config(out), *sizes, len(arrays["bilinear"]))
    state = network.state_dict()
    weights = _weights(arrays, n_heads)
    for name, weight in weights.items():
        state[name][: len(weight)] = torch.from_numpy(np.ascontiguousarray(weight))
    for name in state:
        if "token_type_embeddings" in name:  # the positions contain them
            state[name].zero_()
    network.load_state_dict(state)
    origin = {key: model.meta[key] for key in ("name", "version", "treebanks", "credits") if key in model.meta}
    teacher = Teacher(lists, (network.eval(),), {**_encoder_digest(model), "start": origin}, out)
    save_teacher(out, teacher)
    return teacher


def _unpack(model: SpanModel) -> tuple[dict[str, np.ndarray], int]:
    """Return the arrays of a model's network as float32, by their stored names, and the number of heads."""
    packed = model.packed[0]
    if not isinstance(packed, PackedEncoder):
        raise ConfigError("the span model has no pretrained encoder; give one that has, such as that of en_dtparse_lg")
    return real_arrays(packed.arrays), packed.n_heads


def _config(arrays: dict[str, np.ndarray], n_heads: int) -> dict[str, Any]:
    """The configuration of BERT's shape, by the names of `transformers`."""
    (n_layers, d, inside), (n_pieces, _) = arrays["inner"].shape, arrays["table"].shape
    return {
        "model_type": "bert", "hidden_act": "gelu", "hidden_size": d, "intermediate_size": inside,
        "num_hidden_layers": n_layers, "num_attention_heads": n_heads, "vocab_size": n_pieces,
        "max_position_embeddings": len(arrays["positions"]), "type_vocab_size": 2, "layer_norm_eps": _EPSILON,
    }  # fmt: skip


def _tokenizer(pieces: tuple[str, ...]) -> dict[str, Any]:
    """BERT's tokenizer for word pieces in lower case, in the form of `tokenizers`."""
    ids = {piece: k for k, piece in enumerate(pieces)}
    special = [
        {
            "id": ids[piece], "content": piece, "single_word": False, "lstrip": False, "rstrip": False,
            "normalized": False, "special": True,
        }
        for piece in sorted(_SPECIAL, key=ids.__getitem__)
    ]  # fmt: skip
    return {
        "version": "1.0", "truncation": None, "padding": None, "added_tokens": special,
        "normalizer": {
            "type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True, "strip_accents": None,
            "lowercase": True,
        },
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "post_processor": {"type": "BertProcessing", "sep": [END, ids[END]], "cls": [BEGIN, ids[BEGIN]]},
        "decoder": None,
        "model": {
            "type": "WordPiece", "unk_token": UNKNOWN, "continuing_subword_prefix": CONTINUED,
            "max_input_chars_per_word": MAX_CHARACTERS, "vocab": ids,
        },
    }  # fmt: skip


def _weights(arrays: dict[str, np.ndarray], n_heads: int) -> dict[str, np.ndarray]:
    """The state of a TeacherNetwork without the layer for tags, sources and token types."""
    embeddings = "encoder.model.embeddings"
    found = {
        f"{embeddings}.word_embeddings.weight": arrays["table"],
        f"{embeddings}.position_embeddings.weight": arrays["positions"],
        "sources.weight": np.zeros((1, arrays["table"].shape[1]), dtype=REAL),  # the positions contain it
        "shapes.weight": arrays["shapes"],
        "gaps.weight": arrays["edges"].T,
        "gaps.bias": arrays["edge_bias"],
        "form": arrays["bilinear"],
        "alone.weight": np.concatenate([arrays["from_left"], arrays["from_right"]])[None],
        "labels.weight": arrays["labels"].T,
        "labels.bias": arrays["label_bias"],
    }
    norms = {f"{embeddings}.LayerNorm": arrays["first_norm"], "label_norm": arrays["label_norm"]}
    scale = REAL(math.sqrt(arrays["table"].shape[1] / n_heads))
    for layer in range(len(arrays["norms"])):
        prefix = f"encoder.model.encoder.layer.{layer}"
        matrices = np.split(arrays["attention"][layer], 3, axis=1)
        biases = np.split(arrays["attention_bias"][layer], 3)
        matrices[0], biases[0] = matrices[0] * scale, biases[0] * scale
        parts = {f"attention.self.{name}": k for k, name in enumerate(("query", "key", "value"))}
        for name, k in parts.items():
            found[f"{prefix}.{name}.weight"], found[f"{prefix}.{name}.bias"] = matrices[k].T, biases[k]
        dense = {"attention.output.dense": "attended", "intermediate.dense": "inner", "output.dense": "outer"}
        for name, stored in dense.items():
            found[f"{prefix}.{name}.weight"] = arrays[stored][layer].T
            found[f"{prefix}.{name}.bias"] = arrays[f"{stored}_bias"][layer]
        norms[f"{prefix}.attention.output.LayerNorm"], norms[f"{prefix}.output.LayerNorm"] = arrays["norms"][layer]
    for name, (weight, bias) in norms.items():
        found[f"{name}.weight"], found[f"{name}.bias"] = weight, bias
    return found


def _encoder_digest(model: SpanModel) -> dict[str, str]:
    """The SHA-256 of the encoder from which the model's training began, by its credit; empty if it names none."""
    for credit in model.meta.get("credits", []):
        found = re.match(r"Encoder: (\S+) ", credit)
        if found and found.group(1) in KNOWN:
            return {"encoder": KNOWN[found.group(1)].digest}
    return {}
