"""Rule scoring compared with the tree walk on a real model and real candidates: equality of scores, and speed-up.

    python benchmarks/bench_treewalk.py [--pipeline FOLDER] [--corpus FOLDER --names genia] [--candidates
    4000]

Candidates are the windows in gold derivations of dev sentences (kernels.replay). Times are microseconds of CPU time per
candidate for all labels; the tree walk runs on a tenth of them.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
from common import arguments, dev_sentences, save
from treewalk import stack, walk_forest

from spacy_dtparse.dtparse.features.templates import compile_templates
from spacy_dtparse.dtparse.kernels.rules import make_scratch, rules_batch
from spacy_dtparse.dtparse.model.model import DtreeModel
from spacy_dtparse.dtparse.model.rules import compile_rules
from spacy_dtparse.dtypes import INDEX
from spacy_dtparse.jit.decorator import kernel
from spacy_dtparse.models import embedded_model, open_parser
from spacy_dtparse.trees.heads_compiled import compile_head_rules
from spacy_dtparse.trees.transforms import Recipe
from training.data.corpus import Sentence, training_tree
from training.dtparse.examples import Derivation, Replayer, labelled_rows
from training.dtparse.oracle import derivation


@kernel
def walk_all(forest, label_tree, stamp, start, atoms, scores):
    """Score all candidates by walking every tree."""
    for c in range(scores.shape[0]):
        for p in range(start[c], start[c + 1]):
            stamp[atoms[p]] = c + 1
        walk_forest(forest, label_tree, stamp, c + 1, scores[c])


@kernel
def score_all(rules, scratch, start, atoms, scores):
    """Score all candidates by the rules, each candidate separately."""
    for c in range(scores.shape[0]):
        scratch.batch[0, 0], scratch.batch[0, 1] = start[c + 1] - start[c], c
        rules_batch(rules, scratch, atoms[start[c] :], np.int64(0), 1, scores)


def candidates(model: DtreeModel, sentences: list[Sentence], count: int) -> list[np.ndarray]:
    """Return atom sets (int32, ids of the model) of window candidates on gold derivations."""
    lexicon, recipe = model.lexicon, Recipe(model.recipe)
    table, _ = compile_templates(model.templates, lexicon.sizes)
    heads = compile_head_rules(model.heads, lexicon.symbols)
    replayer = Replayer(model.grammar(), heads, table, model.atoms, model.n_atoms)
    known = set(lexicon.labels.strings)
    rows: list[np.ndarray] = []
    for number, sentence in enumerate(sentences):
        tree = training_tree(sentence, recipe)
        if not known.issuperset(tree.labels):
            continue
        actions = derivation(tree, lexicon.labels, model.strategy, number)
        example = Derivation(lexicon.encode(tree.words, tree.tags), actions)
        for store, chosen, _ in labelled_rows(replayer, example, len(lexicon.labels)):
            if store == "window":
                indptr, atoms = replayer.rows.indptr, replayer.rows.atoms
                rows += [atoms[indptr[r] : indptr[r + 1]].copy() for r in chosen]
        if len(rows) >= count:
            break
    return rows[:count]


def flat(rows: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Flatten a list of atom sets to (start, atoms)."""
    start = np.zeros(len(rows) + 1, dtype=np.int64)
    np.cumsum([len(row) for row in rows], out=start[1:])
    return start, np.concatenate(rows).astype(INDEX)


def main() -> None:
    """Measure, compare, print, save; exit with code 1 if any score differs in any bit."""
    parser = arguments(__doc__, pipeline=Path(embedded_model("en_trees")))
    parser.add_argument("--candidates", type=int, default=4000)
    options = parser.parse_args()
    model = open_parser(options.pipeline).model  # type: ignore[attr-defined]
    ensembles = list(model.ensembles[:-1])
    rows = candidates(model, dev_sentences(options), options.candidates)
    few = max(1, len(rows) // 10)
    forest, label_tree = stack(ensembles)
    rules = compile_rules(ensembles, model.n_atoms)
    scratch = make_scratch(rules)
    walked, scored = np.zeros((len(rows), len(ensembles))), np.zeros((len(rows), len(ensembles)))
    start, atoms = flat(rows)
    mapped = [rules.atom_map[row] for row in rows]
    rule_start, rule_atoms = flat([row[row >= 0] for row in mapped])
    stamp = np.zeros(max(1, model.n_atoms), dtype=np.int64)
    walk_all(forest, label_tree, stamp, start[:2], atoms, walked[:1])
    score_all(rules, scratch, rule_start[:2], rule_atoms, scored[:1])

    stamp[:] = 0
    walk_all(forest, label_tree, stamp, start, atoms, walked)
    score_all(rules, scratch, rule_start, rule_atoms, scored)
    identical = bool(np.array_equal(walked.view(np.uint64), scored.view(np.uint64)))
    slow, fast = [], []
    for _ in range(5):
        stamp[:] = 0
        began = time.process_time()
        walk_all(forest, label_tree, stamp, start[: few + 1], atoms, walked[:few])
        slow.append((time.process_time() - began) / few)
        began = time.process_time()
        score_all(rules, scratch, rule_start, rule_atoms, scored)
        fast.append((time.process_time() - began) / len(rows))
    facts: dict[str, Any] = {
        "candidates": len(rows),
        "labels": len(ensembles),
        "trees": len(forest.roots),
        "atoms_per_candidate": float(np.diff(start).mean()),
        "walk_us": 1e6 * min(slow),
        "rules_us": 1e6 * min(fast),
        "speedup": min(slow) / min(fast),
        "identical": identical,
    }
    for name, value in facts.items():
        print(f"{name}: {value:.2f}" if isinstance(value, float) else f"{name}: {value}")
    save(options, "treewalk", facts)
    if not identical:
        raise SystemExit("the rules and the tree walk disagree")


if __name__ == "__main__":
    main()
