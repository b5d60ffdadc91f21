"""Train a model on dependency sentences: stages of Bayes point machines, then the labeller."""

import time
from collections.abc import Iterable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from spacy_dtparse.bpm_parser.features import LinkParts
from spacy_dtparse.bpm_parser.kernels.links import ALL_LINKS, label_atoms, make_guide, score_links
from spacy_dtparse.bpm_parser.model import MAX_LABELS, DependencyModel, LinkStage, pack_links
from spacy_dtparse.bpm_parser.parser import DependencyParser, Labeller, best_dependency_tree
from spacy_dtparse.dtypes import INDEX
from spacy_dtparse.errors import TrainingDataError
from spacy_dtparse.linear.features import LabelStage, pack_labels
from spacy_dtparse.linear.kernels.feature_table import FamilyTable, make_families
from spacy_dtparse.scoring.attachment import AttachmentReport

from ..data.corpus import short_block_folds
from ..data.dependencies import DependencySentence
from ..runs.metrics_log import MetricsLogger
from ..runs.processes import map_tasks
from ..runs.resuming import claim_folder, digest
from .learning import Example, feature_keys, label_list, members_weights, train_labels, train_member, write_listing
from .options import DependencyOptions

_GUIDE = 500  # first part of the keys of learners that provide guides
_LABELLERS = 3  # labellers of guides, each without a third of the folds: labels vary less between folds than heads do


def tree_heads(example: Example, rows: np.ndarray, weights: np.ndarray, projective: bool) -> np.ndarray:
    """The heads of the best tree, int32 (n + 1,), under the weights of a FamilyTable."""
    n = len(example.heads) - 1
    scores = np.zeros((n + 1, n + 1))
    score_links(example.atoms, make_guide(example.guide, example.guide_labels), rows, weights, ALL_LINKS, scores)
    return best_dependency_tree(scores, projective)[0]


def make_examples(sentences: Sequence[DependencySentence], parts: LinkParts) -> list[Example]:
    """Encode sentences as atomic features and heads."""
    return [
        Example(parts.encode(s.columns), np.array([-1, *s.heads], INDEX), *parts.encode_guide(s.columns))
        for s in sentences
    ]


def train_dependency_model(
    train: Sequence[DependencySentence],
    dev: Sequence[DependencySentence],
    options: DependencyOptions,
    workdir: Path,
    meta: dict[str, Any],
    executor: Executor | None = None,
    log_metrics: MetricsLogger = lambda **_: None,
) -> DependencyModel:
    """Train a dependency model. Finished learners are saved in `workdir`, so that a run can be resumed. `log_metrics`
    logs each learner and, with `dev`, the mean of the learners so far: the learning curve. With `dev` the model gets
    the number of stages that is best there: on a small treebank a guide may do more harm than good. Raises
    TrainingDataError if there is no training data, or `workdir` belongs to another run."""
    chosen = [sentence for sentence in train if len(sentence.heads) <= options.max_words]
    if not chosen:
        raise TrainingDataError(
            f"no training sentence has at most {options.max_words} tokens (max_words); give treebanks, or a larger "
            "max_words"
        )
    digested = ([sentence.columns, sentence.heads, sentence.labels] for sentence in train)
    claim_folder(workdir, {"options": options.to_dict(), "sentences": digest(digested)})
    parts = LinkParts.build((sentence.columns for sentence in train), options.rules)
    examples, dev_examples = make_examples(chosen, parts), make_examples(dev, parts)
    names = label_list([sentence.labels for sentence in chosen])
    if len(names) > MAX_LABELS:
        raise TrainingDataError(
            f"{len(names)} different labels; at most {MAX_LABELS} are supported. Use treebanks with fewer labels"
        )
    labels, labellers = _train_labels(examples, chosen, names, options, log_metrics)
    stages: list[LinkStage] = []
    for i in range(options.stages):
        started = time.perf_counter()
        keys = feature_keys(examples, options.min_count)
        stage = _Stage(i, workdir / f"stage{i}", make_families(keys), len(keys), options, executor, log_metrics)
        listed = write_listing(examples, keys, stage.folder)
        seconds = round(time.perf_counter() - started)
        log_metrics(stage=i, sentences=len(examples), features=len(keys), listed=len(listed.features), seconds=seconds)
        stages.append(pack_links(keys, stage.train(dev_examples, dev), options.max_features))
        if i + 1 < options.stages:
            folds = short_block_folds(len(examples), options.folds).tolist()
            examples = _add_guides(examples, stage.jackknife(examples), [labellers.get(fold) for fold in folds])
            dev_guides = stage.trees(dev_examples, *stages[-1].table())
            dev_examples = _add_guides(dev_examples, dev_guides, [labellers.get(-1)] * len(dev))
    model = DependencyModel(parts, tuple(stages), labels, names, options.decoder, meta)
    if not dev:
        return model
    scores = []
    for i in range(1, options.stages + 1):
        report = attachment_scores(DependencyParser(model).with_settings(stages=i), dev)
        log_metrics(stages=i, result=report.line())
        scores.append(report.to_dict())
    best = max(scores, key=lambda score: score["all"]["uas"])
    return replace(model, stages=model.stages[: scores.index(best) + 1], meta={**meta, "dev": best})


