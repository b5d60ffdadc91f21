"""Phrases of Universal Dependencies in a language: conversion, trained pipelines, and rules over parsed dependencies.

    python benchmarks/bench_languages.py UD de --out build/languages
    python benchmarks/bench_languages.py UD de fr cs ru fi it is zh ar --out build/languages --convert-only

UD is a folder of treebanks, a folder each (see FILES). Training and held-back sentences are written to
OUT/LANG/NAME/treebank, and `python -m training pipeline` trains a pipeline there, with a dependency parser. Prints
what the conversion did, and F1 on the held-back sentences, against trees that the rules make of gold dependencies:

- span parser, with gold and with predicted tags;
- the component `dependency_phrases` behind the pipeline's own dependency parser, with predicted tags;
- the component with gold dependencies and predicted tags.

NPs are innermost if they contain no other NP, and outermost if no other NP contains them. Clauses are S, SBAR, SQ and
SBARQ. Repeat the command to resume a run; `--errors` also prints the scores of labels and of lengths. `--set` gives
settings of the span model. `--english`: the span model is trained on English trees first. `--scheme
training/schemes/parts_of_speech.json`: tags without features. `--span-only`: no dependency parser. `--block 1/4`: only
every fourth block of ten training sentences is used, for a learning curve.
"""

from __future__ import annotations

import argparse
import json
import re
import shlex
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from common import ROOT

from spacy_dtparse.scoring.parseval import ALL, EVALB, score_sentence
from spacy_dtparse.trees import TOP, Tree, read_trees
from training.data.evaluate import load_source, tag_lists
from training.data.phrase_trees import read_phrase_trees, read_sentences
from training.data.treebanks import blocks

FILES: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "de": (("de_gsd/dev", "de_pud/test"), ()),
    "fr": (("fr_sequoia/train", "fr_gsd/dev"), ("fr_sequoia/dev",)),
    "cs": (("cs_cac/*dev", "cs_fictree/*dev"), ()),
    "ru": (("ru_gsd/dev",), ()),
    "fi": (("fi_tdt/dev",), ()),
    "it": (("it_isdt/dev",), ()),
    "is": (("is_gc/dev",), ()),
    "zh": (("zh_gsd_v1.4/*train",), ("zh_gsd_v1.4/*dev",)),
    "ar": (("ar_padt_2016/*dev",), ()),
}
"""Files for training and files that are held back, without `.conllu`. Files for training that are no training part
give their every fifth block of ten sentences to those held back."""
ENGLISH = ("en_ewt/*train", "en_gum/train")
CLAUSES = ("S", "SBAR", "SQ", "SBARQ")
SETTINGS: dict[str, tuple[str, ...]] = {
    **{lang: ("--folds", "2") for lang in ("cs", "ru", "fi", "it", "is", "ar")},
    "zh": ("--folds", "2", "--limit", "1500"),
}
"""Options of `pipeline` by language: fewer folds and sentences, to save time."""
Bracket = tuple[int, int, str]


def read_texts(ud: Path, name: str) -> list[str]:
    """The sentences of a file, as text."""
    paths = sorted(ud.glob(f"{name}.conllu"))
    if len(paths) != 1:
        raise SystemExit(f"{ud / name}.conllu: {len(paths)} files; one is needed")
    return [text.strip() for text in paths[0].read_text(encoding="utf8").split("\n\n") if text.strip()]


