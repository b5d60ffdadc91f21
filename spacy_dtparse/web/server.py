"""`serve`: the page over HTTP, with the standard library only; by default only this machine can connect."""

import json
import logging
import socket
import sys
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import ip_address
from pathlib import Path
from typing import Any

from spacy.language import Language

from ..checks import integer
from ..errors import ConfigError, DtparseError, OverloadedError, shorten
from ..pipeline.embedded import load_embedded
from .answers import Answers

MAX_BYTES = 200_000
"""Maximum size of a request."""
MAX_CLIENTS = 64
"""Maximum number of connections; others are told to come back later."""
READ_SECONDS = 20.0
"""Maximum time in which a client sends its whole request."""

_TYPES = {".html": "text/html", ".css": "text/css", ".js": "text/javascript"}
_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; "
    "connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}
_logger = logging.getLogger("spacy_dtparse.serve")


class PageServer(ThreadingHTTPServer):
    """A server of the page, bound to its port; `serve_forever` runs it. `url`: address of the page."""

    daemon_threads = True
    request_queue_size = MAX_CLIENTS
    answers: Answers
    local: bool
    """Whether it is bound to this machine only."""

    def __init__(self, *arguments: Any, **named: Any):
        self._free = threading.BoundedSemaphore(MAX_CLIENTS)
        self._ends: dict[socket.socket, float] = {}
        super().__init__(*arguments, **named)

    def process_request(self, request: Any, client_address: Any) -> None:
        """Start a thread for a connection, or refuse it if there are too many."""
        if self._free.acquire(blocking=False):
            try:
                super().process_request(request, client_address)
                return
            except RuntimeError:  # there is no memory for another thread
                self._free.release()
        with suppress(OSError):
            request.settimeout(1)
            request.sendall(_REFUSED)
        self.shutdown_request(request)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Answer one request."""
        self._ends[request] = time.monotonic() + READ_SECONDS
        try:
            super().process_request_thread(request, client_address)
        finally:
            self.end_reading(request)
            self._free.release()

    def end_reading(self, request: socket.socket) -> None:
        """Record that a request has come completely."""
        self._ends.pop(request, None)

    def service_actions(self) -> None:
        """Stop reading from clients that take too long to send; called twice a second by `serve_forever`."""
        now = time.monotonic()
        for request, end in list(self._ends.items()):
            if now > end:
                self.end_reading(request)
                with suppress(OSError):
                    request.shutdown(socket.SHUT_RD)

    @property
    def url(self) -> str:
        """Address of the page."""
        host, port = self.server_address[:2]
        shown = "localhost" if self.local else f"[{host!s}]" if ":" in str(host) else str(host)
        return f"http://{shown}:{port}"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore a client that disconnected; log other errors."""
        if not isinstance(sys.exc_info()[1], ConnectionError | TimeoutError):
            _logger.exception("a request from %s failed", client_address)


class _RequestError(Exception):
    """A request that cannot be answered: status and message."""

    def __init__(self, status: HTTPStatus, message: str):
        super().__init__(message)
        self.status = status


def _content_length(value: str) -> int | None:
    """The number of bytes that a client announces; None if it is no number."""
    if not (value.isascii() and value.isdigit()):
        return None
    return int(value) if len(value) < 20 else 10**20


def page_files(module: str, page: str, *others: str) -> dict[str, Path]:
    """The files of a page, beside the file `module`, by their path in the address."""
    return {"/" if name == page else f"/{name}": Path(module).with_name(name) for name in (page, *others)}


