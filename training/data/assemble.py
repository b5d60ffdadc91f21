"""Combine a tagger's pipeline and a parser into one spaCy pipeline folder, with its licence, credits and notices."""

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import spacy
import srsly
from spacy.language import Language

from spacy_dtparse import __version__
from spacy_dtparse.core import load_parser
from spacy_dtparse.core.registry import CONSTITUENT_FACTORIES, KINDS
from spacy_dtparse.errors import ConfigError, ModelFormatError
from spacy_dtparse.pipeline import registration  # noqa: F401 (registers the factory where it is not installed)

from .treebanks import CATALOGUE, parse_weighted_names, provenance, source_treebanks, span_model_treebanks

MAX_TOTAL = 40_000_000
MAX_FILE = 36_000_000
"""Maximum bytes of a pipeline folder, and of one file in it, so that wheels and repositories stay small."""


def assemble(
    tagger: Path,
    model: Path,
    out: Path,
    treebanks: Sequence[str],
    name: str = "dtparse",
    version: str | None = None,
    licence: str = "",
    credits: Sequence[str] = (),
    dependency_model: Path | None = None,
) -> Language:
    """Write the pipeline folder `out` from a tagger's pipeline folder and a parser's model file; returns the loaded
    result. `treebanks`: ids in the list of treebanks, for tagger and parser together, beside those that their metadata
    name; `name`, `version`: of the pipeline (default: the version of the package). `licence`, `credits`: a licence that
    replaces the one from the list, and additional credits. `dependency_model`: model file of a dependency parser that
    is added as well.

    `out` is replaced if it holds a pipeline. Raises ModelFormatError for parts that cannot be read, ConfigError if
    `out` holds anything else or the result is larger than MAX_TOTAL or MAX_FILE.
    """
    if not (tagger / "config.cfg").is_file():
        raise ModelFormatError(
            f"{tagger} is no spaCy pipeline (no config.cfg); train one: python -m training train-tagger …"
        )
    check_target(out)
    parser = load_parser(model)
    nlp = spacy.load(tagger)
    if not nlp.has_pipe("tagger"):
        raise ModelFormatError(f"{tagger} has no tagger, only {', '.join(nlp.pipe_names)}; parsers need tags")
    for old in nlp.component_names:
        if nlp.get_pipe_meta(old).factory in CONSTITUENT_FACTORIES:
            nlp.remove_pipe(old)
    if "visible_sentences" not in nlp.pipe_names and nlp.has_pipe("senter"):
        nlp.add_pipe("visible_sentences", after="senter")
    if parser.meta.get("lang", nlp.lang) != nlp.lang:
        raise ConfigError(
            f"{tagger} is a pipeline for {nlp.lang!r}, and {model} a parser for {parser.meta['lang']!r}; train both "
            "with the same --lang"
        )
    factory = KINDS[parser.name].factory
    nlp.add_pipe(factory, config={"model": str(model)})
    if dependency_model is not None:
        nlp.add_pipe("bpm_parser", config={"model": str(dependency_model)})
    others = [*span_model_treebanks(parser.meta), *source_treebanks(nlp.meta.get("sources") or [])]
    origin = provenance([*parse_weighted_names(treebanks), *others])
    given = [*credits, *parser.meta.get("credits", []), *(nlp.meta.get("credits") or [])]
    origin["credits"] = list(dict.fromkeys([*origin["credits"], *given]))
    origin["license"] = licence or origin["license"]
    dev = parser.meta.get("fit", {}).get("dev", {})
    scores = {f"const_{what}_fit": round(value, 5) for what, value in dev.items() if what.startswith("f1")}
    nlp.meta.update(
        name=name,
        version=version or __version__,
        description=f"Constituency parsing: tokenizer, {', '.join(nlp.pipe_names)}",
        author="spacy-dtparse",
        license=origin["license"],
        sources=[{"author": "", "url": "", **source} for source in origin["sources"]],
        credits=origin["credits"],
        requirements=[f"spacy-dtparse>={__version__}"],
        performance={**nlp.meta.get("performance", {}), **scores},
    )
    if out.exists():
        shutil.rmtree(out)
    nlp.to_disk(out)
    write_compact_strings(out)
    for notice in origin["notices"]:
        shutil.copyfile(CATALOGUE.parent / notice, out / f"LICENSE.{Path(notice).name}")
    write_notices(out, origin)
    check_size(out)
    return spacy.load(out)


def check_target(out: Path) -> None:
    """Raise ConfigError if `out` exists and is not a pipeline folder, which may be overwritten."""
    if out.exists() and not (out / "meta.json").is_file() and any(out.iterdir() if out.is_dir() else [out]):
        raise ConfigError(f"{out} exists and is no pipeline; give a new folder, because it would be overwritten")


def write_compact_strings(folder: Path) -> None:
    """Write the strings of a pipeline without white space: they are a large part of a small pipeline."""
    strings = folder / "vocab" / "strings.json"
    strings.write_text(srsly.json_dumps(srsly.read_json(strings)), encoding="utf8")


def write_notices(folder: Path, origin: dict[str, Any]) -> None:
    """Write LICENSE, with the credits; it names the other licence texts in the folder, LICENSE.NAME."""
    lines = [f"License of this model: {origin['license']}", ""]
    if origin["license"] == "CC BY-SA 4.0":
        lines += ["https://creativecommons.org/licenses/by-sa/4.0/", ""]
    sources = (f"- {source['name']} ({source['license']}) {source.get('url', '')}" for source in origin["sources"])
    lines += ["It was trained on:", "", *map(str.rstrip, sources)]
    credits = origin["credits"] or ["the authors of spacy-dtparse"]
    lines += ["", "Credits:", "", *(f"- {credit}" for credit in credits)]
    for text in sorted(folder.glob("LICENSE.*")):
        lines += ["", f"The licence text in {text.name} must stay with this model."]
    (folder / "LICENSE").write_text("\n".join(lines) + "\n", encoding="utf8")


def check_size(folder: Path) -> int:
    """The total size of all files in bytes. Raises ConfigError if it, or the size of one file, exceeds the maximum."""
    sizes = {path: path.stat().st_size for path in sorted(folder.rglob("*")) if path.is_file()}
    total, largest = sum(sizes.values()), max(sizes, key=sizes.__getitem__)
    if total > MAX_TOTAL or sizes[largest] > MAX_FILE:
        raise ConfigError(
            f"{folder} has {total} bytes, {largest.relative_to(folder)} alone {sizes[largest]}; allowed are "
            f"{MAX_TOTAL} in all and {MAX_FILE} per file: train fewer or smaller networks, or with a larger λ, or a "
            "smaller tagger"
        )
    return total
