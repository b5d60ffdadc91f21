"""The annotation page in a headless Chromium, with real keys, clicks and drags."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from spacy_dtparse.annotation.server import make_annotation_server

from ..web.browser import Browser

KEYS = {
    "Enter": "\ue007", "Escape": "\ue00c", "Delete": "\ue017", "Shift": "\ue008", "Control": "\ue009", "Left": "\ue012",
    "Up": "\ue013", "Right": "\ue014", "Down": "\ue015", "PageUp": "\ue00e", "PageDown": "\ue00f",
    "End": "\ue010", "Home": "\ue011",
}  # fmt: skip


class Window(Browser):
    """A browser with the keys and the mouse of an annotator."""

    def press(self, *keys: str) -> None:
        """Press keys one after the other: "n", "Enter", "Shift+Right"."""
        actions: list[dict[str, Any]] = []
        for key in keys:
            codes = [KEYS.get(part, part) for part in (key.split("+") if len(key) > 1 else [key])]
            actions += [{"type": "keyDown", "value": code} for code in codes]
            actions += [{"type": "keyUp", "value": code} for code in reversed(codes)]
        self._call("POST", "/actions", {"actions": [{"type": "key", "id": "keys", "actions": actions}]})
        self.settle()

    def drag(self, first: str, last: str) -> None:
        """Press the mouse on the element of a CSS selector, and release it on another one."""
        (x, y), (to_x, to_y) = self.centre(first), self.centre(last)
        steps: list[dict[str, Any]] = [
            {"type": "pointerMove", "x": x, "y": y},
            {"type": "pointerDown", "button": 0},
            {"type": "pointerMove", "x": (x + to_x) // 2, "y": (y + to_y) // 2, "duration": 60},
            {"type": "pointerMove", "x": to_x, "y": to_y, "duration": 60},
            {"type": "pointerUp", "button": 0},
        ]
        pointer = {"type": "pointer", "id": "mouse", "parameters": {"pointerType": "mouse"}, "actions": steps}
        self._call("POST", "/actions", {"actions": [pointer]})
        self.settle()

    def shift_click(self, selector: str) -> None:
        """Click on the element of a CSS selector while Shift is held."""
        x, y = self.centre(selector)
        hold, wait = [[{"type": kind, "value": KEYS["Shift"]}] for kind in ("keyDown", "keyUp")], {"type": "pause"}
        clicks = [{"type": "pointerMove", "x": x, "y": y}, {"type": "pointerDown", "button": 0}]
        keys = {"type": "key", "id": "keys", "actions": [*hold[0], wait, wait, wait, *hold[1]]}
        mouse: dict[str, Any] = {"type": "pointer", "id": "mouse", "parameters": {"pointerType": "mouse"}}
        mouse["actions"] = [wait, *clicks, {"type": "pointerUp", "button": 0}, wait]
        self._call("POST", "/actions", {"actions": [keys, mouse]})
        self.settle()

    def centre(self, selector: str) -> tuple[int, int]:
        """Return the centre of an element, in pixels of the window."""
        script = (
            "const e = document.querySelector(arguments[0]); if (!e) return null; "
            "e.scrollIntoView({block: 'nearest'}); "
            "const b = e.getBoundingClientRect(); "
            "return [Math.round(b.x + b.width / 2), Math.round(b.y + b.height / 2)]"
        )
        found = self.run(script, selector)
        assert found, f"there is no {selector}"
        return found[0], found[1]

    def settle(self) -> None:
        """Wait until all steps are answered and the alternatives are shown."""
        self._call("POST", "/timeouts", {"script": 30_000})
        script = (
            "const done = arguments[0]; let quiet = 0; const timer = setInterval(() => { "
            "quiet = pending ? 0 : quiet + 1; if (quiet > 4) { clearInterval(timer); done(1); } }, 25)"
        )
        self._call("POST", "/execute/async", {"script": script, "args": []})

    def word(self, token: int) -> str:
        """Return the selector of a word."""
        return f'#drawing [data-token="{token}"]'

    def label(self, label: str, words: str) -> str:
        """Return the selector of the constituent with a label and words."""
        script = (
            "return state.constituents.findIndex(c => c.label === arguments[0] && "
            "state.words.slice(c.start, c.end).join(' ') === arguments[1])"
        )
        index = self.run(script, label, words)
        assert index >= 0, f"there is no {label} over {words!r}: {self.run('return state.constituents')}"
        return f'#drawing [data-constituent="{index}"]'

    def has(self, label: str, words: str) -> bool:
        """Return whether the tree has such a constituent."""
        script = (
            "return state.constituents.some(c => c.label === arguments[0] && "
            "state.words.slice(c.start, c.end).join(' ') === arguments[1])"
        )
        return bool(self.run(script, label, words))


def annotating(sentences: Any, out: Any, nlp: Any, **options: Any) -> Any:
    """Return a context in which a server of an annotation runs."""
    return serving(make_annotation_server(sentences, out, nlp, port=0, **options))


@contextmanager
def serving(server: Any) -> Iterator[Any]:
    """Run a server for the time of the block; yields it."""
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        server.answers.session.close()
        thread.join(10)
        assert not thread.is_alive()
