"""Train a teacher: one network, in a run that can be resumed."""

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from spacy_dtparse.checks import check, real_number, share
from spacy_dtparse.dtypes import REAL
from spacy_dtparse.errors import DtparseError, TrainingDataError
from spacy_dtparse.stored_names import stored_as, to_stored

from ..data.corpus import Sentence
from ..data.evaluate import score_trees
from ..data.shards import Lists
from ..data.spans import bracket_slopes, chain_numbers
from ..runs.alone import alone_in
from ..runs.files import written
from ..runs.resuming import check_facts
from ..runs.telling import Tell
from .encoder import Drop, masked, nn, torch
from .examples import TeacherExample, make_example
from .model import Teacher
from .network import ANY_SOURCE, HEAD_WIDTH, Reader, Scores, TeacherNetwork
from .trees import Beside

_KEEP_EVERY = 300.0
"""Seconds between two checkpoints of a run."""


@stored_as(
    "seed", "epochs", "batch", "encoder_rate", "head_rate", "layer_decay", "warm", "decay", "encoder_dropout",
    "head_dropout", "head_width", "any_source", "tag_share", "max_words", "judge_every", "threads",
)  # fmt: skip
@dataclass(frozen=True)
class TeacherOptions:
    """Training options of a teacher.

    `epochs`: passes, in each of which a treebank of weight W occurs W times (a fractional W at random). `batch_tokens`:
    word pieces per step. `encoder_learning_rate`, `head_learning_rate`: peak rates of AdamW, reached after
    `warmup_steps`, with linear decay. `layer_decay`: ratio of a layer's learning rate to that of the layer above it.
    `encoder_dropout`, `head_dropout`: dropout rates. `head_width`: dimensions that a gap is projected to, for spans and
    for labels (a run that starts from another teacher uses that one's). `source_dropout`: probability that a sentence
    is trained without its source. `tag_loss_weight`: weight of the tags' loss. `max_words`: longer sentences are
    excluded. `eval_every`: passes between two evaluations on development trees. `threads`: of torch.

    Raises ConfigError for values out of range.
    """

    seed: int = 0
    epochs: float = 3.0
    batch: int = 1000
    encoder_rate: float = 2.5e-4
    head_rate: float = 1.5e-3
    layer_decay: float = 0.9
    warm: int = 100
    decay: float = 0.01
    encoder_dropout: float = 0.1
    head_dropout: float = 0.2
    head_width: int = HEAD_WIDTH
    any_source: float = 0.15
    tag_share: float = 0.5
    max_words: int = 100
    judge_every: float = 1.0
    threads: int = 1

    def __post_init__(self) -> None:
        above = "epochs batch encoder_rate head_rate warm max_words judge_every threads head_width"
        check(self, dict.fromkeys(above.split(), real_number(0, above=True)))
        check(self, {"encoder_dropout": share(), "head_dropout": share()})


def one_pass(examples: Sequence[tuple[float, TeacherExample]], size: int, rng: np.random.Generator) -> list[list[int]]:
    """The indices of examples (with weights) for one pass, in batches of about `size` word pieces of sentences of
    similar length, in random order."""
    whole = np.array([weight for weight, _ in examples])
    times = np.floor(whole + rng.random(len(whole))).astype(int)
    chosen = rng.permutation(np.repeat(np.arange(len(examples)), times))
    lengths = np.array([len(example.read.pieces) for _, example in examples])
    batches: list[list[int]] = []
    for at in range(0, len(chosen), 2000):
        part = chosen[at : at + 2000]
        part = part[np.argsort(lengths[part], kind="stable")]
        batch: list[int] = []
        for number in part.tolist():
            if batch and (len(batch) + 1) * lengths[number] > size:
                batches.append(batch)
                batch = []
            batch.append(number)
        batches.append(batch)
    return [batches[k] for k in rng.permutation(len(batches))]


def _groups(network: TeacherNetwork, options: TeacherOptions) -> list[dict[str, Any]]:
    """Parameter groups with their learning rates, smaller for lower layers."""
    groups: list[dict[str, Any]] = []
    n_layers = len(network.encoder.layers)
    for name, parameter in network.named_parameters():
        rate = options.head_rate
        if name.startswith("encoder."):
            above = n_layers - 1 - int(name.split(".")[2]) if ".layers." in name else n_layers
            rate = options.encoder_rate * options.layer_decay**above
        decay = options.decay if parameter.dim() > 1 else 0.0
        groups.append({"params": [parameter], "lr": rate, "full": rate, "weight_decay": decay})
    return groups


def _plan(
    examples: Sequence[tuple[float, TeacherExample]], options: TeacherOptions, rng: np.random.Generator
) -> list[list[int]]:
    """The examples of each update, over all passes; the last pass may be partial."""
    plan: list[list[int]] = []
    for epoch in range(math.ceil(options.epochs)):
        batches = one_pass(examples, options.batch, rng)
        plan += batches[: math.ceil(len(batches) * min(1.0, options.epochs - epoch))]
    return plan


