"""Train a boosted-tree parser: from treebanks and tags to a model file. A killed run resumes from its working
folder."""

import json
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path
from shutil import rmtree
from typing import Any

import numpy as np

from spacy_dtparse import __version__
from spacy_dtparse.core import load_parser
from spacy_dtparse.core.settings import SearchSettings
from spacy_dtparse.dtparse.features.lexicon import Lexicon, frequent_words
from spacy_dtparse.dtparse.features.tables import get_templates
from spacy_dtparse.dtparse.features.templates import compile_templates
from spacy_dtparse.dtparse.kernels import features as k
from spacy_dtparse.dtparse.kernels.atoms import AtomMap
from spacy_dtparse.dtparse.model.ensemble import LabelEnsemble, empty_ensemble
from spacy_dtparse.dtparse.model.model import SHIFT, DtreeModel, compose, make_grammar, renumber, used_atoms
from spacy_dtparse.dtparse.model.schema import MAX_LABELS, MAX_TAGS
from spacy_dtparse.dtparse.model.window_filter import EVERYTHING, WindowFilter
from spacy_dtparse.dtparse.parser import DtreeParser
from spacy_dtparse.dtypes import BITS, INDEX
from spacy_dtparse.errors import ModelFormatError, TrainingDataError
from spacy_dtparse.models import embedded_model
from spacy_dtparse.span_parser.parser import SpanParser
from spacy_dtparse.stored_names import stored_names, to_stored
from spacy_dtparse.trees import TOP, Recipe, Tree
from spacy_dtparse.trees.heads import COLLINS, HeadRules
from spacy_dtparse.trees.heads_compiled import compile_head_rules

from ..data.clusters import read_clusters
from ..data.corpus import Sentence, survey, training_tree
from ..data.evaluate import parse_sentences, score_trees
from ..data.heads import rules_for
from ..data.reading import load_tagger
from ..data.tag_mapping import has_known_tags, map_tags
from ..data.treebanks import TreebankFile, listed_texts, read_files, span_model_treebanks, training_origin
from ..runs.files import append_line, file_digest, load_checkpoint, save_checkpoint, write_atomically
from ..runs.lock import lock_dir
from ..runs.metrics_log import log_metrics
from ..runs.processes import worker_pool
from ..runs.resuming import digest, load_arrays, open_arrays, save_arrays
from .boosting.labels import Label
from .boosting.path import PathResult, train_path
from .boosting.path_log import plot_path
from .boosting.store import DirectStore, open_store
from .examples import STORES, ExampleFilter, Replayer, collect_atoms, gold_derivation, write_stores
from .label_pruning import complete_marginals, label_table
from .recipe import FitRecipe
from .window_filter import train_window_filter


