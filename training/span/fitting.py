"""From treebank sentences to a span model: one run for each network, in steps that can be resumed."""

import hashlib
import math
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field
from itertools import count, islice
from pathlib import Path
from typing import Any

import numpy as np

from spacy_dtparse.checks import check, real_number, share, whole_number
from spacy_dtparse.dtypes import REAL
from spacy_dtparse.errors import ConfigError, TrainingDataError
from spacy_dtparse.features.span.wordparts import UNKNOWN_WORD, WORD, WordParts, parts_of
from spacy_dtparse.kernels.span.network import SpanNetwork
from spacy_dtparse.model.span.model import LONGEST_CHAIN, MAX_CHAINS, BareTables, Chain, PackedNetwork, SpanModel
from spacy_dtparse.parsers.span import SpanParser
from spacy_dtparse.stored_names import stored_as, to_stored
from spacy_dtparse.trees import TOP

from ..data.corpus import Sentence
from ..data.evaluate import own_trees, score_trees
from ..data.spans import SpanExample, chain_numbers, count_chains, make_example
from ..data.word_vectors import WordVectors
from ..recurrent.layers import as_network, values_of
from ..runs.resuming import as_array, as_facts, check_facts, save_arrays, saved_arrays
from ..runs.telling import Tell
from .bare import bare_tables, without_orphans
from .network import Dropout, Shape, Trainer, first_values
from .taught import Mixed, TaughtExamples, Teaching, believed_examples, example_rows, taught_words

_DROPOUT, _ORDER = 1, 2
"""What random numbers are for, last in the keys of their generators."""
_KEEP_EVERY = 120.0
"""Seconds after which a run's state is kept at the latest."""


@stored_as(
    "shape", "dropout", "seeds", "epochs", "more_epochs", "repeats", "batch", "rate", "fine_rate", "warm", "average",
    "least_word", "least_part", "least_chain", "most_words", "hide", "max_words", "judge_every", "teacher_share",
    "taught_weight",
)  # fmt: skip
@dataclass(frozen=True)
class SpanOptions:
    """How the networks are trained.

    `seeds`: a network for each; the parser multiplies them. `epochs`: passes over `train`; with `more` trees (a
    teacher's) of them `more_epochs` passes over those, among which the treebank's come `repeats` times, and then
    `epochs` over the treebank alone. `batch`: tokens of a step. `rate`: of the optimiser, reached after `warm` steps
    and let down along a cosine to a fiftieth; `fine_rate`: where the treebank alone comes after `more`, in its place.
    `average`: share of the running means of all values, which are what is kept of a run, that a step leaves in them.
    `least_word`, `least_part`, `least_chain`: how often a word, an affix, a chain of labels must occur to be listed.
    `most_words`: how many words, suffixes, prefixes are listed at the most. `hide`: see `examples.make_example`.
    `max_words`: longer sentences are left out of training. `judge_every`: passes between looks at the development
    trees. `teacher_share`: how much of what is learned from a teacher's trees are the beliefs of another, a span
    parser. `taught_weight`: of sentences of shards.

    Raises ConfigError for values out of range.
    """

    shape: Shape = field(default_factory=Shape)
    dropout: Dropout = field(default_factory=Dropout)
    seeds: tuple[int, ...] = (0, 1)
    epochs: float = 30.0
    more_epochs: float = 6.0
    repeats: int = 3
    batch: int = 800
    rate: float = 2e-3
    fine_rate: float = 7e-4
    warm: int = 200
    average: float = 0.999
    least_word: int = 2
    least_part: int = 3
    least_chain: int = 2
    most_words: int = 40_000
    hide: float = 0.8
    max_words: int = 100
    judge_every: float = 5.0
    teacher_share: float = 0.6
    taught_weight: float = 1.0

    def __post_init__(self) -> None:
        if not self.seeds or len(set(self.seeds)) != len(self.seeds):
            raise ConfigError(f"seeds are {list(self.seeds)}; give one or more different whole numbers")
        above = "epochs batch rate fine_rate warm judge_every repeats max_words most_words"
        check(self, dict.fromkeys(above.split(), real_number(0, above=True)))
        check(self.dropout, dict.fromkeys(("table", "layers", "projections"), share()), "dropout")
        check(self.shape, dict.fromkeys(("width", "units", "layers", "projection"), whole_number(1)))


