"""Steps of a long run: finished steps are skipped, unfinished ones are resumed."""

import hashlib
import json
import logging
import os
import shlex
import shutil
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from .files import load_checkpoint, save_checkpoint
from .metrics_log import duration

logger = logging.getLogger(__name__)


class Step(NamedTuple):
    """A command with its `arguments`. `output`: the file that exists once it is done. `workdir`: the folder for its
    checkpoints, if it has one."""

    name: str
    arguments: Sequence[str]
    output: Path
    workdir: Path | None = None


class Steps:
    """Runs steps one after the other and records them in a file, so that a repeated run resumes. A step is repeated if
    its arguments, those of an earlier step, or the `conditions` (plain data) have changed."""

    def __init__(self, path: Path, conditions: Any, run: Callable[[list[str]], None]):
        self.path, self.run = path, run
        self.records: dict[str, dict[str, Any]] = load_checkpoint(path) or {}
        self._key = hashlib.sha256(json.dumps(conditions).encode())
        self.cpu_seconds = 0.0

    def do(self, step: Step) -> None:
        """Run a step unless it is done, and record its duration. Raises the errors of the step."""
        self._key.update(json.dumps(list(step.arguments)).encode())
        key, before = self._key.hexdigest(), self.records.get(step.name, {})
        if before.get("key") == key and before.get("done") and step.output.exists():
            logger.info(f"{step.name}: done before in {_times(before)}")
            self.cpu_seconds += before["cpu_seconds"]
            return
        if before.get("key") != key:
            before = {"key": key, "seconds": 0.0, "cpu_seconds": 0.0}
            if step.workdir is not None and step.workdir.is_dir():
                shutil.rmtree(step.workdir)  # checkpoints for other arguments or data
        self._record(step, {**before, "done": False, "command": shlex.join(step.arguments)})
        logger.info(f"$ python -m training {shlex.join(step.arguments)}")
        started, cpu = time.perf_counter(), _cpu_seconds()
        self.run(list(step.arguments))
        now = {
            "done": True,
            "seconds": round(before["seconds"] + time.perf_counter() - started, 1),
            "cpu_seconds": round(before["cpu_seconds"] + _cpu_seconds() - cpu, 1),
        }
        self._record(step, {**self.records[step.name], **now})
        self.cpu_seconds += now["cpu_seconds"]
        logger.info(f"{step.name}: done in {_times(now)}")

    def _record(self, step: Step, record: dict[str, Any]) -> None:
        self.records[step.name] = record
        save_checkpoint(self.path, self.records)


def _times(record: dict[str, Any]) -> str:
    return f"{duration(record['seconds'])}, {duration(record['cpu_seconds'])} of CPU time"


def _cpu_seconds() -> float:
    """CPU time of this process and of the child processes that have ended."""
    return sum(os.times()[:4])