class PageHandler(BaseHTTPRequestHandler):
    """GET for the page and its files; POST /parse and /explain for answers in JSON."""

    FILES = page_files(__file__, "page.html", "page.css", "common.js", "page.js", "drawing.js")
    server: PageServer
    server_version = "dtparse"
    sys_version = ""
    timeout = 30
    _was_read = False
    """Whether the content of the request was read; each connection has one request (HTTP/1.0)."""

    def do_GET(self) -> None:
        """Answer with the page, its files, or /about."""
        self._answer(self._get)

    def do_HEAD(self) -> None:
        """Answer as GET does, without the content."""
        self._answer(self._get)

    def do_POST(self) -> None:
        """Answer a request in JSON."""
        self._answer(self._post)

    def log_message(self, format: str, *args: Any) -> None:
        """Log to `spacy_dtparse.serve`, which by default does not show such lines."""
        _logger.debug("%s %s", self.address_string(), format % args)

    def _answer(self, find: Callable[[], tuple[str, bytes]]) -> None:
        status, more_headers = HTTPStatus.OK, {}
        try:
            self._check_host()
            kind, content = find()
        except _RequestError as problem:
            status, (kind, content) = problem.status, _json({"error": str(problem)})
            self._discard_content()
        except OverloadedError as error:
            status, (kind, content) = HTTPStatus.SERVICE_UNAVAILABLE, _json({"error": str(error)})
            more_headers = {"Retry-After": str(error.retry_after)}
        except DtparseError as error:
            status, (kind, content) = HTTPStatus.BAD_REQUEST, _json({"error": str(error)})
        except (ConnectionError, TimeoutError):
            raise
        except Exception as error:  # any error of a pipeline's components is shown on the page
            _logger.exception("%s failed", self.path)
            status = HTTPStatus.INTERNAL_SERVER_ERROR
            kind, content = _json({"error": f"the pipeline failed: {type(error).__name__}: {shorten(str(error))}"})
        self.send_response(status)
        headers = {
            "Content-Type": f"{kind}; charset=utf-8",
            "Content-Length": str(len(content)),
            **_HEADERS,
            **more_headers,
        }
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def _discard_content(self) -> None:
        """Read the rest of the client's data; otherwise it would see a broken connection instead of the answer."""
        length = _content_length(self.headers.get("Content-Length", ""))
        if not self._was_read and length is not None and length <= 20 * MAX_BYTES:
            self.rfile.read(length)

    def _check_client(self) -> None:
        """Raise ConnectionAbortedError if the client has left."""
        self.connection.settimeout(0)
        try:
            gone = self.connection.recv(1, socket.MSG_PEEK) == b""
        except BlockingIOError:
            gone = False
        finally:
            self.connection.settimeout(self.timeout)
        if gone:
            raise ConnectionAbortedError("the client has left")

    def _check_host(self) -> None:
        """Refuse other host names: another site's page may have a name that leads to this machine."""
        host = self.headers.get("Host", "").strip()
        name = host[1:].partition("]")[0] if host.startswith("[") else host.partition(":")[0]
        if self.server.local and not is_local(name):
            raise _RequestError(HTTPStatus.FORBIDDEN, f"this server only answers localhost, not {shorten(name)!r}")

    def _get(self) -> tuple[str, bytes]:
        path = self.path.partition("?")[0]
        if path == "/about":
            return _json(self.server.answers.about())
        if path not in self.FILES:
            raise _RequestError(HTTPStatus.NOT_FOUND, f"there is nothing at {shorten(path)!r}; the page is at /")
        return _TYPES[self.FILES[path].suffix], self.FILES[path].read_bytes()

    def _post(self) -> tuple[str, bytes]:
        answers = {"/parse": self.server.answers.parse, "/explain": self.server.answers.explain_constituent}
        if self.path not in answers:
            message = f"there is nothing at {shorten(self.path)!r}; allowed are /parse and /explain"
            raise _RequestError(HTTPStatus.NOT_FOUND, message)
        if self.headers.get_content_type() != "application/json":
            raise _RequestError(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "send JSON, with Content-Type application/json")
        length = _content_length(self.headers.get("Content-Length", ""))
        if length is None:
            raise _RequestError(HTTPStatus.LENGTH_REQUIRED, "send the length of the content as Content-Length")
        if length > MAX_BYTES:
            raise _RequestError(
                HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"{length:,} bytes; a request has at most {MAX_BYTES:,}"
            )
        self._was_read = True
        content = self.rfile.read(length)
        self.server.end_reading(self.connection)
        if len(content) < length:
            raise _RequestError(
                HTTPStatus.REQUEST_TIMEOUT,
                f"{len(content):,} of {length:,} bytes came; send the whole request within {READ_SECONDS:g} seconds",
            )
        try:
            request = json.loads(content)
        except (ValueError, RecursionError) as error:
            raise _RequestError(HTTPStatus.BAD_REQUEST, f"the request is no JSON: {error}") from None
        if not isinstance(request, dict):
            raise _RequestError(HTTPStatus.BAD_REQUEST, "the request is no JSON object, {…}")
        return _json(answers[self.path](request, self._check_client))


