"""Train a PCFG with latent annotations on treebank sentences."""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from spacy_dtparse.checks import boolean, check, fraction, integer
from spacy_dtparse.dtypes import INDEX
from spacy_dtparse.errors import ConfigError
from spacy_dtparse.model_io.segments import any_positive
from spacy_dtparse.pcfgla.features import WordClasses
from spacy_dtparse.pcfgla.model.latent_part import Emissions, LatentPart
from spacy_dtparse.pcfgla.model.model import PcfgGrammar, PcfgModel
from spacy_dtparse.stored_names import stored_as, to_stored
from spacy_dtparse.trees import Recipe, Tree

from ..data.corpus import Sentence
from ..runs.lock import lock_dir
from ..runs.resuming import check_conditions, load_arrays, save_arrays
from . import latent as em
from .binarise import KINDS, Markov, Symbol, binarise
from .counting import emissions, relative_frequencies
from .grammar import count_trees, label_tables, make_grammar, training_trees
from .latent import Backbone, LatentGrammar, LatentTrees, offsets, treebank_grammar

Log = Callable[..., None]
_CONDITIONS, _ARRAYS = "trees or options", ("sizes", "rules", "words")
"""Names for messages and checkpoints: the conditions of a saved cycle, and the saved arrays of a grammar."""

FEW = 1e-6
"""Lower expected counts are ignored."""


@stored_as(
    "markov cycles values noise iterations hold_out patience merge_share merge_iterations smooth_iterations "
    "smooth_rules smooth_words seeds recipe max_words min_word_count unseen_weight variant_weight given_tags "
    "candidates"
)
@dataclass(frozen=True)
class LatentOptions:
    """Options for training a latent grammar.

    `markov`: annotation of the observable symbols; vertical 1 and horizontal 0 leave the most to EM. `cycles`: of
    splitting in two, EM and merging (Petrov et al. 2006); 0: instead `values` latent values for every symbol at once
    (Matsuzaki et al. 2005), from the treebank grammar perturbed by `noise`. `iterations`: maximum EM steps after a
    split; they end when the likelihood of every `hold_out`-th tree (0: none is held out) has not risen by a thousandth
    of a nat per tree for `patience` steps. `merge_fraction`: fraction of the splits to undo; `merge_iterations`: EM
    steps after that, `smooth_iterations`: after smoothing. `smooth_rules`, `smooth_words`: see `latent.smooth`.
    `seeds`: one grammar is trained for each; the parser uses their product. `recipe`, `max_words`, `min_word_count`,
    `unseen_weight`, `variant_weight`, `given_tags`: see `grammar.PcfgOptions`. `candidates`: whether the model also
    gets a grammar of vertical order 2 and horizontal order 1 (or the orders of `markov` if they are higher), whose best
    trees the parser can rerank. Raises ConfigError for values out of range.
    """

    markov: Markov = field(default_factory=lambda: Markov(1, 0, "center-head", 1))
    cycles: int = 4
    values: int = 16
    noise: float = 0.01
    iterations: int = 40
    hold_out: int = 20
    patience: int = 3
    merge_fraction: float = 0.5
    merge_iterations: int = 10
    smooth_iterations: int = 5
    smooth_rules: float = 0.01
    smooth_words: float = 0.1
    seeds: tuple[int, ...] = (0,)
    recipe: Recipe = Recipe.PLAIN
    max_words: int | None = None
    min_word_count: int = 3
    unseen_weight: float = 1.0
    variant_weight: float = 10.0
    given_tags: bool = False
    candidates: bool = False

    def __post_init__(self) -> None:
        check(
            self,
            {
                "cycles": integer(0, 8),
                "values": integer(1, 64),
                "min_word_count": integer(1, 10**6),
                **dict.fromkeys(("iterations", "patience"), integer(1, 1000)),
                **dict.fromkeys(("hold_out", "merge_iterations", "smooth_iterations"), integer(0, 1000)),
                **dict.fromkeys(("noise", "merge_fraction", "smooth_rules", "smooth_words"), fraction()),
                **dict.fromkeys(("given_tags", "candidates"), boolean()),
            },
        )
        if self.hold_out == 1:
            raise ConfigError("hold_out is 1, which leaves no training tree; give 0, or at least 2")
        if not self.seeds:
            raise ConfigError("no seeds; give one for each grammar")


@lock_dir("workdir")
def train_latent(
    sentences: Iterable[Sentence],
    options: LatentOptions | None = None,
    meta: Mapping[str, Any] | None = None,
    threads: int = 1,
    workdir: Path | None = None,
    log: Log | None = None,
) -> PcfgModel:
    """Train a model with one latent grammar per seed. Finished cycles are saved in `workdir`, if given, and skipped.

    `log` is called with the metrics of every cycle. Raises TrainingDataError if no sentence is left, or `workdir` holds
    cycles for other trees or options.
    """
    options = options or LatentOptions()
    trees, words, metadata = training_trees(sentences, options.recipe, options.max_words, options.min_word_count)
    binary = [binarise(tree, options.markov) for tree in trees]
    backbone, data = em.encode_trees(binary, [words.encode(tree.words).tolist() for tree in trees])
    run = _Run(backbone, data, options, threads, workdir, log or (lambda **metadata: None))
    grammars = [run.grammar(seed) for seed in options.seeds]

    export = _Export(run, words)
    coarse = export.observable(treebank_grammar(backbone, data))
    return PcfgModel(
        *export.tables,
        words,
        coarse,
        coarse,
        options.recipe.steps,
        options.given_tags,
        {**(meta or {}), **metadata, "options": describe_latent(options)},
        tuple(export.latent(grammar) for grammar in grammars),
        tuple(export.latent(grammar) for grammar in run.pruners),
        export.candidates(trees) if options.candidates else None,
    )


