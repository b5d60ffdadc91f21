"""Hostile cases, and the processes that try them: each case in its own, with limits of time and memory.

A module of `tests/hostile/kinds/` has functions decorated with `case`:

    @case(seconds=2, megabytes=100)
    def long_list() -> None:
        assert len(k_best(english("en_span"), words(500), 20)) == 20

    @case(seconds=1, megabytes=50, each=["{" * 5000, "(" * 5000])
    def deep_pattern(pattern: str) -> None:
        refused(PatternError, lambda: ConstituentMatcher(vocab).add("A", pattern))

The case *held* if the function returns within its limits. It did not hold if the function raises, if it takes more CPU
seconds or memory than the limit, or if its process crashes. What a module loads when it is imported, or with
`english`, is not counted.
"""

from __future__ import annotations

import functools
import importlib
import math
import multiprocessing
import os
import pkgutil
import resource
import signal
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import Any, NamedTuple

from . import kinds
from .workers import _status, measured

MAX_MESSAGE = 1000
"""Maximum number of characters of an error message."""
_WALL_FACTOR, _WALL_SECONDS = 20, 60.0
"""A process ends after this many times its limit of CPU seconds, and as many seconds more: other programs may use the
cores."""
_MEMORY_FACTOR, _MEMORY_SLACK = 2, 2**30
"""Address space beyond what a case may use: numpy and the allocator reserve some that they never touch."""
_CASES: dict[str, Case] = {}


class Case(NamedTuple):
    """A function that tries something, by a name `kind/function[number]`, with its limits."""

    name: str
    call: Callable[[], Any]
    seconds: float
    megabytes: float

    @property
    def kind(self) -> str:
        return self.name.split("/")[0]


class Outcome(NamedTuple):
    """The outcome of a case: an empty `fault` if it held. `seconds`: of CPU; `megabytes`: added to the process."""

    fault: str
    seconds: float
    megabytes: float


def case(*, seconds: float, megabytes: float, each: Iterable[Any] | None = None) -> Callable[..., Any]:
    """Register a function as a case, or as one case for each argument. `seconds`: of CPU."""

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        name = f"{function.__module__.rpartition('.')[2]}/{function.__name__}"
        calls: dict[str, Callable[[], Any]] = {name: function}
        if each is not None:
            calls = {f"{name}[{number}]": functools.partial(function, one) for number, one in enumerate(each)}
        for full_name, call in calls.items():
            assert full_name not in _CASES, f"two cases are named {full_name}"
            _CASES[full_name] = Case(full_name, call, seconds, megabytes)
        return function

    return register


def all_cases(names: Iterable[str] = ()) -> list[Case]:
    """The cases of all modules of `tests/hostile/kinds/`, or of the kinds of these names (kind, or kind/case)."""
    wanted = {name.split("/")[0] for name in names}
    for module in pkgutil.iter_modules(kinds.__path__):
        if not wanted or module.name in wanted:
            importlib.import_module(f"{kinds.__name__}.{module.name}")
    # a kind may import a function of another kind, and with it that kind's cases
    return [one for one in _CASES.values() if not wanted or one.kind in wanted]


@functools.cache
def english(name: str = "en_dtparse", **settings: Any) -> Any:
    """A packaged pipeline whose parser has these settings; call it when the module is imported, so that its loading is
    not counted."""
    from spacy_dtparse import load
    from spacy_dtparse.models import PARSERS

    return load(name, config={"components": {PARSERS[name]: settings}} if settings else {})


def refused(error: type[BaseException], call: Callable[[], Any]) -> str:
    """The message of the error of exactly this class that a call must raise; it must be short and printable."""
    try:
        found = call()
    except Exception as raised:
        message = str(raised)
        assert type(raised) is error, f"{type(raised).__name__} instead of {error.__name__}: {message[:200]!r}"
        assert len(message) <= MAX_MESSAGE, f"a message of {len(message)} characters: {message[:100]!r}…"
        return message
    raise AssertionError(f"no {error.__name__}, but {str(found)[:200]!r}")


def try_case(one: Case) -> Outcome:
    """Try a case in a process of its own, which ends with everything that it started."""
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_run, args=(one, theirs))
    began = time.monotonic()
    process.start()
    theirs.close()
    limit = _WALL_FACTOR * one.seconds + _WALL_SECONDS
    try:
        if ours.poll(limit):
            with suppress(EOFError, ConnectionError):
                return _check_limits(one, ours.recv())
            process.join(5)
            return Outcome(f"the process ended with {_describe_exit(process)}", time.monotonic() - began, 0)
        return Outcome(f"not done after {limit:.0f} s", time.monotonic() - began, 0)
    finally:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid or 0, signal.SIGKILL)
        process.kill()
        process.join()
        ours.close()


def kind_names() -> list[str]:
    """The names of all kinds."""
    return [module.name for module in pkgutil.iter_modules(kinds.__path__)]


def run_kind(kind: str, names: Iterable[str] = ()) -> Iterator[tuple[str, Outcome]]:
    """Try the cases of a kind, or those with names that begin with one of `names`, one after the other. They are
    imported by a process of their own: programs that a case starts count the memory of the process they come from, so
    it must not hold the pipelines of other kinds."""
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_try_kind, args=(kind, tuple(names), theirs))
    process.start()
    theirs.close()
    with suppress(EOFError):
        while True:
            yield ours.recv()
    process.join()


def _try_kind(kind: str, names: tuple[str, ...], connection: Any) -> None:
    for one in all_cases([kind]):
        if not names or one.name.startswith(names):
            connection.send((one.name, try_case(one)))


def _describe_exit(process: Any) -> str:
    code = process.exitcode
    if code == -signal.SIGXCPU:
        return "SIGXCPU: it took more CPU seconds than its limit"
    return signal.Signals(-code).name if code and code < 0 else f"code {code}"


def _check_limits(one: Case, outcome: Outcome) -> Outcome:
    if outcome.fault:
        return outcome
    if outcome.seconds > one.seconds:
        return outcome._replace(fault=f"{outcome.seconds:.1f} s; the limit is {one.seconds:g}")
    if outcome.megabytes > one.megabytes:
        return outcome._replace(fault=f"{outcome.megabytes:.0f} MB; the limit is {one.megabytes:g}")
    return outcome


def _run(one: Case, connection: Connection) -> None:
    """Run a case and send its Outcome."""
    os.setpgid(0, 0)  # so that the programs that it starts end with it
    limit = int(_status("VmSize") * 2**20 + _MEMORY_FACTOR * one.megabytes * 2**20) + _MEMORY_SLACK
    resource.setrlimit(resource.RLIMIT_AS, (limit, resource.getrlimit(resource.RLIMIT_AS)[1]))
    resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(one.seconds) + 1, resource.RLIM_INFINITY))
    before = _cpu_seconds()

    def attempt() -> str:
        try:
            one.call()
        except BaseException as raised:
            return f"{type(raised).__name__}: {str(raised)[:300]} ({_location(raised)})"
        return ""

    fault, megabytes = measured(attempt)
    children = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    connection.send(Outcome(fault, _cpu_seconds() - before, max(megabytes, children)))


def _location(raised: BaseException) -> str:
    """The innermost line that raised an error."""
    frames = traceback.extract_tb(raised.__traceback__)
    return f"{os.path.basename(frames[-1].filename)}:{frames[-1].lineno}" if frames else "?"


def _cpu_seconds() -> float:
    """CPU seconds of this process and of its children that have ended."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)
