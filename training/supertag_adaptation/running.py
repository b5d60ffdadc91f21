"""Adapt a pipeline to raw text: train a tagger of spines for its parser, and measure the speed."""

import logging
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from spacy.language import Language

from spacy_dtparse.cli.pipelines import get_component
from spacy_dtparse.core import load_tagger
from spacy_dtparse.errors import ConfigError, TrainingDataError
from spacy_dtparse.pcfgla.parser import PcfgParser
from spacy_dtparse.pipeline.registration import PARSER_FACTORIES
from spacy_dtparse.spine_tagger.tagger import SequenceTagger
from spacy_dtparse.stored_names import to_stored
from spacy_dtparse.trees import Recipe, Tree, parse_tree
from spacy_dtparse.trees.directional import category_writer, check_categories

from ..data.assemble import check_target
from ..data.corpus import Sentence
from ..data.reading import SentenceSelection
from ..data.spines import categorise
from ..data.text import TextFile
from ..data.treebanks import TreebankFile, read_files
from ..runs.files import file_digest, reuse_result, write_atomically
from ..runs.metrics_log import metrics_logger
from ..runs.resuming import claim_folder, digest, run_folder
from ..self_training.selecting import COMPLETE_STATUSES
from ..self_training.silver import SilverParsing, SilverTreebank, parse_silver
from ..spine_tagger.corpus import LabelledSentence
from ..spine_tagger.fitting import fit_tagger, tagger_metadata
from ..spine_tagger.options import SequenceOptions
from .measuring import Prunable, TaggerVariant, best_betas, measure, report
from .packing import open_pipeline, parser_head_rules, set_betas, write_pipeline

logger = logging.getLogger(__name__)

BETAS = ((0.5, 0.05), (0.3, 0.03), (0.2, 0.02), (0.1, 0.01), (0.03, 0.003), (0.01, 0.001))
"""Default choices of betas for --tune."""

ANNOTATE = (0.1, 0.01)
"""The betas of the treebanks' tagger while the parser annotates the text."""


@dataclass(frozen=True)
class Adaptation:
    """A pipeline, and the text on which its parser's search is to become faster.

    `pipeline`: a spaCy pipeline by folder or package name, "embedded": the English one. `files`, `reading`: the text
    and the selection of its sentences. `parser`: a model file that replaces the pipeline's parser ("embedded": the
    English boosted trees, "embedded-pcfgla": the English grammar). `treebank`: additional trees to train the tagger on.
    `dev`: trees to score on. `categories`: one of `trees.directional.CATEGORIES`. `options`: of the tagger's training.
    `betas`: of the search, instead of the parser's. `sizes`: a tagger is trained on each of these numbers of the
    parser's trees, None: one on all of them; the last one is put into the pipeline. `tune`: choices of betas; each
    tagger gets those with which the parser is fastest without a lower F1 than unrestricted on every other sentence of
    `dev`; it is scored on the others. `annotate`: betas of a tagger, trained on the treebanks only, that restricts the
    parser while it parses the text, as in Kummerfeld et al. (2010); (): unrestricted; None: ANNOTATE if the parser has
    a chart (boosted trees gain nothing from spines) and is at least as accurate with it as without on the trees of
    `dev` (every other one if betas are chosen on them).

    Raises ConfigError for values out of range.
    """

    pipeline: str
    files: tuple[TextFile, ...]
    reading: SentenceSelection = field(default_factory=SentenceSelection)
    parser: Path | None = None
    treebank: tuple[TreebankFile, ...] = ()
    dev: tuple[TreebankFile, ...] = ()
    categories: str = "directional"
    options: SequenceOptions = field(default_factory=SequenceOptions)
    betas: tuple[float, ...] | None = None
    sizes: tuple[int, ...] | None = None
    tune: tuple[tuple[float, ...], ...] = ()
    annotate: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        if not self.files:
            raise ConfigError("no text to adapt to; give files or folders of plain text (--text)")
        check_categories(self.categories)
        sizes = self.sizes
        if sizes is not None and (not sizes or min(sizes) < 0 or sorted(set(sizes)) != list(sizes)):
            raise ConfigError(f"the sizes are {list(sizes)}; give whole numbers from 0, the smallest first (--sizes)")
        if sizes is not None and sizes[0] == 0 and not self.treebank:
            raise ConfigError("a tagger with 0 trees of the parser has no training data; also give --treebank FILE")
        if self.tune and self.betas is not None:
            raise ConfigError("--betas and --tune are both given; give only one of them")
        if self.tune and not self.dev:
            raise ConfigError("--tune needs gold trees of the same kind as the text; give some (--dev FILE)")
        if self.annotate and not self.treebank:
            raise ConfigError(
                "--annotate-betas needs a tagger trained on treebanks, but there is no treebank; also give --treebank "
                "FILE"
            )
        if any(not 0 <= beta <= 1 for beta in self.annotate or ()):
            raise ConfigError(f"betas are {list(self.annotate or ())}; give numbers from 0 to 1 (--annotate-betas)")
        for betas in self.tune:
            if not betas or any(not 0 <= beta <= 1 for beta in betas):
                raise ConfigError(
                    f"betas to choose from are {list(betas)}; give numbers from 0 to 1, such as 0.1,0.01 (--tune)"
                )