def _train_labels(
    examples: Sequence[Example],
    sentences: Sequence[DependencySentence],
    names: Sequence[str],
    options: DependencyOptions,
    log_metrics: MetricsLogger,
) -> tuple[LabelStage | None, dict[int, Labeller]]:
    """(The labeller's stage, labellers for guides by the fold that they were trained without; -1: trained on all)."""
    if not options.label_members:
        return None, {}
    started = time.perf_counter()
    labels = [sentence.labels for sentence in sentences]
    keys, weights = train_labels(examples, labels, names, options)
    stage = pack_labels(keys, weights, options.max_label_weights)
    seconds = round(time.perf_counter() - started)
    log_metrics(labels=len(names), label_features=len(keys), label_weights=len(stage.weights), seconds=seconds)
    labellers = {-1: Labeller(stage, len(names))}
    folds = short_block_folds(len(examples), options.folds)
    for group in range(_LABELLERS) if options.stages > 1 else ():
        chosen = np.flatnonzero(folds % _LABELLERS != group).tolist()
        if chosen:
            found = train_labels([examples[k] for k in chosen], [labels[k] for k in chosen], names, options, 1)
            labeller = Labeller(pack_labels(*found, options.max_label_weights), len(names))
            labellers |= {fold: labeller for fold in range(group, options.folds, _LABELLERS)}
    return stage, labellers


def _add_guides(
    examples: Sequence[Example], guides: Sequence[np.ndarray], labellers: Sequence[Labeller | None]
) -> list[Example]:
    """Add guides to examples and, if there is a labeller, the labels of the guides."""
    result = []
    for example, heads, labeller in zip(examples, guides, labellers, strict=True):
        labels = None if labeller is None else label_atoms(labeller.label(example.atoms, heads))
        result.append(replace(example, guide=heads, guide_labels=labels))
    return result


def attachment_scores(parser: DependencyParser, sentences: Sequence[DependencySentence]) -> AttachmentReport:
    """Compute the attachment scores of a parser."""
    report = AttachmentReport()
    for sentence in sentences:
        found, gold = parser.parse(sentence.columns), [head - 1 for head in sentence.heads]
        report.add(gold, found.heads, sentence.punctuation, sentence.labels, found.labels)
    return report


@dataclass(frozen=True)
class _Stage:
    """A stage in training: its index, the folder of its feature listing, the table of its features and their number."""

    index: int
    folder: Path
    features: FamilyTable
    n_features: int
    options: DependencyOptions
    executor: Executor | None
    log_metrics: MetricsLogger

    def trees(self, examples: Sequence[Example], rows: np.ndarray, weights: np.ndarray) -> list[np.ndarray]:
        """The heads of the best trees."""
        return [tree_heads(example, rows, weights, self.options.decoder == "projective") for example in examples]

    def learn(self, keys: Sequence[tuple[int, ...]], left_out: Sequence[int]) -> Iterable[list[int]]:
        """Train a learner for each key, in parallel if there is an executor; returns the wrong dependencies by pass, in
        order."""
        work = partial(train_member, self.folder, self.n_features, self.options)
        return map_tasks(self.executor, work, left_out, keys)

    def train(self, dev_examples: Sequence[Example], dev: Sequence[DependencySentence]) -> np.ndarray:
        """Train the stage's learners; returns their mean, float64 (F,)."""
        keys = [(self.index, member) for member in range(self.options.members)]
        mean = np.zeros(self.n_features)
        for count, wrong in enumerate(self.learn(keys, [-1] * len(keys)), 1):
            started = time.perf_counter()
            weights = next(members_weights(self.folder, [keys[count - 1]]))
            mean += weights
            metrics: dict[str, Any] = {"stage": self.index, "member": count, "wrong_links": wrong}
            for name, values in (("alone", weights), ("mean", mean / count)) if dev else ():
                found = self.trees(dev_examples, self.features.rows, self.features.weights(values))
                report = AttachmentReport()
                for sentence, heads in zip(dev, found, strict=True):
                    report.add(sentence.heads, heads[1:].tolist(), sentence.punctuation)
                for part, end in (("all", ""), ("without_punctuation", "_words")):
                    metrics[f"{name}_uas{end}"] = 100 * report.to_dict()[part]["uas"]
            metrics["judged"] = round(time.perf_counter() - started, 1)
            self.log_metrics(**metrics)
        return mean / self.options.members

    def jackknife(self, examples: Sequence[Example]) -> list[np.ndarray]:
        """A guide for each sentence, from learners trained without its fold. (All features have an id, but those that
        occur only in the left-out fold keep weight 0.)"""
        folds = short_block_folds(len(examples), self.options.folds)
        members = range(self.options.guide_members)
        keys = {fold: [(_GUIDE, self.index, fold, member) for member in members] for fold in np.unique(folds).tolist()}
        list(self.learn([key for part in keys.values() for key in part], [fold for fold in keys for _ in members]))
        guides = [np.zeros(0, INDEX)] * len(examples)
        for fold, fold_keys in keys.items():
            mean = sum(members_weights(self.folder, fold_keys), np.zeros(self.n_features)) / len(fold_keys)
            indices = np.flatnonzero(folds == fold).tolist()
            found = self.trees([examples[k] for k in indices], self.features.rows, self.features.weights(mean))
            for i, heads in zip(indices, found, strict=True):
                guides[i] = heads
        right = np.concatenate([heads[1:] == one.heads[1:] for heads, one in zip(guides, examples, strict=True)])
        self.log_metrics(stage=self.index, guides=len(guides), guides_uas=100 * int(right.sum()) / len(right))
        return guides
