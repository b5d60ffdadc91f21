"""Schemes: rules that rename the labels and tags of a treebank before training."""

from __future__ import annotations

import json
import re
from collections.abc import Collection
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from spacy_dtparse.errors import ConfigError
from spacy_dtparse.trees import Tree, base_label

_KEYS = ("labels", "tags", "tag_pattern", "dissolve")
_NO_NAME = re.compile(r"[\s()]|(?<=.)[-=|]")


@dataclass(frozen=True)
class Scheme:
    """The rules of `convert --scheme FILE`.

    `labels`: label -> new label, or "" to remove the constituent and attach its children to its parent. A label with
    function tags is looked up as written (`NP-SBJ`), then without them (`NP`); an unlisted label is unchanged. `tags`:
    tag -> new tag. `tag_pattern`: an unlisted tag is replaced by the text that this regular expression matches at its
    beginning, or by the texts of its groups, joined by `_`. `dissolve`: pairs of new labels (parent, child); such a
    child directly below such a parent is removed.

    Raises ConfigError for data of another form, and for new names that could be confused with function tags.
    """

    labels: dict[str, str] = field(default_factory=dict)
    tags: dict[str, str] = field(default_factory=dict)
    tag_pattern: str = ""
    dissolve: Collection[tuple[str, str]] = ()

    def __post_init__(self) -> None:
        for name in ("labels", "tags"):
            table = getattr(self, name)
            if not isinstance(table, dict) or not all(isinstance(value, str) for value in table.values()):
                raise ConfigError(f'scheme: {name!r} is {table!r}; give an object, {{"OLD": "NEW", …}}')
            for old, new in table.items():
                if _NO_NAME.search(new) or (name == "tags" and not new):
                    raise ConfigError(
                        f"scheme: {name[:-1]} {old!r} is to become {new!r}; a name has no white space, brackets, '-', "
                        "'=' or '|' (these begin function tags), and a tag is not empty"
                    )
        if not isinstance(self.tag_pattern, str):
            raise ConfigError(f"scheme: 'tag_pattern' is {self.tag_pattern!r}; give a regular expression")
        try:
            re.compile(self.tag_pattern)
        except re.error as error:
            raise ConfigError(
                f"scheme: 'tag_pattern' {self.tag_pattern!r} is no regular expression: {error}"
            ) from error
        if isinstance(self.dissolve, str) or not all(
            not isinstance(pair, str) and len(pair) == 2 and all(isinstance(label, str) for label in pair)
            for pair in self.dissolve
        ):
            raise ConfigError(f"scheme: 'dissolve' is {self.dissolve!r}; give pairs of labels, [[PARENT, CHILD], …]")

    @classmethod
    def from_json(cls, path: Path) -> Scheme:
        """Read the scheme in a JSON file. Raises ConfigError if it cannot be read or has other keys."""
        try:
            data: Any = json.loads(path.read_text(encoding="utf8"))
        except (OSError, ValueError) as error:
            raise ConfigError(f"{path}: cannot read the scheme ({error}); give a JSON file") from error
        if not isinstance(data, dict) or set(data) - {*_KEYS, "about"}:
            raise ConfigError(f"{path}: a scheme is a JSON object with the keys {', '.join(_KEYS)}, and 'about'")
        return cls(**{key: data[key] for key in _KEYS if key in data})

    def tag(self, tag: str) -> str:
        """The new tag; the old one if it is not listed and `tag_pattern` does not match."""
        if tag in self.tags or not self._pattern.pattern:
            return self.tags.get(tag, tag)
        found = self._pattern.match(tag)
        if found is None:
            return tag
        return "_".join(part for part in (found.groups() or (found[0],)) if part) or tag

    def label(self, label: str) -> str:
        """The new label; "" if the constituent is removed."""
        return self.labels.get(label, self.labels.get(base_label(label), label))

    def apply(self, tree: Tree) -> Tree:
        """The tree with new labels and tags; its root is unchanged."""
        labels = [tree.labels[0], *map(self.label, tree.labels[1:])]
        pairs = {(parent, child) for parent, child in self.dissolve}
        retained, above = [0], [0]
        for k, parent in enumerate(tree.parents()):
            if k == 0:
                continue
            upper = above[parent]  # the nearest ancestor that is retained
            stays = bool(labels[k]) and (base_label(labels[upper]), base_label(labels[k])) not in pairs
            above.append(k if stays else upper)
            if stays:
                retained.append(k)
        starts, ends = ([column[k] for k in retained] for column in (tree.starts, tree.ends))
        return Tree.unchecked(tree.words, map(self.tag, tree.tags), [labels[k] for k in retained], starts, ends)

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        return re.compile(self.tag_pattern)
