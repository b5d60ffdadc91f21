"""All names of the project that golden digests use, in one file, so that they are renamed in one place."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from spacy.language import Language
from spacy.tokens import Doc

import spacy_dtparse
import spacy_dtparse.cli
import training.cli
from spacy_dtparse.bpm_parser.component import BpmParser
from spacy_dtparse.core.parser import ParseResult
from spacy_dtparse.models import PARSERS, embedded_model, open_parser
from spacy_dtparse.pipeline.constituent_pipe import ConstituentPipe
from spacy_dtparse.pipeline.explanation import Explanation
from spacy_dtparse.recurrent_tagger.component import RecurrentTaggerPipe
from spacy_dtparse.trees.bracket_writer import write_tree
from spacy_dtparse.trees.spines import format_spine, spines
from tests.teacher_shards import made_shard

NETWORK = "en_span"
"""The pipeline whose parser is a network without boosted trees."""

SETTINGS = {
    "budget": "budget", "most tokens": "max_tokens", "confident": "shift_threshold",
    "gate": "window_filter", "trust": "marginal_weight", "sure": "commit_threshold", "whole": "attach_unattached",
    "betas": "betas", "networks": "networks", "penalty": "penalty", "prune": "prune", "beam": "beam",
    "tags": "tags", "decoder": "decoder", "candidates": "candidates_n", "stages": "stages", "heads": "heads",
    "probabilities": "probabilities", "constraints": "constraints_key",
}  # fmt: skip
"""{word in the names of entries: setting}; the words do not change when settings are renamed."""
SPAN_SETTINGS = {**SETTINGS, "confident": "ensemble_threshold"}
"""The same for the span parser."""

_VARIANTS: dict[str, tuple[dict[str, Any], ...]] = {
    "en_dtparse": (
        {"budget": 0}, {"most tokens": 8}, {"budget": 150, "sure": 1.0}, {"trust": 0.0, "gate": 0.0},
        {"whole": False, "confident": 2.0},
    ),
    "en_trees": ({"budget": 0}, {"most tokens": 8}, {"budget": 400, "gate": 0.02}, {"confident": 2.0}),
    "en_span": (
        {"networks": 1}, {"budget": 0}, {"most tokens": 2}, {"most tokens": 9}, {"penalty": 0.2, "whole": False},
        {"penalty": 0.8}, {"confident": 0.5},
    ),
    "en_pcfgla": (
        {"most tokens": 6}, {"tags": "given"}, {"tags": "own"}, {"decoder": "q"},
        {"prune": 0.01, "beam": 0.0},
    ),
    "en_bpm": ({"stages": 1}, {"most tokens": 7}, {"decoder": "spanning"}, {"decoder": "projective", "heads": 3}),
}  # fmt: skip
"""Settings that use other code than the defaults, by pipeline."""

TAGGER_VARIANTS = ({"most tokens": 5}, {"most tokens": 40})


def load(name: str, **config: Any) -> Language:
    """Load the shipped pipeline of that name; `config`: settings of its parser, by the words in `SETTINGS`."""
    own = {SETTINGS[key]: value for key, value in config.items()}
    return spacy_dtparse.load(name, **({"config": {"components": {PARSERS[name]: own}}} if own else {}))


def model_file(name: str) -> str:
    """The model file of a shipped parser; of NETWORK, which is inside another model, a copy of it."""
    if name != NETWORK:
        return embedded_model(name)
    path = Path(tempfile.mkdtemp(prefix="golden-")) / "model"
    path.write_bytes(open_parser(name).to_bytes())
    return str(path)


def with_probabilities(name: str) -> Language:
    """Load the pipeline with a parser that computes probabilities."""
    return load(name, probabilities=True)


def component_of(nlp: Language) -> Any:
    """The component that wrote the last annotation: the dependency parser, else the constituent parser."""
    return next(pipe for _, pipe in reversed(nlp.components) if isinstance(pipe, ConstituentPipe | BpmParser))


def tagger_of(nlp: Language) -> Any:
    """The component that sets tags."""
    return next(pipe for _, pipe in nlp.components if isinstance(pipe, RecurrentTaggerPipe))


def parser_of(component: Any, **changes: Any) -> Any:
    """The parser of a component with its settings, changed by `changes` (by the words in `SETTINGS`)."""
    parser = component.configured_parser
    names = SPAN_SETTINGS if parser.name == "span" else SETTINGS
    return parser.with_settings(**{names[name]: value for name, value in changes.items()}) if changes else parser


def variants_of(name: str) -> dict[str, dict[str, Any]]:
    """The settings to try with a shipped pipeline, by a name for the entry."""
    return {_named(one): one for one in _VARIANTS[name]}


def tagger_variants() -> dict[str, dict[str, Any]]:
    """The settings to try with the tagger, by a name for the entry."""
    return {_named(one): one for one in TAGGER_VARIANTS}


def _named(settings: dict[str, Any]) -> str:
    return ", ".join(f"{key} {value}" for key, value in settings.items())


def constraints_key(component: Any) -> str:
    """The key of the span group that a component reads constraints from."""
    return getattr(component, SETTINGS["constraints"])


def spine_texts(results: Sequence[ParseResult]) -> list[list[tuple[str, float]]]:
    """The spines of each word in the given trees of its sentence, with probabilities; the first is the most
    probable."""
    columns = [[format_spine(spine) for spine in spines(one.tree)] for one in results]
    candidates = []
    for texts in zip(*columns, strict=True):
        distinct = list(dict.fromkeys(texts))
        others = 0.1 / max(len(distinct) - 1, 1)
        candidates.append([(text, others if rank else 0.9) for rank, text in enumerate(distinct)])
    return candidates


def describe_parse(result: ParseResult) -> tuple[list[Any], list[Any]]:
    """Return the content of a parse: tree and status; and its numbers."""
    numbers = [
        result.cost, result.costs, result.n_states, result.n_scored, result.greedy_optimal, result.n_searches,
        result.ambiguity, result.margin, result.probabilities, rounded(result.tree_probability),
        result.deadline_exceeded,
    ]  # fmt: skip
    return [write_tree(result.tree), result.status], numbers


def rounded(probability: float | None) -> str:
    """Return the probability of a tree with nine digits. Its last bits depend on the order of a set, which differs
    between processes (`core.calibration._expected`)."""
    return f"{probability:.9g}" if probability is not None else ""


def describe_dependencies(result: Any) -> tuple[list[Any], list[Any]]:
    """Return the content of a dependency parse: heads, labels and status; and its score."""
    return [result.heads, result.labels, result.status], [result.score]


def describe_explanation(one: Explanation) -> tuple[list[Any], list[Any], str]:
    """Return the content of an explanation: names and positions; numbers; text."""
    others = [[other.label, other.start, other.end, other.relation] for other in one.alternatives]
    numbers = [
        one.probability,
        one.score,
        one.margin,
        [other.probability for other in one.alternatives],
        [[group.value, group.over, [[fact.value, fact.over] for fact in group.facts]] for group in one.groups],
        len(one.rules),
    ]
    said = "\n".join([str(one), one.to_text(all=True), repr(one.to_dict(rules=3))])
    return [one.label, one.start, one.end, one.method, one.runner_up, others], numbers, said


def sentences_of(component: Any, doc: Doc) -> list[tuple[Sequence[str], Sequence[str]]]:
    """Words and tags of the non-empty sentences of a Doc, as the component reads them."""
    return [(one.words, one.tags) for one in component.read_doc(doc).sentences if one.words]


def columns_of(component: Any, doc: Doc) -> list[Any]:
    """The sentences of a Doc in the format of the dependency parser."""
    return [columns for columns in component.read_doc(doc).columns if columns is not None]


def group_of(doc: Doc, component: Any) -> Any:
    """The span group that a constituent parser has written."""
    return doc.spans[component.spans_key]


def write_shard(path: Path) -> None:
    """Write a shard of a teacher's marginals, made without torch."""
    made_shard(path)


def run_command(arguments: list[str]) -> int:
    """Run a `dtparse` command and return its exit code."""
    return spacy_dtparse.cli.main(arguments)


def run_training(arguments: list[str]) -> int:
    """Run a command of `python -m training` and return its exit code."""
    return training.cli.main(arguments)
