"""Likely mistakes of a treebank: the constituents and tags that a model finds improbable.

The suspicion of a constituent is the log odds that it is wrong, ln((1 - p) / p), with its marginal probability p under
the span model. A constituent that is missing in the tree is as suspicious as it is probable, ln(p / (1 - p)). A tag is
suspicious if the tagger gives another one: by how often the treebank has either tag where the tagger gives the latter,
and on the same word. The token itself is left out of these counts.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import log
from pathlib import Path
from typing import Any

from ..core.constraints import Constraint
from ..core.parser import Capability, Parser, Posteriors
from ..errors import ConfigError
from ..files import write_atomically
from ..span_parser.parser import SpanParser
from ..stored_names import from_stored, stored_as, to_stored
from ..trees.tree import TOP, Tree
from .edits import is_crossing, relabel_constituent, remove_constituent
from .journal import digest

Span = tuple[int, int, str]
_MIN_PROB = 1e-6
"""Less probable constituents count as this probable."""
_SMOOTHING = 0.5
"""Added to counts of tags."""


@stored_as("sentence score kind start end given better")
@dataclass(frozen=True, slots=True)
class Suspicion:
    """A likely mistake. `sentence`: index of the tree; `score`: log odds; `kind`: one of KINDS; `start`, `end`: the
    tokens; `given`: the label or tag in the tree, "" if the constituent is missing; `better`: the more probable one, ""
    for no constituent."""

    sentence: int
    score: float
    kind: str
    start: int
    end: int
    given: str
    better: str

    def text(self, words: Sequence[str]) -> str:
        """Return the suspicion in words."""
        phrase = " ".join(words[self.start : self.end])
        return {
            "superfluous": f"{self.given} '{phrase}' is improbable",
            "missing": f"{self.better} '{phrase}' is probable and not in the tree",
            "label": f"{self.given} '{phrase}' is more probable as {self.better}",
            "tag": f"the tag {self.given} of '{phrase}' is more probable as {self.better}",
        }[self.kind]

    def holds(self, tree: Tree) -> bool:
        """Return whether a tree still has what is suspicious."""
        if self.end > tree.n_tokens:
            return False
        if self.kind == "tag":
            return tree.tags[self.start] == self.given
        spans = tree.spans()
        if self.kind == "missing":
            return (self.start, self.end, self.better) not in spans
        return (self.start, self.end, self.given) in spans

    def edit(self, tree: Tree) -> list[Constraint]:
        """Return the edit that repairs a constituent of the tree, for which `holds` is true; [] for a tag."""
        if self.kind == "tag":
            return []
        if self.kind == "missing":
            return [Constraint(self.start, self.end, self.better)]
        constituent = tree.spans().index((self.start, self.end, self.given))
        if self.kind == "label":
            return relabel_constituent(tree, constituent, self.better)
        return remove_constituent(tree, constituent)


def review(trees: Sequence[Tree], tags: Sequence[Sequence[str]], posteriors: Iterable[Posteriors]) -> list[Suspicion]:
    """Return the suspicions of a treebank, most suspicious first.

    `tags`: predicted tags of each tree; `posteriors`: probabilities of its constituents, see `fine_posteriors`. Of
    suspicions of a sentence about the same or crossing tokens, only the first is listed: one mistake is one suspicion.
    """
    found = tag_suspicions(trees, tags)
    for index, (tree, probable) in enumerate(zip(trees, posteriors, strict=True)):
        found += constituent_suspicions(index, tree, probable)
    return sorted(found, key=_order)


def _order(one: Suspicion) -> tuple[float, int, int, int, str]:
    return -one.score, one.sentence, one.start, one.end, one.kind


def constituent_suspicions(index: int, tree: Tree, posteriors: Posteriors) -> list[Suspicion]:
    """Return the suspicions about the constituents of a tree whose log odds are above 0, most suspicious first."""
    have = {span for span in tree.spans() if span[2] != TOP}
    candidates = [_suspicion(index, span, posteriors, have) for span in sorted(have)]
    candidates += [
        Suspicion(index, _log_odds(p), "missing", *span[:2], "", span[2])
        for span, p in sorted(posteriors.items())
        if p > 0.5 and span not in have and span[2] != TOP
    ]
    kept: list[Suspicion] = []
    for one in sorted(candidates, key=_order):
        extent = one.start, one.end
        if one.score > 0 and not any(extent == (k.start, k.end) or _crosses(extent, k) for k in kept):
            kept.append(one)
    return kept


def _suspicion(index: int, span: Span, posteriors: Posteriors, have: set[Span]) -> Suspicion:
    """Return the suspicion that a constituent of the tree is wrong."""
    start, end, label = span
    others = ((p, other) for (a, b, other), p in sorted(posteriors.items()) if (a, b) == (start, end) and other != TOP)
    p, better = max(((p, other) for p, other in others if (start, end, other) not in have), default=(0.0, ""))
    kind = "label" if p > 0.5 else "superfluous"
    score = -_log_odds(posteriors.get(span, 0.0))
    return Suspicion(index, score, kind, start, end, label, better if kind == "label" else "")


def _crosses(extent: tuple[int, int], other: Suspicion) -> bool:
    return is_crossing(Constraint(*extent), Constraint(other.start, other.end))


def _log_odds(p: float) -> float:
    p = min(max(p, _MIN_PROB), 1 - _MIN_PROB)
    return log(p / (1 - p))


def tag_suspicions(trees: Sequence[Tree], tags: Sequence[Sequence[str]]) -> list[Suspicion]:
    """Return the suspicions about tags that differ from predicted ones and whose log odds are above 0, by sentence.
    There are none where the treebank does not have the predicted tag."""
    pairs: Counter[tuple[str, str]] = Counter()
    of_words: Counter[tuple[str, str]] = Counter()
    for tree, row in zip(trees, tags, strict=True):
        pairs.update(zip(row, tree.tags, strict=True))
        of_words.update(zip(map(str.lower, tree.words), tree.tags, strict=True))
    found, known = [], {tag for tree in trees for tag in tree.tags}
    for index, (tree, row) in enumerate(zip(trees, tags, strict=True)):
        for token, (word, given, better) in enumerate(zip(tree.words, tree.tags, row, strict=True)):
            if given == better or better not in known:
                continue
            score = log((pairs[better, better] + _SMOOTHING) / (pairs[better, given] - 1 + _SMOOTHING))
            score += log((1 + of_words[word.lower(), better]) / of_words[word.lower(), given])
            if score > 0:
                found.append(Suspicion(index, score, "tag", token, token + 1, given, better))
    return found


def span_model_of(parser: Parser) -> SpanParser | None:
    """Return the span model of a parser, or the parser itself if it is one; None if it has none."""
    inner: Any = parser.inner_parser
    found = inner if isinstance(inner, SpanParser) else getattr(inner, "span_parser", None)
    return found if isinstance(found, SpanParser) else None


def fine_posteriors(parser: Parser, words: Sequence[str], tags: Sequence[str]) -> Posteriors:
    """Return the parser's probabilities of constituents, those of a span model down to a millionth. Raises ConfigError
    for a parser without probabilities."""
    if (network := span_model_of(parser)) is not None:
        return network.span_posteriors(words, tags, _MIN_PROB)
    if Capability.POSTERIORS not in parser.capabilities:
        raise ConfigError(f"a review needs probabilities of constituents, and {parser.missing_posteriors}")
    return parser.span_posteriors(words, tags)


def review_trees(
    parser: Parser, tag: Callable[[Sequence[str]], Sequence[str]], trees: Sequence[Tree]
) -> list[Suspicion]:
    """Return the suspicions of trees under a parser, most suspicious first. `tag`: returns predicted tags of words."""
    tags = [tag(tree.words) for tree in trees]
    return review(trees, tags, (fine_posteriors(parser, one.words, row) for one, row in zip(trees, tags, strict=True)))


# ---- files ----


def write_ranking(path: str | Path, trees: Sequence[Tree], suspicions: Sequence[Suspicion], method: str) -> None:
    """Write a ranking: JSON lines, first that of the treebank. `method`: how the probabilities were computed."""
    about = {"trees": len(trees), "digest": _digest_of(trees), "method": method}
    lines: list[Mapping[str, Any]] = [about, *({**to_stored(one), "score": round(one.score, 3)} for one in suspicions)]
    write_atomically(Path(path), "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines))


def read_ranking(path: str | Path, trees: Sequence[Tree]) -> list[Suspicion]:
    """Read the ranking of trees. Raises ConfigError for a file that is none, or is of other trees."""
    again = "write it again: python -m training review FILES --out RANKING"
    try:
        first, *rest = (json.loads(line) for line in Path(path).read_text(encoding="utf-8").splitlines())
        found = [Suspicion(**from_stored(Suspicion, line)) for line in rest]
        number, key = first["trees"], first["digest"]
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise ConfigError(f"{path}: {str(error)[:80]}; it is no ranking of a review: {again}") from None
    if key != _digest_of(trees):
        raise ConfigError(f"{path} is the ranking of {number} other trees, not of these {len(trees)}; {again}")
    return found


def _digest_of(trees: Sequence[Tree]) -> str:
    return digest("\n".join(map(str, trees)))
