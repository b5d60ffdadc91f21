"""Attacks on the annotation page over HTTP, with the default pipeline: as `page` does for the page of `serve`."""

from __future__ import annotations

import json
import socket
import tempfile
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from spacy_dtparse.annotation.reviewing import make_review_server
from spacy_dtparse.annotation.server import make_adjudication_server, make_annotation_server
from spacy_dtparse.errors import ConfigError
from spacy_dtparse.trees import parse_trees, read_trees
from spacy_dtparse.web import server as server_module
from spacy_dtparse.web.server import MAX_BYTES, PageServer
from tests.web.test_limits import connect, reply, send

from ..cases import MAX_MESSAGE, case, english, refused

DEFAULT = english("en_dtparse")
SENTENCES = ["The old man saw a dog in the park .".split(), ["Go"], ["a b", "(", "\u202e<script>"]]
TREES = parse_trees("(TOP (S (NP (DT The) (NN man)) (VP (VBD ran)))) (TOP (FRAG (NP (NN x)) (<b> (NN y))))")
OTHERS = parse_trees("(TOP (S (NP (DT The) (NN man)) (VBD ran))) (TOP (NP (NP (NN x)) (<b> (NN y))))")
ACTIONS = ("insert", "remove", "relabel", "move", "tag", "split", "join", "open", "show", "accept", "alternatives")


@contextmanager
def running(kind: str = "annotate", **options: Any) -> Iterator[PageServer]:
    """A server of the page, for a new file of trees."""
    out = Path(tempfile.mkdtemp()) / "trees.mrg"
    if kind == "annotate":
        server = make_annotation_server(SENTENCES, out, DEFAULT, port=0, order="given", dev_fraction=0.0, **options)
    elif kind == "adjudicate":
        server = make_adjudication_server(TREES, OTHERS, out, DEFAULT, port=0, **options)
    else:
        server = make_review_server(TREES, out, DEFAULT, port=0, **options)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join(10)
        server.answers.session.close()  # type: ignore[attr-defined]


def ask(server: PageServer, **request: Any) -> tuple[int, Any]:
    status, _, content = reply(send(server, request))
    return status, content


def raw(server: PageServer, data: bytes) -> tuple[int, bytes]:
    """Send bytes; the status of the reply (0: none) and all of it."""
    connection, found = connect(server), b""
    try:
        connection.sendall(data)
        while more := connection.recv(65536):
            found += more
    except OSError:
        pass
    return (int(found.split()[1]) if found.startswith(b"HTTP/") else 0), found


def post(body: bytes, **headers: str) -> bytes:
    sent = {"Host": "localhost", "Content-Type": "application/json", "Content-Length": str(len(body)), **headers}
    return "".join(["POST /parse HTTP/1.1\r\n", *(f"{n}: {v}\r\n" for n, v in sent.items()), "\r\n"]).encode() + body


def still_answers(server: PageServer) -> None:
    status, content = ask(server, action="next")
    assert status == 200 and content["sentence"] is not None, content


