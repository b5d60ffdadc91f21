"""Tsurgeon's operations, measures and agreement with hostile trees, patterns and files."""

from __future__ import annotations

import contextlib
import io
import tempfile
from pathlib import Path

from spacy_dtparse.cli import main
from spacy_dtparse.errors import EditError, PatternError
from spacy_dtparse.query.edits import compile_edit, parse_script
from spacy_dtparse.query.measures import measure_trees
from spacy_dtparse.scoring.annotators import AnnotatorAgreement, align_trees
from spacy_dtparse.trees.brackets import parse_tree

from .. import growth
from ..cases import MAX_MESSAGE, case, refused

SMALL = parse_tree("(S (A a) (B b))", top=None)
ONCE = "/^S/=s !> /^S/"


@case(
    seconds=60,
    megabytes=900,
    each=[
        "insert s >1 s", "insert s >-1 s", "\n".join(["insert s >1 s"] * 60), "relabel s /^(.*)$/$1$1/",
        "\n".join(["relabel s /^(.*)$/$1$1/"] * 60), "insert (S (X x)) >1 s", "adjoin (S S@) s", "relabel s S",
        "relabel s /S/T/\nrelabel s /T/S/",
    ],
)  # fmt: skip
def operations_without_end(operations: str) -> None:
    """Trees and labels that double, and changes that never end."""
    refused(EditError, lambda: compile_edit(ONCE, operations).apply(SMALL, max_changes=200))


MALFORMED = [
    "", "delete", "delete x", "x" * 100_000, "insert " + "(" * 50_000 + "X" + ")" * 50_000 + " >1 s", "relabel s /(/x/",
    "relabel s /" + "(" * 5000 + "x" + ")" * 5000 + "/y/", "insert (A b) >" + "9" * 5000 + " s", "if exists " * 5000,
    "[" * 5000, "adjoin (A B) s", "relabel s /x/$" + "9" * 5000 + "/", "insert (A \x00) $+ \ud800", "coindex",
    "createSubtree", "move s >1 s; " * 2 + "nothing s", "insert (A b) >0 s",
]  # fmt: skip


@case(seconds=5, megabytes=300, each=range(len(MALFORMED)))
def malformed_operations(number: int) -> None:
    """Refused when they are read, or when they are carried out."""
    try:
        edit = compile_edit(ONCE, MALFORMED[number])
    except PatternError as error:
        assert len(str(error)) <= 2 * MAX_MESSAGE, len(str(error))
        return
    refused(EditError, lambda: edit.apply(SMALL, max_changes=50))


@case(seconds=5, megabytes=100, each=["", "\n" * 10_000, "%" * 10_000, "S\n\n", "\x00\n\n\x00", "S\n\nx\n\n" * 2000])
def malformed_script(text: str) -> None:
    refused(PatternError, lambda: parse_script(text))


@case(seconds=30, megabytes=300, each=growth.SHAPES)
def changes_of_a_large_tree(shape: str) -> None:
    tree = growth.make_tree(shape, 5000)
    edit = compile_edit("NP=n !== TOP", "relabel n XP")
    refused(EditError, lambda: edit.apply(tree, max_changes=20))


@case(
    seconds=30,
    megabytes=300,
    each=[(shape, counting) for shape in growth.SHAPES for counting in ("definitions", "l2sca")],
)
def measures_of_a_large_tree(what: tuple[str, str]) -> None:
    shape, counting = what
    found = measure_trees([growth.make_tree(shape, 5000)], counting)
    assert all(value is None or value >= 0 for value in found.to_dict().values())


@case(seconds=20, megabytes=300, each=[("right", "left"), ("flat", "balanced"), ("chain", "chain"), ("left", "left")])
def agreement_about_a_large_tree(shapes: tuple[str, str]) -> None:
    pairs = align_trees(*([growth.make_tree(shape, 5000)] for shape in shapes))
    found = AnnotatorAgreement(pairs)
    assert found.sentences == 1 and -1 <= found.kappa <= 1
    found.to_table()


FILES = [
    b"", b"\0" * 1000, b"\xff\xfe(\0S\0", b"(S (NN a", b")" * 10_000, b"(" * 100_000, b"\xef\xbb\xbf", b"(S (NN \xff))",
    b"(TOP (S (NN \x1b]0;x\x07)) (x)",
]  # fmt: skip


@case(
    seconds=20,
    megabytes=200,
    each=[(command, number) for command in ("edit", "measure", "agreement") for number in range(len(FILES))],
)
def damaged_file(what: tuple[str, int]) -> None:
    """One short message on standard error, exit status 1, and no control character on a terminal."""
    command, number = what
    path = Path(tempfile.mkdtemp()) / "t.mrg"
    path.write_bytes(FILES[number])
    before = ["S=s", "relabel s X"] if command == "edit" else []
    errors = io.StringIO()
    with contextlib.redirect_stderr(errors), contextlib.redirect_stdout(io.StringIO()):
        try:
            code = main([command, *before, *[str(path)] * (2 if command == "agreement" else 1)])
        except SystemExit as ended:
            code = int(ended.code or 0)
    said = errors.getvalue()
    assert code in (0, 1) and "Traceback" not in said and len(said) <= 2 * MAX_MESSAGE, (code, said[:300])
    assert code == 1 or number in (0, 6) or (command, number) == ("measure", 1), (code, said[:300])  # NUL is text
