"""The steps of a long run: what is done is not done again, and what was begun goes on."""

import hashlib
import json
import os
import shutil
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from .files import keep_json, kept_json
from .telling import Say, duration


class Step(NamedTuple):
    """`arguments`: of a command. `written`: the file that is there once it is done. `workdir`: the folder in which it
    keeps what is unfinished, if it does."""

    name: str
    arguments: Sequence[str]
    written: Path
    workdir: Path | None = None


class Steps:
    """Does steps one after the other and keeps in a file what was done, so that the same steps go on where they
    stopped. A step is done anew where its arguments, those of a step before it, or the `facts` (plain data) are others
    than they were."""

    def __init__(self, path: Path, facts: Any, run: Callable[[list[str]], None], say: Say):
        self.path, self.run, self.say = path, run, say
        self.kept: dict[str, dict[str, Any]] = kept_json(path) or {}
        self._key = hashlib.sha256(json.dumps(facts).encode())
        self.cpu_seconds = 0.0

    def do(self, step: Step) -> None:
        """Do a step unless it is done; its times are added to the file. Raises what it raises."""
        self._key.update(json.dumps(list(step.arguments)).encode())
        key, before = self._key.hexdigest(), self.kept.get(step.name, {})
        if before.get("key") == key and before.get("done") and step.written.exists():
            self.say(f"{step.name}: done before in {_times(before)}")
            self.cpu_seconds += before["cpu_seconds"]
            return
        if before.get("key") != key:
            before = {"key": key, "seconds": 0.0, "cpu_seconds": 0.0}
            if step.workdir is not None and step.workdir.is_dir():
                shutil.rmtree(step.workdir)  # of other arguments or data
        self._keep(step, {**before, "done": False, "command": " ".join(step.arguments)})
        self.say(f"$ python -m training {' '.join(step.arguments)}")
        began, cpu = time.perf_counter(), _cpu_seconds()
        self.run(list(step.arguments))
        now = {
            "done": True,
            "seconds": round(before["seconds"] + time.perf_counter() - began, 1),
            "cpu_seconds": round(before["cpu_seconds"] + _cpu_seconds() - cpu, 1),
        }
        self._keep(step, {**self.kept[step.name], **now})
        self.cpu_seconds += now["cpu_seconds"]
        self.say(f"{step.name}: done in {_times(now)}")

    def _keep(self, step: Step, facts: dict[str, Any]) -> None:
        self.kept[step.name] = facts
        keep_json(self.path, self.kept)


def _times(facts: dict[str, Any]) -> str:
    return f"{duration(facts['seconds'])}, {duration(facts['cpu_seconds'])} of CPU time"


def _cpu_seconds() -> float:
    """Of this process and those that it has waited for."""
    return sum(os.times()[:4])
