"""project.yml: what it says is right, and `spacy project run train` works on the sample treebank from
nothing.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import spacy
import srsly

from spacy_dtparse import sentence_infos
from spacy_dtparse.bpm_parser.features import TokenColumns
from spacy_dtparse.cli import build_parser as dtparse_parser
from spacy_dtparse.core import load_dependency_parser
from spacy_dtparse.pipeline import registration  # noqa: F401 (registers the factory where it is not installed)
from training.cli import build_parser as training_parser
from training.data.collecting import layouts
from training.data.treebanks import catalogue
from training.dtparse.recipe import FitRecipe, PathConfig

ROOT = Path(__file__).resolve().parents[2]
STEPS = ["verify", "convert", "tag", "fit", "assemble", "evaluate"]


@pytest.fixture(scope="module")
def project():
    return srsly.read_yaml(ROOT / "project.yml")


def filled(line: str, project: dict) -> list[str]:
    """A script line with the project's variables put in, split as weasel splits it."""
    return shlex.split(re.sub(r"\$\{vars\.(\w+)\}", lambda match: str(project["vars"][match[1]]), line))


def test_workflow_and_commands(project):
    assert project["workflows"]["train"] == STEPS
    assert project["workflows"]["train-span"] == [*STEPS[:3], "span", "assemble-span", "evaluate-span"]
    commands = {command["name"]: command for command in project["commands"]}
    assert project["workflows"]["train-bpm"] == ["bpm"]
    assert project["workflows"]["adapt"] == ["adapt-pipeline"]
    assert project["workflows"]["own"] == ["own-pipeline"]
    assert project["workflows"]["own-few"] == ["own-trees", "own-curve"]
    distilled = ["teach", "tag-distilled", "span-distilled"]
    assembled = ["assemble-distilled", "evaluate-distilled"]
    assert project["workflows"]["train-distilled"] == ["verify", "convert", *distilled, *assembled]
    combined, few = ([f"{step}-{name}" for step in ("fit", "assemble", "evaluate")] for name in ("combined", "few"))
    assert project["workflows"]["train-combined"] == [*STEPS[:3], "span", "jackknife-marginals", *combined]
    assert project["workflows"]["train-few"] == [*STEPS[:3], *few]
    later = ["span", "jackknife-marginals", *combined, *few, *distilled, "assemble-span", "evaluate-span"]
    own = ["own-pipeline", "own-trees", "own-curve"]
    later += [*assembled, *own, "bpm", "pcfgla", "self-train", "adapt-pipeline"]
    assert list(commands) == [*STEPS, *later, "collect", "package", "benchmark", "clean"]
    for command in commands.values():
        assert command["help"]
        for line in command["script"]:
            words = filled(line, project)
            assert words[0] == "python", "weasel runs commands without a shell, by this Python"
            assert not {"&&", "|", ">", ";"} & set(words)
            if words[1:3] == ["-m", "training"]:
                assert training_parser().parse_args(words[3:]).command == words[3]
            elif words[1:3] == ["-m", "spacy_dtparse"]:
                assert dtparse_parser().parse_args(words[3:]).command == words[3]
            elif words[1].endswith(".py"):
                assert (ROOT / words[1]).is_file()


def test_output_stays_below_build(project):
    """Project templates wipe folders named assets or training."""
    assert "directories" not in project
    for command in project["commands"]:
        for output in [*command.get("outputs", []), *command.get("outputs_no_cache", [])]:
            assert output.startswith("build/")


def test_assets_are_the_listed_treebanks(project):
    listed = catalogue()
    repositories = {f"https://github.com/{r}" for entry in listed.values() for r in entry["source"]["github"]}
    fetched = [asset for asset in project["assets"] if "git" in asset]
    assert {Path(asset["dest"]).name for asset in fetched} == {"craft", "genia", "gum", "masc"}
    for asset in fetched:
        assert asset["git"]["repo"] in repositories and asset["extra"] is True
        entry = listed[Path(asset["dest"]).name]
        assert asset["dest"].startswith("build/") and asset["description"]
        assert entry["model_may_be_shipped"]
        layout = layouts()[Path(asset["dest"]).name]
        assert (asset["git"]["repo"], asset["git"]["path"]) == (layout.repository, layout.path)
    for asset in project["assets"]:
        if "git" not in asset:
            assert hashlib.md5((ROOT / asset["dest"]).read_bytes()).hexdigest() == asset["checksum"]


