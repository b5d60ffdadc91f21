"""Train a span model from treebank sentences: one run per network, resumable at any step."""

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
"""Purposes of random numbers: the last part of their generators' keys."""
_KEEP_EVERY = 120.0
"""Maximum number of seconds between two checkpoints of a run."""


@stored_as(
    "shape", "dropout", "seeds", "epochs", "more_epochs", "repeats", "batch", "rate", "fine_rate", "warm", "average",
    "least_word", "least_part", "least_chain", "most_words", "hide", "max_words", "judge_every", "teacher_share",
    "taught_weight",
)  # fmt: skip
@dataclass(frozen=True)
class SpanOptions:
    """Training options of the networks.

    `seeds`: one network per seed; the parser multiplies their probabilities. `epochs`: passes over the treebank. With
    a teacher's trees, training first makes `pretrain_epochs` passes over them, mixed with `treebank_repeats` copies of
    the treebank, and then `epochs` passes over the treebank alone. `batch_tokens`: tokens per step. `learning_rate`:
    peak rate of the optimiser, reached after `warmup_steps` and decayed along a cosine to a fiftieth;
    `finetune_learning_rate`: peak rate of the passes over the treebank after pretraining. `ema_decay`: decay of the
    running means of all parameters; the trained network consists of these means. `min_word_count`, `min_affix_count`,
    `min_chain_count`: occurrences needed to list a word, an affix, a label chain. `max_vocab`: maximum number of listed
    words, suffixes, prefixes (of each). `word_dropout`: see `data.spans.make_example`. `max_words`: longer sentences
    are excluded from training. `eval_every`: passes between two evaluations on the development trees.
    `soft_target_weight`: weight of a span parser's marginals as training targets, relative to the teacher's trees.
    `distill_weight`: weight of sentences of shards.

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
    """A part of a run: examples, the number of passes over them, and the peak learning rate."""

    examples: Sequence[SpanExample]
    epochs: float
    rate: float

    def n_steps(self, batch: int) -> int:
        """The number of steps of `batch` tokens."""
        return max(1, round(self.epochs * int(example_rows(self.examples).sum()) / batch))


def passes(examples: Sequence[SpanExample], size: int, key: tuple[int, ...]) -> Iterator[list[SpanExample]]:
    """Yield batches of at least `size` rows, pass after pass, endlessly. The random order of a pass depends only on
    `key` and the index of the pass, so that an interrupted run can be resumed. The last batch of a pass may be
    smaller."""
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
    """Training data of all networks of a model: vocabularies, and examples of the treebank and of a teacher."""

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
    """Build vocabularies and examples.

    `teacher`: a span parser whose marginals are mixed with the trees of `more`; an `executor` may compute them.
    `shards`: files with another teacher's marginals of more sentences. `start`: a model whose networks are trained
    further, with its vocabularies of words and labels. `vectors`: initial values of the table's rows of words.

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
    """Train one network. If the data include a model to start from, continue its network at the index of the seed.
    `workdir` stores the state of the run; a killed run resumes from it and gives the same network, bit by bit.

    Raises TrainingDataError when the stored state is damaged, or belongs to other options or data.
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
    """Build the model of some networks."""
    return SpanModel(material.words, material.chains, tuple(packed), meta, material.bare)


def judge(material: Material, trainer: Trainer) -> dict[str, float]:
    """F1 of all brackets of the averaged network on the development sentences, in per cent, by treebank."""
    if not material.dev:
        return {}
    parser = SpanParser(make_model(material, [PackedNetwork.pack(as_network(SpanNetwork, trainer.averages))], {}))
    _, reports = score_trees(material.dev, own_trees(parser, material.dev))
    return {name: round(100 * report.to_dict()["all"]["f1"], 2) for name, report in reports.items()}


def run_facts(material: Material, options: SpanOptions) -> dict[str, Any]:
    """Everything except the seed that determines a network, as plain data: options, digests of lists and examples."""
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
"""Root mean square of the rows, equal to that of random rows (`network.first_values`)."""


def reduced(found: WordVectors, width: int, rng: np.random.Generator) -> np.ndarray:
    """Project word vectors to `width` dimensions; float32 (words, width) with a root mean square of 1.

    The columns are the principal components (words weighted by the square root of their counts), each divided by the
    fourth root of its variance, then rotated at random so that no column is larger than the others. Raises
    TrainingDataError if the vectors are narrower than `width`."""
    if found.vectors.shape[1] < width:
        raise TrainingDataError(
            f"the word vectors have {found.vectors.shape[1]} dimensions, the table {width}; set shape.width lower"
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
    """Initialise the rows of `table`, float32 (rows, width), from word vectors, in place.

    The row of unlisted words becomes the mean of the rarest tenth. Returns the number of listed words with a vector.
    Raises TrainingDataError as `reduced` does."""
    listed = list(words.tables[WORD])
    place = {word: number for number, word in enumerate(found.words)}
    at = np.array([place.get(word, -1) for word in listed], dtype=np.int64)
    rows = words.encode(listed, [""] * len(listed))[1:-1, WORD]
    vectors = _SPREAD * reduced(found, table.shape[1], rng)
    table[rows[at >= 0]] = vectors[at[at >= 0]]
    table[UNKNOWN_WORD] = vectors[np.argsort(found.counts)[: max(1, len(vectors) // 10)]].mean(axis=0)
    return int((at >= 0).sum())
