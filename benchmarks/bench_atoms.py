"""What each group of atoms adds to trees over a reader: the same training without the group.

    python benchmarks/bench_atoms.py --without neighbours --recipe training/recipes/english_read.json --reader NET …

All other options go to `python -m training fit`.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import replace

import common  # noqa: F401 (`training` is no part of the installed package)

from spacy_dtparse.features.trees import tables
from spacy_dtparse.features.trees.templates import Place, Templates
from training import cli

Pair = tuple[Place, str]


def believed(pair: Pair, *spans: str) -> bool:
    """Whether it is what the reader believes of one of these spans; none named: of any span."""
    place = pair[0]
    return place[0] == "believed" and (not spans or place[1] in spans)


def keep(table: Templates, wanted: Callable[[Pair], bool]) -> Templates:
    """The table with the pairs that are wanted; of the tuples, those whose parts all are."""
    return replace(
        table,
        unary=tuple(filter(wanted, table.unary)),
        tuples=tuple(parts for parts in table.tuples if all(map(wanted, parts))),
        ordered=tuple(filter(wanted, table.ordered)),
    )


def without(group: str) -> Templates:
    """`standard_read` without a group of its atoms."""
    table, standard = tables.standard_read(), tables.standard()
    if group == "nothing":
        return table
    if group == "old":  # the tuples of a belief with the words around it go, too
        return replace(keep(table, believed), grouped=(), sequence=False)
    if group == "mixed":
        return replace(
            table, tuples=tuple(t for t in table.tuples if t in standard.tuples or all(map(believed, t)))
        )
    if group == "neighbours":
        return keep(table, lambda pair: not believed(pair, "with left", "with right", "of right"))
    if group == "labels":
        return keep(table, lambda pair: not (believed(pair) and "chain" in pair[1]))
    if group == "masses":
        return keep(table, lambda pair: not (believed(pair) and "chain" not in pair[1]))
    return keep(table, lambda pair: pair[1] not in ("word", "shape", "class"))


GROUPS = ("nothing", "old", "mixed", "neighbours", "labels", "masses", "words")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, add_help=False)
    parser.add_argument("--without", choices=GROUPS, default="nothing", help="the group that is left out")
    options, rest = parser.parse_known_args()
    if "--help" in rest:
        print(parser.format_help())
        raise SystemExit(cli.main(["fit", *rest]))
    left = replace(without(options.without), name=f"standard_read without {options.without}")
    tables.TABLES["standard_read"] = lambda: left
    raise SystemExit(cli.main(["fit", *rest]))


if __name__ == "__main__":
    main()
