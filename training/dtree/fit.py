"""Fit a parser: treebanks and tags in, a model bundle out. Resumes from its working folder after a kill."""

import json
import os
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from spacy_dtparse.dtypes import INDEX
from spacy_dtparse.errors import TrainingDataError
from spacy_dtparse.features.trees.lexicon import Lexicon, frequent_words
from spacy_dtparse.features.trees.tables import get_templates
from spacy_dtparse.features.trees.templates import compile_templates
from spacy_dtparse.kernels.trees import features as k
from spacy_dtparse.kernels.trees.atoms import AtomMap
from spacy_dtparse.model.trees.ensemble import LabelEnsemble, empty_ensemble
from spacy_dtparse.model.trees.gate import EVERYTHING, Gate
from spacy_dtparse.model.trees.model import SHIFT, DtreeModel, compose, make_grammar, renumber, used_atoms
from spacy_dtparse.parsers.dtree import DtreeParser, SearchSettings
from spacy_dtparse.trees import TOP, HeadRules, Recipe, Tree
from spacy_dtparse.trees.heads import COLLINS
from spacy_dtparse.trees.heads_compiled import compile_head_rules

from ..data.corpus import Sentence, survey, training_tree
from ..data.evaluate import own_trees, score_trees
from ..runs.files import append_line
from ..runs.processes import worker_pool
from ..runs.telling import tell
from .boosting.labels import Label
from .boosting.path import PathResult, train_path
from .boosting.rows import plot_path
from .boosting.store import DirectStore
from .examples import STORES, Replayer, Sieve, collect_atoms, gold_derivation, write_stores
from .gate import train_gate
from .recipe import FitRecipe


