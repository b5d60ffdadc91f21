"""Train a dependency parser on files and write a model file."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from spacy_dtparse import __version__
from spacy_dtparse.bpm_parser.parser import DependencyParser
from spacy_dtparse.core import Parser, load_tagger
from spacy_dtparse.errors import ConfigError, TrainingDataError
from spacy_dtparse.models import open_parser
from spacy_dtparse.spine_tagger.tagger import SequenceTagger
from spacy_dtparse.trees.heads import head_rules, tree_guide

from ..data.corpus import read_tags
from ..data.dependencies import DependencySentence, from_tree, read_conllu, retag_sentences
from ..data.evaluate import tag_lists
from ..data.treebanks import TreebankFile, blocks
from ..runs.files import write_atomically
from ..runs.metrics_log import metrics_logger
from ..runs.processes import optional_pool
from ..runs.resuming import run_folder
from .fitting import train_dependency_model
from .options import DependencyOptions

if TYPE_CHECKING:
    from spacy.language import Language


Jackknife = Callable[..., tuple[list[DependencySentence], SequenceTagger]]  # see loglinear_tagger's `jackknife_tags`


class Annotators(NamedTuple):
    """The models that annotate the sentences of files before training.

    `tagger`: a spaCy pipeline, by folder or name ("embedded": the English one), whose fine tags replace those of the
    files; it should not have been trained on them, or its tags are more accurate here than in use. `guide`: model file
    of a constituency parser whose trees guide the first stage, for options with such rules; it should not have been
    trained on them, either. `folds`, `jackknife`: number of taggers that each tag the part of the training sentences
    that they were not trained on, and the function that trains them; one more, trained on all, tags the others and is
    written next to the model, with the suffix .tagger.
    """

    tagger: str | None = None
    guide: Path | None = None
    folds: int = 0
    jackknife: Jackknife | None = None


def read_treebank_file(text: str, lang: str) -> list[DependencySentence]:
    """Read the sentences of `PATH[,tags=PATH][,limit=N][,block=K/N]`: a CoNLL-U file, or bracketed trees (.mrg), whose
    heads are found by the rules of the language. `tags`: file with a line of fine tags for each sentence, instead of
    those in the file. `block`: see `data.treebanks.blocks`. Raises ConfigError, TrainingDataError."""
    path, *parts = text.split(",")
    given = dict(part.partition("=")[::2] for part in parts)
    unknown = sorted(set(given) - {"tags", "limit", "block"})
    if unknown:
        raise ConfigError(f"{text}: {unknown[0]!r} is no option; allowed are tags=PATH, limit=N, block=K/N")
    if path.endswith(".conllu"):
        sentences = list(read_conllu(path))
        if "tags" in given:
            sentences = _read_tags(sentences, Path(given["tags"]))
    else:
        file = TreebankFile.parse(f"{path},tags={given['tags']}" if "tags" in given else path)
        rules = head_rules(lang)
        sentences = [from_tree(s.tree, rules, s.tags) for s in file.read()]
    if "block" in given:
        sentences = blocks(sentences, given["block"], text)
    if "limit" in given:
        if not given["limit"].isdigit():
            raise ConfigError(f"{text}: the limit is {given['limit']!r}; it must be a whole number")
        sentences = sentences[: int(given["limit"])]
    return sentences


def _read_tags(sentences: Sequence[DependencySentence], path: Path) -> list[DependencySentence]:
    rows = read_tags(path, "a line of tags for each sentence")
    if len(rows) != len(sentences):
        raise TrainingDataError(f"{path}: {len(rows)} lines of tags for {len(sentences)} sentences; give one for each")
    for number, (sentence, tags) in enumerate(zip(sentences, rows, strict=True), 1):
        n = len(sentence.heads)
        if len(tags) != n:
            raise TrainingDataError(f"{path}:{number}: {len(tags)} tags for {n} tokens; give one for each")
    return _with_tags(sentences, rows)


def _with_tags(sentences: Sequence[DependencySentence], rows: Sequence[tuple[str, ...]]) -> list[DependencySentence]:
    return [replace(s, columns=s.columns._replace(tags=tags)) for s, tags in zip(sentences, rows, strict=True)]


def find_tagger(name: str) -> Language | SequenceTagger:
    """Load a spaCy pipeline by folder or name ("embedded": the English one of this package), or the tagger in a model
    file that `train_dependency_parser` wrote. Raises ConfigError, ModelFormatError."""
    import spacy

    import spacy_dtparse

    if Path(name).is_file():
        return load_tagger(name)
    try:
        return spacy_dtparse.load() if name == "embedded" else spacy.load(name)
    except OSError as error:
        raise ConfigError(f"--tagger {name}: there is no such spaCy pipeline ({error})") from None


def tag_sentences(nlp: Language | SequenceTagger, sentences: Sequence[DependencySentence]) -> list[DependencySentence]:
    """Replace the tags of sentences by a pipeline's fine tags, or by a tagger's parts of speech."""
    if isinstance(nlp, SequenceTagger):
        return retag_sentences(nlp, sentences)
    return _with_tags(sentences, tag_lists(nlp, [sentence.columns.words for sentence in sentences]))


def add_guides(parser: Parser, sentences: Sequence[DependencySentence], lang: str) -> list[DependencySentence]:
    """Add the dependencies of a constituency parser's trees to sentences as their guide."""
    rules = head_rules(lang)
    result = []
    for sentence in sentences:
        columns = sentence.columns
        heads, labels = tree_guide(parser.parse(columns.words, columns.tags).tree, rules)
        result.append(replace(sentence, columns=columns._replace(guide_heads=heads, guide_labels=labels)))
    return result


