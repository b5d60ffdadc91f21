"""Time and memory of loading: imports, `import spacy_dtparse` beyond spaCy, the pipeline, its first parse.

    python benchmarks/bench_load.py [--names NAME ...] [--repeats 5]

It measures each of the named embedded pipelines (default: the default one and en_span), including its parser.

Every repetition is a new Python process with compiled kernels in the cache (a run before the first one fills it); the
median is reported. RSS is the process's resident memory as reported by the operating system, in MB.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
from typing import Any

from common import ROOT, arguments, save

from spacy_dtparse.models import DEFAULT, SPAN_MODEL, embedded_pipeline

CHILD = """
import json, sys, time
def rss():
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) / 1000 for line in file if line.startswith("VmRSS"))
facts, t = {}, time.perf_counter()
def lap(name):
    global t
    now = time.perf_counter(); facts[name] = now - t; t = now
import spacy; lap("import_spacy")
spacy.blank("en"); lap("blank_with_plugins")
import spacy_dtparse; lap("import_spacy_dtparse_after_spacy")
facts["numba_loaded_by_import"] = "numba" in sys.modules
facts["rss_after_imports_mb"] = rss()
t = time.perf_counter()
import spacy_dtparse.dtparse; lap("import_kernels")
from spacy_dtparse.pipeline import component
t = time.perf_counter()
nlp = spacy_dtparse.load(sys.argv[1]); nlp.get_pipe(nlp.pipe_names[-1]).parser; lap("load")
facts["rss_after_load_mb"] = rss()
t = time.perf_counter()
nlp("The cat sat on the mat."); lap("first_parse")
nlp("She gave the old dog a bone yesterday."); lap("second_parse")
facts["rss_after_parse_mb"] = rss()
print(json.dumps(facts))
"""
IMPORT = """
import sys, time
import spacy
before = set(sys.modules); t = time.perf_counter()
import spacy_dtparse
print(time.perf_counter() - t, len(set(sys.modules) - before))
"""


def child(script: str, *extra: str) -> str:
    """Return the output of a new Python process."""
    done = subprocess.run([sys.executable, "-c", script, *extra], capture_output=True, text=True, check=True, cwd=ROOT)
    return done.stdout.strip().splitlines()[-1]


def main() -> None:
    """Measure, print, save."""
    parser = arguments(__doc__, corpus=False)
    parser.add_argument("--names", nargs="+", default=[DEFAULT, SPAN_MODEL], help="embedded pipelines")
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    save(options, "load", {name: measured(name, options.repeats) for name in options.names})


def measured(name: str, repeats: int) -> dict[str, Any]:
    """Print and return the medians of a pipeline."""
    child(CHILD, name)
    runs = [json.loads(child(CHILD, name)) for _ in range(repeats)]
    flag = "numba_loaded_by_import"
    facts: dict[str, Any] = {fact: statistics.median(run[fact] for run in runs) for fact in runs[0] if fact != flag}
    facts[flag] = any(run[flag] for run in runs)
    facts["bytes"] = sum(path.stat().st_size for path in embedded_pipeline(name).rglob("*") if path.is_file())
    # in addition to importing spaCy, before spaCy searches for plugins
    facts["import_spacy_dtparse"] = statistics.median(float(child(IMPORT).split()[0]) for _ in range(repeats))
    print(name)
    for fact, value in facts.items():
        print(f"  {fact}: {value:.3f}" if isinstance(value, float) else f"  {fact}: {value}")
    return facts


if __name__ == "__main__":
    main()
