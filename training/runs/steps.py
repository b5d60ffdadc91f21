"""Steps of a long run: finished steps are skipped, unfinished ones are resumed."""

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
    """A command with its `arguments`. `written`: the file that exists once it is done. `workdir`: the folder for its
    checkpoints, if it has one."""

    name: str
    arguments: Sequence[str]
    written: Path
    workdir: Path | None = None


class Steps:
    """Runs steps one after the other and records them in a file, so that a repeated run resumes. A step is repeated if
    its arguments, those of an earlier step, or the `facts` (plain data) have changed."""

    def __init__(self, path: Path, facts: Any, run: Callable[[list[str]], None], say: Say):
        self.path, self.run, self.say = path, run, say
        self.kept: dict[str, dict[str, Any]] = kept_json(path) or {}
        self._key = hashlib.sha256(json.dumps(facts).encode())
        self.cpu_seconds = 0.0

    def do(self, step: Step) -> None:
        """Run a step unless it is done, and record its duration. Raises the errors of the step."""
        self._key.update(json.dumps(list(step.arguments)).encode())
        key, before = self._key.hexdigest(), self.kept.get(step.name, {})
        if before.get("key") == key and before.get("done") and step.written.exists():
            self.say(f"{step.name}: done before in {_times(before)}")
            self.cpu_seconds += before["cpu_seconds"]
            return
        if before.get("key") != key:
            before = {"key": key, "seconds": 0.0, "cpu_seconds": 0.0}
            if step.workdir is not None and step.workdir.is_dir():
                shutil.rmtree(step.workdir)  # checkpoints for other arguments or data
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
    """CPU time of this process and of the child processes that have ended."""
    return sum(os.times()[:4])
