"""What a running trainer tells: a line of facts, kept as JSON beside."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from .files import append_line

Tell = Callable[..., None]
"""What hears of facts by name."""
Say = Callable[[str], None]
"""What hears of progress in words."""


def teller(workdir: Path | None) -> Tell:
    """`tell` with the log of a folder, none where there is no folder."""
    return partial(tell, None if workdir is None else workdir / "log.jsonl")


def tell(log_file: Path | None, /, **facts: Any) -> None:
    """Print facts in a line, and append them to a file of JSON lines unless that is None."""
    print(", ".join(f"{k} {v:.6g}" if isinstance(v, float) else f"{k} {v}" for k, v in facts.items()), flush=True)
    if log_file is not None:
        log_file.parent.mkdir(parents=True, exist_ok=True)
        append_line(log_file, facts)
