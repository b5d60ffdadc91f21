"""What the commands share: options that choose a pipeline, loading it, and saying that kernels compile."""

from __future__ import annotations

import argparse
import gc
import sys
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, cast

from ..errors import DtparseError, ModelFormatError

if TYPE_CHECKING:
    from spacy.language import Language

    from ..parsers.base import ConstituentParser
    from ..pipeline.base import ConstituentPipe
    from ..pipeline.dependencies import BpmParser

DEPENDENCIES = "dependency"
"""The kind of model files that have no constituents."""
TAGGERS = "tagger"
"""The kind of model files that have no trees at all."""


def add_pipeline_arguments(parser: argparse.ArgumentParser) -> None:
    """--pipeline, --model, --budget."""
    group = parser.add_argument_group("pipeline and search")
    group.add_argument(
        "--pipeline",
        metavar="NAME",
        help="a spaCy pipeline that tags, by folder or package name (default: the embedded English one)",
    )
    group.add_argument(
        "--model", metavar="FILE", help="a parser's model file, in place of the pipeline's own"
    )
    group.add_argument(
        "--budget",
        type=natural_number,
        metavar="N",
        help="inferences scored per sentence before the search settles; 0 parses greedily (default: the "
        "model's); a PCFG fills a chart and has none",
    )


def natural_number(text: str) -> int:
    """A whole number from 0, for argparse."""
    try:
        number = int(text)
    except ValueError:
        number = -1
    if number < 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 0")
    return number


def positive_number(text: str) -> int:
    """A whole number from 1, for argparse."""
    if natural_number(text) == 0:
        raise argparse.ArgumentTypeError("the number must be at least 1")
    return int(text)


def load_pipeline(
    pipeline: str | None = None, model: str | None = None, budget: int | None = None, dependencies: bool = False
) -> Language:
    """A pipeline with a dtparse or pcfgla component; `model` and `budget` replace what the first of them has.

    A pipeline that has none gets one at its end: pcfgla for a PCFG, else dtparse. With `dependencies` a pipeline with a
    bpm_parser needs no other. Raises ModelFormatError when there is no such pipeline or model, or the model has no
    constituents.
    """
    gc.disable()  # importing and loading leave no garbage, and looking for it takes a tenth of their time
    try:
        return _load_pipeline(pipeline, model, budget, dependencies)
    finally:
        gc.freeze()  # nor need the collector walk through all that again, neither later nor at exit (half a second)
        gc.enable()


def _load_pipeline(pipeline: str | None, model: str | None, budget: int | None, dependencies: bool) -> Language:
    kind = model_kind(pipeline, model)
    if model is not None and kind == DEPENDENCIES:
        raise ModelFormatError(
            f"{model}: a model of kind 'dependency' has no constituents, which this command is about. `dtparse info "
            f"--model {model}` says what is in it; parse with it in a pipeline: nlp.add_pipe('bpm_parser', "
            "config={'model': …}), nlp.to_disk, then `spacy apply` and `spacy evaluate`"
        )
    if model is not None and kind == TAGGERS:
        raise ModelFormatError(
            f"{model}: a model of kind 'tagger' labels words and builds no tree. `dtparse info --model {model}` says "
            "what is in it; use it in a pipeline: nlp.add_pipe('spine_tagger', config={'model': …})"
        )
    compiles = announce_compilation(kind)  # first: another process compiles while this one imports spaCy
    import spacy

    from ..models import EMBEDDED_PIPELINE, find_model
    from ..parsers import load_parser
    from ..pipeline import component  # noqa: F401 (registers the factories)

    if compiles:
        from ..model.ahead import compile_share

        assert kind is not None
        compile_share(kind, "HERE")
    if pipeline is None and model is not None and not (EMBEDDED_PIPELINE / "config.cfg").is_file():
        nlp = spacy.blank("en")  # a parser of one's own for tagged input
        nlp.add_pipe("sentencizer")
    else:
        nlp = load_language(pipeline)
    given = None if model is None else load_parser(find_model(Path(model)))
    if given is None and dependencies and not has_constituents(nlp) and dependency_component(nlp) is not None:
        return nlp
    parser = put_parser(nlp, given)
    if budget is not None and "budget" in parser.SETTINGS:
        parser.budget = budget  # type: ignore[attr-defined]
        parser.set_parser(parser.parser)
    elif budget is not None:
        warnings.warn(
            f"--budget {budget} changes nothing: {parser.name!r} fills a chart, which has no budget", stacklevel=2
        )
    return nlp


