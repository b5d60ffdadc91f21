"""Teachers and students for an accelerator, on the CPU: the parts against those of the project and of transformers, and
the whole way from the sample treebank to a span parser."""

# ruff: noqa: E402 (what needs torch is imported once it is known to be there)

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
safetensors = pytest.importorskip("safetensors.torch")
pytest.importorskip("tokenizers")

from spacy_dtparse.errors import ConfigError
from spacy_dtparse.span_parser.kernels import chart
from spacy_dtparse.span_parser.pretrained_parser import PretrainedSpanParser
from training.__main__ import main
from training.data.spans import crossing_spans as crossing_of_sentence
from training.teacher.accelerated import __main__ as device
from training.teacher.accelerated.annotations import Annotations, annotate_batch
from training.teacher.accelerated.arrays import GOLD, RAW, STUDENT, SentenceArrays, plan_batches
from training.teacher.accelerated.encoder import Encoder, spread_layers
from training.teacher.accelerated.inside_outside import tree_posteriors
from training.teacher.accelerated.losses import crossing_spans, distillation_loss
from training.teacher.accelerated.network import Network, load_vocabulary, make_network
from training.teacher.accelerated.saving import mean_weights, save_network
from training.teacher.accelerated.steps import BLOCK, block_of
from training.teacher.accelerated.weights import EncoderShape, load_weights, round_rows, save_encoder
from training.teacher.model import load_teacher
from training.teacher.network import WordPieceTokenizer

ROOT = Path(__file__).resolve().parents[3]
SAMPLE = ROOT / "assets" / "sample"
CPU = torch.device("cpu")
PIECES = (
    *"[PAD] [UNK] [CLS] [SEP] the of to and in is was it he she they . , ' - \" ? 1 2".split(),
    *"abcdefghijklmnopqrstuvwxyz",
    *(f"##{letter}" for letter in "abcdefghijklmnopqrstuvwxyz"),
)
LAYERS = {
    "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4, "hidden_act": "gelu",
    "max_position_embeddings": 514, "hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0,
}  # fmt: skip


def write_encoder(folder: Path, kind: str) -> Path:
    """Write the folder of a small encoder with random weights and a tokenizer of single letters."""
    folder.mkdir()
    pieces = PIECES if kind == "bert" else ("<s>", "<pad>", "</s>", "[UNK]", *reversed(PIECES[4:]))
    special = {"bert": {"type_vocab_size": 2, "pad_token_id": 0}, "mpnet": {"pad_token_id": 1}}[kind]
    config = {"model_type": kind, **LAYERS, **special, "vocab_size": len(pieces)}
    config = transformers.AutoConfig.for_model(**config)
    torch.manual_seed(1)
    model = transformers.AutoModel.from_config(config, add_pooling_layer=False).eval()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.normal_(std=0.3)
            if name.endswith("LayerNorm.weight"):
                parameter.add_(1)
    (folder / "config.json").write_text(json.dumps(config.to_dict()))
    safetensors.save_file({k: v.contiguous() for k, v in model.state_dict().items()}, folder / "model.safetensors")
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
            "max_input_chars_per_word": 100, "vocab": {piece: k for k, piece in enumerate(pieces)},
        },
    }  # fmt: skip
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer))
    return folder


@pytest.fixture(scope="module")
def encoders(tmp_path_factory) -> dict[str, Path]:
    """The folders of a small encoder of each kind."""
    root = tmp_path_factory.mktemp("encoders")
    return {kind: write_encoder(root / kind, kind) for kind in ("bert", "mpnet")}


@pytest.fixture(scope="module")
def arrays(tmp_path_factory, encoders: dict[str, Path]) -> Path:
    """A folder of arrays of the sample treebank."""
    out = tmp_path_factory.mktemp("arrays")
    arguments = ["--train", f"{SAMPLE / 'train.mrg'},limit=60", "--dev", f"{SAMPLE / 'dev.mrg'},limit=20"]
    arguments += ["--dependencies", str(SAMPLE / "dependencies.conllu"), "--text", str(SAMPLE / "plain.txt")]
    arguments += ["--source", "sample", "--workers", "1", "--student-encoder", str(encoders["bert"])]
    main(["teacher", "arrays", *arguments, "--teacher-encoder", str(encoders["mpnet"]), "--out", str(out)])
    return out