class BoostingRun:
    """One training run in a working folder.

    `sentences`: training sentences; `dev`: sentences whose F1 chooses λ. `span_parser`: span model, for feature
    templates that test span marginals; it computes the marginals of training sentences that come without them. `meta`:
    entries for the model's meta. `clusters`: word clusters, for templates that test them (see `training.clusters`).
    `heads`: head rules; None: see `data.heads.rules_for`. `large`: builds the stores when their rows are larger than
    the recipe allows (see `studies.turian2006.indirect`); None: raise an error.
    """

    def __init__(
        self,
        recipe: FitRecipe,
        sentences: Sequence[Sentence],
        dev: Sequence[Sentence],
        workdir: str | Path,
        meta: dict[str, Any] | None = None,
        large: Callable[..., dict[str, dict[str, Any]]] | None = None,
        span_parser: SpanParser | None = None,
        clusters: Sequence[str] = (),
        heads: HeadRules | None = None,
    ):
        max_words = recipe.max_words
        sentences, dev = (
            [s for s in part if max_words is None or len(s.tags) <= max_words] for part in (sentences, dev)
        )
        if not sentences:
            limit = "" if max_words is None else f" of at most {max_words} words (recipe setting 'max_words')"
            raise TrainingDataError(f"there are no training sentences{limit}; give at least one treebank with trees")
        self.recipe, self.dev, self.meta, self.large, self.span_parser = recipe, dev, meta or {}, large, span_parser
        self.workdir = Path(workdir)
        self.workdir.mkdir(parents=True, exist_ok=True)
        self.templates = get_templates(recipe.templates)
        began = time.perf_counter()
        trees = [training_tree(sentence, Recipe(recipe.preprocessing)) for sentence in sentences]
        self.report = survey(trees, recipe.max_arity)
        self.heads = heads or rules_for(self.meta.get("lang", "en"), trees)
        if self.templates.uses_marginals != (span_parser is not None):
            raise TrainingDataError(
                f"the templates {recipe.templates!r} test {'' if span_parser is None else 'no '}span marginals; "
                + (
                    "give a span model (--span-model)"
                    if span_parser is None
                    else "set the recipe's templates=standard_read"
                )
            )
        if self.templates.uses_clusters != bool(clusters):
            raise TrainingDataError(
                f"the templates {recipe.templates!r} test {'no ' if clusters else ''}clusters of words; "
                + ("set the recipe's templates=standard_clusters" if clusters else "give some (--clusters)")
            )
        chains = () if span_parser is None else span_parser.chain_names
        self.lexicon = build_lexicon(trees, recipe.min_word_sentences, chains, clusters)
        marginals: list[Any] = [None] * len(trees)
        self.labels = np.zeros((0, 0, 0), dtype=BITS)
        if span_parser is not None:
            marginals = complete_marginals(span_parser, trees, [sentence.marginals for sentence in sentences])
            self.labels = label_table(self.lexicon, trees, marginals)
        self.head_table = compile_head_rules(self.heads, self.lexicon.symbols)
        self.grammar = make_grammar(
            recipe.strategy, recipe.max_arity, recipe.edge_punctuation, len(self.lexicon.labels), self.templates.reach()
        )
        weights = {"negatives": recipe.negative_weight, "uniform": recipe.example_weights == "uniform"}
        self.derivations = [
            gold_derivation(
                tree, self.lexicon, recipe.strategy, recipe.seed + i, of_tree, weight=sentence.weight, **weights
            )
            for i, (tree, sentence, of_tree) in enumerate(zip(trees, sentences, marginals, strict=True))
        ]
        self.log("corpus", seconds=time.perf_counter() - began, **self.report)

    def log(self, step: str, **values: Any) -> None:
        """Print a finished step, and append it to fit.jsonl."""
        printed = {name: value for name, value in values.items() if value and not isinstance(value, dict | list)}
        log_metrics(None, did=step, **printed)
        append_line(self.workdir / "fit.jsonl", {"what": step, **values})

    def prepare(self) -> AtomMap:
        """Assign ids to the atoms and write the stores, unless the working folder has them already."""
        recipe, done, arrays = self.recipe, self.workdir / "stores.json", self.workdir / "atoms.npz"
        left_out = _IRRELEVANT_TO_STORES - {"gate_bits"} if recipe.filter_loss > 0 else _IRRELEVANT_TO_STORES
        conditions = {
            "templates": self.templates.fingerprint(),
            "lexicon": self.lexicon.fingerprint(),
            "heads": digest([self.heads.to_dict()]),
            "recipe": {key: value for key, value in recipe.to_stored().items() if key not in left_out},
            "sentences": len(self.derivations),
            "weight": float(sum(derivation.weight for derivation in self.derivations)),
        }
        stored = self._load_stores(done)
        if stored is not None:
            old = stored["facts"]
            old = {"heads": digest([COLLINS.to_dict()]), **old, "recipe": {**_DEFAULTS_OF_OLD_STORES, **old["recipe"]}}
            if old != json.loads(json.dumps(conditions)):
                raise TrainingDataError(
                    f"{self.workdir} holds the examples of other trees or another recipe; give the same ones to "
                    "resume, or another folder"
                )
            with open_arrays(arrays) as parts:
                return AtomMap(*(parts[name] for name in stored_names(AtomMap)))
        example_filter = self._example_filter()
        began = time.perf_counter()
        sample = [self.derivations[n] for n in self._sample_indices()]
        fraction = len(sample) / len(self.derivations)
        tables = (self.grammar, self.head_table, self.templates, self.lexicon)
        min_count = max(1, round(recipe.min_atom_count * fraction))
        atoms, counts = collect_atoms(*tables, sample, min_count, recipe.atom_table_bits, example_filter)
        n_atoms, n_hashed, _ = atoms.state.tolist()
        seconds = time.perf_counter() - began
        self.log("atoms", seconds=seconds, atoms=n_atoms, hashed=n_hashed, sentences=len(sample))
        save_arrays(arrays, to_stored(atoms))
        began = time.perf_counter()
        expected = float(counts.sum()) / fraction * 4 * 1.6
        direct = expected <= recipe.memory_gib * 2**30
        folder, what = self.workdir / "stores", (*tables, atoms, self.derivations)
        if direct:
            totals = write_stores(folder, *what, example_filter)
            for store in STORES:
                DirectStore.build(folder / store, n_atoms)
        elif self.large is None or recipe.filter_loss > 0:
            raise TrainingDataError(
                f"the rows take {expected / 2**30:.1f} GiB and may take {recipe.memory_gib:g} (recipe setting "
                "'memory_gib'); give more memory_gib, fewer trees, a smaller max_words, or a larger filter_loss"
            )
        else:
            totals = self.large(folder, *what)
        self.log("stores", seconds=time.perf_counter() - began, direct=direct, expected_bytes=int(expected), **totals)
        files = {str(path.relative_to(self.workdir)): file_digest(path) for path in self._store_files()}
        save_checkpoint(done, {"facts": conditions, "direct": direct, "totals": totals, "files": files})
        return atoms

    def _store_files(self) -> list[Path]:
        stores = (path for path in (self.workdir / "stores").rglob("*") if path.is_file())
        return sorted([self.workdir / "atoms.npz", *stores])

    def _load_stores(self, done: Path) -> dict[str, Any] | None:
        """The description of existing stores, if every file is as it was written; None if they must be built, as when
        one is damaged."""
        try:
            stored = load_checkpoint(done)
            if stored is None:
                return None
            existing = {str(path.relative_to(self.workdir)): path for path in self._store_files()}
            wrong = [name for name, wanted in stored["files"].items() if not _has_digest(existing.get(name), wanted)]
        except TrainingDataError:
            wrong = [done.name]
        if not wrong:
            return stored
        log_metrics(None, note=f"damaged files, so the examples are written again: {', '.join(wrong)}")
        rmtree(self.workdir / "stores", ignore_errors=True)
        done.unlink()
        return None

    def _sample_indices(self) -> list[int]:
        """Indices of the derivations that atoms are counted on."""
        every, n = len(self.derivations), self.recipe.atom_sentences
        if n >= every:
            return list(range(every))
        return sorted(np.random.default_rng(self.recipe.seed).choice(every, size=n, replace=False).tolist())

    @cached_property
    def window_filter(self) -> WindowFilter:
        """The window filter, trained unless the working folder has it already; empty if the recipe has none."""
        bits = self.recipe.filter_bits
        if bits == 0:
            return WindowFilter()
        path = self.workdir / f"gate{bits}.npz"
        saved = load_arrays(path)
        if saved is not None:
            return WindowFilter(saved["weights"], tuple(saved["shares"].tolist()), tuple(saved["margins"].tolist()))
        trained = train_window_filter(self.grammar, self.head_table, self.derivations, bits, self.recipe.seed, self.log)
        save_arrays(path, {"weights": trained.weights, "shares": trained.losses, "margins": trained.margins})
        return trained

    def _example_filter(self) -> ExampleFilter:
        """The filter that keeps easy examples out of the stores; an empty one if the recipe's `filter_loss` is 0."""
        fraction = self.recipe.filter_loss
        min_sum = self.window_filter.min_margin(fraction) if fraction > 0 else EVERYTHING
        return ExampleFilter() if min_sum == EVERYTHING else ExampleFilter(self.window_filter.weights, min_sum)

    def model(self, ensembles: dict[str, LabelEnsemble], atoms: AtomMap, named: bool = False) -> DtreeModel:
        """Build a model of the given ensembles; `named`: with the parts of its hashed atoms (needs a replay)."""
        ordered = [ensembles.get(name, empty_ensemble()) for name in (*self.lexicon.labels, SHIFT)]
        atom_ids = used_atoms(ordered, int(atoms.state[0]))
        used = compose(atoms, atom_ids)
        n_atoms = int(used.state[0])
        parts = np.zeros((n_atoms, k.PARTS_WIDTH), dtype=INDEX)
        if named and n_atoms:
            table, _ = compile_templates(self.templates, self.lexicon.sizes)
            replayer = Replayer(self.grammar, self.head_table, table, used, n_atoms, parts)
            hashed = used.values[used.keys != 0]
            for n in self._sample_indices():
                replayer.run(self.derivations[n])
                if n % 256 == 0 and bool((parts[hashed, 1] > 0).all()):
                    break
        recipe, renumbered = self.recipe, tuple(renumber(ensemble, atom_ids) for ensemble in ordered)
        described = {name: value for name, value in recipe.to_stored().items() if name != "n_workers"}  # no matter
        return DtreeModel(
            self.lexicon, self.templates, self.heads, recipe.strategy, recipe.max_arity, recipe.edge_punctuation,
            recipe.preprocessing, used, parts, renumbered, {**self.meta, "recipe": described}, self.window_filter,
            b"" if self.span_parser is None else self.span_parser.to_bytes(), self.labels,
        )  # fmt: skip

    def _dev_scores(self, atoms: AtomMap, ensembles: dict[str, LabelEnsemble]) -> dict[str, float]:
        """Scores of ensembles on the dev sentences, for the λ path."""
        began = time.perf_counter()
        settings = SearchSettings(budget=self.recipe.dev_budget)
        parser = DtreeParser(self.model(ensembles, atoms), settings, span_parser=self.span_parser)
        scores = parser_scores(parser, self.dev[:: max(1, len(self.dev) // self.recipe.dev_sentences)])
        return {**scores, "seconds": time.perf_counter() - began}

    def run(self) -> tuple[DtreeModel, PathResult]:
        """Train and return the model of the best λ; the log, checkpoints and the plot are in the working folder."""
        atoms = self.prepare()
        began, n_workers = time.perf_counter(), self.recipe.n_workers
        labels = [Label(name, n, "top" if name == TOP else "window") for n, name in enumerate(self.lexicon.labels)]
        if self.recipe.strategy == "shift_reduce":
            labels.insert(0, Label(SHIFT, len(labels), "shift"))
        stores = {label.store: self.workdir / "stores" / label.store for label in labels}
        empty = {name for name, folder in stores.items() if not open_store(str(folder)).n_examples}
        if "window" in empty:
            raise TrainingDataError("the span model decides all these trees, so there is nothing to learn; give others")
        labels = [label for label in labels if label.store not in empty]  # the span model decides all others
        stores = {name: folder for name, folder in stores.items() if name not in empty}
        config = replace(self.recipe.path, learner=self.recipe.learner, n_workers=n_workers)
        evaluate = partial(self._dev_scores, atoms) if self.dev else None
        with worker_pool(n_workers) if n_workers > 1 else nullcontext() as pool:
            result = train_path(stores, labels, config, pool, self.workdir / "path", evaluate)
        self.log("path", seconds=time.perf_counter() - began, stopped=result.stopped, notes=result.notes)
        plot_path({self.recipe.name: result.rows}, self.workdir / "f1.svg")
        return self.model(result.ensembles, atoms, named=True), result


def _has_digest(path: Path | None, wanted: str) -> bool:
    return path is not None and path.is_file() and file_digest(path) == wanted


_IRRELEVANT_TO_STORES = frozenset({"name", "learner", "path", "n_workers", "dev_sentences", "dev_budget", "gate_bits"})
_DEFAULTS_OF_OLD_STORES = {"example_weights": "state", "gate_share": 0.0}
"""Settings missing in stores of an earlier version, with the values used then."""


def build_lexicon(
    trees: Sequence[Tree], min_word_sentences: int, chains: Sequence[str] = (), clusters: Sequence[str] = ()
) -> Lexicon:
    """Build the symbol tables of training trees: labels by name with TOP last, tags by name; the unknown tag is the
    most frequent one. `chains`: label chains of a span model. `clusters`: word clusters. Raises TrainingDataError for
    more labels or tags than a model may have.
    """
    labels = sorted({label for tree in trees for label in tree.labels} - {TOP})
    counts = Counter(tag for tree in trees for tag in tree.tags)
    unknown = max(sorted(counts), key=lambda tag: counts[tag])
    words = frequent_words((tree.words for tree in trees), min_word_sentences)
    for what, found, allowed in (("labels", len(labels) + 1, MAX_LABELS), ("tags", len(counts), MAX_TAGS)):
        if found > allowed:
            raise TrainingDataError(f"the trees have {found} {what}; a model has at most {allowed}: use coarser ones")
    return Lexicon.build([*labels, TOP], sorted(counts), words, unknown, chains, clusters)


def parser_scores(parser: DtreeParser, dev: Sequence[Sentence]) -> dict[str, float]:
    """PARSEVAL of a parser with the sentences' tags: f1 (all brackets) and f1_evalb, from 0 to 1."""
    scores = score_trees(dev, parse_sentences(parser, dev))[0].to_dict()
    return {"f1": scores["all"]["f1"], "f1_evalb": scores["evalb"]["f1"]}


def load_span_parser(source: str | Path) -> SpanParser:
    """Load the span parser of a model file; "en": the English one of the package. Raises ModelFormatError for another
    kind of model."""
    if str(source) == "en":
        source = embedded_model("en_span")
    span_parser = load_parser(source)
    if not isinstance(span_parser, SpanParser):
        raise ModelFormatError(
            f"{source} is a model of kind {span_parser.name!r}; the span model must be of kind 'span': train one with "
            "python -m training train-span"
        )
    return span_parser


@lock_dir("workdir")
def train_boosted_parser(
    recipe: FitRecipe,
    train: Sequence[TreebankFile],
    dev: Sequence[TreebankFile],
    workdir: Path,
    out: Path,
    meta: dict[str, Any] | None = None,
    span_parser: SpanParser | None = None,
    clusters: Path | None = None,
    heads: HeadRules | None = None,
    span_model_tagger: str | None = None,
) -> PathResult:
    """Train a parser and write it to `out`; an unfinished run in `workdir` is resumed. `span_parser`, `heads`: see
    `BoostingRun`. `clusters`: a file of `training.clusters`. `span_model_tagger`: a pipeline with the tag set of the
    span model, "embedded": the English one; used to map the treebanks' tags if the span model does not have them.

    `meta`: entries added to the model's meta (treebanks, licence, credits, dev scores). Raises TrainingDataError and
    ConfigError for unusable input.
    """
    sentences, held_out = read_files(train), read_files(dev)
    counts = Counter(sentence.source for sentence in sentences)
    about: dict[str, Any] = {}
    if span_parser is not None:
        about = {"reader": {name: span_parser.meta.get(name) for name in ("name", "version", "license", "treebanks")}}
    origin = training_origin(train, span_model_treebanks(about), () if clusters is None else listed_texts(clusters))
    if span_parser is not None:
        origin["credits"] = list(dict.fromkeys([*origin["credits"], *span_parser.meta.get("credits", [])]))
    metadata: dict[str, Any] = {
        "version": __version__,
        "treebanks": [
            {"name": f.name, "sentences": counts[f.name], "weight": f.weight, "tags": "predicted" if f.tags else "gold"}
            for f in train
        ],
        **{key: value for key, value in origin.items() if key != "notices"},
        **about,
        **(meta or {}),
    }
    if span_parser is not None and not has_known_tags(span_parser, sentences):
        if span_model_tagger is None:
            log_metrics(
                None,
                note="the span model was trained on other tags than these trees have, and uses only their words: give "
                "--span-model-tagger",
            )
        else:
            tagger = load_tagger(None if span_model_tagger == "embedded" else span_model_tagger)
            span_parser = map_tags(span_parser, sentences, tagger)
            mapping = ", ".join(
                f"{tag} for {other}" for tag, other in list(span_parser.model.words.aliases.items())[:8]
            )
            log_metrics(None, note=f"the span model replaces unknown tags by known ones: {mapping} …")
    words = () if clusters is None else read_clusters(clusters)
    model, result = BoostingRun(recipe, sentences, held_out, workdir, metadata, None, span_parser, words, heads).run()
    best = result.best or {}
    chosen = {name: best.get(name) for name in ("lambda", "parameters", "trees")}
    scores = {name: score for name, score in best.get("scores", {}).items() if name != "seconds"}  # the bytes are equal
    model.meta["fit"] = {**chosen, "dev": scores, "stopped": result.stopped}
    write_atomically(out, DtreeParser(model).to_bytes())
    return result
