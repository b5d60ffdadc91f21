"""Whether the kernels are compiled already, so that a program can say why its first run takes longer."""

from numba.core import config

from .jit import KERNEL_ROOT, _cache_folder, sources_digest, stamp_path


def kernels_compiled() -> bool:
    """Whether the cache has kernels of these very sources; True where nothing is compiled (NUMBA_DISABLE_JIT=1).

    Goes by the note that is left when a kernel is put in the cache, so a cache that was filled in part counts as full.
    """
    if config.DISABLE_JIT:  # type: ignore[attr-defined]
        return True
    folder = _cache_folder(KERNEL_ROOT)
    if folder is None or not any(folder.glob("*.nbi")):
        return False
    try:
        stamp = stamp_path(folder, KERNEL_ROOT).read_text(encoding="utf8")
    except (OSError, UnicodeDecodeError):
        return False
    return stamp == sources_digest(KERNEL_ROOT)
