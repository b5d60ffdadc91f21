"""Parse texts from the command line, files or standard input."""

from __future__ import annotations

import argparse
import sys
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from itertools import chain, count
from typing import TYPE_CHECKING, Any

from ..errors import DtparseError
from ..json_text import to_json
from ..stored_names import to_stored
from ..text import check_text
from .bad_input import StopAtError, add_errors_argument, report_skipped, skip_errors
from .language import LanguageWarning
from .lines import InputLine, Origin, TextItem, input_size, is_piped, paragraphs, read_lines, split_leading_blanks
from .pipelines import (
    add_pipeline_arguments,
    get_component,
    load_chosen_pipeline,
    positive_number,
    sentence_pipes,
    set_option,
)
from .progress import Progress, stop_workers_on_error
from .streams import batches, flush_if_live

if TYPE_CHECKING:
    from spacy.language import Language
    from spacy.tokens import Doc, Span

    from ..pipeline.constituent_pipe import ConstituentPipe

FORMATS = ("brackets", "pretty", "json", "conllu")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of `dtparse parse`."""
    parser.add_argument("files", nargs="*", metavar="FILE", help="text files; without any, or with -, standard input")
    parser.add_argument("--text", action="append", metavar="TEXT", help="a text to parse (may be repeated)")
    parser.add_argument(
        "--format",
        choices=FORMATS,
        default="brackets",
        help="brackets: one tree per line (default); pretty: indented; json: one object per sentence and line; conllu: "
        "CoNLL-U with heads",
    )
    kind = parser.add_mutually_exclusive_group()
    kind.add_argument("--paragraphs", action="store_true", help="a blank line ends a text, not every line end")
    kind.add_argument("--pretokenized", action="store_true", help="each line is a sentence of tokens between spaces")
    kind.add_argument("--tagged", action="store_true", help="each line is a sentence of token_TAG pairs between spaces")
    parser.add_argument(
        "--k-best",
        type=positive_number,
        metavar="K",
        help="the K best trees of each sentence, with rank, margin (how much worse than the first) and probability",
    )
    parser.add_argument(
        "--probabilities", action="store_true", help="with --format json: the probability that each is right"
    )
    parser.add_argument("--encoding", default="utf-8", help="of the input files (default: utf-8)")
    add_errors_argument(parser, "line")
    parser.add_argument("--n-process", type=positive_number, default=1, metavar="N", help="processes (default: 1)")
    parser.add_argument("--batch-size", type=positive_number, default=64, metavar="N", help="texts per batch")
    add_pipeline_arguments(parser)


def run(options: argparse.Namespace) -> int:
    """Print the trees."""
    if options.text and options.files:
        raise DtparseError("give --text or files, not both")
    if options.probabilities and options.format != "json":
        raise DtparseError(f"--probabilities: the format {options.format!r} cannot contain them; add --format json")
    skipped: list[DtparseError] = []
    files = [] if options.text else options.files or ["-"]
    given = (InputLine("--text", number, text) for number, text in enumerate(options.text or (), 1))
    lines = given if options.text else read_lines(files, options.encoding, options.errors, skipped)
    first, rest = split_leading_blanks(lines)  # report missing files and empty input before loading
    nlp = load_chosen_pipeline(options)
    if options.probabilities:
        set_option(get_component(nlp), "probabilities", True)
    reading, parsing = StopAtError(), StopAtError()
    texts = _texts(reading.before_error(chain(first, rest)), options)
    size, piped = input_size(files), is_piped(files)
    progress = Progress(None, bool(files) and (size > 0 or not sys.stdin.isatty()), size)
    pipe, ids, language = get_component(nlp), count(1), LanguageWarning(nlp)
    one_by_one = piped and options.n_process == 1  # several processes start once, and receive all texts
    for batch in batches(texts, options.batch_size, True) if one_by_one else [texts]:
        for doc, item in _parse(nlp, batch, options, parsing, skipped):
            language.check(doc, f"{item.origin.document}:{item.origin.line}" if files else "the text")
            for output in format_doc(doc, options.format, pipe, item.origin, ids, options.k_best):
                sys.stdout.write(output + "\n")
            if len(doc) == 0 and options.format != "conllu":
                sys.stdout.write("\n")  # keep a blank line of pretokenized input
            progress.step(len(doc), item.stop)
            flush_if_live(piped and not one_by_one)
        flush_if_live(piped)
        if parsing.error is not None:
            break
    language.end()
    progress.end()
    parsing.check()
    reading.check()
    return report_skipped(skipped, "malformed line")


def _texts(lines: Iterable[InputLine], options: argparse.Namespace) -> Iterator[TextItem]:
    """Yield the texts to parse: each line, also a blank one if it consists of tokens, or each paragraph."""
    if options.paragraphs:
        yield from paragraphs(lines)
        return
    for line in lines:
        if options.tagged or options.pretokenized or line.text.strip():
            yield TextItem(Origin(line.document, line.number), line.text, line.stop)


def _parse(
    nlp: Language, items: Iterable[TextItem], options: argparse.Namespace, stop: StopAtError,
    skipped: list[DtparseError],
) -> Iterator[tuple[Doc, TextItem]]:  # fmt: skip
    """Yield the Docs of texts, in order. A text that cannot be parsed is skipped, or ends them: see --errors."""
    tokens = options.tagged or options.pretokenized
    enabled = sentence_pipes(nlp, only_parser=options.tagged) if tokens else nlp.pipe_names
    sent: deque[TextItem] = deque()  # those that the pipeline has received

    def check(item: TextItem) -> tuple[TextItem, Any]:
        location = f"{item.origin.document}:{item.origin.line}"
        if tokens:
            return item, doc_of_tokens(nlp, item.text, options.tagged, location)
        check_text(item.text, location)
        return item, item.text

    def inputs() -> Iterator[Any]:
        for item, value in stop.before_error(skip_errors(items, check, options.errors, skipped)):
            sent.append(item)
            yield value

    with nlp.select_pipes(enable=enabled):
        docs = nlp.pipe(inputs(), n_process=options.n_process, batch_size=options.batch_size)
        with closing(docs), stop_workers_on_error():  # type: ignore[type-var]
            for doc in docs:
                yield doc, sent.popleft()


def doc_of_tokens(nlp: Language, line: str, tagged: bool, location: str) -> Doc:
    """Build a Doc of one sentence from a line of tokens; a blank line becomes an empty Doc.

    Raises DtparseError with `location` for a token without a tag if `tagged`.
    """
    from spacy.tokens import Doc

    words, tags = split_line(line, tagged, location)
    starts: list[bool | int | None] = [k == 0 for k in range(len(words))]
    return Doc(nlp.vocab, words=words, tags=tags, sent_starts=starts)


def split_line(line: str, tagged: bool, location: str) -> tuple[list[str], list[str] | None]:
    """Tokens, and tags if `tagged`: `The_DT cat_NN`. Escaped brackets (-LRB-) become brackets."""
    from ..text import raw_word

    items = line.split()
    if not tagged:
        return [raw_word(item) for item in items], None
    words, tags = [], []
    for item in items:
        word, _, tag = item.rpartition("_")
        if not word or not tag:
            raise DtparseError(f"{location}: {item!r} is not a token_TAG pair; write cat_NN, or use --pretokenized")
        words.append(raw_word(word))
        tags.append(tag)
    return words, tags


def format_doc(
    doc: Doc, form: str, pipe: ConstituentPipe, origin: Origin, ids: Iterator[int], k: int | None = None
) -> Iterator[str]:
    """Yield one string per sentence that has a word, in one of FORMATS; with `k` one for each of its k best trees.
    `origin`, `ids`: for JSON and CoNLL-U."""
    from ..core.kbest import NO_MORE
    from ..pipeline.constituent_pipe import ParserInput
    from ..pipeline.k_best import best_trees
    from ..pipeline.sentences import visible_tokens

    if k is None:
        visible = ((start, end) for start, end, words in visible_tokens(doc) if words)
        for number, (start, end) in enumerate(visible, 1):
            yield format_sentence(doc[start:end], form, pipe.spans_key, origin, number, ids)
        return
    for number, (sentence_input, ranked) in enumerate(best_trees(pipe, doc, k), 1):
        if ranked.reason not in ("", NO_MORE):
            print(f"dtparse: sentence {number}: {len(ranked)} of {k} trees: {ranked.reason}", file=sys.stderr)
        for one in ranked:
            pipe.set_annotations(doc, ParserInput([sentence_input], {}), [one.result])
            rank_fields = {"rank": one.rank, "margin": one.margin, "probability": one.probability}
            yield format_sentence(
                doc[sentence_input.start : sentence_input.end], form, pipe.spans_key, origin, number, ids, rank_fields
            )


def format_sentence(
    sentence: Span, form: str, key: str, origin: Origin, number: int, ids: Iterator[int],
    rank_fields: Mapping[str, Any] | None = None,
) -> str:  # fmt: skip
    """Format a sentence's tree in one of FORMATS.

    `number`: of the sentence in its text, from 1; `rank_fields`: for a tree in a list of best trees, its rank, margin
    and probability, written before it.
    """
    from ..pipeline.attributes import to_tree
    from ..pipeline.conversions import sentence_record, to_conllu
    from ..trees.bracket_writer import write_tree, write_tree_pretty

    rank_fields = rank_fields or {}
    if form == "json":
        header = {**to_stored(origin), "sentence": number, **rank_fields}
        return to_json({**header, **sentence_record(sentence, key)})
    shown = {name: f"{value:.4f}" if isinstance(value, float) else value for name, value in rank_fields.items()}
    shown = {name: "-" if value is None else value for name, value in shown.items()}
    comments = "".join(f"# {name} = {value}\n" for name, value in shown.items())
    if form == "conllu":
        header_lines = f"# document = {' '.join(origin.document.split())}\n# line = {origin.line}\n{comments}"
        return header_lines + to_conllu(sentence, key, next(ids))[:-1]
    tree = to_tree(sentence, key)
    if form == "pretty":
        return comments + write_tree_pretty(tree, width=80)
    return "".join(f"{value}\t" for value in shown.values()) + write_tree(tree)
