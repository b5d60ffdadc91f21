"""Files of runs: whole or not there, damage is seen, folders are one run's at a time."""

from __future__ import annotations

import errno
import json
import multiprocessing
import os
import random
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from spacy_dtparse.errors import ConfigError, TrainingDataError
from tests.hostile import training as hostile
from training import cli
from training.runs import lock as lock_module
from training.runs.files import append_line, load_checkpoint, read_lines, read_result, save_checkpoint, write_atomically
from training.runs.lock import LOCK_FILE, exclusive, lock_dir
from training.runs.processes import worker_pool
from training.runs.resuming import load_arrays, open_arrays, save_arrays

ROOT = Path(__file__).parents[3]
FACTS = {"start": 0.1, "labels": {"NP": [1, "main"]}, 3: None, "text": "ä"}


def full(*_):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def flips(data: bytes, times: int | None = None):
    """The data with one bit flipped: each in turn, or so many at random."""
    places = range(8 * len(data)) if times is None else random.Random(1).sample(range(8 * len(data)), times)
    for place in places:
        yield data[: place // 8] + bytes([data[place // 8] ^ 1 << place % 8]) + data[place // 8 + 1 :]


def test_a_full_disk_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "new" / "state.npz"
    save_arrays(path, {"a": np.arange(3)})
    before = path.read_bytes()
    monkeypatch.setattr(os, "fsync", full)
    for write in (lambda: save_arrays(path, {"a": np.arange(4)}), lambda: write_atomically(path, b"x")):
        with pytest.raises(
            TrainingDataError, match=r"cannot write .*state\.npz: No space left .*; free some disk space"
        ):
            write()
        assert path.read_bytes() == before and [one.name for one in path.parent.iterdir()] == ["state.npz"]


def test_saved_data_is_read_back_or_refused(tmp_path):
    path = tmp_path / "facts.json"
    assert load_checkpoint(path) is None
    save_checkpoint(path, FACTS)
    assert load_checkpoint(path) == json.loads(json.dumps(FACTS))
    data, same = path.read_bytes(), 0
    for damaged in (*flips(data), *(data[:n] for n in range(0, len(data) - 2, 7)), b"[]", b"{}"):
        path.write_bytes(damaged)
        try:
            assert load_checkpoint(path) == json.loads(json.dumps(FACTS)), damaged
            same += 1  # white space
        except TrainingDataError as error:
            assert str(error).startswith(f"{path} is damaged") and "delete it to compute it again" in str(error)
    assert same < 40
    with pytest.raises(ConfigError, match="is no readable result"):
        read_result(path)


def test_a_log_is_read_up_to_the_first_damaged_line(tmp_path, caplog):
    path = tmp_path / "log.jsonl"
    rows = [{"level": n, "f1": n / 3} for n in range(5)]
    for row in rows:
        append_line(path, row)
    data = path.read_bytes()
    ends = [0, *(n + 1 for n, byte in enumerate(data) if byte == ord("\n"))]
    for n in range(len(data)):  # cut anywhere
        path.write_bytes(data[:n])
        whole = sum(end <= n for end in ends) - 1
        assert read_lines(path) == rows[:whole] and path.stat().st_size == ends[whole]
    assert not caplog.records, "a kill does that"
    for damaged in flips(data, 200):
        path.write_bytes(damaged)
        found = read_lines(path)
        assert found == rows[: len(found)] and read_lines(path) == found
    assert "log.jsonl:2: the line is damaged" in caplog.text
    path.write_bytes(data[: ends[2]])
    append_line(path, rows[2])
    assert read_lines(path) == rows[:3]


def test_flipped_bits_of_arrays_are_seen(tmp_path, caplog):
    path = tmp_path / "state.npz"
    arrays = {"weights": np.linspace(0, 1, 9), "counts": np.arange(5, dtype=np.int16)}
    save_arrays(path, arrays)
    data, noticed = path.read_bytes(), 0
    for damaged in (*flips(data, 400), *(data[:n] for n in range(0, len(data), 13))):
        path.write_bytes(damaged)
        try:
            with open_arrays(path) as held:
                found = {name: held[name] for name in arrays}
            assert all(np.array_equal(found[name], array) for name, array in arrays.items()), "dates of the archive"
        except TrainingDataError as error:
            assert str(path) in str(error) and "delete that file" in str(error)
            noticed += 1
    assert noticed > 300
    path.write_bytes(b"")
    assert load_arrays(path) is None and not path.exists() and "is damaged" in caplog.text
    assert load_arrays(path) is None


def test_one_run_at_a_time(tmp_path):
    folder = tmp_path / "work"
    holder = (
        "import sys, time; from pathlib import Path; from training.runs.lock import exclusive\n"
        "with exclusive(Path(sys.argv[1])): print('held', flush=True); time.sleep(600)"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", holder, str(folder)], stdout=subprocess.PIPE, env={**os.environ, "PYTHONPATH": str(ROOT)}
    )
    assert process.stdout is not None and process.stdout.readline() == b"held\n"
    with pytest.raises(ConfigError, match=rf"work is in use by another run \(process {process.pid}\); wait until"):
        with exclusive(folder):
            pass
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdout.close()
    with exclusive(folder), exclusive(folder / "."):  # a part of the same run
        assert (folder / LOCK_FILE).read_text().strip() == str(os.getpid())
    with exclusive(folder):
        pass


def test_a_decorated_function_locks_its_folder(tmp_path):
    held = lock_module._holders

    @lock_dir("workdir")
    def work(trees, workdir=None):
        return sorted(held), trees

    assert work(3) == ([], 3)
    assert work(3, str(tmp_path)) == work(3, workdir=tmp_path) == ([tmp_path.resolve()], 3)
    assert not held


def test_a_warning_if_the_file_system_has_no_locks(tmp_path, monkeypatch, caplog):
    monkeypatch.setattr(lock_module, "_lock_file", full)
    with exclusive(tmp_path):
        assert "the file system has no locks" in caplog.text


def _end(_):
    os.kill(os.getpid(), signal.SIGKILL)


def test_killed_workers_and_full_disks_are_reported(capsys):
    def killed():
        with worker_pool(1) as pool:
            list(pool.map(_end, [1]))

    assert cli._run_reporting_errors(killed) == 1
    error = capsys.readouterr().err
    assert "a worker process died before it finished" in error and "repeat the command" in error
    assert cli._run_reporting_errors(full) == 1
    assert "No space left on device; free some disk space" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="forks")
def test_no_training_is_lost(tmp_path):
    found = hostile.run_kinds(hostile.KINDS, 18, 5, tmp_path)
    lost = [f"{name}: {ended.done}: {ended.said}" for name, ended in found if ended.what == hostile.LOST]
    assert not lost, "\n".join(lost)
    assert sum(ended.what == hostile.SAME for _, ended in found) > 9