@dataclass(frozen=True)
class Phase:
    """A part of a run: passes over examples at a greatest rate."""

    examples: Sequence[SpanExample]
    epochs: float
    rate: float

    def n_steps(self, batch: int) -> int:
        """Steps of so many tokens."""
        return max(1, round(self.epochs * int(example_rows(self.examples).sum()) / batch))


def passes(examples: Sequence[SpanExample], size: int, key: tuple[int, ...]) -> Iterator[list[SpanExample]]:
    """Batches of at least `size` rows without end, pass after pass; a pass's random order depends on `key` and its
    number alone, so that a run which was cut finds its place again. The last batch of a pass may be smaller."""
    for number in count():
        batch: list[SpanExample] = []
        for place in np.random.default_rng((*key, number, _ORDER)).permutation(len(examples)):
            batch.append(examples[place])
            if sum(len(example.numbers) for example in batch) >= size:
                yield batch
                batch = []
        if batch:
            yield batch


@dataclass(frozen=True)
class Material:
    """What all networks of a model learn from: lists, and the examples of the treebank and of a teacher."""

    words: WordParts
    chains: tuple[Chain, ...]
    train: tuple[SpanExample, ...]
    more: Sequence[SpanExample]
    dev: tuple[Sentence, ...]
    bare: BareTables
    start: SpanModel | None = None
    vectors: WordVectors | None = None


def make_material(
    train: Sequence[Sentence],
    dev: Sequence[Sentence],
    options: SpanOptions,
    more: Sequence[Sentence] = (),
    teacher: SpanParser | None = None,
    executor: Executor | None = None,
    shards: Sequence[Path] = (),
    start: SpanModel | None = None,
    vectors: WordVectors | None = None,
) -> Material:
    """Lists and examples; with a `teacher`, `more` are mixed with its beliefs, which an `executor` may look up.
    `shards`: what another teacher believes of more sentences. `start`: a model whose networks go on learning, with its
    lists of words and labels. `vectors`: what the table's rows of words begin with.

    Raises TrainingDataError when there is no sentence, no constituent, or no sentence short enough to learn from.
    """
    if not train:
        raise TrainingDataError("there is no sentence to learn from; give treebanks with trees")
    tokens = taught_words(shards)
    for s in (*train, *more):
        tokens.update(zip(s.tree.words, s.tags, strict=True))
    parts = parts_of(tokens)
    words = WordParts.build(parts, options.least_word, options.least_part, options.most_words)
    counted = count_chains(sentence.tree for sentence in train)
    ordered = sorted(counted, key=lambda chain: (-counted[chain], chain))
    ordered = [chain for chain in ordered if len(chain) <= LONGEST_CHAIN][: MAX_CHAINS - 1]
    chains: tuple[Chain, ...] = ((), *([c for c in ordered if counted[c] >= options.least_chain] or ordered))
    if start is not None:
        words, chains = start.words, start.chains
    if len(chains) == 1:
        raise TrainingDataError(f"no tree has a constituent below {TOP}; give treebanks with constituents")

    known = words, chain_numbers(chains), parts.words, options.hide
    short, shorter = (
        [sentence for sentence in sentences if len(sentence.tags) <= options.max_words] for sentences in (train, more)
    )
    if not short:
        raise TrainingDataError(f"every sentence has more than {options.max_words} words; set max_words higher")
    examples = tuple(make_example(sentence, *known) for sentence in short)
    if teacher is None:
        taught = tuple(make_example(sentence, *known) for sentence in shorter)
    else:
        taught = tuple(believed_examples(Teaching(teacher, options.teacher_share, *known), shorter, executor))
    more_examples: Sequence[SpanExample] = taught
    if shards:
        believed = TaughtExamples(shards, *known, options.max_words, options.taught_weight)
        more_examples = Mixed(taught, believed) if taught else believed
    labels = tuple(sorted({label for chain in chains for label in chain}))
    trees, tags = [sentence.tree for sentence in train], list(words.tables[1])
    bare = without_orphans(bare_tables(trees, labels, tags), trees, labels, tags)
    return Material(words, chains, examples, more_examples, tuple(dev), bare, start, vectors)


