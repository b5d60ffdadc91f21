"""Answers to the page's requests as plain data: the trees of a text, and the details of one constituent."""

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from typing import Any

from spacy.language import Language
from spacy.tokens import Doc

from ..checks import Setting, boolean, integer, one_of, short_repr
from ..core.ambiguous_tags import AmbiguousTag, second_tag
from ..core.calibration import ResultCalibrator
from ..core.constraints import Constraint
from ..core.parser import Capability
from ..core.registry import SPAN_MODEL_KINDS
from ..errors import ConfigError, DtparseError
from ..pipeline.attributes import constituents, sentence_infos
from ..pipeline.constituent_pipe import constituent_parsers
from ..pipeline.drawings import trees_with_probabilities
from ..pipeline.explain_constituent import explain
from ..pipeline.second_tags import write_ambiguous_tags
from ..pipeline.text_language import TextLanguage, language_name
from ..text import check_text
from ..trees.label_names import describe_label, describe_tag
from ..trees.tree import TOP, Tree
from ..viz import draw
from ..viz.svg import fitting_layout, probability_text
from ..viz.text import MIN_WIDTH
from .turns import Turns

MAX_CHARACTERS = 5000
"""Maximum length of a text."""
MAX_ALTERNATIVES = 15
MAX_RULES = 12
MAX_TREES = 20

_DRAW_OPTIONS: dict[str, Setting] = {
    "style": one_of("tree", "spans"),
    "layout": one_of("auto", "down", "side"),
    "theme": one_of("light", "dark", "auto"),
    "probabilities": boolean(),
    "k": integer(1, MAX_TREES),
    "width": integer(1, 100_000),
}
_DEFAULTS = {"style": "tree", "layout": "auto", "theme": "light", "probabilities": True, "k": 5, "width": 1000}
_CHARACTER = 9
"""Pixels for each character of a line of the style "spans"; a wide estimate, so that lines fit."""

EXAMPLES: dict[str, tuple[str, ...]] = {
    "en": (
        "The dog that slept in the garden wants its bone.",
        "I saw the man with the telescope.",
        "Although it was late, she asked him why the lights were still on.",
    )
}
"""Texts to try, by language."""

_MARGIN = {True: "constituents that are expected to be right", False: "in minus logarithms of probabilities"}
"""The meaning of margins, by whether they come from a chart of spans."""


