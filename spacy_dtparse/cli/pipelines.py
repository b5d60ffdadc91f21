"""Shared by the commands: options that choose a pipeline, loading it, and a message while kernels compile."""

from __future__ import annotations

import argparse
import gc
import sys
import warnings
from collections.abc import Callable, Iterable
from itertools import islice
from math import nan
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

from ..core.registry import CONSTITUENT_FACTORIES, CONSTITUENTS, KINDS
from ..core.settings import DEADLINE, LABEL_POLICIES
from ..errors import DtparseError, ModelFormatError, TrainingDataError
from ..models import DEFAULT, HERE, PARSERS, SPAN_MODEL, embedded_pipeline, find_model, is_name

if TYPE_CHECKING:
    from spacy.language import Language

    from ..bpm_parser.component import BpmParser
    from ..core.parser import Parser
    from ..pipeline.constituent_pipe import ConstituentPipe

Item = TypeVar("Item")


def add_pipeline_arguments(parser: argparse.ArgumentParser) -> None:
    """Add --pipeline, --model, --budget, --deadline, --document-labels."""
    group = parser.add_argument_group("pipeline and search")
    group.add_argument(
        "--pipeline",
        metavar="NAME",
        help="a spaCy pipeline that tags, by folder or package name, or the name of an embedded English parser: "
        f"{', '.join(PARSERS)} (default: {DEFAULT})",
    )
    group.add_argument("--model", metavar="FILE", help="a parser's model file, instead of the pipeline's")
    group.add_argument(
        "--budget",
        type=natural_number,
        metavar="N",
        help="number of inferences to score per sentence before the search returns the best tree so far; 0 parses "
        "greedily (default: the model's); a PCFG fills a chart and has no budget",
    )
    group.add_argument(
        "--deadline",
        type=seconds,
        metavar="SECONDS",
        help="maximum time for parsing a sentence; one that could take longer is parsed faster (default: no limit)",
    )
    group.add_argument(
        "--document-labels",
        choices=LABEL_POLICIES,
        help="whether trees have CAPTION, HEADING and TITLE, the labels of the parts of an article: where they are "
        "probable (auto, the default), always when the model predicts them, or never",
    )


def natural_number(text: str, minimum: int = 0) -> int:
    """A whole number, at least `minimum`, for argparse."""
    try:
        number = int(text)
    except ValueError:
        number = minimum - 1
    if number < minimum:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from {minimum}")
    return number


def seconds(text: str) -> float:
    """A deadline, for argparse."""
    fits, allowed, _ = DEADLINE
    try:
        number = float(text)
    except ValueError:
        number = nan
    if not fits(number):
        raise argparse.ArgumentTypeError(f"{text!r} is not {allowed}")
    return number


def positive_number(text: str) -> int:
    """A whole number, at least 1, for argparse."""
    return natural_number(text, 1)


def read_tree_file(path: str, read: Callable[..., Iterable[Item]], limit: int = 0, stdin: bool = False) -> list[Item]:
    """Read the trees of a file (with `stdin`, "-" is standard input), at most `limit` (0: all).

    Raises TreeFormatError with file, line and column, TrainingDataError if there is no file or no tree in it.
    """
    from_stdin = stdin and path == "-"
    if not (from_stdin or Path(path).is_file()):
        raise TrainingDataError(f"there is no file {path}; give a file of bracketed trees")
    trees = list(islice(read(sys.stdin.buffer if from_stdin else path), limit or None))
    if not any(tree is not None for tree in trees):
        raise TrainingDataError(f"{path}: no tree in it; give a file of bracketed trees, (TOP (NP (NN test)))")
    return trees


def load_chosen_pipeline(options: argparse.Namespace) -> Language:
    """Load the pipeline that the options of `add_pipeline_arguments` choose; see `load_pipeline`."""
    nlp = load_pipeline(options.pipeline, options.model, options.budget, deadline=options.deadline)
    if options.document_labels is not None:
        set_option(get_component(nlp), "document_labels", options.document_labels)
    return nlp


