"""Answers to the annotation page's requests: one step each, then the state of the current sentence as plain data."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from threading import Lock
from typing import Any

from ..checks import short_repr
from ..core.constraints import Constraint, Constraints
from ..errors import ConfigError, DtparseError, EditError
from ..text import check_text
from ..trees.label_names import describe_label
from ..trees.labels import EMPTY_TAG
from ..trees.tree import Tree
from ..viz import draw
from ..web.answers import tree_changes
from ..web.turns import Turns
from .alternatives import K_BEST, choose_useful, pointed_alternatives
from .corrector import Corrector
from .edits import (
    add_constraints,
    insert_constituent,
    is_crossing,
    lower_extent,
    move_extent,
    raise_extent,
    relabel_constituent,
    remove_constituent,
    tree_difference,
)
from .page_state import differing_part, find_removed, sentence_state, texts_around
from .request_values import constituent, extent, integer, space, string, theme
from .scheme import MAX_LABEL, Scheme, is_writable, letter_keys
from .sentence import Sentence
from .session import Session

_LOOK_UPS = ("alternatives", "label")
"""Actions that change nothing: steps are carried out before them, and they end when the client leaves."""


class AnnotationAnswers:
    """The answers of one session, from any thread. `parse` is the name that the server calls."""

    def __init__(self, corrector: Corrector, session: Session, tags: Sequence[str] = (), scheme: Scheme | None = None):
        self.corrector, self.session, self.scheme = corrector, session, scheme
        self.labels = corrector.labels if scheme is None else scheme.labels
        usual_tags = scheme.tags if scheme is not None and scheme.tags else corrector.parser.known_tags
        self.tags = tuple(sorted({*tags, *usual_tags}))
        self._turns, self._lock = Turns(), Lock()
        self._picks: list[Tree] = []
        self._actions: dict[str, Callable[[int, Sentence, Mapping[str, Any]], None]] = {
            "insert": self._insert, "remove": self._remove, "relabel": self._relabel, "move": self._move,
            "raise": self._raise, "lower": self._lower, "pick": self._pick, "tag": self._tag, "split": self._split,
            "join": self._join, "keep": self._keep, "reset": self._reset, "split sentence": self._split_sentence,
            "join sentences": self._join_sentences,
        }  # fmt: skip

    def about(self) -> dict[str, Any]:
        """Data that the page needs once."""
        meta, names = self.corrector.nlp.meta, {} if self.scheme is None else self.scheme.descriptions
        return {
            "pipeline": f"{meta['lang']}_{meta['name']}",
            "labels": sorted(self.labels),
            "functions": () if self.scheme is None else self.scheme.functions,
            "keys": letter_keys(self.labels, {} if self.scheme is None else self.scheme.keys),
            "tags": self.tags,
            "label_names": {label: names.get(label) or describe_label(label) or "" for label in self.labels},
            "out": self.session.out.name,
            "annotator": self.session.annotator,
        }

    def explain_constituent(self, request: Mapping[str, Any], *_: Any) -> dict[str, Any]:
        """Refuse: this page explains nothing."""
        raise ConfigError("the annotation page has no explanations; use `dtparse serve`")

    def parse(self, request: Mapping[str, Any], check: Callable[[], None] = lambda: None) -> dict[str, Any]:
        """Carry out `request["action"]` and return the state of the current sentence.

        `check`: raises if the client has left; then a request that waits is not carried out, and the search for
        alternatives ends. Raises DtparseError, and changes nothing, for an action that is not possible, and
        OverloadedError if too many requests wait.
        """
        action = request.get("action")
        if not isinstance(action, str):
            raise ConfigError(f"the action is {short_repr(action)}; it must be a string")
        with self._turns.take(action in _LOOK_UPS, check) as check_now, self._lock:
            if action in ("next", "show") and (action == "next" or self.session.current is None):
                return self._state(self.session.next_sentence(), request)
            if action == "undo":
                self.session.undo()
            elif action == "redo":
                self.session.redo()
            elif action == "open":
                position = integer(request, "position")
                if not 0 <= position < len(self.session.reading):
                    raise ConfigError(f"there is no sentence {position + 1}; there are {len(self.session.reading)}")
                self.session.open_sentence(self.session.reading[position])
            index = self.session.current
            if index is None:
                raise ConfigError("no sentence is open; go to the next one first")
            if request.get("sentence", index) != index:
                raise ConfigError("another window is at another sentence; reload the page")
            sentence = self.session.sentences[index]
            if action == "accept":
                self._check_labels(sentence.tree)
                self.session.accept(index)
                return self._state(self.session.next_sentence(), request)
            if action == "flag":
                self.session.flag(index)
                return self._state(self.session.next_sentence(), request)
            if action == "alternatives":
                return self._alternatives(sentence, request, check_now)
            if action == "label":
                start, end = extent(request, len(sentence.words))
                label = self.corrector.best_label(sentence.words, sentence.tags, sentence.constraints, start, end)
                return {"label": label}
            if action in self._actions:
                self._actions[action](index, sentence, request)
                if self.session.sentences[index].accepted:
                    return self._state(self.session.next_sentence(), request)
            elif action not in ("show", "open", "undo", "redo"):
                raise ConfigError(f"there is no action {action[:40]!r}; allowed are {', '.join(self._actions)}")
            return self._state(index, request)

    # ---- steps ----

    def _step(self, index: int, kind: str, sentence: Sentence, edit: Sequence[Constraint]) -> None:
        """Parse again with an edit added to the constraints, and record the step."""
        constraints = add_constraints(sentence.constraints or self._differences(index, edit), edit, sentence.words)
        tree = self.corrector.correct(sentence.tree, sentence.tags, constraints)
        self.session.change(index, kind, replace(sentence, tree=tree, constraints=constraints, accepted=False))

    def _differences(self, index: int, edit: Sequence[Constraint]) -> Constraints:
        """Return the differences of a tree without statements (given, or edited by hand) from the parser's tree
        as constraints, without those that cross an edit."""
        old = self.session.first_state(index)
        difference = tree_difference(self.corrector.parse(old.words, old.tags)[0], old.tree)
        return Constraints(one for one in difference if not any(is_crossing(one, new) for new in edit))

    def _insert(self, index: int, sentence: Sentence, request: Mapping[str, Any]) -> None:
        start, end = extent(request, len(sentence.words))
        label = self._label(request, empty=True)
        edit = [Constraint(start, end, label)]
        if request.get("above") and label:
            edit = insert_constituent(sentence.tree, start, end, label)
        self._step(index, "insert", sentence, edit)

    def _label(self, request: Mapping[str, Any], empty: bool = False) -> str:
        label = string(request, "label")
        check_text(label)
        if label in self.labels or (empty and not label) or (self.scheme is not None and self.scheme.allows(label)):
            return label
        functions = f"; after '-': {', '.join(self.scheme.functions)}" if self.scheme and self.scheme.functions else ""
        raise ConfigError(
            f"{label[:MAX_LABEL]!r} is no label of this annotation; its labels are {', '.join(sorted(self.labels))}"
            f"{functions}. Others can be given with --labels"
        )

    def _check_labels(self, tree: Tree) -> None:
        """Raise ConfigError for a tree with a label that the scheme does not have."""
        unknown = [] if self.scheme is None else self.scheme.unknown_labels(tree)
        if unknown:
            span = next(span for span in tree.spans() if span[2] == unknown[0])
            raise ConfigError(
                f"{unknown[0]} ({' '.join(tree.words[span[0] : span[1]])!r}) is no label of the scheme "
                f"{self.scheme.name if self.scheme else ''}; give it another one"
            )

    def _remove(self, index: int, sentence: Sentence, request: Mapping[str, Any]) -> None:
        self._step(index, "remove", sentence, remove_constituent(sentence.tree, integer(request, "constituent")))

    def _relabel(self, index: int, sentence: Sentence, request: Mapping[str, Any]) -> None:
        label = self._label(request)
        edit = relabel_constituent(sentence.tree, integer(request, "constituent"), label)
        self._step(index, "relabel", sentence, edit)

    def _move(self, index: int, sentence: Sentence, request: Mapping[str, Any]) -> None:
        start, end = extent(request, len(sentence.words))
        target = constituent(request, "target", sentence.tree)
        self._step(index, "move", sentence, move_extent(sentence.tree, start, end, target)[1])

    def _raise(self, index: int, sentence: Sentence, request: Mapping[str, Any]) -> None:
        self._step(index, "raise", sentence, raise_extent(sentence.tree, *extent(request, len(sentence.words))))

    def _lower(self, index: int, sentence: Sentence, request: Mapping[str, Any]) -> None:
        self._step(index, "lower", sentence, lower_extent(sentence.tree, *extent(request, len(sentence.words))))

    def _pick(self, index: int, sentence: Sentence, request: Mapping[str, Any]) -> None:
        number = integer(request, "number")
        if not 1 <= number <= len(self._picks) or self._picks[0].words != sentence.words:
            raise ConfigError(f"there is no alternative {number}; {len(self._picks)} are shown")
        picked = self._picks[number - 1]
        edit = tree_difference(sentence.tree, picked)
        constraints = add_constraints(sentence.constraints or self._differences(index, edit), edit, sentence.words)
        tree = Tree(sentence.words, sentence.tags, picked.labels, picked.starts, picked.ends)  # as it was drawn
        changed = replace(sentence, tree=tree, constraints=constraints, accepted=False)
        self.session.change(index, "pick", changed)

    def _tag(self, index: int, sentence: Sentence, request: Mapping[str, Any]) -> None:
        token, tag = integer(request, "token"), string(request, "tag")
        if not 0 <= token < len(sentence.tags):
            raise ConfigError(f"there is no token {token + 1}; there are {len(sentence.tags)}")
        check_text(tag)
        if not is_writable(tag):
            raise ConfigError(
                f"the tag is {tag[:MAX_LABEL]!r}; give a tag without blanks and brackets, not {EMPTY_TAG}"
            )
        tags = (*sentence.tags[:token], tag, *sentence.tags[token + 1 :])
        fixed = tuple(sorted({*sentence.fixed, token}))
        self._step(index, "tag", replace(sentence, tags=tags, fixed=fixed), ())

    def _split(self, index: int, sentence: Sentence, request: Mapping[str, Any]) -> None:
        token, at = integer(request, "token"), integer(request, "at")
        word = sentence.words[token] if 0 <= token < len(sentence.words) else ""
        if not 0 < at < len(word):
            raise ConfigError(f"{word!r} cannot be split before character {at + 1}")
        words = (*sentence.words[:token], word[:at], word[at:], *sentence.words[token + 1 :])
        self._retokenize(index, "split", sentence, words, lambda edge: edge + (edge > token))

    def _join(self, index: int, sentence: Sentence, request: Mapping[str, Any]) -> None:
        token = integer(request, "token")
        if not 0 <= token < len(sentence.words) - 1:
            raise ConfigError("there is no next token to join it with")
        joined = sentence.words[token] + sentence.words[token + 1]
        words = (*sentence.words[:token], joined, *sentence.words[token + 2 :])
        edge = token + 1
        self._retokenize(index, "join", sentence, words, lambda i: None if i == edge else i - (i > edge))

    def _retokenize(
        self, index: int, kind: str, sentence: Sentence, words: tuple[str, ...], moved: Callable[[int], int | None]
    ) -> None:
        """Record a sentence with other tokens. `moved`: the new index of an edge between tokens, None if it is gone;
        constraints with this edge are dropped."""
        fitting = []
        for one in sentence.constraints or self._differences(index, ()):
            start, end = moved(one.start), moved(one.end)
            if start is not None and end is not None:
                fitting.append(one._replace(start=start, end=end))
        tags, fixed = list(self.corrector.tag(words)), []
        for token in sentence.fixed:
            start, end = moved(token), moved(token + 1)
            if start is not None and end == start + 1:
                tags[start] = sentence.tags[token]
                fixed.append(start)
        self.session.change(index, kind, self._new_sentence(words, tags, fixed, fitting))

    def _new_sentence(
        self, words: Sequence[str], tags: Sequence[str], fixed: Sequence[int], constraints: Iterable[Constraint]
    ) -> Sentence:
        """Return the state of a sentence with new words."""
        words, tags, constraints = tuple(words), tuple(tags), Constraints(constraints)
        tree = self.corrector.parse(words, tags, constraints)[0]
        return Sentence(words, tags, tree, tree, tuple(fixed), constraints)

    def _split_sentence(self, index: int, sentence: Sentence, request: Mapping[str, Any]) -> None:
        """End the sentence before a token. Tags stay, and so do statements about constituents that are in one half."""
        token, n = integer(request, "token"), len(sentence.words)
        if not 0 < token < n:
            raise ConfigError(f"a sentence of {n} tokens cannot be split before token {token + 1}")
        stated = sentence.constraints or self._differences(index, ())
        halves = [
            self._new_sentence(
                sentence.words[start:end],
                sentence.tags[start:end],
                [i - start for i in sentence.fixed if start <= i < end],
                [
                    one._replace(start=one.start - start, end=one.end - start)
                    for one in stated
                    if start <= one.start
                    and one.end <= end
                    and (one[:2] != (start, end) or (one.required and not one.exact))
                ],
            )
            for start, end in ((0, token), (token, n))
        ]
        added = self.session.split_sentence(index, *halves)
        self.session.note = f"The rest is sentence {self.session.reading.index(added) + 1}."

    def _join_sentences(self, index: int, sentence: Sentence, request: Mapping[str, Any]) -> None:
        """Join a sentence with the next one. Tags stay, and so do statements, but not those about all of a sentence."""
        other_index = self.session.next_in_reading(index)
        other = self.session.first_state(other_index)
        stated: list[Constraint] = []
        for one, at, shift in ((sentence, index, 0), (other, other_index, len(sentence.words))):
            constraints = one.constraints or self._differences(at, ())
            inner = (each for each in constraints if each[:2] != (0, len(one.words)))
            stated += [each._replace(start=each.start + shift, end=each.end + shift) for each in inner]
        fixed = [*sentence.fixed, *(i + len(sentence.words) for i in other.fixed)]
        joined = self._new_sentence((*sentence.words, *other.words), (*sentence.tags, *other.tags), fixed, stated)
        self.session.join_sentences(index, joined)

    def _keep(self, index: int, sentence: Sentence, request: Mapping[str, Any]) -> None:
        """Take back what the machine changed besides the last statement."""
        before = self._before(index)
        if before is None:
            raise EditError("there is nothing to take back in this sentence")
        constraints = sentence.constraints
        step = self.session.last_step
        removed = find_removed(before, sentence, step.kind if step is not None else "")
        excluded = {(one.start, one.end) for one in constraints} | {span[:2] for span in removed}
        for one in tree_difference(sentence.tree, before.tree):
            if (one.start, one.end) not in excluded:
                try:
                    constraints = add_constraints(constraints, [one], sentence.words)
                except DtparseError:  # it crosses what was stated, so it had to change
                    continue
        tree = self.corrector.correct(sentence.tree, sentence.tags, constraints)
        self.session.change(index, "keep", replace(sentence, tree=tree, constraints=constraints, accepted=False))

    def _reset(self, index: int, sentence: Sentence, request: Mapping[str, Any]) -> None:
        """Drop all statements of a sentence."""
        tree = self.corrector.parse(sentence.words, sentence.tags)[0]
        self.session.change(index, "reset", replace(sentence, tree=tree, constraints=Constraints(), accepted=False))

    # ---- data for the page ----

    def _before(self, index: int) -> Sentence | None:
        """Return the state of a sentence before its last step, if that was the session's last one."""
        step = self.session.last_step
        if step is None or step.sentence != index or step.before.words != step.after.words:
            return None
        return step.before

    def _alternatives(
        self, sentence: Sentence, request: Mapping[str, Any], check: Callable[[], None]
    ) -> dict[str, Any]:
        """List the trees to pick from: for the whole sentence, within a constituent, or with words as a constituent."""
        words, tree, stated = sentence.words, sentence.tree, sentence.constraints

        def parse(constraints: Constraints, k: int) -> list[Tree]:
            check()
            return self.corrector.parse(words, sentence.tags, constraints, k)

        def other_trees() -> Iterator[Tree]:  # parses only if they are needed
            yield from (one for one in parse(stated, K_BEST) if one != tree)

        others = other_trees()
        if request.get("constituent") is not None:
            span = tree.spans()[constituent(request, "constituent", tree)]
            self._picks = pointed_alternatives(parse, tree, others, stated, span[:2])
        elif request.get("start") is not None:
            self._picks = pointed_alternatives(parse, tree, others, stated, extent(request, len(words)))
        else:
            self._picks = choose_useful(tree, list(others))
        check()
        options = {"theme": theme(request), "layout": "down"}
        return {
            "picks": [
                {
                    "drawing": str(draw([differing_part(sentence.tree, one)], options=options)),
                    "changes": tree_changes(sentence.tree, one),
                }
                for one in self._picks
            ]
        }

    def _state(self, index: int | None, request: Mapping[str, Any]) -> dict[str, Any]:
        session = self.session
        common = {"sentence": index, "figures": session.figures(), "note": session.note}
        session.note = ""
        if index is None:
            return common
        before, kind = self._before(index), "" if session.last_step is None else session.last_step.kind
        current = session.sentences[index]
        state = sentence_state(current, before, kind, self.corrector, theme(request), space(request))
        place = {"position": session.reading.index(index), "part": session.parts[index]}
        return {**common, **state, **place, "around": texts_around(session, index)}