def load_language(pipeline: str | None = None) -> Language:
    """A spaCy pipeline by folder or package name; None: the embedded one. Raises ModelFormatError when there is no such
    pipeline."""
    import spacy

    from .. import load
    from ..pipeline import component  # noqa: F401 (registers the factories)

    if pipeline is None:
        return load()
    try:
        return spacy.load(pipeline)
    except DtparseError:
        raise
    except OSError as error:
        raise ModelFormatError(
            f"cannot load the pipeline {pipeline!r}: it is neither an installed spaCy package nor "
            f"a folder of one ({str(error).splitlines()[0]})"
        ) from error
    except ValueError as error:  # spaCy's words for a config it cannot build
        raise ModelFormatError(f"spaCy cannot load the pipeline {pipeline!r}: {error}") from error


def put_parser(nlp: Language, parser: ConstituentParser | None) -> ConstituentPipe:
    """The pipeline's first dtparse or pcfgla component, which gets the `parser` unless that is None.

    A pipeline that has none gets one at its end: pcfgla for a PCFG, else dtparse. Raises ModelFormatError for a parser
    of a kind that the component is not for.
    """
    if not has_constituents(nlp):
        nlp.add_pipe("pcfgla" if parser is not None and parser.name == "pcfg" else "dtparse")
    component = get_component(nlp)
    if parser is not None:
        component.set_parser(parser)
    return component


def _first_component(nlp: Language) -> str | None:
    from ..pipeline.base import FACTORIES

    return next((name for name in nlp.pipe_names if nlp.get_pipe_meta(name).factory in FACTORIES), None)


def has_constituents(nlp: Language) -> bool:
    """Whether the pipeline has a dtparse or pcfgla component."""
    return _first_component(nlp) is not None


def dependency_component(nlp: Language) -> BpmParser | None:
    """The pipeline's first bpm_parser component, None when it has none."""
    names = (name for name in nlp.pipe_names if nlp.get_pipe_meta(name).factory == "bpm_parser")
    name = next(names, None)
    return None if name is None else cast("BpmParser", nlp.get_pipe(name))


def component_name(nlp: Language) -> str:
    """The name of the pipeline's first dtparse or pcfgla component. Raises DtparseError when it has none."""
    name = _first_component(nlp)
    if name is None:
        raise DtparseError(
            f"the pipeline has no dtparse or pcfgla component, only {', '.join(nlp.pipe_names) or 'nothing'}"
        )
    return name


def get_component(nlp: Language) -> ConstituentPipe:
    """The pipeline's first dtparse or pcfgla component. Raises DtparseError when it has none."""
    return cast("ConstituentPipe", nlp.get_pipe(component_name(nlp)))


def sentence_pipes(nlp: Language, *, only_parser: bool) -> list[str]:
    """The components to run on Docs whose sentence boundaries are known, for constituents: no splitters and no parsers
    of dependencies, or only the parser and what writes spines, with the tok2vec that this may listen to."""
    from ..pipeline.base import SPINE_FACTORIES

    own = component_name(nlp)
    splitters = ("senter", "visible_sentences", "parser", "sentencizer", "bpm_parser")
    factories = {name: nlp.get_pipe_meta(name).factory for name in nlp.pipe_names}
    needed = (*SPINE_FACTORIES, *(("tok2vec",) if "spine_tok2vec" in factories.values() else ()))
    return [
        name
        for name, factory in factories.items()
        if name == own or factory in needed or not (only_parser or factory in splitters)
    ]


def model_kind(pipeline: str | None, model: str | None) -> str | None:
    """The kind of the model that will parse, by its header; None where that cannot be told before it is loaded."""
    from ..model.container import container_kind
    from ..models import embedded_model, find_model

    try:
        source = model or pipeline
        path = embedded_model() if source is None else find_model(Path(source))
        with path.open("rb") as file:
            return container_kind(file.read(256))
    except (DtparseError, OSError):  # said where it is loaded
        return None


def announce_compilation(kind: str | None = None) -> bool:
    """Say on standard error that the first run compiles, if it will, and start a process that compiles a part of what a
    model of this kind needs; whether it was started."""
    from ..kernels.warmup import kernels_compiled

    if kernels_compiled():
        return False
    print("dtparse: compiling the parser's kernels (the first run only) …", file=sys.stderr, flush=True)
    from ..model.ahead import SHARES, start_compiling

    return kind in SHARES and start_compiling(kind)


def quiet_warnings() -> None:
    """Show warnings as one line each, without the source line that raised them."""

    def show(message, category, filename, lineno, file=None, line=None):  # type: ignore[no-untyped-def]
        print(f"dtparse: warning: {message}", file=file or sys.stderr)

    warnings.showwarning = show
