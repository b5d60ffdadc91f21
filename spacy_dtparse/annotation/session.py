"""An annotation session: sentences, the history of all steps, files that are never incomplete.

The journal comes first: each step is on the disk before it counts, and a session is rebuilt from it. The trees' files
contain the accepted trees, in the order of the sentences; they are replaced at once whenever that changes.
"""

import random
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..checks import fraction, one_of
from ..errors import ConfigError, DtparseError
from ..files import write_atomically
from ..trees import parse_trees
from ..trees.tree import TOP, Tree
from .figures import session_figures
from .journal import JOURNAL_SUFFIX, Journal, check_step, digest
from .sentence import JOIN, NO_CONSTRAINTS, SPLIT, Neighbour, Sentence, Step

ORDERS = ("expected-errors", "given")
PARTS = ("train", "dev")
_POOL = 500
"""Maximum number of sentences that are compared to choose the next one."""
_PAUSE = 300.0
"""A longer time between two steps, in seconds, counts as a pause of this length."""


class Session:
    """Sentences to annotate, and everything that was done to them. Not thread-safe: the caller locks.

    `inputs`: the words of each sentence. `out`: the file of trees (those of the dev part are in `dev_path`, the journal
    in `OUT.journal.jsonl`); an existing journal is continued. `guess`: returns the first tree of a sentence, given its
    index. `estimate`: expected errors per token of a sentence, or None. `order`, `dev_fraction`, `seed`: the next
    sentence; see `next_sentence`. `ranking`: the order of the sentences if it is not that of the inputs. `root`: the
    root label in the files. Raises ConfigError for other inputs than those of the journal, and for a file of trees that
    was edited by hand and cannot be understood.
    """

    def __init__(
        self, inputs: Sequence[Sequence[str]], out: str | Path, guess: Callable[[int], Tree],
        estimate: Callable[[int], float | None] | None = None, annotator: str = "", order: str = "expected-errors",
        dev_fraction: float = 0.2, seed: int = 0, ranking: Sequence[int] | None = None, root: str = TOP,
    ):  # fmt: skip
        if not inputs:
            raise ConfigError("there are no sentences to annotate; give a text, tokens or trees")
        for name, value, allowed in (("order", order, one_of(*ORDERS)), ("dev_fraction", dev_fraction, fraction())):
            if not allowed.fits(value):
                raise ConfigError(f"{name} is {value!r}; it must be {allowed.allowed}")
        self.inputs = [tuple(words) for words in inputs]
        self.out, self.annotator, self.order = Path(out), annotator, order
        self.dev_fraction, self.seed = dev_fraction, seed
        self._guess, self._estimate = guess, estimate
        self._ranks = {index: rank for rank, index in enumerate(ranking or range(len(inputs)))}
        self._root = root
        self._estimates: dict[int, float] = {}
        self.reading = list(range(len(inputs)))
        """The sentences in order, by index; later ones come from sentences that were split."""
        self.sentences: dict[int, Sentence] = {}
        """The sentences that were opened, by index."""
        self.parts: dict[int, str] = {}
        """The part, "train" or "dev", of each sentence that was opened."""
        self.current: int | None = None
        self._steps: list[Step] = []
        self._done = 0  # number of steps that are not undone
        self._seconds: dict[int, float] = {}
        self._last = (0.0, -1)
        self._digests: dict[str, str] = {}
        self._written: dict[str, list[int]] = {}  # the sentences in each file
        self.journal = Journal(self.out.with_name(self.out.name + JOURNAL_SUFFIX))
        self.note = ""
        """A message about edits by hand that were found; "" if there were none."""
        try:
            self._continue()
        except BaseException:
            self.close()
            raise

    def _continue(self) -> None:
        """Carry out the steps of the journal, and take over what was changed by hand meanwhile."""
        key = digest("\n".join(" ".join(words) for words in self.inputs))
        for number, event in enumerate(self.journal.events, 1):
            with self.journal.reading(number):
                check_step(event, max(len(self.inputs) - 1, *self.parts, -1) + 1, self._done, len(self._steps))
                self._apply(event, key)
        self._record({"event": "session", "inputs": key, "sentences": len(self.inputs), "seed": self.seed})
        self.note = self.import_edits()
        self._write_trees()

    @property
    def dev_path(self) -> Path:
        """The file of the dev part's trees."""
        return self.out.with_name(f"{self.out.stem}.dev{self.out.suffix}")

    @property
    def last_step(self) -> Step | None:
        """The last step that is not undone; None if there is none."""
        return self._steps[self._done - 1] if self._done else None

    # ---- the journal ----

    def _record(self, event: dict[str, Any]) -> None:
        event = {**event, "time": round(time.time(), 3), "annotator": self.annotator}
        self.journal.append(event)
        self._apply(event, str(event.get("inputs", "")))

    def _apply(self, event: Mapping[str, Any], key: str) -> None:
        """Change the session as a step of the journal says."""
        kind, index = event["event"], event.get("sentence", -1)
        if kind == "session" and event["inputs"] != key:
            raise ConfigError(
                f"{self.journal.path} is the journal of {event['sentences']} other sentences than the "
                f"{len(self.inputs)} of these files; give the same files in the same order, or another --out"
            )
        if kind == "open":
            self.parts[index] = event["part"]
            self.sentences[index] = Sentence.from_dict(event["state"])
        elif kind == "change":
            del self._steps[self._done :]
            self._steps.append(self._read_step(event))
            self._carry_out(self._steps[-1])
            self._done += 1
        elif kind == "undo":
            self._done -= 1
            self._carry_out(self._steps[self._done], back=True)
        elif kind == "redo":
            self._carry_out(self._steps[self._done])
            self._done += 1
        elif kind == "written":
            self._digests[event["file"]], self._written[event["file"]] = event["digest"], event["sentences"]
        if index >= 0:
            self.current = index
            now = float(event["time"])
            before_time, before_index = self._last
            if before_index == index:
                self._seconds[index] = self._seconds.get(index, 0.0) + min(max(now - before_time, 0.0), _PAUSE)
            self._last = now, index

    def _read_step(self, event: Mapping[str, Any]) -> Step:
        """Return the step of a "change" in the journal."""
        index, added, removed = event["sentence"], event.get("added"), event.get("removed")
        before, after, neighbour = self.sentences[index], Sentence.from_dict(event["state"]), None
        part = self.parts[index]
        if added is not None:
            state = Sentence.from_dict(added["state"])
            neighbour = Neighbour(added["sentence"], None, state, (part, None), (part, part))
        elif removed is not None:
            parts = part, self.parts.get(removed)
            neighbour = Neighbour(removed, self.sentences.get(removed), None, parts, (event["part"], None))
        return Step(index, event["kind"], before, after, neighbour)

    def _carry_out(self, step: Step, back: bool = False) -> None:
        """Change the session by a step, or undo it."""
        self.sentences[step.sentence] = step.before if back else step.after
        other = step.neighbour
        if other is None:
            return
        if (step.kind == SPLIT) == back:
            self.reading.remove(other.index)
        else:
            self.reading.insert(self.reading.index(step.sentence) + 1, other.index)
        self.parts[step.sentence], part = other.parts_before if back else other.parts_after
        state = other.before if back else other.after
        self.sentences.pop(other.index, None)
        self.parts.pop(other.index, None)
        if state is not None and part is not None:
            self.sentences[other.index], self.parts[other.index] = state, part

    # ---- steps ----

    def first_state(self, index: int) -> Sentence:
        """Return the state of a sentence, or if it is not opened, the one that it would have."""
        return self.sentences.get(index) or Sentence.from_tree(self._guess(index))

    def open_sentence(self, index: int, part: str = "train") -> Sentence:
        """Make a sentence the current one; a new one gets its first tree and its part. Returns its state."""
        if index not in self.sentences:
            state = self.first_state(index).to_dict()
            self._record({"event": "open", "sentence": index, "part": part, "state": state})
        elif index != self.current:
            self._record({"event": "show", "sentence": index})
        return self.sentences[index]

    def accept_unopened(self, indices: Iterable[int]) -> None:
        """Accept the first trees of sentences that are not opened yet, for the train part."""
        for index in indices:
            if index in self.reading and index not in self.sentences:
                state = replace(self.first_state(index), accepted=True).to_dict()
                self._record({"event": "open", "sentence": index, "part": "train", "state": state})
        self._write_trees()

    def change(self, index: int, kind: str, state: Sentence) -> None:
        """Record a new state of a sentence. `kind`: the name of the step. A step after an undo ends the redo."""
        self._change(index, kind, state, self.sentences[index].accepted or state.accepted)

    def _change(self, index: int, kind: str, state: Sentence, changes_files: bool, **details: Any) -> None:
        if changes_files:
            self.note = self.import_edits() or self.note
        self._record({"event": "change", "sentence": index, "kind": kind, "state": state.to_dict(), **details})
        if changes_files:
            self._write_trees()

    def split_sentence(self, index: int, first: Sentence, second: Sentence) -> int:
        """Record that a sentence is two; both belong to its part. Returns the index of the second one."""
        added = max(len(self.inputs) - 1, *self.parts) + 1
        details = {"sentence": added, "state": second.to_dict()}
        self._change(index, SPLIT, first, self.sentences[index].accepted, added=details)
        return added

    def next_in_reading(self, index: int) -> int:
        """Return the sentence after another one, in the order of the input. Raises ConfigError after the last one."""
        place = self.reading.index(index) + 1
        if place == len(self.reading):
            raise ConfigError("this is the last sentence; there is none to join it with")
        return self.reading[place]

    def join_sentences(self, index: int, joined: Sentence) -> None:
        """Record that a sentence and the next one are one.

        It belongs to the dev part if one of them does and none is in the train part: trees that a model was trained on,
        or that a model chose, do not come into the dev part.
        """
        removed = self.next_in_reading(index)
        parts = self.parts[index], self.parts.get(removed, "dev")
        accepted = self.sentences[index].accepted or (removed in self.sentences and self.sentences[removed].accepted)
        self._change(index, JOIN, joined, accepted, removed=removed, part=PARTS["train" not in parts])

    def accept(self, index: int) -> None:
        """Accept the tree of a sentence: it is written to the file of trees at once."""
        self.change(index, "accept", replace(self.sentences[index], accepted=True, flagged=False))

    def flag(self, index: int) -> None:
        """Put a sentence off: the order leaves it out, and its tree is in no file."""
        self.change(index, "flag", replace(self.sentences[index], accepted=False, flagged=True))

    def undo(self) -> bool:
        """Undo the last step of the session; returns whether there was one. If edits by hand are found, they become the
        last steps, and nothing is undone."""
        return self._go("undo", self._done - 1, "undone")

    def redo(self) -> bool:
        """Repeat the last undone step; returns whether there was one. If edits by hand are found, there is none."""
        return self._go("redo", self._done, "repeated")

    def _go(self, event: str, number: int, what: str) -> bool:
        """Undo or repeat a step, if there is one of this number."""
        if self._found_edits(what) or not 0 <= number < len(self._steps):
            return False
        self._record({"event": event, "sentence": self._steps[number].sentence})
        if self._steps[number].changes_files:
            self._write_trees()
        return True

    def _found_edits(self, what: str) -> bool:
        """Take over edits by hand; returns whether there were any."""
        note = self.import_edits()
        if note:
            self.note = f"{note} Nothing was {what}."
            self._write_trees()
        return bool(note)

    def next_sentence(self) -> int | None:
        """Open the next sentence and return its index; None if all are accepted or flagged.

        An opened sentence that is neither comes first. Else, of the others, a fraction `dev_fraction` is drawn by
        chance for the dev part, whatever the model says. The rest is the train part: in the order `expected-errors`
        the sentence with most expected errors per token, of at most 500 drawn by chance; in the order `given`, or
        without estimates, the first.
        """
        opened = {index: self.sentences[index] for index in self.reading if index in self.sentences}
        left = [index for index, one in opened.items() if not (one.accepted or one.flagged)]
        if left:
            self.open_sentence(left[0])
            return left[0]
        rest = sorted((index for index in self.reading if index not in opened), key=self._ranks.__getitem__)
        if not rest:
            return None
        chance = random.Random(f"{self.seed} {len(self.sentences)}")
        part = PARTS[chance.random() < self.dev_fraction]
        if self.order == "given":
            index = rest[0]
        elif part == "dev":
            index = chance.choice(rest)
        else:
            pool = rest if len(rest) <= _POOL else sorted(chance.sample(rest, _POOL))
            index = max(pool, key=self._expected_errors)  # the first of equal ones
        self.open_sentence(index, part)
        return index

    def _expected_errors(self, index: int) -> float:
        if index not in self._estimates:
            found = None if self._estimate is None else self._estimate(index)
            self._estimates[index] = 0.0 if found is None else found
        return self._estimates[index]

    def forget_estimates(self) -> None:
        """Compute the expected errors anew, as after a change of the parser."""
        self._estimates.clear()

    # ---- files of trees ----

    def trees(self, part: str) -> dict[int, Tree]:
        """Return the accepted trees of a part, by the index of the sentence, in order."""
        opened = (index for index in self.reading if index in self.sentences and self.parts[index] == part)
        return {index: self.sentences[index].tree for index in opened if self.sentences[index].accepted}

    def _as_text(self, trees: Iterable[Tree]) -> str:
        """Return the text of a file of trees; `root` replaces TOP."""
        return "".join(f"({self._root} {str(tree).removeprefix(f'({TOP} ')}\n" for tree in trees)

    def _write_trees(self) -> None:
        for part, path in zip(PARTS, (self.out, self.dev_path), strict=True):
            trees = self.trees(part)
            text = self._as_text(trees.values())
            is_new = self._digests.get(path.name) != digest(text) or not path.exists()
            if is_new and (text or path.exists()):
                write_atomically(path, text)
                written = {"event": "written", "file": path.name, "digest": digest(text), "sentences": [*trees]}
                self._record(written)

    def import_edits(self) -> str:
        """Take over what was changed by hand in the files of trees; returns a message, "" if nothing was.

        A tree that was deleted is no longer accepted. Raises ConfigError, and changes no file, for trees of other words
        and for text that is no tree.
        """
        notes = []
        for part, path in zip(PARTS, (self.out, self.dev_path), strict=True):
            try:
                text = path.read_text(encoding="utf-8") if path.exists() else ""
            except UnicodeDecodeError as error:
                raise ConfigError(
                    f"{path} was changed by hand and is no longer UTF-8 ({error}); save it as UTF-8, then go on"
                ) from None
            ours = self.trees(part)
            known = {self._digests.get(path.name), digest(self._as_text(ours.values()))}
            if digest(text) in known or (not text and path.name not in self._digests):
                continue
            try:
                edited = list(parse_trees(text))
            except DtparseError as error:
                raise ConfigError(
                    f"{path} was changed by hand and cannot be read: {error}; correct it, then go on"
                ) from error
            notes.append(self._import_trees(edited, ours, part, path))
            self._digests[path.name] = digest(text)
        return " ".join(filter(None, notes))

    def _import_trees(self, edited: Sequence[Tree], ours: Mapping[int, Tree], part: str, path: Path) -> str:
        # a tree that a killed process had no time to write was not deleted by hand
        left, changed = {index: ours[index] for index in self._written.get(path.name, ()) if index in ours}, []
        opened = {index: one.tree for index, one in self.sentences.items() if self.parts[index] == part}
        unmatched: dict[tuple[str, ...], list[int]] = {}  # words -> sentences, the next one last
        for index in [*left, *(index for index in opened if index not in left)][::-1]:
            words = parse_trees(str(opened[index]))[0].words  # as a file has them, with escaped brackets
            unmatched.setdefault(words, []).append(index)
        for number, tree in enumerate(edited, 1):
            same = unmatched[tree.words].pop() if unmatched.get(tree.words) else None
            if same is None:
                raise ConfigError(
                    f"{path} was changed by hand: tree {number} ({' '.join(tree.words[:8])!r} …) is of no sentence "
                    "of this part; take it out of the file (trees to correct are given as input), then go on"
                )
            left.pop(same, None)
            if same not in ours or str(ours[same]) != str(tree):
                changed.append((same, tree))
        for index, tree in changed:
            before = self.sentences[index]
            tree = Tree(before.words, tree.tags, tree.labels, tree.starts, tree.ends)
            state = replace(before, tags=tree.tags, tree=tree, constraints=NO_CONSTRAINTS, accepted=True)
            self._record({"event": "change", "sentence": index, "kind": "edit by hand", "state": state.to_dict()})
        for index in left:  # deleted
            state = replace(self.sentences[index], accepted=False)
            self._record({"event": "change", "sentence": index, "kind": "edit by hand", "state": state.to_dict()})
        return f"{path.name} was changed by hand: {len(changed)} trees changed or added, {len(left)} deleted."

    def figures(self) -> dict[str, Any]:
        """Return figures about the sentences; see `session_figures`."""
        found = session_figures(self._steps[: self._done], self.sentences, self._seconds)
        return {"sentences": len(self.reading), "dev": len(self.trees("dev")), **found}

    def close(self) -> None:
        """Close the journal; every step is written already."""
        self.journal.close()
