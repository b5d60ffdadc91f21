"""The page in a headless Chromium: typed text, clicks, errors, themes. Skipped without chromedriver."""

from __future__ import annotations

import os
import re
from pathlib import Path
from urllib.parse import quote

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
        parse(browser, "I met the man with the telescope yesterday.")
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
        parse(browser, "I met the man with the telescope yesterday.")
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


@pytest.fixture(scope="module")
def english():
    return spacy_dtparse.load()


@pytest.fixture
def narrow(browser):
    browser.resize(390, 844)
    yield browser
    browser.resize(1300, 1000)


FITS = "return document.documentElement.scrollWidth <= document.documentElement.clientWidth"
LABELS_AND_NUMBERS = (
    "return [...document.querySelectorAll('[data-constituent]')].map(label => {"
    "  const number = label.nextElementSibling;"
    "  return [Number(label.dataset.constituent), label.firstChild.textContent,"
    "    number && number.matches('.probability') ? number.textContent.trim() : null]; })"
)


@pytest.mark.embedded
def test_a_node_has_one_number(browser, english):
    """The number in the tree is that of the panel and of `span._.probability`."""
    english.get_pipe("dtparse").probabilities = True
    english.get_pipe("dtparse").set_parser(english.get_pipe("dtparse").parser)
    text = "I met the man with the telescope in the park."
    doc = english(text)
    spans = [("TOP", None), *((span.label_, f"{span._.probability:.2f}") for span in doc._.constituents)]
    with running(english) as url:
        browser.open(url)
        browser.wait(READY)
        parse(browser, text)
        shown = sorted(browser.run(LABELS_AND_NUMBERS))
        assert [(label, number) for _, label, number in shown] == spans
        assert {number for _, number in spans} > {"1.00"} and len({number for _, number in spans}) > 3
        for k, _, number in shown[1:]:
            browser.click(f"[data-constituent='{k}']")
            browser.wait("document.querySelector('#details h3')")
            assert browser.text("#details .probability") == f"Probability {number}"
            alternatives = browser.run("return [...document.querySelectorAll('td.number')].map(e => e.textContent)")
            assert alternatives == sorted(alternatives, reverse=True)
            assert all(re.fullmatch(r"0\.\d\d|1\.00", one) for one in alternatives)
            assert "%" not in browser.text("#details table, #details .probability")


@pytest.mark.embedded
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_on_a_phone_the_panel_is_below_its_tree(narrow, shots, english, theme):
    with running(english) as url:
        narrow.open(url)
        narrow.wait(READY)
        narrow.run("document.querySelector('#theme').value = arguments[0]", theme)
        for name, text in (("5", "The old dog slept. It snored."), ("60", LONG)):
            parse(narrow, text)
            narrow.run("scrollTo(0, 0)")
            narrow.screenshot(shots / f"phone_{name}_{theme}.png")
            assert narrow.run(FITS)
            narrow.click("[data-constituent='2']")
            narrow.wait("document.querySelector('#details h3')")
            narrow.screenshot(shots / f"phone_{name}_{theme}_panel.png")
            above, below, next_tree = narrow.run(
                "const [tree, next] = document.querySelectorAll('.drawing');"
                "const panel = document.querySelector('#details').getBoundingClientRect();"
                "return [tree.getBoundingClientRect().bottom, panel.top, next ? next.getBoundingClientRect().top : 1e9]"
            )
            assert above <= below < next_tree and below < 844
            assert narrow.run(FITS)
            narrow.run("document.querySelector('#details .close').click()")
            assert narrow.run("return document.querySelector('#details').hidden")


@pytest.mark.embedded
def test_labels_have_words(browser, english):
    with running(english) as url:
        browser.open(url)
        browser.wait(READY)
        for style, title in (("tree", "e.querySelector('title').textContent"), ("spans", "e.title")):
            browser.run(f"document.querySelector('#style').value = '{style}'")
            parse(browser, "The old dog slept.")
            labels = browser.run(f"return [...document.querySelectorAll('[data-constituent]')].map(e => {title})")
            assert any(one.startswith("NP: noun phrase; probability ") for one in labels)
            assert any(one.startswith("S: clause; probability ") for one in labels)
            tags = browser.run(f"return [...document.querySelectorAll('.tag')].map(e => {title})")
            assert tags[:2] == ["DT: determiner", "JJ: adjective"]
            assert tags[-2:] == ["VBD: verb, past tense", ".: punctuation at the end of a sentence"]
        browser.click("[data-constituent='1']")
        assert browser.text("#details .meaning") == "clause"


@pytest.mark.embedded
def test_examples_and_the_purpose(browser, english):
    with running(english) as url:
        browser.open(url)
        browser.wait(READY)
        assert browser.text("#purpose").startswith("Type a text in English to see the constituency tree")
        examples = browser.run("return [...document.querySelectorAll('.example')].map(e => e.textContent)")
        assert len(examples) == 3 and browser.run("return location.hash") == ""
        for k, example in enumerate(examples):
            browser.run("document.querySelector('#sentences').replaceChildren()")
            browser.click(".example", k)
            browser.wait(READY)
            assert browser.run("return document.querySelector('#text').value") == example
            assert browser.run("return new URLSearchParams(location.hash.slice(1)).get('text')") == example


