"""F1 and speed for search settings, and how often a high-scoring shift is wrong; the source of the defaults.

    python benchmarks/bench_settings.py --corpus TREEBANKS --names craft genia masc gum --tags build/tags

Every eighth dev sentence of a large treebank, every second of a small one; tags from NAME.dev.tags of `--tags`.
"""

from __future__ import annotations

import math
import time
from pathlib import Path

import numpy as np
from common import arguments, save

from spacy_dtparse.dtparse.kernels import score, state
from spacy_dtparse.dtparse.kernels.features import ParseState
from spacy_dtparse.dtparse.kernels.state import make_nodes
from spacy_dtparse.dtparse.parser import DtreeParser
from spacy_dtparse.jit.decorator import callable_from_python, noalloc_kernel
from spacy_dtparse.models import embedded_model, find_model
from spacy_dtparse.trees import Recipe
from training.data.corpus import Sentence, read_treebank, training_tree
from training.dtparse.fit import parser_scores
from training.dtparse.oracle import derivation

infer = callable_from_python(state.infer)
list_windows = callable_from_python(state.list_windows)
start_sentence = callable_from_python(state.start_sentence)

SETTINGS = ((math.inf, 0.0), (5.0, 0.0), (5.0, 0.001), (5.0, 0.002), (5.0, 0.005), (5.0, 0.01))
"""Values of `shift_threshold` and `window_filter`."""
BUDGETS = (0, 4000, 8000, None)  # None: the default


@noalloc_kernel
def score_state(model, current, n_windows, scratch, cache):
    """Score the windows of a state, and its shift as an additional window."""
    windows, grammar, heads, table = scratch.windows, model.grammar, model.heads, model.table
    windows.i[n_windows] = current.cursor - 1
    windows.j[n_windows] = current.cursor
    for is_shift in range(2):
        atoms, rules, bits, seed = model.window_atoms, model.window_rules, scratch.window, score.WINDOW_SEED
        scores, first, last = scratch.scores, 0, n_windows
        if is_shift == 1:
            atoms, rules, bits, seed = model.shift_atoms, model.shift_rules, scratch.shifts, score.SHIFT_SEED
            scores, first, last = scratch.shift, n_windows, n_windows + 1
        scorer = score.Scorer(grammar, heads, table, model.labels, atoms, rules, bits, seed, scores)
        score.score_windows(scorer, current, windows, first, last, scratch.features, cache)


def confident_shifts(parser: DtreeParser, sentences: list[Sentence]) -> list[dict[str, float]]:
    """Measure on gold derivations: the fraction of states with a choice whose shift scores above a threshold, how many
    of these shifts are wrong, and in how many states a window scores higher."""
    model, compiled = parser.model, parser.compiled
    n_labels = len(model.lexicon.labels)
    grammar, heads = compiled.search.grammar, compiled.search.heads
    cache = score.make_cache(2, n_labels)
    seen: list[tuple[float, float, bool]] = []
    for sentence in sentences:
        tree = training_tree(sentence, Recipe(model.recipe))
        if any(label not in model.lexicon.labels for label in tree.labels):
            continue
        n = len(tree.words)
        tokens = model.lexicon.encode(tree.words, tree.tags)
        scratch, nodes = compiled.scratch(n), make_nodes(8 * n + 64, 16 * n + 1024)
        frontier = scratch.frontier
        start_sentence(tokens, n, np.ascontiguousarray(tokens[:, 1]), nodes, frontier)
        low, cursor, size = 0, n, n
        for i, j, label in derivation(tree, model.lexicon.labels, model.strategy).tolist():
            current = ParseState(tokens, n, nodes, frontier, low, cursor, size)
            windows = list_windows(grammar, current, scratch.windows)
            if windows and cursor > low:
                score_state(compiled.search, current, windows, scratch, cache)
                best = float(scratch.scores[:windows, : n_labels - 1].max())
                seen.append((float(scratch.shift[0, 0]), best, label == n_labels))
            low, cursor, size = infer(grammar, heads, current, i, j, label, scratch.features.children)
    shift, best_window, right = (np.array(column) for column in zip(*seen, strict=True))
    rows = []
    for threshold in (4.0, 5.0, 6.0, 8.0):
        above = shift > threshold
        rows.append(
            {
                "shift_threshold": threshold,
                "states": float(above.mean()),
                "wrong": float((right[above] == 0).mean()),
                "window_higher": float((best_window[above] > shift[above]).mean()),
            }
        )
    return rows


def main() -> None:
    """Measure, print, save."""
    options = arguments(__doc__, pipeline=Path(embedded_model("en_trees")))
    options.add_argument("--tags", type=Path, required=True)
    given = options.parse_args()
    parser = DtreeParser.from_disk(find_model(given.pipeline))
    sentences: list[Sentence] = []
    for name in given.names:
        read = read_treebank(Path(given.corpus) / name / "dev.mrg", given.tags / f"{name}.dev.tags")
        sentences += read[:: 8 if len(read) > 1000 else 2]
    n_tokens = sum(len(sentence.tags) for sentence in sentences)
    grid = []
    for shift_threshold, window_filter in SETTINGS:
        for budget in BUDGETS:
            set_ = parser.with_settings(budget=budget, shift_threshold=shift_threshold, window_filter=window_filter)
            began = time.process_time()
            for sentence in sentences:
                set_.parse(sentence.tree.words, sentence.tags)
            seconds = time.process_time() - began
            f1 = 100 * parser_scores(set_, sentences)["f1"]
            setting = {"shift_threshold": str(shift_threshold), "window_filter": window_filter, "budget": budget}
            grid.append({**setting, "f1": f1, "tokens/s": n_tokens / seconds})
            print(grid[-1], flush=True)
    shifts = confident_shifts(parser, sentences[::5])
    print(*shifts, sep="\n")
    save(given, "settings", {"grid": grid, "shifts": shifts})


if __name__ == "__main__":
    main()
