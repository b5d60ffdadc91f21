"""Train a teacher: one network, in a run that can be resumed."""

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from spacy_dtparse.checks import check, fraction, real
from spacy_dtparse.dtypes import REAL
from spacy_dtparse.errors import DtparseError, TrainingDataError
from spacy_dtparse.stored_names import stored_as, to_stored

from ..data.corpus import Sentence
from ..data.evaluate import score_trees
from ..data.fitted import fitted_posteriors
from ..data.shards import LabelSets
from ..data.spans import bracket_gradients, chain_ids, distillation_gradients
from ..runs.files import atomic_write, file_digest
from ..runs.lock import lock_dir
from ..runs.metrics_log import MetricsLogger
from ..runs.resuming import check_conditions, digest
from .encoder import Drop, Encoder, encoder_config, locked_dropout, mixed_precision, nn, torch, training_attention
from .examples import TeacherExample, distillation_examples, make_example
from .model import Teacher
from .network import ANY_SOURCE, HEAD_WIDTH, Scores, TeacherNetwork, WordPieceTokenizer
from .pretrained import MINILM, WEIGHTS, encoder_folder
from .trees import Interpolation

_SAVE_EVERY = 600.0
"""Seconds between two checkpoints of a run."""


@stored_as(
    "encoder seed epochs batch encoder_rate head_rate layer_decay warm beta2 decay encoder_dropout head_dropout "
    "head_width any_source tag_share max_words judge_every threads"
)
@dataclass(frozen=True)
class TeacherOptions:
    """Training options of a teacher.

    `encoder`: folder of a pretrained encoder, or a name in `pretrained.KNOWN`. `epochs`: passes, in each of which a
    treebank of weight W occurs W times (a fractional W at random). `batch_tokens`: word pieces per step.
    `encoder_learning_rate`, `head_learning_rate`: peak rates of AdamW, reached after `warmup_steps`, with linear decay;
    `beta2`: decay of its second moments. `layer_decay`: ratio of a layer's learning rate to that of the layer above it.
    `encoder_dropout`, `head_dropout`: dropout rates. `head_width`: dimensions that a gap is projected to, for spans and
    for labels (a run that starts from another teacher uses that one's). `source_dropout`: probability that a sentence
    is trained without its source. `tag_loss_weight`: weight of the tags' loss. `max_words`: longer sentences are
    excluded. `eval_every`: passes between two evaluations on development trees. `threads`: of torch.

    Raises ConfigError for values out of range.
    """

    encoder: str = MINILM
    seed: int = 0
    epochs: float = 3.0
    batch_tokens: int = 1000
    encoder_learning_rate: float = 2.5e-4
    head_learning_rate: float = 1.5e-3
    layer_decay: float = 0.9
    warmup_steps: int = 100
    beta2: float = 0.98
    weight_decay: float = 0.01
    encoder_dropout: float = 0.1
    head_dropout: float = 0.2
    head_width: int = HEAD_WIDTH
    source_dropout: float = 0.15
    tag_loss_weight: float = 0.5
    max_words: int = 100
    eval_every: float = 1.0
    threads: int = 1

    def __post_init__(self) -> None:
        above = "epochs batch_tokens encoder_learning_rate head_learning_rate warmup_steps max_words eval_every threads"
        above += " head_width"
        check(self, dict.fromkeys(above.split(), real(0, above=True)))
        check(self, {"encoder_dropout": fraction(), "head_dropout": fraction()})


def one_pass(examples: Sequence[tuple[float, TeacherExample]], size: int, rng: np.random.Generator) -> list[list[int]]:
    """The indices of examples (with weights) for one pass, in batches of about `size` word pieces of sentences of
    similar length, in random order."""
    weights = np.array([weight for weight, _ in examples])
    times = np.floor(weights + rng.random(len(weights))).astype(int)
    chosen = rng.permutation(np.repeat(np.arange(len(examples)), times))
    lengths = np.array([len(example.tokenized.pieces) for _, example in examples])
    batches: list[list[int]] = []
    for at in range(0, len(chosen), 2000):
        part = chosen[at : at + 2000]
        part = part[np.argsort(lengths[part], kind="stable")]
        batch: list[int] = []
        for index in part.tolist():
            if batch and (len(batch) + 1) * lengths[index] > size:
                batches.append(batch)
                batch = []
            batch.append(index)
        batches.append(batch)
    return [batches[k] for k in rng.permutation(len(batches))]


