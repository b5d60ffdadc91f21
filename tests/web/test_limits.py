"""Limits of the server: a queue, clients that leave, slow or many clients, absurd requests. The pipeline is a stub."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from spacy_dtparse.errors import ConfigError, OverloadedError
from spacy_dtparse.web import server as server_module
from spacy_dtparse.web.answers import _check_characters, _strings
from spacy_dtparse.web.server import PageHandler, PageServer
from spacy_dtparse.web.turns import Turns


class StubAnswers:
    """Answers that take as many seconds as the request says."""

    def __init__(self) -> None:
        self.turns = Turns(max_waiting=4, max_seconds=60)
        self.done: list[Any] = []

    def about(self) -> dict[str, Any]:
        return {}

    def explain_constituent(self, request: Any, check: Callable[[], None]) -> dict[str, Any]:
        return self.parse(request, check)

    def parse(self, request: Any, check: Callable[[], None]) -> dict[str, Any]:
        with self.turns.take(request["seconds"], check) as check_all:
            for _ in range(round(request["seconds"] * 20)):
                check_all()
                time.sleep(0.05)
            self.done.append(request["name"])
        return {"name": request["name"]}


@contextmanager
def running() -> Iterator[PageServer]:
    server = PageServer(("127.0.0.1", 0), PageHandler)
    server.answers, server.local = StubAnswers(), True  # type: ignore[assignment]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join(10)


def connect(server: PageServer) -> socket.socket:
    return socket.create_connection(server.server_address[:2], timeout=60)


def send(server: PageServer, data: dict[str, Any], length: str | None = None, host: str = "localhost") -> socket.socket:
    """Send a request and return the connection."""
    body = json.dumps(data).encode()
    head = f"POST /parse HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\n"
    connection = connect(server)
    connection.sendall(f"{head}Content-Length: {length or len(body)}\r\n\r\n".encode() + body)
    return connection


def reply(connection: socket.socket) -> tuple[int, dict[str, str], Any]:
    """Status, headers and content of the reply."""
    data = b""
    while more := connection.recv(65536):
        data += more
    head, _, body = data.partition(b"\r\n\r\n")
    status, *lines = head.decode().split("\r\n")
    return int(status.split()[1]), dict(line.split(": ", 1) for line in lines), json.loads(body)


def wait_for(server: PageServer, number: int) -> None:
    """Wait until so many requests wait behind one that runs."""
    turns = server.answers.turns  # type: ignore[attr-defined]
    end = time.monotonic() + 30
    while not (turns._busy and len(turns._waiting) == number):
        assert time.monotonic() < end
        time.sleep(0.01)


@pytest.mark.slow
def test_a_short_request_waits_for_one_long_one_only() -> None:
    with running() as server:
        long = [send(server, {"name": f"long{k}", "seconds": 0.6}) for k in range(4)]
        wait_for(server, 3)
        began = time.monotonic()
        assert reply(send(server, {"name": "short", "seconds": 0.05}))[0] == 200
        assert time.monotonic() - began < 20  # other programs may use the cores
        assert [reply(one)[0] for one in long] == [200] * 4
        assert server.answers.done.index("short") <= 1


@pytest.mark.slow
def test_too_many_requests_are_refused() -> None:
    with running() as server:
        waiting = [send(server, {"name": str(k), "seconds": 2}) for k in range(5)]
        wait_for(server, 4)
        status, headers, content = reply(send(server, {"name": "more", "seconds": 0}))
        assert status == 503 and int(headers["Retry-After"]) >= 1 and "waiting already" in content["error"]
        assert [reply(one)[0] for one in waiting] == [200] * 5


def test_requests_of_clients_that_left_are_not_computed() -> None:
    with running() as server:
        kept = send(server, {"name": "kept", "seconds": 0.5})
        time.sleep(0.1)
        for k in range(3):
            send(server, {"name": f"left{k}", "seconds": 0.3}).close()
        running_one = send(server, {"name": "last", "seconds": 0.35})
        assert reply(kept)[0] == reply(running_one)[0] == 200
        left = send(server, {"name": "left while running", "seconds": 5})
        time.sleep(0.2)
        left.close()
        assert reply(send(server, {"name": "after", "seconds": 0}))[0] == 200
        assert server.answers.done == ["kept", "last", "after"]


def test_a_request_has_an_end() -> None:
    with running() as server:
        server.answers.turns.max_seconds = 0.5
        status, headers, content = reply(send(server, {"name": "endless", "seconds": 30}))
        assert status == 503 and "took longer than 0.5 seconds" in content["error"] and "Retry-After" in headers


def test_slow_clients_do_not_keep_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_module, "READ_SECONDS", 0.5)
    with running() as server:
        body, head = connect(server), connect(server)
        body.sendall(
            b"POST /parse HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 90\r\n\r\n{"
        )
        began = time.monotonic()
        with pytest.raises(OSError):
            while time.monotonic() - began < 10:
                head.sendall(b"G")
                time.sleep(0.1)
        status, _, content = reply(body)
        assert status == 408 and "1 of 90 bytes came" in content["error"]
        assert time.monotonic() - began < 8
        assert reply(send(server, {"name": "next", "seconds": 0}))[0] == 200


def test_many_connections(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_module, "MAX_CLIENTS", 4)
    with running() as server:
        idle = [connect(server) for _ in range(4)]
        time.sleep(0.3)
        status, headers, content = reply(connect(server))
        assert status == 503 and headers["Retry-After"] == "5" and "too many connections" in content["error"]
        assert threading.active_count() < 12
        for one in idle:
            one.close()
        time.sleep(0.3)
        assert reply(send(server, {"name": "next", "seconds": 0}))[0] == 200


@pytest.mark.parametrize("host", ["localhost", "localhost:5000", "[::1]", "[::1]:5000", "127.0.0.1:5000", "LOCALHOST."])
def test_hosts(host: str) -> None:
    with running() as server:
        assert reply(send(server, {"name": "a", "seconds": 0}, host=host))[0] == 200


@pytest.mark.parametrize("host", ["", "evil.example", "[::2]:5000", "[evil.example]", "evil.example:[::1]"])
def test_other_hosts(host: str) -> None:
    with running() as server:
        assert reply(send(server, {"name": "a", "seconds": 0}, host=host))[0] == 403


@pytest.mark.parametrize(
    ("length", "status"), [("9" * 5000, 413), ("9" * 30, 413), ("-1", 411), ("٣", 411), ("x", 411)]
)
def test_absurd_lengths(length: str, status: int) -> None:
    with running() as server:
        got, _, content = reply(send(server, {"name": "a", "seconds": 0}, length=length))
        assert got == status and len(content["error"]) < 300


@pytest.mark.parametrize("words", [["a\ud800"], ["\udfff", "b"]])
def test_lone_surrogates(words: list[str]) -> None:
    with pytest.raises(ConfigError, match="lone surrogate"):
        _strings({"words": words}, "words")
    with pytest.raises(ConfigError, match="character 3 is half of a character"):
        _check_characters("ab\ud800c")
    _check_characters("a\U0001f600")


def test_turns_are_given_back_after_errors() -> None:
    turns = Turns(max_waiting=1, max_seconds=0.3)
    with pytest.raises(ZeroDivisionError), turns.take(1):
        raise ZeroDivisionError
    with turns.take(1), pytest.raises(OverloadedError, match=r"longer than 0\.3 seconds"):
        with turns.take(1):
            pass
    with turns.take(1):
        pass