RESULT, TABLE, TAGGER = "result.json", "table.md", "tagger.model"
HELD_OUT = 10
"""One of this many sentences is held out."""
_BLOCK = 10
"""Maximum number of adjacent sentences held out together, because sentences of one text are similar."""
_TRAINING_STATUSES = (*COMPLETE_STATUSES, "greedy")
"""Statuses of the parses that are used for training."""


@dataclass(frozen=True)
class _AdaptationData:
    """The parser, a digest of its model, labelled training sentences of text and treebank, and sentences to measure on
    with their gold labels."""

    parser: Prunable
    model: str
    train: list[LabelledSentence]
    treebank: list[LabelledSentence]
    held: tuple[list[Sentence], list[LabelledSentence]]
    dev: tuple[list[Sentence], list[LabelledSentence]]


def adapt(adaptation: Adaptation, out: Path, workdir: Path | None = None, n_workers: int = 2) -> str:
    """Parse the text, train a tagger for each size, measure, write the pipeline `out`; returns the report.

    The parser's trees, taggers and results are saved in `workdir`, if given; a call under the same conditions resumes
    there. `n_workers`: number of parsing processes and of training threads. Raises ConfigError, TrainingDataError and
    ModelFormatError for unusable input.
    """
    check_target(out)
    nlp = open_pipeline(adaptation.pipeline, adaptation.parser, adaptation.betas)
    with run_folder(workdir) as folder:
        material = _prepare_data(adaptation, nlp, folder, n_workers)
        taggers = []
        for size in _sizes(adaptation, len(material.train)):
            logger.info(f"training a tagger on {size} trees of the parser and {len(material.treebank)} of treebanks")
            sentences = [*material.treebank, *material.train[:size]]
            taggers.append(_train_tagger(adaptation, sentences, size, folder, n_workers, str(nlp.lang)))
        logger.info("measuring")
        rows = _measure_taggers(material, taggers, folder, adaptation.tune)
        found = report(rows[0], rows[1:])
        write_atomically(folder / TABLE, found.encode())
        if adaptation.tune:
            set_betas(nlp, rows[-1]["betas"])
        write_pipeline(nlp, folder / str(rows[-1]["size"]) / TAGGER, out)
    return found


