"""What a training run keeps on disk: each label's state and scores, the log, all written so that a kill never hurts."""

import hashlib
import os
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

import numpy as np

from spacy_dtparse.dtypes import INDEX, SCORE
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


def fresh_state() -> LabelState:
    """A label before its first tree."""
    return LabelState(empty_ensemble(), Progress())


def ensemble_digest(ensemble: LabelEnsemble) -> str:
    """Digest of all arrays of an ensemble (hex, 24 digits)."""
    digest = hashlib.blake2b(digest_size=12)
    for array, dtype in zip(ensemble, (INDEX, INDEX, INDEX, INDEX, SCORE), strict=True):
        digest.update(np.ascontiguousarray(array, dtype=dtype).tobytes() + b"|")
    return digest.hexdigest()


def _file(workdir: str | os.PathLike, kind: str, name: str) -> Path:
    return Path(workdir) / kind / quote(name, safe="")


def save_state(workdir: str | os.PathLike, name: str, state: LabelState) -> None:
    """Write the label's state; the old one stays until the new one is whole."""
    facts = {"progress": state.progress._asdict(), "counts": state.counts, "grown": state.grown}
    target = Path(f"{_file(workdir, 'labels', name)}.npz")
    save_arrays(target, {"state": as_array(facts), **state.ensemble._asdict()})


def load_state(workdir: str | os.PathLike, name: str) -> LabelState:
    """The label's state; a fresh one when none was saved. Raises TrainingDataError when it is damaged."""
    source = Path(f"{_file(workdir, 'labels', name)}.npz")
    if not source.exists():
        return fresh_state()
    with saved_arrays(source) as arrays:
        facts = as_facts(arrays["state"])
        ensemble = LabelEnsemble(*(arrays[field] for field in LabelEnsemble._fields))
        return LabelState(ensemble, Progress(**facts["progress"]), tuple(facts["counts"]), facts["grown"])


def save_scores(workdir: str | os.PathLike, name: str, ensemble: LabelEnsemble, score: np.ndarray) -> None:
    """Keep the scores of all examples beside the state; the file's name says which ensemble they belong to."""
    target = Path(f"{_file(workdir, 'scores', name)}@{ensemble_digest(ensemble)}.npy")
    target.parent.mkdir(parents=True, exist_ok=True)
    if target.exists():
        return
    temporary = target.with_suffix(".tmp")
    with open(temporary, "wb") as file:
        np.save(file, score)
    os.replace(temporary, target)
    _drop_scores(workdir, name, target)


def _drop_scores(workdir: str | os.PathLike, name: str, keep: Path) -> None:
    prefix = _file(workdir, "scores", name).name + "@"
    for other in keep.parent.iterdir():
        if other.name.startswith(prefix) and other != keep:
            other.unlink(missing_ok=True)


def load_scores(workdir: str | os.PathLike, name: str, ensemble: LabelEnsemble, n_examples: int) -> np.ndarray | None:
    """The scores that `save_scores` kept for exactly this ensemble, int32 (n_examples,), or None."""
    source = Path(f"{_file(workdir, 'scores', name)}@{ensemble_digest(ensemble)}.npy")
    try:
        score = np.load(source)
    except (OSError, ValueError, EOFError):
        return None
    return score if score.shape == (n_examples,) and score.dtype == np.int32 else None
