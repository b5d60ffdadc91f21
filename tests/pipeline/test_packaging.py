"""Pipelines as packages, the whole way: spacy package, a wheel, an empty environment with what pip brings along."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import textwrap
import zipfile

import pytest
import spacy
from spacy.cli.package import package
from spacy.training import Example

import spacy_dtparse
from spacy_dtparse.models import HERE, PACKAGES, embedded_pipeline
from training.data.packaging import package_pipeline

from ..documents import ROOT

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not (HERE / "en_dtparse" / "config.cfg").exists(), reason="no English pipeline"),
]

TAGGED = [
    ("The/DT cat/NN sat/VBD on/IN the/DT mat/NN ./."),
    ("A/DT dog/NN saw/VBD the/DT old/JJ cat/NN ./."),
    ("She/PRP saw/VBD a/DT dog/NN ./."),
]
USE = """
import json, sys
import spacy
nlp = spacy.load(sys.argv[1])
import spacy_dtparse
print(json.dumps({
    "trees": [sent._.parse_string for sent in nlp("The cat sat on the mat. A dog saw the old cat.").sents],
    "licence": nlp.meta["license"], "credits": len(nlp.meta["credits"]), "package": spacy_dtparse.__file__,
    "files": sorted(path.name for path in nlp.path.glob("dtparse/*")),
}))
"""


def run(*command, **options):
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, timeout=1500, **options)
    assert done.returncode == 0, f"{command}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
    return done.stdout


def default_pipeline():
    return spacy_dtparse.load()


def foreign_pipeline():
    """spaCy's own tagger, trained here, with dtparse behind it; its licence is another one."""
    nlp = spacy.blank("en", meta={"license": "MIT"})
    nlp.add_pipe("sentencizer")
    nlp.add_pipe("tagger")
    words = [[pair.split("/") for pair in line.split()] for line in TAGGED]
    examples = [
        Example.from_dict(nlp.make_doc(" ".join(word for word, _ in one)), {"tags": [tag for _, tag in one]})
        for one in words
    ]
    optimizer = nlp.initialize(lambda: examples)
    for _ in range(30):
        random.Random(1).shuffle(examples)
        nlp.update(examples, sgd=optimizer)
    nlp.add_pipe("dtparse")
    return nlp


@pytest.fixture(scope="module")
def environment(tmp_path_factory):
    """An empty environment, and the folder of this package's wheel."""
    folder = tmp_path_factory.mktemp("environment")
    run(sys.executable, "-m", "build", "--wheel", "--outdir", folder / "wheels", ROOT)
    run(sys.executable, "-m", "venv", folder / "venv")
    return folder / "venv" / "bin" / "python", folder / "wheels"


def test_the_wheel_has_the_default_pipeline_and_names_the_others(environment, tmp_path):
    python, wheels = environment
    (wheel,) = wheels.glob("spacy_dtparse-*.whl")
    assert wheel.stat().st_size < 22e6
    with zipfile.ZipFile(wheel) as files:
        models = {name.split("/")[2] for name in files.namelist() if name.startswith("spacy_dtparse/models/en_")}
    assert models == {"en_dtparse"}
    run(python, "-m", "pip", "install", "--quiet", wheel)
    parse = [python, "-m", "spacy_dtparse", "The old dog sleeps."]  # on which all parsers agree
    expected = run(*parse, cwd=tmp_path)
    assert (
        "(NP (DT The) (JJ old) (NN dog))" in expected and run(*parse, "--pipeline", "en_span", cwd=tmp_path) == expected
    )
    for name in PACKAGES:
        command = [*map(str, parse), "--pipeline", name]
        done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
        assert done.returncode == 1 and f"pip install ./packages/{name}" in done.stderr
    run(python, "-m", "pip", "install", "--quiet", *(f"./packages/{name}" for name in PACKAGES), cwd=ROOT)
    for name in PACKAGES:
        assert run(*parse, "--pipeline", name, cwd=tmp_path) == expected
        program = f"import spacy; nlp = spacy.load('{name}'); print(nlp.meta['license'], *nlp('It rains.').sents)"
        assert run(python, "-c", program, cwd=tmp_path) == "CC BY-SA 4.0 It rains.\n"


KEPT = {"model", "LICENSE", "LICENSE.GENIA.txt", "tokenizer", "strings.json", "setup.py"}
"""Files of a package that do not depend on the version of spaCy."""


def kept_files(folder):
    """The files in KEPT of a package's folder, without those that pip built there."""
    paths = (path.relative_to(folder) for path in folder.rglob("*") if path.name in KEPT)
    return {path: (folder / path).read_bytes() for path in paths if path.parts[0] != "build"}


@pytest.mark.parametrize("name", PACKAGES)
def test_the_packages_are_made_from_their_pipelines(name, tmp_path):
    found = package_pipeline(embedded_pipeline(name), tmp_path)
    assert found == tmp_path / name and [path.name for path in tmp_path.iterdir()] == [name]
    assert kept_files(found) == kept_files(ROOT / "packages" / name) and len(kept_files(found)) > 8
    meta = json.loads((found / "meta.json").read_text())
    assert meta["license"] == "CC BY-SA 4.0" and meta["requirements"] == ["spacy-dtparse>=0.1.0"]
    assert len(meta["credits"]) > 10 and meta["name"] == name.removeprefix("en_")


@pytest.mark.parametrize(
    ("make", "licence"), [(default_pipeline, "CC BY-SA 4.0"), (foreign_pipeline, "MIT AND CC BY-SA 4.0")]
)
def test_packaged_pipelines_run_in_an_empty_environment(make, licence, environment, tmp_path):
    python, wheels = environment
    nlp = make()
    name = f"en_{make.__name__}"
    nlp.to_disk(tmp_path / "pipeline")
    package(tmp_path / "pipeline", tmp_path, name=make.__name__, create_sdist=False, create_wheel=True, silent=True)
    (wheel,) = tmp_path.glob(f"{name}-*/dist/*.whl")
    run(python, "-m", "pip", "install", "--quiet", "--find-links", wheels, wheel)
    (tmp_path / "use.py").write_text(textwrap.dedent(USE))
    found = json.loads(run(python, tmp_path / "use.py", name, cwd=tmp_path).splitlines()[-1])
    assert found["trees"] == [
        sent._.parse_string for sent in nlp("The cat sat on the mat. A dog saw the old cat.").sents
    ]
    assert found["trees"][0].startswith("(S (NP (DT The) (NN cat)) (VP (VBD sat)")
    assert found["licence"] == licence and found["credits"] > 10 and "site-packages" in found["package"]
    assert found["files"] == ["LICENSE", "LICENSE.GENIA.txt", "model"]
