"""`annotate --review`: check a treebank that exists, most suspicious trees first."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from spacy.language import Language

from ..checks import short_repr
from ..errors import EditError
from ..files import write_atomically
from ..pipeline.embedded import load_embedded
from ..trees.tree import Tree
from ..web.server import PageServer, bind_server, run_server
from .answers import AnnotationAnswers
from .corrector import Corrector
from .server import AnnotationHandler
from .session import PARTS, Sentence, Session
from .suspicions import Suspicion, review_trees


class ReviewSession(Session):
    """A session over the trees of a treebank: the next sentence is the one with the most suspicious place.
    There is no dev part.

    `complete_path` has all trees: those that were accepted as they are now, the others as they were given. Arguments
    and errors: see `Session`.
    """

    def __init__(self, trees: Sequence[Tree], out: str | Path, suspicions: Sequence[Suspicion], annotator: str = ""):
        self.given = tuple(trees)
        order = dict.fromkeys((*(one.sentence for one in suspicions), *range(len(trees))))
        super().__init__(
            [tree.words for tree in trees], out, self.given.__getitem__, None, annotator, "given", 0.0, ranking=[*order]
        )

    @property
    def complete_path(self) -> Path:
        """The file of all trees."""
        return self.out.with_name(f"{self.out.stem}.complete{self.out.suffix}")

    def _write_trees(self) -> None:
        super()._write_trees()
        trees = self.trees(PARTS[0])
        write_atomically(self.complete_path, "".join(f"{trees.get(i) or self._tree_of(i)}\n" for i in self.reading))

    def _tree_of(self, index: int) -> Tree:
        """Return the tree of a sentence that is not accepted: as given, unless it was split or joined."""
        is_given = index < len(self.given) and (
            index not in self.sentences or self.sentences[index].words == self.given[index].words
        )
        return self.given[index] if is_given else self.sentences[index].tree


class ReviewAnswers(AnnotationAnswers):
    """Answers about a review: each state has the `suspicions` about the tree, and the action `repair` carries out the
    better alternative of the first one, or of that with the number `suspicion`."""

    session: ReviewSession

    def __init__(
        self, corrector: Corrector, session: ReviewSession, suspicions: Sequence[Suspicion], tags: Sequence[str] = ()
    ):
        super().__init__(corrector, session, tags)
        self._suspicions: dict[int, list[Suspicion]] = {}
        for one in suspicions:
            self._suspicions.setdefault(one.sentence, []).append(one)
        self._actions["repair"] = self._repair

    def suspicions_of(self, index: int) -> list[Suspicion]:
        """Return the suspicions about the present tree of a sentence, most suspicious first."""
        sentence = self.session.sentences[index]
        if (
            index >= len(self.session.given) or sentence.words != self.session.given[index].words
        ):  # other tokens: the numbers no longer fit
            return []
        return [one for one in self._suspicions.get(index, ()) if one.holds(sentence.tree)]

    def _repair(self, index: int, sentence: Sentence, request: Mapping[str, Any]) -> None:
        found = self.suspicions_of(index)
        number = request.get("suspicion", 0)
        if not isinstance(number, int) or not 0 <= number < len(found):
            raise EditError(f"there is no suspicious place {short_repr(number)} in this tree; there are {len(found)}")
        one = found[number]
        if one.kind == "tag":
            tags = (*sentence.tags[: one.start], one.better, *sentence.tags[one.end :])
            changed = replace(
                sentence, tags=tags, fixed=tuple(sorted({*sentence.fixed, one.start})),
                tree=Tree(sentence.words, tags, sentence.tree.labels, sentence.tree.starts, sentence.tree.ends),
            )  # fmt: skip
            self.session.change(index, "repair", replace(changed, accepted=False))
            return
        self._step(index, "repair", sentence, one.edit(sentence.tree))

    def _state(self, index: int | None, request: Mapping[str, Any]) -> dict[str, Any]:
        state = super()._state(index, request)
        if index is not None:
            words = self.session.sentences[index].words
            state["suspicions"] = [
                {
                    "start": one.start, "end": one.end, "kind": one.kind, "label": one.given or one.better,
                    "better": one.better, "score": round(one.score, 1), "text": one.text(words),
                }
                for one in self.suspicions_of(index)
            ]  # fmt: skip
        return state


class ReviewHandler(AnnotationHandler):
    """The annotation page with a script for suspicious places."""

    SCRIPT = "review.js"


def make_review_server(
    trees: Sequence[Tree], out: str | Path, nlp: Language | None = None, *,
    ranking: Sequence[Suspicion] | None = None, labels: Sequence[str] = (), annotator: str = "", port: int = 5000,
    host: str = "localhost",
) -> PageServer:  # fmt: skip
    """Create a server that is bound to its port and not running yet; see `review_treebank`."""
    corrector = Corrector(load_embedded() if nlp is None else nlp)
    known = {label for tree in trees for label in tree.labels[1:]} - set(corrector.labels)
    corrector = Corrector(corrector.nlp, (*labels, *sorted(known)))
    found = review_trees(corrector.parser, corrector.tag, trees) if ranking is None else list(ranking)
    session = ReviewSession(trees, out, found, annotator)
    tags = sorted({tag for tree in trees for tag in tree.tags})
    return bind_server(ReviewAnswers(corrector, session, found, tags), ReviewHandler, port, host)


def review_treebank(trees: Sequence[Tree], out: str | Path, nlp: Language | None = None, **options: Any) -> None:
    """Serve a web page for checking trees, most suspicious first, until Ctrl-C.

    Accepted trees are written at once to the bracketed file `out`, and all trees, those that are not accepted as they
    were given, to `complete_path` (`trees.complete.mrg` for `trees.mrg`). `nlp`: a pipeline whose parser has
    probabilities of constituents and supports constraints (default: that of `load()`).

    Options: `ranking`: suspicions that `python -m training review` found (default: those of the pipeline, which must
    not be trained on these trees); `labels`, `annotator`, `port`, `host`: see `annotate`. Raises ConfigError as
    `annotate`, and for a parser without probabilities.
    """
    server = make_review_server(trees, out, nlp, **options)
    run_server(server, options.get("host", "localhost"))