def _prepare_data(adaptation: Adaptation, nlp: Language, folder: Path, n_workers: int) -> _AdaptationData:
    """Prepare the data to train and measure on."""
    parser = get_component(nlp).configured_parser.inner_parser
    treebank, dev = read_files(adaptation.treebank), read_files(adaptation.dev)
    categories = category_writer(adaptation.categories, parser_head_rules(parser))
    label = partial(label_sentences, recipe=parser.recipe, categories=categories)
    known = label(treebank)
    conditions = {
        "categories": adaptation.categories,
        "options": adaptation.options.to_dict(),
        "treebank": digest(known),
    }
    claim_folder(folder, conditions)
    model, data = folder / "parser.model", parser.to_bytes()
    if not model.is_file() or model.read_bytes() != data:
        write_atomically(model, data)
    settings = to_stored(parser.settings, without=("betas",))
    labels = label(dev)
    betas = adaptation.annotate
    if betas is None:
        betas = ANNOTATE if known and dev and isinstance(parser, PcfgParser) else ()
    spines = None
    if betas:
        logger.info(f"training a tagger on {len(known)} trees of treebanks")
        tagger = _train_tagger(adaptation, known, 0, folder, n_workers, str(nlp.lang))
        helps = bool(adaptation.annotate)
        if not helps:  # compare on the trees of dev, or every other one of them
            every = slice(None, None, 2 if adaptation.tune else 1)
            found = measure(parser, dev[every], labels[every], [TaggerVariant(None, ()), TaggerVariant(tagger, betas)])
            unrestricted_f1, restricted_f1 = (one["f1"] for one in found)
            helps = restricted_f1 >= unrestricted_f1
            logger.info(
                f"on {len(dev[every])} trees of dev the parser's F1 is {100 * unrestricted_f1:.2f} alone and "
                f"{100 * restricted_f1:.2f} with that tagger: it parses the text {'with it' if helps else 'without it'}"
            )
        if helps:
            spines, settings["betas"] = folder / "0" / TAGGER, list(betas)
    text = adaptation.files, adaptation.reading, folder / "text"
    parsing = SilverParsing(model, *text, n_workers, settings, allow_unknown_confidence=True, spines=spines)
    ours = [name for name in nlp.pipe_names if nlp.get_pipe_meta(name).factory in PARSER_FACTORIES]
    with nlp.select_pipes(disable=ours):
        train, held = split_parses(parse_silver(parsing, nlp))
    return _AdaptationData(parser, file_digest(model), label(train), known, (held, label(held)), (dev, labels))


