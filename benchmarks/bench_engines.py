"""Raw text to rows of trees on data engines: sentences per second by number of workers, CPU time, memory, start time.

    python benchmarks/bench_engines.py --text FILE … [--words 50000] [--workers 1 2] [--repeats 3] [--pipeline NAME]

Needs the extra `engines`, and Java for Spark. Paragraphs of all texts, interleaved, are put into 16 Parquet files. The
engines below are compared, each in separate processes, in alternation, `--repeats` times:

    pipe         nlp.pipe(n_process=WORKERS), which gives Docs
    processes    parse_table from file to file in a pool of processes, as in docs/engines.md; 1 worker: without a pool
    dask, ray, spark    the recipes of docs/engines.md

Every engine does the work twice: in the first job its workers load, the second job is measured. For each metric the
best repetition is reported: seconds of wall time from the start of the program to the start of the engine, of the first
and of the second job; CPU seconds of all its processes in the second job; and MB of memory after it, of a worker (peak
resident size; proportional set size) and of all other processes of the engine (proportional set size).
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from itertools import zip_longest
from pathlib import Path
from typing import Any

from bench_pipeline import paragraphs
from common import ROOT, save

FILES = 16
ENGINES = ("pipe", "processes", "dask", "ray", "spark")
MARK = "BENCH_ENGINES"
"""The environment variable that marks the processes of a run."""

Job = Callable[[Path], None]
"""Parses the texts of the folder, and writes rows to a folder."""


def work(table: Any, pipeline: str) -> Any:
    """Parse a table of texts in a worker."""
    from spacy_dtparse import parse_table

    (Path(os.environ[MARK]) / str(os.getpid())).touch()
    return parse_table(table, pipeline)


def work_on_file(source: Path, out: Path, pipeline: str) -> None:
    from pyarrow import parquet

    parquet.write_table(work(parquet.read_table(source), pipeline), out / source.name, compression="zstd")


@contextmanager
def pipe(texts: Path, workers: int, pipeline: str) -> Iterator[Job]:
    from pyarrow import parquet

    from spacy_dtparse.pipeline.embedded import load_named

    nlp = load_named(pipeline)

    def job(out: Path) -> None:
        table = parquet.read_table(texts)
        for _ in nlp.pipe(table["text"].to_pylist(), n_process=workers):
            pass

    yield job


@contextmanager
def processes(texts: Path, workers: int, pipeline: str) -> Iterator[Job]:
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    files = sorted(texts.iterdir())
    if workers == 1:
        yield lambda out: [work_on_file(file, out, pipeline) for file in files].clear()
        return
    with ProcessPoolExecutor(workers, get_context("spawn")) as pool:
        yield lambda out: [*pool.map(work_on_file, files, [out] * FILES, [pipeline] * FILES)].clear()


@contextmanager
def dask(texts: Path, workers: int, pipeline: str) -> Iterator[Job]:
    import dask.dataframe as frames
    import pandas
    import pyarrow
    from distributed import Client, LocalCluster

    from spacy_dtparse import row_schema

    schema = row_schema()
    empty = schema.empty_table().to_pandas(types_mapper=pandas.ArrowDtype)

    def parse(part: Any) -> Any:
        rows = work(pyarrow.Table.from_pandas(part, preserve_index=False), pipeline)
        return rows.to_pandas(types_mapper=pandas.ArrowDtype)

    with LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster):
        yield (
            lambda out: (
                frames.read_parquet(texts)
                .map_partitions(parse, meta=empty)
                .to_parquet(out, schema=schema, write_index=False, compression="zstd")
            )
        )


@contextmanager
def ray(texts: Path, workers: int, pipeline: str) -> Iterator[Job]:
    import ray as engine

    engine.init(num_cpus=workers, include_dashboard=False, log_to_driver=False, configure_logging=False)
    context = engine.data.DataContext.get_current()
    context.enable_progress_bars = False
    try:
        yield (
            lambda out: (
                engine.data.read_parquet(str(texts))
                .repartition(FILES)
                .map_batches(work, fn_kwargs={"pipeline": pipeline}, batch_format="pyarrow", batch_size=1000)
                .write_parquet(str(out))
            )
        )
    finally:
        engine.shutdown()


@contextmanager
def spark(texts: Path, workers: int, pipeline: str) -> Iterator[Job]:
    from pyspark.sql import SparkSession

    rows = (
        "id long, sentence int, start_char int, end_char int, text string, tree string, "
        "constituents array<struct<label: string, start_char: int, end_char: int>>, error string"
    )

    def parse(batches: Any) -> Any:
        for batch in batches:
            yield from work(batch, pipeline).to_batches()

    builder = SparkSession.builder.master(f"local[{workers}]").config("spark.ui.enabled", "false")
    session = builder.config("spark.sql.execution.arrow.maxRecordsPerBatch", "1000").getOrCreate()
    try:
        yield (
            lambda out: (
                session.read.parquet(str(texts))
                .repartition(FILES)
                .mapInArrow(parse, rows)
                .write.mode("overwrite")
                .option("compression", "zstd")
                .parquet(str(out))
            )
        )
    finally:
        session.stop()


def run_of(engine: str, folder: Path, workers: int, pipeline: str) -> dict[str, float]:
    """Measure one engine, in this process and its children."""
    marks = Path(os.environ[MARK])
    began = float(os.environ["BENCH_BEGAN"])
    with globals()[engine](folder / "texts", workers, pipeline) as job:
        facts = {"start": time.time() - began}
        for name in ("first", "second"):
            out = folder / name
            out.mkdir()
            spent, clock = sum(cpu_seconds().values()), time.time()
            job(out)
            facts[name] = time.time() - clock
            facts["cpu"] = sum(cpu_seconds().values()) - spent
        own = {int(path.name) for path in marks.iterdir() if Path("/proc", path.name).exists()} - {os.getpid()}
        own = own or {os.getpid()}
        facts |= {"processes": len(own)}
        facts["worker_rss"] = max(memory(pid, "status", "VmHWM") for pid in own)
        facts["worker_pss"] = max(memory(pid, "smaps_rollup", "Pss") for pid in own)
        facts["rest_pss"] = sum(memory(pid, "smaps_rollup", "Pss") for pid in {*cpu_seconds()} - own)
        facts["disk"] = sum(path.stat().st_size for path in (folder / "second").rglob("*.parquet"))
    return facts


def cpu_seconds() -> dict[int, float]:
    """Return the CPU seconds so far of each process of this run, including its finished children."""
    mark, found = f"{MARK}={os.environ[MARK]}".encode(), {}
    for path in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if mark in (path / "environ").read_bytes().split(b"\0"):
                fields = (path / "stat").read_text().rpartition(")")[2].split()
                found[int(path.name)] = sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")
    return found


def memory(pid: int, file: str, name: str) -> float:
    """Return the value of a line of a file of /proc, in MB; 0 for a finished process."""
    with suppress(OSError):
        for line in Path("/proc", str(pid), file).read_text().splitlines():
            if line.startswith(f"{name}:"):
                return int(line.split()[1]) / 1000
    return 0.0


def write_texts(files: list[Path], words: int, folder: Path) -> None:
    """Write the interleaved paragraphs of the files to Parquet files."""
    import pyarrow as arrow
    from pyarrow import parquet

    turns = zip_longest(*(paragraphs(file, words) for file in files))
    texts = [text for turn in turns for text in turn if text is not None]
    folder.mkdir()
    for part in range(FILES):
        table = arrow.table({"id": range(part, len(texts), FILES), "text": texts[part::FILES]})
        parquet.write_table(table, folder / f"{part:02}.parquet")


def started(engine: str, workers: int, texts: Path, pipeline: str) -> dict[str, float]:
    """Measure an engine in a separate process."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "texts").symlink_to(texts)
        (folder / "marks").mkdir()
        environment = {
            **os.environ,
            MARK: str(folder / "marks"),
            "BENCH_BEGAN": str(time.time()),
            "SPACY_DTPARSE_WAIT": "1",
            "PYSPARK_PYTHON": sys.executable,
            "SPARK_LOCAL_IP": "127.0.0.1",
            "RAY_USAGE_STATS_ENABLED": "0",
            "PYTHONPATH": os.pathsep.join([str(ROOT / "benchmarks"), str(ROOT)]),
        }
        command = [sys.executable, __file__, "--one", engine, str(workers), pipeline, "--text", str(folder)]
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"{engine}: {done.stderr[-3000:]}")
        return json.loads(done.stdout.splitlines()[-1])


