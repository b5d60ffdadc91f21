"""Make the pictures of the documents anew: python docs/img/make.py (needs chromium and chromedriver).

`reliability.svg` is drawn by benchmarks/bench_calibration.py, `imports.svg` by draw_imports.py, the folder `annotate`
by draw_annotation.py.
"""

from __future__ import annotations

import sys
import threading
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1]))

import spacy_dtparse  # noqa: E402
from spacy_dtparse.web.server import make_server  # noqa: E402
from tests.web.browser import Browser  # noqa: E402

SENTENCE = "The dog that slept in the garden wants its bone."
DOUBTFUL = "I saw the man with the telescope yesterday."
READY = "document.querySelector('.drawing') && !document.querySelector('#parse').disabled"


def main() -> None:
    """Draw all of them."""
    nlp = spacy_dtparse.load(config={"components.dtparse.probabilities": True})
    doc = nlp(SENTENCE)
    for theme in ("light", "dark"):
        tree = spacy_dtparse.render(doc, jupyter=False, options={"theme": theme})
        (HERE / f"tree_{theme}.svg").write_text(tree, encoding="utf-8")
    spans(nlp)
    serve(nlp)


def spans(nlp) -> None:  # type: ignore[no-untyped-def]
    """Brackets under the words, with probabilities."""
    page = HERE / "spans.html"
    options = {"probabilities": True, "width": 70, "theme": "light"}
    page.write_text(spacy_dtparse.render(nlp(SENTENCE), "spans", page=True, options=options), encoding="utf-8")
    with Browser(640, 360) as browser:
        browser.open(page.as_uri())
        browser.screenshot(HERE / "spans.png")
    page.unlink()


def serve(nlp) -> None:  # type: ignore[no-untyped-def]
    """The page of `dtparse serve`, with a constituent clicked."""
    server = make_server(nlp, port=0)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        with Browser(1200, 900) as browser:
            browser.open(server.url)
            browser.wait(READY)
            browser.run("document.querySelector('#sentences').replaceChildren()")
            browser.type("#text", DOUBTFUL + "\n")
            browser.wait(READY)
            at = "[...document.querySelectorAll('[data-constituent]')].findIndex(e => e.dataset.constituent === '4')"
            browser.click("[data-constituent]", browser.run(f"return {at}"))
            browser.wait("!document.querySelector('#details').hidden && document.querySelector('#details .rule')")
            browser.screenshot(HERE / "serve.png")
    finally:
        server.shutdown()
        server.server_close()
        thread.join(10)


if __name__ == "__main__":
    main()
