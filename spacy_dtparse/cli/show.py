"""Draw the trees of a text in the terminal, or as SVG files."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import DtparseError
from .pipelines import add_pipeline_arguments, get_component, load_pipeline, quiet_warnings, some_trees

if TYPE_CHECKING:
    from ..trees.tree import Tree


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `dtparse show`."""
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("text", nargs="?", metavar="TEXT", help="a text to parse and draw")
    source.add_argument("--trees", metavar="FILE", help="draw the trees of a bracketed file (- is stdin)")
    parser.add_argument(
        "--svg",
        metavar="FILE",
        help="write SVG; several trees become FILE-1.svg, FILE-2.svg …; - writes one tree to standard output",
    )
    parser.add_argument("--no-tags", action="store_true", help="leave parts of speech out")
    parser.add_argument("--ascii", action="store_true", help="no box characters in the terminal")
    parser.add_argument("--rtl", action="store_true", help="the first word of an SVG at the right")
    parser.add_argument(
        "--theme", choices=("light", "dark"), default="light", help="colours of an SVG (default: %(default)s)"
    )
    add_pipeline_arguments(parser)


def run(options: argparse.Namespace) -> None:
    """Draw."""
    from ..trees.brackets import read_trees
    from ..viz import text_tree

    quiet_warnings()
    if options.trees is not None:
        trees = some_trees(options.trees, read_trees, stdin=True)
    elif options.text.strip():
        from ..pipeline import attributes

        nlp = load_pipeline(options.pipeline, options.model, options.budget)
        trees = attributes.trees(nlp(options.text), get_component(nlp).spans_key)
    else:
        raise DtparseError("the text is empty; give a sentence in quotes")
    if options.svg is None:
        drawings = (text_tree(tree, ascii_only=options.ascii, tags=not options.no_tags) for tree in trees)
        print("\n\n".join(drawings))
        return
    look = {"tags": not options.no_tags, "direction": "rtl" if options.rtl else "ltr", "theme": options.theme}
    for path in write_svg(trees, options.svg, **look):
        print(f"dtparse: wrote {path}", file=sys.stderr)


def write_svg(trees: Sequence[Tree], target: str, **look: Any) -> list[str]:
    """Write one SVG file per tree and return their names; "-" is standard output and takes one tree. `look`: of
    `svg_tree`.

    Raises DtparseError when several trees should go to standard output.
    """
    from ..viz import svg_tree

    if target == "-":
        if len(trees) != 1:
            raise DtparseError(f"{len(trees)} trees for standard output; name a file, FILE-1.svg … are written")
        sys.stdout.write(svg_tree(trees[0], **look) + "\n")
        return []
    path = Path(target).with_suffix(Path(target).suffix or ".svg")
    names = []
    for number, tree in enumerate(trees, 1):
        name = path if len(trees) == 1 else path.with_name(f"{path.stem}-{number}{path.suffix}")
        name.write_text(svg_tree(tree, **look), encoding="utf-8")
        names.append(str(name))
    return names