def split_parses(silver_trees: SilverTreebank) -> tuple[list[Sentence], list[Sentence]]:
    """(Training trees in a fixed random order, held-out trees). Unfinished parses are left out of the first; the second
    are all of every tenth block of adjacent sentences.

    Raises TrainingDataError for fewer sentences than HELD_OUT, and if no training tree is left.
    """
    n = len(silver_trees.sentences)
    if n < HELD_OUT:
        raise TrainingDataError(f"{n} sentences are too few to train and to measure on; give more text")
    block = max(1, min(_BLOCK, n // (HELD_OUT * _BLOCK)))
    train, held = list[Sentence](), list[Sentence]()
    for i, (sentence, silver_tree) in enumerate(zip(silver_trees.sentences, silver_trees.trees, strict=True)):
        shape = parse_tree(silver_tree.tree)
        tree = Tree.unchecked(sentence.words, sentence.tags, shape.labels, shape.starts, shape.ends)
        example = Sentence(tree, sentence.tags, silver_trees.counts[sentence.file]["name"])
        if i // block % HELD_OUT == HELD_OUT - 1:
            held.append(example)
        elif silver_tree.status in _TRAINING_STATUSES:
            train.append(example)
    if not train:
        raise TrainingDataError(
            f"the parser finished none of the {n} sentences; give other text, or a larger budget for boosted trees"
        )
    random.Random(0).shuffle(train)
    return train, held


def label_sentences(
    sentences: Sequence[Sentence], recipe: Recipe, categories: Callable[[Tree], Sequence[str]]
) -> list[LabelledSentence]:
    """The words and tags that parser and tagger are given, with the categories of the tree that the parser builds (see
    `categorise`); a token that the recipe removes has the category of the unchanged tree.

    Raises TrainingDataError for a tree without categories.
    """
    result = []
    for sentence, tokens in zip(sentences, categorise(sentences, recipe, categories), strict=True):
        words, tags = sentence.tree.words, sentence.tags
        labels = [token.category for token in tokens]
        if len(labels) < len(words):
            new_labels, labels = labels, [t.category for t in categorise([sentence], Recipe(()), categories)[0]]
            for i, label in zip(recipe.prepare(words, tags).kept, new_labels, strict=True):
                labels[i] = label
        result.append(LabelledSentence(words, tags, tuple(labels)))
    return result


def _sizes(adaptation: Adaptation, n_trees: int) -> list[int]:
    """The numbers of the parser's trees to train taggers on."""
    if adaptation.sizes is None:
        return [n_trees]
    large = [size for size in adaptation.sizes if size > n_trees]
    if large:
        logger.info(f"the text has only {n_trees} training trees; they are used for {', '.join(map(str, large))}")
    return sorted({min(size, n_trees) for size in adaptation.sizes})


def _train_tagger(
    adaptation: Adaptation, sentences: list[LabelledSentence], size: int, folder: Path, n_workers: int, lang: str
) -> SequenceTagger:
    """Train a tagger on `size` of the parser's trees, or load it if it exists; its meta has `to_dict`."""
    conditions = {"size": size, "options": adaptation.options.to_dict(), "sentences": digest(sentences)}
    tagger_folder = folder / str(size)
    path = tagger_folder / TAGGER
    if path.is_file():
        tagger = load_tagger(path)
        if tagger.meta.get("facts") == conditions:
            return tagger
    given = {"name": "spines", "lang": lang, "categories": adaptation.categories, "facts": conditions}
    meta = tagger_metadata(given, sentences, adaptation.options)
    model = fit_tagger(
        sentences, (), adaptation.options, tagger_folder / "learner", meta, n_workers, metrics_logger(tagger_folder)
    )
    tagger = SequenceTagger(model)
    write_atomically(path, tagger.to_bytes())
    return tagger


def _measure_taggers(
    material: _AdaptationData, taggers: Sequence[SequenceTagger], folder: Path, choices: Sequence[tuple[float, ...]]
) -> list[dict[str, Any]]:
    """The results of the unrestricted parser and then with each tagger, measured unless they exist; `choices`: betas,
    chosen for each tagger on half of the dev sentences."""
    parser = material.parser
    conditions: dict[str, Any] = {
        "taggers": [tagger.meta["facts"] for tagger in taggers],
        "parser": material.model,
        "settings": to_stored(parser.settings),
        "text": digest(material.held[1]),
        "dev": digest(material.dev[1]),
    }
    if choices:
        conditions["tune"] = choices

    def compute(_: dict[str, Any]) -> dict[str, Any]:
        variants, dev = [TaggerVariant(tagger, parser.settings.betas) for tagger in taggers], material.dev
        if choices:
            tuning, dev = ((dev[0][part::2], dev[1][part::2]) for part in (0, 1))
            variants = [TaggerVariant(tagger, best_betas(parser, *tuning, tagger, choices)) for tagger in taggers]
            logger.info(
                f"betas chosen on {len(tuning[0])} sentences of dev: {', '.join(str(o.betas) for o in variants)}"
            )
        text, scored = (
            measure(parser, *part, [TaggerVariant(None, ()), *variants], agreement)
            if part[0]
            else [None] * (1 + len(variants))
            for part, agreement in ((material.held, True), (dev, False))
        )
        sizes = [None, *(tagger.meta["facts"]["size"] for tagger in taggers)]
        betas = [None, *(list(variant.betas) for variant in variants)]
        names = ("size", "betas", "text", "dev")
        rows = [dict(zip(names, row, strict=True)) for row in zip(sizes, betas, text, scored, strict=True)]
        return {"rows": rows}

    return list(reuse_result(folder / RESULT, conditions, compute)[0]["rows"])
