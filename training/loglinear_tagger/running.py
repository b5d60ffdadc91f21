"""A training run of a tagger from files to a model file, and labels and parts of speech for its own training
sentences."""

import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from spacy_dtparse import __version__
from spacy_dtparse.errors import TrainingDataError
from spacy_dtparse.features.linear.linkparts import TextRules
from spacy_dtparse.parsers.tagging import SequenceTagger

from ..data.dependencies import DependencySentence
from ..data.folds import folds_of
from ..data.parts_of_speech import part_labels, with_labels
from ..runs.files import write_atomically
from ..runs.resuming import run_folder
from ..runs.telling import Tell, teller
from .corpus import LabelledSentence, read_labelled, write_labelled
from .fitting import fit_tagger, judge
from .options import SequenceOptions


def _read(paths: Sequence[Path]) -> list[LabelledSentence]:
    return [sentence for path in paths for sentence in read_labelled(path)]


def model_facts(
    facts: Mapping[str, Any], sentences: Sequence[LabelledSentence], options: SequenceOptions
) -> dict[str, Any]:
    """What a model's meta says: `facts`, and what it is trained on and how."""
    return {
        "version": __version__,
        **facts,
        "sentences": len(sentences),
        "tokens": sum(len(sentence.words) for sentence in sentences),
        "options": options.facts(),
    }


def fit_files(
    train: Sequence[Path],
    dev: Sequence[Path],
    options: SequenceOptions,
    facts: dict[str, Any],
    out: Path,
    workdir: Path | None = None,
    workers: int = 2,
    betas: Sequence[float] = (),
) -> dict[str, Any]:
    """Train on files (see `read_labelled`), write `out` and return its scores on `dev` (see `judge`), {} without.
    `facts`: go into the model's meta. Without a `workdir` nothing is left to be resumed.

    Raises TrainingDataError and ConfigError for what cannot be used.
    """
    began = time.perf_counter()
    sentences, held_out = _read(train), _read(dev)
    with run_folder(workdir) as folder:
        meta = model_facts(facts, sentences, options)
        model = fit_tagger(sentences, held_out, options, folder, meta, workers, teller(workdir))
        scores = judge(SequenceTagger(model), held_out, betas) if held_out else {}
        model.meta["dev"] = scores
        write_atomically(out, SequenceTagger(model).to_bytes())
        teller(workdir)(out=str(out), megabytes=out.stat().st_size / 1e6, seconds=time.perf_counter() - began)
    return scores


def jackknifed(
    sentences: Sequence[LabelledSentence],
    options: SequenceOptions,
    folds: int,
    folder: Path,
    workers: int = 2,
    betas: Sequence[float] = (),
    say: Tell = lambda **_: None,
) -> tuple[list[LabelledSentence], dict[str, Any]]:
    """The sentences with labels of taggers that have not seen them, and the scores (see `judge`) of all folds together.
    A finished fold is kept in the `folder`; `workers`: folds at a time.

    Raises TrainingDataError where there are fewer blocks of sentences than folds.
    """
    of = folds_of(len(sentences), folds).tolist()
    if len(set(of)) < folds:
        raise TrainingDataError(
            f"{len(sentences)} sentences are too few for {folds} folds of blocks of ten; give more, or fewer folds"
        )

    def one(fold: int) -> tuple[list[LabelledSentence], dict[str, Any]]:
        held = [sentence for sentence, own in zip(sentences, of, strict=True) if own == fold]
        rest = [sentence for sentence, own in zip(sentences, of, strict=True) if own != fold]
        model = fit_tagger(rest, (), options, folder / f"fold{fold}", {})
        tagger = SequenceTagger(model)
        found = [s._replace(labels=tuple(tagger.tag(s.words, s.tags))) for s in held]
        scores = judge(tagger, held, betas)
        say(fold=fold, words=scores["words"], accuracy=scores["accuracy"])
        return found, scores

    with ThreadPoolExecutor(workers) as pool:
        results = list(pool.map(one, range(folds)))
    labelled = [iter(found) for found, _ in results]
    return [next(labelled[fold]) for fold in of], _together([scores for _, scores in results])


def jackknife(
    train: Sequence[Path],
    options: SequenceOptions,
    out: Path,
    folds: int = 10,
    workdir: Path | None = None,
    workers: int = 2,
    betas: Sequence[float] = (),
) -> dict[str, Any]:
    """Write the sentences of files as `jackknifed` labels them to `out`, and return its scores. Raises as it does."""
    sentences = _read(train)
    with run_folder(workdir) as folder:
        found, scores = jackknifed(sentences, options, folds, folder, workers, betas, teller(workdir))
    write_atomically(out, write_labelled(found).encode())
    return scores


def jackknifed_tags(
    train: Sequence[DependencySentence],
    rules: TextRules,
    folds: int,
    folder: Path,
    workers: int = 2,
    say: Tell = lambda **_: None,
    meta: Mapping[str, Any] | None = None,
    options: SequenceOptions | None = None,
) -> tuple[list[DependencySentence], SequenceTagger]:
    """The training sentences with parts of speech of taggers that have not seen them, and a tagger of them all for
    others. A finished fold is kept in the `folder`; `workers`: folds at a time; `meta`: facts for the tagger's model.

    Raises TrainingDataError where there are fewer blocks of sentences than folds.
    """
    options = options or SequenceOptions()
    gold = [LabelledSentence(tuple(s.columns.words), (), part_labels(s, rules)) for s in train]
    found, scores = jackknifed(gold, options, folds, folder, workers, say=say)
    say(tags_words=scores["words"], tags_accuracy=scores["accuracy"])
    facts = {**(meta or {}), "jackknifed": scores["accuracy"]}
    model = fit_tagger(gold, (), options, folder / "all", facts, workers, say)
    sentences = [with_labels(sentence, own.labels) for sentence, own in zip(train, found, strict=True)]
    return sentences, SequenceTagger(model)


def _together(parts: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Scores of several sets of sentences as those of all."""
    words = sum(part["words"] for part in parts)

    def means(scores: Sequence[dict[str, Any]], *names: str) -> dict[str, float]:
        pairs = list(zip(scores, parts, strict=True))
        return {name: sum(own[name] * part["words"] for own, part in pairs) / max(words, 1) for name in names}

    betas = {beta: means([part["betas"][beta] for part in parts], "accuracy", "labels") for beta in parts[0]["betas"]}
    return {"words": words, **means(parts, "accuracy", "sequence_accuracy"), "betas": betas}


def report(scores: dict[str, Any]) -> str:
    """Scores as lines of text."""
    return "\n".join([
        f"{scores['words']} words, accuracy {100 * scores['accuracy']:.2f} %, "
        f"of the best sequence {100 * scores['sequence_accuracy']:.2f} %",
        *(f"beta {beta}: right label offered {100 * values['accuracy']:.2f} %, {values['labels']:.3f} labels a word"
          for beta, values in scores["betas"].items()),
    ])  # fmt: skip
