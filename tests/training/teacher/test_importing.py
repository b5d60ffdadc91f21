"""A span parser over a pretrained encoder as a teacher, whose training can continue."""

# ruff: noqa: E402 (what needs torch is imported once it is known to be there)

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")
pytest.importorskip("tokenizers")

from spacy_dtparse.errors import ConfigError
from spacy_dtparse.span_parser.pretrained import PackedEncoder
from spacy_dtparse.span_parser.pretrained_parser import PretrainedSpanParser
from tests.span_models import random_model
from tests.training.teacher.test_exporting import SAMPLE, WORDS, small_teacher
from training.__main__ import main
from training.data.treebanks import TreebankFile
from training.teacher.exporting import export_teacher
from training.teacher.importing import import_model
from training.teacher.model import load_teacher
from training.teacher.network import WordPieceTokenizer
from training.teacher.pretrained import KNOWN, MINILM


def test_import_reverses_export(tmp_path: Path) -> None:
    exported = export_teacher(small_teacher(tmp_path / "teacher"), [TreebankFile(SAMPLE)], [], {"lang": "en"})
    imported = import_model(exported, tmp_path / "imported")
    again = export_teacher(imported, [TreebankFile(SAMPLE)], [], {"lang": "en"})
    assert again.chains == exported.chains and again.words.to_dict() == exported.words.to_dict()
    ((before,), (after,)) = exported.packed, again.packed
    assert isinstance(before, PackedEncoder) and isinstance(after, PackedEncoder)
    assert after.n_heads == before.n_heads and after.arrays.keys() == before.arrays.keys()
    for name, array in before.arrays.items():
        np.testing.assert_allclose(after.arrays[name], array, rtol=2e-3, atol=1e-6, err_msg=name)
        if array.dtype == np.int8:
            np.testing.assert_array_equal(after.arrays[name], array, err_msg=name)


def test_the_network_computes_what_the_first_teacher_computed(tmp_path: Path) -> None:
    first = small_teacher(tmp_path / "teacher")
    import_model(export_teacher(first, [TreebankFile(SAMPLE)], [], {}), tmp_path / "imported")
    second = load_teacher([tmp_path / "imported"])
    with torch.inference_mode():
        before, after = (
            one.networks[0]([WordPieceTokenizer(one.folder).tokenize(WORDS)], [0]) for one in (first, second)
        )
    for name in ("spans", "left", "right"):
        old, new = getattr(before, name).numpy(), getattr(after, name).numpy()
        assert np.abs(new - old).max() < 0.05 * np.abs(old).max(), "but for rounding to int8"


def test_words_have_the_same_pieces(tmp_path: Path) -> None:
    model = export_teacher(small_teacher(tmp_path / "teacher"), [TreebankFile(SAMPLE)], [], {})
    words = [*WORDS, "Café", "CATS", "x" * 200, "…", "ab-ab", "\u00ad", "日本"]
    tokenizer = WordPieceTokenizer(import_model(model, tmp_path / "imported").folder)
    for word in words:
        rows, _ = model.words.encode_all([[word]], 24)
        np.testing.assert_array_equal(tokenizer.tokenize([word]).pieces, rows.pieces[:, 0], err_msg=word)


def test_credits_survive_further_training(tmp_path: Path, capsys) -> None:
    teacher = replace(small_teacher(tmp_path / "teacher"), meta={"encoder": KNOWN[MINILM].digest})
    trees, first_trees = tmp_path / "own" / "train.mrg", tmp_path / "gum" / "train.mrg"
    short = [line for line in SAMPLE.read_text(encoding="utf8").splitlines(keepends=True) if line.count(" (") < 16]
    for path in (trees, first_trees):
        path.parent.mkdir()
        path.write_text("".join(short[:6]), encoding="utf8")
    files = [TreebankFile(first_trees), TreebankFile(trees)]
    model = export_teacher(teacher, files, [], {"name": "first", "credits": ["Raw text: ours"]})
    (tmp_path / "first.model").write_bytes(PretrainedSpanParser(model).to_bytes())
    work = [str(tmp_path / name) for name in ("imported", "work", "out", "second.model")]
    assert main(["teacher", "import-model", str(tmp_path / "first.model"), "--out", work[0]]) in (0, None)
    assert "label chains" in capsys.readouterr().out
    fit = ["teacher", "fit", "--start", work[0], "--train", str(trees), "--workdir", work[1], "--out", work[2]]
    assert main([*fit, "--set", "epochs=1"]) in (0, None)
    assert main(["teacher", "export", work[2], "--train", str(trees), "--out", work[3]]) in (0, None)
    meta = PretrainedSpanParser.from_disk(Path(work[3])).meta
    assert set(model.meta["credits"]) <= set(meta["credits"])
    assert any(credit.startswith("Encoder: minilm") for credit in meta["credits"])
    assert [one["name"] for one in meta["treebanks"]] == ["own", "gum"]
    assert meta["start"]["name"] == "first" and meta["start"]["treebanks"][0]["name"] == "gum"
    assert meta["license"] == model.meta["license"]


def test_models_without_a_pretrained_encoder_are_refused(tmp_path: Path, capsys) -> None:
    with pytest.raises(ConfigError, match="no pretrained encoder"):
        import_model(random_model(), tmp_path / "imported")
    assert main(["teacher", "import-model", "en_span", "--out", str(tmp_path / "imported")]) == 1
    assert "without a pretrained encoder" in capsys.readouterr().err