def test_posteriors_are_those_of_the_parser() -> None:
    lengths = [7, 4, 1, 9, 2, 3]
    torch.manual_seed(0)
    scores = torch.randn(len(lengths), 10, 10)
    sums, posteriors = tree_posteriors(scores, torch.tensor(lengths))
    for row, n in enumerate(lengths):
        found = posteriors[row].numpy()
        assert found[n + 1 :].sum() == found[:, n + 1 :].sum() == 0
        if n == 1:
            assert found.sum() == 0
            continue
        matrix = scores[row, : n + 1, : n + 1].numpy().copy()
        np.fill_diagonal(matrix[:, 1:], 0)
        expected_sum, expected = chart.tree_posteriors(matrix)
        assert abs(expected_sum - float(sums[row])) < 1e-4
        assert np.abs(np.triu(expected, 2) - found[: n + 1, : n + 1]).max() < 1e-4


@pytest.mark.parametrize("kind", ["bert", "mpnet"])
def test_the_encoder_computes_what_transformers_computes(encoders: dict[str, Path], kind: str, tmp_path: Path) -> None:
    folder = encoders[kind]
    tensors = safetensors.load_file(folder / "model.safetensors")
    save_encoder(tmp_path / "weights.npz", {name: t.numpy() for name, t in tensors.items()}, int8=False)
    shape = EncoderShape.from_folder(folder)
    encoder = Encoder(shape, 2).eval()
    encoder.load(load_weights(tmp_path / "weights.npz"), [0, 1])
    model = transformers.AutoModel.from_pretrained(folder, add_pooling_layer=False).eval()
    x = torch.randn(3, 150, shape.width)
    mask = torch.arange(150)[None] < torch.tensor([150, 20, 3])[:, None]
    with torch.no_grad():
        expected = model(inputs_embeds=x, attention_mask=mask.long()).last_hidden_state
        assert (encoder(x, mask) - expected)[mask].abs().max() < 1e-3
        encoder.load(load_weights(tmp_path / "weights.npz"), [1, 1])
        assert (encoder(x, mask) - expected)[mask].abs().max() > 0.1, "other layers"


def test_layers_are_spread_evenly() -> None:
    assert spread_layers(6, 6) == [0, 1, 2, 3, 4, 5] and spread_layers(6, 1) == [0]
    assert spread_layers(6, 9) == [0, 1, 1, 2, 2, 3, 4, 4, 5]