def load_pipeline(
    pipeline: str | None = None,
    model: str | None = None,
    budget: int | None = None,
    dependencies: bool = False,
    deadline: float | None = None,
) -> Language:
    """Load a pipeline with a constituent parser; a `model` replaces that of the first one, which is not loaded.

    A pipeline that has none gets one at its end, that of the model or span_parser. `budget`: for a parser that has one.
    With `dependencies` a pipeline with a bpm_parser needs no other. `deadline`: for each parser. Raises
    ModelFormatError if there is no such pipeline or model, or the model does not build constituents.
    """
    gc.disable()  # importing and loading leave no garbage; searching for it takes a tenth of their time
    try:
        nlp = _load_pipeline(pipeline, model, budget, dependencies)
        from ..pipeline.batch_pipe import BatchPipe

        for name in nlp.pipe_names if deadline is not None else ():
            pipe: Any = nlp.get_pipe(name)
            if isinstance(pipe, BatchPipe):
                set_option(pipe, "deadline", deadline)
        return nlp
    finally:
        gc.freeze()  # the collector need not visit these objects again, now or at exit (half a second)
        gc.enable()


def _load_pipeline(pipeline: str | None, model: str | None, budget: int | None, dependencies: bool) -> Language:
    kind = model_kind(pipeline, model)
    if model is not None and kind in KINDS and KINDS[kind].builds != CONSTITUENTS:
        model_info = KINDS[kind]
        raise ModelFormatError(
            f"{model}: a model of kind {kind!r} ({model_info.noun}) builds {model_info.builds}, and this command "
            f"is about constituents. `dtparse info --model {model}` describes it; use it in a pipeline: "
            f"nlp.add_pipe({model_info.factory!r}, config={{'model': …}}), nlp.to_disk, then `spacy apply` and "
            "`spacy evaluate`"
        )
    announce_compilation(kind)  # first: other processes compile while this one imports spaCy

    from ..pipeline import registration  # noqa: F401 (registers the factories)

    if model is not None:
        path = find_model(model)
        if not path.is_file():
            raise ModelFormatError(f"there is no model file {path}; give the path of a file that exists")
        nlp = _with_model(pipeline, str(path), kind)
    else:
        nlp = load_language(pipeline)
    if model is None and dependencies and not has_constituents(nlp) and dependency_component(nlp) is not None:
        return nlp
    parser = put_parser(nlp, None)
    if budget is not None and "budget" in parser.SETTINGS:
        set_option(parser, "budget", budget)
    elif budget is not None:
        warnings.warn(
            f"--budget {budget} changes nothing: {parser.name!r} fills a chart, which has no budget", stacklevel=2
        )
    return nlp


def set_option(component: Any, name: str, value: Any) -> None:
    """Load the model of a component, and change a setting. Raises DtparseError if the model does not allow it."""
    assert component.parser is not None
    setattr(component, name, value)


def load_language(pipeline: str | None = None, **overrides: Any) -> Language:
    """See `pipeline.embedded.load_named`, which is imported at the first call."""
    from ..pipeline.embedded import load_named

    return load_named(pipeline, **overrides)


def _with_model(pipeline: str | None, model: str, kind: str | None) -> Language:
    """Load a pipeline with a model file instead of that of its first constituent parser, which is not loaded; the
    component keeps its settings if it has the model's factory."""
    from spacy.util import get_package_path, is_package, load_config

    if pipeline is None or is_name(pipeline):
        if pipeline is None and not (HERE / DEFAULT).is_dir():  # a user's parser for tagged input, without a pipeline
            import spacy

            nlp = spacy.blank("en")
            nlp.add_pipe("sentencizer")
            nlp.add_pipe(KINDS[kind].factory if kind in KINDS else "span_parser", config={"model": model})
            return nlp
        pipeline = DEFAULT if pipeline in (None, SPAN_MODEL) else pipeline  # the same except for the parser
        folder = embedded_pipeline(pipeline)
    else:
        folder = get_package_path(pipeline) if is_package(pipeline) else Path(pipeline)
    file = next((path for path in (folder / "config.cfg", *folder.glob("*/config.cfg")) if path.is_file()), None)
    config = {"components": {}, "nlp": {"pipeline": []}} if file is None else load_config(file)
    names = config["nlp"]["pipeline"]
    replaced = next(
        (name for name in names if config["components"][name].get("factory") in CONSTITUENT_FACTORIES), None
    )
    section = {} if replaced is None else config["components"][replaced]
    wanted = KINDS[kind].factory if kind in KINDS else section.get("factory", "span_parser")
    if section.get("factory") == wanted:
        return load_language(pipeline, config={"components": {replaced: {"model": model}}})
    nlp = load_language(pipeline, exclude=[] if replaced is None else [replaced])
    following = [] if replaced is None else names[names.index(replaced) + 1 :][:1]
    keys = {key: section[key] for key in ("spans_key", "spines_key") if section.get(key) is not None}
    before = next((name for name in following if name in nlp.component_names), None)
    nlp.add_pipe(wanted, before=before, config={"model": model, **keys})
    return nlp