@pytest.mark.parametrize("path", sorted((ROOT / "training" / "recipes").glob("*.json")), ids=lambda p: p.stem)
def test_shipped_recipes(path):
    recipe = FitRecipe.from_json(path)
    assert recipe.name == path.stem
    assert isinstance(recipe.path, PathConfig) and recipe.path.learner == recipe.learner
    assert FitRecipe.from_dict(recipe.to_dict()) == recipe


@pytest.mark.slow
def test_train_from_nothing(tmp_path):
    """The whole workflow on a copy with nothing in build/, at a smaller scale: fewer passes, a higher λ."""
    for name in ("assets", "training"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copyfile(ROOT / "project.yml", tmp_path / "project.yml")
    recipe = tmp_path / "training" / "recipes" / "sample.json"
    data = json.loads(recipe.read_text())
    data["path"]["lambda_floor"] = 3
    data["n_workers"] = 1
    recipe.write_text(json.dumps(data))
    small = "fit.epochs=8 fit.batch_tokens=150 fit.ema_decay=0.99 network.width=48 network.layers=1"
    command = [sys.executable, "-m", "spacy", "project", "run", "train", str(tmp_path), "--vars.folds=2"]
    command += [f"--vars.jackknife_settings={small}", f"--vars.tagger_settings={small}"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), str(ROOT)])}

    done = subprocess.run(command, env=environment, text=True, capture_output=True, timeout=900)
    assert done.returncode == 0, done.stdout + done.stderr

    out = tmp_path / "build" / "sample"
    scores = json.loads((out / "scores.json").read_text())
    assert [(record["treebank"], record["tags"]) for record in scores] == [("sample", "gold"), ("sample", "predicted")]
    assert scores[0]["all"]["f1"] == pytest.approx(0.579, abs=0.02), "even this little training finds phrases"
    assert scores[0]["sentences"] == 62 and scores[0]["tag_accuracy"] == 1.0 > scores[1]["tag_accuracy"]
    nlp = spacy.load(out / "pipeline")
    assert nlp.pipe_names == ["tagger", "dtparse"]
    assert nlp.meta["license"] == "CC0 1.0"
    assert nlp.meta["performance"]["const_f_sample_gold"] == pytest.approx(scores[0]["all"]["f1"], abs=1e-5)
    doc = nlp("The cat sat on the mat. It slept.")
    assert next(doc.sents)._.parse_string.startswith("(")
    assert doc._.constituents

    model = (out / "dtparse.model").read_bytes()
    left = sorted(path.name for path in tmp_path.iterdir())
    assert left == ["assets", "build", "project.lock", "project.yml", "training"]
    command[command.index("train")] = "fit"
    again = subprocess.run(command, env=environment, text=True, capture_output=True, timeout=900)
    assert again.returncode == 0, again.stdout + again.stderr
    assert again.stdout.count("nothing changed") == 1, "fit need not run again"
    assert (out / "dtparse.model").read_bytes() == model

    command[command.index("fit")] = "train-span"
    command += ["--vars.span_seeds=0", "--vars.span_settings=epochs=1 batch_tokens=100 warmup_steps=10"]
    spans = subprocess.run(command, env=environment, text=True, capture_output=True, timeout=900)
    assert spans.returncode == 0, spans.stdout + spans.stderr
    assert spans.stdout.count("nothing changed") == 2, "convert and tag need not run again"
    assert spacy.load(out / "pipeline").get_pipe("dtparse").parser.to_bytes() == model, "what train made is still there"
    assert spacy.load(out / "span_pipeline").get_pipe("span_parser").parser.name == "span"