def _parameter_groups(network: TeacherNetwork, options: TeacherOptions) -> list[dict[str, Any]]:
    """Parameter groups with their learning rates, smaller for lower layers."""
    groups: list[dict[str, Any]] = []
    n_layers = network.encoder.n_layers
    for name, parameter in network.named_parameters():
        if not parameter.requires_grad:
            continue
        rate = options.head_learning_rate
        if name.startswith("encoder."):
            layer = Encoder.layer_of(name)
            above = n_layers if layer is None else n_layers - 1 - layer
            rate = options.encoder_learning_rate * options.layer_decay**above
        decay = options.weight_decay if parameter.dim() > 1 else 0.0
        groups.append({"params": [parameter], "lr": rate, "full": rate, "weight_decay": decay})
    return groups


def _plan_batches(
    examples: Sequence[tuple[float, TeacherExample]], options: TeacherOptions, rng: np.random.Generator
) -> list[list[int]]:
    """The examples of each update, over all passes; the last pass may be partial."""
    batches_of_run: list[list[int]] = []
    for epoch in range(math.ceil(options.epochs)):
        batches = one_pass(examples, options.batch_tokens, rng)
        batches_of_run += batches[: math.ceil(len(batches) * min(1.0, options.epochs - epoch))]
    return batches_of_run


def _train_step(
    network: TeacherNetwork,
    optimizer: torch.optim.Optimizer,
    factor: float,
    part: Sequence[TeacherExample],
    options: TeacherOptions,
    generator: torch.Generator,
) -> np.ndarray:
    """Update the parameters on some examples at a fraction of the peak rates. Returns the losses of brackets, labels
    and tags."""
    for group in optimizer.param_groups:
        group["lr"] = group["full"] * factor
    drop_source = (torch.rand(len(part), generator=generator) < options.source_dropout).tolist()
    sources = [ANY_SOURCE if without_source else e.source for e, without_source in zip(part, drop_source, strict=True)]
    dropout_rates = options.encoder_dropout, options.head_dropout
    drops = [partial(locked_dropout, rate=rate, generator=generator) for rate in dropout_rates]
    with mixed_precision(), training_attention():
        loss, parts = batch_loss(network, part, sources, drops, options.tag_loss_weight)
    optimizer.zero_grad(set_to_none=True)
    loss.backward()  # type: ignore[no-untyped-call]
    torch.nn.utils.clip_grad_norm_(network.parameters(), 2.0)
    optimizer.step()
    return np.array(parts)


