"""Workers end with their driver, however it ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DRIVER = """
import os, sys, time
from training.runs.processes import worker_pool

if __name__ == "__main__":
    with worker_pool(1, sys.argv[1]) as pool:
        print(pool.submit(os.getpid).result(), flush=True)
        time.sleep(600)
"""


def alive(process: int) -> bool:
    """Whether a process runs; one that has ended and waits for its parent to notice does not."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="asks /proc")
@pytest.mark.parametrize("method", ["forkserver", "spawn"])
def test_a_worker_ends_when_its_driver_is_killed(method, tmp_path):
    program = tmp_path / "driver.py"
    program.write_text(DRIVER, encoding="utf8")
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    driver = subprocess.Popen(
        [sys.executable, str(program), method], stdout=subprocess.PIPE, text=True, env=environment
    )
    assert driver.stdout is not None
    worker = int(driver.stdout.readline())
    assert alive(worker)
    driver.send_signal(signal.SIGKILL)
    driver.wait()
    deadline = time.monotonic() + 30
    while alive(worker) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not alive(worker)
    driver.stdout.close()
