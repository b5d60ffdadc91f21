"""A simulated annotator, who knows the gold tree: the number of statements until the parser's tree is the gold tree.

In each turn the annotator sees the parser's tree and makes one statement. Its direct effect must be right throughout.
The parser then parses again under all statements; a picked tree stays as it was drawn. `largest`: state the largest
missing constituent, or else forbid the largest superfluous one. `best`: of the statements that the page offers (see
`statements`), make the one that corrects most brackets directly; of equal ones, that about the most tokens. One
statement is also the choice of one of nine trees after pointing at a constituent, or at words that are one in the gold
tree (see `annotation.alternatives`).
"""

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from spacy_dtparse.annotation.alternatives import K_BEST, Parse, choose_useful, pointed_alternatives
from spacy_dtparse.annotation.edits import (
    add_constraints,
    insert_constituent,
    move_extent,
    relabel_constituent,
    remove_constituent,
    tree_difference,
    unary_chains,
)
from spacy_dtparse.core.constraints import Constraint, Constraints
from spacy_dtparse.core.parser import Parser
from spacy_dtparse.errors import ConstraintError, EditError
from spacy_dtparse.trees.tree import TOP, Tree

MAX_STATEMENTS = 100
LONG = 25
"""Tokens of a sentence whose listed trees are compared with each other."""


@dataclass
class Simulation:
    """The result for some sentences. `statements`: of each sentence; `errors`: missing and superfluous brackets of each
    sentence's first tree; `failed`: indices of sentences whose gold tree was not reached; `kinds`: number of statements
    of each kind; `seconds`: (tokens, seconds) of each constrained parse; `nearest`: for each list of trees of a
    sentence of 25 or more tokens, the brackets in which a listed tree differs from the nearest other one (the mean),
    and the same for as many of the most probable trees."""

    statements: list[int] = field(default_factory=list)
    errors: list[int] = field(default_factory=list)
    failed: list[int] = field(default_factory=list)
    kinds: Counter[str] = field(default_factory=Counter)
    seconds: list[tuple[int, float]] = field(default_factory=list)
    nearest: list[tuple[float, float]] = field(default_factory=list)


Statement = tuple[str, list[Constraint], Tree | None]
"""The kind of a statement, its constraints, and the tree that is then shown; None: that of the parser."""
Strategy = Callable[[Tree, Tree, Sequence[Tree], Sequence[Tree]], Statement | None]
"""Given the tree, the gold tree, the other trees that are listed, and those that are listed after pointing: the next
statement; None if there is none."""


def simulate(parser: Parser, gold: Sequence[Tree], tags: Sequence[Sequence[str]], strategy: str = "best") -> Simulation:
    """Annotate sentences. `tags`: those that the parser is given; `strategy`: "best" or "largest"."""
    found, choose = Simulation(), STRATEGIES[strategy]
    k = K_BEST if strategy == "best" else 1
    for index, (goal, row) in enumerate(zip(gold, tags, strict=True)):
        results = parser.parse_k_best(goal.words, row, k) if k > 1 else [parser.parse(goal.words, row)]
        tree, others = results[0].tree, [one.tree for one in results[1:]]
        found.errors.append(count_errors(tree, goal))
        constraints, count = Constraints(), 0
        parse = partial(_parse, parser, goal.words, row)
        while unary_chains(tree) != unary_chains(goal):
            pointed = _list_pointed(parse, tree, goal, others, constraints) if k > 1 else ()
            listed = choose_useful(tree, others)
            if goal.n_tokens >= LONG and len(listed) > 1:
                found.nearest.append((nearest_distance(listed), nearest_distance(others[: len(listed)])))
            statement = choose(tree, goal, listed, pointed) if count < MAX_STATEMENTS else None
            if statement is None:
                found.failed.append(index)
                break
            kind, edit, picked = statement
            found.kinds[kind] += 1
            count += 1
            if picked is not None and unary_chains(picked) == unary_chains(goal):
                break
            try:
                constraints = add_constraints(constraints, edit, goal.words)
                began = time.perf_counter()
                parsed = parser.parse_constrained(goal.words, row, constraints).tree
                found.seconds.append((len(row), time.perf_counter() - began))
                results = parser.parse_k_best_constrained(goal.words, row, constraints, k) if k > 1 else []
            except ConstraintError:
                found.failed.append(index)
                break
            tree = parsed if picked is None else picked  # a picked tree is the one that was drawn
            others = [one.tree for one in results if one.tree != tree]
        found.statements.append(count)
    return found