@lock_dir("workdir")
def train_teacher(
    train: Sequence[tuple[float, Sentence, bool]],
    dev: Sequence[Sentence],
    options: TeacherOptions,
    workdir: Path | None = None,
    start: Teacher | LabelSets | None = None,
    shards: Sequence[Path] = (),
    conditions: dict[str, Any] | None = None,
    log_metrics: MetricsLogger = lambda **_: None,
) -> Teacher:
    """Train a teacher of one network. `train`: (weight, sentence, whether its labels are known; otherwise only its tags
    and the crossing constraints of its spans are used). `workdir`: stores the state of the run, which is resumed from
    there. `start`: a teacher to start from, or the lists of a new one. `shards`: files with another teacher's
    distributions of more sentences, each of which occurs once in a pass.

    Raises TrainingDataError if there is no training sentence or `workdir` belongs to another run.
    """
    torch.set_num_threads(options.threads)
    torch.manual_seed(options.seed)
    first = start if isinstance(start, Teacher) else None
    folder = first.folder if first else encoder_folder(options.encoder)
    tokenizer = WordPieceTokenizer(folder)
    used = [(w, s, tree) for w, s, tree in train if s.tree.n_tokens <= options.max_words]
    if not used:
        raise TrainingDataError(f"no sentence has at most {options.max_words} words; set max_words higher")
    lists = start.lists if isinstance(start, Teacher) else start
    if lists is None:
        lists = LabelSets.from_sentences([s for _, s, tree in used if tree])
    ids = chain_ids(lists.chains)
    examples = [(w, make_example(s, lists, ids, tokenizer, tree)) for w, s, tree in used]
    examples += [(1.0, e) for e in distillation_examples(shards, lists, ids, tokenizer, options.max_words)]
    width = first.networks[0].width if first else options.head_width
    network = TeacherNetwork(encoder_config(folder), len(lists.chains), len(lists.tags), len(lists.sources), width)
    if first is not None:
        network.load_state_dict(first.networks[0].state_dict())
    else:
        network.encoder.load(folder)
    optimizer = torch.optim.AdamW(_parameter_groups(network, options), betas=(0.9, options.beta2), fused=True)
    rng = np.random.default_rng(options.seed)
    plan = _plan_batches(examples, options, rng)
    per_pass = len(plan) / options.epochs
    done, run_conditions = 0, {"options": to_stored(options), "sentences": len(used), **(conditions or {})}
    if first is None:
        run_conditions["encoder"] = file_digest(folder / WEIGHTS)
    if shards:
        run_conditions["shards"] = digest(map(file_digest, shards))
    state = None if workdir is None else workdir / "state.pt"
    if state is not None and state.is_file():
        try:
            saved = torch.load(state, weights_only=True)
            check_conditions(state.parent, saved["facts"], run_conditions)
            network.load_state_dict(saved["network"])
            optimizer.load_state_dict(saved["optimizer"])
            done = saved["done"]
        except DtparseError:
            raise
        except Exception as error:  # any error of torch, pickle or zipfile that a flipped bit causes
            raise TrainingDataError(
                f"{state} is no readable training state ({error!r}); delete that file to train from the start"
            ) from error
        log_metrics(resumed=done)
    network.train()
    began = saved_at = time.perf_counter()
    losses, since = np.zeros(3), 0
    for step, batch in enumerate(plan):
        if step < done:
            continue
        factor = min(1.0, (step + 1) / options.warmup_steps) * max(0.01, 1 - step / len(plan))
        generator = torch.Generator().manual_seed(options.seed * 1_000_003 + step)
        losses += _train_step(network, optimizer, factor, [examples[k][1] for k in batch], options, generator)
        since += 1
        last = step + 1 == len(plan)
        evaluating = last or int((step + 1) / per_pass / options.eval_every) > int(step / per_pass / options.eval_every)
        if state is not None and (last or time.perf_counter() - saved_at > _SAVE_EVERY):
            saved_at = time.perf_counter()
            state_dicts = {"network": network.state_dict(), "optimizer": optimizer.state_dict()}
            with atomic_write(state) as file:
                torch.save({**state_dicts, "done": step + 1, "facts": run_conditions}, file)
        if evaluating or since == 200:
            scores = {}
            if evaluating and dev:
                scores = evaluate_teacher(Teacher(lists, (network.eval(),), {}, folder), dev)
                network.train()
            log_metrics(
                step=step + 1, of=len(plan), epoch=round((step + 1) / per_pass, 2), brackets=losses[0] / since,
                labels=losses[1] / since, tags=losses[2] / since, **scores, seconds=round(time.perf_counter() - began),
            )  # fmt: skip
            losses, since = np.zeros(3), 0
    known: dict[str, Any] = {} if first is None else {k: first.meta[k] for k in ("encoder", "start") if k in first.meta}
    return Teacher(lists, (network.eval(),), {**known, **run_conditions}, folder)


def evaluate_teacher(
    teacher: Teacher, dev: Sequence[Sentence], source: str | None = None, interpolation: Interpolation | None = None
) -> dict[str, float]:
    """Scores by treebank, in per cent: F1 of all brackets, exact matches, tag accuracy. The trees follow the
    conventions of `source`, else those of the treebank if it is a source of the teacher. `interpolation`: a parser
    whose marginals are interpolated."""
    scores: dict[str, float] = {}
    for name in dict.fromkeys(sentence.source for sentence in dev):
        part = [sentence for sentence in dev if sentence.source == name]
        used = source or (name if name in teacher.lists.sources else None)
        words = [sentence.tree.words for sentence in part]
        marginals = zip(words, teacher.marginals(words, used), strict=True)
        trees = [
            teacher.tree(sentence_words, distribution, interpolation)[0] for sentence_words, distribution in marginals
        ]
        totals = score_trees(part, trees)[0].to_dict()
        n_correct = sum(
            a == b for s, t in zip(part, trees, strict=True) for a, b in zip(s.tree.tags, t.tags, strict=True)
        )
        scores[name] = round(100 * totals["all"]["f1"], 2)
        scores[f"{name}_evalb"] = round(100 * totals["evalb"]["f1"], 2)
        scores[f"{name}_exact"] = round(100 * totals["all"]["exact_match"], 2)
        scores[f"{name}_tags"] = round(100 * n_correct / sum(map(len, words)), 2)
    return scores


