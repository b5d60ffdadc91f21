"""From treebank sentences to a PCFG with latent annotations."""

import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from spacy_dtparse.checks import check, share, truth, whole_number
from spacy_dtparse.dtypes import INDEX, OFFSET, SCORE
from spacy_dtparse.errors import ConfigError, TrainingDataError
from spacy_dtparse.features.pcfg.wordclasses import WordClasses
from spacy_dtparse.model.pcfg.latent_part import Emissions, LatentPart
from spacy_dtparse.model.pcfg.model import PcfgGrammar, PcfgModel
from spacy_dtparse.symbols import SymbolTable
from spacy_dtparse.trees import Recipe, Tree

from ..data.corpus import Sentence, training_tree
from ..runs.resuming import check_facts, save_arrays, saved_arrays
from .binarise import KINDS, PHRASE, TAG, Markov, Symbol, binarise
from .counting import RuleCounts, relative_frequencies
from .grammar import make_grammar
from .latent import (
    Backbone,
    LatentGrammar,
    LatentTrees,
    expectations,
    latent_totals,
    log_likelihood,
    merge,
    normalised,
    read_trees,
    smooth,
    split,
    spread,
    treebank_grammar,
)
from .lexicon import emissions

Log = Callable[..., None]
_FACTS, _ARRAYS = "trees or options", ("sizes", "rule_at", "rules", "word_at", "words")
"""What a kept cycle depends on, and what of a grammar is kept."""


@dataclass(frozen=True)
class LatentOptions:
    """How a latent grammar is trained.

    `markov`: of the observable symbols; vertical 1 and horizontal 0 leave the most to be learned. `cycles`: of
    splitting in two, EM and merging (Petrov et al. 2006); 0: instead `values` latent values for every symbol at once
    (Matsuzaki et al. 2005), from the treebank grammar disturbed by `noise`. `iterations`: most EM steps after a split;
    they end when the likelihood of every `hold_out`-th tree (0: none is held out) has not risen by a thousandth of a
    nat per tree for `patience` steps. `merge_share`: of the splits taken back; `merge_iterations`: EM steps after that,
    `smooth_iterations`: after smoothing. `smooth_rules`, `smooth_words`: see `latent.smooth`. `seeds`: a grammar for
    each; the parser multiplies them. `recipe`, `max_words`, `min_word_count`, `unseen_weight`, `variant_weight`,
    `given_tags`: see `grammar.PcfgOptions`. `candidates`: whether the model also gets a grammar of vertical order 2 and
    horizontal order 1 (or the orders of `markov`, where they are higher), whose best trees the parser can rerank.
    Raises ConfigError for values out of range.
    """

    markov: Markov = field(default_factory=lambda: Markov(1, 0, "center-head", 1))
    cycles: int = 4
    values: int = 16
    noise: float = 0.01
    iterations: int = 40
    hold_out: int = 20
    patience: int = 3
    merge_share: float = 0.5
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
        check(self, {
            "cycles": whole_number(0, 8), "values": whole_number(1, 64), "min_word_count": whole_number(1, 10**6),
            **dict.fromkeys(("iterations", "patience"), whole_number(1, 1000)),
            **dict.fromkeys(("hold_out", "merge_iterations", "smooth_iterations"), whole_number(0, 1000)),
            **dict.fromkeys(("noise", "merge_share", "smooth_rules", "smooth_words"), share()),
            **dict.fromkeys(("given_tags", "candidates"), truth()),
        })  # fmt: skip
        if self.hold_out == 1:
            raise ConfigError("hold_out is 1, which leaves no tree to learn from; give 0, or 2 and more")
        if not self.seeds:
            raise ConfigError("there are no seeds; give one for each grammar")


