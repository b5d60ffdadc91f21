"""The dependency parser: maps words and tags to the tree whose links have the greatest sum of scores."""

import heapq
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..core.pieces import PieceSpan, iter_pieces
from ..core.self_test import GoldenParse
from ..core.settings import DependencySettings
from ..core.stored import Data, StoredParser
from ..dtypes import INDEX
from ..errors import ConfigError, DtparseError
from ..linear.features import LabelStage
from .features import TokenColumns
from .kernels.link_labels import label_links
from .kernels.links import ALL_LINKS, label_atoms, make_guide, score_links, select_heads
from .kernels.spanning import projective_tree, spanning_tree, tree_score
from .model import KIND, DependencyModel, read_model, write_model


@dataclass(frozen=True, slots=True)
class DependencyResult:
    """A dependency tree of n tokens. `heads`: index from 0 of each token's head, -1 for the root. `labels`: labels of
    the links (dependencies), () from a model without labels. `score`: sum of the links' scores in the last stage.
    `status`: "optimal", or "pieces" for a sentence longer than `max_tokens` or split by a deadline.
    `deadline_exceeded`: whether a deadline split it."""

    heads: tuple[int, ...]
    labels: tuple[str, ...]
    score: float
    status: str = "optimal"
    deadline_exceeded: bool = False


