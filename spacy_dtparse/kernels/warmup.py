"""Whether the kernels are compiled already, so that a program can say why its first run takes longer."""

from __future__ import annotations

import os
import pickle

from numba.core import config

from .jit import KERNEL_ROOT, _cache_folder, sources_digest


def kernels_compiled() -> bool:
    """Whether the cache has kernels of these very sources; True where nothing is compiled
    (NUMBA_DISABLE_JIT=1).

    Looks at the newest index file only, so a cache that was filled in part counts as full.
    """
    if config.DISABLE_JIT:  # type: ignore[attr-defined]
        return True
    folder = _cache_folder(KERNEL_ROOT)
    indexes = [] if folder is None else list(folder.glob("*.nbi"))
    if not indexes:
        return False
    newest = max(indexes, key=os.path.getmtime)
    try:
        # numba's own index of its compiled code: a pickle that numba itself reads from this folder at every call.
        with newest.open("rb") as file:
            pickle.load(file)  # numba's version
            stamp, _ = pickle.loads(file.read())
    except Exception:  # a file of another version, or one being written
        return False
    return stamp == sources_digest(KERNEL_ROOT)
