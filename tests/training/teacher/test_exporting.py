"""A teacher as a span parser that runs without torch."""

# ruff: noqa: E402 (what needs torch is imported once it is known to be there)

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")
pytest.importorskip("tokenizers")

from spacy_dtparse.errors import ConfigError
from spacy_dtparse.jit.decorator import interpret_kernels
from spacy_dtparse.span_parser.kernels.network import label_spans, score_spans
from spacy_dtparse.span_parser.pretrained_parser import PretrainedSpanParser
from tests.span_models import PIECES
from training.__main__ import main
from training.data.shards import LabelSets
from training.data.treebanks import TreebankFile
from training.teacher.encoder import encoder_config
from training.teacher.exporting import export_teacher
from training.teacher.model import Teacher, save_teacher
from training.teacher.network import TeacherNetwork, WordPieceTokenizer

SAMPLE = Path(__file__).resolve().parents[3] / "assets" / "sample" / "train.mrg"
CONFIG = {
    "model_type": "bert", "hidden_act": "gelu", "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2,
    "num_attention_heads": 4, "max_position_embeddings": 24, "type_vocab_size": 2, "vocab_size": len(PIECES),
    "layer_norm_eps": 1e-12,
}  # fmt: skip
WORDS = "The cats sat on a mat , abab saw".split()


def small_teacher(folder: Path, **changes: object) -> Teacher:
    """A teacher of random weights over a small encoder."""
    folder.mkdir(parents=True)
    (folder / "config.json").write_text(json.dumps({**CONFIG, **changes}))
    tokenizer = {
        "version": "1.0", "truncation": None, "padding": None, "added_tokens": [],
        "normalizer": {
            "type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True, "strip_accents": None,
            "lowercase": True,
        },
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "post_processor": {"type": "BertProcessing", "sep": ["[SEP]", 3], "cls": ["[CLS]", 2]},
        "decoder": None,
        "model": {
            "type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
            "max_input_chars_per_word": 100, "vocab": {piece: k for k, piece in enumerate(PIECES)},
        },
    }  # fmt: skip
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer))
    lists = LabelSets.from_sentences(TreebankFile(SAMPLE).read())
    torch.manual_seed(0)
    network = TeacherNetwork(encoder_config(folder), len(lists.chains), len(lists.tags), len(lists.sources), 16)
    with torch.no_grad():
        for name, parameter in network.named_parameters():
            parameter.normal_(std=0.3)
            if name.endswith("LayerNorm.weight") or name == "label_norm.weight":
                parameter.add_(1)
    return Teacher(lists, (network.eval(),), {}, folder)


def test_the_parser_computes_what_the_teacher_computes(tmp_path: Path) -> None:
    teacher = small_teacher(tmp_path / "teacher")
    parser = PretrainedSpanParser(export_teacher(teacher, [TreebankFile(SAMPLE)], [], {"lang": "en"}))
    (network,) = teacher.networks
    n = len(WORDS)
    spans = np.stack(np.triu_indices(n + 1, 1), axis=1).astype(np.int32)
    with torch.inference_mode():
        scores = network([WordPieceTokenizer(teacher.folder).tokenize(WORDS)], [0])
        columns = [torch.from_numpy(column) for column in spans.T.astype(np.int64).copy()]
        logits = network.label_scores(scores, [torch.zeros(len(spans), dtype=torch.int64), *columns]).numpy()
    with interpret_kernels():
        gaps, own, layer = parser.run_networks(WORDS, ["NN"] * n)
    found, logs = np.empty((n + 1, n + 1), np.float32), np.empty((len(spans), len(teacher.lists.chains)), np.float32)
    score_spans(gaps, own, 0, n, found)
    label_spans(gaps, layer, spans, logs)
    longer = spans[spans[:, 1] - spans[:, 0] > 1]
    expected = scores.spans[0].numpy()[tuple(longer.T)]
    assert np.corrcoef(found[tuple(longer.T)], expected)[0, 1] > 0.999, "but for rounding to int8"
    assert np.abs(found[tuple(longer.T)] - expected).max() < 0.1 * np.abs(expected).max()
    log_probs = logits - np.logaddexp.reduce(logits, axis=1)[:, None]
    assert np.abs(logs - log_probs).max() < 0.1 * np.abs(log_probs).max()


def test_the_command_writes_a_model_with_credits(tmp_path: Path, capsys) -> None:
    save_teacher(tmp_path / "out", small_teacher(tmp_path / "teacher"))
    arguments = ["teacher", "export", str(tmp_path / "out"), "--train", str(SAMPLE), "--credit", "Raw text: ours"]
    assert main([*arguments, "--out", str(tmp_path / "p.model")]) in (0, None)
    assert "p.model" in capsys.readouterr().out
    parser = PretrainedSpanParser.from_disk(tmp_path / "p.model")
    assert any("Encoder" in credit for credit in parser.meta["credits"]) and "Raw text: ours" in parser.meta["credits"]
    assert parser.parse(["Dogs", "bark", "."], ["NNS", "VBP", "."]).tree.n_tokens == 3
    assert parser.model.attach_tables is not None


def test_encoders_of_other_shapes_are_refused(tmp_path: Path) -> None:
    teacher = small_teacher(tmp_path / "relu", hidden_act="relu")
    with pytest.raises(ConfigError, match="runs those of type 'bert' with 'gelu'"):
        export_teacher(teacher, [TreebankFile(SAMPLE)], [], {})
    several = Teacher(teacher.lists, teacher.networks * 2, {}, teacher.folder)
    with pytest.raises(ConfigError, match="has 2 networks"):
        export_teacher(several, [TreebankFile(SAMPLE)], [], {})
