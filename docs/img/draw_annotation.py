"""Draw the pictures of docs/annotate.md anew: python docs/img/draw_annotation.py (needs chromium and chromedriver).

They are screenshots of the tests of the annotation page, which walk through it.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
TESTS = ["test_window.py", "test_adjudication.py", "test_review_window.py"]
PREFIX = "annotate_"


def main() -> None:
    """Draw all of them."""
    with tempfile.TemporaryDirectory() as folder:
        paths = [f"tests/annotation/{name}" for name in TESTS]
        subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-m", "slow", *paths],
            cwd=HERE.parents[1],
            env={**os.environ, "DTPARSE_SCREENSHOTS": folder},
            check=True,
        )
        for picture in sorted((HERE / "annotate").glob("*.png")):
            shutil.copyfile(Path(folder) / f"{PREFIX}{picture.name}", picture)


if __name__ == "__main__":
    main()