def write_texts(path: Path, texts: Iterable[str]) -> None:
    """Write sentences to a file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{text}\n\n" for text in texts), encoding="utf8")


def split_treebanks(ud: Path, lang: str, block: str | None, folder: Path) -> None:
    """Write train.conllu and dev.conllu of a language; of train only the blocks `block`."""
    parts: dict[str, list[str]] = {"train": [], "dev": []}
    for part, names in zip(parts, FILES[lang], strict=True):
        for name in names:
            texts = read_texts(ud, name)
            is_whole = part == "dev" or "train" in name.rpartition("/")[2]
            parts[part] += texts if is_whole else blocks(texts, "-1/5", name)
            parts["dev"] += [] if is_whole else blocks(texts, "1/5", name)
    if block:
        parts["train"] = list(blocks(parts["train"], block, lang))
    for part, texts in parts.items():
        write_texts(folder / f"{part}.conllu", texts)


def english_trees(options: argparse.Namespace) -> Path:
    """Convert the English training parts, tokenized as spaCy does: without multiword tokens (*don't*)."""
    folder = options.out / "en" / (options.scheme.stem if options.scheme else "all_tags")
    trees = folder / "corpus" / "treebank" / "train.mrg"
    if not trees.is_file():
        texts = [text for name in ENGLISH for text in read_texts(options.ud, name)]
        words_only = (re.sub(r"(?m)^[0-9]+-[0-9]+\t.*\n", "", text) for text in texts)
        write_texts(folder / "treebank" / "train.conllu", words_only)
        words = [sys.executable, "-m", "training", "convert", folder, "treebank", "--out", folder / "corpus"]
        words += ["--scheme", options.scheme] if options.scheme else []
        subprocess.run(list(map(str, words)), check=True, cwd=ROOT)
    return trees


def noun_phrases(tree: Tree, outermost: bool) -> Iterator[Bracket]:
    """The NPs that no other NP contains, or those that contain none. Of NPs of equal extent one counts."""
    spans = {(start, end) for start, end, _ in labelled(tree, ("NP",))}
    for start, end in spans:
        others = ((a, b) if outermost else (-a, -b) for a, b in spans if (a, b) != (start, end))
        low, high = (start, end) if outermost else (-start, -end)
        if not any(a <= low and high <= b for a, b in others):
            yield start, end, "NP"


def labelled(tree: Tree, labels: Sequence[str]) -> Iterator[Bracket]:
    """The constituents that have one of the labels."""
    return (bracket for bracket in zip(tree.starts, tree.ends, tree.labels, strict=True) if bracket[2] in labels)


MEASURES: dict[str, Callable[[Tree], Iterable[Bracket]]] = {
    "innermost NP": lambda tree: noun_phrases(tree, outermost=False),
    "outermost NP": lambda tree: noun_phrases(tree, outermost=True),
    "clauses": lambda tree: labelled(tree, CLAUSES),
    "PP": lambda tree: labelled(tree, ("PP", "WHPP")),
}


def compare(gold: Sequence[Tree], found: Sequence[Tree]) -> dict[str, list[int]]:
    """(matched, gold, found) brackets by measure, by label and by length."""
    counts: dict[str, list[int]] = {}

    def add(name: str, *numbers: int) -> None:
        counts[name] = [a + b for a, b in zip(counts.get(name, [0, 0, 0]), numbers, strict=True)]

    for right, other in zip(gold, found, strict=True):
        for name, convention in (("all", ALL), ("evalb", EVALB)):
            score = score_sentence(right, other, convention)
            add(name, score.matched, score.gold, score.predicted)
            for label, numbers in score.by_label.items() if name == "all" else ():
                add(f"label {label}", *numbers)
        for name, brackets in MEASURES.items():
            a, b = Counter(brackets(right)), Counter(brackets(other))
            add(name, (a & b).total(), a.total(), b.total())
        a, b = (Counter(zip(t.starts[1:], t.ends[1:], t.labels[1:], strict=True)) for t in (right, other))
        for column, brackets in enumerate((a & b, a, b)):
            for (start, end, _), number in brackets.items():
                least = next(n for n in (40, 20, 10, 5, 3, 2, 1) if end - start >= n)
                add(f"from {least:2} tokens", *(number if k == column else 0 for k in range(3)))
    return counts


def by_rule(nlp, gold: Sequence[Tree], tags: Sequence[Sequence[str]], links: Path | None) -> list[Tree]:
    """The trees of `dependency_phrases` with the given tags, and the pipeline's dependencies or those of a file."""
    from spacy.tokens import Doc

    key = "by_rule"
    if key not in nlp.pipe_names:
        nlp.add_pipe("dependency_phrases", name=key, config={"spans_key": key, "scheme": "universal"})
    rows = None if links is None else list(read_sentences(links))
    parser, component = nlp.get_pipe("bpm_parser"), nlp.get_pipe(key)
    trees = []
    for i, (tree, names) in enumerate(zip(gold, tags, strict=True)):
        n = len(tree.words)
        values = {}
        if rows is not None:
            heads = [k if head < 0 else head for k, head in enumerate(rows[i].heads)]
            values = {"heads": heads, "deps": rows[i].relations}
        else:
            values = {"sent_starts": [True, *[False] * (n - 1)]}
        tagged = with_tags(Doc(nlp.vocab, words=list(tree.words), **values), names)
        doc = component(tagged if rows is not None else parser(tagged))
        spans = [(span.start, span.end, span.label_) for span in doc.spans[key]]
        trees.append(Tree.from_spans(tree.words, names, [(0, n, TOP), *[s for s in spans if s[2] != TOP]]))
    return trees


def with_tags(doc, tags: Sequence[str]):
    """Set the tags of a Doc and their parts of speech."""
    from spacy_dtparse.trees.universal import universal_part

    for token, tag in zip(doc, tags, strict=True):
        token.tag_, token.pos_ = tag, universal_part(tag)
    return doc


def train(options: argparse.Namespace, lang: str, out: Path) -> None:
    """Run `python -m training pipeline`."""
    words = [sys.executable, "-m", "training", "pipeline", out / "treebank", "--lang", lang, "--parser", "span"]
    words += ["--workers", 1, "--out", out, *SETTINGS.get(lang, ()), *options.pipeline]
    words += [] if options.span_only else ["--dependencies"]
    words += ["--scheme", options.scheme] if options.scheme else []
    for setting in options.set:
        words += ["--span-set", setting]
    if options.english:
        words += ["--pretrain-trees", english_trees(options), "--span-set", "pretrain_epochs=2"]
    subprocess.run(list(map(str, words)), check=True, cwd=ROOT)


def convert(options: argparse.Namespace, lang: str, folder: Path) -> None:
    """Split the treebanks of a language and print what the conversion does."""
    split_treebanks(options.ud, lang, options.block, folder)
    for part in ("train", "dev"):
        trees, _, counts = read_phrase_trees(folder / f"{part}.conllu", lang)
        tokens, constituents = sum(len(tree.words) for tree in trees), sum(len(tree.labels) - 1 for tree in trees)
        ratio = constituents / tokens
        print(f"{lang} {part}: {counts}; {tokens} tokens with {ratio:.2f} constituents each", flush=True)


def measure(out: Path, errors: bool, span_only: bool) -> None:
    """Print the scores of a trained pipeline, and write them to OUT/LANG/NAME/languages.json. `errors`: also those of
    labels and lengths. `span_only`: those of the span parser alone."""
    corpus = out / "corpus" / "treebank"
    gold = list(read_trees(corpus / "dev.mrg"))
    model, nlp = load_source(out / "pipeline")
    predicted = tag_lists(nlp, (tree.words for tree in gold))
    rows = {
        "span parser, gold tags": [model.parse(tree.words, tree.tags).tree for tree in gold],
        "span parser": [model.parse(tree.words, tags).tree for tree, tags in zip(gold, predicted, strict=True)],
    }
    if not span_only:
        rows["dependency parser, rules"] = by_rule(nlp, gold, predicted, None)
        rows["gold dependencies, rules"] = by_rule(nlp, gold, predicted, corpus / "dev.conllu")
    pairs = [pair for tree, tags in zip(gold, predicted, strict=True) for pair in zip(tree.tags, tags, strict=True)]
    print(f"tags: {100 * sum(a == b for a, b in pairs) / len(pairs):.2f} % correct")
    names = ("all", "evalb", *MEASURES)
    print(f"{'F1':26}" + "".join(f"{name:>14}" for name in names))
    record = {}
    for name, trees in rows.items():
        counts = compare(gold, trees)
        record[name] = {key: 200 * m / max(g + f, 1) for key, (m, g, f) in counts.items()}
        print(f"{name:26}" + "".join(f"{record[name][key]:14.2f}" for key in names), flush=True)
        for key, (m, g, f) in sorted(counts.items()) if errors else ():
            if key not in names:
                print(f"    {key:16} {200 * m / max(g + f, 1):6.1f} {g - m:6} missing {f - m:6} wrong of {g}")
    (out / "languages.json").write_text(json.dumps(record, indent=1), encoding="utf8")


def main() -> None:
    """Split, train, compare, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ud", type=Path)
    parser.add_argument("langs", choices=FILES, nargs="+")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--name", default="pipeline", help="folder of this run in OUT/LANG")
    parser.add_argument("--set", nargs="*", default=[], help="settings of the span model")
    parser.add_argument("--pipeline", type=shlex.split, default=[], help="more options of pipeline, as one text")
    parser.add_argument("--english", action="store_true")
    parser.add_argument("--scheme", type=lambda text: Path(text).resolve(), help="as in convert, for all trees")
    parser.add_argument("--block", help="K/N: every N-th block of ten training sentences, from the K-th on")
    parser.add_argument("--errors", action="store_true")
    parser.add_argument("--span-only", action="store_true", help="without dependency parser and rules")
    parser.add_argument("--convert-only", action="store_true")
    options = parser.parse_args()
    options.out = options.out.resolve()
    for lang in options.langs:
        out = options.out / lang / options.name
        convert(options, lang, out / "treebank")
        if not options.convert_only:
            train(options, lang, out)
            measure(out, options.errors, options.span_only)


if __name__ == "__main__":
    main()
