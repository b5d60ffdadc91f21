"""A copy of the cache of compiled kernels, for a copy of the package with changed sources."""

import shutil
from contextlib import suppress
from pathlib import Path

from spacy_dtparse.jit.cache_state import cache_folder


def copy_compiled_kernels(folder: Path) -> Path:
    """Copy the compiled kernels to a new folder, so that only those that depend on a change are compiled again, and
    other processes keep theirs. Returns the folder."""
    folder.mkdir()
    source = cache_folder()
    for path in [] if source is None else sorted(source.glob("*.nb[ci]")):
        with suppress(FileNotFoundError):  # another process has replaced it
            shutil.copy(path, folder)
    return folder