def train_dependency_parser(
    train: Sequence[str],
    dev: Sequence[str],
    options: DependencyOptions,
    metadata: dict[str, Any],
    out: Path,
    workdir: Path | None = None,
    workers: int = 2,
    annotators: Annotators | None = None,
) -> float:
    """Train on files (see `read_treebank_file`) and write `out`; returns the duration in seconds. `metadata`: for the
    model's meta, with its language, "lang". Without a `workdir` the run cannot be resumed. Raises TrainingDataError and
    ConfigError for unusable input."""
    started = time.perf_counter()
    lang, (tagger, guide, folds, jackknife) = metadata.get("lang", "en"), annotators or Annotators()
    sentences, held_out = ([s for text in texts for s in read_treebank_file(text, lang)] for texts in (train, dev))
    tags = "gold" if tagger is None else f"predicted by {tagger}"
    if tagger is not None:
        nlp = find_tagger(tagger)
        sentences, held_out = tag_sentences(nlp, sentences), tag_sentences(nlp, held_out)
    with run_folder(workdir) as folder, optional_pool(workers) as pool:
        log = metrics_logger(workdir)
        if jackknife is not None:
            sentences, tagger_of_all = jackknife(
                sentences, options.rules, folds, folder / "tags", workers, log, metadata
            )
            held_out, tags = retag_sentences(tagger_of_all, held_out), f"jackknifed, {folds} folds"
            write_atomically(out.with_suffix(".tagger"), tagger_of_all.to_bytes())
        if guide is not None:
            constituents = open_parser(guide)
            sentences, held_out = add_guides(constituents, sentences, lang), add_guides(constituents, held_out, lang)
        meta = {
            "version": __version__,
            **metadata,
            "sentences": len(sentences),
            "tokens": sum(len(sentence.heads) for sentence in sentences),
            "guide": None if guide is None else constituents.meta.get("name", constituents.name),
            "tags": tags,
            "options": options.to_dict(),
        }
        model = train_dependency_model(sentences, held_out, options, folder, meta, pool, log)
    write_atomically(out, DependencyParser(model).to_bytes())
    return time.perf_counter() - started
