"""Lists of the best trees, constrained parses, explanations and probabilities of long sentences."""

from __future__ import annotations

import gc
import time
from contextlib import suppress
from typing import Any

from spacy.tokens import Doc

from spacy_dtparse import constituents, k_best, probability
from spacy_dtparse.core.constraints import Constraint, Constraints
from spacy_dtparse.core.kbest import DEADLINE, NO_MORE, PIECES
from spacy_dtparse.core.time_limit import TimeLimit
from spacy_dtparse.errors import ConfigError, DtparseError
from spacy_dtparse.pipeline.constituent_pipe import constituent_parsers
from spacy_dtparse.pipeline.explain_constituent import explanations

from ..cases import case, english, refused

DEFAULT, SPAN, PCFG = english("en_dtparse"), english("en_span"), english("en_pcfgla")
CERTAIN = english("en_dtparse", deadline=0.1, probabilities=True)
TIMED = english("en_dtparse", deadline=0.1)
WORDS = (
    "the old man saw a dog in the park with a telescope , and she said that he would come to the house when it "
    "rained , but nobody had told them about the party that John gave for his friends ,"
).split()
SLACK = 3.0
"""How many deadlines a parse may take: other programs use the cores while this runs."""


class CpuLimit(TimeLimit):
    """A limit of CPU seconds of this process."""

    @staticmethod
    def clock() -> float:
        """Return the CPU seconds of this process."""
        return time.process_time()


