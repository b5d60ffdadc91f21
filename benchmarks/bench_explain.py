"""Time of explanations: the first, which unpacks the rules, then those of whole sentences and of single constituents.

    python benchmarks/bench_explain.py [--parsers NAME ...] [--names sample]

The dev sentences of the treebanks as raw text, one Doc each. CPU time, in milliseconds; there are two passes over the
sentences, because the texts of atoms are cached.
"""

from __future__ import annotations

import statistics
import time

from common import arguments, dev_sentences, percentile, save

import spacy_dtparse


def main() -> None:
    """Measure and print."""
    parser = arguments(__doc__)
    parser.add_argument("--parsers", nargs="+", default=["en_dtparse", "en_trees", "en_span"], help="embedded parsers")
    options = parser.parse_args()
    texts = [" ".join(sentence.tree.words) for sentence in dev_sentences(options)]
    facts = {}
    for name in options.parsers:
        nlp = spacy_dtparse.load(name)
        docs = list(nlp.pipe(texts))
        started = time.process_time()
        spacy_dtparse.explain(nlp, docs[0]._.constituents[0])
        first = time.process_time() - started
        row = {"first": 1000 * first}
        for turn in ("cold", "warm"):
            whole, each = [], []
            for doc in docs:
                started = time.process_time()
                found = spacy_dtparse.explanations(nlp, doc)
                taken = time.process_time() - started
                whole.append(1000 * taken)
                each.append(1000 * taken / len(found))
            row |= {
                f"{turn} sentence": statistics.median(whole),
                f"{turn} sentence, 95 %": percentile(whole, 0.95),
                f"{turn} constituent": statistics.median(each),
            }
        single, lines, rules = [], [], []
        for doc in docs:
            started = time.process_time()
            one = spacy_dtparse.explain(nlp, doc._.constituents[-1])
            lines.append(len(str(one).splitlines()))
            single.append(1000 * (time.process_time() - started))
            rules.append(len(one.rules))
        row |= {"one constituent": statistics.median(single), "rules": statistics.median(rules)}
        row["most lines"] = max(lines)
        facts[name] = row
        print(name, {key: round(value, 1) for key, value in row.items()})
    save(options, "explain", facts)


if __name__ == "__main__":
    main()