def describe_latent(options: LatentOptions) -> dict[str, Any]:
    """The options as plain data, for a model's meta."""
    return {**to_stored(options), "recipe": list(options.recipe.steps), "seeds": list(options.seeds)}


@dataclass
class _Run:
    backbone: Backbone
    trees: LatentTrees
    options: LatentOptions
    threads: int
    workdir: Path | None
    log: Log
    pruners: list[LatentGrammar] = field(default_factory=list)

    def __post_init__(self) -> None:
        step, n = self.options.hold_out, len(self.trees.start) - 1
        is_held_out = np.zeros(n, dtype=bool)
        if step and n >= step:
            is_held_out[::step] = True
        self.held_out = _select_trees(self.trees, is_held_out) if is_held_out.any() else None
        self.train = _select_trees(self.trees, ~is_held_out)

    def grammar(self, seed: int) -> LatentGrammar:
        """Train the grammar of one seed, starting from the last finished cycle in the working folder."""
        options = self.options
        grammar = treebank_grammar(self.backbone, self.trees)
        for cycle in range(1, options.cycles + 1) if options.cycles else (0,):
            if cycle > 1 and cycle == options.cycles - 1 and seed == options.seeds[0]:
                self.pruners.append(grammar)
            path = None if self.workdir is None else self.workdir / f"seed{seed}.cycle{cycle}.npz"
            saved = None if path is None else load_arrays(path)
            if path is not None and saved is not None:
                check_conditions(path.parent, {_CONDITIONS: str(saved["facts"])}, {_CONDITIONS: self._conditions()})
                grammar = LatentGrammar(self.backbone, **{name: saved[name] for name in _ARRAYS})
                continue
            grammar = self._polish(self._train_cycle(grammar, seed, cycle))
            if path is not None:
                save_arrays(path, {"facts": self._conditions(), **{name: getattr(grammar, name) for name in _ARRAYS}})
        return grammar

    def _train_cycle(self, grammar: LatentGrammar, seed: int, cycle: int) -> LatentGrammar:
        options = self.options
        if cycle == 0:
            return self._em(
                em.split_values(grammar, seed, options.noise, options.values), seed, 0, options.iterations, True
            )
        grammar = em.split_values(grammar, 1000 * seed + cycle, options.noise)
        grammar = self._em(grammar, seed, cycle, options.iterations, True)
        expected = em.expectations(self.train, grammar, self.threads)
        grammar, loss = em.merge_values(self.train, grammar, expected, options.merge_fraction)
        self.log(seed=seed, cycle=cycle, step="merge", loss=loss, values=int(grammar.sizes.sum()))
        return self._em(grammar, seed, cycle, options.merge_iterations, False)

    def _em(self, grammar: LatentGrammar, seed: int, cycle: int, steps: int, watch: bool) -> LatentGrammar:
        """Run EM steps; with `watch` until the held-out likelihood stops rising.

        Logs the mean held-out log likelihood of the trees with non-zero probability; a tree with a unique rule has
        probability 0.
        """
        started, best, waited, expected, n_steps, fraction = time.perf_counter(), -np.inf, 0, None, 0, 1.0
        for n_steps in range(1, steps + 1):
            expected = em.expectations(self.train, grammar, self.threads)
            grammar = em.normalise(self.backbone, grammar.sizes, expected.rules, expected.words)
            if watch and self.held_out is not None:
                smoothed = em.smooth(grammar, self.options.smooth_rules, self.options.smooth_words)
                log, lost = em.log_likelihood(self.held_out, smoothed)
                n = len(self.held_out.start) - 1
                found, fraction = log / n, 1.0 - lost / n
                waited = 0 if found > best + 1e-3 else waited + 1
                best = max(best, found)
                if waited >= self.options.patience and n_steps > steps // 2:
                    break
        if expected is not None:
            self.log(
                seed=seed, cycle=cycle, step="em", iterations=n_steps, log_likelihood=expected.log,
                held_out=best / fraction if np.isfinite(best) and fraction > 0.0 else None,
                values=int(grammar.sizes.sum()), parameters=grammar.n_parameters, seconds=time.perf_counter() - started,
            )  # fmt: skip
        return grammar

    def _polish(self, grammar: LatentGrammar) -> LatentGrammar:
        """Run further EM steps on all trees, including the held-out ones, with smoothing after each."""
        options = self.options
        for _ in range(options.smooth_iterations):
            smoothed = em.smooth(grammar, options.smooth_rules, options.smooth_words)
            expected = em.expectations(self.trees, smoothed, self.threads)
            grammar = em.normalise(self.backbone, grammar.sizes, expected.rules, expected.words)
        return em.smooth(grammar, options.smooth_rules, options.smooth_words)

    def _conditions(self) -> str:
        described = describe_latent(self.options)
        used = sorted((k, v) for k, v in described.items() if k not in ("seeds", "cycles", "given_tags", "candidates"))
        return repr((used, len(self.trees.symbol), len(self.backbone.rules)))


