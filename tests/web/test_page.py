"""The page in a headless Chromium: typed text, clicks, errors, themes. Skipped without chromedriver."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import spacy_dtparse

from .browser import CHROMIUM, DRIVER, Browser
from .conftest import running
from .test_server import failing  # noqa: F401 (the component)

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not (CHROMIUM and DRIVER), reason="no chromium and chromedriver on this machine"),
]
LONG = (
    "When the committee that had been appointed in the spring finally met, the members agreed that the old bridge, "
    "which many people in the town still used every day, should be repaired before winter, although nobody knew how "
    "much the work would cost or whether the money that they had saved for the school could be used for it."
)
READY = "document.querySelector('.drawing') && !document.querySelector('#parse').disabled"
EVIL = "<img src=x onerror=document.title='evil'> <script>document.title='evil'</script> She sat."


@pytest.fixture
def shots(tmp_path):
    """The folder of screenshots: that of the variable DTPARSE_SCREENSHOTS if it is set."""
    folder = Path(os.environ.get("DTPARSE_SCREENSHOTS", tmp_path))
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@pytest.fixture(scope="module")
def browser():
    with Browser(1300, 1000) as opened:
        yield opened


def parse(browser, text):
    browser.run("document.querySelector('#sentences').replaceChildren()")
    browser.type("#text", text + "\n")
    browser.wait(READY)


@pytest.mark.embedded
def test_a_click_shows_alternatives_and_reasons(browser, shots):
    with running(spacy_dtparse.load()) as url:
        browser.open(url)
        browser.wait(READY)
        assert "en_dtparse" in browser.text("#about") and "garden" in browser.text("svg")
        parse(browser, "I saw the man with the telescope yesterday.")
        browser.screenshot(shots / "page_before.png")
        number = browser.run(
            "return [...document.querySelectorAll('[data-constituent]')].findIndex(e => e.dataset.constituent === '4')"
        )
        browser.click("[data-constituent]", number)
        browser.wait("document.querySelector('#details .rule')")
        browser.screenshot(shots / "page_after.png")
        details = browser.text("#details")
        assert "NP: the man" in details and "the man with the telescope" in details and "contains it" in details
        assert "The span model was confident" in details and "Features that they test" in details
        assert "its last child is “man”" in details and "The largest rules" in details
        hot = "return [...document.querySelectorAll('.hot')].map(e => e.textContent).join(' ')"
        assert browser.run(hot) == "the man"
        browser.click("#details tr.choice")
        assert browser.run(hot) == "the man with the telescope"
        browser.click("#details .close")
        assert browser.run("return document.querySelector('#details').hidden") and browser.run(hot) == ""
        assert "5 trees, the best first" in browser.text(".k-best") and "probability 0." in browser.text(".k-best")
        assert browser.log() == []


@pytest.mark.embedded
def test_the_best_trees_of_a_grammar(browser, shots):
    with running(spacy_dtparse.load("en_pcfgla")) as url:
        browser.open(url)
        browser.wait(READY)
        parse(browser, "I saw the man with the telescope yesterday.")
        browser.click(".k-best summary")
        browser.screenshot(shots / "page_k_best.png")
        assert browser.run("return document.querySelectorAll('.k-best li').length") == 5
        browser.run("const k = document.querySelector('#k'); k.value = 2; k.dispatchEvent(new Event('change'))")
        browser.wait("document.querySelectorAll('.k-best li').length === 2")


def test_texts_and_errors_are_no_markup(browser, nlp):
    nlp.add_pipe("web_failing")
    with running(nlp) as url:
        browser.open(url)
        browser.wait(READY)
        for style in ("tree", "spans"):
            browser.run(f"document.querySelector('#style').value = '{style}'")
            parse(browser, EVIL)
            assert browser.run("return document.querySelectorAll('#sentences img, #sentences script').length") == 0
            assert "<script>" in browser.text("#sentences").replace(" ", "") or "script" in browser.text("#sentences")
            browser.click("[data-constituent]")
            browser.wait("document.querySelector('#details h3')")
            assert browser.run("return document.querySelectorAll('#details img').length") == 0
        assert browser.run("return document.title") == "dtparse"
        browser.type("#text", "A bad cat.\n")
        browser.wait("!document.querySelector('#message').hidden")
        assert browser.text("#message") == "the pipeline failed: RuntimeError: <i>no such word</i>"
        browser.type("#text", " \n")
        browser.wait("document.querySelector('#message').textContent.startsWith('there is no text')")
        parse(browser, "She sat.")
        assert browser.run("return document.querySelector('#message').hidden")
    browser.type("#text", "It sleeps.\n")
    browser.wait("document.querySelector('#message').textContent.startsWith('The server does not answer')")


@pytest.mark.embedded
def test_long_sentences_and_themes_fit_the_window(browser, shots):
    with running(spacy_dtparse.load("en_span")) as url:
        browser.open(url)
        browser.wait(READY)
        for theme, ground in (("light", "rgb(255, 255, 255)"), ("dark", "rgb(13, 17, 23)")):
            for style in ("tree", "spans"):
                for name, value in (("theme", theme), ("style", style)):
                    browser.run("document.querySelector(arguments[0]).value = arguments[1]", f"#{name}", value)
                parse(browser, LONG)
                browser.screenshot(shots / f"page_60_{style}_{theme}.png")
                wider = "document.documentElement.scrollWidth > document.documentElement.clientWidth"
                assert not browser.run(f"return {wider}")
                inside = "(d => d.scrollWidth <= d.clientWidth)(document.querySelector('.drawing'))"
                assert browser.run(f"return {inside}"), "a long sentence needs no scrolling to the side"
                assert browser.run("return getComputedStyle(document.body).backgroundColor") == ground


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("style", ["tree", "spans"])
def test_drawings_of_render(browser, shots, tmp_path, nlp, theme, style):
    """Texts do not overlap, measured with the font of the browser."""
    doc = nlp("The old cat sat quietly on the mat, she saw the dog on the mat.")
    for layout in ("down", "side") if style == "tree" else ("",):
        options = {"theme": theme, "scores": True} | ({"layout": layout} if layout else {})
        path = tmp_path / "page.html"
        path.write_text(spacy_dtparse.render(doc, style=style, page=True, options=options), encoding="utf-8")
        browser.open(path.as_uri())
        browser.screenshot(shots / f"render_{style}{layout}_{theme}.png")
        boxes = browser.run(
            "return [...document.querySelectorAll('text:not(:has(tspan)), tspan, span.word, span.label')]"
            ".map(e => e.getBoundingClientRect())"
            ".map(b => [b.left, b.top, b.right, b.bottom])"
        )
        assert len(boxes) > 15
        drawing = browser.run(
            "const b = document.querySelector('svg, .spans').getBoundingClientRect();"
            "return [b.left, b.top, b.right, b.bottom]"
        )
        for box in boxes:
            assert drawing[0] <= box[0] and drawing[1] <= box[1] and box[2] <= drawing[2] and box[3] <= drawing[3]
        for k, (left, top, right, bottom) in enumerate(boxes):
            for other in boxes[k + 1 :]:
                apart = right <= other[0] + 2 or other[2] <= left + 2 or bottom <= other[1] + 6 or other[3] <= top + 6
                assert apart, (boxes[k], other)