def train_latent(
    sentences: Iterable[Sentence],
    options: LatentOptions | None = None,
    meta: Mapping[str, Any] | None = None,
    threads: int = 1,
    workdir: Path | None = None,
    log: Log | None = None,
) -> PcfgModel:
    """A model with one latent grammar per seed. With a `workdir` a finished cycle is kept there and not trained again.

    `log` is called with facts of every cycle. Raises TrainingDataError when no sentence is left, or `workdir` holds the
    cycles of other trees or options.
    """
    options = options or LatentOptions()
    trees = [training_tree(sentence, options.recipe) for sentence in sentences]
    kept = [tree for tree in trees if options.max_words is None or len(tree.words) <= options.max_words]
    if not kept:
        raise TrainingDataError(f"none of {len(trees)} sentences is left to learn from; give trees, or more max_words")
    words = WordClasses.learn([tree.words for tree in kept], options.min_word_count)
    binary = [binarise(tree, options.markov) for tree in kept]
    classes = [words.encode(tree.words).tolist() for tree in kept]
    backbone, data, _ = read_trees(binary, classes)
    run = _Run(backbone, data, options, threads, workdir, log or (lambda **facts: None))
    grammars = [run.grammar(seed) for seed in options.seeds]

    order = sorted(range(len(backbone.symbols)), key=lambda s: (KINDS.index(backbone.symbols[s].kind), s))
    labels = SymbolTable(sorted({s.label for s in backbone.symbols if s.kind == PHRASE}))
    tags = SymbolTable(sorted({s.label for s in backbone.symbols if s.kind == TAG}))
    whole = treebank_grammar(backbone, data)
    export = _Export(backbone, data, words, order, options, threads)
    coarse = export.observable(whole, labels, tags)
    candidates = None
    if options.candidates:
        numbers = {backbone.symbols[s]: place for place, s in enumerate(order)}
        candidates = candidate_grammar(kept, options, words, numbers, labels, tags)
    return PcfgModel(
        labels,
        tags,
        words,
        coarse,
        coarse,
        options.recipe.steps,
        options.given_tags,
        {
            **(meta or {}),
            "sentences": len(kept),
            "left_out": len(trees) - len(kept),
            "options": describe_latent(options),
        },
        tuple(export.latent(grammar) for grammar in grammars),
        tuple(export.latent(grammar) for grammar in run.pruners),
        candidates,
    )


def candidate_grammar(
    trees: Sequence[Tree],
    options: LatentOptions,
    words: WordClasses,
    numbers: Mapping[Symbol, int],
    labels: SymbolTable,
    tags: SymbolTable,
) -> PcfgGrammar:
    """The grammar of relative frequencies whose best trees are reranked (Matsuzaki et al. 2005, section 4: vertical
    order 2, horizontal order 1), binarised like the latent grammar. `numbers`: of the latent grammar's symbols."""
    coarse = options.markov
    horizontal = None if coarse.horizontal is None else max(coarse.horizontal, 1)
    fine = Markov(max(coarse.vertical, 2), horizontal, coarse.binarisation, max(coarse.tag_vertical, 2))
    counts, coarse_of = RuleCounts(), {}
    for tree in trees:  # the two binary trees of one tree have the same shape
        binary = binarise(tree, fine)
        counts.add(binary, words.encode(tree.words).tolist())
        for symbol, projected in zip(binary.symbols, binarise(tree, coarse).symbols, strict=True):
            coarse_of[symbol] = numbers[projected]
    symbols = sorted(coarse_of, key=lambda s: (coarse_of[s], s))
    emitted = emissions(counts.tokens, symbols, words, options.unseen_weight, options.variant_weight)
    return make_grammar(
        symbols, [coarse_of[s] for s in symbols], relative_frequencies(counts.rules), counts.frequencies(symbols),
        emitted, labels, tags,
    )  # fmt: skip


