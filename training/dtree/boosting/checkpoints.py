"""What a training run keeps on disk: each label's state and scores, the log, all written so that a kill never hurts."""

import hashlib
import os
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

import numpy as np

from spacy_dtparse.model.trees.ensemble import LabelEnsemble, empty_ensemble

from ...runs.resuming import as_array, as_facts, save_arrays, saved_arrays
from .learner import Progress


class LabelState(NamedTuple):
    """Where one label stands on the λ path.

    `counts`: trees at the end of each finished level, so level r's ensemble is the first counts[r] trees.
    `grown`: trees grown at the level now being trained.
    """

    ensemble: LabelEnsemble
    progress: Progress
    counts: tuple[int, ...] = ()
    grown: int = 0


def ensemble_digest(ensemble: LabelEnsemble) -> str:
    """Digest of all arrays of an ensemble (hex, 24 digits)."""
    return hashlib.blake2b(b"".join(array.tobytes() + b"|" for array in ensemble), digest_size=12).hexdigest()


def _state_file(workdir: str | os.PathLike, name: str) -> Path:
    return Path(workdir) / "labels" / f"{quote(name, safe='')}.npz"


def _score_file(workdir: str | os.PathLike, name: str, ensemble: LabelEnsemble) -> Path:
    return Path(workdir) / "scores" / f"{quote(name, safe='')}@{ensemble_digest(ensemble)}.npy"


def save_state(workdir: str | os.PathLike, name: str, state: LabelState) -> None:
    """Write the label's state; the old one stays until the new one is whole."""
    facts = {"progress": state.progress._asdict(), "counts": state.counts, "grown": state.grown}
    save_arrays(_state_file(workdir, name), {"state": as_array(facts), **state.ensemble._asdict()})


def load_state(workdir: str | os.PathLike, name: str) -> LabelState:
    """The label's state; a fresh one when none was saved. Raises TrainingDataError when it is damaged."""
    source = _state_file(workdir, name)
    if not source.exists():
        return LabelState(empty_ensemble(), Progress())
    with saved_arrays(source) as arrays:
        facts = as_facts(arrays["state"])
        ensemble = LabelEnsemble(*(arrays[field] for field in LabelEnsemble._fields))
        return LabelState(ensemble, Progress(**facts["progress"]), tuple(facts["counts"]), facts["grown"])


def save_scores(workdir: str | os.PathLike, name: str, ensemble: LabelEnsemble, score: np.ndarray) -> None:
    """Keep the scores of all examples beside the state; the file's name says which ensemble they belong to."""
    target = _score_file(workdir, name, ensemble)
    target.parent.mkdir(parents=True, exist_ok=True)
    if target.exists():
        return
    temporary = target.with_suffix(".tmp.npy")
    np.save(temporary, score)
    os.replace(temporary, target)
    prefix = target.name.partition("@")[0] + "@"  # a quoted name has no @ of its own
    for other in target.parent.iterdir():
        if other.name.startswith(prefix) and other != target:
            other.unlink(missing_ok=True)


def load_scores(workdir: str | os.PathLike, name: str, ensemble: LabelEnsemble, n_examples: int) -> np.ndarray | None:
    """The scores that `save_scores` kept for exactly this ensemble, int32 (n_examples,), or None."""
    try:
        score = np.load(_score_file(workdir, name, ensemble))
    except (OSError, ValueError, EOFError):
        return None
    return score if score.shape == (n_examples,) and score.dtype == np.int32 else None
