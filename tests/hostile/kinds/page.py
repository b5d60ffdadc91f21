"""Clients of the page, with a stub instead of a pipeline."""

from __future__ import annotations

import socket
import time

from spacy_dtparse.web import server as server_module
from tests.web import test_limits as page

from ..cases import case


@case(seconds=5, megabytes=50)
def short_request_behind_long_ones() -> None:
    page.test_a_short_request_waits_for_one_long_one_only()


@case(seconds=5, megabytes=50)
def more_requests_than_may_wait() -> None:
    page.test_too_many_requests_are_refused()


@case(seconds=5, megabytes=50)
def clients_that_leave() -> None:
    page.test_requests_of_clients_that_left_are_not_computed()


@case(seconds=20, megabytes=100)
def slow_clients_600() -> None:
    """600 clients that send a byte now and then: threads are limited, and the next client is answered."""
    server_module.READ_SECONDS = 1.0
    with page.running() as server:
        slow: list[socket.socket] = []
        for _ in range(600):
            slow.append(page.connect(server))
            slow[-1].settimeout(5)
        end = time.monotonic() + 4
        while time.monotonic() < end:
            for one in slow[:64]:
                try:
                    one.sendall(b"P")
                except OSError:
                    pass
            time.sleep(0.2)
        assert page.reply(page.send(server, {"name": "next", "seconds": 0}))[0] == 200
        for one in slow:
            one.close()


@case(seconds=10, megabytes=100)
def requests_2000() -> None:
    with page.running() as server:
        for k in range(2000):
            assert page.reply(page.send(server, {"name": k, "seconds": 0}))[0] == 200


@case(seconds=5, megabytes=50, each=["9" * 5000, "9" * 30, "-1", "x", "1" + "0" * 4000])
def absurd_length(length: str) -> None:
    with page.running() as server:
        status, _, content = page.reply(page.send(server, {"name": "a", "seconds": 0}, length=length))
        assert status in (411, 413) and len(content["error"]) < 300


HEAD = b"POST /parse HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
BODY = b'{"name": "a", "seconds": 0}'
REQUESTS = [
    HEAD + b"Transfer-Encoding: chunked\r\n\r\n1b\r\n" + BODY + b"\r\n0\r\n\r\n",
    HEAD + b"Content-Length: 27\r\nContent-Length: 5\r\n\r\n" + BODY,
    HEAD + b"X: y\r\n" * 5000 + b"Content-Length: 27\r\n\r\n" + BODY,
    HEAD + b"X: " + b"y" * 200_000 + b"\r\nContent-Length: 27\r\n\r\n" + BODY,
    HEAD + b" folded\r\n\x00: z\r\nContent-Length: 27\r\n\r\n" + BODY,
    HEAD.replace(b"localhost", b"localhost\r\nHost: evil.example") + b"Content-Length: 27\r\n\r\n" + BODY,
    (HEAD + b"Content-Length: 27\r\n\r\n" + BODY) * 200,
    b"GET /\n\n", b"\r\n" * 1000, b"\x16\x03\x01" + bytes(200), b"GET / HTTP/9.9\r\n\r\n",
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
]  # fmt: skip


@case(seconds=5, megabytes=50, each=range(len(REQUESTS)))
def requests_that_no_browser_sends(number: int) -> None:
    """Answered or refused; never more than one answer to one connection; the next client is answered."""
    server_module.READ_SECONDS = 2.0
    with page.running() as server:
        connection, found = page.connect(server), b""
        try:
            connection.sendall(REQUESTS[number])
            connection.shutdown(socket.SHUT_WR)
            while more := connection.recv(65536):
                found += more
        except OSError:
            pass
        assert found.count(b"HTTP/1.0 ") <= 1 and len(found) < 20_000, found[:300]
        assert len(server.answers.done) <= 1  # type: ignore[attr-defined]
        assert page.reply(page.send(server, {"name": "next", "seconds": 0}))[0] == 200
