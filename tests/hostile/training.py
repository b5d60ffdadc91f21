"""Trainings that are killed, stopped by a full disk, damaged on the disk, and then resumed.

    python -m tests.hostile.training --runs 300 [--seed 0] [--kinds fit span pcfgla bpm jackknife tagger]

A run is a small training of one kind, in a process of its own, that ends at a random moment: by SIGKILL, or because its
files may not grow beyond a random size (as on a full disk). In half of the runs one of its files is then damaged: cut
short, emptied, a bit flipped, removed. The same command again must end with the very bytes of a run that nobody
disturbed, or with one line that names a file or folder; without that, it does. Anything else is lost. Prints how many
of each kind ended how; exits with 1 where something is lost.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import random
import re
import resource
import shutil
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from training.runs.lock import LOCK_FILE

ROOT = Path(__file__).resolve().parents[2]
SAMPLE = ROOT / "assets" / "sample"
RECIPE = {
    "min_word_sentences": 2,
    "min_atom_count": 3,
    "atom_table_bits": 16,
    "filter_bits": 10,
    "n_workers": 1,
    "learner": {"sample_size": 1000},
    "path": {"max_levels": 2, "max_trees_per_level": 2, "lambda_start": 20.0, "save_seconds": 0.001, "quiet": True},
}
SAME, REMADE, REFUSED, LOST = "same bytes", "same bytes, with a warning of damage", "refused in words", "LOST"
MOST_SECONDS = 120.0
"""A run that takes longer hangs."""
_END = re.compile(r"^training: error: .*\S.*$")


class Ended(NamedTuple):
    """How a run ended: its outcome (one of the above), the damage done to it, its messages."""

    what: str
    done: str
    said: str = ""


class Kind:
    """A command in a folder; `out`: where it writes, `work`: the folder of unfinished work."""

    def __init__(self, name: str, folder: Path):
        self.name, self.folder, self.work, self.out = name, folder, folder / "work", folder / "out"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "recipe.json").write_text(json.dumps(RECIPE), encoding="utf8")
        trees, few = f"{SAMPLE}/train.mrg,limit=50", f"{SAMPLE}/dev.mrg,limit=6"
        links = str(SAMPLE / "dependencies.conllu")
        out = ["--out", str(self.out), "--workdir", str(self.work)]
        span = ["epochs=1", "batch_tokens=200", "warmup_steps=5", "eval_every=0.2", "shape.layers=1", "shape.width=16"]
        members = ["members=3", "epochs=2", "folds=2", "guide_members=1", "label_members=1", "label_epochs=2"]
        tagger = ["network.width=16", "network.layers=1", "fit.epochs=0.2"]
        self.arguments: list[str] = {
            "fit": ["train-boosted", "--recipe", str(folder / "recipe.json"), "--train", trees, "--dev", few, *out],
            "span": [
                "train-span", "--train", trees, "--dev", few, "--seeds", "0", "--workers", "1", "--set", *span, *out,
            ],
            "pcfgla": ["train-pcfgla", "--train", trees, "--cycles", "3", "--iterations", "2", "--threads", "1", *out],
            "bpm": ["train-bpm", "--train", links, "--workers", "1", "--set", *members, *out],
            "jackknife": [
                "jackknife-tags", "--treebank", str(SAMPLE), "--folds", "3", "--out", str(self.work),
                *[part for setting in tagger for part in ("--set", setting)],
            ],
            "tagger": [
                "train-spine-tagger", "--train", str(folder / "labelled.txt"), "--workers", "1", "--set", "epochs=6",
                "--estimator", "perceptron", *out,
            ],
        }[name]  # fmt: skip

    def clean(self) -> None:
        """Remove everything that earlier runs have written."""
        shutil.rmtree(self.work, ignore_errors=True)
        self.out.unlink(missing_ok=True)

    def result(self) -> bytes | None:
        """The bytes of the file that a finished run has written."""
        path = self.work / f"{SAMPLE.name}.train.tags" if self.name == "jackknife" else self.out
        return path.read_bytes() if path.is_file() else None

    def start(self, most_bytes: int | None = None) -> multiprocessing.Process:
        """Start a run in a process that shares this one's modules and compiled kernels."""
        process = multiprocessing.get_context("fork").Process(target=_run, args=(self, most_bytes))
        process.start()
        return process

    def said(self) -> str:
        """The text that the last run has written to standard error."""
        return (self.folder / "stderr.txt").read_text(encoding="utf8", errors="replace")


KINDS = ("fit", "span", "pcfgla", "bpm", "jackknife", "tagger")


def _run(kind: Kind, most_bytes: int | None) -> None:
    for name, number in (("stdout", 1), ("stderr", 2)):
        os.dup2(os.open(kind.folder / f"{name}.txt", os.O_WRONLY | os.O_CREAT | os.O_TRUNC), number)
        setattr(sys, name, open(number, "w", encoding="utf8", closefd=False))  # pytest may have put another there
    if most_bytes is not None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (most_bytes, resource.RLIM_INFINITY))
    from training.cli import main

    code = main(kind.arguments)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def finish(kind: Kind) -> int | None:
    """Run the command to its end; return its exit code, None if it hangs."""
    process = kind.start()
    process.join(MOST_SECONDS)
    if process.exitcode is None:
        process.kill()
        process.join()
        return None
    return process.exitcode


