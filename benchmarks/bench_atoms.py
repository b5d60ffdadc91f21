"""The contribution of each group of atomic features to boosted trees with a span model: training without the group.

    python benchmarks/bench_atoms.py --exclude neighbours --recipe training/recipes/english_read.json --span-model NET …

All other options go to `python -m training train-boosted`.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import replace

import common  # noqa: F401 (`training` is no part of the installed package)

from spacy_dtparse.dtparse.features import tables
from spacy_dtparse.dtparse.features.templates import Position, Templates
from training import cli

Pair = tuple[Position, str]


def is_marginal(pair: Pair, *spans: str) -> bool:
    """Return whether an atom is a span marginal of one of these spans; of any span if none is named."""
    kind, span, *_ = pair[0]
    return kind == "believed" and (not spans or span in spans)


def select(table: Templates, is_selected: Callable[[Pair], bool]) -> Templates:
    """Return the table with the selected pairs, and the tuples whose parts are all selected."""
    return replace(
        table,
        unary=tuple(filter(is_selected, table.unary)),
        tuples=tuple(parts for parts in table.tuples if all(map(is_selected, parts))),
        ordered=tuple(filter(is_selected, table.ordered)),
    )


def without(group: str) -> Templates:
    """Return `standard_read` without a group of its atoms."""
    table, standard = tables.standard_marginals(), tables.standard()
    if group == "nothing":
        return table
    if group == "old":  # also drop the tuples of a marginal with the words around it
        return replace(select(table, is_marginal), grouped=(), sequence=False)
    if group == "mixed":
        return replace(table, tuples=tuple(t for t in table.tuples if t in standard.tuples or all(map(is_marginal, t))))
    if group == "neighbours":
        return select(table, lambda pair: not is_marginal(pair, "with left", "with right", "of right"))
    if group == "labels":
        return select(table, lambda pair: not (is_marginal(pair) and "chain" in pair[1]))
    if group == "probabilities":
        return select(table, lambda pair: not (is_marginal(pair) and "chain" not in pair[1]))
    return select(table, lambda pair: pair[1] not in ("word", "shape", "class"))


GROUPS = ("nothing", "old", "mixed", "neighbours", "labels", "probabilities", "words")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, add_help=False)
    parser.add_argument("--exclude", choices=GROUPS, default="nothing", help="group to leave out")
    options, rest = parser.parse_known_args()
    if "--help" in rest:
        print(parser.format_help())
        raise SystemExit(cli.main(["train-boosted", *rest]))
    table = replace(without(options.exclude), name=f"standard_read without {options.exclude}")
    tables.TABLES["standard_read"] = lambda: table
    raise SystemExit(cli.main(["train-boosted", *rest]))


if __name__ == "__main__":
    main()