@pytest.mark.slow
def test_train_dependencies_from_nothing(tmp_path):
    """train-bpm on a CoNLL-U file named in the variables, and on the sample trees."""
    shutil.copytree(ROOT / "assets" / "sample", tmp_path / "assets" / "sample")
    shutil.copyfile(ROOT / "project.yml", tmp_path / "project.yml")
    rows = [("She", "PRON", 2, "nsubj"), ("sleeps", "VERB", 0, "root"), (".", "PUNCT", 2, "punct")]
    lines = [f"{k}\t{w}\t_\t{p}\t_\t_\t{head}\t{label}\t_\t_\n" for k, (w, p, head, label) in enumerate(rows, 1)]
    (tmp_path / "own.conllu").write_text("".join([*lines, "\n"]) * 10)
    command = [sys.executable, "-m", "spacy", "project", "run", "train-bpm", str(tmp_path)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    small = "--vars.bpm_settings=members=1 epochs=1 stages=1 label_members=1"
    own = ["--vars.bpm_train=own.conllu", "--vars.bpm_dev=own.conllu", "--vars.bpm_source=pos", "--vars.run=own"]
    sample = ["--vars.bpm_train=assets/sample/train.mrg,limit=40"]
    for name, chosen, uas in (("own", own, 1.0), ("sample", sample, pytest.approx(490 / 783))):
        done = subprocess.run([*command, small, *chosen], env=environment, text=True, capture_output=True, timeout=300)
        assert done.returncode == 0, done.stdout + done.stderr
        parser = load_dependency_parser(tmp_path / "build" / name / "bpm.model")
        assert f"words: {parser.describe()['words']}" in done.stdout and parser.meta["lang"] == "en"
        assert parser.source == ("pos" if name == "own" else "tag") and parser.meta["dev"]["all"]["uas"] == uas
    found = load_dependency_parser(tmp_path / "build" / "own" / "bpm.model").parse(
        TokenColumns([row[0] for row in rows], (), [row[1] for row in rows])
    )
    assert (found.heads, found.labels) == ((1, -1, 1), ("nsubj", "root", "punct"))


@pytest.mark.slow
@pytest.mark.embedded
def test_adapt_from_nothing(tmp_path):
    """The English boosted trees on the sample text, with the sample treebank and with the text only."""
    shutil.copytree(ROOT / "assets" / "sample", tmp_path / "assets" / "sample")
    plain = tmp_path / "assets" / "sample" / "plain.txt"
    plain.write_text("".join(plain.read_text("utf8").splitlines(keepends=True)[:8]), "utf8")
    shutil.copyfile(ROOT / "project.yml", tmp_path / "project.yml")
    command = [sys.executable, "-m", "spacy", "project", "run", "adapt", str(tmp_path)]
    command.append("--vars.adapt_settings=epochs=1")
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    sample = ["adapt_dev=assets/sample/dev.mrg,limit=12"]
    mine = [f"adapt_{name}=" for name in ("parser", "treebank", "dev", "sizes", "tune")]
    mine += ["adapt_pipeline=build/sample/adapted", "run=mine"]
    for run, variables in (("sample", sample), ("mine", mine)):
        given = [f"--vars.{variable}" for variable in variables]
        done = subprocess.run([*command, *given], env=environment, text=True, capture_output=True, timeout=300)
        assert done.returncode == 0, done.stdout + done.stderr
        shown = (tmp_path / "build" / run / "adapt" / "table.md").read_text()
        assert shown in done.stdout and ("dev: tags a word" in shown) == (run == "sample")
        nlp = spacy.load(tmp_path / "build" / run / "adapted")
        assert nlp.pipe_names == ["tagger", "spine_tagger", "dtparse"]
        assert nlp.get_pipe("dtparse").parser.name == "dtree"
        assert sentence_infos(nlp("The cat sat on the mat."))[0]["n_searches"] >= 1