def test_the_text_is_in_the_address(browser, nlp):
    with running(nlp) as url:
        browser.open(url)
        browser.wait("document.querySelector('.example')")
        text = "She saw the cat & the dog + 100 % of #mats?"
        parse(browser, text)
        address = browser.run("return location.href")
        assert "?" not in address  # what is after # is not sent to the server
        browser.open("about:blank")
        browser.open(address)
        browser.wait(READY)
        assert browser.run("return document.querySelector('#text').value") == text
        assert "mats" in browser.text("#sentences")
        browser.run("location.hash = '#text=It+sleeps.'")
        browser.wait("document.querySelector('#sentences').textContent.includes('sleeps')")
        for start in ("?text=", "#text="):
            browser.open("about:blank")
            browser.open(f"{url}/{start}{quote(EVIL)}")
            browser.wait(READY)
            assert browser.run("return document.querySelector('#text').value") == EVIL
            assert browser.run("return document.title") == "dtparse"
            assert browser.run("return document.querySelectorAll('#sentences img, #sentences script').length") == 0
        browser.open("about:blank")
        browser.open(f"{url}/#text={'a' * 9000}")
        browser.wait("!document.querySelector('#parse').disabled && document.querySelector('#text').value")
        assert browser.run("return document.querySelector('#text').value.length") == 5000
        for odd in ("#text=", "#text=%20", "#other", "#text=%E0%A4%A"):
            browser.open("about:blank")
            browser.open(f"{url}/{odd}")
            browser.wait("document.querySelector('.example') && !document.querySelector('#parse').disabled")


@pytest.mark.embedded
def test_a_wide_tree_begins_at_its_root(narrow, shots, english):
    with running(english) as url:
        narrow.open(url)
        narrow.wait(READY)
        narrow.run("document.querySelector('#layout').value = 'down'")
        parse(narrow, LONG)
        narrow.screenshot(shots / "phone_wide.png")
        middle, left, right = narrow.run(
            "const root = document.querySelector(\"[data-constituent='0']\").getBoundingClientRect();"
            "const box = document.querySelector('.drawing').getBoundingClientRect();"
            "return [root.left + root.width / 2, box.left, box.right]"
        )
        assert abs(middle - (left + right) / 2) < 3
        assert narrow.run("return document.querySelector('.drawing').scrollLeft") > 100


@pytest.mark.embedded
@pytest.mark.parametrize("width", [1400, 2000])
def test_long_trees_use_the_width(browser, shots, english, width):
    browser.resize(width, 900)
    try:
        with running(english) as url:
            browser.open(url)
            browser.wait(READY)
            parse(browser, LONG)
            browser.screenshot(shots / f"columns_{width}.png")
            boxes = browser.run(
                "return [...document.querySelectorAll('.drawing > svg')].map(e => e.getBoundingClientRect())"
                ".map(b => [b.left, b.right, b.top, b.bottom])"
            )
            assert len(boxes) == (3 if width == 1400 else 4)
            assert sum(right - left for left, right, _, _ in boxes) > 0.75 * width
            words = browser.run("return [...document.querySelectorAll('[data-token]')].map(e => e.textContent)")
            assert words == [token.text for token in english(LONG)]
            inside = browser.run(
                "return [...document.querySelectorAll('.drawing > svg')].every(svg => { const box ="
                " svg.getBoundingClientRect(); return [...svg.querySelectorAll('text')].every(t => {"
                " const b = t.getBoundingClientRect(); return b.top >= box.top - 1 && b.bottom <= box.bottom + 1 }) })"
            )
            assert inside and browser.run(FITS)
            last = max(int(k) for k, _, _ in browser.run(LABELS_AND_NUMBERS))
            browser.click(f"[data-constituent='{last}']")
            browser.wait("document.querySelector('#details h3')")
            seen = browser.run(
                "const b = document.querySelector('.chosen').getBoundingClientRect();"
                "const d = document.querySelector('.drawing').getBoundingClientRect(); return b.right <= d.right + 1"
            )
            assert seen
    finally:
        browser.resize(1300, 1000)


@pytest.mark.embedded
def test_text_of_another_language(browser, english):
    french = "Le chat noir de ma voisine dort toujours sur la petite table de la cuisine."
    with running(english) as url:
        browser.open(url)
        browser.wait(READY)
        assert browser.run("return document.querySelector('#note').hidden")
        parse(browser, french)
        assert browser.text("#note").startswith("The text looks like French, not English, the language of the model;")
        parse(browser, "The black cat of my neighbour always sleeps on the small kitchen table.")
        assert browser.run("return document.querySelector('#note').hidden")


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("style", ["tree", "spans"])
def test_drawings_of_render(browser, shots, tmp_path, nlp, theme, style):
    """Texts do not overlap, measured with the font of the browser."""
    doc = nlp("The old cat sat quietly on the mat, she saw the dog on the mat.")
    for layout in ("down", "side") if style == "tree" else ("",):
        options = {"theme": theme, "probabilities": True} | ({"layout": layout} if layout else {})
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
