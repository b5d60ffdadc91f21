"""Fields can be renamed without a change of any file: classes declare the names under which their fields are stored."""

import ast
from collections import namedtuple
from dataclasses import is_dataclass, make_dataclass
from importlib import import_module
from pathlib import Path

import pytest

from spacy_dtparse import stored_names as declared_names
from spacy_dtparse.stored_names import from_stored, setting_name, stored_as, stored_fields, stored_names, to_stored

ROOT = Path(__file__).resolve().parents[1]
SOURCES = sorted((ROOT / "spacy_dtparse").rglob("*.py")) + sorted((ROOT / "training").rglob("*.py"))
BY_PYTHON_NAMES = {
    "training/dtparse/recipe.py": "recipes are written by people, with the names of the settings",
    "training/runs/settings.py": "NAME=VALUE of command lines",
}
"""Files that may read fields by their Python names with `asdict`, and why."""


def declared_classes():
    """(module, class) of each class in the sources that is decorated with `stored_as`."""
    for path in SOURCES:
        for node in ast.parse(path.read_text(encoding="utf8")).body:
            if isinstance(node, ast.ClassDef) and any("stored_as" in ast.unparse(d) for d in node.decorator_list):
                yield ".".join(path.relative_to(ROOT).with_suffix("").parts), node.name


CLASSES = list(declared_classes())


@pytest.fixture(autouse=True)
def own_list_of_fields(monkeypatch):
    """Keep the fields of these tests' classes out of the list that messages of other tests use."""
    fields = {stored: set(names) for stored, names in declared_names._FIELDS.items()}
    monkeypatch.setattr(declared_names, "_FIELDS", fields)


def twin_with_renamed_field(kind, index):
    """A class like `kind` whose field with that index has another name."""
    names = list(stored_fields(kind).values())
    names[index] = "renamed"
    twin = make_dataclass(kind.__name__, names) if is_dataclass(kind) else namedtuple(kind.__name__, names)
    return stored_as(*stored_names(kind))(twin)


def test_the_classes_are_found():
    assert len(CLASSES) > 30


@pytest.mark.parametrize(("module", "name"), CLASSES)
def test_a_renamed_field_is_stored_as_before(module, name):
    if module.startswith("training.teacher"):
        pytest.importorskip("torch")
    kind = getattr(import_module(module), name)
    values = list(range(len(stored_names(kind))))
    before = dict(zip(stored_names(kind), values, strict=True))
    for index in values:
        twin = twin_with_renamed_field(kind, index)
        assert to_stored(twin(*values)) == before
        assert twin(**from_stored(twin, before)) == twin(*values)


def test_nested_dataclasses_are_stored_by_their_declared_names():
    inner = stored_as("inside")(make_dataclass("Inner", ["value"]))
    outer = stored_as("part", "other")(make_dataclass("Outer", ["first", "second"]))
    assert to_stored(outer(inner(1), 2)) == {"part": {"inside": 1}, "other": 2}
    assert to_stored(outer(inner(1), 2), without=["second"]) == {"part": {"inside": 1}}


def test_each_field_needs_one_name():
    for names in (("a",), ("a", "a"), ("a", "b", "c")):
        with pytest.raises(TypeError, match="has 2 fields; give one stored name for each"):
            stored_as(*names)(namedtuple("Pair", ["left", "right"]))


def test_a_class_that_declares_nothing_is_refused():
    kind = namedtuple("Plain", ["left"])
    with pytest.raises(TypeError, match="Plain is written to files but declares no names for that; use stored_as"):
        to_stored(kind(1))
    declared = stored_as("left")(namedtuple("Base", ["left"]))
    with pytest.raises(TypeError, match="Derived is written"):  # a subclass may have other fields
        stored_names(type("Derived", (declared,), {}))


def test_messages_use_names_of_settings_instead_of_stored_names():
    stored_as("only_in_this_test", "in_two_of_them")(namedtuple("One", ["new_name", "left"]))
    stored_as("in_two_of_them")(namedtuple("Two", ["right"]))
    assert setting_name("only_in_this_test") == "new_name"
    assert setting_name("in_two_of_them") == "in_two_of_them"
    assert setting_name("nowhere") == "nowhere"


def test_nothing_is_stored_by_python_names():
    """`asdict` and `_asdict` turn the names of fields into keys of files, in silence."""
    for path in SOURCES:
        name = path.relative_to(ROOT).as_posix()
        calls = [
            ast.unparse(node.func)
            for node in ast.walk(ast.parse(path.read_text(encoding="utf8")))
            if isinstance(node, ast.Call)
        ]
        used = [call for call in calls if call.split(".")[-1] in ("asdict", "_asdict")]
        assert not used or name in BY_PYTHON_NAMES, f"{name} calls {used[0]}; use stored_names.to_stored"
