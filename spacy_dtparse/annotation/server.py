"""`annotate`: the annotation page over HTTP, with the server of `serve`."""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from spacy.language import Language

from ..pipeline.embedded import load_embedded
from ..trees.tree import Tree
from ..web.server import PageHandler, PageServer, bind_server, page_files, run_server
from .answers import AnnotationAnswers
from .opening import open_adjudication, open_session


class AnnotationHandler(PageHandler):
    """GET for the annotation page and its files; POST /parse for steps in JSON. `SCRIPT`: a further script of the
    page."""

    FILES = PageHandler.FILES | page_files(
        __file__, "annotate.html", "annotate.css", "annotate.js", "annotate_pair.js", "annotate_keys.js"
    )
    SCRIPT = ""

    def _get(self) -> tuple[str, bytes]:
        path = self.path.partition("?")[0]
        if self.SCRIPT and path == f"/{self.SCRIPT}":
            return "text/javascript", Path(__file__).with_name(self.SCRIPT).read_bytes()
        kind, content = super()._get()
        if self.SCRIPT and path == "/":
            content = content.replace(b"</body>", f'<script src="{self.SCRIPT}"></script>\n</body>'.encode())
        return kind, content


def make_annotation_server(
    sentences: Iterable[str | Sequence[str] | Tree], out: str | Path, nlp: Language | None = None, *,
    port: int = 5000, host: str = "localhost", **options: Any,
) -> PageServer:  # fmt: skip
    """Create a server that is bound to its port and not running yet; see `annotate`. No file is created before."""
    return _bind(lambda nlp: open_session(sentences, out, nlp, **options), nlp, port, host)


def make_adjudication_server(
    first: Iterable[Tree], second: Iterable[Tree], out: str | Path, nlp: Language | None = None, *,
    port: int = 5000, host: str = "localhost", **options: Any,
) -> PageServer:  # fmt: skip
    """Create a server that is bound to its port and not running yet; see `adjudicate`. No file is created before."""
    return _bind(lambda nlp: open_adjudication(first, second, out, nlp, **options), nlp, port, host)


def _bind(
    open_answers: Callable[[Language], AnnotationAnswers], nlp: Language | None, port: int, host: str
) -> PageServer:
    server = bind_server(None, AnnotationHandler, port, host)
    try:
        server.answers = open_answers(load_embedded() if nlp is None else nlp)  # type: ignore[assignment]
    except BaseException:
        server.server_close()
        raise
    return server


def annotate(
    sentences: Iterable[str | Sequence[str] | Tree], out: str | Path, nlp: Language | None = None, **options: Any
) -> None:
    """Serve a web page for annotating sentences with trees, until Ctrl-C.

    `sentences`: texts (the pipeline finds their sentences), lists of words, or trees to correct. Each accepted tree is
    written at once to the bracketed file `out`, those of the dev part to a file beside it (`trees.dev.mrg` for
    `trees.mrg`). A journal of all steps, `trees.mrg.journal.jsonl`, is continued if it exists. `nlp`: a pipeline whose
    parser supports constraints (default: that of `load()`).

    Options: `labels`: labels that the parser does not have; `annotator`: a name for the journal; `order`:
    "expected-errors" (the sentences with most expected errors per token first) or "given"; `dev_fraction`: fraction of
    the sentences that are chosen at random for the dev part, with `seed`; `scheme`: the name or JSON file of an
    annotation scheme; accepted trees have only its labels and those of `labels`; `port`: 0 takes any free port; `host`:
    by default only this machine can connect.

    Raises ConfigError for a parser without constraints, an option or a port that is not allowed, a journal of other
    sentences, or a file `out` that was changed by hand and cannot be understood.
    """
    server = make_annotation_server(sentences, out, nlp, **options)
    run_server(server, options.get("host", "localhost"))


def adjudicate(
    first: Iterable[Tree], second: Iterable[Tree], out: str | Path, nlp: Language | None = None, **options: Any
) -> None:
    """Serve a web page for choosing between the trees of two annotators, until Ctrl-C.

    `first`, `second`: their trees, matched by their words. If both have the same tree of a sentence, it is accepted at
    the beginning; sentences with two trees come next, then those that only one annotator has. The file `out` and its
    journal are those of `annotate`, without a dev part. Options: `names`: two different names of the annotators;
    `annotator`: the name of the adjudicator; `labels`, `scheme`, `port`, `host`: as for `annotate`.

    Raises ConfigError as `annotate` does, or if `names` are not two different names.
    """
    server = make_adjudication_server(first, second, out, nlp, **options)
    run_server(server, options.get("host", "localhost"))
