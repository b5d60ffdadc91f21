"""The same seed gives the same bytes, with one worker or two.

They are run as commands, which keep matrix products to one thread: sums of several are not always the same.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.hostile.training import RECIPE, ROOT, SAMPLE

TREES, FEW = f"{SAMPLE}/train.mrg,limit=40", f"{SAMPLE}/dev.mrg,limit=5"
SPAN = ["--set", "epochs=1", "batch_tokens=200", "warmup_steps=5", "shape.layers=1", "shape.width=16"]
MEMBERS = ["--set", "members=3", "epochs=2", "folds=2", "guide_members=1", "label_members=1", "label_epochs=1"]
COMMANDS = {
    "fit": (["train-boosted", "--train", TREES, "--dev", FEW], ["--set", "n_workers={}"]),
    "span": (["train-span", "--train", TREES, "--dev", FEW, "--seeds", "0", "1", *SPAN], ["--workers", "{}"]),
    "pcfgla": (["train-pcfgla", "--train", TREES, "--cycles", "2", "--iterations", "3"], ["--threads", "{}"]),
    "bpm": (["train-bpm", "--train", str(SAMPLE / "dependencies.conllu"), *MEMBERS], ["--workers", "{}"]),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", COMMANDS)
def test_any_number_of_workers(name: str, tmp_path: Path) -> None:
    arguments, workers = COMMANDS[name]
    found = []
    for number in (1, 2, 2):
        folder = tmp_path / str(len(found))
        folder.mkdir()
        given = [part.format(number) for part in workers]
        if name == "fit":
            (folder / "recipe.json").write_text(json.dumps(RECIPE), encoding="utf8")
            given += ["--recipe", str(folder / "recipe.json")]
        command = [*arguments, *given, "--workdir", str(folder / "work"), "--out", str(folder / "model")]
        subprocess.run([sys.executable, "-m", "training", *command], check=True, cwd=ROOT, capture_output=True)
        found.append((folder / "model").read_bytes())
    assert found[0] == found[1] == found[2]
