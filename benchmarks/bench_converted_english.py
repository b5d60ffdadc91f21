"""The cost of conversion: span parsers that learn from converted GUM trees and from GUM's own, on GUM's own trees.

    python benchmarks/bench_converted_english.py UD/en_gum TREEBANKS/gum --out build/converted_english

UD/en_gum has train.conllu, TREEBANKS/gum train.mrg, with the same sentences, and dev.mrg. Both pipelines have the first
LIMIT training sentences, the settings of `python -m training pipeline --parser span` for their size, and seed 0. Tags
are predicted: parts of speech with features for the converted trees, Penn's tags for the others. Prints labelled F1 in
per cent on GUM's development part. Repeat the command to resume a run.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

from common import ROOT

from spacy_dtparse.scoring.parseval import ALL, EVALB, score_sentence
from spacy_dtparse.trees import Tree, read_trees
from spacy_dtparse.trees.transforms import strip_empty
from training.data.evaluate import load_source, tag_lists

CONVERTED, OWN = "converted trees", "own trees"


def copy_treebanks(ud: Path, trees: Path, out: Path) -> dict[str, Path]:
    """Copy the training parts, the CoNLL-U file without lines of multiword tokens (*don't*); the folder of each."""
    folders = {CONVERTED: out / "converted" / "gum", OWN: out / "own" / "gum"}
    for folder in folders.values():
        folder.mkdir(parents=True, exist_ok=True)
    text = (ud / "train.conllu").read_text(encoding="utf8")
    words_only = re.sub(r"(?m)^[0-9]+-[0-9]+\t.*\n", "", text)
    (folders[CONVERTED] / "train.conllu").write_text(words_only, encoding="utf8")
    shutil.copy(trees / "train.mrg", folders[OWN] / "train.mrg")
    return folders


def train(folder: Path, limit: int, options: list[str]) -> Path:
    """Run `python -m training pipeline`; the folder of the pipeline."""
    words = [sys.executable, "-m", "training", "pipeline", folder, "--lang", "en", "--parser", "span", "--folds", 2]
    words += ["--limit", limit, "--workers", 1, "--seeds", 0, *options, "--out", folder.parent]
    subprocess.run(list(map(str, words)), check=True, cwd=ROOT)
    return folder.parent / "pipeline"


def print_scores(name: str, gold: list[Tree], found: list[Tree]) -> None:
    """Print labelled F1 of trees for sentences with the same words."""
    texts = []
    for convention_name, convention in (("all", ALL), ("evalb", EVALB)):
        count: Counter[str] = Counter()
        for right, tree in zip(gold, found, strict=True):
            score = score_sentence(right, tree, convention)
            count.update(matched=score.matched, total=score.gold + score.predicted)
        texts.append(f"{convention_name} {200 * count['matched'] / count['total']:.2f}")
    print(f"{name}: {', '.join(texts)}", flush=True)


def main() -> None:
    """Copy, train, parse, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ud", type=Path)
    parser.add_argument("trees", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--limit", type=int, default=4200, help="training sentences (default: 4200)")
    options = parser.parse_args()
    folders = copy_treebanks(options.ud, options.trees, options.out.resolve())
    gold = [strip_empty(tree) for tree in read_trees(options.trees / "dev.mrg")]
    print(f"{len(gold)} sentences, {sum(len(tree.words) for tree in gold)} tokens")
    for name, more in ((CONVERTED, ["--profile", "gum"]), (OWN, [])):
        model, nlp = load_source(train(folders[name], options.limit, more))
        tags = tag_lists(nlp, (tree.words for tree in gold))
        print_scores(name, gold, [model.parse(tree.words, t).tree for tree, t in zip(gold, tags, strict=True)])


if __name__ == "__main__":
    main()
