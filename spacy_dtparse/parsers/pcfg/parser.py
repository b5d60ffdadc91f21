"""The PCFG parser: words and tags in, the most probable tree out."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ...errors import DtparseError
from ...kernels.cky import LEXICAL
from ...model.pcfg import KIND, PART, PHRASE, TAG, LatentPart, PcfgGrammar, PcfgModel, read_model, write_model
from ...trees.labels import PUNCTUATION_TAGS
from ...trees.transforms import Recipe
from ...trees.tree import TOP, Tree
from ..base import ParseResult
from .chart import EVERYTHING, NO_GROUPS, Buffers, Chart
from .latent import decode
from .settings import PcfgSettings

GLUE_COST = 1000.0
"""Added for each piece when no derivation covers the sentence and pieces are joined under TOP."""


PRUNER_SHARE, NARROW_SHARE = 10.0, 0.1
"""A pruner's threshold, and that of one grammar of a product for the next, as multiples of the setting `prune`."""

RETRY_TOKENS = 80
"""A sentence of more tokens is not parsed once more without pruning when pruning leaves no tree: that would take
seconds."""


def _n_values(part: LatentPart) -> int:
    return int(part.sizes.sum())


def _n_rules(part: LatentPart) -> int:
    """Rules of latent values: probabilities above 0."""
    return int(np.count_nonzero(part.values))


