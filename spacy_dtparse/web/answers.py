"""What the page asks, answered as plain data: the trees of a text, and what there is to know of one constituent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import exp, isfinite
from threading import Lock
from typing import Any

from spacy.language import Language

from ..checks import Setting, one_of, truth, whole_number
from ..errors import ConfigError, DtparseError
from ..pipeline.attributes import sentence_infos
from ..pipeline.component import ConstituentPipe
from ..pipeline.drawings import drawn_trees
from ..trees.tree import TOP, Tree
from ..viz import draw

MOST_CHARACTERS = 5000
"""Of a text."""
MOST_ALTERNATIVES = 15
MOST_RULES, MOST_FACTS, MOST_AGAINST = 12, 7, 3
MOST_TREES = 20
LEAST = 0.001
"""Probability from which on an alternative is told."""

Probabilities = Mapping[tuple[int, int, str], float]

_LOOK: dict[str, Setting] = {
    "style": one_of("tree", "spans"),
    "layout": one_of("auto", "down", "side"),
    "theme": one_of("light", "dark", "auto"),
    "scores": truth(),
    "k": whole_number(1, MOST_TREES),
}
_USUAL = {"style": "tree", "layout": "auto", "theme": "light", "scores": True, "k": 5}


class Answers:
    """The answers of one pipeline, from any thread.

    Raises DtparseError when the pipeline has no constituent parser.
    """

    def __init__(self, nlp: Language):
        self.nlp = nlp
        found = next((pipe for _, pipe in nlp.pipeline if isinstance(pipe, ConstituentPipe)), None)
        if found is None:
            raise DtparseError(
                f"the pipeline has no constituent parser, only {', '.join(nlp.pipe_names) or 'nothing'}; add 'dtparse' "
                "to it or use spacy_dtparse.load()"
            )
        self.component = found
        self._lock = Lock()  # spaCy's vocabulary is not made for several threads

    def about(self) -> dict[str, Any]:
        """What the page says of the pipeline."""
        parser, meta = self.component.configured_parser, self.nlp.meta
        return {
            "pipeline": f"{meta['lang']}_{meta['name']}",
            "parser": f"{self.component.name} ({parser.name})",
            "most_characters": MOST_CHARACTERS,
            "has_k_best": hasattr(parser, "parse_k"),
        }

    def parse(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        """The sentences of a text. `asked`: `text`, and how to draw it (`style`, `layout`, `theme`, `scores`), and `k`,
        the number of best trees.

        Raises ConfigError for a text that is empty or too long, or another value than those allowed.
        """
        text = asked.get("text")
        if not isinstance(text, str) or not text.strip():
            raise ConfigError("there is no text; type a sentence")
        if len(text) > MOST_CHARACTERS:
            raise ConfigError(
                f"the text has {len(text):,} characters; the page takes {MOST_CHARACTERS:,} at most. For longer ones: "
                "dtparse parse FILE"
            )
        look = {**_USUAL, **{name: asked[name] for name in _LOOK if asked.get(name) is not None}}
        for name, allowed in _LOOK.items():
            if not allowed.fits(look[name]):
                raise ConfigError(f"{name} is {look[name]!r}; it must be {allowed.allowed}")
        with self._lock:
            doc = self.nlp(text)
            key = self.component.spans_key
            infos = [info for info in sentence_infos(doc, key) if info["status"] != "empty"]
            pairs = drawn_trees(doc, key)
            return {
                "sentences": [
                    self._sentence(tree, costs, info.get("status", ""), look)
                    for (tree, costs), info in zip(pairs, infos, strict=True)
                ]
            }

    def _sentence(self, tree: Tree, decisions: list[float | None], status: str, look: dict[str, Any]) -> dict[str, Any]:
        posteriors, note = self._posteriors(tree.words, tree.tags)
        if posteriors is None:
            probabilities = decisions
        else:
            probabilities = [posteriors.get(span, 0.0) for span in tree.spans()]
        if tree.labels[0] == TOP:
            probabilities = [None, *probabilities[1:]]
        options = {"theme": look["theme"], "scores": look["scores"]}
        if look["style"] == "tree":
            options["layout"] = look["layout"]
        drawn = draw([tree], look["style"], options=options, scores=[probabilities], numbered=True)
        trees, k_note = self._best(tree, look["k"])
        return {
            "words": tree.words,
            "tags": tree.tags,
            "drawing": drawn,
            "brackets": str(tree),
            "status": status,
            "probabilities": note,
            "constituents": [
                {"start": start, "end": end, "label": label, "probability": probability}
                for (start, end, label), probability in zip(tree.spans(), probabilities, strict=True)
            ],
            "k_best": trees,
            "k_note": k_note,
        }

    def _best(self, tree: Tree, k: int) -> tuple[list[dict[str, Any]], str]:
        parser: Any = self.component.configured_parser
        if not hasattr(parser, "parse_k"):
            return [], (
                f"A parser of kind {parser.name!r} gives its best tree alone; grammars list several "
                "(dtparse serve --pipeline en_pcfgla)."
            )
        try:
            found = parser.parse_k(tree.words, tree.tags, k)
        except DtparseError as error:
            return [], str(error)
        listed = [
            {
                "brackets": str(one.tree),
                "cost": one.cost if isfinite(one.cost) else None,
                "other": _difference(tree, one.tree),
            }
            for one in found
        ]
        return (
            listed,
            f"{len(found)} trees, the best first; the cost is minus the logarithm of what the parser maximises.",
        )

    def _posteriors(self, words: Sequence[str], tags: Sequence[str]) -> tuple[Probabilities | None, str]:
        """The probabilities of all constituents, None where the parser has none; and what they are, in words."""
        parser: Any = self.component.configured_parser
        if not hasattr(parser, "span_posteriors"):
            return None, f"A parser of kind {parser.name!r} has no probabilities of constituents."
        try:
            found = parser.span_posteriors(words, tags)
        except DtparseError as error:
            return None, f"The numbers are those of the decisions that built the tree: {error}."
        whose = ", by the network that the trees read" if parser.name == "dtree" else ""
        return found, f"The numbers are the probabilities that the sentence has such a constituent{whose}."

    def ask(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        """What there is to know of a constituent: `alternatives` and `why`. `asked`: `words`, `tags`, and its `start`,
        `end` and `label`.

        Raises ConfigError where the sentence is not of words and tags or has no such constituent.
        """
        words, tags = _strings(asked, "words"), _strings(asked, "tags")
        if len(words) != len(tags):
            raise ConfigError(f"{len(words)} words and {len(tags)} tags; give a tag for each word")
        span: Any = asked.get("start"), asked.get("end"), asked.get("label")
        with self._lock:
            parser: Any = self.component.configured_parser
            tree = parser.parse(words, tags).tree
            posteriors, note = self._posteriors(words, tags)
            if span not in tree.spans():
                raise ConfigError(f"the tree has no constituent {span}; parse the text again")
            number = tree.spans().index(span)
            return {
                "alternatives": [] if posteriors is None else alternatives(tree, number, posteriors),
                "probability": None if posteriors is None else posteriors.get(span, 0.0),
                "note": note,
                "why": why(parser, words, tags, number, span),
            }


def alternatives(tree: Tree, number: int, posteriors: Probabilities) -> list[dict[str, Any]]:
    """Constituents that the tree does not have and that bear on its constituent `number`, the most probable first.

    Those over the same words with another label, those that cross it, and longer or shorter ones with its label and
    one of its edges.
    """
    start, end, label = tree.starts[number], tree.ends[number], tree.labels[number]
    own = set(tree.spans())
    found: list[dict[str, Any]] = []
    for (first, last, name), probability in posteriors.items():
        if (first, last, name) in own or probability < LEAST:
            continue
        if (first, last) == (start, end):
            kind = "another label"
        elif first < start < last < end or start < first < end < last:
            kind = "crosses it"
        elif name == label and (first == start or last == end):
            kind = "longer" if last - first > end - start else "shorter"
        else:
            continue
        found.append({"start": first, "end": last, "label": name, "probability": probability, "kind": kind})
    found.sort(key=lambda one: (-one["probability"], one["start"], one["end"], one["label"]))
    return found[:MOST_ALTERNATIVES]


def why(parser: Any, words: Sequence[str], tags: Sequence[str], number: int, span: tuple[Any, ...]) -> dict[str, Any]:
    """Why a parser built constituent `number` of its tree of a sentence: for boosted trees the `facts` that spoke most
    for it and against it, the `runner_up` label, the `rules` with the largest values, `sources` of the score, what the
    `reader` says; or a `note` why there is nothing to tell."""
    if parser.name != "dtree":
        return {"note": "Only boosted decision trees decide by rules that can be told (en_dtparse, en_trees)."}
    from ..model.trees.explain import by_source, explain, reader_says
    from ..model.trees.reasons import reasons as reasons_of

    told: dict[str, Any] = {}
    if parser.reader is not None:
        kept = parser.recipe.prepare(words, tags).kept
        first, last = (sum(place < edge for place in kept) for edge in span[:2])
        said = reader_says(parser, [words[k] for k in kept], [tags[k] for k in kept], first, last)
        told["reader"] = said.replace(f"[{first}, {last})", "these words")
    try:
        rules = explain(parser, words, tags, number)
    except DtparseError as error:
        return {**told, "note": str(error)}
    total = sum(rule.value for rule in rules)
    told["score"], told["decision"] = total, 1 / (1 + exp(-total)) if total > -700 else 0.0
    told["sources"] = {name: value for name, value in by_source(rules).items() if value}
    told["n_rules"] = len(rules)
    told["rules"] = [
        {"value": rule.value, "present": rule.present, "absent": rule.absent} for rule in rules[:MOST_RULES]
    ]
    reasons = reasons_of(parser, words, tags, span).get(span)
    if reasons is not None:
        facts: list[dict[str, Any]] = [
            {"value": fact.value, "words": f"the network{fact.words[2:]}" if told_by else fact.words}
            for group in reasons.groups
            for fact in group.facts
            for told_by in [group.name.startswith("network") and fact.words.startswith("it ")]
        ]
        facts.sort(key=lambda fact: -fact["value"])
        told["facts"] = [*facts[:MOST_FACTS], *facts[max(MOST_FACTS, len(facts) - MOST_AGAINST) :]]
        told["runner_up"] = reasons.runner_up
    if not rules:
        told["note"] = "No rule fired: the trees had nothing to decide here."
    return told


def _difference(tree: Tree, other: Tree) -> list[str]:
    """What the other tree has (+) that the tree has not, and the other way round (−)."""
    ours, theirs = tree.spans(), other.spans()
    signed = [("+", span) for span in theirs if span not in ours] + [("−", span) for span in ours if span not in theirs]
    return [f"{sign} {label}: {' '.join(tree.words[start:end])}" for sign, (start, end, label) in signed]


def _strings(asked: Mapping[str, Any], name: str) -> list[str]:
    value = asked.get(name)
    if not isinstance(value, list) or not value or not all(isinstance(one, str) and one.strip() for one in value):
        raise ConfigError(f"{name} is {str(value)[:60]!r}; give a list of texts")
    if sum(map(len, value)) > MOST_CHARACTERS:
        raise ConfigError(f"{name} has more than {MOST_CHARACTERS:,} characters")
    return value