def make_server(nlp: Language | None = None, port: int = 5000, host: str = "localhost") -> PageServer:
    """Create a server that is bound to its port and not running yet; see `serve`."""
    check_address(port, host)
    return bind_server(Answers(load_embedded() if nlp is None else nlp), PageHandler, port, host)


def check_address(port: int, host: str) -> None:
    """Raise ConfigError for a port or a host that is not allowed."""
    if not integer(0, 65535).fits(port):
        raise ConfigError(f"port={port!r}; give a whole number from 0 (any free port) to 65535")
    if not isinstance(host, str) or not host:
        raise ConfigError(f"host={host!r}; give the name or address of this machine, such as 'localhost'")


def bind_server(answers: Any, handler: type[PageHandler], port: int, host: str) -> PageServer:
    """Create a server bound to its port, for `answers`, which have `about`, `parse` and `explain_constituent`; they may
    be None until the server runs."""
    check_address(port, host)
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        kind = type("PageServer", (PageServer,), {"address_family": family})
        server: PageServer = kind(address[:2], handler)
    except OSError as error:
        raise ConfigError(
            f"cannot listen at {host}:{port}: {error.strerror or error}; give another port (0: any that is free)"
        ) from error
    server.answers, server.local = answers, is_local(str(address[0]))
    return server


def serve(nlp: Language | None = None, port: int = 5000, host: str = "localhost") -> None:
    """Serve a web page that shows the tree of a sentence typed by the user, until Ctrl-C.

    The page shows the probability of each constituent, the k best trees if the parser can list them, and, on a click,
    the alternatives to a constituent and the reasons for it (see `explain`). `nlp`: a pipeline with a constituent
    parser (default: that of `load()`). `port`: 0 takes any free port. `host`: by default only this machine can connect.

    Raises ConfigError if the port is not available, DtparseError for a pipeline without a constituent parser.
    """
    run_server(make_server(nlp, port, host), host)


def run_server(server: PageServer, host: str) -> None:
    """Print the address of the page and serve it until Ctrl-C."""
    print(f"dtparse: the page is at {server.url}; Ctrl-C ends it", file=sys.stderr, flush=True)
    if not server.local:
        print(f"dtparse: warning: whoever reaches {host} can use it", file=sys.stderr, flush=True)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        print("dtparse: ended", file=sys.stderr)
    finally:
        server.server_close()


def is_local(name: str) -> bool:
    """Whether a host's name or address belongs to this machine only."""
    try:
        return ip_address(name).is_loopback
    except ValueError:
        return name.lower().rstrip(".") == "localhost"


def _json(value: Mapping[str, Any]) -> tuple[str, bytes]:
    return "application/json", json.dumps(value, ensure_ascii=False, allow_nan=False).encode("utf-8", "replace")


_REFUSED = (
    b"HTTP/1.0 503 Service Unavailable\r\nRetry-After: 5\r\nContent-Type: application/json; charset=utf-8\r\n"
    b"Connection: close\r\n\r\n" + _json({"error": "too many connections; send the request again later"})[1]
)
"""The reply to a connection beyond MAX_CLIENTS."""