def _all(n: int, n_symbols: int) -> np.ndarray:
    """Every symbol in every cell."""
    return np.ones((n * (n + 1) // 2, n_symbols), dtype=np.uint8)


LATENT_RETRY_TOKENS = 25
"""The same for grammars with latent annotations."""


class _Found(NamedTuple):
    """A parse of the kept tokens: constituents in pre-order, the root first, with their scores."""

    spans: list[tuple[int, int, str]]
    scores: list[float]
    cost: float
    status: str
    n_items: int = 0
    n_tried: int = 0


class PcfgParser:
    """Parses with a PcfgModel by CKY. Safe to use from several threads; the same input gives the same bits in any.

    The cost of a parse is −ln P(tree, words), words being known by their classes; a constituent's score is −ln of the
    probability of its expansion into its children (so scores and the words' own probabilities add up to the cost).
    Status: "optimal" without pruning (or where pruning left no tree, so that everything was tried), "complete" with it.
    "fallback": the grammar has no tree for the sentence with
    these tags, so tags were left open, or the coarse grammar's tree was taken, or, when that has none either, the
    fewest pieces that it has were joined under TOP, each at GLUE_COST; or the sentence is longer than `max_tokens` and
    was parsed in pieces.

    Raises DtparseError on words and tags of different number or on no words.
    """

    name = KIND

    def __init__(self, model: PcfgModel, settings: PcfgSettings | None = None):
        self.model = model
        self.settings = settings or PcfgSettings()
        self.recipe = Recipe(model.recipe)
        self._restores = any(step != "drop_repeated_unary" for step in self.recipe.steps)
        self._given = model.given_tags if self.settings.tags is None else self.settings.tags == "given"
        finer = len(model.fine.names) > len(model.coarse.names) or bool(model.latent)
        self._prunes = self.settings.prune > 0 and finer
        self._vectors: dict[tuple[int, int, int], list[tuple[int, np.ndarray]]] = {}
        self._groups = model.groups()
        self._local = threading.local()

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels of constituents, without TOP."""
        return tuple(label for label in self.model.labels if label != TOP)

    @property
    def meta(self) -> dict[str, Any]:
        """Plain data about the model: treebanks, licence, options."""
        return self.model.meta

    @property
    def needs_tags(self) -> bool:
        """Whether a word may only have the tag that it comes with; else tags are not looked at."""
        return self._given

    def describe(self) -> dict[str, Any]:
        """Sizes of the model and the settings in force, as plain data: symbols, rules, word classes and tags of the
        observable grammar; of each latent grammar, and of those that prune, its latent values and rules of them."""
        model, settings = self.model, self.settings

        def sizes(parts: Sequence[LatentPart]) -> dict[str, Any]:
            values, rules = ([f(part) for part in parts] for f in (_n_values, _n_rules))
            return {"grammars": len(parts), "latent values": values, "latent rules": rules}

        return {
            "tags": "given" if self._given else "own",
            "prune": settings.prune,
            "beam": settings.beam,
            "max_tokens": settings.max_tokens,
            "symbols": len(model.fine.names),
            "rules": len(model.fine.binary) + len(model.fine.unary),
            "word classes": len(model.words),
            "parts of speech": len(model.tags),
            **(sizes(model.latent) if model.latent else {}),
            **({f"pruning {name}": value for name, value in sizes(model.pruners).items()} if model.pruners else {}),
        }

    @classmethod
    def from_bytes(cls, data: bytes, settings: PcfgSettings | None = None) -> PcfgParser:
        """A parser from the bytes of a model. Raises ModelFormatError if they are damaged."""
        return cls(read_model(data), settings)

    @classmethod
    def from_disk(cls, path: str | Path, settings: PcfgSettings | None = None) -> PcfgParser:
        """A parser from a model file; see `from_bytes`."""
        return cls.from_bytes(Path(path).read_bytes(), settings)

    def to_bytes(self) -> bytes:
        """The whole model as one container."""
        return write_model(self.model)

    def to_disk(self, path: str | Path) -> None:
        """Write the model to a file."""
        Path(path).write_bytes(self.to_bytes())

    def with_settings(
        self,
        *,
        budget: int | None = None,
        max_tokens: int | None = None,
        prune: float | None = None,
        beam: float | None = None,
        tags: str | None = None,
    ) -> PcfgParser:
        """A parser on the same model with other settings (see PcfgSettings); `budget` changes nothing."""
        changes = {"budget": budget, "max_tokens": max_tokens, "prune": prune, "beam": beam, "tags": tags}
        given = {name: value for name, value in changes.items() if value is not None}
        return PcfgParser(self.model, self.settings.with_changes(**given))

    def __getstate__(self) -> dict[str, Any]:
        return {"data": self.to_bytes(), "settings": self.settings}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(read_model(state["data"]), state["settings"])  # type: ignore[misc]

    def parse(self, words: Sequence[str], tags: Sequence[str]) -> ParseResult:
        """Parse one sentence of raw words with their tags; never fails on a non-empty one. A tag that the grammar has
        never seen leaves the word's tag open."""
        if len(words) != len(tags):
            raise DtparseError(f"{len(words)} words but {len(tags)} tags; give one tag per word")
        if not words:
            raise DtparseError("an empty sentence has no parse; give at least one word")
        record = self.recipe.prepare(words, tags)
        kept_words = [words[k] for k in record.kept]
        kept_tags = [tags[k] for k in record.kept]
        if len(kept_words) <= self.settings.max_tokens:
            found = self._parse(kept_words, kept_tags)
        else:
            found = self._parse_pieces(kept_words, kept_tags)
        starts, ends, labels = zip(*found.spans, strict=True)
        tree = Tree.trusted(kept_words, kept_tags, labels, starts, ends)
        scores = tuple(found.scores)
        if self._restores:
            tree = self.recipe.restore(tree, record)
            if len(tree.labels) != len(scores):
                scores = (float("nan"),) * len(tree.labels)
        return ParseResult(tree, scores, found.cost, found.status, found.n_items, found.n_tried)

    def _parse(self, words: Sequence[str], tags: Sequence[str]) -> _Found:
        """The parse of tokens that are few enough for a chart."""
        model, n = self.model, len(words)
        classes = model.words.encode(words)
        numbers = model.tags.encode(tags)
        buffers = self._buffers()
        n_items = n_tried = 0
        for given in (numbers, None) if self._given else (None,):
            coarse = model.coarse.leaves(classes, given)
            fine = coarse if model.fine is model.coarse else model.fine.leaves(classes, given)
            attempts = ((True, False) if n <= RETRY_TOKENS else (True,)) if self._prunes else (False,)
            for pruned in attempts:
                allowed = EVERYTHING
                if pruned:
                    total, allowed = buffers.posterior(
                        model.coarse.probabilities, model.coarse.closure, model.coarse.frequency, self.settings.beam,
                        *coarse, model.root(model.coarse), self.settings.prune,
                    )  # fmt: skip
                    if total == -np.inf:
                        if self.settings.beam > 0.0:  # it may have cut too much
                            continue
                        break  # whatever the fine grammar derives, the coarse one does too
                if model.latent:
                    latent = None
                    if pruned:
                        latent = self._decode(classes, given, allowed, True)
                    elif self.settings.prune == 0.0 or n <= LATENT_RETRY_TOKENS:
                        latent = self._decode(classes, given, _all(n, len(model.coarse.names)), False)
                    if latent is not None:
                        status = "fallback" if given is None and self._given else "complete"
                        return latent._replace(n_items=n_items, n_tried=latent.n_tried + n_tried, status=status)
                    continue
                groups = self._groups if pruned else NO_GROUPS
                chart = buffers.fill(model.fine.kernel, *fine, allowed, groups)
                n_items += len(chart.items)
                n_tried += chart.tried
                status = "complete" if pruned else "optimal"
                found = self._read(chart, model.fine, n, "fallback" if given is None and self._given else status)
                if found is not None:
                    return found._replace(n_items=n_items, n_tried=n_tried)
            chart = buffers.fill(model.coarse.kernel, *coarse, EVERYTHING, NO_GROUPS)
            n_items += len(chart.items)
            n_tried += chart.tried
            found = self._read(chart, model.coarse, n, "fallback")
            if found is not None:
                return found._replace(n_items=n_items, n_tried=n_tried)
        return self._glue(chart, n)._replace(n_items=n_items, n_tried=n_tried)

    def _decode(
        self, classes: np.ndarray, given: np.ndarray | None, allowed: np.ndarray, narrow: bool
    ) -> _Found | None:
        """The tree of the latent grammars together, None if there is none; `narrow`: what one of them finds unlikely is
        left out of those after it."""
        model = self.model
        parts = []
        for number, part in enumerate((*model.pruners, *model.latent)):
            vectors = []
            for k, word in enumerate(classes.tolist()):
                tag = -1 if given is None else int(given[k])
                key = (number, word, tag)
                if key not in self._vectors:
                    wanted = np.flatnonzero((model.coarse.kind == TAG) & (model.coarse.base == tag))
                    self._vectors[key] = part.vectors(word, wanted if tag >= 0 and len(wanted) else None)
                vectors.append(self._vectors[key])
            parts.append((part.kernel, vectors))
        n_pruners, prune = len(model.pruners), self.settings.prune if narrow else 0.0
        found = decode(
            parts[n_pruners:], allowed, model.root(model.coarse), parts[:n_pruners] if narrow else (),
            PRUNER_SHARE * prune, NARROW_SHARE * prune,
        )  # fmt: skip
        if found is None:
            return None
        kinds, bases = model.coarse.kind, model.coarse.base
        spans: list[tuple[int, int, str]] = []
        scores: list[float] = []
        open_at: list[int] = []
        for step in found.steps:
            kind = int(kinds[step.symbol])
            while open_at and kind != TAG and spans[open_at[-1]][1] <= step.start:
                open_at.pop()
            if kind == PHRASE:
                open_at.append(len(spans))
                spans.append((step.start, step.end, model.labels[int(bases[step.symbol])]))
                scores.append(0.0 - step.posterior)
            elif kind == PART:
                scores[open_at[-1]] -= step.posterior
        return _Found(spans, scores, 0.0 - found.score, "complete", 0, found.n_rules)

    def _buffers(self) -> Buffers:
        if not hasattr(self._local, "buffers"):
            self._local.buffers = Buffers()
        return self._local.buffers

    def _read(self, chart: Chart, grammar: PcfgGrammar, n: int, status: str) -> _Found | None:
        """The best derivation of the root, None if there is none."""
        root = self.model.root(grammar)
        steps = chart.derivation(0, n, root)
        if not len(steps):
            return None
        spans, scores = self._spans(steps, grammar)
        return _Found(spans, scores, 0.0 - chart.score(0, n, root), status)

    def _spans(self, steps: np.ndarray, grammar: PcfgGrammar) -> tuple[list[tuple[int, int, str]], list[float]]:
        """The constituents of a derivation and their scores; a part's rule counts for the constituent it is a part
        of."""
        kinds, bases = grammar.kind[steps["symbol"]].tolist(), grammar.base[steps["symbol"]].tolist()
        weights = grammar.kernel.rules["weight"][np.maximum(steps["rule"], 0)]
        weights[steps["rule"] == LEXICAL] = 0.0
        spans: list[tuple[int, int, str]] = []
        scores: list[float] = []
        open_at: list[int] = []  # constituents around the current step, the innermost last
        for kind, base, start, end, weight in zip(
            kinds, bases, steps["start"].tolist(), steps["end"].tolist(), weights.tolist(), strict=True
        ):
            if kind == PHRASE:
                while open_at and spans[open_at[-1]][1] <= start:
                    open_at.pop()
                open_at.append(len(spans))
                spans.append((start, end, self.model.labels[base]))
                scores.append(0.0 - weight)
            elif kind == PART:
                while spans[open_at[-1]][1] <= start:
                    open_at.pop()
                scores[open_at[-1]] -= weight
        return spans, scores

    def _glue(self, chart: Chart, n: int) -> _Found:
        """The fewest pieces of the coarse chart that cover the sentence, of these the most probable ones, under TOP."""
        grammar = self.model.coarse
        kinds = grammar.kind
        root = self.model.root(grammar)
        best: list[tuple[int, float, int, int]] = [(0, 0.0, 0, -1)]  # pieces, cost, start of the last, its symbol
        for end in range(1, n + 1):
            choices = []
            for start in range(end):
                low, high = chart.cells[end * (end - 1) // 2 + start].tolist()
                for item in chart.items[low:high]:
                    symbol = int(item["symbol"])
                    if symbol != root and (kinds[symbol] == PHRASE or (kinds[symbol] != PART and end == start + 1)):
                        pieces, cost, _, _ = best[start]
                        choices.append((pieces + 1, cost - float(item["score"]), start, symbol))
            best.append(min(choices))  # a word always has a tag
        pieces, cost, _, _ = best[n]
        ends, end = [], n
        while end > 0:
            _, _, start, symbol = best[end]
            ends.append((start, end, symbol))
            end = start
        spans, scores = [(0, n, TOP)], [GLUE_COST * pieces]
        for start, end, symbol in reversed(ends):
            inner, inner_scores = self._spans(chart.derivation(start, end, symbol), grammar)
            spans += inner
            scores += inner_scores
        return _Found(spans, scores, cost + GLUE_COST * pieces, "fallback")

    def _parse_pieces(self, words: Sequence[str], tags: Sequence[str]) -> _Found:
        """Pieces of at most `max_tokens`, cut after punctuation where there is some, each parsed, joined under TOP."""
        n, most = len(words), self.settings.max_tokens
        spans, scores, cost = [(0, n, TOP)], [0.0], 0.0
        start = n_items = n_tried = 0
        while start < n:
            end = min(start + most, n)
            if end < n:
                cuts = range(end, start + most // 2, -1)
                end = next((cut for cut in cuts if tags[cut - 1] in PUNCTUATION_TAGS), end)
            found = self._parse(words[start:end], tags[start:end])
            spans += [(s + start, e + start, label) for s, e, label in found.spans[1:]]
            scores += found.scores[1:]
            scores[0] += found.scores[0] + GLUE_COST
            cost += found.cost + GLUE_COST
            n_items += found.n_items
            n_tried += found.n_tried
            start = end
        return _Found(spans, scores, cost, "fallback", n_items, n_tried)


__all__ = ["GLUE_COST", "KIND", "PcfgParser"]
