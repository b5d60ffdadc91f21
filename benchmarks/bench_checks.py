"""The cost of the checks of constituents on ordinary work: times with them, divided by times without them.

    python benchmarks/bench_checks.py --text FILE … [--pipeline NAME_OR_FOLDER] [--words 2000] [--repeats 41]

Without checks, `doc.spans["constituents"]` is spaCy's own SpanGroup: no edits are noticed, no checksum is stored or
compared, attributes and spans are read as they are; what was written and read of it is kept as with checks. Each kind
of work is done in alternation with and without checks, in one process; a ratio is that of neighbouring runs. Prints the
median of the ratios with the quartiles, and the least CPU seconds with and without checks.
"""

from __future__ import annotations

import argparse
import gc
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

from bench_pipeline import forget, paragraphs
from bench_pipeline import load as load_pipeline
from common import save
from spacy.tokens import Doc, DocBin, SpanGroup

import spacy_dtparse
from spacy_dtparse.pipeline import attributes, constituents, writing

PATTERN = "NP=whole < (NP=part $+ (PP < IN))"


class UncheckedGroup(SpanGroup):
    """A group that has what was written and read of it, and notices no edits."""

    cached: Any = None
    written: Any = None


def _value_at(doc: Doc, name: str, field: str, constituent: int) -> Any:
    group = doc.spans.data[name]
    cached = group.cached if isinstance(group, UncheckedGroup) else constituents._CACHE[doc][name][1]
    values, order = group.attrs.get(field), cached.spans.order
    return None if values is None else values[constituent if order is None else int(order[constituent])]


@contextmanager
def without_checks() -> Iterator[None]:
    """Read and write groups of constituents as spaCy's own."""
    with ExitStack() as stack:
        for module, name, stub in [
            (writing, "ConstituentGroup", UncheckedGroup),
            (constituents, "ConstituentGroup", UncheckedGroup),
            (constituents, "adopt_group", lambda doc, name, stored, objects: doc.spans.data[name]),
            (constituents, "revision_of", lambda group: len(group) if isinstance(group, UncheckedGroup) else b""),
            (constituents, "check_attributes", lambda group: group.attrs),
            (constituents, "check_spans", lambda *columns: None),
            (constituents, "value_at", _value_at),
            (attributes, "value_at", _value_at),
            (constituents, "constituent_values", lambda group, name, stored=None: group.attrs.get(name)),
            (attributes, "sentence_records", lambda group: list(group.attrs["sentences"])),
            (attributes, "attribute", lambda group, name, default=None: group.attrs.get(name, default)),
        ]:
            assert hasattr(module, name)
            stack.enter_context(patch.object(module, name, stub))
        yield


def kinds_of_work(nlp: Any, texts: list[str]) -> dict[str, tuple[Callable[[], Any], Callable[[Any], Any]]]:
    """(Function that prepares, function that is timed) by the name of the work."""

    def parse() -> list[Doc]:
        forget(nlp)
        return list(nlp.pipe(texts))

    def read(docs: list[Doc]) -> None:
        for doc in docs:
            for sent in doc.sents:
                spacy_dtparse.parse_string(sent)
            for span in spacy_dtparse.constituents(doc):
                spacy_dtparse.cost(span)

    def store(docs: list[Doc]) -> list[bytes]:
        return [doc.to_bytes() for doc in docs]

    def load(stored: list[bytes]) -> list[Doc]:
        return [Doc(nlp.vocab).from_bytes(data) for data in stored]

    def load_bin(data: bytes) -> list[Doc]:
        return list(DocBin().from_bytes(data).get_docs(nlp.vocab))

    def store_bin(docs: list[Doc]) -> bytes:
        return DocBin(store_user_data=True, docs=docs).to_bytes()

    matcher = spacy_dtparse.ConstituentMatcher(nlp.vocab)
    matcher.add("ATTACHED", [PATTERN])
    return {
        "nlp.pipe, raw text": (lambda: None, lambda _: parse()),
        "nlp.pipe, then trees, labels and costs": (lambda: None, lambda _: read(parse())),
        "matcher over parsed Docs": (parse, lambda docs: [matcher(doc) for doc in docs]),
        "Doc.to_bytes": (parse, store),
        "Doc.from_bytes": (lambda: store(parse()), load),
        "Doc.from_bytes, then trees, labels and costs": (lambda: store(parse()), lambda stored: read(load(stored))),
        "DocBin of Docs, to bytes": (parse, store_bin),
        "DocBin from bytes, then trees, labels and costs": (
            lambda: store_bin(parse()),
            lambda stored: read(load_bin(stored)),
        ),
        "nlp.pipe, then matcher": (lambda: None, lambda _: [matcher(doc) for doc in parse()]),
        "nlp.pipe, DocBin and back, then trees and costs": (
            lambda: None,
            lambda _: read(load_bin(store_bin(parse()))),
        ),
    }


def timed(prepare: Callable[[], Any], work: Callable[[Any], Any], checked: bool) -> float:
    """CPU seconds of the work."""
    with ExitStack() as stack:
        if not checked:
            stack.enter_context(without_checks())
        given = prepare()
        gc.collect()
        gc.disable()
        began = time.process_time()
        work(given)
        seconds = time.process_time() - began
        gc.enable()
        return seconds


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--text", type=Path, required=True)
    parser.add_argument("--pipeline", default="en_dtparse")
    parser.add_argument("--words", type=int, default=2000)
    parser.add_argument("--repeats", type=int, default=41)
    parser.add_argument("--only", nargs="+", metavar="TEXT", help="kinds of work whose names contain one of these")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    nlp, texts = load_pipeline(options.pipeline), paragraphs(options.text, options.words)
    results = {}
    for name, (prepare, work) in kinds_of_work(nlp, texts).items():
        if options.only and not any(text in name for text in options.only):
            continue
        timed(prepare, work, True)
        pairs = []
        for k in range(options.repeats):
            order = (True, False) if k % 2 else (False, True)
            seconds = {checked: timed(prepare, work, checked) for checked in order}
            pairs.append((seconds[True], seconds[False]))
        ratios = [one / other for one, other in pairs]
        low, middle, high = statistics.quantiles(ratios, n=4)
        best = [min(column) for column in zip(*pairs, strict=True)]
        results[name] = {"ratio": middle, "quartiles": [low, high], "seconds": best}
        print(f"{name:50} {middle:.3f} ({low:.3f} to {high:.3f})  {best[0]:.3f} s {best[1]:.3f} s", flush=True)
    save(options, "checks", results)
    return 0


if __name__ == "__main__":
    sys.exit(main())