def _select_trees(trees: LatentTrees, selected: np.ndarray) -> LatentTrees:
    """Select the trees for which `selected` bool (T,) is true."""
    lengths = np.diff(trees.start)
    nodes = np.repeat(selected, lengths)
    return LatentTrees(offsets(lengths[selected]), *(column[nodes] for column in trees[1:]))


class _Export:
    """Converts the grammars of a run to the format of models: symbols in the order `order`, constituents first."""

    def __init__(self, run: _Run, words: WordClasses):
        self.run, self.words, self.backbone = run, words, run.backbone
        known = run.backbone.symbols
        self.order = sorted(range(len(known)), key=lambda s: (KINDS.index(known[s].kind), s))
        self.symbols = [known[s] for s in self.order]
        self.tables = label_tables(known)

    def observable(self, grammar: LatentGrammar) -> PcfgGrammar:
        """The treebank grammar, one latent value for each symbol."""
        known = self.backbone.symbols
        probabilities = {
            tuple(known[s] for s in rule if s >= 0): p
            for rule, p in zip(self.backbone.rules.tolist(), grammar.rules.tolist(), strict=True)
            if p > 0.0 and not (rule[2] < 0 and rule[0] == rule[1])
        }
        emitted, frequency = self._emissions(grammar)
        return make_grammar(self.symbols, range(len(known)), probabilities, frequency, emitted, *self.tables)

    def candidates(self, trees: Sequence[Tree]) -> PcfgGrammar:
        """The grammar of relative frequencies whose best trees the parser can rerank (Matsuzaki et al. 2005, section 4:
        vertical order 2, horizontal order 1), binarised like the latent grammar."""
        options, coarse = self.run.options, self.run.options.markov
        ids = {symbol: i for i, symbol in enumerate(self.symbols)}
        horizontal = None if coarse.horizontal is None else max(coarse.horizontal, 1)
        fine = Markov(max(coarse.vertical, 2), horizontal, coarse.binarisation, max(coarse.tag_vertical, 2))
        counts, coarse_of = count_trees(trees, fine, self.words), {}
        for tree in trees:  # the two binary trees of one tree have the same shape
            pairs = zip(binarise(tree, fine).symbols, binarise(tree, coarse).symbols, strict=True)
            coarse_of.update({symbol: ids[projected] for symbol, projected in pairs})
        symbols = sorted(coarse_of, key=lambda s: (coarse_of[s], s))
        emitted = emissions(counts.tokens, symbols, self.words, options.unseen_weight, options.variant_weight)
        return make_grammar(
            symbols,
            [coarse_of[s] for s in symbols],
            relative_frequencies(counts.rules),
            counts.frequencies(symbols),
            emitted,
            *self.tables,
        )

    def latent(self, grammar: LatentGrammar) -> LatentPart:
        """A latent grammar, without unary rules from a symbol to itself."""
        rules, rule_at = self.backbone.rules, grammar.blocks.rule_at
        new_ids = np.append(np.argsort(self.order), -1).astype(INDEX)  # no right child stays -1
        used = any_positive(grammar.rules, rule_at) & ((rules[:, 2] >= 0) | (rules[:, 0] != rules[:, 1]))
        sizes, blocks = grammar.sizes[self.order].astype(INDEX), grammar.rules[np.repeat(used, np.diff(rule_at))]
        return LatentPart(sizes, new_ids[rules[used]], blocks, self._emissions(grammar)[0])

    def _emissions(self, grammar: LatentGrammar) -> tuple[Emissions, np.ndarray]:
        """(Emissions of all latent values, relative frequency of each among all nodes)."""
        expected = em.expectations(self.run.trees, grammar, self.run.threads)
        values = [
            [symbol._replace(above=(str(x),)) for x in range(size)]
            for symbol, size in zip(self.backbone.symbols, grammar.sizes.tolist(), strict=True)
        ]
        names = [name for s in self.order for name in values[s]]
        counts: dict[tuple[Symbol, int], float] = {}
        for start, (tag, number) in zip(grammar.blocks.word_at, self.backbone.pairs.tolist(), strict=False):
            for x, name in enumerate(values[tag]):
                if expected.words[start + x] > FEW:
                    counts[name, number] = float(expected.words[start + x])
        totals = em.latent_totals(grammar, expected)
        frequency = np.concatenate([totals[s] for s in self.order])
        options = self.run.options
        emitted = emissions(counts, names, self.words, options.unseen_weight, options.variant_weight)
        return emitted, frequency / frequency.sum()