class Fit:
    """One training run in a working folder.

    `sentences`: training; `dev`: the sentences whose F1 chooses λ. `heads`: head rules. `executor`: runs the label
    tasks; by default processes on this machine. `large`: builds the stores where their rows are larger than the recipe
    allows (see `studies.turian2006.indirect`); None: that is an error.
    """

    def __init__(
        self,
        recipe: FitRecipe,
        sentences: Sequence[Sentence],
        dev: Sequence[Sentence],
        workdir: str | Path,
        heads: HeadRules = COLLINS,
        executor: Executor | None = None,
        meta: dict[str, Any] | None = None,
        large: Callable[..., dict[str, dict[str, Any]]] | None = None,
    ):
        most = recipe.max_words
        sentences, dev = ([s for s in part if most is None or len(s.tags) <= most] for part in (sentences, dev))
        if not sentences:
            limit = "" if most is None else f" of at most {most} words (recipe setting 'max_words')"
            raise TrainingDataError(f"there are no training sentences{limit}; give at least one treebank with trees")
        self.recipe, self.dev, self.heads, self.executor, self.large = recipe, dev, heads, executor, large
        self.workdir = Path(workdir)
        self.workdir.mkdir(parents=True, exist_ok=True)
        self.meta = dict(meta or {})
        self._gate: Gate | None = None
        self.preprocessing = Recipe(recipe.preprocessing)
        self.templates = get_templates(recipe.templates)
        began = time.perf_counter()
        self.trees = [training_tree(sentence, self.preprocessing) for sentence in sentences]
        self.weights = [sentence.weight for sentence in sentences]
        self.report = survey(self.trees, recipe.max_arity)
        self.lexicon = build_lexicon(self.trees, recipe.min_word_sentences)
        self.table, _ = compile_templates(self.templates, self.lexicon.sizes)
        self.head_table = compile_head_rules(heads, self.lexicon.symbols)
        self.grammar = make_grammar(
            recipe.strategy, recipe.max_arity, recipe.edge_punctuation, len(self.lexicon.labels), self.templates.reach()
        )
        shares = {"negatives": recipe.negative_weight, "uniform": recipe.example_weights == "uniform"}
        self.derivations = [
            gold_derivation(tree, self.lexicon, recipe.strategy, recipe.seed + number, weight=weight, **shares)
            for number, (tree, weight) in enumerate(zip(self.trees, self.weights, strict=True))
        ]
        self.log("corpus", seconds=time.perf_counter() - began, **self.report)

    def log(self, what: str, **facts: Any) -> None:
        """Print what was done, and append it to fit.jsonl."""
        plain = {name: fact for name, fact in facts.items() if fact and not isinstance(fact, dict | list)}
        tell(None, did=what, **plain)
        append_line(self.workdir / "fit.jsonl", {"what": what, **facts})

    def prepare(self) -> AtomMap:
        """Number the atoms and write the stores, unless the working folder has them already."""
        done = self.workdir / "stores.json"
        arrays = self.workdir / "atoms.npz"
        facts = {
            "templates": self.templates.fingerprint(),
            "lexicon": self.lexicon.fingerprint(),
            "recipe": {key: value for key, value in self.recipe.to_dict().items() if key not in self._not_in_stores()},
            "sentences": len(self.trees),
            "weight": float(sum(self.weights)),
        }
        if done.exists():
            held = json.loads(done.read_text(encoding="utf8"))["facts"]
            held["recipe"] = {**_LATER, **held["recipe"]}
            if held != json.loads(json.dumps(facts)):
                raise TrainingDataError(
                    f"{self.workdir} holds the examples of other trees or another recipe; give the same ones to "
                    "resume, or another folder"
                )
            with np.load(arrays) as parts:
                return AtomMap(*(parts[name] for name in AtomMap._fields))
        sieve = self._sieve()
        began = time.perf_counter()
        chosen = self._sampled(self.recipe.atom_sentences)
        share = len(chosen) / len(self.derivations)
        tables = (self.grammar, self.head_table, self.templates, self.lexicon)
        least = max(1, round(self.recipe.min_atom_count * share))
        sampled = [self.derivations[n] for n in chosen]
        atoms, counts = collect_atoms(*tables, sampled, least, self.recipe.atom_table_bits, sieve)
        n_atoms, n_hashed = int(atoms.state[0]), int(atoms.state[1])
        seconds = time.perf_counter() - began
        self.log("atoms", seconds=seconds, atoms=n_atoms, hashed=n_hashed, sentences=len(chosen))
        np.savez(arrays, **atoms._asdict())
        began = time.perf_counter()
        expected = float(counts.sum()) / share * 4 * 1.6
        direct = expected <= self.recipe.memory_gib * 2**30
        if not direct and (self.large is None or self.recipe.gate_share > 0):
            raise TrainingDataError(
                f"the rows take {expected / 2**30:.1f} GiB and may take {self.recipe.memory_gib:g} (recipe setting "
                "'memory_gib'); give more memory_gib, fewer trees, a smaller max_words, or a larger gate_share"
            )
        what = (*tables, atoms, self.derivations)
        if direct:
            totals = write_stores(self.workdir / "stores", *what, sieve)
            for store in STORES:
                DirectStore.build(self.workdir / "stores" / store, n_atoms)
        else:
            assert self.large is not None
            totals = self.large(self.workdir / "stores", *what)
        self.log("stores", seconds=time.perf_counter() - began, direct=direct, expected_bytes=int(expected), **totals)
        done.write_text(json.dumps({"facts": facts, "direct": direct, "totals": totals}), encoding="utf8")
        return atoms

    def _not_in_stores(self) -> frozenset[str]:
        return _NOT_IN_STORES - {"gate_bits"} if self.recipe.gate_share > 0 else _NOT_IN_STORES

    def _sampled(self, n: int) -> list[int]:
        if n >= len(self.derivations):
            return list(range(len(self.derivations)))
        chosen = np.random.default_rng(self.recipe.seed).choice(len(self.derivations), size=n, replace=False)
        return sorted(chosen.tolist())

    def gate(self) -> Gate:
        """The gate, trained unless the working folder has it already; an empty one if the recipe wants none."""
        if self.recipe.gate_bits == 0:
            return Gate()
        if self._gate is None:
            path = self.workdir / f"gate{self.recipe.gate_bits}.npz"
            if path.exists():
                with np.load(path) as held:
                    self._gate = Gate(held["weights"], tuple(held["shares"].tolist()), tuple(held["margins"].tolist()))
            else:
                bits, seed = self.recipe.gate_bits, self.recipe.seed
                gate = train_gate(self.grammar, self.head_table, self.derivations, bits, seed, self.log)
                temporary = path.with_suffix(".tmp.npz")
                np.savez(temporary, weights=gate.weights, shares=gate.shares, margins=gate.margins)
                os.replace(temporary, path)
                self._gate = gate
        return self._gate

    def _sieve(self) -> Sieve:
        """What keeps easy examples out of the stores; nothing if the recipe's `gate_share` is 0."""
        if self.recipe.gate_share == 0:
            return Sieve()
        gate = self.gate()
        least = gate.least(self.recipe.gate_share)
        return Sieve() if least == EVERYTHING else Sieve(gate.weights, least)

    def model(self, ensembles: dict[str, LabelEnsemble], atoms: AtomMap, named: bool = False) -> DtreeModel:
        """A model of the given ensembles; `named`: with what its hashed atoms stand for (takes a replay)."""
        ordered = [ensembles.get(name, empty_ensemble()) for name in (*self.lexicon.labels, SHIFT)]
        numbers = used_atoms(ordered, int(atoms.state[0]))
        used = compose(atoms, numbers)
        n_atoms = int(used.state[0])
        parts = np.zeros((n_atoms, k.PARTS_WIDTH), dtype=INDEX)
        if named and n_atoms:
            replayer = Replayer(self.grammar, self.head_table, self.table, used, n_atoms, parts)
            hashed = used.values[used.keys != 0]
            for n in self._sampled(self.recipe.atom_sentences):
                replayer.run(self.derivations[n])
                if n % 256 == 0 and bool((parts[hashed, 1] > 0).all()):
                    break
        recipe, renumbered = self.recipe, tuple(renumber(ensemble, numbers) for ensemble in ordered)
        return DtreeModel(
            self.lexicon, self.templates, self.heads, recipe.strategy, recipe.max_arity, recipe.edge_punctuation,
            self.preprocessing.steps, used, parts, renumbered, {**self.meta, "recipe": recipe.to_dict()}, self.gate(),
        )  # fmt: skip

    def evaluator(self, atoms: AtomMap):
        """The function that scores ensembles on the dev sentences for the λ path."""
        step = max(1, len(self.dev) // self.recipe.dev_sentences)
        dev = self.dev[::step]

        def evaluate(ensembles: dict[str, LabelEnsemble]) -> dict[str, float]:
            began = time.perf_counter()
            parser = DtreeParser(self.model(ensembles, atoms), SearchSettings(budget=self.recipe.dev_budget))
            scores = evaluate_parser(parser, dev)
            return {**scores, "seconds": time.perf_counter() - began}

        return evaluate

    def run(self) -> tuple[DtreeModel, PathResult]:
        """Train and return the model of the best λ; the log, checkpoints and the plot are in the working folder."""
        atoms = self.prepare()
        began = time.perf_counter()
        n_labels = len(self.lexicon.labels)
        labels = [Label(SHIFT, n_labels, "shift")] if self.recipe.strategy == "shift_reduce" else []
        labels += [Label(name, n, "top" if name == TOP else "window") for n, name in enumerate(self.lexicon.labels)]
        stores = {name: self.workdir / "stores" / name for name in STORES if name != "shift" or labels[0][0] == SHIFT}
        config = replace(self.recipe.path, learner=self.recipe.learner, n_workers=self.recipe.n_workers)
        evaluate = self.evaluator(atoms) if self.dev else None
        executor = self.executor
        pool = None
        if executor is None and self.recipe.n_workers > 1:
            pool = executor = worker_pool(self.recipe.n_workers)
        try:
            result = train_path(stores, labels, config, executor, self.workdir / "path", evaluate)
        finally:
            if pool is not None:
                pool.shutdown()
        self.log("path", seconds=time.perf_counter() - began, stopped=result.stopped, notes=result.notes)
        plot_path({self.recipe.name: result.rows}, self.workdir / "f1.svg")
        return self.model(result.ensembles, atoms, named=True), result


_NOT_IN_STORES = frozenset({"name", "learner", "path", "n_workers", "dev_sentences", "dev_budget", "gate_bits"})
_LATER = {"example_weights": "state", "gate_share": 0.0}
"""Settings that stores of an earlier version do not name, with the value they were made with."""


def build_lexicon(trees: Sequence[Tree], min_word_sentences: int) -> Lexicon:
    """Symbol tables of training trees: labels by name with TOP last, tags by name; the unknown tag is the commonest."""
    labels = sorted({label for tree in trees for label in tree.labels} - {TOP})
    counts = Counter(tag for tree in trees for tag in tree.tags)
    unknown = max(sorted(counts), key=lambda tag: counts[tag])
    words = frequent_words((tree.words for tree in trees), min_word_sentences)
    return Lexicon.build([*labels, TOP], sorted(counts), words, unknown)


def evaluate_parser(parser: DtreeParser, dev: Sequence[Sentence]) -> dict[str, float]:
    """PARSEVAL of a parser with the sentences' tags: f1 (all brackets) and f1_evalb, from 0 to 1."""
    figures = score_trees(dev, own_trees(parser, dev))[0].to_dict()
    return {"f1": figures["all"]["f1"], "f1_evalb": figures["evalb"]["f1"]}
