"""Tests that the check of distributions finds missing files, foreign files, and files without a licence."""

from __future__ import annotations

import importlib.util
import io
import re
import tarfile
import zipfile

import pytest

from .documents import ROOT

spec = importlib.util.spec_from_file_location("check_release", ROOT / ".ci" / "check_release.py")
assert spec is not None and spec.loader is not None
check_release = importlib.util.module_from_spec(spec)
spec.loader.exec_module(check_release)

PACKAGE = {f"spacy_dtparse/{name}" for name in ("__init__.py", "models/en_x/model", "models/en_x/LICENSE")}
METADATA = "License-Expression: {}\nLicense-File: LICENSE\nLicense-File: spacy_dtparse/models/en_x/LICENSE\n\n"
INFO = "spacy_dtparse-1.dist-info"
LICENCES = {f"{INFO}/licenses/LICENSE", f"{INFO}/licenses/spacy_dtparse/models/en_x/LICENSE"}


def wheel(path, names, licence="MIT AND CC-BY-SA-4.0"):
    with zipfile.ZipFile(path, "w") as archive:
        for name in names:
            archive.writestr(name, b"")
        archive.writestr(f"{INFO}/METADATA", METADATA.format(licence))
    return path


@pytest.mark.parametrize(
    ("without", "more", "message"),
    [
        (set(), set(), None),
        ({"spacy_dtparse/__init__.py"}, set(), r"spacy_dtparse/__init__\.py is missing"),
        (set(), {"spacy_dtparse/__pycache__/a.pyc"}, r"a\.pyc does not belong there"),
        ({f"{INFO}/licenses/LICENSE"}, set(), "LICENSE is named, but missing"),
        ({"spacy_dtparse/models/en_x/LICENSE"}, set(), r"en_x/model has no licence in its folder"),
    ],
)
def test_wheels(without, more, message, tmp_path):
    problems = check_release.check_wheel(wheel(tmp_path / "a.whl", (PACKAGE | LICENCES | more) - without), PACKAGE)
    if message is None:
        assert problems == []
    else:
        assert any(re.search(message, problem) for problem in problems), problems


def test_a_wheel_that_is_too_large(tmp_path, monkeypatch):
    monkeypatch.setattr(check_release, "MAX_WHEEL_BYTES", 100)
    (problem,) = check_release.check_wheel(wheel(tmp_path / "a.whl", PACKAGE | LICENCES), PACKAGE)
    assert re.fullmatch(r"a\.whl: it has \d+ bytes; at most 100 are allowed", problem)


def test_another_licence(tmp_path):
    (problem,) = check_release.check_wheel(wheel(tmp_path / "a.whl", PACKAGE | LICENCES, "MIT"), PACKAGE)
    assert problem == "a.whl: its licence is MIT"


def test_sources(tmp_path):
    path = tmp_path / "a.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        for name in (PACKAGE | check_release.OTHER_FILES | {"secret.txt"}) - {"LICENSE"}:
            archive.addfile(tarfile.TarInfo(f"a-1/{name}"), io.BytesIO())
    assert check_release.check_source(path, PACKAGE) == [
        "a.tar.gz: secret.txt does not belong there",
        "a.tar.gz: LICENSE is missing",
    ]


def test_licences_of_what_comes_along():
    def component(name, **licence):
        return {"name": name, "licenses": [licence] if licence else []}

    parts = [
        component("a", license={"id": "MIT"}),
        component("b", expression="LGPL-2.1-only OR MIT"),
        component("c", license={"name": "GNU General Public License v3"}),
        component("d"),
        component("e", license={"id": "AGPL-3.0-only"}),
    ]
    problems = check_release.check_licences({"components": parts})
    assert [problem[0] for problem in problems] == ["c", "d", "e"]
