"""Compile the kernels of pipelines into the cache, so that no later process has to: for an image, on a new machine."""

import argparse
import time
from typing import Any

from ..errors import DtparseError
from ..models import DEFAULT, PARSERS

_SENTENCES = (
    "The cat that the dog had chased sat on the mat, and Mr. Brown said: \"It's 5 o'clock.\"",
    "The parties agree as follows, and " * 40 + "the contract ends.",
)
"""A short sentence, and one that is too long for a chart."""
_TREES = 20
"""Length of a list of the best trees."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of `dtparse warmup`."""
    parser.add_argument(
        "pipelines",
        metavar="PIPELINE",
        nargs="*",
        help="spaCy pipelines by folder or package name, or embedded parsers by name: "
        f"{', '.join(PARSERS)} (default: {DEFAULT})",
    )


def run(options: argparse.Namespace) -> None:
    """Compile, and print the time and the kernels' folder."""
    from ..jit.cache_state import cache_folder, is_jit_disabled
    from ..jit.warmup import NEEDS, start_compiling, wait_until_compiled
    from .pipelines import load_language

    if is_jit_disabled():
        raise DtparseError("NUMBA_DISABLE_JIT is set, so nothing is compiled; run this without it")
    if cache_folder() is None:
        raise DtparseError(
            "no folder for compiled kernels is writable; set the variable NUMBA_CACHE_DIR to a writable one, here "
            "and where the pipelines are used"
        )
    start_time = time.perf_counter()
    start_compiling(*NEEDS)
    wait_until_compiled()
    for name in options.pipelines or [DEFAULT]:
        nlp = load_language(name)
        for text in _SENTENCES:
            doc = nlp.make_doc(text)
            for token in doc:
                token.is_sent_start = token.i == 0
            _use_all(nlp, nlp(doc))
        print(f"{name}: compiled, {time.perf_counter() - start_time:.1f} s after the start")
    print(f"in {cache_folder()}")


def _use_all(nlp: Any, doc: Any) -> None:
    """Use every function of the constituent parsers on a Doc of one sentence, so that all kernels are compiled."""
    from ..core.constraints import Constraint, Constraints
    from ..core.parser import Capability
    from ..pipeline.constituent_pipe import constituent_parsers
    from ..pipeline.explain_constituent import explanations
    from ..pipeline.k_best import best_trees

    for pipe in constituent_parsers(nlp):
        parser, (sentence,) = pipe.configured_parser, pipe.read_doc(doc).sentences
        words, tags = sentence.words, sentence.tags
        if Capability.K_BEST in parser.capabilities:
            list(best_trees(pipe, doc, _TREES))
        if Capability.CONSTRAINTS in parser.capabilities:
            for constraint in (Constraint(1, 3, "", True), Constraint(0, 2, "NP", False)):
                parser.parse_constrained(words, tags, Constraints([constraint]))
        if Capability.POSTERIORS in parser.capabilities:
            parser.parse_with_posteriors([(words, tags)])
            parser.span_posteriors(words, tags)
        explanations(pipe, doc)
