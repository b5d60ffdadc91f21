"""The examples of a run: ids of atoms, and the stores of rows, written to the working folder or read from there."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from shutil import rmtree
from typing import Any

from spacy_dtparse.dtparse.kernels.atoms import AtomMap
from spacy_dtparse.dtparse.model.window_filter import EVERYTHING, WindowFilter
from spacy_dtparse.errors import TrainingDataError
from spacy_dtparse.stored_names import stored_names, to_stored

from ..runs.files import file_digest, load_checkpoint, save_checkpoint
from ..runs.metrics_log import MetricsLogger, log_metrics
from ..runs.resuming import check_conditions, digest, load_arrays, open_arrays, save_arrays
from .boosting.store import DirectStore
from .examples import STORES, ExampleFilter, collect_atoms, write_stores
from .recipe import FitRecipe
from .training_set import TrainingSet
from .window_filter import train_window_filter

_IRRELEVANT = frozenset({"name", "learner", "path", "n_workers", "dev_sentences", "dev_budget", "gate_bits"})
"""Settings of a recipe, by stored names, on which the stores do not depend."""
_ROW_BYTES = 4 * 1.6
"""Bytes per atom of a row: an int32, and the indices of `DirectStore`."""


@dataclass
class ExampleStores:
    """The stores of a training set in a working folder. `log`: see `BoostingRun.log`. `large`: builds the stores when
    their rows are larger than the recipe allows (see `studies.turian2006.indirect`); None: raise an error."""

    recipe: FitRecipe
    data: TrainingSet
    workdir: Path
    log: MetricsLogger
    large: Callable[..., dict[str, dict[str, Any]]] | None = None

    def prepare(self) -> AtomMap:
        """Assign ids to the atoms and write the stores, unless the working folder has them already."""
        conditions, stored = self._conditions(), self._load_description()
        if stored is None:
            return self._write(conditions)
        check_conditions(self.workdir, stored["facts"], conditions)
        with open_arrays(self.workdir / "atoms.npz") as parts:
            return AtomMap(*(parts[name] for name in stored_names(AtomMap)))

    def _conditions(self) -> dict[str, Any]:
        """Everything that determines the stores, as plain data."""
        data, irrelevant = self.data, _IRRELEVANT - {"gate_bits"} if self.recipe.filter_loss > 0 else _IRRELEVANT
        return {
            "templates": data.templates.fingerprint(),
            "lexicon": data.lexicon.fingerprint(),
            "heads": digest([data.heads.to_dict()]),
            "recipe": {key: value for key, value in self.recipe.to_stored().items() if key not in irrelevant},
            "sentences": len(data.derivations),
            "weight": float(sum(derivation.weight for derivation in data.derivations)),
        }

    def _write(self, conditions: dict[str, Any]) -> AtomMap:
        """Write the atoms, the stores, and a description with the digests of all files."""
        recipe, data, example_filter = self.recipe, self.data, self.example_filter
        atoms, expected = self._collect_atoms(example_filter)
        began, folder, what = time.perf_counter(), self.workdir / "stores", (*data.tables, atoms, data.derivations)
        direct = expected <= recipe.memory_gib * 2**30
        if direct:
            totals = write_stores(folder, *what, example_filter)
            for store in STORES:
                DirectStore.build(folder / store, int(atoms.state[0]))
        elif self.large is None or recipe.filter_loss > 0:
            raise TrainingDataError(
                f"the rows take {expected / 2**30:.1f} GiB and may take {recipe.memory_gib:g} (recipe setting "
                "'memory_gib'); give more memory_gib, fewer trees, a smaller max_words, or a larger filter_loss"
            )
        else:
            totals = self.large(folder, *what)
        seconds = time.perf_counter() - began
        self.log("stores", seconds=seconds, direct=direct, expected_bytes=int(expected), **totals)
        files = {name: file_digest(path) for name, path in self._files().items()}
        description = {"facts": conditions, "direct": direct, "totals": totals, "files": files}
        save_checkpoint(self.workdir / "stores.json", description)
        return atoms

    def _collect_atoms(self, example_filter: ExampleFilter) -> tuple[AtomMap, float]:
        """(The atoms of a sample of the derivations, also saved; the expected size of the rows of all, in bytes)."""
        began, recipe, every = time.perf_counter(), self.recipe, self.data.derivations
        sample = [every[n] for n in self.data.sample_indices(recipe.atom_sentences, recipe.seed)]
        fraction = len(sample) / len(every)
        min_count = max(1, round(recipe.min_atom_count * fraction))
        atoms, counts = collect_atoms(*self.data.tables, sample, min_count, recipe.atom_table_bits, example_filter)
        n_atoms, n_hashed, _ = atoms.state.tolist()
        seconds = time.perf_counter() - began
        self.log("atoms", seconds=seconds, atoms=n_atoms, hashed=n_hashed, sentences=len(sample))
        save_arrays(self.workdir / "atoms.npz", to_stored(atoms))
        return atoms, float(counts.sum()) / fraction * _ROW_BYTES

    def _files(self) -> dict[str, Path]:
        """The files of atoms and stores, by their path in the working folder."""
        stores = (path for path in (self.workdir / "stores").rglob("*") if path.is_file())
        return {str(path.relative_to(self.workdir)): path for path in sorted([self.workdir / "atoms.npz", *stores])}

    def _load_description(self) -> dict[str, Any] | None:
        """The description of existing stores, if every file is as it was written; None if they must be built, as when
        one is damaged."""
        done = self.workdir / "stores.json"
        try:
            stored = load_checkpoint(done)
            if stored is None:
                return None
            existing = self._files()
            wrong = [name for name, wanted in stored["files"].items() if not _has_digest(existing.get(name), wanted)]
        except TrainingDataError:
            wrong = [done.name]
        if not wrong:
            return stored
        log_metrics(None, note=f"damaged files, so the examples are written again: {', '.join(wrong)}")
        rmtree(self.workdir / "stores", ignore_errors=True)
        done.unlink()
        return None

    @cached_property
    def window_filter(self) -> WindowFilter:
        """The window filter, trained unless the working folder has it already; empty if the recipe has none."""
        bits, data = self.recipe.filter_bits, self.data
        if bits == 0:
            return WindowFilter()
        path = self.workdir / f"gate{bits}.npz"
        saved = load_arrays(path)
        if saved is not None:
            return WindowFilter(saved["weights"], tuple(saved["shares"].tolist()), tuple(saved["margins"].tolist()))
        trained = train_window_filter(data.grammar, data.head_table, data.derivations, bits, self.recipe.seed, self.log)
        save_arrays(path, {"weights": trained.weights, "shares": trained.losses, "margins": trained.margins})
        return trained

    @property
    def example_filter(self) -> ExampleFilter:
        """The filter that keeps easy examples out of the stores; an empty one if the recipe's `filter_loss` is 0."""
        fraction = self.recipe.filter_loss
        min_sum = self.window_filter.min_margin(fraction) if fraction > 0 else EVERYTHING
        return ExampleFilter() if min_sum == EVERYTHING else ExampleFilter(self.window_filter.weights, min_sum)


def _has_digest(path: Path | None, wanted: str) -> bool:
    return path is not None and path.is_file() and file_digest(path) == wanted
