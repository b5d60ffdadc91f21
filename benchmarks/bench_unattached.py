"""Number of unattached words in trees of dev sentences and of raw text, with and without `attach_unattached`.

    python benchmarks/bench_unattached.py --corpus TREEBANKS --names craft genia masc gum --text RAW/wiki.txt
--max-sentences 100000

It counts nouns, determiners and verbs that are unattached next to a VP or S (see `spacy_dtparse.trees.unattached`).
"""

from __future__ import annotations

import json
from pathlib import Path

import spacy
from common import EVERYDAY_DEV, arguments, save

from spacy_dtparse import to_tree
from spacy_dtparse.trees.unattached import unattached_tokens
from training.data.evaluate import load_source, tag_lists
from training.data.text import text_files
from training.data.treebanks import TreebankFile, corpus_files


def main() -> None:
    """Count, print, save."""
    parser = arguments(__doc__)
    parser.add_argument("--text", nargs="*", default=[], help="raw text, a paragraph per line; PATH[,wrapped][,spaced]")
    parser.add_argument("--max-sentences", type=int, default=100_000, help="maximum number of sentences of raw text")
    options = parser.parse_args()
    found = {}
    loaded, nlp = load_source(Path(options.pipeline))
    assert nlp is not None
    for file in [TreebankFile(EVERYDAY_DEV), *corpus_files(options.corpus, options.names, "dev")]:
        gold = file.read()
        tags = tag_lists(nlp, (sentence.tree.words for sentence in gold))
        row = {"sentences": len(gold), "gold": sum(len(unattached_tokens(sentence.tree)) for sentence in gold)}
        for attach in (False, True):
            used = loaded.with_settings(attach_unattached=attach)
            trees = [used.parse(sentence.tree.words, kinds).tree for sentence, kinds in zip(gold, tags, strict=True)]
            row["attached" if attach else "chart"] = sum(len(unattached_tokens(tree)) for tree in trees)
        found[file.name] = row
        print(file.name, row, flush=True)
    files = text_files(options.text) if options.text else ()
    if files:
        per_file = options.max_sentences // len(files)
        nlp = spacy.load(options.pipeline)
        sentences = count = 0
        for file in files:
            read = 0
            for doc in nlp.pipe(file.paragraphs(), batch_size=64):
                for sentence in doc.sents:
                    if read < per_file and not sentence.text.isspace():
                        read += 1
                        count += len(unattached_tokens(to_tree(sentence)))
                if read >= per_file:
                    break
            sentences += read
            print(file.name, json.dumps({"sentences": sentences, "unattached": count}), flush=True)
        found["raw"] = {"sentences": sentences, "attached": count}
    save(options, "unattached", found)


if __name__ == "__main__":
    main()
