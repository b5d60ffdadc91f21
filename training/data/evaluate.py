"""Score a parser on treebank files: PARSEVAL by both conventions, speed, and statistics of the search."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spacy_dtparse.core import STATUSES, Parser, load_parser
from spacy_dtparse.dtparse.parser import DtreeParser
from spacy_dtparse.errors import ConfigError, ModelFormatError, TrainingDataError
from spacy_dtparse.models import is_name
from spacy_dtparse.scoring import ParsevalReport
from spacy_dtparse.trees import Tree

from .corpus import Sentence
from .treebanks import TreebankFile

if TYPE_CHECKING:  # the trainers score trees without spaCy
    from spacy.language import Language

TAGS = ("gold", "predicted")
MEASURES = ("precision", "recall", "f1", "unlabelled_f1", "exact_match", "crossing", "no_crossing")


def load_source(source: Path) -> tuple[Parser, Language | None]:
    """Load the parser of a model file, or the parser and the pipeline of a folder or of an English pipeline, by name.
    Raises ModelFormatError if there is none of these."""
    if is_name(str(source)) or (source / "config.cfg").is_file():
        import spacy

        import spacy_dtparse.pipeline.registration  # noqa: F401 (registers it if the package is not installed)
        from spacy_dtparse import load
        from spacy_dtparse.cli.pipelines import get_component

        nlp = load(str(source)) if is_name(str(source)) else spacy.load(source)
        return get_component(nlp).parser, nlp
    if source.is_dir():
        raise ModelFormatError(f"{source} is a folder without config.cfg; give a model file or a spaCy pipeline")
    return load_parser(source), None


def tag_lists(nlp: Language, lists: Iterable[Sequence[str]]) -> list[tuple[str, ...]]:
    """The tags of a pipeline for each list of words, as one Doc each, with the second-best ones of a recurrent_tagger;
    sentence segmentation and parsers are disabled."""
    from spacy.tokens import Doc

    from spacy_dtparse.pipeline.registration import PARSER_FACTORIES
    from spacy_dtparse.pipeline.second_tags import read_ambiguous_tags

    unused = {*PARSER_FACTORIES, "dependency_phrases", "visible_sentences", "senter", "parser", "sentencizer"}
    skipped = [name for name in nlp.pipe_names if nlp.get_pipe_meta(name).factory in unused]
    docs = (Doc(nlp.vocab, words=list(words)) for words in lists)
    with nlp.select_pipes(disable=skipped):
        found = []
        for doc in nlp.pipe(docs, batch_size=256):
            ambiguous = read_ambiguous_tags(doc)
            found.append(tuple(ambiguous.get(token.i, token.tag_) for token in doc))
        return found


def score_trees(
    sentences: Iterable[Sentence], trees: Iterable[Tree]
) -> tuple[ParsevalReport, dict[str, ParsevalReport]]:
    """(PARSEVAL scores of all trees, scores by treebank), given a tree for each sentence. Raises TreeError if a tree
    has other words than its sentence, ValueError if their numbers differ."""
    total = ParsevalReport(strict=True)
    parts: dict[str, ParsevalReport] = {}
    for sentence, tree in zip(sentences, trees, strict=True):
        for report in (total, parts.setdefault(sentence.source, ParsevalReport(strict=True))):
            report.add(sentence.tree, tree)
    return total, parts


def parse_sentences(parser: Parser, sentences: Iterable[Sentence]) -> list[Tree]:
    """Parse the sentences with their tags."""
    return [parser.parse(sentence.tree.words, sentence.tags).tree for sentence in sentences]


def score_parser(parser: Parser, sentences: Sequence[Sentence], tags: Sequence[Sequence[str]]) -> dict[str, Any]:
    """Parse the sentences with the given tags, one by one in this process, and score the trees.

    Returns plain data: "all" and "evalb" with `MEASURES` as fractions ("crossing" per sentence), "tag_accuracy" (None
    if the given tags have no tag in common with the trees), "sentences", "tokens", "seconds" (CPU time of the parser
    only), "tokens_per_second", "status": number of sentences by STATUSES, "greedy_optimal": fraction of sentences
    whose greedy parse was proven optimal (None after greedy parsing, which proves nothing, and for parsers without a
    greedy parse), "scored_per_token": inferences.
    """
    report = ParsevalReport(strict=True)
    status: Counter[str] = Counter()
    scored = proven = right = tokens = 0
    parser.parse(sentences[0].tree.words, tags[0])  # compile or load the kernels before timing
    seconds = 0.0
    for sentence, row in zip(sentences, tags, strict=True):
        started = time.process_time()
        result = parser.parse(sentence.tree.words, row)
        seconds += time.process_time() - started
        report.add(sentence.tree, result.tree)
        status[result.status] += 1
        scored += result.n_scored
        proven += result.status == "optimal" and bool(result.greedy_optimal)
        tokens += len(row)
        right += sum(a == b for a, b in zip(row, sentence.tree.tags, strict=True))
    totals = report.to_dict()
    alike = bool({tag for row in tags for tag in row} & {tag for s in sentences for tag in s.tree.tags})
    searched = isinstance(parser, DtreeParser) and bool(status["optimal"] + status["complete"])
    return {
        **{convention: {name: totals[convention][name] for name in MEASURES} for convention in ("all", "evalb")},
        "tag_accuracy": right / tokens if alike else None,
        "sentences": len(sentences),
        "tokens": tokens,
        "seconds": seconds,
        "tokens_per_second": tokens / seconds,
        "status": {name: status[name] for name in STATUSES if status[name]},
        "greedy_optimal": proven / len(sentences) if searched else None,
        "scored_per_token": scored / tokens,
    }


def evaluate(
    source: Path,
    files: Sequence[TreebankFile],
    tags: Sequence[str] = ("gold",),
    budgets: Sequence[int | None] = (None,),
    settings: Mapping[str, Any] | None = None,
) -> list[dict[str, Any]]:
    """Score a model file or a pipeline on every file, kind of tags and search budget; returns one record each.

    A budget of None is the model's default. `settings`: of the parser (see PcfgSettings, SpanSettings), included in the
    records. Predicted tags come from the file of tags named with the treebank, else from the pipeline. Records are
    those of `score_parser` with `treebank` (the file's `row_name`), `file`, `tags` and `budget`.

    Raises ConfigError if predicted tags are required and there are none, and for settings that the parser lacks.
    """
    parser, nlp = load_source(source)
    settings = dict(settings or {})
    try:
        parser = parser.with_settings(**settings) if settings else parser
    except TypeError:
        raise ConfigError(
            f"{source} is a parser of kind {parser.name}, which lacks some of the settings {', '.join(settings)}; "
            "leave out those of other kinds"
        ) from None
    records = []
    for file in files:
        gold = replace(file, tags=None).read()
        for kind in tags:
            if kind not in TAGS:
                raise ConfigError(f"tags={kind!r}; allowed are {', '.join(TAGS)}")
            used = tags_of(file, gold, kind, nlp, source)
            for budget in budgets:
                record = score_parser(parser.with_settings(budget=budget), gold, used)
                columns = {"treebank": file.row_name, "file": file.path.name, "tags": kind, "budget": budget}
                records.append({**columns, **settings, **record})
    return records


def tags_of(
    file: TreebankFile, gold: Sequence[Sentence], kind: str, nlp: Language | None, source: Path
) -> Sequence[Sequence[str]]:
    """The tags of the file's sentences: gold tags, or predicted tags from the file of tags named with it, else from the
    pipeline. Raises ConfigError if there are no predicted tags."""
    if kind == "gold":
        return [sentence.tree.tags for sentence in gold]
    if file.tags is not None:
        return [sentence.tags for sentence in file.read()]
    if nlp is None:
        raise ConfigError(
            f"{file.path}: {source} is a parser without a tagger and cannot predict tags; "
            "give a pipeline, or the tags as PATH,tags=PATH"
        )
    return tag_lists(nlp, (sentence.tree.words for sentence in gold))


def scores_table(records: Sequence[dict[str, Any]]) -> str:
    """The records as a text table."""
    lines = [
        f"{'treebank':12}{'tags':>10}{'budget':>9}{'F1 all':>8}{'F1 evalb':>9}{'exact':>7}{'tag acc':>8}"
        f"{'tokens/s':>10}{'greedy optimal':>15}"
    ]
    for r in records:
        budget = "model's" if r["budget"] is None else r["budget"]
        optimal = "-" if r["greedy_optimal"] is None else f"{100 * r['greedy_optimal']:.1f}%"
        lines.append(
            f"{r['treebank']:12}{r['tags']:>10}{budget:>9}"
            f"{100 * r['all']['f1']:8.2f}{100 * r['evalb']['f1']:9.2f}{100 * r['all']['exact_match']:7.2f}"
            f"{_percent(r['tag_accuracy']):>8}{r['tokens_per_second']:10.0f}{optimal:>15}"
        )
    return "\n".join(lines)


def _percent(fraction: float | None) -> str:
    return "-" if fraction is None else f"{100 * fraction:.2f}"


def performance(records: Sequence[dict[str, Any]]) -> dict[str, float]:
    """F1 scores of the records with the default budget, for a pipeline's meta: `const_f_craft_gold` and so on."""
    return {
        f"const_{name}_{record['treebank']}_{record['tags']}": round(record[convention]["f1"], 5)
        for record in records
        if record["budget"] is None
        for name, convention in (("f", "all"), ("f_evalb", "evalb"))
    }


def record_performance(pipeline: Path, records: Sequence[dict[str, Any]]) -> None:
    """Write the scores into the pipeline's meta.json. Raises TrainingDataError if it is no pipeline folder."""
    import srsly

    path = pipeline / "meta.json"
    if not path.is_file():
        raise TrainingDataError(f"{pipeline} is no pipeline folder (no meta.json); --record needs one")
    meta = srsly.read_json(path)
    meta["performance"] = {**meta.get("performance", {}), **performance(records)}
    srsly.write_json(path, meta)