@case(seconds=10, megabytes=100)
def other_hosts_types_methods_and_paths() -> None:
    with running() as server:
        for host in ("", "evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "[::2]", "x" * 60_000):
            status, found = raw(server, post(b'{"action":"next"}', Host=host))
            assert status == 403 and len(found) < 2000, (host[:50], found[:100])
        for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""):
            assert raw(server, post(b'{"action":"next"}', **{"Content-Type": kind}))[0] == 415
        for method in ("PUT", "DELETE", "OPTIONS", "TRACE", "CONNECT", "X" * 5000):
            status, _ = raw(server, f"{method} /parse HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
            assert status in (405, 501), method[:20]
        paths = (
            "/../server.py",
            "/..%2f..%2fetc/passwd",
            "//etc/passwd",
            "/annotate.html/..",
            "/trees.mrg",
            "/\0",
            "/é",
        )
        for path in (*paths, "/" + "x" * 50_000):
            status, found = raw(server, f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
            assert status in (400, 404, 414) and len(found) < 2000, path[:30]
        assert server.answers.session.current is None  # type: ignore[attr-defined]
        still_answers(server)


BODIES = [
    b"[" * 100_000, b'{"a":' * 30_000, b"[" * 900 + b"]" * 900, b"null", b"[]", b"\xff\xfe{", b"", b'{"action": NaN}',
    b'{"action": []}', b'{"action": {}}', b'{"action": 1e999}', b'{"action": null}', b'{"action": "\\ud800"}',
    b'{"action": "show", "sentence": {}}', b'{"action": "open", "position": 1e400}',
    b'{"action": "open", "position": ' + b"9" * 4000 + b"}", b'{"action": "open", "position": ' + b"9" * 100_000 + b"}",
    b'{"action": "relabel", "constituent": 1, "label": "\\ud800"}',
    b'{"action": "relabel", "constituent": 1, "label": ' + b"[" * 900 + b"]" * 900 + b"}",
    b'{"action": "tag", "token": ' + b"[" * 900 + b"]" * 900 + b', "tag": "NN"}',
    b'{"action": ' + b"[" * 900 + b"]" * 900 + b"}",
    b'{"action": "tag", "token": 0, "tag": "' + b"N" * 150_000 + b'"}',
    b'{"action": "show", "width": -1, "theme": []}', b'{"action": "repair", "suspicion": {}}',
    b'{"action": "take", "number": [], "accept": 1}', b'{"action": "split sentence", "token": 10000000000000000000}',
]  # fmt: skip


@case(seconds=20, megabytes=150, each=["annotate", "adjudicate", "review"])
def bodies_that_no_page_sends(kind: str) -> None:
    """Each is answered or refused in a short message; none is an error of the server."""
    with running(kind) as server:
        still_answers(server)
        for body in BODIES:
            status, found = raw(server, post(body))
            assert status in (200, 400), (status, body[:60], found[-300:])
            assert status == 200 or len(found) < 2 * MAX_MESSAGE, body[:60]
            found.partition(b"\r\n\r\n")[2].decode()
        still_answers(server)


@case(seconds=10, megabytes=100)
def bodies_that_are_too_large() -> None:
    with running() as server:
        for length in (str(MAX_BYTES + 1), "9" * 30, "9" * 5000, "-1", "x", "1e3"):
            status, found = raw(server, post(b"{}", **{"Content-Length": length}))
            assert status in (411, 413) and len(found) < 1500, length[:20]
        status, _ = raw(server, post(b"x" * (MAX_BYTES + 1)))
        assert status == 413
        status, _ = raw(server, post(b'{"action":"show","x":"' + b"x" * (MAX_BYTES - 40) + b'"}'))
        assert status in (200, 400)
        still_answers(server)


@case(seconds=20, megabytes=100)
def slow_clients() -> None:
    server_module.READ_SECONDS = 1.0
    with running() as server:
        slow: list[socket.socket] = []
        for _ in range(300):
            slow.append(connect(server))
            slow[-1].settimeout(5)
        end = time.monotonic() + 3
        while time.monotonic() < end:
            for one in slow[:64]:
                try:
                    one.sendall(b"P")
                except OSError:
                    pass
            time.sleep(0.2)
        still_answers(server)
        for one in slow:
            one.close()


@case(seconds=20, megabytes=100)
def clients_that_leave() -> None:
    """Steps of clients that left while they waited are not carried out; no step is carried out in part."""
    with running() as server:
        answers: Any = server.answers
        still_answers(server)
        with answers._lock:  # as while a long step is carried out
            first = send(server, {"action": "show"})
            time.sleep(0.3)
            for _ in range(10):
                send(server, {"action": "accept"}).close()
            time.sleep(0.6)
        assert reply(first)[0] == 200
        status, content = ask(server, action="show")
        assert status == 200 and content["figures"]["accepted"] == 0, content["figures"]


@case(seconds=20, megabytes=100)
def more_requests_than_may_wait() -> None:
    with running() as server:
        answers: Any = server.answers
        still_answers(server)
        with answers._lock:
            waiting = [send(server, {"action": "show"}) for _ in range(40)]
            time.sleep(1)
        statuses = [reply(one)[0] for one in waiting]
        assert set(statuses) == {200, 503} and statuses.count(200) >= 16, statuses
        still_answers(server)


@case(seconds=60, megabytes=200)
def steps_of_many_threads() -> None:
    """400 steps from eight threads: the journal and the file of trees can be read, and the session goes on."""
    with running() as server:
        session: Any = server.answers.session  # type: ignore[attr-defined]
        still_answers(server)

        def step(k: int) -> int:
            request = {"action": ACTIONS[k % len(ACTIONS)], "start": k % 5, "end": k % 5 + 1 + k % 3, "label": "NP"}
            values = {"constituent": k % 9, "target": k % 4, "token": k % 9, "at": 1, "position": k % 3, "tag": "NN"}
            return ask(server, **request, **values)[0]

        with ThreadPoolExecutor(8) as pool:
            statuses = list(pool.map(step, range(400)))
        assert {200} <= set(statuses) <= {200, 400, 503}, set(statuses)
        out = session.out
        assert sum(1 for _ in read_trees(out)) == session.figures()["accepted"]
    make_annotation_server(SENTENCES, out, DEFAULT, port=0, order="given", dev_fraction=0.0).server_close()


@case(seconds=10, megabytes=100)
def second_session_of_a_file() -> None:
    """A second program that opens the same file is refused; the first one goes on."""
    with running() as server:
        out = server.answers.session.out  # type: ignore[attr-defined]
        still_answers(server)
        refused(ConfigError, lambda: make_annotation_server(SENTENCES, out, DEFAULT, port=0))
        assert ask(server, action="accept")[0] == 200
        assert json.loads((out.parent / f"{out.name}.journal.jsonl").read_text().splitlines()[-1])