MIN_POSTERIOR = 0.05
"""Minimum posterior probability of a span, no constituent, that is used as an example of "no label"."""


class BracketLoss(torch.autograd.Function):
    """Sum over the sentences of -ln of the probability of all binary trees that cross no constituent, or of its
    expectation over another teacher's trees; its gradient is a difference of posteriors, computed by the parser's
    kernel."""

    @staticmethod
    def forward(
        ctx: Any, spans: torch.Tensor, batch: Sequence[TeacherExample], found: list[np.ndarray]
    ) -> torch.Tensor:
        """`spans` float32 (sentences, longest + 1, longest + 1): scores. Posteriors among the trees without crossing
        spans are appended to `found`, 0 where these are unknown."""
        scores = spans.detach().numpy()
        gradients = np.zeros(scores.shape, dtype=REAL)
        total = 0.0
        for row, example in enumerate(batch):
            n = example.tokenized.n
            found.append(np.zeros((n + 1, n + 1)))
            if not example.has_brackets or n < 2:
                continue
            of_sentence = scores[row, : n + 1, : n + 1]
            if example.scores is not None:
                loss, gradient = distillation_gradients(of_sentence, fitted_posteriors(example.scores, n))
            else:
                assert example.crossing is not None
                loss, gradient, found[-1] = bracket_gradients(of_sentence, example.crossing)
            total += loss
            gradients[row, : n + 1, : n + 1] = gradient
        ctx.save_for_backward(torch.from_numpy(gradients))
        return torch.tensor(total, dtype=torch.float32)

    @staticmethod
    def backward(ctx: Any, above: torch.Tensor) -> Any:  # type: ignore[override]
        """The gradient with respect to the score of every span."""
        return ctx.saved_tensors[0] * above, None, None


def batch_loss(
    network: TeacherNetwork,
    batch: Sequence[TeacherExample],
    sources: Sequence[int],
    drops: Sequence[Drop],
    tag_loss_weight: float,
) -> tuple[torch.Tensor, tuple[float, float, float]]:
    """Return (loss per word, nats; its parts: brackets, labels, tags). `drops`: see `TeacherNetwork.forward`."""
    scores: Scores = network([example.tokenized for example in batch], sources, *drops)
    n_words = sum(example.tokenized.n for example in batch)
    n_parsed = max(1, sum(example.tokenized.n for example in batch if example.has_brackets))
    right: list[np.ndarray] = []
    brackets: torch.Tensor = BracketLoss.apply(scores.spans.float(), batch, right) / n_parsed  # type: ignore[no-untyped-call]
    rows, weights = [], []
    for row, (example, posteriors) in enumerate(zip(batch, right, strict=True)):
        if example.spans is None or example.labels is None:
            continue
        posteriors[tuple(example.spans.T)] = 0
        unlabelled = np.argwhere(posteriors > MIN_POSTERIOR)
        spans, labels = (
            np.concatenate([example.spans, unlabelled]),
            np.append(example.labels, np.zeros(len(unlabelled), dtype=int)),
        )
        rows.append(np.column_stack([np.full(len(spans), row), spans, labels]))
        probs = np.ones(len(example.labels)) if example.probs is None else example.probs
        weights += [probs, posteriors[tuple(unlabelled.T)]]
    total = brackets
    label_loss = torch.zeros(())
    if rows:
        *spans_of_batch, label = torch.from_numpy(np.concatenate(rows).T.copy())
        logits = network.label_scores(scores, spans_of_batch, drops[1]).float()
        lost = nn.functional.cross_entropy(logits, label, reduction="none")
        label_loss = (lost * torch.from_numpy(np.concatenate(weights).astype(REAL))).sum() / n_parsed
        total = total + label_loss
    targets = np.full(scores.tags.shape[:2], -1, dtype=np.int64)
    for row, example in enumerate(batch):
        targets[row, : example.tokenized.n] = example.tags
    logits, right_tags = scores.tags.float().flatten(0, 1), torch.from_numpy(targets).flatten()
    tag_loss = nn.functional.cross_entropy(logits, right_tags, ignore_index=-1, reduction="sum") / n_words
    total = total + tag_loss_weight * tag_loss
    return total, (brackets.item(), label_loss.item(), tag_loss.item())
