"""Phrases by rule from gold dependencies of Icelandic, against the trees of GreynirCorpus with the same words.

    python benchmarks/bench_icelandic_phrases.py UD/is_gc/dev.conllu TREEBANKS/greynir

The trees have other constituents than the rules: CP and IP count as SBAR and S; NPs include clauses that are objects
and predicate adjectives. So NP recall is printed for all NPs, without NPs over a clause alone (A), with ADJPs of the
rules that are NPs there (B), and with both (A and B). Sentences are matched by their words. Punctuation does not count,
as in EVALB.
"""

from __future__ import annotations

import argparse
from collections import Counter
from itertools import accumulate
from pathlib import Path

from common import ROOT  # noqa: F401 (makes `training` importable)

from spacy_dtparse.trees import Tree, base_label
from training.data.bad_input import read_trees
from training.data.converting import clean_tree
from training.data.phrase_trees import read_phrase_trees

LABELS = {"CP": "SBAR", "IP": "S"}
SHOWN = ("NP", "PP", "SBAR", "S", "VP", "ADVP")


def brackets(tree: Tree) -> set[tuple[int, int, str]]:
    """The constituents, with the labels of the rules; positions count words, without punctuation."""
    names = (base_label(label).removeprefix("WH") for label in tree.labels[1:])
    before = list(accumulate((any(map(str.isalnum, word)) for word in tree.words), initial=0))
    spans = zip(tree.starts[1:], tree.ends[1:], names, strict=True)
    return {(before[a], before[b], LABELS.get(n, n)) for a, b, n in spans if before[a] < before[b]}


def main() -> None:
    """Match, compare, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("conllu", type=Path)
    parser.add_argument("greynir", type=Path)
    parser.add_argument("--missing", action="store_true", help="print the NPs that the rules lack")
    options = parser.parse_args()
    trees, _, _ = read_phrase_trees(options.conllu, "is")
    by_text = {"".join(tree.words): tree for tree in trees}
    counts: Counter[str] = Counter()
    for path in sorted(options.greynir.glob("*.psd")):
        for tree in map(clean_tree, read_trees(path)):
            found = by_text.pop("".join(tree.words), None)
            if found is None or found.words != tree.words:
                continue
            counts["sentences"] += 1
            gold, ours = brackets(tree), brackets(found)
            for name, spans in (("gold", gold), ("found", ours), ("equal", gold & ours)):
                counts.update(f"{name} {label}" for _, _, label in spans)
            clauses = {(a, b) for a, b, label in gold if label in ("SBAR", "S")}
            for a, b, label in gold:
                if label == "NP":
                    is_clause, has_np, has_adjp = (a, b) in clauses, (a, b, "NP") in ours, (a, b, "ADJP") in ours
                    for name, counted, matched in (
                        ("all", True, has_np),
                        ("A", not is_clause, has_np),
                        ("B", True, has_np or has_adjp),
                        ("A and B", not is_clause, has_np or has_adjp),
                    ):
                        counts[f"NPs {name}"] += counted
                        counts[f"matched {name}"] += counted and matched
                    if options.missing and not (is_clause or has_np or has_adjp):
                        words = [word for word in tree.words if any(map(str.isalnum, word))]
                        print("missing:", " ".join(words[a:b]))
    print(f"{counts['sentences']} sentences")
    for label in SHOWN:
        gold_count, found_count, equal = (counts[f"{name} {label}"] for name in ("gold", "found", "equal"))
        print(f"{label}: F1 {200 * equal / (gold_count + found_count):.1f}, recall {100 * equal / gold_count:.1f}")
    for name in ("all", "A", "B", "A and B"):
        print(f"recall of NPs, {name}: {100 * counts[f'matched {name}'] / counts[f'NPs {name}']:.1f}")


if __name__ == "__main__":
    main()