class DependencyParser(StoredParser):
    """Parses with a DependencyModel. Immutable and safe to share between threads; the same sentence gets the same tree
    in any batch, thread or process.

    Raises DtparseError on an empty sentence, or if columns that the model needs are missing.
    """

    model: DependencyModel
    name = KIND
    SELF_TEST_SETTINGS = DependencySettings(max_tokens=250, heads=12)
    FORMAT = read_model, write_model

    def __init__(self, model: DependencyModel, settings: DependencySettings | None = None, data: Data = None):
        super().__init__(model, settings, data)
        used = len(model.stages) if self.settings.stages is None else self.settings.stages
        if used > len(model.stages):
            raise ConfigError(f"parser setting 'stages' is {used}; the model has {len(model.stages)}")
        self._tables = model.tables[:used]
        self._projective = (self.settings.decoder or model.decoder) == "projective"
        self._labeller = None if model.labels is None else Labeller(model.labels, len(model.label_names))

    @property
    def labels(self) -> tuple[str, ...]:
        """All labels that a link can have."""
        return self.model.label_names

    @property
    def source(self) -> str:
        """The parts of speech that the model uses: "tag", "pos" or "pos+tag"."""
        return self.model.parts.rules.source

    @property
    def needs_guide(self) -> bool:
        """Whether the model needs a guide as input: the dependencies of a constituent tree."""
        return self.model.parts.rules.guide != "none"

    @property
    def needs_lemmas(self) -> bool:
        """Whether the model needs lemmas."""
        return self.model.parts.rules.stem == "lemma"

    def describe(self) -> dict[str, Any]:
        """Return sizes of the model and the current settings, as plain data."""
        return {
            "stages": f"{len(self._tables)} of {len(self.model.stages)}",
            "features": [len(stage.keys) for stage in self.model.stages],
            "label weights": 0 if self.model.labels is None else len(self.model.labels.weights),
            "labels": len(self.model.label_names),
            "words": len(self.model.parts.words),
            "tags": f"{len(self.model.parts.tags)} of {self.source}",
            "decoder": "projective" if self._projective else "spanning",
            "max_tokens": self.settings.max_tokens,
        }

    @property
    def vocabulary(self) -> tuple[Sequence[str], Sequence[str]]:
        return self.model.parts.words.strings[3:], self.model.parts.tags.strings[3:]

    def golden_outputs(self, words: list[str], tags: list[str]) -> GoldenParse:
        found = self.parse(self.columns_of(words, tags))
        labels = [self.labels.index(label) for label in found.labels]
        return {"score": found.score, "heads": list(found.heads), "labels": labels}

    def columns_of(self, words: Sequence[str], tags: Sequence[str]) -> TokenColumns:
        """Return a test sentence of words with `tags` as stored in the model. Its guide is a binary-branching tree."""
        rules, guide = self.model.parts.rules, self.model.parts.guide_labels.strings or ("",)
        pairs = [tag.partition("|")[::2] if rules.source == "pos+tag" else (tag, tag) for tag in tags]
        positions = range(len(words))
        return TokenColumns(
            words,
            [rules.whole_tag(fine) for _, fine in pairs],
            [coarse for coarse, _ in pairs],
            [word.lower() for word in words],
            [(k + 1) // 2 - 1 for k in positions],
            [guide[k % len(guide)] for k in positions],
        )

    def parse(self, sentence: TokenColumns) -> DependencyResult:
        """Return the best tree of one sentence."""
        n = self._check(sentence)
        max_tokens = self.settings.max_tokens
        if n > max_tokens:
            pieces = list(iter_pieces(sentence.tags or sentence.pos, max_tokens))
            return self.join_pieces(n, pieces, [self.parse(slice_tokens(sentence, *one)) for one in pieces])
        atoms = self.model.parts.encode(sentence)
        return self._result(atoms, *best_dependency_tree(self._scores(atoms, sentence), self._projective))

    def parse_k_best(self, sentence: TokenColumns, k: int) -> list[DependencyResult]:
        """Return the `k` best distinct trees, best first; fewer if there are no more. If stages have a guide, it is the
        best tree of the stage before. Raises ConfigError for k below 1, DtparseError above `max_tokens`."""
        n = self._check(sentence)
        if k < 1:
            raise ConfigError(f"k is {k}; it must be 1 or more")
        if n > self.settings.max_tokens:
            raise DtparseError(
                f"{n} tokens are more than max_tokens ({self.settings.max_tokens}); split the sentence, or raise "
                "max_tokens"
            )
        atoms = self.model.parts.encode(sentence)
        found = best_trees(self._scores(atoms, sentence), self._projective, k)
        return [self._result(atoms, heads, score) for heads, score in found]

    def link_scores(self, sentence: TokenColumns) -> np.ndarray:
        """Return the last stage's scores[h, d] of links, float64 (n + 1, n + 1), indices from 1, 0 for the root;
        UNLIKELY for links that it did not score."""
        self._check(sentence)
        return self._scores(self.model.parts.encode(sentence), sentence)

    def _check(self, sentence: TokenColumns) -> int:
        n = len(sentence.words)
        if not n:
            raise DtparseError("an empty sentence has no tree; give at least one word")
        wanted: tuple[str, ...] = {"tag": ("tags",), "pos": ("pos",), "pos+tag": ("tags", "pos")}[self.source]
        wanted += ("lemmas",) if self.needs_lemmas else ()
        if self.needs_guide:
            wanted += ("guide_heads", "guide_labels")
        for name, column in zip(TokenColumns._fields, sentence, strict=True):
            if len(column) != n and name in wanted:
                raise DtparseError(f"{n} words but {len(column)} {name}; the model reads them: give one per word")
            if len(column) not in (0, n):
                raise DtparseError(f"{n} words but {len(column)} {name}; give one per word, or none at all")
        if self.needs_guide and not _leads_to_roots(sentence.guide_heads):
            raise DtparseError("the guide's heads are no trees: they leave the sentence or go round in a circle")
        return n

    def _scores(self, atoms: np.ndarray, sentence: TokenColumns) -> np.ndarray:
        n = len(atoms) - 3
        guide = make_guide(*self.model.parts.encode_guide(sentence))
        scores = np.zeros((n + 1, n + 1))
        allowed = ALL_LINKS
        for stage, (rows, weights) in enumerate(self._tables):
            if stage:
                allowed = select_heads(scores, self.settings.heads)
                heads, _ = best_dependency_tree(scores, self._projective)
                labels = None if self._labeller is None else label_atoms(self._labeller.label(atoms, heads))
                guide = make_guide(heads, labels)
            score_links(atoms, guide, rows, weights, allowed, scores)
        return scores

    def _result(self, atoms: np.ndarray, heads: np.ndarray, score: float) -> DependencyResult:
        """Return the result for these heads, with labels."""
        labels = () if self._labeller is None else self._labeller.label(atoms, heads)[1:].tolist()
        names = self.model.label_names
        return DependencyResult(tuple((heads[1:] - 1).tolist()), tuple(names[label] for label in labels), score)

    def join_pieces(self, n: int, pieces: Sequence[PieceSpan], found: Sequence[DependencyResult]) -> DependencyResult:
        """Join the trees of pieces, in order, to one tree of n tokens. The root of each piece but the first depends on
        the root of the piece before, with the label parataxis if the model has it, else the model's last label. Every
        token after the last piece depends on the root of that piece, with the label dep if the model has it, else the
        last. Without a piece all tokens depend on the first token."""
        names, end = self.model.label_names, pieces[len(found) - 1][1] if found else 0
        heads: list[int] = []
        labels: list[str] = []
        before = -1
        for (start, _), one in zip(pieces, found, strict=False):
            root = one.heads.index(-1)
            heads += [before if head < 0 else head + start for head in one.heads]
            labels += one.labels
            if before >= 0 and one.labels:
                labels[start + root] = "parataxis" if "parataxis" in names else names[-1]
            before = start + root
        if not found:
            heads, before, end = [-1], 0, 1
            labels += names[:1]  # the root's
        heads += [before] * (n - end)
        labels += ["dep" if "dep" in names else names[-1]] * (n - end) if names else []
        return DependencyResult(tuple(heads), tuple(labels), sum((one.score for one in found), 0.0), "pieces")


def slice_tokens(sentence: TokenColumns, start: int, end: int) -> TokenColumns:
    """Return tokens [start, end); tokens whose head in the guide is outside become roots."""
    columns = TokenColumns(*(column[start:end] for column in sentence))  # type: ignore[arg-type]
    heads = tuple(head - start if start <= head < end else -1 for head in columns.guide_heads)
    return columns._replace(guide_heads=heads)


def _leads_to_roots(heads: Sequence[int]) -> bool:
    """Return whether every path of heads ends at -1."""
    above = np.array([0, *(head + 1 for head in heads)])
    if not ((above >= 0) & (above < len(above))).all():
        return False
    for _ in range(len(above).bit_length()):
        above = above[above]  # twice as far up, or the end
    return not above.any()


def best_dependency_tree(scores: np.ndarray, projective: bool = True) -> tuple[np.ndarray, float]:
    """Return (heads int32 (n + 1,) with heads[0] = -1, sum of scores) of the best tree; see `kernels.spanning`.

    Raises DtparseError if forbidden links leave no tree.
    """
    heads = np.full(len(scores), -1, INDEX)
    if not (projective_tree if projective else spanning_tree)(scores, heads):
        raise DtparseError("no tree is left: every one has a forbidden link (score -inf)")
    return heads, tree_score(scores, heads)[0]


def best_trees(scores: np.ndarray, projective: bool, k: int) -> list[tuple[np.ndarray, float]]:
    """Return the `k` best distinct trees in the format of `best_dependency_tree`, best first; fewer if there are no
    more.

    It branches (Lawler 1972; Murty 1968): any other tree first differs from the best tree at some token, so each token
    defines a subset of the remaining trees, whose best tree is found in the same way. Each of the k trees takes n times
    as long as a single tree. Ties are ordered by the decoder.
    """
    found: list[tuple[np.ndarray, float]] = []
    queue: list[tuple] = []
    decode = projective_tree if projective else spanning_tree

    def push(allowed: np.ndarray, fixed: int) -> None:
        """Queue the best tree within `allowed`, bool in the shape of the scores; heads of tokens up to `fixed` are
        fixed."""
        heads = np.full(len(scores), -1, INDEX)
        if decode(np.where(allowed, scores, -np.inf), heads):
            score, tie = tree_score(scores, heads)
            heapq.heappush(queue, (-score, -tie, len(queue), heads, allowed, fixed))

    push(np.isfinite(scores), 0)
    while queue and len(found) < k:
        score, _, _, heads, allowed, fixed = heapq.heappop(queue)
        found.append((heads, -score))
        if len(found) == k:
            break
        remaining = allowed.copy()
        for token in range(fixed + 1, len(scores)):
            other = remaining.copy()
            other[heads[token], token] = False
            push(other, token - 1)
            remaining[:, token] = False
            remaining[heads[token], token] = True
    return found


class Labeller:
    """Labels links with a LabelStage of `n_labels` labels; label 0 is only for the root."""

    def __init__(self, stage: LabelStage, n_labels: int):
        self._table, self._n_labels = stage.table(), n_labels

    def label(self, atoms: np.ndarray, heads: np.ndarray) -> np.ndarray:
        """Return the label id of each link, int32 (n + 1,) from index 1, for heads in the format of the decoders."""
        found = np.zeros(len(heads), INDEX)
        label_links(atoms, make_guide(heads), self._table, self._n_labels, 0, found)
        return found
