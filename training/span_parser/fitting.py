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

from spacy_dtparse.checks import check, fraction, integer, real
from spacy_dtparse.errors import ConfigError, TrainingDataError
from spacy_dtparse.nn.clusters import WordClusters
from spacy_dtparse.span_parser.features import WordParts, parts_of
from spacy_dtparse.span_parser.kernels.network import SpanNetwork
from spacy_dtparse.span_parser.model import MAX_CHAIN_LENGTH, MAX_CHAINS, AttachTables, Chain, PackedNetwork, SpanModel
from spacy_dtparse.span_parser.parser import SpanParser
from spacy_dtparse.stored_names import stored_as, to_stored
from spacy_dtparse.trees import TOP

from ..data.attach_tables import attach_tables, mark_never_unattached
from ..data.corpus import Sentence
from ..data.evaluate import parse_sentences, score_trees
from ..data.relations import add_relations, list_relations
from ..data.spans import SpanExample, chain_ids, count_chains, make_example
from ..data.word_vectors import WordVectors, init_from_vectors
from ..nn.layers import add_layers, add_table_rows, as_network, values_of
from ..runs.metrics_log import MetricsLogger
from ..runs.resuming import array_to_data, as_array, check_conditions, open_arrays, save_arrays
from .distillation import (
    ConcatExamples,
    DistillationSet,
    SoftTargets,
    count_shard_words,
    row_counts,
    soft_target_examples,
)
from .network import Dropout, Shape, SpanTrainer, init_relation_values, init_span_values

_DROPOUT, _ORDER = 1, 2
"""Purposes of random numbers: the last part of their generators' keys."""
_SAVE_EVERY = 120.0
"""Maximum number of seconds between two checkpoints of a run."""


