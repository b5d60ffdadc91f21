"""Subjects, objects and main verbs of clauses, compared with a dependency treebank.

    python benchmarks/bench_clauses.py --ud EWT/en_ewt-ud-train.conllu [--skip 0] [--sentences 1500]

The pipeline gets the treebank's words and sentences and sets its own tags and constituents. *verb*: the main verbs and
copulas of `predicates`. *subject*, *object*: pairs of such a verb and a phrase. A phrase is right if one of its words
whose head lies outside of it is the treebank's subject or object of that verb.

The treebank's main verbs are the tokens VERB that head a clause (root, conj, ccomp, xcomp, advcl, acl, csubj,
parataxis), AUX without a verb, and copulas; a copula stands for the predicate that it belongs to. Its subjects are
nsubj, nsubj:pass and nsubj:outer, and those that the enhanced dependencies add to a coordinated verb; its objects are
obj. These pairs are neither right nor wrong, as the treebank has another convention: a clause as subject, *it* as
expletive, an indirect object, the subject of an infinitive that is the object of the verb above (*want him to go*), and
a subject or object that coordinated verbs share.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from common import save
from spacy.tokens import Doc, Span
from spacy.vocab import Vocab

from spacy_dtparse import predicates
from spacy_dtparse.pipeline.embedded import load_named

CLAUSE_RELATIONS = ("root", "conj", "ccomp", "xcomp", "advcl", "acl", "csubj", "parataxis")
SUBJECTS = ("nsubj", "nsubj:pass", "nsubj:outer")
Pair = tuple[int, int]


@dataclass
class Sentence:
    """A sentence of the treebank: columns of its tokens; `heads`: from 0, -1 for the root."""

    words: list[str]
    spaces: list[bool]
    lemmas: list[str]
    parts: list[str]
    heads: list[int]
    relations: list[str]
    enhanced: list[list[tuple[int, str]]]

    def doc(self, vocab: Vocab) -> Doc:
        starts = [k == 0 for k in range(len(self.words))]
        return Doc(vocab, words=self.words, spaces=self.spaces, sent_starts=starts)

    def pairs(self, *relations: str) -> set[Pair]:
        """The pairs (head, token) of these relations."""
        return {(self.heads[i], i) for i, relation in enumerate(self.relations) if relation in relations}

    def verb(self, i: int, outer: bool = False) -> int:
        """The copula of a predicate, else the predicate itself; `outer`: of a predicate that is a clause with a copula
        (*the point is that he is late*)."""
        copulas = [k for k, relation in enumerate(self.relations) if relation == "cop" and self.heads[k] == i]
        has_outer = any(self.heads[k] == i and r.endswith(":outer") for k, r in enumerate(self.relations))
        if has_outer and not outer:
            copulas = copulas[1:]
        return copulas[0] if copulas else i

    def verbs(self) -> set[int]:
        found = set()
        for i, (part, relation) in enumerate(zip(self.parts, self.relations, strict=True)):
            heads_clause = part == "VERB" and relation.split(":")[0] in CLAUSE_RELATIONS
            if heads_clause or relation == "cop" or (part == "AUX" and relation not in ("aux", "aux:pass")):
                found.add(i)
        return found

    def subjects(self) -> set[Pair]:
        found = {(self.verb(h, self.relations[i].endswith(":outer")), i) for h, i in self.pairs(*SUBJECTS)}
        for _, i in self.pairs(*SUBJECTS):  # of coordinated verbs
            for head, relation in self.enhanced[i]:
                if relation.startswith("nsubj") and "xsubj" not in relation and self.relations[head] == "conj":
                    found.add((self.verb(head), i))
        return found

    def other_subjects(self) -> set[Pair]:
        """The subjects of other conventions."""
        found = {(self.verb(h), i) for h, i in self.pairs("csubj", "csubj:pass", "csubj:outer")}
        found |= {(self.verb(h), i) for h, i in self.pairs("expl") if self.lemmas[i] == "it"}
        for i, edges in enumerate(self.enhanced):
            found |= {(self.verb(head), i) for head, relation in edges if "xsubj" in relation}
        return found

    def conjuncts(self, verb: int) -> set[int]:
        """The verbs that are coordinated with a verb."""
        found, grown = {verb}, True
        while grown:
            more = {h for h, i in self.pairs("conj") if i in found} | {i for h, i in self.pairs("conj") if h in found}
            grown, found = not more <= found, found | more
        return found

    def tops(self, span: Span) -> list[int]:
        """The words of a span whose head lies outside of it."""
        inside = range(span.start, span.end)
        return [i for i in inside if self.heads[i] not in inside and self.parts[i] != "PUNCT"]


def read_sentences(path: Path) -> Iterator[Sentence]:
    rows: list[list[str]] = []
    with path.open(encoding="utf8") as lines:
        for line in lines:
            if line.strip() and line[0] != "#":
                columns = line.rstrip("\n").split("\t")
                if columns[0].isdigit():
                    rows.append(columns)
            elif rows and not line.strip():
                yield sentence_of(rows)
                rows = []


def sentence_of(rows: list[list[str]]) -> Sentence:
    enhanced = []
    for row in rows:
        edges = [edge.partition(":") for edge in row[8].split("|")]
        enhanced.append([(int(head) - 1, relation) for head, _, relation in edges if head.isdigit() and head != "0"])
    words, lemmas, parts, relations = ([row[k] for row in rows] for k in (1, 2, 3, 7))
    spaces = ["SpaceAfter=No" not in row[9] for row in rows]
    return Sentence(words, spaces, lemmas, parts, [int(row[6]) - 1 for row in rows], relations, enhanced)


class Count:
    """Numbers of right, found and wanted pairs."""

    def __init__(self) -> None:
        self.right = self.found = self.wanted = self.neutral = 0

    def add(self, sentence: Sentence, found: set[tuple[int, Span]], wanted: set[Pair], neutral: set[Pair]) -> None:
        hit: set[Pair] = set()
        for verb, span in found:
            tops = sentence.tops(span)
            right = {(verb, i) for i in tops} & wanted
            shared = {(other, i) for other in sentence.conjuncts(verb) for i in tops} & wanted
            if right:
                hit |= right
            elif shared or {(verb, i) for i in tops} & neutral:
                self.neutral += 1
                continue
            self.found += 1
        self.right += len(hit)
        self.wanted += len(wanted)

    def figures(self) -> dict[str, Any]:
        precision, recall = self.right / max(self.found, 1), self.right / max(self.wanted, 1)
        f1 = 2 * self.right / max(self.found + self.wanted, 1)
        numbers = {"right": self.right, "found": self.found, "wanted": self.wanted, "neutral": self.neutral}
        return {"precision": round(100 * precision, 1), "recall": round(100 * recall, 1), "f1": round(100 * f1, 1),
                **numbers}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pipeline", default="en_dtparse", help="name or folder (default: en_dtparse)")
    parser.add_argument("--ud", type=Path, required=True, help="file of Universal Dependencies, the training part")
    parser.add_argument("--skip", type=int, default=0, help="sentences to skip (default: 0)")
    parser.add_argument("--sentences", type=int, default=1500, help="default: 1500")
    parser.add_argument("--out", type=Path, help="JSON file (default: build/bench/clauses.json)")
    options = parser.parse_args()
    nlp = load_named(options.pipeline)
    sentences = list(islice(read_sentences(options.ud), options.skip, options.skip + options.sentences))
    docs = list(nlp.pipe(sentence.doc(nlp.vocab) for sentence in sentences))
    began = time.process_time()
    results = [predicates(doc) for doc in docs]
    seconds = time.process_time() - began
    counts = {"verb": Count(), "subject": Count(), "object": Count()}
    for sentence, found in zip(sentences, results, strict=True):
        verbs, wanted = {one.verb.i for one in found}, sentence.verbs()
        count = counts["verb"]
        count.right, count.found = count.right + len(verbs & wanted), count.found + len(verbs)
        count.wanted += len(wanted)
        subjects = {(one.verb.i, one.subject) for one in found if one.subject is not None}
        counts["subject"].add(sentence, subjects, sentence.subjects(), sentence.other_subjects())
        objects = {(one.verb.i, span) for one in found for span in one.objects}
        counts["object"].add(sentence, objects, sentence.pairs("obj"), sentence.pairs("iobj", "expl"))
    tokens = sum(map(len, docs))
    facts: dict[str, Any] = {"sentences": len(docs), "tokens": tokens, "skip": options.skip}
    facts |= {name: count.figures() for name, count in counts.items()}
    facts["tokens_per_second"] = round(tokens / seconds)
    for name, value in facts.items():
        print(f"{name}: {value}")
    save(options, "clauses", facts)


if __name__ == "__main__":
    main()