class Answers:
    """The answers of one pipeline, from any thread.

    Raises DtparseError if the pipeline has no constituent parser.
    """

    def __init__(self, nlp: Language):
        self.nlp = nlp
        self.component = constituent_parsers(nlp, active=True)[0]
        self.language = TextLanguage(nlp, self.component.parser)
        self._turns = Turns()  # spaCy's vocabulary is not thread-safe

    def about(self) -> dict[str, Any]:
        """Data about the pipeline that the page shows."""
        parser, meta = self.component.configured_parser, self.nlp.meta
        return {
            "pipeline": f"{meta['lang']}_{meta['name']}",
            "parser": f"{self.component.name} ({parser.name})",
            "max_characters": MAX_CHARACTERS,
            "language": language_name(str(self.nlp.lang)),
            "examples": EXAMPLES.get(str(self.nlp.lang), ()),
            "has_k_best": Capability.K_BEST in parser.capabilities,
        }

    def parse(self, request: Mapping[str, Any], check: Callable[[], None] = lambda: None) -> dict[str, Any]:
        """Parse and draw the sentences of a text. `request`: `text`, how to draw it (`style`, `layout`, `theme`,
        `probabilities`, and `width`, the pixels that there are), and `k`, the number of best trees. `check`: raises if
        the client has left; called before each sentence.

        Raises ConfigError for a text that is empty or too long, or a value that is not allowed, OverloadedError if too
        many requests wait or this one takes too long.
        """
        text = request.get("text")
        if not isinstance(text, str) or not text.strip():
            raise ConfigError("there is no text; type a sentence")
        if len(text) > MAX_CHARACTERS:
            raise ConfigError(
                f"the text has {len(text):,} characters; the page takes {MAX_CHARACTERS:,} at most. For longer ones: "
                "dtparse parse FILE"
            )
        _check_characters(text)
        check_text(text)
        options = {**_DEFAULTS, **{name: request[name] for name in _DRAW_OPTIONS if request.get(name) is not None}}
        for name, allowed in _DRAW_OPTIONS.items():
            if not allowed.fits(options[name]):
                raise ConfigError(f"{name} is {short_repr(options[name])}; it must be {allowed.allowed}")
        with self._turns.take(len(text) * (1 + options["k"]), check) as check_all:
            doc = self.nlp(text)
            key = self.component.spans_key
            infos = [info for info in sentence_infos(doc, key) if info["status"] != "empty"]
            given = [sentence.tags for sentence in self.component.read_doc(doc).sentences if sentence.words]
            pairs = trees_with_probabilities(doc, key)
            note = self.language.note(self.language.words(doc))
            sentences = []
            for (tree, costs), tags, info in zip(pairs, given, infos, strict=True):
                check_all()
                sentences.append(self._sentence(tree, tags, costs, info.get("status", ""), options))
            return {"note": f"{note[:1].upper()}{note[1:]}." if note else "", "sentences": sentences}

    def _sentence(
        self, tree: Tree, tags: Sequence[str], decisions: list[float | None], status: str, draw_options: dict[str, Any]
    ) -> dict[str, Any]:
        """The answer for a sentence. `tags`: those that the parser got, with second-best ones."""
        probabilities, note = self._probabilities(tree, tags, decisions)
        if tree.labels[0] == TOP:
            probabilities = [None, *probabilities[1:]]
        options = {"theme": draw_options["theme"], "probabilities": draw_options["probabilities"]}
        if draw_options["style"] == "tree":
            options["layout"] = draw_options["layout"]
            if options["layout"] == "auto":
                shown = probabilities if draw_options["probabilities"] else [None] * len(tree)
                options["layout"] = fitting_layout(tree, shown, draw_options["width"])
        else:
            options["width"] = max(MIN_WIDTH, draw_options["width"] // _CHARACTER)
        drawing = draw([tree], draw_options["style"], options=options, probabilities=[probabilities], numbered=True)
        trees, k_note = self._best(tree, tags, draw_options["k"])
        return {
            "words": tree.words,
            "tags": tree.tags,
            "second_tags": [*map(second_tag, tags)],
            "drawing": drawing,
            "brackets": str(tree),
            "status": status,
            "probabilities": note,
            "constituents": [
                {
                    "start": start,
                    "end": end,
                    "label": label,
                    "probability": probability,
                    "shown": probability_text(probability),
                }
                for (start, end, label), probability in zip(tree.spans(), probabilities, strict=True)
            ],
            "names": {label: words for label in set(tree.labels) if (words := describe_label(label))},
            "tag_names": {tag: words for tag in set(tree.tags) if (words := describe_tag(tag))},
            "k_best": trees,
            "k_note": k_note,
        }

    def _best(self, tree: Tree, tags: Sequence[str], k: int) -> tuple[list[dict[str, Any]], str]:
        parser: Any = self.component.configured_parser
        if Capability.K_BEST not in parser.capabilities:
            return [], f"A parser of kind {parser.name!r} gives only its best tree."
        try:
            found = parser.parse_k_best(tree.words, tags, k)
        except DtparseError as error:
            return [], str(error)
        if parser.calibration is not None:
            found = ResultCalibrator(parser).with_tree_probabilities(tree.words, tags, found)
        chart = parser.name in SPAN_MODEL_KINDS
        listed = [
            {
                "brackets": str(one.tree),
                "margin": one.margin,
                "probability": one.tree_probability,
                "shown": probability_text(one.tree_probability),
                "other": tree_changes(tree, one.tree),
            }
            for one in found
        ]
        return (listed, f"{len(found)} trees, the best first, each with its distance from the first: {_MARGIN[chart]}.")

    def _probabilities(
        self, tree: Tree, tags: Sequence[str], decisions: list[float | None]
    ) -> tuple[list[float | None], str]:
        """The calibrated probabilities of a tree's constituents, or `decisions` if the parser has no calibration; and a
        note that explains them."""
        try:
            probabilities, tree_probability = ResultCalibrator(self.component.configured_parser).probabilities(
                tree.words, tags, tree
            )
        except DtparseError as error:
            return decisions, f"The numbers are those of the decisions that built the tree: {error}."
        return [*probabilities], (
            f"The whole tree is right with a probability of {probability_text(tree_probability)}. The number of a "
            "label is the probability that the constituent is right."
        )

    def explain_constituent(
        self, request: Mapping[str, Any], check: Callable[[], None] = lambda: None
    ) -> dict[str, Any]:
        """The details of a constituent, in the format of `Explanation.to_dict`. `request`: `words`, `tags`, its
        `start`, `end` and `label`, and `second_tags`, if there are any ("" for none). `check`: as for
        `parse`.

        Raises ConfigError if `words` and `tags` are no sentence or the tree has no such constituent, OverloadedError as
        `parse`.
        """
        words, tags = _strings(request, "words"), _strings(request, "tags")
        seconds = _strings(request, "second_tags", blank=True) if "second_tags" in request else [""] * len(tags)
        if len(words) != len(tags):
            raise ConfigError(f"{len(words)} words and {len(tags)} tags; give a tag for each word")
        if len(words) != len(seconds):
            raise ConfigError(f"{len(words)} words and {len(seconds)} second tags; give one for each word, or none")
        wanted: Any = request.get("start"), request.get("end"), request.get("label")
        with self._turns.take(sum(map(len, words)), check):
            starts: list[Any] = [word == 0 for word in range(len(words))]
            doc = Doc(self.nlp.vocab, words=words, tags=tags, sent_starts=starts)
            both = enumerate(zip(tags, seconds, strict=True))
            write_ambiguous_tags(doc, ((i, AmbiguousTag(first, second)) for i, (first, second) in both if second))
            doc = self.component(doc)
            found = (span for span in constituents(doc) if (span.start, span.end, span.label_) == wanted)
            span = next(found, None)
            if span is None and wanted == (0, len(words), TOP):
                return {"decided": "The root, which every tree has.", "alternatives": [], "groups": [], "rules": []}
            if span is None:
                raise ConfigError(f"the tree has no constituent {short_repr(wanted)}; parse the text again")
            explanation = explain(self.component, span).to_dict(rules=MAX_RULES)
            alternatives = explanation["alternatives"][:MAX_ALTERNATIVES]
            shown = [{**one, "shown": probability_text(one["probability"])} for one in alternatives]
            return {**explanation, "alternatives": shown}


def tree_changes(
    tree: Tree, other: Tree, signs: str = "+−", stated: Iterable[Constraint] = (),
    ignored: Container[tuple[int, int, str]] = (),
) -> list[str]:  # fmt: skip
    """Return the constituents that only the other tree has (+) and that only this tree has (−), but not those over the
    tokens of a statement, and not the spans `ignored`."""
    about = {(one.start, one.end) for one in stated}
    ours, theirs = tree.spans(), other.spans()
    signed = [("+", span) for span in theirs if span not in ours] + [("−", span) for span in ours if span not in theirs]
    return [
        f"{sign} {label}: {' '.join(tree.words[start:end])}"
        for sign, (start, end, label) in signed
        if sign in signs and (start, end) not in about and (start, end, label) not in ignored
    ]


def _check_characters(text: str) -> None:
    """Raise ConfigError for a lone surrogate, which JSON can contain."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise ConfigError(
            f"{text[error.start]!r} at character {error.start + 1:,} is half of a character (a lone surrogate); send "
            "whole characters"
        ) from None


def _strings(request: Mapping[str, Any], name: str, blank: bool = False) -> list[str]:
    """The texts of a request; `blank`: whether some may be blank."""
    value = request.get(name)
    fits = isinstance(value, list) and value and all(isinstance(one, str) and (blank or one.strip()) for one in value)
    if not isinstance(value, list) or not fits:
        raise ConfigError(f"{name} is {short_repr(value)}; give a list of texts")
    if sum(map(len, value)) > MAX_CHARACTERS:
        raise ConfigError(f"{name} has more than {MAX_CHARACTERS:,} characters")
    _check_characters("".join(value))
    return value
