"""The state of the cache of kernels, and the command that fills it."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from pathlib import Path

import pytest

import spacy_dtparse
from spacy_dtparse.cli import main
from spacy_dtparse.core.constraints import Constraint, Constraints
from spacy_dtparse.jit.decorator import Kernel
from spacy_dtparse.models import PARSERS
from spacy_dtparse.pipeline.constituent_pipe import constituent_parsers

ROOT = Path(__file__).parents[2]
PROGRAM = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from spacy_dtparse.jit.cache_state import are_kernels_compiled
before = are_kernels_compiled()
if sys.argv[2] == "compile":
    import numpy as np
    from spacy_dtparse.dtparse.model.model import hash_table
    hash_table(np.array([5, 9], dtype=np.uint64), np.array([0, 1], dtype=np.int32))
    from spacy_dtparse.dtparse.kernels.atoms import insert_keys
    statistics = insert_keys.compiled.stats
    print("hits", sum(statistics.cache_hits.values()), "misses", sum(statistics.cache_misses.values()))
print(before, are_kernels_compiled())
for other in (b"another digest", b"", b"\\xff\\xfe") if sys.argv[2] == "damage" else ():
    (stamp,) = Path(sys.argv[3]).glob("*.stamp")
    stamp.write_bytes(other)
    print(are_kernels_compiled())
"""


def run(cache, action, *flags, **environment):
    kept = {name: value for name, value in os.environ.items() if not name.startswith("NUMBA")}
    done = subprocess.run(
        [sys.executable, *flags, "-c", PROGRAM, str(ROOT), action, str(cache)],
        env={**kept, "NUMBA_CACHE_DIR": str(cache), **environment},
        capture_output=True,
        text=True,
        timeout=300,
        check=True,
    )
    return done.stdout.split()


@pytest.mark.slow
def test_an_empty_cache_a_filled_one_and_no_compilation_at_all(tmp_path):
    assert run(tmp_path, "compile") == ["hits", "0", "misses", "1", "False", "True"]
    for flags in ((), ("-O",), ("-OO",)):
        assert run(tmp_path, "compile", *flags) == ["hits", "1", "misses", "0", "True", "True"], (
            f"compiled again by python {flags}"
        )
    assert run(tmp_path, "look") == ["True", "True"]
    assert run(tmp_path / "other", "look", NUMBA_DISABLE_JIT="1") == ["True", "True"]
    (stamp,) = tmp_path.glob("*.stamp")
    digest = stamp.read_bytes()
    assert run(tmp_path, "damage") == ["True", "True", "False", "False", "False"]
    stamp.write_bytes(digest)
    assert run(tmp_path, "look") == ["True", "True"]
    assert run(tmp_path, "look", NUMBA_BOUNDSCHECK="1") == ["False", "False"], "other code is compiled for it"
    for index in tmp_path.glob("*.nbi"):
        index.unlink()
    assert run(tmp_path, "look") == ["False", "False"]


def compiled_signatures() -> dict[str, list]:
    """The signatures for which each kernel of this process has code."""
    gc.unfreeze()  # a command that ran in this process before may have frozen all objects, which hides them
    kernels = [one for one in gc.get_objects() if type(one) is Kernel and vars(one).get("compiled") is not None]
    return {f"{one.__module__}.{one.__qualname__}": list(one.compiled.signatures) for one in kernels}


@pytest.mark.slow
@pytest.mark.embedded
@pytest.mark.parametrize("name", ["en_dtparse", "en_span", "en_pcfgla"])
def test_after_a_warmup_nothing_is_compiled(name: str, capsys) -> None:
    assert main(["warmup", name]) == 0 and f"{name}: compiled" in capsys.readouterr().out
    before = compiled_signatures()
    assert len(before) > 3
    nlp = spacy_dtparse.load(name, config={f"components.{PARSERS[name]}.probabilities": True})
    (pipe,) = constituent_parsers(nlp)
    for text in ("I saw the man with the telescope.", "We hope that it rains, " * 36 + "and it does."):
        doc = nlp.make_doc(text)
        for token in doc:
            token.is_sent_start = token.i == 0
        doc = nlp(doc)
        (sentence,) = pipe.read_doc(doc).sentences
        assert len(spacy_dtparse.k_best(nlp, doc, 5)) >= 1
        required = Constraints([Constraint(2, 4)])
        assert not required.violations(
            pipe.configured_parser.parse_constrained(sentence.words, sentence.tags, required).tree
        )
        assert len(spacy_dtparse.explanations(nlp, doc)) == len(doc._.constituents)
    after = compiled_signatures()
    new = {kernel: signatures for kernel, signatures in after.items() if signatures != before.get(kernel)}
    assert not new