def _update(
    network: TeacherNetwork,
    optimizer: torch.optim.Optimizer,
    rate: float,
    part: Sequence[TeacherExample],
    options: TeacherOptions,
    generator: torch.Generator,
) -> np.ndarray:
    """Update the parameters on some examples at a fraction of the peak rates. Returns the losses of brackets, labels
    and tags."""
    for group in optimizer.param_groups:
        group["lr"] = group["full"] * rate
    hidden = (torch.rand(len(part), generator=generator) < options.any_source).tolist()
    sources = [ANY_SOURCE if hide else e.source for e, hide in zip(part, hidden, strict=True)]
    shares = options.encoder_dropout, options.head_dropout
    drops = [partial(masked, share=share, generator=generator) for share in shares]
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss, parts = batch_loss(network, part, sources, drops, options.tag_share)
    optimizer.zero_grad(set_to_none=True)
    loss.backward()  # type: ignore[no-untyped-call]
    torch.nn.utils.clip_grad_norm_(network.parameters(), 2.0)
    optimizer.step()
    return np.array(parts)


@alone_in("workdir")
def fit_teacher(
    train: Sequence[tuple[float, Sentence, bool]],
    dev: Sequence[Sentence],
    options: TeacherOptions,
    lists: Lists | None = None,
    workdir: Path | None = None,
    start: Teacher | None = None,
    facts: dict[str, Any] | None = None,
    log: Tell = lambda **_: None,
) -> Teacher:
    """Train a teacher of one network. `train`: (weight, sentence, whether its labels are known; otherwise only its tags
    and the crossing constraints of its spans are used). `start`: a teacher to start from. `workdir`: stores the state
    of the run, which is resumed from there.

    Raises TrainingDataError if there is no training sentence or `workdir` belongs to another run.
    """
    torch.set_num_threads(options.threads)
    torch.manual_seed(options.seed)
    reader = Reader()
    used = [(w, s, tree) for w, s, tree in train if s.tree.n_tokens <= options.max_words]
    if not used:
        raise TrainingDataError(f"no sentence has at most {options.max_words} words; set max_words higher")
    if lists is None:
        lists = start.lists if start else Lists.of([s for _, s, tree in used if tree])
    numbers = chain_numbers(lists.chains)
    examples = [(w, make_example(s, lists, numbers, reader, tree)) for w, s, tree in used]
    width = start.networks[0].width if start else options.head_width
    network = TeacherNetwork(len(lists.chains), len(lists.tags), len(lists.sources), width)
    if start is not None:
        network.load_state_dict(start.networks[0].state_dict())
    optimizer = torch.optim.AdamW(_groups(network, options), betas=(0.9, 0.98), fused=True)
    rng = np.random.default_rng(options.seed)
    plan = _plan(examples, options, rng)
    per_pass = len(plan) / options.epochs
    done, run = 0, {"options": to_stored(options), "sentences": len(used), **(facts or {})}
    state = None if workdir is None else workdir / "state.pt"
    if state is not None and state.is_file():
        try:
            kept = torch.load(state, weights_only=True)
            check_facts(state.parent, kept["facts"], run)
            network.load_state_dict(kept["network"])
            optimizer.load_state_dict(kept["optimizer"])
            done = kept["done"]
        except DtparseError:
            raise
        except Exception as error:  # any error of torch, pickle or zipfile that a flipped bit causes
            raise TrainingDataError(
                f"{state} is no readable training state ({error!r}); delete that file to train from the start"
            ) from error
        log(resumed=done)
    network.train()
    began = kept_at = time.perf_counter()
    losses, since = np.zeros(3), 0
    for step, batch in enumerate(plan):
        if step < done:
            continue
        rate = min(1.0, (step + 1) / options.warm) * max(0.01, 1 - step / len(plan))
        generator = torch.Generator().manual_seed(options.seed * 1_000_003 + step)
        losses += _update(network, optimizer, rate, [examples[k][1] for k in batch], options, generator)
        since += 1
        last = step + 1 == len(plan)
        judged = last or int((step + 1) / per_pass / options.judge_every) > int(step / per_pass / options.judge_every)
        if state is not None and (last or time.perf_counter() - kept_at > _KEEP_EVERY):
            kept_at = time.perf_counter()
            held = {"network": network.state_dict(), "optimizer": optimizer.state_dict()}
            with written(state) as file:
                torch.save({**held, "done": step + 1, "facts": run}, file)
        if judged or since == 200:
            figures = {}
            if judged and dev:
                figures = judge(Teacher(lists, (network.eval(),), {}), dev)
                network.train()
            log(
                step=step + 1, of=len(plan), epoch=round((step + 1) / per_pass, 2), brackets=losses[0] / since,
                labels=losses[1] / since, tags=losses[2] / since, **figures, seconds=round(time.perf_counter() - began),
            )  # fmt: skip
            losses, since = np.zeros(3), 0
    return Teacher(lists, (network.eval(),), run)