def damage(kind: Kind, rng: random.Random) -> str:
    """Damage a file that a run has stored; return a description of the damage."""
    files = sorted(path for path in kind.work.rglob("*") if path.is_file() and path.name != LOCK_FILE)
    if not files:
        return ""
    path = rng.choice(files)
    data = path.read_bytes()
    how = rng.choice(("cut", "empty", "flip", "flip", "gone") if data else ("gone",))
    if how == "gone":
        path.unlink()
    elif how == "flip":
        place, bit = rng.randrange(len(data)), rng.randrange(8)
        path.write_bytes(data[:place] + bytes([data[place] ^ 1 << bit]) + data[place + 1 :])
        how = f"flip of bit {bit} of byte {place}"
    else:
        path.write_bytes(data[: rng.randrange(len(data))] if how == "cut" else b"")
    return f", then {how}: {path.relative_to(kind.folder)}"


def disturb(kind: Kind, seconds: float, rng: random.Random, harm: bool) -> str:
    """Start a run and stop it at a random moment; return a description of how."""
    kind.clean()
    if rng.random() < 0.2:
        most = int(10 ** rng.uniform(2, 6))
        process = kind.start(most)
        process.join(MOST_SECONDS)
        done = f"files of {most} bytes at most"
        if process.exitcode not in (0, 1):
            return f"{done}: ended with {process.exitcode}"
    else:
        after = rng.uniform(0.0, 1.1 * seconds)
        process = kind.start()
        process.join(after)
        done = f"killed after {after:.2f} s"
        process.kill()
        process.join()
    return done + (damage(kind, rng) if harm else "")


def attempt(kind: Kind, wanted: bytes, seconds: float, rng: random.Random) -> Ended:
    """Run once and return the outcome."""
    harm = rng.random() < 0.5
    done = disturb(kind, seconds, rng, harm)
    if "ended with" in done:
        return Ended(LOST, done, kind.said()[-800:])
    code, said = finish(kind), kind.said()
    if code == 0:
        if kind.result() != wanted:
            return Ended(LOST, done, f"other bytes; {said[-800:]}")
        return Ended(REMADE if "damaged" in said + _read(kind.folder / "stdout.txt") else SAME, done)
    lines = said.strip().splitlines()
    named = _named(kind, lines[-1]) if lines else None
    if code != 1 or named is None or not _END.match(lines[-1]) or "Traceback" in said:
        return Ended(LOST, done, f"exit code {code}; {said[-800:]}")
    if not harm:
        return Ended(LOST, done, f"refused, though nothing was damaged: {lines[-1]}")
    shutil.rmtree(named) if named.is_dir() else named.unlink(missing_ok=True)
    if finish(kind) != 0:  # another file depends on that one
        kind.clean()
        if finish(kind) != 0:
            return Ended(LOST, done, f"not even from the start; {kind.said()[-800:]}")
    return Ended(REFUSED if kind.result() == wanted else LOST, done, lines[-1])


def _read(path: Path) -> str:
    return path.read_text(encoding="utf8", errors="replace")


def _named(kind: Kind, line: str) -> Path | None:
    """The file or folder of the run that a message names."""
    found = re.findall(re.escape(str(kind.work)) + r"[^\s:;,()'\"]*", line)
    return Path(found[0]) if found else None


def run_kinds(kinds: Sequence[str], runs: int, seed: int, folder: Path) -> list[tuple[str, Ended]]:
    """Run that many trainings, of each kind in turn; return their outcomes."""
    made = {}
    for name in kinds:
        kind = Kind(name, folder / name)
        if name == "tagger":
            labelled = "\n".join(f"w{k % 7}\tT{k % 5}\tL{k % 3}\nx{k % 4}\tU\tL{k % 2}\n" for k in range(60)) + "\n"
            (kind.folder / "labelled.txt").write_text(labelled, encoding="utf8")
        kind.clean()
        finish(kind)  # kernels are compiled
        kind.clean()
        began = time.perf_counter()
        if finish(kind) != 0:
            raise RuntimeError(f"{name}: {kind.said()}")
        wanted = kind.result()
        assert wanted
        made[name] = kind, wanted, time.perf_counter() - began
    found = []
    for number in range(runs):
        name = kinds[number % len(kinds)]
        kind, wanted, seconds = made[name]
        found.append((name, attempt(kind, wanted, seconds, random.Random(f"{seed} {number}"))))
    return found


def main() -> int:
    """Run, print the outcomes, return 1 if something is lost."""
    parser = argparse.ArgumentParser(prog="python -m tests.hostile.training", description=__doc__.split("\n")[0])
    parser.add_argument("--runs", type=int, default=60)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kinds", nargs="+", default=KINDS, choices=KINDS)
    options = parser.parse_args()
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        found = run_kinds(options.kinds, options.runs, options.seed, Path(folder))
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for name, ended in found:
        counts[name][ended.what] += 1
        if ended.what == LOST:
            print(f"{name}: {ended.done}: {ended.said}")
    for name, own in counts.items():
        print(f"{name:10s}", *(f"{what}: {own[what]}," for what in (SAME, REMADE, REFUSED, LOST)))
    print(f"{len(found)} runs in {time.perf_counter() - began:.0f} s")
    return int(any(ended.what == LOST for _, ended in found))


if __name__ == "__main__":
    sys.exit(main())