def _parse(parser: Parser, words: Sequence[str], tags: Sequence[str], constraints: Constraints, k: int) -> list[Tree]:
    return [one.tree for one in parser.parse_k_best_constrained(words, tags, constraints, k)]


def _list_pointed(parse: Parse, tree: Tree, gold: Tree, others: Sequence[Tree], constraints: Constraints) -> list[Tree]:
    """Return the trees to pick from after pointing at a constituent, or at words that are one in the gold tree only."""
    ours, theirs = unary_chains(tree), unary_chains(gold)
    wrong = [extent for extent in {**ours, **theirs} if ours.get(extent) != theirs.get(extent)]
    found: dict[Tree, None] = {}
    for start, end in {**ours, **theirs, (0, tree.n_tokens): ()}:
        if any(start <= a and b <= end for a, b in wrong):
            found.update(dict.fromkeys(pointed_alternatives(parse, tree, others, constraints, (start, end))))
    return list(found)


def count_errors(tree: Tree, gold: Tree) -> int:
    """Return the number of missing and superfluous brackets."""
    ours, theirs = Counter(tree.spans()), Counter(gold.spans())
    return sum((ours - theirs).values()) + sum((theirs - ours).values())


def nearest_distance(trees: Sequence[Tree]) -> float:
    """Return the number of brackets by which a tree differs from the nearest other one, the mean of two or more."""
    return sum(min(count_errors(one, other) for other in trees if other is not one) for one in trees) / len(trees)


def choose_largest(tree: Tree, gold: Tree, others: Sequence[Tree], pointed: Sequence[Tree] = ()) -> Statement | None:
    """Return the largest missing constituent, else the prohibition of the largest superfluous one, else a chain."""
    ours, theirs = unary_chains(tree), unary_chains(gold)
    for start, end in sorted(theirs, key=lambda extent: extent[0] - extent[1]):
        chain = ours.get((start, end), ())
        if missing := [label for label in theirs[start, end] if label not in chain]:
            return "insert", [Constraint(start, end, missing[0])], None
    for start, end in sorted(ours, key=lambda extent: extent[0] - extent[1]):
        chain = theirs.get((start, end), ())
        if superfluous := [label for label in ours[start, end] if label not in chain]:
            return "remove", [Constraint(start, end, superfluous[0], False)], None
    edits = (tree_difference(tree, gold)[:1],)
    return next((("chain", edit, None) for edit in edits if edit), None)


def choose_best(tree: Tree, gold: Tree, others: Sequence[Tree], pointed: Sequence[Tree] = ()) -> Statement | None:
    """Return the statement that corrects most brackets directly, of those whose direct effects are all right."""
    rated = ((corrected, size, statement) for statement, corrected, size in statements(tree, gold, others, pointed))
    found = max(rated, key=lambda one: one[:2], default=None)
    return None if found is None else found[2]


STRATEGIES: dict[str, Strategy] = {"best": choose_best, "largest": choose_largest}


def statements(
    tree: Tree, gold: Tree, others: Sequence[Tree], pointed: Sequence[Tree] = ()
) -> Iterator[tuple[Statement, int, int]]:
    """Yield the right statements about a tree, each with the number of brackets that it corrects and its size in
    tokens: pick another tree; move a constituent or a token to another parent; insert, relabel or remove a constituent;
    fix a unary chain."""
    ours, theirs = unary_chains(tree), unary_chains(gold)
    for other in dict.fromkeys((*others, *pointed)):
        if corrected := _count_corrected(tree, other, theirs):
            yield ("pick", tree_difference(tree, other), other), corrected, 0
    for (start, end), target in _moves(tree, gold):
        try:
            other, edit = move_extent(tree, start, end, target)
        except EditError:
            continue
        if corrected := _count_corrected(tree, other, theirs):
            yield ("move", edit, None), corrected, end - start
    spans = tree.spans()
    for (start, end), chain in theirs.items():
        has = ours.get((start, end), ())
        crossing = sum(a < start < b < end or start < a < end < b for a, b, _ in spans)
        for label in chain:
            if label not in has:
                yield ("insert", insert_constituent(tree, start, end, label), None), 1 + crossing, end - start
        if has and has != chain and not set(chain) - set(has) and not set(has) - set(chain):
            yield ("chain", [Constraint(start, end, " ".join(chain), exact=True)], None), 1, end - start
    for k, (start, end, label) in enumerate(spans):
        chain = theirs.get((start, end), ())
        if label == TOP or label in chain:
            continue
        if len(chain) == 0 or len(ours[start, end]) > 1:
            yield ("remove", remove_constituent(tree, k), None), 1, end - start
        for right in chain:
            if right not in ours[start, end]:
                yield ("relabel", relabel_constituent(tree, k, right), None), 2, end - start
    assert count_errors(tree, gold) or ours != theirs


