"""Servers of small pipelines, in this process, on a free port."""

from __future__ import annotations

import threading
from contextlib import contextmanager

import pytest

from spacy_dtparse.web.server import make_server

from ..pipeline.conftest import make_nlp, model_file, rule_parser_loads  # noqa: F401 (fixtures)


@contextmanager
def running(nlp):
    """Run a server for the time of the block and yield its address."""
    server = make_server(nlp, port=0)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield server.url
    finally:
        server.shutdown()
        server.server_close()
        thread.join(10)
        assert not thread.is_alive()


@pytest.fixture
def nlp(model_file):  # noqa: F811
    return make_nlp(model_file)


@pytest.fixture
def url(nlp):
    with running(nlp) as address:
        yield address