def train_network(
    material: Material, options: SpanOptions, seed: int, workdir: Path | None = None, log: Tell = lambda **_: None
) -> PackedNetwork:
    """One network; where the material has a model to start from, the one of its networks that has the seed's place.
    `workdir` keeps its state, from which a killed run goes on to the same network, bit by bit.

    Raises TrainingDataError when what it keeps is damaged, or of other options or data.
    """
    rng = np.random.default_rng(seed)
    if material.start is None:
        values = first_values(material.words.size, len(material.chains), options.shape, rng)
        if material.vectors is not None:
            begin_with(values["table"], material.words, material.vectors, rng)
    else:
        values = values_of(material.start.networks[options.seeds.index(seed)])
    trainer = Trainer(values, options.dropout, options.average)
    phases = [Phase(material.train, options.epochs, options.rate)]
    if material.more:
        mixed = Mixed(*[material.train] * options.repeats, material.more)
        alone = Phase(material.train, options.epochs, options.fine_rate)
        phases = [Phase(mixed, options.more_epochs, options.rate), alone]
    state = None if workdir is None else workdir / f"network{seed}.npz"
    facts = {} if state is None else run_facts(material, options)
    done = 0
    if state is not None and state.is_file():
        with saved_arrays(state) as kept:
            check_facts(state.parent, as_facts(kept["facts"]), facts)
            trainer.restore(kept)
        done = trainer.steps
        log(seed=seed, resumed=done)
    total = sum(phase.n_steps(options.batch) for phase in phases)
    first, began, kept_at = 0, time.perf_counter(), time.perf_counter()
    for number, phase in enumerate(phases):
        steps = phase.n_steps(options.batch)
        per_pass = int(example_rows(phase.examples).sum()) / options.batch
        losses, since = np.zeros(2), 0
        for step, batch in enumerate(islice(passes(phase.examples, options.batch, (seed, number)), steps)):
            if first + step < done:
                continue
            warm = min(1.0, (step + 1) / options.warm) if number == 0 else 1.0
            rate = phase.rate * warm * (0.02 + 0.98 * 0.5 * (1 + math.cos(math.pi * step / steps)))
            losses += trainer.step(batch, np.random.default_rng((seed, number, step, _DROPOUT)), rate)
            since += 1
            looks = [int(place / per_pass / options.judge_every) for place in (step, step + 1)]
            judged = step + 1 == steps or looks[1] > looks[0]
            if state is not None and (judged or time.perf_counter() - kept_at > _KEEP_EVERY):
                kept_at = time.perf_counter()
                save_arrays(state, {"facts": as_array(facts), **trainer.state()})
            if judged:
                figures = {f"dev_{name}": f1 for name, f1 in judge(material, trainer).items()}
                log(
                    seed=seed, phase=number, epoch=round((step + 1) / per_pass, 1), step=first + step + 1, of=total,
                    brackets=losses[0] / since, labels=losses[1] / since, **figures,
                    seconds=round(time.perf_counter() - began),
                )  # fmt: skip
                losses, since = np.zeros(2), 0
        first += steps
    return PackedNetwork.pack(as_network(SpanNetwork, trainer.averages))


def make_model(material: Material, packed: Sequence[PackedNetwork], meta: dict[str, Any]) -> SpanModel:
    """The model of some networks."""
    return SpanModel(material.words, material.chains, tuple(packed), meta, material.bare)


