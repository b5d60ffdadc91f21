"""`render`: Docs, spans and Trees drawn."""

from __future__ import annotations

import builtins
import math
import os
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from types import ModuleType

import pytest
from spacy.tokens import Doc

import spacy_dtparse
from spacy_dtparse.core.parser import ParseResult
from spacy_dtparse.errors import ConfigError, NonConstituentError, NotParsedError
from spacy_dtparse.pipeline.drawings import in_notebook, render, trees_with_probabilities
from spacy_dtparse.pipeline.writing import ParsedSentence, write_constituents
from spacy_dtparse.trees import parse_tree
from spacy_dtparse.viz import Drawing, draw

from ..documents import ROOT


@pytest.fixture
def doc(nlp):
    return nlp("She saw the old cat on the mat. It sleeps.")


def shown(svg: str) -> str:
    return "".join(ElementTree.fromstring(svg).itertext())


def test_a_doc_has_a_tree_for_each_sentence(doc):
    svg = render(doc)
    assert type(svg) is str and svg == spacy_dtparse.render(doc)
    assert shown(svg).count("TOP") == 2 and "sleeps" in svg
    assert render(doc, style="text", options={"layout": "side"}).count("TOP") == 2
    assert render(doc, style="spans").count('class="line"') == 2
    assert render(doc, page=True).startswith("<!DOCTYPE html>")


def test_spans_and_lists(doc):
    first, second = doc.sents
    assert "sleeps" not in render(first) and "She" not in render(second)
    assert render([first, second]) == render(doc) == render(iter([first, second])) == render(doc[:])
    phrase = next(span for span in doc._.constituents if span.text == "the old cat")
    assert shown(render(phrase)).find("TOP") == -1 and "NP" in shown(render(phrase))
    tree = parse_tree("(S (NP (NN Ink)) (VP (VBZ dries)))")
    assert render(tree) == draw([tree]) and shown(render([tree, doc])).count("Ink") == 1


def test_white_space_is_left_out(nlp):
    doc = nlp("She \n saw it.\n\nIt sleeps. \n")
    assert shown(render(doc)).count("TOP") == len([one for one in doc.sents if one.text.strip()])
    assert render(nlp(""), style="text") == "" and ElementTree.fromstring(render(nlp(" "))) is not None


def test_probabilities_stand_with_their_labels(nlp):
    doc = nlp.make_doc("She saw it now")
    tree = parse_tree("(S (NP (PRP She)) (VP (VBD saw) (NP (PRP it)) (ADVP (RB now))))")
    costs = [0.0, 0.0, math.log(2), math.log(4), float("nan"), 0.1]
    write_constituents(doc, [ParsedSentence(0, 4, range(4), ParseResult(tree, tuple(costs), 1.0, "optimal"))])
    assert "0.50" not in render(doc, style="text")
    text = render(doc, style="text", options={"probabilities": True, "layout": "side"})
    assert text.split("\n")[0] == "TOP ── S 1.00"
    assert "NP 0.50" in text and "VP 0.25" in text and "ADVP 0.90" in text and "NP ── " in text
    ((drawn, probabilities),) = trees_with_probabilities(doc[1:4])
    assert drawn.labels == ("VP", "NP", "ADVP") and probabilities[:2] == [pytest.approx(0.25), None]
    ((drawn, probabilities),) = trees_with_probabilities(doc[1:3])
    assert drawn.labels == ("TOP", "NP") and probabilities == [None, None]


def test_bad_input(nlp, doc):
    with pytest.raises(NotParsedError, match="this Doc has no constituents"):
        render(nlp.make_doc("She saw it."))
    with pytest.raises(NonConstituentError, match="crosses the edge"):
        render(doc[1:3])
    for wrong, seen in (("She.", "str 'She.'"), (3, "int 3"), ([doc, "x"], "str 'x'"), (None, "NoneType None")):
        with pytest.raises(ConfigError, match=f"{seen}.* cannot be drawn; give a parsed Doc"):
            render(wrong)
    with pytest.raises(ConfigError, match="style='dep'; allowed are 'tree', 'spans', 'text'"):
        render(doc, style="dep")
    with pytest.raises(ConfigError, match="no option 'colour'"):
        render(doc, options={"colour": False})
    with pytest.raises(ConfigError, match="jupyter='yes'; allowed are True, False and None"):
        render(doc, jupyter="yes")
    with pytest.raises(ConfigError, match="probabilities=True, but there are none"):
        render(Doc.from_docs([doc]), options={"probabilities": True})
    with pytest.raises(NotParsedError, match=r"doc.spans\['other'\]"):
        render(doc, key="other")


