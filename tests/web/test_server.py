"""The server of the page, in this process."""

from __future__ import annotations

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from urllib.parse import urlsplit

import pytest
from spacy.language import Language

import spacy_dtparse
from spacy_dtparse.errors import ConfigError, DtparseError
from spacy_dtparse.web.server import MAX_BYTES, is_local, make_server

from ..documents import ROOT
from .conftest import running

pytestmark = pytest.mark.slow


def request(url, data=None, headers=None, method=None):
    """Status, headers and content of a reply."""
    body = json.dumps(data).encode() if isinstance(data, dict | list) else data
    given = {"Content-Type": "application/json"} if body is not None else {}
    asked = urllib.request.Request(url, body, {**given, **(headers or {})}, method=method)
    try:
        with urllib.request.urlopen(asked, timeout=30) as reply:
            return reply.status, reply.headers, reply.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.headers, error.read().decode()


def test_the_page_and_its_files(url):
    script = "text/javascript"
    for path, kind in (
        ("/", "text/html"),
        ("/common.js", script),
        ("/page.js", script),
        ("/drawing.js", script),
        ("/page.css", "text/css"),
    ):
        status, headers, content = request(url + path)
        assert status == 200 and headers.get_content_type() == kind and len(content) > 1000
        assert "script-src 'self'" in headers["Content-Security-Policy"]
        assert "//" not in content.replace("// ", "").replace("http://www.w3.org", "")  # nothing from other hosts
    assert request(url + "/?text=a")[0] == 200
    status, headers, content = request(url, method="HEAD")
    assert status == 200 and content == "" and int(headers["Content-Length"]) > 1000


def test_parse_and_ask(url):
    status, headers, content = request(url + "/parse", {"text": "She saw the old cat."})
    assert status == 200 and headers.get_content_type() == "application/json"
    (sentence,) = json.loads(content)["sentences"]
    assert sentence["brackets"].startswith("(TOP (S") and sentence["drawing"].startswith("<svg")
    asked = {name: sentence[name] for name in ("words", "tags")} | sentence["constituents"][2]
    status, _, content = request(url + "/explain", asked)
    assert status == 200 and {"alternatives", "probability", "decided", "groups", "rules"} <= set(json.loads(content))
    assert json.loads(request(url + "/about")[2])["parser"].startswith("dtparse")


@pytest.mark.parametrize(
    ("path", "data", "headers", "status", "message"),
    [
        ("/parse", {"text": " "}, {}, 400, "there is no text"),
        ("/parse", {"text": "x" * 5001}, {}, 400, "5,001 characters; the page takes 5,000"),
        ("/parse", b"{", {}, 400, "no JSON"),
        ("/parse", b"\xff\xfe", {}, 400, "no JSON"),
        ("/parse", b"[" * 100_000, {}, 400, "no JSON"),
        ("/parse", [1], {}, 400, "no JSON object"),
        ("/parse", {"text": "a"}, {"Content-Type": "text/plain"}, 415, "Content-Type application/json"),
        ("/parse", b"x" * (MAX_BYTES + 1), {}, 413, "200,001 bytes; a request has at most 200,000"),
        ("/parse", b"x" * 3_000_000, {}, 413, "3,000,000 bytes"),
        ("/other", b"x" * 3_000_000, {}, 404, "allowed are /parse and /explain"),
        ("/other", {"text": "a"}, {}, 404, "allowed are /parse and /explain"),
        ("/../server.py", None, {}, 404, "the page is at /"),
        ("/server.py", None, {}, 404, "there is nothing at '/server.py'"),
        ("/", None, {"Host": "evil.example"}, 403, "only answers localhost, not 'evil.example'"),
        ("/parse", {"text": "a"}, {"Host": "evil.example:5000"}, 403, "only answers localhost"),
    ],
)
def test_errors_of_clients(url, path, data, headers, status, message):
    got, _, content = request(url + path, data, headers)
    assert got == status and message in json.loads(content)["error"]
    assert request(url + "/parse", {"text": "She sat."})[0] == 200  # the server still answers


