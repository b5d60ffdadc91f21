"""A trained teacher as a model file of the span parser, which runs it without torch."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from spacy_dtparse import __version__
from spacy_dtparse.dtypes import REAL
from spacy_dtparse.errors import ConfigError
from spacy_dtparse.span_parser.kernels.pretrained import PretrainedNetwork
from spacy_dtparse.span_parser.model import SpanModel
from spacy_dtparse.span_parser.pretrained import PackedEncoder
from spacy_dtparse.span_parser.word_pieces import N_SHAPES, WordPieces
from spacy_dtparse.symbols import CompactSymbolTable, SymbolTable
from spacy_dtparse.trees.heads import head_rules

from ..data.attach_tables import attach_tables, mark_never_unattached
from ..data.heads import rules_for
from ..data.shards import text_name
from ..data.treebanks import TreebankFile, read_files, text_credits, training_origin
from .model import Teacher
from .network import ANY_SOURCE
from .pretrained import KNOWN


def export_teacher(
    teacher: Teacher, train: Sequence[TreebankFile], shards: Sequence[Path], metadata: dict[str, Any]
) -> SpanModel:
    """The span model of a teacher with one network, for text of no particular source. `train`, `shards`: what it was
    trained on, for credits; from the trees the tables for attaching are counted. `metadata`: entries for the model's
    meta. A teacher that `import_model` wrote keeps the treebanks and credits of that model. Raises ConfigError for
    several networks, and for an encoder that is not BERT's with lower-case word pieces."""
    if len(teacher.networks) != 1:
        raise ConfigError(f"the teacher has {len(teacher.networks)} networks; export a folder with one")
    config = json.loads((teacher.folder / "config.json").read_text(encoding="utf8"))
    tokenizer = json.loads((teacher.folder / "tokenizer.json").read_text(encoding="utf8"))
    lower = tokenizer.get("normalizer", {}).get("lowercase", False)
    if config.get("model_type") != "bert" or config.get("hidden_act") != "gelu" or not lower:
        raise ConfigError(
            f"{teacher.folder}: an encoder of type {config.get('model_type')!r} with the activation "
            f"{config.get('hidden_act')!r}; the span parser runs those of type 'bert' with 'gelu' and word pieces in "
            "lower case, such as minilm"
        )
    vocabulary = tokenizer["model"]["vocab"]
    pieces = sorted(vocabulary, key=vocabulary.__getitem__)
    words = WordPieces([CompactSymbolTable(pieces), SymbolTable(teacher.lists.tags)])
    weights = {name: tensor.numpy() for name, tensor in teacher.networks[0].state_dict().items()}
    network = _network(weights, int(config["num_attention_heads"]))
    chains, trees = teacher.lists.chains, [sentence.tree for sentence in read_files(train)]
    labels = tuple(sorted({label for chain in chains for label in chain}))
    tables = attach_tables(trees, labels, teacher.lists.tags)
    tables = mark_never_unattached(tables, trees, labels, teacher.lists.tags)
    meta = _meta(teacher, train, shards, metadata)
    rules = rules_for(metadata.get("lang", "en"), trees)
    if rules != head_rules(metadata.get("lang", "en")):
        meta["head_rules"] = rules.to_dict()
    return SpanModel(words, chains, (PackedEncoder.pack(network),), meta, tables)


def _meta(
    teacher: Teacher, train: Sequence[TreebankFile], shards: Sequence[Path], metadata: dict[str, Any]
) -> dict[str, Any]:
    start, names = teacher.meta.get("start", {}), {file.name for file in train}
    start_treebanks = [one for one in start.get("treebanks", []) if one["name"] not in names]
    origin = training_origin(train, [one["name"] for one in start_treebanks])
    texts = text_credits([text_name(path) for path in shards])
    credits = [*origin["credits"], encoder_credit(teacher), *metadata.get("credits", []), *texts]
    treebanks = [{"name": file.name, "weight": file.weight, "tags": "gold"} for file in train]
    meta = {
        "version": __version__,
        **metadata,
        "treebanks": treebanks + start_treebanks,
        "license": origin["license"],
        "credits": list(dict.fromkeys([*credits, *start.get("credits", [])])),
        "sources": origin["sources"],
        "options": teacher.meta.get("options", {}),
    }
    if start_treebanks:
        meta["start"] = {**{key: start.get(key) for key in ("name", "version")}, "treebanks": start_treebanks}
    return meta


def encoder_credit(teacher: Teacher) -> str:
    """The credit for the encoder that a teacher started from."""
    digest = teacher.meta.get("encoder")
    known = [(name, encoder) for name, encoder in KNOWN.items() if encoder.digest == digest]
    if not known:
        return f"Encoder with the SHA-256 {digest}, whose terms are not known"
    name, encoder = known[0]
    return f"Encoder: {name} (Apache-2.0), from the package {encoder.packages[0]}"


def _network(weights: Mapping[str, np.ndarray], n_heads: int) -> PretrainedNetwork:
    """The network with the weights of a TeacherNetwork's state."""
    encoder = {name.removeprefix("encoder.model."): w.astype(REAL) for name, w in weights.items()}
    n_layers = 1 + max(int(name.split(".")[2]) for name in encoder if name.startswith("encoder.layer."))

    def norm(name: str) -> np.ndarray:
        return np.stack([encoder[f"{name}.weight"], encoder[f"{name}.bias"]])

    def layers(name: str, scale: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
        """The matrices (inputs, outputs) and biases of all layers."""
        prefixes = [f"encoder.layer.{layer}.{name}" for layer in range(n_layers)]
        matrices = np.stack([encoder[f"{prefix}.weight"].T for prefix in prefixes])
        return matrices * REAL(scale), np.stack([encoder[f"{prefix}.bias"] for prefix in prefixes]) * REAL(scale)

    table = encoder["embeddings.word_embeddings.weight"]
    d, m = table.shape[1], len(encoder["form"])
    everywhere = encoder["embeddings.token_type_embeddings.weight"][0] + encoder["sources.weight"][ANY_SOURCE]
    query = layers("attention.self.query", 1 / math.sqrt(d / n_heads))
    rest = [layers("attention.self.key"), layers("attention.self.value")]
    attention, attention_bias = (np.concatenate(parts, axis=-1) for parts in zip(query, *rest, strict=True))
    attended, attended_bias = layers("attention.output.dense")
    inner, inner_bias = layers("intermediate.dense")
    outer, outer_bias = layers("output.dense")
    norms = [
        [norm(f"encoder.layer.{layer}.{part}.LayerNorm") for part in ("attention.output", "output")]
        for layer in range(n_layers)
    ]
    boundary = encoder["alone.weight"][0]
    return PretrainedNetwork(
        table, np.ones(len(table), dtype=REAL), encoder["shapes.weight"][:N_SHAPES],
        encoder["embeddings.position_embeddings.weight"] + everywhere, norm("embeddings.LayerNorm"), attention,
        attention_bias, attended, attended_bias, inner, inner_bias, outer, outer_bias, np.array(norms),
        encoder["gaps.weight"].T, encoder["gaps.bias"], encoder["form"], boundary[:m], boundary[m:], norm("label_norm"),
        encoder["labels.weight"].T, encoder["labels.bias"], n_heads,
    )  # fmt: skip
