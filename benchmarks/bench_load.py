"""Time and memory of loading: imports, `import spacy_dtparse` beyond spaCy, the pipeline, its first parse.

    python benchmarks/bench_load.py [--pipeline FOLDER] [--repeats 5]

Every repeat is a fresh Python process with compiled kernels in the cache (a run before the first one sees to
that); the median is reported. RSS is the process's resident memory as the kernel counts it, in MB.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
from typing import Any

from common import ROOT, arguments, save

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
import spacy_dtparse.parsers.dtree; lap("import_kernels")
from spacy_dtparse.pipeline import component
t = time.perf_counter()
nlp = spacy.load(sys.argv[1]); nlp.get_pipe(nlp.pipe_names[-1]).parser; lap("load")
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
    """Output of a fresh Python process."""
    done = subprocess.run(
        [sys.executable, "-c", script, *extra], capture_output=True, text=True, check=True, cwd=ROOT
    )
    return done.stdout.strip().splitlines()[-1]


def main() -> None:
    """Measure, print, save."""
    parser = arguments(__doc__, corpus=False)
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    child(CHILD, str(options.pipeline))
    runs = [json.loads(child(CHILD, str(options.pipeline))) for _ in range(options.repeats)]
    facts: dict[str, Any] = {
        name: statistics.median(run[name] for run in runs)
        for name in runs[0]
        if name != "numba_loaded_by_import"
    }
    facts["numba_loaded_by_import"] = any(run["numba_loaded_by_import"] for run in runs)
    # beside spaCy's own import, before spaCy looks for plugins
    facts["import_spacy_dtparse"] = statistics.median(
        float(child(IMPORT).split()[0]) for _ in range(options.repeats)
    )
    facts["bytes"] = sum(path.stat().st_size for path in options.pipeline.rglob("*") if path.is_file())
    for name, value in facts.items():
        print(f"{name}: {value:.3f}" if isinstance(value, float) else f"{name}: {value}")
    save(options, "load", facts)


if __name__ == "__main__":
    main()
