"""Learning beside annotation: a background process trains on what is accepted, and better models are taken over.

The trainers are not part of this package, so the process is a command, `python -m training learn-annotated`. It reads
the files of accepted trees and writes a model and a report; the session does not depend on it. If it fails or is
killed, the annotation goes on with the model it has. The folder `trees.mrg.models/` has N.model and N.json for a
training on N trees, N.log with the output of the process, and N.work, from which a killed training is resumed.
"""

import importlib.util
import json
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from threading import Thread
from typing import Any, cast

from spacy.language import Language

from ..core import load_parser
from ..core.parser import Parser
from ..errors import ConfigError, DtparseError
from ..web.server import PageServer, run_server
from .answers import AnnotationAnswers
from .server import AnnotationHandler, make_annotation_server
from .session import Session

MIN_DEV = 5
"""Minimum number of accepted trees of the dev part, without which no model is trained."""
_ENDING = 10.0
"""Seconds that a process has for ending before it is killed."""


def training_command(pipeline: str | None = None, network_from: int | None = None) -> list[str]:
    """Return the command that learns, without the arguments of a run. Raises ConfigError if it is not installed.

    `network_from`: number of trees from which the network is trained, too; None: never.
    """
    try:
        found = importlib.util.find_spec("training.cli")
    except ImportError:
        found = None
    if found is None:
        raise ConfigError(
            "learning beside annotation needs the trainers, the folder `training` of the repository, and Python does "
            "not find them; start in the folder of the repository, or annotate without --learn-every and train later"
        )
    options = [] if pipeline is None else ["--pipeline", pipeline]
    options += [] if network_from is None else ["--network-from", str(network_from)]
    return [sys.executable, "-m", "training", "learn-annotated", *options]