def test_in_a_notebook(doc, monkeypatch):
    assert not in_notebook() and isinstance(render(doc, jupyter=True), Drawing)
    jupyter = type("ZMQInteractiveShell", (), {})
    for shell, expected in ((type("TerminalInteractiveShell", (), {}), False), (type("Shell", (jupyter,), {}), True), (
        jupyter, True
    )):  # fmt: skip
        monkeypatch.setattr(builtins, "get_ipython", shell, raising=False)
        assert in_notebook() == expected
    drawn = render(doc)
    assert isinstance(drawn, Drawing) and "<svg" in drawn._repr_html_() and drawn._repr_svg_() == drawn
    assert type(render(doc, jupyter=False)) is str


def test_a_loop_in_a_notebook_displays_each_drawing(doc, monkeypatch):
    shown = []
    module = ModuleType("IPython.display")
    module.display = lambda data, raw: shown.append(data) if raw else None
    monkeypatch.setitem(sys.modules, "IPython", ModuleType("IPython"))
    monkeypatch.setitem(sys.modules, "IPython.display", module)
    drawn = [render(doc, style, jupyter=True) for style in ("tree", "spans", "text")]
    assert [data["text/html"] for data in shown] == [f'<span class="tex2jax_ignore">{one.html}</span>' for one in drawn]
    plain = [data["text/plain"] for data in shown]
    assert plain == ["<drawing in style 'tree'>", "<drawing in style 'spans'>", drawn[2]]
    for one in drawn:  # as the last value of a cell it is not displayed again
        assert isinstance(one, Drawing) and one._ipython_display_() is None and len(shown) == 3
    assert not hasattr(render(doc, jupyter=True).__reduce__()[0], "_ipython_display_")
    render(doc, jupyter=None)
    render(doc, jupyter=False)
    assert len(shown) == 4
    style = drawn[2].html.split(">")[0]
    assert "monospace" in style and "white-space:pre;" in style


@pytest.mark.slow
def test_a_notebook(tmp_path):
    """A loop with IPython's own display machinery, in a process that counts as a notebook's kernel."""
    pytest.importorskip("IPython")
    code = (
        "import builtins\n"
        "from IPython.core.interactiveshell import InteractiveShell\n"
        "from IPython.utils.capture import capture_output\n"
        "class ZMQInteractiveShell(InteractiveShell): pass\n"
        "shell = ZMQInteractiveShell.instance()\n"
        "shell.run_cell('import spacy_dtparse; from spacy_dtparse.trees import parse_tree')\n"
        'shell.run_cell(\'trees = [parse_tree(one) for one in ("(S (NN a))", "(NP (NN b))")]\')\n'
        "def outputs(cell):\n"
        "    with capture_output() as captured: shell.run_cell(cell)\n"
        "    return [sorted(one.data) for one in captured.outputs]\n"
        "both = [['text/html', 'text/plain']] * 2\n"
        "for style in ('tree', 'spans', 'text'):\n"
        "    loop = f'for one in trees: spacy_dtparse.render(one, {style!r}, jupyter=True)'\n"
        "    assert outputs(loop) == both, outputs(loop)\n"
        "    assert outputs(f'spacy_dtparse.render(trees[0], {style!r}, jupyter=True)') == both[:1]\n"
        "    assert outputs(f'x = spacy_dtparse.render(trees[0], {style!r})') == []\n"
        "print('as expected')\n"
    )
    environment = {**os.environ, "IPYTHONDIR": str(tmp_path)}
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=False)
    assert found.stdout.strip().endswith("as expected"), found.stderr


def test_drawing_loads_no_numba():
    code = (
        "import sys, spacy_dtparse\nfrom spacy_dtparse.trees import parse_tree\n"
        "spacy_dtparse.render(parse_tree('(S (NN a))'))\nprint('numba' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout.strip() == "False"