def describe_latent(options: LatentOptions) -> dict[str, Any]:
    """The options as plain data, for a model's meta."""
    found = asdict(replace(options, recipe=Recipe(())))
    found["recipe"], found["seeds"] = list(options.recipe.steps), list(options.seeds)
    return found


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
        held = np.zeros(n, dtype=bool)
        if step and n >= step:
            held[::step] = True
        self.held_out = _chosen(self.trees, held) if held.any() else None
        self.train = _chosen(self.trees, ~held) if held.any() else self.trees

    def grammar(self, seed: int) -> LatentGrammar:
        """The grammar of one seed, from the last finished cycle in the working folder on."""
        options = self.options
        grammar = treebank_grammar(self.backbone, self.trees)
        if options.cycles == 0:
            held = self._held(seed, 0)
            if held is not None:
                return held
            grammar = spread(grammar, options.values, seed, options.noise)
            grammar = self._polish(self._em(grammar, seed, 0, options.iterations, True), seed, 0)
            self._keep(grammar, seed, 0)
            return grammar
        for cycle in range(1, options.cycles + 1):
            if cycle > 1 and cycle == options.cycles - 1 and seed == options.seeds[0]:
                self.pruners.append(grammar)
            held = self._held(seed, cycle)
            if held is not None:
                grammar = held
                continue
            grammar = split(grammar, 1000 * seed + cycle, options.noise)
            grammar = self._em(grammar, seed, cycle, options.iterations, True)
            expected = expectations(self.train, grammar, self.threads)
            grammar, loss = merge(self.train, grammar, expected, options.merge_share)
            self.log(seed=seed, cycle=cycle, step="merge", loss=loss, values=int(grammar.sizes.sum()))
            grammar = self._em(grammar, seed, cycle, options.merge_iterations, False)
            grammar = self._polish(grammar, seed, cycle)
            self._keep(grammar, seed, cycle)
        return grammar

    def _em(self, grammar: LatentGrammar, seed: int, cycle: int, steps: int, watch: bool) -> LatentGrammar:
        """EM steps; with `watch` until the held-out likelihood rises no more.

        What is logged is the mean of the trees that have one; a tree with a rule of its own has none.
        """
        began, best, waited, expected, done, share = time.perf_counter(), -np.inf, 0, None, 0, 1.0
        for done in range(1, steps + 1):
            expected = expectations(self.train, grammar, self.threads)
            grammar = normalised(self.backbone, grammar.sizes, expected.rules, expected.words)
            if watch and self.held_out is not None:
                smoothed = smooth(grammar, self.options.smooth_rules, self.options.smooth_words)
                log, lost = log_likelihood(self.held_out, smoothed)
                n = len(self.held_out.start) - 1
                found, share = log / n, 1.0 - lost / n
                waited = 0 if found > best + 1e-3 else waited + 1
                best = max(best, found)
                if waited >= self.options.patience and done > steps // 2:
                    break
        if expected is not None:
            self.log(
                seed=seed, cycle=cycle, step="em", iterations=done, log_likelihood=expected.log,
                held_out=best / share if np.isfinite(best) and share > 0.0 else None, values=int(grammar.sizes.sum()),
                parameters=grammar.n_parameters, seconds=time.perf_counter() - began,
            )  # fmt: skip
        return grammar

    def _polish(self, grammar: LatentGrammar, seed: int, cycle: int) -> LatentGrammar:
        """Smoothing after every further EM step; from all trees, the held-out ones too."""
        options = self.options
        for _ in range(options.smooth_iterations):
            smoothed = smooth(grammar, options.smooth_rules, options.smooth_words)
            expected = expectations(self.trees, smoothed, self.threads)
            grammar = normalised(self.backbone, grammar.sizes, expected.rules, expected.words)
        return smooth(grammar, options.smooth_rules, options.smooth_words)

    def _facts(self) -> str:
        described = describe_latent(self.options)
        used = sorted((k, v) for k, v in described.items() if k not in ("seeds", "cycles", "given_tags", "candidates"))
        return repr((used, len(self.trees.symbol), len(self.backbone.rules)))

    def _path(self, seed: int, cycle: int) -> Path | None:
        return None if self.workdir is None else self.workdir / f"seed{seed}.cycle{cycle}.npz"

    def _held(self, seed: int, cycle: int) -> LatentGrammar | None:
        path = self._path(seed, cycle)
        if path is None or not path.exists():
            return None
        with saved_arrays(path) as held:
            check_facts(path.parent, {_FACTS: str(held["facts"])}, {_FACTS: self._facts()})
            arrays = {name: held[name] for name in _ARRAYS}
        return LatentGrammar(self.backbone, **arrays)

    def _keep(self, grammar: LatentGrammar, seed: int, cycle: int) -> None:
        path = self._path(seed, cycle)
        if path is not None:
            arrays = {name: getattr(grammar, name) for name in _ARRAYS}
            save_arrays(path, {"facts": self._facts(), **arrays})


