"""Tables of parsed Docs: constituents, clauses, chunks or tokens as rows, as plain data or as a pandas DataFrame."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from spacy.tokens import Doc, Span

from ..errors import ConfigError, DtparseError
from .attributes import locate, to_tree
from .chunks import chunk_tags, chunks
from .clauses import subjects_verbs_kinds
from .constituents import Constituents, group_key, make_span, read_constituents, values_in_order
from .phrases import clauses, head_rules_for
from .sentences import is_blank, token_bounds, visible_tokens

if TYPE_CHECKING:
    import pandas

_PLACE = ("start", "end", "start_char", "end_char")
COLUMNS: dict[str, tuple[str, ...]] = {
    "constituents": (
        "doc", "sentence", "constituent", "parent", "depth", "label", *_PLACE, "head", "head_text", "probability",
        "text",
    ),
    "clauses": (
        "doc", "sentence", "clause", "parent", "depth", "label", "kind", *_PLACE, "head", "head_text", "subject_start",
        "subject_end", "subject_text", "verb", "verb_text", "probability", "text",
    ),
    "chunks": ("doc", "sentence", "chunk", "label", *_PLACE, "text"),
    "tokens": ("doc", "sentence", "token", "start_char", "end_char", "text", "tag", "parent", "chunk_tag"),
}  # fmt: skip
"""The tables, and the columns of each."""


def to_records(
    docs: Doc | Span | Iterable[Doc | Span], rows: str = "constituents", key: str | None = None
) -> list[dict[str, Any]]:
    """A table of parsed Docs as a list of dicts, plain data for JSON, CSV and data frames.

    `docs`: a Doc, a Span, or several of them. `rows`: "constituents", "clauses", "chunks" or "tokens": what a row
    stands for. `key`: of the span group with the constituents.

    `doc`: index of the Doc among `docs`; `sentence`: index in its Doc; `start`, `end`: tokens of the Doc;
    `start_char`, `end_char`: characters of its text; `constituent`, `clause`, `chunk`, `token`: index in the Doc;
    `parent`: the index of the constituent or clause directly above, None for none; `depth`: their number above;
    `head`, `head_text`: the head token; `probability`: None unless the parser's setting `probabilities` is on.
    In rows of clauses `kind`, `subject_start`, `subject_end`, `subject_text` and `verb`, `verb_text` (the token and its
    text) are what `clause_kind`, `subject` and `verb` find: None if there is none, or if the Doc is not English.
    Constituents are in pre-order; white space is no token. `text` is a slice of the Doc's text, so time and memory are
    linear in the rows and the characters in them, whose number is quadratic if all constituents are nested in one
    another.

    Raises NotParsedError for a Doc without constituents, ConfigError for another kind of rows.
    """
    if rows not in COLUMNS:
        raise ConfigError(f"rows={rows!r}; allowed are {', '.join(map(repr, COLUMNS))}")
    records = []
    for index, where in enumerate([docs] if isinstance(docs, Doc | Span) else docs):
        if not isinstance(where, Doc | Span):
            raise ConfigError(f"a value of type {type(where).__name__} has no table; give a parsed Doc or a Span")
        for values in _MAKERS[rows](where, key):
            record = {"doc": index, **values}
            records.append({name: record[name] for name in COLUMNS[rows]})
    return records


def to_dataframe(
    docs: Doc | Span | Iterable[Doc | Span], rows: str = "constituents", key: str | None = None
) -> pandas.DataFrame:
    """The table of `to_records` as a pandas DataFrame; whole numbers that may be missing have the type Int64.

    Raises DtparseError if pandas is not installed, else as `to_records` does.
    """
    records = to_records(docs, rows, key)
    try:
        import pandas
    except ImportError:
        raise DtparseError(
            "pandas is not installed; install it (pip install pandas), or use to_records, which returns the same rows "
            "as a list of dicts"
        ) from None
    frame = pandas.DataFrame.from_records(records, columns=list(COLUMNS[rows]))
    types = {name: "Int64" for name in ("parent", "subject_start", "subject_end", "verb") if name in frame}
    if "probability" in frame:
        types["probability"] = "float64"
    return frame.astype(types)


def _place(span: Span, text: str) -> dict[str, Any]:
    """Where a span is, and its part of the text of the Doc."""
    start_char, end_char = span.start_char, span.end_char
    return {
        "start": span.start, "end": span.end, "start_char": start_char, "end_char": end_char,
        "text": text[start_char:end_char],
    }  # fmt: skip


def _sentence_numbers(doc: Doc) -> list[int]:
    """The index of the sentence of each token."""
    numbers = [0] * len(doc)
    for number, (start, end, _) in enumerate(visible_tokens(doc)):
        numbers[start:end] = [number] * (end - start)
    return numbers


def _heads_and_probabilities(doc: Doc, found: Constituents, key: str | None) -> list[dict[str, Any]]:
    """The head token and probability of each constituent. Head rules are applied once per sentence: all its
    constituents are in its tree, in the same order, below a TOP that may be added."""
    rules, values = head_rules_for(doc, key), []
    for start, end, words in visible_tokens(doc):
        count = bisect_left(found.starts, end) - bisect_left(found.starts, start)
        if count:
            heads = rules.heads(to_tree(doc[start:end], key))
            values += [words[index] for index in heads[len(heads) - count :]]
    name = group_key(doc, key)
    probabilities = (None if name is None else values_in_order(doc, name, "probabilities")) or []
    if len(probabilities) != len(values):
        probabilities = [None] * len(values)
    return [
        {"head": token.i, "head_text": token.text, "probability": value}
        for token, value in zip(values, probabilities, strict=True)
    ]


def _constituent_rows(where: Doc | Span, key: str | None) -> Iterator[dict[str, Any]]:
    doc = where.doc
    found, (first, last), sentences = read_constituents(doc, key), token_bounds(where), _sentence_numbers(doc)
    heads, text = _heads_and_probabilities(doc, found, key), doc.text
    depths: list[int] = []
    for k, above in enumerate(found.parents):
        depths.append(depths[above] + 1 if above >= 0 else 0)
        if first <= found.starts[k] and found.ends[k] <= last:
            span = make_span(doc, found, k, with_level=True)
            yield {
                "sentence": sentences[span.start], "constituent": k, "parent": above if above >= 0 else None,
                "depth": depths[k], "label": span.label_, **_place(span, text), **heads[k],
            }  # fmt: skip


def _clause_rows(where: Doc | Span, key: str | None) -> Iterator[dict[str, Any]]:
    doc, (first, last) = where.doc, token_bounds(where)
    sentences, found = _sentence_numbers(doc), read_constituents(doc, key)
    heads, text = _heads_and_probabilities(doc, found, key), doc.text
    open_clauses: list[tuple[int, int]] = []  # index and end of the clauses around the next one
    spans = clauses(doc, key)
    indices = [locate(span, key).constituent for span in spans]
    parts = subjects_verbs_kinds(doc, indices, key)
    for number, (span, k, (subject, verb, kind)) in enumerate(zip(spans, indices, parts, strict=True)):
        while open_clauses and open_clauses[-1][1] <= span.start:
            open_clauses.pop()
        if first <= span.start and span.end <= last:
            yield {
                "sentence": sentences[span.start], "clause": number,
                "parent": open_clauses[-1][0] if open_clauses else None, "depth": len(open_clauses),
                "label": span.label_, "kind": kind, **_place(span, text), **heads[k],
                "subject_start": None if subject is None else subject.start,
                "subject_end": None if subject is None else subject.end,
                "subject_text": None if subject is None else text[subject.start_char : subject.end_char],
                "verb": None if verb is None else verb.i, "verb_text": None if verb is None else verb.text,
            }  # fmt: skip
        open_clauses.append((number, span.end))


def _chunk_rows(where: Doc | Span, key: str | None) -> Iterator[dict[str, Any]]:
    sentences, (first, last), text = _sentence_numbers(where.doc), token_bounds(where), where.doc.text
    for number, span in enumerate(chunks(where.doc, key)):
        if first <= span.start and span.end <= last:
            yield {"sentence": sentences[span.start], "chunk": number, "label": span.label_, **_place(span, text)}


def _token_rows(where: Doc | Span, key: str | None) -> Iterator[dict[str, Any]]:
    doc = where.doc
    found, (first, last), sentences = read_constituents(doc, key), token_bounds(where), _sentence_numbers(doc)
    tags, parents = chunk_tags(doc, key), _lowest(found.starts, found.ends, len(doc))
    for token in doc[first:last]:
        if not is_blank(token.text):
            yield {
                "sentence": sentences[token.i], "token": token.i, "start_char": token.idx,
                "end_char": token.idx + len(token), "text": token.text, "tag": token.tag_,
                "parent": parents[token.i], "chunk_tag": tags[token.i],
            }  # fmt: skip


def _lowest(starts: Sequence[int], ends: Sequence[int], n: int) -> list[int | None]:
    """The lowest constituent over each token. Constituents are in pre-order, so lower ones come later."""
    lowest: list[int | None] = [None] * n
    around: list[int] = []
    k = 0
    for token in range(n):
        while around and ends[around[-1]] <= token:
            around.pop()
        while k < len(starts) and starts[k] == token:
            around.append(k)
            k += 1
        if around:
            lowest[token] = around[-1]
    return lowest


_MAKERS = {
    "constituents": _constituent_rows, "clauses": _clause_rows, "chunks": _chunk_rows, "tokens": _token_rows,
}  # fmt: skip