def sizes(texts: Path, pipeline: str) -> dict[str, int]:
    """Count texts, sentences and tokens, and the bytes of the texts."""
    from pyarrow import parquet

    from spacy_dtparse import parse_docs

    table = parquet.read_table(texts)
    pairs = zip(table["id"].to_pylist(), table["text"].to_pylist(), strict=True)
    docs = [doc for _, doc, _ in parse_docs(pairs, pipeline)]
    sentences = sum(any(not token.is_space for token in sentence) for doc in docs for sentence in doc.sents)
    stored = sum(len(text.encode()) for text in table["text"].to_pylist())
    return {"texts": len(docs), "sentences": sentences, "tokens": sum(map(len, docs)), "bytes": stored}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--text", type=Path, nargs="+", required=True, help="UTF-8, a paragraph per line")
    parser.add_argument("--words", type=int, default=50_000, help="words of each text (default: 50000)")
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2], help="numbers of workers (default: 1 2)")
    parser.add_argument("--repeats", type=int, default=3, help="default: 3")
    parser.add_argument("--pipeline", default="en_dtparse", help="name, folder or package (default: en_dtparse)")
    parser.add_argument("--engines", nargs="+", choices=ENGINES, default=ENGINES)
    parser.add_argument("--out", type=Path, help="JSON file (default: build/bench/engines.json)")
    parser.add_argument("--one", nargs=3, help=argparse.SUPPRESS)  # ENGINE WORKERS PIPELINE, --text FOLDER
    options = parser.parse_args()
    if options.one:
        engine, workers, pipeline = options.one
        print(json.dumps(run_of(engine, options.text[0], int(workers), pipeline)))
        return
    with ExitStack() as stack:
        texts = Path(stack.enter_context(tempfile.TemporaryDirectory())) / "texts"
        write_texts(options.text, options.words, texts)
        size = sizes(texts, options.pipeline)
        print(size, flush=True)
        best: dict[str, dict[str, float]] = {}
        for _ in range(options.repeats):
            for engine in options.engines:
                for workers in options.workers:
                    facts = started(engine, workers, texts, options.pipeline)
                    known = best.setdefault(f"{engine} {workers}", facts)
                    known |= {name: min(value, known[name]) for name, value in facts.items()}
                    print(engine, workers, {name: round(value, 1) for name, value in facts.items()}, flush=True)
    for name, facts in best.items():
        facts["sentences_per_second"] = size["sentences"] / facts["second"]
        facts["tokens_per_second"] = size["tokens"] / facts["second"]
        facts["tokens_per_cpu_second"] = size["tokens"] / facts["cpu"]
        print(name, {fact: round(value, 1) for fact, value in facts.items()}, flush=True)
    save(options, "engines", {"size": size, "engines": best})


if __name__ == "__main__":
    main()
