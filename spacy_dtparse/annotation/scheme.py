"""Annotation schemes: the labels, function labels, tags, root and letter keys of an annotation."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..errors import ConfigError
from ..trees.labels import EMPTY_TAG, TOP_LABELS
from ..trees.tree import TOP, Tree

MAX_LABEL = 60
"""Maximum length of a label or tag."""
PENN_KEYS = {
    "n": "NP", "v": "VP", "p": "PP", "s": "S", "b": "SBAR", "a": "ADJP", "d": "ADVP", "q": "QP", "w": "WHNP",
    "r": "PRN",
}  # fmt: skip
_N_KEYS = 10
_TAKEN = frozenset("filmktxyz")
"""Letters that are keys of other steps."""
_KEYS = ("about", "root", "labels", "functions", "tags", "keys")
_FOLDER = Path(__file__).parent / "schemes"


@dataclass(frozen=True)
class Scheme:
    """An annotation scheme. `labels` of constituents; `functions`: what may follow a label after "-", as in NP-SBJ;
    `tags` to offer, those of the parser if there are none; `root`: the root label in the file of trees; `keys`: a
    letter for each of some labels; `descriptions` of labels in words."""

    name: str
    labels: tuple[str, ...]
    functions: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    root: str = TOP
    keys: Mapping[str, str] = field(default_factory=dict)
    descriptions: Mapping[str, str] = field(default_factory=dict)

    def allows(self, label: str) -> bool:
        """Return whether a constituent may have a label; numbers after "-" are indices."""
        base, *functions = label.split("-")
        return base in self.labels and all(one in self.functions or one.isdigit() for one in functions)

    def unknown_labels(self, tree: Tree) -> list[str]:
        """Return the labels of a tree that the scheme does not have."""
        labels = dict.fromkeys(label for label in tree.labels if label not in TOP_LABELS)
        return [label for label in labels if not self.allows(label)]


def scheme_names() -> list[str]:
    """Return the names of the schemes in this package."""
    return sorted(path.stem for path in _FOLDER.glob("*.json"))


def load_scheme(name: str | Path, labels: Sequence[str] = ()) -> Scheme:
    """Return the scheme of a name, or of a JSON file, with further labels.

    The file is an object with `labels` (a list, or {label: description}) and optionally `root`, `functions`, `tags`,
    `keys` ({letter: label}) and `about`. Raises ConfigError for an unknown name, and for a file that is no scheme.
    """
    path = _FOLDER / f"{name}.json" if str(name) in scheme_names() else Path(name)
    if not path.is_file():
        raise ConfigError(
            f"there is no scheme {str(name)!r}; give one of {', '.join(scheme_names())}, or a JSON file with the "
            "labels of yours"
        )
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ConfigError(f"{path}: cannot read the scheme ({error}); give a JSON file") from error
    if not isinstance(data, dict) or "labels" not in data or not {*data} <= {*_KEYS}:
        raise ConfigError(f"{path}: an annotation scheme is a JSON object with labels; its keys are {', '.join(_KEYS)}")
    return _make_scheme(path, data, labels)


def _make_scheme(path: Path, data: Mapping[str, Any], more: Sequence[str]) -> Scheme:
    lists = {"labels": data["labels"], "functions": data.get("functions", []), "tags": data.get("tags", [])}
    for name, value in lists.items():
        if not isinstance(value, list | dict) or (isinstance(value, dict) and name != "labels"):
            raise ConfigError(f"{path}: {name} is {str(value)[:40]!r}; give a list")
    check_labels([*lists["labels"], *more], f"{path}: labels")
    for name in ("functions", "tags"):
        for one in lists[name]:
            if not isinstance(one, str) or not is_writable(one) or (name == "functions" and "-" in one):
                raise ConfigError(f"{path}: {str(one)[:MAX_LABEL]!r} cannot be one of the {name}")
    root, keys = data.get("root", TOP), data.get("keys", {})
    if root not in TOP_LABELS:
        raise ConfigError(f"{path}: root is {str(root)[:MAX_LABEL]!r}; allowed are {sorted(TOP_LABELS)}")
    labels = tuple(dict.fromkeys((*lists["labels"], *more)))
    for key, label in keys.items() if isinstance(keys, dict) else [(keys, "")]:
        if not (isinstance(key, str) and len(key) == 1 and key.isalpha() and key.islower()) or key in _TAKEN:
            raise ConfigError(
                f"{path}: {str(key)[:MAX_LABEL]!r} cannot be a key of a label; give a small letter, not one of "
                f"{' '.join(sorted(_TAKEN))}"
            )
        if label not in labels:
            raise ConfigError(f"{path}: the key {key!r} is for {str(label)[:MAX_LABEL]!r}, which is none of the labels")
    descriptions = data["labels"] if isinstance(data["labels"], dict) else {}
    functions, tags = tuple(lists["functions"]), tuple(lists["tags"])
    return Scheme(path.stem, labels, functions, tags, root, keys, {k: str(v) for k, v in descriptions.items()})


def letter_keys(labels: Sequence[str], chosen: Mapping[str, str]) -> dict[str, str]:
    """Return letters for labels: those chosen, the usual ones of the Penn Treebank, and for the first other labels a
    letter of the label that is free, up to ten in all."""
    keys = dict(chosen)
    for key, label in PENN_KEYS.items():
        if key not in keys and label in labels and label not in keys.values():
            keys[key] = label
    for label in labels:
        free = [letter for letter in label.lower() if letter.isalpha() and letter not in keys and letter not in _TAKEN]
        if len(keys) < _N_KEYS and free and label not in keys.values():
            keys[free[0]] = label
    return keys


def check_labels(labels: Iterable[str], name: str = "labels") -> None:
    """Raise ConfigError for a label that a bracketed file cannot contain, or that is one of a root. `name`: of the
    option, for the message."""
    for label in labels:
        if not isinstance(label, str) or not is_writable(label) or label in TOP_LABELS:
            raise ConfigError(
                f"{name}: {str(label)[:MAX_LABEL]!r} cannot be a label; a label has 1 to {MAX_LABEL} characters, no "
                f"white space and no brackets, and is not {EMPTY_TAG} or the label of a root "
                f"({', '.join(sorted(filter(None, TOP_LABELS)))})"
            )


def is_writable(name: str) -> bool:
    """Return whether a bracketed file can contain a label or a tag."""
    return 0 < len(name) <= MAX_LABEL and name.isprintable() and name != EMPTY_TAG and not {*name} & {*" ()"}