def _moves(tree: Tree, gold: Tree) -> Iterable[tuple[tuple[int, int], int]]:
    """Return (extent, new parent) of possible moves: extents whose parent in the gold tree is another one."""
    spans, goal = tree.spans(), {(start, end) for start, end, _ in gold.spans()}
    extents = {(start, end) for start, end, label in spans if label != TOP and (start, end) in goal}
    extents |= {(i, i + 1) for i in range(len(tree.words))}
    for start, end in sorted(extents):
        for target, (a, b, _) in enumerate(spans):
            is_above = a <= start and end <= b and (a, b) != (start, end)
            if is_above or b == start or a == end:
                yield (start, end), target


def _count_corrected(tree: Tree, other: Tree, theirs: dict[tuple[int, int], tuple[str, ...]]) -> int:
    """Return how many brackets another tree corrects; 0 if one of its differences is wrong."""
    before, after = unary_chains(tree), unary_chains(other)
    corrected = 0
    for extent in {**before, **after}:
        old, new, right = before.get(extent, ()), after.get(extent, ()), theirs.get(extent, ())
        if old != new:
            if new != right:
                return 0
            ours, wanted = Counter(old), Counter(right)
            corrected += sum((ours - wanted).values()) + sum((wanted - ours).values()) or 1
    return corrected


def summarize(found: Simulation) -> dict[str, Any]:
    """Return the means per sentence of a simulation, as plain data; `milliseconds`: of a constrained parse of 36 to 40
    tokens, the median, None if there was none; `nearest listed`, `nearest probable`: the means of `nearest`, None if
    there are none."""
    n = len(found.statements)
    long = sorted(seconds for tokens, seconds in found.seconds if 36 <= tokens <= 40)
    return {
        "sentences": n,
        "statements": sum(found.statements) / n,
        "errors": sum(found.errors) / n,
        "right at once": sum(errors == 0 for errors in found.errors) / n,
        "gold reached": 1 - len(found.failed) / n,
        "milliseconds": 1000 * long[len(long) // 2] if long else None,
        "nearest listed": sum(a for a, _ in found.nearest) / len(found.nearest) if found.nearest else None,
        "nearest probable": sum(b for _, b in found.nearest) / len(found.nearest) if found.nearest else None,
        "kinds": dict(found.kinds.most_common()),
    }


def summary_table(records: Sequence[Mapping[str, Any]]) -> str:
    """Return the summaries as a text table."""
    lines = [
        f"{'treebank':12}{'strategy':10}{'sentences':>10}{'statements':>11}{'errors':>8}{'right at once':>14}"
        f"{'gold reached':>13}{'ms at 40':>9}{'nearest':>9}{'by rank':>9}  kinds"
    ]
    for one in records:
        names = {"milliseconds": 1, "nearest listed": 2, "nearest probable": 2}
        optional = "".join(
            f"{'-' if one[name] is None else f'{one[name]:.{digits}f}':>9}" for name, digits in names.items()
        )
        kinds = ", ".join(f"{kind} {count}" for kind, count in one["kinds"].items())
        lines.append(
            f"{one['treebank']:12}{one['strategy']:10}{one['sentences']:10}{one['statements']:11.2f}{one['errors']:8.2f}"
            f"{100 * one['right at once']:13.1f}%{100 * one['gold reached']:12.1f}%{optional}  {kinds}"
        )
    return "\n".join(lines)
