"""`python -m training`: train, evaluate and put together parsers."""

import os
import sys

# Matrix products here are too small to gain from threads; must be set before numpy is loaded.
for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

from training.cli import main  # noqa: E402 (after the settings above)

if __name__ == "__main__":
    sys.exit(main())
