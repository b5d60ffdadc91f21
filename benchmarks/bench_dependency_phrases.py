"""Phrases by rule from gold dependencies, against the trees of the same sentences: labelled F1 in per cent.

    python benchmarks/bench_dependency_phrases.py UD/en_gum/dev.conllu TREEBANKS/gum/dev.mrg --profile gum
    python benchmarks/bench_dependency_phrases.py UD/en_genia/dev.conllu TREEBANKS/genia/dev.mrg --profile penn
--penn-tags

The two files have the same sentences in the same order; those with other numbers of words are left out and counted.
`--penn-tags`: the file has tags of the Penn Treebank in place of parts of speech, and labels of the first version of
Universal Dependencies, as GENIA has.
"""

from __future__ import annotations

import argparse
from collections import Counter
from pathlib import Path

from spacy_dtparse.dependency_phrases.profile import load_profile
from spacy_dtparse.dependency_phrases.rules import find_phrases
from spacy_dtparse.dependency_phrases.schemes import UNIVERSAL, to_universal
from spacy_dtparse.scoring.parseval import ALL, EVALB, score_sentence
from spacy_dtparse.trees import Tree, read_trees
from spacy_dtparse.trees.transforms import strip_empty
from spacy_dtparse.trees.universal import part_of_speech
from training.data.phrase_trees import ConlluSentence, read_sentences

FINITE = dict.fromkeys(("VBD", "VBZ", "VBP", "MD"), "VerbForm=Fin")
FEATURES = {**FINITE, "VBG": "VerbForm=Ger", "VBN": "VerbForm=Part", "VB": "VerbForm=Inf"}
PUNCTUATION = frozenset((".", ",", ":", "``", "''", "-LRB-", "-RRB-"))


def from_penn_tags(sentence: ConlluSentence) -> ConlluSentence:
    """Replace Penn tags by parts of speech and features, and nominal modifiers of verbs by obliques."""
    tags, relations = sentence.pos, list(sentence.relations)
    pos, features = [], []
    for word, tag, head, relation in zip(sentence.words, tags, sentence.heads, sentence.relations, strict=True):
        marker = "PART" if tag == "TO" else "SCONJ"
        found = part_of_speech(word.lower(), tag) or "X"
        pos.append(marker if relation == "mark" else "PUNCT" if tag in PUNCTUATION else found)
        features.append("Polarity=Neg" if relation == "neg" else FEATURES.get(tag, ""))
        if relation == "nmod" and head >= 0 and tags[head].startswith("VB"):
            relations[len(pos) - 1] = "obl"
    return sentence._replace(pos=pos, features=features, relations=relations)


def main() -> None:
    """Compare, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("conllu", type=Path)
    parser.add_argument("trees", type=Path)
    parser.add_argument("--profile", default="universal")
    parser.add_argument("--lang", default="en")
    parser.add_argument("--penn-tags", action="store_true")
    options = parser.parse_args()
    profile = load_profile(options.profile, options.lang)
    counts: dict[str, Counter[str]] = {"all": Counter(), "evalb": Counter()}
    labels: dict[str, list[int]] = {}
    skipped = 0
    for sentence, gold in zip(read_sentences(options.conllu), map(strip_empty, read_trees(options.trees)), strict=True):
        if len(sentence.words) != len(gold.words):
            skipped += 1
            continue
        read = from_penn_tags(sentence) if options.penn_tags else sentence
        heads, relations = to_universal(UNIVERSAL, read.pos, read.heads, read.relations)
        found = find_phrases(read.words, read.pos, read.features, heads, relations, profile)
        tree = Tree.from_spans(gold.words, gold.tags, [(0, len(gold.words), "TOP"), *found.spans])
        for name, convention in (("all", ALL), ("evalb", EVALB)):
            score = score_sentence(gold, tree, convention)
            counts[name].update(matched=score.matched, gold=score.gold, predicted=score.predicted)
            for label, numbers in score.by_label.items() if name == "all" else ():
                labels[label] = [a + b for a, b in zip(labels.get(label, [0, 0, 0]), numbers, strict=True)]
    for name, count in counts.items():
        print(f"{name}: {200 * count['matched'] / (count['gold'] + count['predicted']):.2f}")
    for label, (matched, gold_count, predicted) in sorted(labels.items(), key=lambda item: -item[1][1])[:12]:
        print(f"{label}: {200 * matched / max(gold_count + predicted, 1):.1f} ({gold_count} in the trees)")
    print(f"{skipped} sentences with other words")


if __name__ == "__main__":
    main()