class Learner:
    """Trains a model whenever `every` more trees of the train part are accepted.

    `command`: see `training_command`. `install`: called from another thread with each better model, and with whether
    it parses again after a statement (`Corrector`). A training that
    did not end with the last session is resumed. Raises ConfigError unless `every` is at least 1.
    """

    def __init__(self, session: Session, every: int, command: Sequence[str], install: Callable[[Parser, bool], None]):
        if every < 1:
            raise ConfigError(f"--learn-every is {every}; give the number of trees after which to learn, 1 or more")
        self.session, self.every, self.command, self._install = session, every, tuple(command), install
        self.folder = session.out.with_name(f"{session.out.name}.models")
        self.history: list[dict[str, Any]] = []
        """The reports of all trainings: `trees`, `dev`, `f1`, `before`, `better`, `reparses`, `kind`, in order."""
        self.message = ""
        """The reason why the last training failed; "" if it did not."""
        self._process: subprocess.Popen[bytes] | None = None
        self._trees = 0  # of the training that is running, or that was last started
        for path in self.folder.glob("*.json"):
            with suppress(ValueError, OSError):  # a report that was edited by hand counts as none
                self.history.append(dict(json.loads(path.read_text(encoding="utf-8"))))
        self.history.sort(key=lambda report: int(report["trees"]))
        self._trees = max((int(report["trees"]) for report in self.history), default=0)
        self._load()
        self.update()

    @property
    def current(self) -> Path | None:
        """The model file in use; None: that of the pipeline."""
        report = self._current_report()
        return None if report is None else self._model(report)

    def _current_report(self) -> dict[str, Any] | None:
        better = (report for report in reversed(self.history) if report["better"])
        return next((report for report in better if self._model(report).is_file()), None)

    def _model(self, report: Mapping[str, Any]) -> Path:
        return self.folder / f"{report['trees']}.model"

    @property
    def is_running(self) -> bool:
        """Whether a training is running."""
        return self._process is not None

    def update(self) -> None:
        """Notice a training that has ended, and start one if enough trees are accepted. Never waits."""
        if self._process is not None and self._process.poll() is not None:
            self._finish(self._process.returncode)
            self._process = None
        accepted = len(self.session.trees("train"))
        due = accepted // self.every * self.every
        if self._process is None and due > self._trees and len(self.session.trees("dev")) >= MIN_DEV:
            self._start(accepted)

    def _start(self, accepted: int) -> None:
        self._trees, base = accepted, self.folder / str(accepted)
        self.folder.mkdir(parents=True, exist_ok=True)
        out = str(self.session.out)
        arguments = [
            out, "--dev", str(self.session.dev_path), "--workdir", f"{base}.work", "--out", f"{base}.model",
            "--report", f"{base}.json", "--stop-at-eof",
        ]  # fmt: skip
        if self.current is not None:
            arguments += ["--current", str(self.current)]
        try:
            with Path(f"{base}.log").open("wb") as log:
                self._process = subprocess.Popen(
                    [*self.command, *arguments], stdin=subprocess.PIPE, stdout=log, stderr=subprocess.STDOUT
                )
        except OSError as error:  # such as no memory for another process
            self.message = f"learning from {accepted} trees could not start: {error}"

    def _finish(self, code: int) -> None:
        base = self.folder / str(self._trees)
        try:
            report = json.loads(Path(f"{base}.json").read_text(encoding="utf-8"))
        except (OSError, ValueError):
            lines = Path(f"{base}.log").read_text(encoding="utf-8", errors="replace").strip().splitlines()
            self.message = f"learning from {self._trees} trees failed ({code}): {lines[-1][:200] if lines else ''}"
            return
        self.message = ""
        self.history.append(report)
        if report["better"]:
            self._load()

    def _load(self) -> None:
        """Load the current model, if there is one."""
        report = self._current_report()
        if report is None:
            return
        path, reparses = self._model(report), bool(report.get("reparses", True))

        def load() -> None:
            try:
                self._install(load_parser(path), reparses)
            except (DtparseError, OSError) as error:
                self.message = f"the model {path} cannot be loaded: {error}"

        Thread(target=load, daemon=True).start()

    def state(self) -> dict[str, Any]:
        """Return plain data for the page."""
        return {
            "every": self.every,
            "running": self._trees if self.is_running else None,
            "history": self.history,
            "message": self.message,
            "next": (self._trees // self.every + 1) * self.every,
            "dev_missing": max(0, MIN_DEV - len(self.session.trees("dev"))),
        }

    def close(self) -> None:
        """End the process, if one is running; its training can be resumed."""
        process, self._process = self._process, None
        if process is not None:
            if process.stdin is not None:
                process.stdin.close()
            process.terminate()
            try:
                process.wait(_ENDING)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


class LearningAnswers(AnnotationAnswers):
    """Answers with a learner: `figures["learning"]` is its state, and new sentences get trees of the better model."""

    learner: Learner

    def install(self, parser: Parser, reparses: bool) -> None:
        """Take over a parser; sentences that were opened keep their trees."""
        with self._lock:
            self.corrector.use_parser(parser, reparses)
            self.session.forget_estimates()

    def _state(self, index: int | None, request: Mapping[str, Any]) -> dict[str, Any]:
        self.learner.update()
        state = super()._state(index, request)
        state["figures"]["learning"] = self.learner.state()
        return state


class LearningHandler(AnnotationHandler):
    """The annotation page with a script for the learner's state."""

    SCRIPT = "learning.js"


def make_learning_server(
    sentences: Any, out: str | Path, nlp: Language | None = None, *, learn_every: int,
    command: Sequence[str] | None = None, **options: Any,
) -> PageServer:  # fmt: skip
    """Create a server that learns beside annotation; it is bound to its port and not running yet.

    `learn_every`: number of accepted trees after which a model is trained; `command`: see `training_command`; the other
    arguments: see `annotate`. The caller ends the learner (`Learner.close`). Raises ConfigError as
    `annotate` and `training_command`.
    """
    command = training_command() if command is None else command
    server = make_annotation_server(sentences, out, nlp, **options)
    plain: Any = server.answers
    answers = LearningAnswers(plain.corrector, plain.session, plain.tags, plain.scheme)
    try:
        answers.learner = Learner(answers.session, learn_every, command, answers.install)
    except BaseException:
        server.server_close()
        plain.session.close()
        raise
    server.answers = cast(Any, answers)
    server.RequestHandlerClass = LearningHandler
    return server


def annotate_and_learn(sentences: Any, out: str | Path, nlp: Language | None = None, **options: Any) -> None:
    """Serve the annotation page and learn from the accepted trees, until Ctrl-C; see `make_learning_server`."""
    server = make_learning_server(sentences, out, nlp, **options)
    answers: Any = server.answers
    try:
        run_server(server, options.get("host", "localhost"))
    finally:
        answers.learner.close()