def sentence(nlp: Any, n: int) -> Doc:
    """A parsed Doc of one sentence of n tokens."""
    words = (WORDS * (n // len(WORDS) + 1))[: n - 1]
    doc = Doc(nlp.vocab, words=[*words, "."], sent_starts=[True] + [False] * (n - 1))
    for name, pipe in nlp.pipeline:
        doc = doc if name in ("senter", "sentencizer") else pipe(doc)
    return doc


for one in (DEFAULT, SPAN, PCFG, TIMED, CERTAIN):  # load kernels, and measure the speed for deadlines
    k_best(one, sentence(one, 8), 2)
for one in (DEFAULT, TIMED):  # kernels of constrained lists: no case measures their loading or compilation
    (pipe,) = constituent_parsers(one)
    (words,) = pipe.read_doc(sentence(one, 40)).sentences
    pipe.parser.parse_k_best_constrained(words.words, words.tags, Constraints([Constraint(1, 4)]), 20)
with suppress(DtparseError):  # on a busy machine a deadline may be too short for any sentence
    explanations(TIMED, sentence(TIMED, 8))  # build the tables of reasons
explanations(DEFAULT, sentence(DEFAULT, 8))
gc.collect()
gc.freeze()  # else Python's collector scans the objects of five pipelines in some case, for 0.4 s


@case(seconds=1, megabytes=50, each=[0, -1, 1001, 2.5, "3", None, float("nan")])
def k_out_of_range(k: object) -> None:
    refused(ConfigError, lambda: k_best(DEFAULT, "Dogs bark.", k))  # type: ignore[arg-type]


@case(seconds=30, megabytes=150, each=[(n, k) for n in (40, 500, 2500) for k in (2, 20, 60)])
def list_of_default(size: tuple[int, int]) -> None:
    _check_list(DEFAULT, *size)


@case(seconds=30, megabytes=150, each=[(n, k) for n in (40, 500, 2500) for k in (2, 20, 60)])
def list_of_span(size: tuple[int, int]) -> None:
    _check_list(SPAN, *size)


@case(seconds=30, megabytes=150, each=[(40, 20), (40, 500), (500, 20)])
def list_of_grammar(size: tuple[int, int]) -> None:
    _check_list(PCFG, *size)


@case(seconds=120, megabytes=600, each=[(40, 500), (500, 500)])
def long_list(size: tuple[int, int]) -> None:
    """Time and memory grow with the square of the length: 0.7 s for 40 tokens, 12 for 500, 33 for 1,000."""
    _check_list(DEFAULT, *size)


def _check_list(nlp: Any, n: int, k: int) -> None:
    found = k_best(nlp, sentence(nlp, n), k)
    assert len(found) == k or found.reason in (NO_MORE, PIECES), f"{len(found)} trees: {found.reason!r}"
    assert not (len(found) == k and found.reason)
    assert len({one.brackets for one in found}) == len(found)


@case(seconds=2, megabytes=100, each=[(n, k) for n in (40, 500, 2500) for k in (20, 500)])
def list_with_deadline(size: tuple[int, int]) -> None:
    n, k = size
    doc = sentence(TIMED, n)
    began = time.process_time()
    found = k_best(TIMED, doc, k)
    assert len(found) == k or found.reason in (DEADLINE, NO_MORE), found.reason
    _check_seconds(began)


@case(seconds=15, megabytes=300, each=[(n, k, list_) for n in (500, 2500) for k in (20, 500) for list_ in (0, 1)])
def list_with_limit(what: tuple[int, int, int]) -> None:
    """Long sentences that are parsed as a whole: a limit of 3 seconds ends the list, also under constraints."""
    n, k, constrained = what
    (pipe,) = constituent_parsers(DEFAULT)
    (one,) = pipe.read_doc(sentence(DEFAULT, n)).sentences
    parse, began = pipe.parser.parse_k_best_constrained, time.process_time()
    if constrained:
        found = parse(one.words, one.tags, _required(n), k, CpuLimit(3.0))
        assert not any(_required(n).violations(each.tree) for each in found)
    else:
        found = pipe.parser.parse_k_best(one.words, one.tags, k, CpuLimit(3.0))
    assert len(found) == k or found.reason in (DEADLINE, NO_MORE), found.reason
    assert time.process_time() - began < SLACK * 3.0


@case(seconds=2, megabytes=100, each=[(n, k) for n in (40, 500, 2500) for k in (20, 500)])
def constrained_list_with_deadline(size: tuple[int, int]) -> None:
    n, k = size
    doc, (pipe,) = sentence(TIMED, n), constituent_parsers(TIMED)
    (words,) = pipe.read_doc(doc).sentences
    began = time.process_time()
    found = pipe.timed_parser.parse_k_best_constrained(words.words, words.tags, _required(n), k)
    assert len(found) == k or found.reason in (DEADLINE, NO_MORE), found.reason
    assert not any(_required(n).violations(one.tree) for one in found)
    _check_seconds(began)


@case(seconds=4, megabytes=200, each=[20, 40, 80])
def explanation_with_limit(n: int) -> None:
    """A limit of 0.1 s ends the reasons after some constituents; the others say so."""
    (pipe,) = constituent_parsers(DEFAULT)
    (one,) = pipe.read_doc(sentence(DEFAULT, n)).sentences
    began = time.process_time()
    decisions = pipe.parser.explain(one.words, one.tags, (), CpuLimit(0.1))
    found = [decisions.decision(k) for k in range(len(decisions.result.tree.labels))]
    assert all(each.reasons is not None or each.text.startswith(("No rule", "The deadline")) for each in found)
    assert time.process_time() - began < SLACK * 0.1


def _required(n: int) -> Constraints:
    return Constraints([Constraint(1, 4, "", True), Constraint(n - 9, n - 5, "NP", True)])


@case(seconds=2, megabytes=100, each=[40, 500, 2500])
def constraints_with_deadline(n: int) -> None:
    doc, (pipe,) = sentence(TIMED, n), constituent_parsers(TIMED)
    (words,) = pipe.read_doc(doc).sentences
    required = _required(n)
    began = time.process_time()
    found = pipe.timed_parser.parse_constrained(words.words, words.tags, required)
    assert not required.violations(found.tree)
    _check_seconds(began)


@case(seconds=4, megabytes=200, each=[20, 40, 80, 500, 2500])
def explanation_with_deadline(n: int) -> None:
    """Explain all constituents; those for which there is no time have no reasons."""
    doc = sentence(TIMED, n)
    began = time.process_time()
    try:
        found = explanations(TIMED, doc)
    except DtparseError as error:
        assert "could take longer than the deadline" in str(error)
    else:
        assert len(found) == len(constituents(doc))
        assert all(one.reasons or one.decided for one in found)
    _check_seconds(began)


def _check_seconds(began: float) -> None:
    seconds, (pipe,) = time.process_time() - began, constituent_parsers(TIMED)
    assert seconds < SLACK * pipe.deadline, f"{seconds:.2f} s of CPU; the deadline is {pipe.deadline} s"


@case(seconds=4, megabytes=200, each=[40, 500, 2500])
def probabilities_with_deadline(n: int) -> None:
    began = time.process_time()
    doc = sentence(CERTAIN, n)
    assert time.process_time() - began < SLACK * 0.1 + 0.2  # the tagger takes time, too
    assert all(0 <= (probability(one) or 0) <= 1 for one in constituents(doc))
