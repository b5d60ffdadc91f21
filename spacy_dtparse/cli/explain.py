"""List the evidence for and against each constituent of a text."""

import argparse
from typing import Any

from ..errors import DtparseError
from ..json_text import to_json
from ..text import check_text
from .language import LanguageWarning
from .pipelines import add_pipeline_arguments, get_component, load_chosen_pipeline, natural_number


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of `dtparse explain`."""
    parser.add_argument("text", metavar="TEXT", help="a text to parse")
    chosen = parser.add_mutually_exclusive_group()
    chosen.add_argument("--span", metavar="WORDS", help="only the constituents over these words, exactly as in TEXT")
    chosen.add_argument("--label", metavar="LABEL", help="only constituents with this label")
    parser.add_argument("--all", action="store_true", help="every fact and every rule instead of ten lines")
    parser.add_argument(
        "--rules",
        type=natural_number,
        default=0,
        metavar="N",
        help="the N strongest rules of each, in the model's terms",
    )
    parser.add_argument("--json", action="store_true", help="a JSON object per line and constituent")
    add_pipeline_arguments(parser)


def run(options: argparse.Namespace) -> None:
    """Parse and explain."""
    from ..pipeline.explain_constituent import explain, explanations

    if not options.text.strip():
        raise DtparseError("the text is empty; give a sentence in quotes")
    check_text(options.text)
    nlp = load_chosen_pipeline(options)
    doc, pipe = nlp(options.text), get_component(nlp)
    LanguageWarning(nlp).check(doc)
    if options.span is not None:
        span = _find_span(doc, options.span)
        explain(pipe, span)  # raises with the reason if it is no constituent
        selected = [one for one in explanations(pipe, doc) if (one.start, one.end) == (span.start, span.end)]
    else:
        selected = explanations(pipe, doc)
    if options.label is not None:
        labels = sorted({one.label for one in selected})
        selected = [one for one in selected if one.label == options.label]
        if not selected:
            raise DtparseError(
                f"no constituent has the label {options.label!r}; there are {', '.join(labels) or 'none'}"
            )
    if options.json:
        for one in selected:
            rules = len(one.rules) if options.all else options.rules
            print(to_json(one.to_dict(rules)))
        return
    print("\n\n".join(one.to_text(all=options.all, rules=options.rules) for one in selected))


def _find_span(doc: Any, words: str) -> Any:
    """The span of a Doc over these words; the first one if they occur several times."""
    at = doc.text.find(words.strip())
    if at < 0 or not words.strip():
        raise DtparseError(f"{words!r} is not in the text; give words exactly as in the text")
    span = doc.char_span(at, at + len(words.strip()))
    if span is None:
        span = doc.char_span(at, at + len(words.strip()), alignment_mode="expand")
        raise DtparseError(f"{words!r} begins or ends within a token; the tokens there are “{span.text}”")
    return span
