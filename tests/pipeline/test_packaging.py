"""Pipelines as packages, the whole way: spacy package, a wheel, an empty environment with what pip brings along."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import textwrap

import pytest
import spacy
from spacy.cli.package import package
from spacy.training import Example

import spacy_dtparse
from spacy_dtparse.models import HERE

from ..documents import ROOT

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not (HERE / "en_span" / "config.cfg").exists(), reason="no English pipeline"),
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