def judge(material: Material, trainer: Trainer) -> dict[str, float]:
    """F1 of all brackets on the development sentences by treebank, in per cent, of the averaged network."""
    if not material.dev:
        return {}
    parser = SpanParser(make_model(material, [PackedNetwork.pack(as_network(SpanNetwork, trainer.averages))], {}))
    _, reports = score_trees(material.dev, own_trees(parser, material.dev))
    return {name: round(100 * report.to_dict()["all"]["f1"], 2) for name, report in reports.items()}


def run_facts(material: Material, options: SpanOptions) -> dict[str, Any]:
    """What a network depends on beside its seed, as plain data: options, and digests of lists and examples."""
    return {
        "options": to_stored(options, without=("seeds", "judge_every")),
        "words": _digest(material.words.to_dict()),
        "labels": _digest(material.chains),
        "trees": _digest(*material.train),
        "trees of a teacher": _more_digest(material.more),
        "start": None if material.start is None else material.start.fingerprint(),
        "vectors": None if material.vectors is None else _digest(*material.vectors),
    }


def _more_digest(examples: Sequence[SpanExample]) -> str:
    if isinstance(examples, Mixed):
        return _digest([_more_digest(part) for part in examples.parts])
    if isinstance(examples, TaughtExamples):
        return hashlib.sha256(examples.packed()).hexdigest()[:16]
    return _digest(*examples)


def _digest(*parts: Any) -> str:
    """Digest of plain data and of examples (16 hex digits)."""
    digest = hashlib.sha256()
    for part in parts:
        for value in vars(part).values() if isinstance(part, SpanExample) else [part]:
            if isinstance(value, np.ndarray):
                digest.update(repr(value.shape).encode() + np.ascontiguousarray(value).tobytes())
            else:
                digest.update(repr(value).encode() + b"\0")
    return digest.hexdigest()[:16]


_SPREAD = REAL(0.4)
"""Root mean square of the rows, as of those drawn at random (`network.first_values`)."""


def reduced(found: WordVectors, width: int, rng: np.random.Generator) -> np.ndarray:
    """float32 (words, width): the vectors along their principal directions (of words weighted by the root of their
    counts), each divided by the root of its spread, turned at random so that no column is greater than the others, with
    a root mean square of 1. Raises TrainingDataError where they are narrower than `width`."""
    if found.vectors.shape[1] < width:
        raise TrainingDataError(
            f"the word vectors have {found.vectors.shape[1]} numbers, the table {width}; set shape.width lower"
        )
    weights = np.sqrt(found.counts).astype(REAL)
    weights /= weights.sum()
    centred = found.vectors - weights @ found.vectors
    spreads, directions = np.linalg.eigh((centred * weights[:, None]).T @ centred)
    best = np.argsort(-spreads)[:width]
    along = centred @ directions[:, best] / np.maximum(spreads[best], 1e-12) ** 0.25
    turn = np.linalg.qr(rng.standard_normal((width, width)))[0]
    along = along @ turn
    return (along / np.sqrt((weights @ np.square(along)).mean())).astype(REAL)


def begin_with(table: np.ndarray, words: WordParts, found: WordVectors, rng: np.random.Generator) -> int:
    """Set the rows of words that have a vector, `table` float32 (rows, width) being changed, and those of words not
    listed to the mean of the rarest tenth; returns how many words had one. Raises as `reduced`."""
    listed = list(words.tables[WORD])
    place = {word: number for number, word in enumerate(found.words)}
    at = np.array([place.get(word, -1) for word in listed], dtype=np.int64)
    rows = words.encode(listed, [""] * len(listed))[1:-1, WORD]
    vectors = _SPREAD * reduced(found, table.shape[1], rng)
    table[rows[at >= 0]] = vectors[at[at >= 0]]
    table[UNKNOWN_WORD] = vectors[np.argsort(found.counts)[: max(1, len(vectors) // 10)]].mean(axis=0)
    return int((at >= 0).sum())