def _chosen(trees: LatentTrees, chosen: np.ndarray) -> LatentTrees:
    """The trees for which `chosen` bool (T,) is true."""
    lengths = np.diff(trees.start)
    nodes = np.repeat(chosen, lengths)
    start = np.concatenate([[0], np.cumsum(lengths[chosen])]).astype(OFFSET)
    return LatentTrees(start, trees.symbol[nodes], trees.left[nodes], trees.right[nodes], trees.rule[nodes])


@dataclass
class _Export:
    """Grammars as a model holds them: symbols in the order `order`, constituents first."""

    backbone: Backbone
    trees: LatentTrees
    words: WordClasses
    order: list[int]
    options: LatentOptions
    threads: int

    def observable(self, grammar: LatentGrammar, labels: SymbolTable, tags: SymbolTable) -> PcfgGrammar:
        """The treebank grammar, one latent value for each symbol."""
        number = {s: place for place, s in enumerate(self.order)}
        symbols = [self.backbone.symbols[s] for s in self.order]
        rules = [
            (tuple(number[s] for s in rule if s >= 0), float(p))
            for rule, p in zip(self.backbone.rules.tolist(), grammar.rules.tolist(), strict=True)
            if p > 0.0 and not (rule[2] < 0 and rule[0] == rule[1])
        ]
        binary, unary = (sorted(rule for rule in rules if len(rule[0]) == width) for width in (3, 2))
        shows = {PHRASE: labels, TAG: tags}
        emitted, frequency = self._emissions(grammar)
        return PcfgGrammar(
            tuple(f"{s}.{TAG}" if s.kind == TAG else str(s) for s in symbols),
            np.array([KINDS.index(s.kind) for s in symbols], dtype=np.int8),
            np.array([shows[s.kind].number(s.label) if s.kind in shows else -1 for s in symbols], dtype=INDEX),
            np.arange(len(symbols), dtype=INDEX),
            frequency,
            np.array([rule for rule, _ in binary], dtype=INDEX).reshape(-1, 3),
            np.minimum(np.log(np.array([p for _, p in binary], dtype=SCORE)), 0.0),
            np.array([rule for rule, _ in unary], dtype=INDEX).reshape(-1, 2),
            np.minimum(np.log(np.array([p for _, p in unary], dtype=SCORE)), 0.0),
            emitted,
        )

    def latent(self, grammar: LatentGrammar) -> LatentPart:
        """A latent grammar; of a rule from a symbol to itself nothing is kept."""
        number = np.argsort(np.array(self.order)).astype(INDEX)
        kept, blocks = [], []
        for r, (parent, left, right) in enumerate(self.backbone.rules.tolist()):
            block = grammar.rules[grammar.rule_at[r] : grammar.rule_at[r + 1]]
            if (right < 0 and parent == left) or not block.any():
                continue
            kept.append((number[parent], number[left], number[right] if right >= 0 else -1))
            blocks.append(block)
        return LatentPart(
            grammar.sizes[self.order].astype(INDEX),
            np.array(kept, dtype=INDEX).reshape(-1, 3),
            np.concatenate(blocks),
            self._emissions(grammar)[0],
        )

    def _emissions(self, grammar: LatentGrammar) -> tuple[Emissions, np.ndarray]:
        """(Emissions of all latent values, the share of each among all nodes)."""
        expected = expectations(self.trees, grammar, self.threads)
        names = [self._value(s, x) for s in self.order for x in range(int(grammar.sizes[s]))]
        counts: Counter[tuple[Symbol, int]] = Counter()
        for p, (tag, number) in enumerate(self.backbone.pairs.tolist()):
            for x in range(int(grammar.sizes[tag])):
                count = float(expected.words[grammar.word_at[p] + x])
                if count > FEW:
                    counts[self._value(tag, x), number] = count  # type: ignore[assignment]
        totals = latent_totals(grammar, expected)
        share = np.concatenate([totals[s] for s in self.order])
        options = self.options
        made = emissions(counts, names, self.words, options.unseen_weight, options.variant_weight)
        return made, share / share.sum()

    def _value(self, symbol: int, value: int) -> Symbol:
        return self.backbone.symbols[symbol]._replace(above=(str(value),))


FEW = 1e-6
"""Expected counts below this are none."""