def judge(
    teacher: Teacher, dev: Sequence[Sentence], source: str | None = None, beside: Beside | None = None
) -> dict[str, float]:
    """Scores by treebank, in per cent: F1 of all brackets, exact matches, tag accuracy. The trees follow the
    conventions of `source`, else those of the treebank if it is a source of the teacher. `beside`: a parser whose
    marginals are interpolated."""
    figures: dict[str, float] = {}
    for name in dict.fromkeys(sentence.source for sentence in dev):
        part = [sentence for sentence in dev if sentence.source == name]
        used = source or (name if name in teacher.lists.sources else None)
        words = [sentence.tree.words for sentence in part]
        beliefs = zip(words, teacher.beliefs(words, used), strict=True)
        trees = [teacher.tree(own, belief, beside)[0] for own, belief in beliefs]
        totals = score_trees(part, trees)[0].to_dict()
        right = sum(a == b for s, t in zip(part, trees, strict=True) for a, b in zip(s.tree.tags, t.tags, strict=True))
        figures[name] = round(100 * totals["all"]["f1"], 2)
        figures[f"{name}_evalb"] = round(100 * totals["evalb"]["f1"], 2)
        figures[f"{name}_exact"] = round(100 * totals["all"]["exact_match"], 2)
        figures[f"{name}_tags"] = round(100 * right / sum(map(len, words)), 2)
    return figures


SEEN = 0.05
"""Minimum posterior probability of a span, no constituent, that is used as an example of "no label"."""


class BracketLoss(torch.autograd.Function):
    """Sum over the sentences of -ln of the probability of all binary trees that cross no constituent; its gradient is a
    difference of posteriors, computed by the parser's kernel."""

    @staticmethod
    def forward(
        ctx: Any, spans: torch.Tensor, batch: Sequence[TeacherExample], found: list[np.ndarray]
    ) -> torch.Tensor:
        """`spans` float32 (sentences, longest + 1, longest + 1): scores. Posteriors among the trees without crossing
        spans are appended to `found`."""
        scores = spans.detach().numpy()
        slopes = np.zeros(scores.shape, dtype=REAL)
        total = 0.0
        for row, example in enumerate(batch):
            n = example.read.n
            if example.crossing is None or n < 2:
                found.append(np.zeros((n + 1, n + 1)))
                continue
            lost, slope, right = bracket_slopes(scores[row, : n + 1, : n + 1], example.crossing)
            total += lost
            slopes[row, : n + 1, : n + 1] = slope
            found.append(right)
        ctx.save_for_backward(torch.from_numpy(slopes))
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
    tag_share: float,
) -> tuple[torch.Tensor, tuple[float, float, float]]:
    """Return (loss per word, nats; its parts: brackets, labels, tags). `drops`: see `TeacherNetwork.forward`."""
    scores: Scores = network([example.read for example in batch], sources, *drops)
    n_words = sum(example.read.n for example in batch)
    n_parsed = max(1, sum(example.read.n for example in batch if example.crossing is not None))
    right: list[np.ndarray] = []
    brackets: torch.Tensor = BracketLoss.apply(scores.spans.float(), batch, right) / n_parsed  # type: ignore[no-untyped-call]
    rows, weights = [], []
    for row, (example, posteriors) in enumerate(zip(batch, right, strict=True)):
        if example.spans is None or example.labels is None:
            continue
        posteriors[tuple(example.spans.T)] = 0
        more = np.argwhere(posteriors > SEEN)
        spans, labels = np.concatenate([example.spans, more]), np.append(example.labels, np.zeros(len(more), dtype=int))
        rows.append(np.column_stack([np.full(len(spans), row), spans, labels]))
        weights += [np.ones(len(example.labels)), posteriors[tuple(more.T)]]
    total = brackets
    label_loss = torch.zeros(())
    if rows:
        *places, label = torch.from_numpy(np.concatenate(rows).T.copy())
        logits = network.label_scores(scores, places, drops[1]).float()
        lost = nn.functional.cross_entropy(logits, label, reduction="none")
        label_loss = (lost * torch.from_numpy(np.concatenate(weights).astype(REAL))).sum() / n_parsed
        total = total + label_loss
    targets = np.full(scores.tags.shape[:2], -1, dtype=np.int64)
    for row, example in enumerate(batch):
        targets[row, : example.read.n] = example.tags
    logits, right_tags = scores.tags.float().flatten(0, 1), torch.from_numpy(targets).flatten()
    tag_loss = nn.functional.cross_entropy(logits, right_tags, ignore_index=-1, reduction="sum") / n_words
    total = total + tag_share * tag_loss
    return total, (brackets.item(), label_loss.item(), tag_loss.item())
