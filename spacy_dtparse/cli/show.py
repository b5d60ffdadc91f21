"""Draw the trees of a text in the terminal, as SVG files, or as an HTML page."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import DtparseError, TreeFormatError
from ..text import check_text
from ..trees.bad_input import on_error
from .bad_input import add_errors_argument, report_skipped
from .language import LanguageWarning
from .pipelines import add_pipeline_arguments, get_component, load_chosen_pipeline, read_tree_file, set_option

if TYPE_CHECKING:
    from ..trees.tree import Tree
    from ..viz.svg import Probabilities


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of `dtparse show`."""
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("text", nargs="?", metavar="TEXT", help="a text to parse and draw")
    source.add_argument("--trees", metavar="FILE", help="draw the trees of a bracketed file (- is stdin)")
    target = parser.add_mutually_exclusive_group()
    target.add_argument(
        "--svg",
        metavar="FILE",
        help="write SVG; several trees become FILE-1.svg, FILE-2.svg …; - writes one tree to standard output",
    )
    target.add_argument("--html", metavar="FILE", help="write an HTML page with all trees; - is standard output")
    parser.add_argument(
        "--style",
        choices=("tree", "spans", "text"),
        help="style of a page: tree (the default), spans (brackets under the words) or text",
    )
    parser.add_argument(
        "--layout",
        choices=("auto", "down", "side"),
        default="auto",
        help="layout of a tree: down (words in one row), side (a line for each) or whichever fits (default)",
    )
    parser.add_argument("--width", type=int, metavar="N", help="columns of a line (default: the terminal's)")
    parser.add_argument(
        "--probabilities",
        action="store_true",
        help="the probability of each constituent (of the decision, if the model has no calibration)",
    )
    parser.add_argument("--no-tags", action="store_true", help="omit parts of speech")
    parser.add_argument("--no-colors", action="store_true", help="one colour for all labels")
    parser.add_argument("--ascii", action="store_true", help="no box characters in the terminal")
    parser.add_argument("--rtl", action="store_true", help="draw right to left: the first word at the right")
    parser.add_argument(
        "--theme",
        choices=("light", "dark", "auto"),
        default="light",
        help="colours of a picture; auto: those of the viewer's system (default: %(default)s)",
    )
    add_errors_argument(parser)
    add_pipeline_arguments(parser)


def run(options: argparse.Namespace) -> int:
    """Draw."""
    from ..trees.brackets import read_trees
    from ..viz import draw

    style, draw_options = _style_options(options)
    probabilities: list[Probabilities] | None = None
    skipped: list[TreeFormatError] = []
    if options.trees is not None:
        if options.probabilities:
            raise DtparseError("--probabilities: a file of trees has no probabilities; give a text to parse")
        read = partial(read_trees, on_error=on_error(options.errors), errors=skipped)
        trees = read_tree_file(options.trees, read, stdin=True)
    elif options.text.strip():
        from ..pipeline.drawings import trees_with_probabilities

        check_text(options.text)
        nlp = load_chosen_pipeline(options)
        if options.probabilities and get_component(nlp).parser.calibration is not None:
            set_option(get_component(nlp), "probabilities", True)
        doc = nlp(options.text)
        LanguageWarning(nlp).check(doc)
        pairs = trees_with_probabilities(doc, get_component(nlp).spans_key)
        trees, probabilities = [tree for tree, _ in pairs], [tree_probabilities for _, tree_probabilities in pairs]
    else:
        raise DtparseError("the text is empty; give a sentence in quotes")
    if options.svg is not None:
        for path in write_svg(trees, options.svg, draw_options, probabilities):
            print(f"dtparse: wrote {path}", file=sys.stderr)
        return report_skipped(skipped)
    drawn = draw(trees, style, options.html is not None, draw_options, probabilities)
    if options.html in (None, "-"):
        print(drawn)
        return report_skipped(skipped)
    page = drawn.save(Path(options.html).with_suffix(Path(options.html).suffix or ".html"))
    print(f"dtparse: wrote {page}", file=sys.stderr)
    return report_skipped(skipped)


def _style_options(options: argparse.Namespace) -> tuple[str, dict[str, Any]]:
    """The style and its options of `viz.draw`. Raises DtparseError for a style that the terminal or SVG cannot show."""
    from ..viz import OPTIONS

    style = "tree" if options.svg is not None else options.style or ("text" if options.html is None else "tree")
    if options.style not in (None, style) or (options.html is None and options.svg is None and style != "text"):
        raise DtparseError(
            f"--style {options.style} is for a page: add --html FILE (the terminal shows text, --svg writes tree)"
        )
    values = {
        "probabilities": options.probabilities, "tags": not options.no_tags, "colors": not options.no_colors,
        "theme": options.theme, "direction": "rtl" if options.rtl else "ltr", "layout": options.layout,
        "width": options.width, "ascii": options.ascii,
    }  # fmt: skip
    return style, {name: value for name, value in values.items() if style in OPTIONS[name][0].split(", ")}


def write_svg(
    trees: Sequence[Tree], target: str, options: dict[str, Any], probabilities: Sequence[Probabilities] | None = None
) -> list[str]:
    """Write one SVG file per tree and return their names; "-" is standard output and takes one tree. `options`,
    `probabilities`: of `viz.draw`.

    Raises DtparseError for several trees to standard output.
    """
    from ..viz import draw

    drawings = [
        draw([tree], options=options, probabilities=None if probabilities is None else [probabilities[index]])
        for index, tree in enumerate(trees)
    ]
    if target == "-":
        if len(trees) != 1:
            raise DtparseError(f"{len(trees)} trees for standard output; name a file, FILE-1.svg … are written")
        sys.stdout.write(drawings[0] + "\n")
        return []
    path = Path(target).with_suffix(Path(target).suffix or ".svg")
    names = []
    for number, drawing in enumerate(drawings, 1):
        name = path if len(trees) == 1 else path.with_name(f"{path.stem}-{number}{path.suffix}")
        names.append(str(drawing.save(name)))
    return names