def test_requests_without_a_length_and_clients_that_go_away(url):
    place = urlsplit(url)
    head = "POST /parse HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    with socket.create_connection((place.hostname, place.port)) as connection:
        connection.sendall(f"{head}\r\n".encode())
        assert b"411" in connection.recv(1000)
    with socket.create_connection((place.hostname, place.port)) as connection:
        connection.sendall(f"{head}Content-Length: 90\r\n\r\n{{".encode())
    client = http.client.HTTPConnection(place.hostname, place.port)
    client.request("DELETE", "/")
    assert client.getresponse().status == 501
    client.close()
    assert request(url + "/parse", {"text": "She sat."})[0] == 200


@Language.component("web_failing")
def failing(doc):
    if "bad" in doc.text:
        raise RuntimeError("<i>no such word</i>")
    return doc


def test_errors_of_the_pipeline_are_reported(nlp):
    nlp.add_pipe("web_failing")
    with running(nlp) as url:
        status, headers, content = request(url + "/parse", {"text": "A bad cat."})
        assert status == 500 and headers.get_content_type() == "application/json"
        assert json.loads(content)["error"] == "the pipeline failed: RuntimeError: <i>no such word</i>"
        assert request(url + "/parse", {"text": "A cat."})[0] == 200


def test_several_at_once(url):
    found = {}

    def one(number):
        text = f"The cat{number} sat on the mat."
        found[number] = request(url + "/parse", {"text": text})

    threads = [threading.Thread(target=one, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(found[number][0] == 200 and f"cat{number}" in found[number][2] for number in range(8))


def test_bad_addresses(nlp):
    server = make_server(nlp, port=0)
    try:
        assert server.local and server.url.startswith("http://localhost:")
        with pytest.raises(ConfigError, match=r"cannot listen at localhost:\d+: .*give another port"):
            make_server(nlp, port=server.server_address[1])
    finally:
        server.server_close()
    for port in (-1, 65536, "5000", True):
        with pytest.raises(ConfigError, match="give a whole number from 0"):
            make_server(nlp, port=port)
    for host in ("", None):
        with pytest.raises(ConfigError, match="give the name or address of this machine"):
            make_server(nlp, host=host)
    nlp.remove_pipe("dtparse")
    with pytest.raises(DtparseError, match="no constituent parser"):
        make_server(nlp, port=0)


def test_host_names_of_this_machine():
    assert all(map(is_local, ("localhost", "LOCALHOST", "127.0.0.1", "127.8.8.8", "::1", "localhost.")))
    assert not any(map(is_local, ("0.0.0.0", "localhost.evil.example", "evil", "", "10.0.0.1", "::")))


@pytest.mark.embedded
def test_the_command_ends_with_ctrl_c():
    """`dtparse serve` in a separate process: it prints the address, answers, and ends without a traceback."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1"}
    program = (  # as in a terminal: a shell's background jobs ignore Ctrl-C
        "import signal, sys\nsignal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "from spacy_dtparse.cli import main\nsys.exit(main(sys.argv[1:]))"
    )
    command = [sys.executable, "-c", program, "serve", "--port", "0", "--pipeline", "en_span"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment, cwd=ROOT)
    try:
        line = next(line for line in process.stderr if "the page is at" in line)
        address = line.split("the page is at ")[1].split(";")[0]
        assert "(TOP (S" in request(address + "/parse", {"text": "She sat."})[2]
    finally:
        process.send_signal(signal.SIGINT)
        try:
            code = process.wait(60)
        except subprocess.TimeoutExpired:
            process.kill()
            raise
        said = process.stderr.read()
        process.stderr.close()
    assert code == 0 and "Traceback" not in said and "ended" in said


def test_serve_is_listed_without_loading_it():
    code = "import sys, spacy_dtparse\nprint('serve' in dir(spacy_dtparse), 'http.server' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout.split() == ["True", "False"]
    assert callable(spacy_dtparse.serve)
