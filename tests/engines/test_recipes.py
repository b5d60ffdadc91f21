"""The unchanged recipes of docs/engines.md, each run in separate processes, one of which is killed while it works.

The tests need the extra `engines`; Spark also needs Java. `.ci/run` runs them in a separate environment.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest
from spacy.tokens import DocBin
from spacy.vocab import Vocab

from spacy_dtparse import parse_docs, parse_rows
from spacy_dtparse.trees import read_trees

from ..documents import ROOT, blocks

pytestmark = pytest.mark.slow
PAGE = "docs/engines.md"
RECIPES = {block.text.split(":")[0].removeprefix("# "): block.text for block in blocks(PAGE, "python")}
PARTS = 8
JAVA = 17
"""The oldest Java that Spark 4 runs on."""
MINUTES = 4
"""The time that a job may take on a busy machine."""


def java_version() -> int:
    """Return the major version of the installed Java, 0 if there is none."""
    if shutil.which("java") is None:
        return 0
    said = subprocess.run(["java", "-version"], capture_output=True, text=True).stderr
    found = re.search(r'version "(?:1\.)?(\d+)', said)
    return int(found[1]) if found else 0


def parent(process: int) -> int:
    """Return the id of the parent of a process."""
    return int(re.search(r"^PPid:\s*(\d+)", Path(f"/proc/{process}/status").read_text(), re.MULTILINE)[1])


@pytest.fixture(scope="module")
def texts():
    """Pairs of everyday sentences; four of the texts are None, empty, or too long (two). Such a text ends a batch, and
    each is the last of a part. So a process in its second batch has finished a part, and a process that is given all
    parts at once, in any order, has a second batch."""
    trees = read_trees(ROOT / "assets" / "everyday" / "dev.mrg")
    words = [" ".join(tree.words) for tree in trees]
    found = [" ".join(words[k : k + 2]) for k in range(0, len(words), 2)]
    found[5], found[77], found[-2], found[-1] = None, "", "a " * 500_001, "a " * 500_001
    return list(enumerate(found))


@pytest.fixture(scope="module")
def rows(texts):
    """The rows of all texts, computed in one process."""
    found, last = list(parse_rows(texts)), len(texts) - 1
    errors = {row["id"]: row["error"] for row in found if row["error"]}
    assert {*errors} == {5, last - 1, last} and "NoneType" in errors[5]
    assert "E088" in errors[last - 1] and "E088" in errors[last]
    return found


class Job:
    """A recipe in a separate folder."""

    def __init__(self, folder: Path, texts: list, name: str, **environment: str):
        pa = pytest.importorskip("pyarrow")
        parquet = pytest.importorskip("pyarrow.parquet")
        self.folder, self.watched = folder, folder / "watched"
        for name_of_folder in ("texts", "lines", "watched"):
            (folder / name_of_folder).mkdir()
        for part in range(PARTS):
            own = texts[part::PARTS]
            table = pa.table({"id": [key for key, _ in own], "text": pa.array([t for _, t in own], pa.string())})
            parquet.write_table(table, folder / "texts" / f"{part}.parquet")
            lines = "".join(json.dumps({"id": key, "text": text}) + "\n" for key, text in own)
            (folder / "lines" / f"{part}.jsonl").write_text(lines)
        (folder / name).write_text(RECIPES[name])
        python = Path(sys.executable)
        self.environment = {
            **{key: value for key, value in os.environ.items() if not key.startswith(("RAY_", "DASK_", "SPARK_"))},
            "PYTHONPATH": os.pathsep.join([str(Path(__file__).parent / "watch"), str(ROOT)]),
            "PATH": os.pathsep.join([str(python.parent), os.environ["PATH"]]),
            "WATCHED": str(self.watched),
            **environment,
        }
        self.command = [str(python), name]

    def run(self, kill: str | None = "worker", fails: bool = False) -> list[int]:
        """Run the script and return the ids of the processes that loaded a pipeline, in order; `fails`: whether the
        script is expected to fail. One of these processes is killed during the run; with "executor", its grandparent
        is."""
        for name in ("loads", "sprung", "caught"):
            (self.watched / name).unlink(missing_ok=True)
        if kill:
            (self.watched / "trap").touch()
        log = self.folder / "log"
        with log.open("w") as output:
            process = subprocess.Popen(
                self.command,
                cwd=self.folder,
                env=self.environment,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        caught = 0
        try:
            end = time.monotonic() + 60 * MINUTES
            while process.poll() is None and time.monotonic() < end:
                time.sleep(0.1)
                if not caught and (self.watched / "caught").exists():
                    caught = int((self.watched / "caught").read_text())
                    os.kill(parent(parent(caught)) if kill == "executor" else caught, signal.SIGKILL)
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            if kill == "executor" and caught:
                with suppress(ProcessLookupError):
                    os.kill(caught, signal.SIGKILL)
            code = process.wait()
        said = log.read_text()[-6000:]
        assert (code != 0) == fails, said
        loads = [int(line) for line in (self.watched / "loads").read_text().split()]
        assert len({*loads}) == len(loads) < PARTS, "a process loaded twice"
        assert not kill or caught in loads, said
        return loads

    def table(self, name: str) -> list[dict]:
        """The rows of a folder of Parquet files, in order."""
        from pyarrow import parquet

        found = parquet.read_table(self.folder / name).to_pylist()
        return sorted(found, key=lambda row: (row["id"], row.get("sentence") or 0))


@pytest.fixture
def job(tmp_path, texts):
    """Return a function that makes a Job of the recipe with a given name."""
    return lambda name, **environment: Job(tmp_path, texts, name, **environment)


def spark(master: str) -> dict[str, str]:
    """The environment of a Spark job; skips the test if Spark cannot run."""
    pytest.importorskip("pyspark")
    if java_version() < JAVA:
        pytest.skip(f"Spark needs Java {JAVA} or newer; found {java_version() or 'none'}")
    arguments = f"--master {master} --conf spark.ui.enabled=false pyspark-shell"
    return {"PYSPARK_PYTHON": sys.executable, "PYSPARK_SUBMIT_ARGS": arguments, "SPARK_LOCAL_IP": "127.0.0.1"}


def test_the_page_has_these_recipes():
    names = "texts one_machine dask_bag dask_frame ray_data spark_arrow spark_pandas"
    assert [*RECIPES] == [f"{name}.py" for name in names.split()]


def test_the_first_texts(tmp_path):
    pytest.importorskip("pyarrow")
    pandas = pytest.importorskip("pandas")
    (tmp_path / "texts.py").write_text(RECIPES["texts.py"])
    subprocess.run([sys.executable, "texts.py"], cwd=tmp_path, check=True)
    table = pandas.read_parquet(tmp_path / "texts")
    lines = [json.loads(line) for path in (tmp_path / "lines").iterdir() for line in path.read_text().splitlines()]
    assert sorted(table.id) == sorted(line["id"] for line in lines) == [*range(8)]
    assert dict(zip(table.id, table.text, strict=True)) == {line["id"]: line["text"] for line in lines}


def test_one_machine(job, rows):
    """The pool breaks if a process dies; a second run finishes the work and repeats none of it."""
    done = job("one_machine.py")
    done.run(fails=True)
    assert "BrokenProcessPool" in (done.folder / "log").read_text()
    finished = {path: path.stat().st_mtime_ns for path in (done.folder / "trees").glob("*.parquet")}
    assert 1 <= len(finished) < PARTS
    done.run(kill=None)
    assert finished == {path: path.stat().st_mtime_ns for path in finished}
    assert done.table("trees") == rows


def test_dask_bag(job, texts):
    pytest.importorskip("distributed")
    done = job("dask_bag.py")
    done.run()
    found = {}
    for part in range(PARTS):
        for doc in DocBin().from_disk(done.folder / "docs" / f"{part}.spacy").get_docs(Vocab()):
            found[doc.user_data["id"]] = doc
    assert sorted(found) == [key for key, _ in texts]
    for key, doc, error in parse_docs(texts):
        same = found[key]
        assert same.user_data["error"] == error
        assert same.text == doc.text and [token.tag_ for token in same] == [token.tag_ for token in doc]
        if error is None:
            [stored] = DocBin(docs=[doc]).get_docs(Vocab())
            groups = [one.spans["constituents"] for one in (stored, same)]
            spans, others = ([(span.start, span.end, span.label_) for span in group] for group in groups)
            assert spans == others and groups[0].attrs == groups[1].attrs  # the scores, in every bit


def test_dask_frame(job, rows):
    pytest.importorskip("dask.dataframe")
    pytest.importorskip("distributed")
    done = job("dask_frame.py")
    done.run()
    assert done.table("trees") == rows


def test_ray_data(job, rows):
    pytest.importorskip("ray.data")
    done = job("ray_data.py", RAY_USAGE_STATS_ENABLED="0")
    done.run()
    assert done.table("trees") == rows


def test_spark_arrow(job, rows):
    """Run on a cluster of two Java processes; one dies together with its Python worker."""
    done = job("spark_arrow.py", **spark("local-cluster[2,1,1024]"))
    done.run("executor")
    assert done.table("trees") == rows


def test_spark_pandas(job, rows):
    """Run in one Java process; one of its Python workers dies."""
    done = job("spark_pandas.py", **spark("local[2,4]"))
    done.run()
    expected: dict[int, list] = {}
    for row in rows:
        expected.setdefault(row["id"], []).append({"tree": row["tree"], "error": row["error"]})
    assert {row["id"]: row["sentences"] for row in done.table("trees")} == expected