def put_parser(nlp: Language, parser: Parser | None) -> ConstituentPipe:
    """Return the pipeline's first constituent parser, after making it use `parser` unless that is None.

    A pipeline that has none gets one at its end: of the parser's factory, or span_parser. A component of another
    factory is replaced by one of the parser's.
    """
    present, before = _first_component(nlp, CONSTITUENT_FACTORIES), None
    factory = KINDS[parser.name].factory if parser is not None and parser.name in KINDS else None
    if present is not None and factory not in (None, nlp.get_pipe_meta(present).factory):
        before = next(iter(nlp.component_names[nlp.component_names.index(present) + 1 :]), None)
        nlp.remove_pipe(present)
        present = None
    if present is None:
        nlp.add_pipe(factory or "span_parser", before=before)
    component = get_component(nlp)
    if parser is not None:
        component.set_parser(parser)
    return component


def _first_component(nlp: Language, factories: Iterable[str]) -> str | None:
    """The name of the pipeline's first component with one of these factories."""
    return next((name for name in nlp.pipe_names if nlp.get_pipe_meta(name).factory in factories), None)


def has_constituents(nlp: Language) -> bool:
    """Whether the pipeline has a constituent parser."""
    return _first_component(nlp, CONSTITUENT_FACTORIES) is not None


def dependency_component(nlp: Language) -> BpmParser | None:
    """The pipeline's first bpm_parser component, None if it has none."""
    name = _first_component(nlp, ["bpm_parser"])
    return None if name is None else cast("BpmParser", nlp.get_pipe(name))


def component_name(nlp: Language) -> str:
    """The name of the pipeline's first constituent parser. Raises DtparseError if it has none."""
    component = get_component(nlp)
    return next(name for name, pipe in nlp.pipeline if pipe is component)


def get_component(nlp: Language) -> ConstituentPipe:
    """The pipeline's first constituent parser. Raises DtparseError if it has none."""
    from ..pipeline.constituent_pipe import constituent_parsers

    return constituent_parsers(nlp, active=True)[0]


def sentence_pipes(nlp: Language, *, only_parser: bool) -> list[str]:
    """The components to run for constituents on Docs with sentence boundaries: all but those that set boundaries or
    parse dependencies, or only the parser and the spine_tagger."""
    parser_name = component_name(nlp)
    excluded = ("senter", "visible_sentences", "parser", "sentencizer", "bpm_parser")
    factories = {name: nlp.get_pipe_meta(name).factory for name in nlp.pipe_names}
    return [
        name
        for name, factory in factories.items()
        if name == parser_name or factory == "spine_tagger" or not (only_parser or factory in excluded)
    ]


def model_kind(pipeline: str | None, model: str | None) -> str | None:
    """The kind of the model that will parse, from its header; None if it is not known before loading."""
    from ..model_io.container import container_kind

    try:
        source = model or pipeline or DEFAULT
        path = find_model(source)
        if source == SPAN_MODEL and is_name(source):  # its model is inside another
            return next(kind.name for kind in KINDS.values() if kind.factory == PARSERS[SPAN_MODEL])
        with path.open("rb") as file:
            return container_kind(file.read(256))
    except (DtparseError, OSError):  # reported when it is loaded
        return None


def announce_compilation(kind: str | None = None) -> None:
    """Start compiling the kernels for models of this kind; if they compile at the first parse instead, say so on
    standard error."""
    from ..jit.cache_state import are_kernels_compiled
    from ..jit.warmup import NEEDS, start_compiling

    if kind in NEEDS:
        start_compiling(kind, "recurrent")
    elif not are_kernels_compiled():
        print("dtparse: compiling the parser's kernels (the first run only) …", file=sys.stderr, flush=True)