@stored_as(
    "shape dropout seeds epochs more_epochs repeats batch rate fine_rate warm average least_word least_part "
    "least_chain most_words hide max_words judge_every teacher_share taught_weight "
    "relation_weight second_tags"
)
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
    `distill_weight`: weight of sentences of shards. `relation_weight`: weight of the loss of predicting each token's
    relation, relative to those of brackets and labels; 0: relations are not predicted. The relations come from the
    treebank's dependencies. What the network learns to predict them is not part of the model. `second_tags`: whether
    the network uses second-best tags (`core.ambiguous_tags`), which recurrent_tagger gives.

    Raises ConfigError for values out of range.
    """

    shape: Shape = field(default_factory=Shape)
    dropout: Dropout = field(default_factory=Dropout)
    seeds: tuple[int, ...] = (0, 1)
    epochs: float = 30.0
    pretrain_epochs: float = 6.0
    treebank_repeats: int = 3
    batch_tokens: int = 800
    learning_rate: float = 2e-3
    finetune_learning_rate: float = 7e-4
    warmup_steps: int = 200
    ema_decay: float = 0.999
    min_word_count: int = 2
    min_affix_count: int = 3
    min_chain_count: int = 2
    max_vocab: int = 40_000
    word_dropout: float = 0.8
    max_words: int = 100
    eval_every: float = 5.0
    soft_target_weight: float = 0.6
    distill_weight: float = 1.0
    relation_weight: float = 0.0
    second_tags: bool = False

    def __post_init__(self) -> None:
        if not self.seeds or len(set(self.seeds)) != len(self.seeds):
            raise ConfigError(f"seeds are {list(self.seeds)}; give one or more different whole numbers")
        above = "epochs batch_tokens learning_rate finetune_learning_rate warmup_steps eval_every treebank_repeats"
        above += " max_words max_vocab"
        check(self, dict.fromkeys(above.split(), real(0, above=True)))
        check(self.dropout, dict.fromkeys(("table", "layers", "projections"), fraction()), "dropout")
        check(self, {"relation_weight": real(0)})
        check(self.shape, dict.fromkeys(("width", "units", "layers", "projection"), integer(1)))


def stored_options(options: SpanOptions, without: Sequence[str] = ()) -> dict[str, Any]:
    """The options as plain data. Without relations or second tags there is no entry for them, as in models of earlier
    versions."""
    absent = [name for name in ("relation_weight", "second_tags") if not getattr(options, name)]
    return to_stored(options, without=(*without, *absent))


@dataclass(frozen=True)
class Phase:
    """A part of a run: examples, the number of passes over them, and the peak learning rate."""

    examples: Sequence[SpanExample]
    epochs: float
    learning_rate: float

    def n_steps(self, batch_tokens: int) -> int:
        """The number of steps of `batch_tokens` tokens."""
        return max(1, round(self.epochs * int(row_counts(self.examples).sum()) / batch_tokens))


def iterate_batches(examples: Sequence[SpanExample], size: int, key: tuple[int, ...]) -> Iterator[list[SpanExample]]:
    """Yield batches of at least `size` rows, pass after pass, endlessly. The random order of a pass depends only on
    `key` and the index of the pass, so that an interrupted run can be resumed. The last batch of a pass may be
    smaller."""
    for pass_index in count():
        batch: list[SpanExample] = []
        for index in np.random.default_rng((*key, pass_index, _ORDER)).permutation(len(examples)):
            batch.append(examples[index])
            if sum(len(example.rows) for example in batch) >= size:
                yield batch
                batch = []
        if batch:
            yield batch


@dataclass(frozen=True)
class SpanTrainingData:
    """Training data of all networks of a model: vocabularies, and examples of the treebank and of a teacher.
    `relations`: those that networks learn to predict."""

    words: WordParts
    chains: tuple[Chain, ...]
    train: tuple[SpanExample, ...]
    pretrain: Sequence[SpanExample]
    dev: tuple[Sentence, ...]
    attach_tables: AttachTables
    start: SpanModel | None = None
    vectors: WordVectors | None = None
    relations: tuple[str, ...] = ()


def make_training_data(
    train: Sequence[Sentence],
    dev: Sequence[Sentence],
    options: SpanOptions,
    pretrain: Sequence[Sentence] = (),
    teacher: SpanParser | None = None,
    executor: Executor | None = None,
    shards: Sequence[Path] = (),
    start: SpanModel | WordVectors | None = None,
    clusters: WordClusters | None = None,
) -> SpanTrainingData:
    """Build vocabularies and examples.

    `teacher`: a span parser whose marginals are mixed with the trees of `pretrain`; an `executor` may compute them.
    `shards`: files with another teacher's marginals of more sentences. `start`: a model whose networks are trained
    further, with its vocabularies of words and labels; or initial values of the table's rows of words. `clusters`: word
    clusters, for one more feature of each word; not together with a model.

    Raises TrainingDataError when there is no sentence, no constituent, or no sentence short enough to learn from, and
    when relations or second-best tags shall be learned but the sentences have none.
    """
    if not train:
        raise TrainingDataError("there is no sentence to learn from; give treebanks with trees")
    tokens = count_shard_words(shards)
    for s in (*train, *pretrain):
        tokens.update(zip(s.tree.words, s.tags, strict=True))
    parts = parts_of(tokens)
    limits = options.min_word_count, options.min_affix_count, options.max_vocab
    words = WordParts.build(parts, *limits, clusters, options.second_tags)
    counted = count_chains(sentence.tree for sentence in train)
    ordered = sorted(counted, key=lambda chain: (-counted[chain], chain))
    ordered = [chain for chain in ordered if len(chain) <= MAX_CHAIN_LENGTH][: MAX_CHAINS - 1]
    chains: tuple[Chain, ...] = ((), *([c for c in ordered if counted[c] >= options.min_chain_count] or ordered))
    model, vectors = (None, start) if isinstance(start, WordVectors) else (start, None)
    if model is not None:
        assert isinstance(model.words, WordParts)
        words = model.words.with_second_tags() if options.second_tags else model.words
        chains = model.chains
    if len(chains) == 1:
        raise TrainingDataError(f"no tree has a constituent below {TOP}; give treebanks with constituents")

    known = words, chain_ids(chains), parts.words, options.word_dropout
    short, pretrain_short = (
        [sentence for sentence in sentences if len(sentence.tags) <= options.max_words]
        for sentences in (train, pretrain)
    )
    if not short:
        raise TrainingDataError(f"every sentence has more than {options.max_words} words; set max_words higher")
    examples = tuple(make_example(sentence, *known) for sentence in short)
    if teacher is None:
        with_trees = tuple(make_example(sentence, *known) for sentence in pretrain_short)
    else:
        with_trees = tuple(
            soft_target_examples(SoftTargets(teacher, options.soft_target_weight, *known), pretrain_short, executor)
        )
    relations: tuple[str, ...] = ()
    if options.relation_weight > 0:
        relations = list_relations(train)
        if not any(sentence.relations for sentence in train):
            raise TrainingDataError("relation_weight needs the relations of the trees; give a CoNLL-U treebank, or 0")
        examples, with_trees = (
            tuple(add_relations(*pair, relations) for pair in zip(made, sentences, strict=True))
            for made, sentences in ((examples, short), (with_trees, pretrain_short))
        )
    pretrain_examples: Sequence[SpanExample] = with_trees
    if shards:
        distilled = DistillationSet(shards, *known, options.max_words, options.distill_weight)
        pretrain_examples = ConcatExamples(with_trees, distilled) if with_trees else distilled
    if options.second_tags and not has_second_tags(words, examples, pretrain_examples):
        raise TrainingDataError(
            "second_tags needs second-best tags, and the files of tags have none (such as NN||VB); write them again "
            "with jackknife-tags or teacher retag, or leave second_tags out"
        )
    labels = tuple(sorted({label for chain in chains for label in chain}))
    trees, tags = [sentence.tree for sentence in train], list(words.tables[1])
    tables = mark_never_unattached(attach_tables(trees, labels, tags), trees, labels, tags)
    return SpanTrainingData(words, chains, examples, pretrain_examples, tuple(dev), tables, model, vectors, relations)


def has_second_tags(words: WordParts, *parts: Sequence[SpanExample]) -> bool:
    """Whether a token of some examples has a second-best tag."""
    first = words.second_tag_rows().start
    return any(example.rows[:, -1].max() >= first for part in parts for example in part)


def train_network(
    training_data: SpanTrainingData,
    options: SpanOptions,
    seed: int,
    workdir: Path | None = None,
    log_metrics: MetricsLogger = lambda **_: None,
) -> PackedNetwork:
    """Train one network. If the data include a model to start from, continue its network at the index of the seed.
    `workdir` stores the state of the run; a killed run resumes from it and gives the same network, bit by bit.

    Raises TrainingDataError when the stored state is damaged, or belongs to other options or data.
    """
    rng = np.random.default_rng(seed)
    if training_data.start is None:
        values = init_span_values(training_data.words.size, len(training_data.chains), options.shape, rng)
        values["table"][training_data.words.second_tag_rows()] = 0  # so that a rare one does not add noise
        if training_data.vectors is not None:
            init_from_vectors(values["table"], training_data.words, training_data.vectors, rng)
    else:
        values = values_of(training_data.start.networks[options.seeds.index(seed)])
        values = add_layers(values, options.shape.layers, rng)
        values = add_table_rows(values, training_data.words.size)
    if training_data.relations:
        units = values["recurrent"].shape[3]
        values |= init_relation_values(units, len(training_data.relations), rng)
    trainer = SpanTrainer(
        values, options.dropout, options.ema_decay, options.relation_weight if training_data.relations else 0.0
    )
    phases = [Phase(training_data.train, options.epochs, options.learning_rate)]
    if training_data.pretrain:
        mixed = ConcatExamples(*[training_data.train] * options.treebank_repeats, training_data.pretrain)
        finetune = Phase(training_data.train, options.epochs, options.finetune_learning_rate)
        phases = [Phase(mixed, options.pretrain_epochs, options.learning_rate), finetune]
    state = None if workdir is None else workdir / f"network{seed}.npz"
    conditions = {} if state is None else run_conditions(training_data, options)
    done = 0
    if state is not None and state.is_file():
        with open_arrays(state) as saved:
            check_conditions(state.parent, array_to_data(saved["facts"]), conditions)
            trainer.restore(saved)
        done = trainer.steps
        log_metrics(seed=seed, resumed=done)
    total = sum(phase.n_steps(options.batch_tokens) for phase in phases)
    first, began, saved_at = 0, time.perf_counter(), time.perf_counter()
    for phase_index, phase in enumerate(phases):
        steps = phase.n_steps(options.batch_tokens)
        per_pass = int(row_counts(phase.examples).sum()) / options.batch_tokens
        losses, since = np.zeros(2), 0
        for step, batch in enumerate(
            islice(iterate_batches(phase.examples, options.batch_tokens, (seed, phase_index)), steps)
        ):
            if first + step < done:
                continue
            warmup = min(1.0, (step + 1) / options.warmup_steps) if phase_index == 0 else 1.0
            learning_rate = phase.learning_rate * warmup * (0.02 + 0.98 * 0.5 * (1 + math.cos(math.pi * step / steps)))
            losses += trainer.step(batch, np.random.default_rng((seed, phase_index, step, _DROPOUT)), learning_rate)
            since += 1
            n_evaluations = [int(done_steps / per_pass / options.eval_every) for done_steps in (step, step + 1)]
            evaluating = step + 1 == steps or n_evaluations[1] > n_evaluations[0]
            if state is not None and (evaluating or time.perf_counter() - saved_at > _SAVE_EVERY):
                saved_at = time.perf_counter()
                save_arrays(state, {"facts": as_array(conditions), **trainer.state()})
            if evaluating:
                scores = {f"dev_{name}": f1 for name, f1 in evaluate_network(training_data, trainer).items()}
                log_metrics(
                    seed=seed, phase=phase_index, epoch=round((step + 1) / per_pass, 1), step=first + step + 1,
                    of=total, brackets=losses[0] / since, labels=losses[1] / since, **scores,
                    seconds=round(time.perf_counter() - began),
                )  # fmt: skip
                losses, since = np.zeros(2), 0
        first += steps
    return PackedNetwork.pack(as_network(SpanNetwork, trainer.averages))


def make_model(training_data: SpanTrainingData, packed: Sequence[PackedNetwork], meta: dict[str, Any]) -> SpanModel:
    """Build the model of some networks."""
    return SpanModel(training_data.words, training_data.chains, tuple(packed), meta, training_data.attach_tables)


def evaluate_network(training_data: SpanTrainingData, trainer: SpanTrainer) -> dict[str, float]:
    """F1 of all brackets of the averaged network on the development sentences, in per cent, by treebank."""
    if not training_data.dev:
        return {}
    parser = SpanParser(make_model(training_data, [PackedNetwork.pack(as_network(SpanNetwork, trainer.averages))], {}))
    _, reports = score_trees(training_data.dev, parse_sentences(parser, training_data.dev))
    return {name: round(100 * report.to_dict()["all"]["f1"], 2) for name, report in reports.items()}


def run_conditions(training_data: SpanTrainingData, options: SpanOptions) -> dict[str, Any]:
    """Everything except the seed that determines a network, as plain data: options, digests of lists and examples."""
    return {
        "options": stored_options(options, without=("seeds", "eval_every")),
        "words": _digest(training_data.words.to_dict()),
        "labels": _digest(training_data.chains),
        "trees": _digest(*training_data.train),
        "trees of a teacher": _examples_digest(training_data.pretrain),
        "start": None if training_data.start is None else training_data.start.fingerprint(),
        "vectors": None if training_data.vectors is None else _digest(*training_data.vectors),
    }


def _examples_digest(examples: Sequence[SpanExample]) -> str:
    if isinstance(examples, ConcatExamples):
        return _digest([_examples_digest(part) for part in examples.parts])
    if isinstance(examples, DistillationSet):
        return hashlib.sha256(examples.raw_bytes()).hexdigest()[:16]
    return _digest(*examples)


def _digest(*parts: Any) -> str:
    """Digest of plain data and of examples (16 hex digits)."""
    digest = hashlib.sha256()
    for part in parts:
        values = vars(part) if isinstance(part, SpanExample) else {"": part}
        for value in (value for name, value in values.items() if name != "relations" or value is not None):
            if isinstance(value, np.ndarray):
                digest.update(repr(value.shape).encode() + np.ascontiguousarray(value).tobytes())
            else:
                digest.update(repr(value).encode() + b"\0")
    return digest.hexdigest()[:16]