def test_encoders_of_other_kinds_are_refused(encoders: dict[str, Path], tmp_path: Path) -> None:
    config = json.loads((encoders["bert"] / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps({**config, "hidden_act": "relu"}))
    (tmp_path / "tokenizer.json").write_bytes((encoders["bert"] / "tokenizer.json").read_bytes())
    with pytest.raises(ValueError, match="allowed are bert and mpnet with gelu"):
        EncoderShape.from_folder(tmp_path)


def test_rounding_keeps_rows_to_half_a_step() -> None:
    weights = np.random.default_rng(0).standard_normal((5, 40)).astype(np.float32)
    rounded, factors = round_rows(weights)
    assert rounded.dtype == np.int8 and np.abs(rounded).max(1).tolist() == [127] * 5
    assert (np.abs(rounded * factors - weights) <= factors * 0.501).all()


def test_batches_contain_each_sentence_once_and_are_small_enough() -> None:
    pieces = np.random.default_rng(0).integers(3, 60, 300)
    planned = plan_batches(pieces, 1, 200, np.random.default_rng(1))
    assert sorted(np.concatenate(planned).tolist()) == list(range(300))
    assert all(len(part) * -(-pieces[part].max() // 8) * 8 <= 200 for part in planned)
    assert block_of(3 * BLOCK).tolist() == [0] * BLOCK + [1] * BLOCK + [0] * BLOCK


def test_arrays_are_the_word_pieces_of_the_teachers_network(arrays: Path, encoders: dict[str, Path]) -> None:
    data = SentenceArrays(arrays / GOLD, CPU)
    index = torch.tensor([0, 3])
    batch = data.batch(index, data.sources[index], load_vocabulary(arrays, STUDENT, CPU))
    from training.data.treebanks import TreebankFile

    sentences = TreebankFile(SAMPLE / "train.mrg", limit=4).read()
    tokenizer = WordPieceTokenizer(encoders["bert"])
    for row, sentence in enumerate((sentences[0], sentences[3])):
        expected = tokenizer.tokenize(sentence.tree.words)
        size = len(expected.pieces)
        assert batch.pieces[row, :size].tolist() == expected.pieces.tolist() and int(batch.mask[row].sum()) == size
        assert batch.shapes[row, :size].tolist() == expected.shapes.tolist()
        assert batch.words[row, :, :size].argmax(0).tolist() == expected.word_of.tolist()
        assert torch.allclose(batch.words[row, : expected.n + 2].sum(1), torch.ones(expected.n + 2), atol=2e-3)
    rows, starts, ends, _ = data.spans_of(index)
    n = batch.n
    inner = (ends - starts > 1) & (ends - starts < batch.lengths[rows])
    found = crossing_spans(rows[inner], starts[inner], ends[inner], (2, n + 1, n + 1)).numpy() > 0
    for row in (0, 1):
        length = int(batch.lengths[row])
        chosen = rows == row
        pairs = list(zip(starts[chosen].tolist(), ends[chosen].tolist(), strict=True))
        expected_crossing = np.triu(crossing_of_sentence(pairs, length), 1)
        assert (np.triu(found[row, : length + 1, : length + 1], 1) == expected_crossing).all()


def test_a_student_that_is_its_teacher_has_no_divergence(arrays: Path, tmp_path: Path) -> None:
    """Brackets cost nothing; the scores are stored as float16 and computed in bfloat16."""
    torch.manual_seed(0)
    network, other = (make_network(arrays, STUDENT).eval() for _ in range(2))
    data, vocabulary = SentenceArrays(arrays / RAW, CPU), load_vocabulary(arrays, STUDENT, CPU)
    index = torch.from_numpy(np.flatnonzero(data.words_of > 1))
    with torch.no_grad():
        batch = data.batch(index, torch.zeros_like(index), vocabulary)
        torch.save(annotate_batch([network], batch, index), tmp_path / "a.pt")
        targets = Annotations(data, [tmp_path / "a.pt"])
        with torch.autocast("cpu", torch.bfloat16):
            _, own = distillation_loss(network, targets, index, batch)
            _, others = distillation_loss(other, targets, index, batch)
    assert targets.annotated.sum() == len(index)
    assert abs(float(own[0])) < 1e-3 < float(others[0])
    assert (own[1:] < others[1:]).all()


def test_the_way_from_treebank_to_parser(arrays: Path, encoders: dict[str, Path], tmp_path: Path) -> None:
    """Teachers, annotation, students, the mean of two networks, a teacher's folder, a span parser."""
    common = ["--arrays", str(arrays), "--device", "cpu"]
    path = {name: str(tmp_path / name) for name in ("t.pt", "a.pt", "s.pt", "f.pt", "f.npz", "out", "p.model")}
    teacher = ["teacher", "--seconds", "1", "--batch-pieces", "800", "--weight", "en_ewt=0.5"]
    device.main([*teacher, *common, "--out", path["t.pt"]])
    device.main(["annotate", "--teachers", path["t.pt"], path["t.pt"], *common, "--out", path["a.pt"]])
    student = ["student", "--annotations", path["a.pt"], "--batch-pieces", "1000", "--seconds", "1", *common]
    device.main([*student, "--layers", "3", "--out", path["s.pt"]])
    more = ["--layers", "3", "--start", path["s.pt"], "--gold", "0.5", "--final", "0", "--without-block", "1"]
    device.main([*student, *more, "--out", path["f.pt"]])
    losses = json.loads((tmp_path / "f.json").read_text())
    assert set(losses) == {"sample"} and np.isfinite(losses["sample"]).all()
    device.main(["save", path["f.pt"], *common, "--out", path["f.npz"]])
    imported = ["teacher", "import-networks", path["f.npz"], path["f.npz"], "--arrays", str(arrays)]
    main([*imported, "--encoder", str(encoders["bert"]), "--out", path["out"]])
    check_scores(arrays, tmp_path / "f.npz", tmp_path / "out")
    main(["teacher", "export", path["out"], "--train", str(SAMPLE / "train.mrg"), "--out", path["p.model"]])
    parser = PretrainedSpanParser.from_disk(tmp_path / "p.model")
    assert parser.parse(["Dogs", "bark", "."], ["NNS", "VBP", "."]).tree.n_tokens == 3


def check_scores(arrays: Path, saved: Path, folder: Path) -> None:
    """A teacher's folder has the scores of the network from which it was made."""
    weights = mean_weights([saved])
    (imported,) = load_teacher([folder]).networks
    network: Network = make_network(arrays, STUDENT, 3).eval()
    lacking = network.load_state_dict(weights, strict=False)
    assert lacking.missing_keys == ["encoder.words.weight"] and not lacking.unexpected_keys
    data = SentenceArrays(arrays / GOLD, CPU)
    index = torch.tensor([0])
    batch = data.batch(index, torch.tensor([1]), load_vocabulary(arrays, STUDENT, CPU))
    from training.data.treebanks import TreebankFile

    words = TreebankFile(SAMPLE / "train.mrg", limit=1).read()[0].tree.words
    with torch.no_grad():
        scores, expected = imported([WordPieceTokenizer(folder).tokenize(words)], [1]), network(batch)
    for found, other in zip(scores, expected, strict=True):
        assert (found - other).abs().max() < 2e-3 * max(1, float(other.abs().max())), "word weights are float16"


def test_the_mean_of_networks_is_that_of_their_weights(arrays: Path, tmp_path: Path) -> None:
    for seed in (0, 1):
        torch.manual_seed(seed)
        save_network(tmp_path / f"{seed}.npz", make_network(arrays, STUDENT))
    first, second = (load_weights(tmp_path / f"{seed}.npz")["form"] for seed in (0, 1))
    found = mean_weights([tmp_path / "0.npz", tmp_path / "1.npz"])["form"].numpy()
    assert np.allclose(found, (first + second) / 2) and not np.allclose(found, first)


def test_wrong_sources_and_missing_files_are_refused(encoders: dict[str, Path], tmp_path: Path) -> None:
    from training.data.text import TextFile
    from training.data.treebanks import TreebankFile
    from training.teacher.accelerated.preparing import Preparation, prepare_arrays

    trees, texts = (TreebankFile(SAMPLE / "dev.mrg"),), (TextFile(SAMPLE / "plain.txt"),)
    names = {"teacher": str(encoders["mpnet"]), "student": str(encoders["bert"])}
    preparation = Preparation(trees, trees, (), texts, **names)
    with pytest.raises(ConfigError, match="not trained on 'wsj'"):
        prepare_arrays(tmp_path, replace(preparation, source="wsj"))
    with pytest.raises(ConfigError, match="--source-of names other, but the texts are plain"):
        prepare_arrays(tmp_path, replace(preparation, source_of={"other": "sample"}))
    config = {**json.loads((encoders["bert"] / "config.json").read_text()), "hidden_act": "relu"}
    for file in ("tokenizer.json", "model.safetensors"):
        (tmp_path / file).write_bytes((encoders["bert"] / file).read_bytes())
    (tmp_path / "config.json").write_text(json.dumps(config))
    with pytest.raises(ConfigError, match=r"cannot be used on the device: .* allowed are bert and mpnet with gelu"):
        prepare_arrays(tmp_path, replace(preparation, student=str(tmp_path)))
    with pytest.raises(ConfigError, match="give --dev and --text"):
        prepare_arrays(tmp_path, replace(preparation, dev=()))


def test_the_device_needs_only_torch_and_numpy() -> None:
    code = (
        "import sys, training.teacher.accelerated.__main__\n"
        "print([m for m in ('spacy_dtparse', 'spacy', 'numba', 'transformers', 'safetensors') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout.strip() == "[]"
