"""Parse texts to Docs or rows, for engines that pass tables to worker processes: Dask, Ray, Spark.

Each process loads a pipeline once, at its first text. A text that fails does not affect the others of its batch.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING, Any

from spacy.attrs import IDX, LENGTH
from spacy.language import Language
from spacy.tokens import Doc
from spacy.util import ignore_error, raise_error

from ..errors import DtparseError
from ..text import check_text
from ..trees.bracket_writer import write_tree
from .constituents import read_constituents, tree_of
from .embedded import load_named
from .sentences import read_sentences

if TYPE_CHECKING:
    import pyarrow

MAX_CHARACTERS, MAX_TEXTS = 50_000, 1_000
"""Characters and texts per batch: some 10,000 tokens, enough for full batches of kernels, and memory does not grow with
the number of texts."""

_load_once = cache(load_named)
_lock = threading.RLock()
"""Lock held while a pipeline loads or parses, because its vocabulary is not thread-safe. A fork waits for it; a lock
held by another thread would never be released in the new process."""
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_lock.release)


def parse_docs(texts: Iterable[tuple[Any, str]], pipeline: str | None = None) -> Iterator[tuple[Any, Doc, str | None]]:
    """Yield each text's id, its parsed Doc, and None; or its id, a Doc without tokens, and the error message.

    `texts`: pairs of an id and a text. `pipeline`: the name of an English parser (see `spacy_dtparse.load`), a folder
    or an installed package; it is loaded once per process and used by one thread at a time. Raises ModelFormatError if
    the pipeline cannot be loaded; an error in a text is returned, never raised.
    """
    for chunk in _chunks(texts):
        with _lock:
            parsed = _parse_texts(_load_once(pipeline), chunk)
        yield from parsed


def parse_rows(texts: Iterable[tuple[Any, str]], pipeline: str | None = None) -> Iterator[dict[str, Any]]:
    """Yield a dict for each sentence, plain data for JSON, Arrow and pandas; `texts` and `pipeline` as in `parse_docs`.

    `id`: id of the text; `sentence`: number of the sentence in the text, from 1; `start_char`, `end_char`: from its
    first word to its last; `text`: these characters; `tree`: in brackets, root TOP; `constituents`: in pre-order, each
    with `label`, `start_char` and `end_char`; `error`: None. All offsets are characters of the text. A text that cannot
    be parsed has one row, with only its id and `error`, and a text without words one with only its id: no id is lost.
    New entries of the vocabulary are removed again, so a process may parse any number of texts. Raises as `parse_docs`
    does.
    """
    for chunk in _chunks(texts):
        with _lock:
            nlp = _load_once(pipeline)
            with nlp.memory_zone():
                rows = [row for key, doc, error in _parse_texts(nlp, chunk) for row in _rows(key, doc, error)]
        yield from rows


def parse_table(table: pyarrow.Table | pyarrow.RecordBatch, pipeline: str | None = None) -> pyarrow.Table:
    """The rows of `parse_rows` for the columns `id` and `text` of an Arrow table, as a table with `row_schema`.

    The ids keep their type. `pipeline`: as for `parse_docs`. Raises DtparseError if a column is missing, otherwise as
    `parse_docs` does.
    """
    import pyarrow

    names = table.schema.names
    if missing := {"id", "text"} - {*names}:
        raise DtparseError(
            f"the table has the columns {', '.join(names)}; rename two of them to 'id' and 'text' ({min(missing)!r} is "
            "missing)"
        )
    schema = row_schema(table.schema.field("id").type)
    texts = zip(table["id"].to_pylist(), table["text"].to_pylist(), strict=True)
    return pyarrow.Table.from_pylist([*parse_rows(texts, pipeline)], schema=schema)


def row_schema(id_type: pyarrow.DataType | None = None) -> pyarrow.Schema:
    """The schema of the tables of `parse_table`: a column for each key of `parse_rows`. `id_type`: None is int64.

    Numbers are int32, texts are strings, and `constituents` is a list of structs. Raises ImportError if pyarrow is not
    installed, as `parse_table` does.
    """
    import pyarrow as arrow

    constituent = arrow.struct([("label", arrow.string()), ("start_char", arrow.int32()), ("end_char", arrow.int32())])
    return arrow.schema(
        [
            ("id", arrow.int64() if id_type is None else id_type),
            ("sentence", arrow.int32()),
            ("start_char", arrow.int32()),
            ("end_char", arrow.int32()),
            ("text", arrow.string()),
            ("tree", arrow.string()),
            ("constituents", arrow.list_(constituent)),
            ("error", arrow.string()),
        ]
    )


def _chunks(texts: Iterable[tuple[Any, str]]) -> Iterator[list[tuple[Any, str]]]:
    chunk: list[tuple[Any, str]] = []
    characters = 0
    for key, text in texts:
        chunk.append((key, text))
        characters += len(text) if isinstance(text, str) else 0
        if characters >= MAX_CHARACTERS or len(chunk) >= MAX_TEXTS:
            yield chunk
            chunk, characters = [], 0
    if chunk:
        yield chunk


def _parse_texts(nlp: Language, texts: list[tuple[Any, str]]) -> list[tuple[Any, Doc, str | None]]:
    """Parse all texts in one batch, then each text that failed alone, to get its error."""
    docs = {}
    for index, (_, text) in enumerate(texts):
        with suppress(Exception):
            docs[index] = _make_doc(nlp, text)
    parsed_docs: dict[int, Doc] = {}
    nlp.set_error_handler(ignore_error)
    with suppress(Exception):
        for doc, index in nlp.pipe([(doc, index) for index, doc in docs.items()], as_tuples=True):
            parsed_docs[index] = doc
    nlp.set_error_handler(raise_error)
    found: list[tuple[Any, Doc, str | None]] = []
    for index, (key, text) in enumerate(texts):
        error = None
        if index not in parsed_docs:
            try:
                parsed_docs[index] = nlp(_make_doc(nlp, text))
            except Exception as raised:
                parsed_docs[index], error = Doc(nlp.vocab), _message(raised)
        found.append((key, parsed_docs[index], error))
    return found


def _make_doc(nlp: Language, text: Any) -> Doc:
    if not isinstance(text, str):
        raise DtparseError(f"the text is no str but of type {type(text).__name__}; give a str")
    check_text(text)
    return nlp.make_doc(text)


def _message(error: Exception) -> str:
    """The error as text that every format can store."""
    return f"{type(error).__name__}: {error}".encode("utf8", "backslashreplace").decode("utf8")


def _rows(key: Any, doc: Doc, error: str | None) -> list[dict[str, Any]]:
    rows = []
    if error is None:
        try:
            rows = list(_sentence_rows(key, doc))
        except Exception as raised:  # a Doc that another component has changed
            rows, error = [], _message(raised)
    return rows or [_row(key, error=error)]


def _row(key: Any, **values: Any) -> dict[str, Any]:
    names = ("sentence", "start_char", "end_char", "text", "tree", "constituents", "error")
    return {"id": key, **dict.fromkeys(names), **values}


def _sentence_rows(key: Any, doc: Doc) -> Iterator[dict[str, Any]]:
    found, text = read_constituents(doc), doc.text
    idx, length = doc.to_array([IDX, LENGTH]).reshape(-1, 2).T
    begins, ends = idx.tolist(), (idx + length).tolist()
    k = sentence_number = 0
    for sentence in read_sentences(doc, needs_tags=False)[0]:
        constituents = []
        while k < len(found.starts) and found.starts[k] < sentence.end:
            location = {"start_char": begins[found.starts[k]], "end_char": ends[found.ends[k] - 1]}
            constituents.append({"label": found.labels[k], **location})
            k += 1
        if sentence.words:
            sentence_number += 1
            first, last = begins[sentence.positions[0]], ends[sentence.positions[-1]]
            tree = write_tree(tree_of(found, sentence.positions, sentence.words, sentence.tags))
            location = {"start_char": first, "end_char": last, "text": text[first:last]}
            yield _row(key, sentence=sentence_number, **location, tree=tree, constituents=constituents)
