"""Adaptation of a tagger to raw text: what it learns from, what is measured, the command from text to a pipeline."""

import json
import math
from pathlib import Path

import pytest
import spacy

from spacy_dtparse import models, sentence_infos
from spacy_dtparse.cli.pipelines import get_component
from spacy_dtparse.core import load_parser, load_tagger
from spacy_dtparse.dtparse.parser import DtreeParser
from spacy_dtparse.errors import ConfigError, ModelFormatError, TrainingDataError
from spacy_dtparse.pcfgla.parser import PcfgParser
from spacy_dtparse.span_parser.parser import SpanParser
from spacy_dtparse.spine_tagger.tagger import SequenceTagger
from spacy_dtparse.trees import COLLINS, Recipe, directional_spines, format_directional, parse_tree, write_tree
from spacy_dtparse.trees.directional import category_writer
from tests.jit.harness import SLOW, hand_made
from tests.packages import write_package
from tests.span_models import random_model
from tests.tagger_models import random_tagger
from training.cli import main
from training.data.corpus import Sentence
from training.data.reading import SentenceSelection, TaggedSentence, select_sentences
from training.data.text import TextFile, text_files
from training.data.treebanks import TreebankFile
from training.dtparse.fit import train_boosted_parser
from training.dtparse.recipe import FitRecipe
from training.pcfgla import Markov, PcfgOptions, train_pcfg
from training.runs.settings import apply_settings
from training.self_training.silver import SilverTree, SilverTreebank
from training.supertag_adaptation.measuring import TaggerVariant, measure
from training.supertag_adaptation.packing import open_pipeline, write_pipeline
from training.supertag_adaptation.running import Adaptation, label_sentences, split_parses

compiled = pytest.mark.skipif(SLOW, reason="takes long without compiling")
ROOT = Path(__file__).parents[3]
SAMPLE = ROOT / "assets" / "sample"
DIRECTIONAL = category_writer("directional", COLLINS)
TREE = "(TOP (S (NP (DT The) (NN cat)) (VP (VBD slept)) (. .)))"


def silver_trees(n: int, *failed: int) -> SilverTreebank:
    """n made-up sentences, some of which the parser could not finish."""
    words, tags = ("The", "cat", "slept", "."), ("DT", "NN", "VBD", ".")
    sentences = [TaggedSentence(0, (*words[:3], str(number)), tags) for number in range(n)]
    trees = [SilverTree(TREE, -0.1, "fallback" if number in failed else "complete") for number in range(n)]
    return SilverTreebank(sentences, trees, {}, [{"name": "text"}])


def numbers(sentences) -> list[int]:
    return [int(sentence.tree.words[3]) for sentence in sentences]


def test_a_tenth_is_held_out_and_the_order_stays():
    train, held = split_parses(silver_trees(30, 9, 10))
    assert numbers(held) == [9, 19, 29], "also what the parser did not finish: it takes time"
    assert sorted(numbers(train)) == [k for k in range(30) if k % 10 != 9 and k != 10]
    assert numbers(train) == numbers(split_parses(silver_trees(30, 9, 10))[0]) != sorted(numbers(train))
    assert train[0].tree.labels == ("TOP", "S", "NP", "VP") and train[0].source == "text"
    _, held = split_parses(silver_trees(2500))
    assert numbers(held) == [k for k in range(2500) if k // 10 % 10 == 9], "neighbours together"
    with pytest.raises(TrainingDataError, match="9 sentences are too few to train and to measure on"):
        split_parses(silver_trees(9))
    with pytest.raises(TrainingDataError, match="the parser finished none of the 12 sentences"):
        split_parses(silver_trees(12, *range(12)))


def test_every_token_has_the_category_of_the_tree_that_is_built():
    tree = parse_tree("(TOP (S (`` ``) (NP (NP (DT The) (NN cat))) (VP (VBD slept)) (. .) ('' '')))")
    sentence = Sentence(tree, tree.tags, "made-up")
    (plain,) = label_sentences([sentence], Recipe.PLAIN, DIRECTIONAL)
    assert plain.words == tree.words and plain.tags == tree.tags
    assert plain.labels == tuple(format_directional(spine) for spine in directional_spines(Recipe.PLAIN.apply(tree)))
    (short,) = label_sentences([sentence], Recipe.TM2006, DIRECTIONAL)
    left = Recipe.TM2006.apply(tree)
    own = tuple(format_directional(spine) for spine in directional_spines(left))
    assert len(own) < len(short.labels) == len(tree.words)
    kept = Recipe.TM2006.prepare(tree.words, tree.tags).kept
    assert tuple(short.labels[k] for k in kept) == own
    gone = [k for k in range(len(tree.words)) if k not in kept]
    as_is = [format_directional(spine) for spine in directional_spines(tree)]
    assert gone and [short.labels[k] for k in gone] == [as_is[k] for k in gone]


def test_folders_of_text(tmp_path, nlp):
    (tmp_path / "deep").mkdir()
    for name in ("b.txt", "a.txt", "deep/c.txt", "notes.md"):
        (tmp_path / name).write_text("The old cat slept. A small dog saw the river.\n")
    found = text_files([f"{tmp_path},wrapped", str(tmp_path / "notes.md")])
    assert [file.path.name for file in found] == ["a.txt", "b.txt", "c.txt", "notes.md"]
    assert [file.wrapped for file in found] == [True, True, True, False]
    assert len(select_sentences(nlp, found, SentenceSelection())[0]) == 2, "the others are duplicates"
    sentences, counts = select_sentences(nlp, found, SentenceSelection(limit=1))
    assert [s.words[-2] for s in sentences] == ["slept"] and counts[0]["sentences"] == 1
    (tmp_path / "empty").mkdir()
    with pytest.raises(TrainingDataError, match=r"no \.txt file in this folder; give another folder, or files"):
        text_files([str(tmp_path / "empty")])
    with pytest.raises(ConfigError, match="the limit is 0 sentences; give 1 or more"):
        SentenceSelection(limit=0)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"files": ()}, r"no text to adapt to; give files or folders of plain text \(--text\)"),
        ({"categories": "tags"}, "categories are 'tags'; they must be one of spine, directional"),
        ({"sizes": (5, 2)}, r"the sizes are \[5, 2\]; give whole numbers from 0, the smallest first"),
        ({"sizes": (2, 2)}, r"the sizes are \[2, 2\]"),
        ({"sizes": ()}, r"the sizes are \[\]"),
        ({"sizes": (0, 2)}, "a tagger with 0 trees of the parser has no training data; also give --treebank FILE"),
        (
            {"annotate": (0.1,)},
            r"--annotate-betas needs a tagger trained on treebanks, but there is no treebank; also give",
        ),
        ({"annotate": (2.0,), "treebank": (TreebankFile(Path("a")),)}, r"betas are \[2.0\]; give numbers from 0 to 1"),
        ({"tune": ((0.1,),)}, r"--tune needs gold trees .*; give some \(--dev FILE\)"),
        ({"tune": ((0.1,),), "betas": (0.1,)}, "--betas and --tune are both given; give only one of them"),
        ({"tune": ((0.1, 2.0),), "dev": (TreebankFile(Path("a")),)}, r"to choose from are \[0.1, 2.0\]; give numbers"),
        ({"tune": ((),), "dev": (TreebankFile(Path("a")),)}, r"to choose from are \[\]; give numbers from 0 to 1"),
    ],
)
def test_settings_out_of_range(changes, message):
    given = {"pipeline": "embedded", "files": (TextFile(Path("a.txt")),), **changes}
    with pytest.raises(ConfigError, match=message):
        Adaptation(**given)


@pytest.fixture(scope="module")
def trees(tmp_path_factory):
    """A parser of a few sample trees, quickly trained."""
    folder = tmp_path_factory.mktemp("trees")
    recipe = FitRecipe.from_json(ROOT / "training" / "recipes" / "sample.json")
    recipe = FitRecipe.from_dict(
        apply_settings(recipe.to_dict(), ["path.lambda_floor=4", "n_workers=1", "filter_bits=12"])
    )
    train, dev = (TreebankFile(SAMPLE / f"{part}.mrg", limit=limit) for part, limit in (("train", 80), ("dev", 10)))
    train_boosted_parser(recipe, [train], [dev], folder / "work", folder / "trees.model", {"credits": ["the fixture"]})
    return folder / "trees.model"


@pytest.fixture(scope="module")
def grammar(tmp_path_factory):
    """A grammar without latent annotations of a few sample trees, which keeps to the tags of its words."""
    path = tmp_path_factory.mktemp("grammar") / "grammar.model"
    sentences = TreebankFile(SAMPLE / "train.mrg", limit=80).read()
    options = PcfgOptions(Markov(1, 0, "center-head", 1))
    PcfgParser(train_pcfg(sentences, options, {"credits": ["the grammar"]})).to_disk(path)
    return path


def saved(nlp, folder):
    nlp.to_disk(folder / "tagging")
    return folder / "tagging"


def with_parser(nlp, folder, model, factory="dtparse", **config):
    """A pipeline folder of the tagger and a model."""
    folder.mkdir(exist_ok=True)
    made = spacy.load(saved(nlp, folder))
    made.add_pipe(factory, config={"model": str(model), **config})
    made.to_disk(folder / "pipeline")
    return folder / "pipeline"


@pytest.mark.slow
def test_pipelines_that_cannot_be_adapted(nlp, tmp_path):
    untouched = str(saved(nlp, tmp_path))
    with pytest.raises(ConfigError, match="has no constituency parser, only sentencizer, attribute_ruler; add one"):
        open_pipeline(untouched)
    SpanParser(random_model()).to_disk(tmp_path / "span.model")
    spans = str(with_parser(nlp, tmp_path, tmp_path / "span.model", "span_parser"))
    with pytest.raises(ConfigError, match=r"of kind 'span', which does not use spines; replace it by"):
        open_pipeline(spans)
    with pytest.raises(ModelFormatError, match="neither an installed spaCy package nor a folder of one"):
        open_pipeline(str(tmp_path / "none"))
    with pytest.raises(ModelFormatError, match=r"there is no model file .*none\.model"):
        open_pipeline(untouched, tmp_path / "none.model")
    model = tmp_path / "random.model"
    DtreeParser(hand_made("shift_reduce", seed=1).model).to_disk(model)
    with pytest.raises(ConfigError, match=r"has no betas; give some, such as --betas 0\.1 0\.01"):
        open_pipeline(untouched, model, ())
    with pytest.raises(ConfigError, match=r"betas = \[2\.0\]; it is a list of numbers from 0 to 1"):
        open_pipeline(spans, model, (2.0,))


@pytest.mark.slow
def test_grammars_replace_the_parser_of_a_pipeline(nlp, grammar, tmp_path, monkeypatch):
    """In a pcfgla, instead of a dtparse, in a new component; the English grammar has a name."""
    trees = tmp_path / "random.model"
    DtreeParser(hand_made("shift_reduce", seed=1).model).to_disk(trees)
    data = grammar.read_bytes()
    for source, given, factory in (
        (with_parser(nlp, tmp_path / "a", grammar, "pcfgla"), None, "pcfgla"),
        (with_parser(nlp, tmp_path / "b", trees), grammar, "pcfgla"),
        (tmp_path / "a" / "tagging", grammar, "pcfgla"),
        (tmp_path / "a" / "tagging", trees, "dtparse"),
        (tmp_path / "a" / "pipeline", trees, "dtparse"),
    ):
        opened = open_pipeline(str(source), given)
        assert opened.pipe_names[-1] == factory and len(opened.pipe_names) == 3
        assert (get_component(opened).parser.to_bytes() == data) == (given != trees)
    with monkeypatch.context() as patch:
        patch.setattr(models, "find_spec", lambda module: None)
        with pytest.raises(ModelFormatError, match=r"pip install \./packages/en_pcfgla"):
            open_pipeline(str(tmp_path / "b" / "pipeline"), Path("embedded-pcfgla"))
    write_package(tmp_path, "en_pcfgla", "pcfgla", data)
    monkeypatch.syspath_prepend(tmp_path)
    opened = open_pipeline(str(tmp_path / "b" / "pipeline"), Path("embedded-pcfgla"))
    assert opened.pipe_names[-1] == "pcfgla" and get_component(opened).parser.to_bytes() == data


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*of the same pipeline writes")
def test_of_two_parsers_the_first_gets_the_tagger(nlp, grammar, tmp_path):
    trees, spines = tmp_path / "random.model", tmp_path / "spines.model"
    DtreeParser(hand_made("shift_reduce", ("NP", "VP", "S", "PP", "TOP"), seed=1).model).to_disk(trees)
    SequenceTagger(random_tagger(0, 0.3, cutoff=99)).to_disk(spines)
    both = spacy.load(with_parser(nlp, tmp_path, grammar, "pcfgla", spines_key=None, prune=0.001))
    both.add_pipe("dtparse", config={"model": str(trees), "budget": 30, "spans_key": "others", "spines_key": None})
    both.to_disk(tmp_path / "both")
    made = write_pipeline(open_pipeline(str(tmp_path / "both"), betas=(0.3, 0.02)), spines, tmp_path / "out")
    assert made.pipe_names[-3:] == ["spine_tagger", "pcfgla", "dtparse"]
    first, second = made.get_pipe("pcfgla"), made.get_pipe("dtparse")
    assert (first.spines_key, second.spines_key) == ("spines", None) and first.betas == [0.3, 0.02]
    settings, others = first.configured_parser.settings, second.configured_parser.settings
    assert (settings.betas, settings.prune, others.betas) == ((0.3, 0.02), 0.001, (0.1, 0.01))
    assert made.get_pipe_config("spine_tagger")["beta"] == 0.02 and "the grammar" in made.meta["credits"]
    doc = made("The old cat slept on it.")
    (info,), (other,) = (doc.spans[key].attrs["sentences"] for key in ("constituents", "others"))
    assert (info["n_searches"], info["ambiguity"] is None) != (1, True), "it was offered some"
    assert (other["n_searches"], other["ambiguity"]) == (1, None)


@pytest.mark.slow
def test_a_pipeline_gets_its_tagger_before_its_parser(nlp, tmp_path):
    model, spines = tmp_path / "random.model", tmp_path / "spines.model"
    parser = DtreeParser(hand_made("shift_reduce", ("NP", "VP", "S", "PP", "TOP"), seed=1).model)
    parser.to_disk(model)
    SequenceTagger(random_tagger(0, 0.3, cutoff=99)).to_disk(spines)
    source = with_parser(nlp, tmp_path, model, spines_key=None, budget=30)
    (source / "LICENSE.txt").write_text("terms")
    opened = open_pipeline(str(source), betas=(0.3, 0.02))
    opened.meta["performance"] = {"const_f": 0.9, "tag_acc": 0.8}
    made = write_pipeline(opened, spines, tmp_path / "out")
    model.unlink()
    assert made.pipe_names == ["sentencizer", "attribute_ruler", "spine_tagger", "dtparse"]
    component = get_component(made)
    assert component.spines_key == "spines" and component.configured_parser.settings.betas == (0.3, 0.02)
    assert made.get_pipe_config("spine_tagger")["beta"] == 0.02 and component.configured_parser.settings.budget == 30
    assert made.meta["performance"] == {"tag_acc": 0.8} and (tmp_path / "out" / "LICENSE.txt").read_text() == "terms"
    wanted = sentence_infos(made("The old cat slept on it."))
    assert wanted[0]["ambiguity"] is not None
    again = write_pipeline(open_pipeline(str(tmp_path / "out")), spines, tmp_path / "out")
    assert again.pipe_names == made.pipe_names, "the new tagger takes the place of the old one"
    assert sentence_infos(again("The old cat slept on it.")) == wanted
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "notes").write_text("mine")
    with pytest.raises(ConfigError, match="exists and is no pipeline; give a new folder"):
        write_pipeline(again, spines, tmp_path / "own")


@pytest.mark.slow
@compiled
def test_the_command(trees, nlp, tmp_path, capsys):
    source = with_parser(nlp, tmp_path, trees)
    (tmp_path / "texts").mkdir()
    (tmp_path / "texts" / "plain.txt").write_text((SAMPLE / "plain.txt").read_text())
    work, out = tmp_path / "work", tmp_path / "adapted"
    dev = f"{SAMPLE / 'dev.mrg'},limit=12"
    command = [
        "adapt", str(source), "--text", str(tmp_path / "texts"), "--workers", "1", "--set", "epochs=3",
        "--out", str(out),
    ]  # fmt: skip
    sized = [*command, "--treebank", f"{SAMPLE / 'train.mrg'},limit=80", "--dev", dev, "--workdir", str(work)]
    assert main([*sized, "--sizes", "0", "10", "5000"]) == 0
    printed = capsys.readouterr().out
    plain, *results = json.loads((work / "result.json").read_text())["rows"]
    most = results[-1]["size"]
    assert [result["size"] for result in results] == [0, 10, most] and plain["size"] is None and most > 20
    assert f"the text has only {most} training trees; they are used for 5000" in printed
    rows = [line for line in (work / "table.md").read_text().splitlines() if line.startswith("|")]
    table = rows[:6]
    assert [row.split("|")[1].strip() for row in table[2:]] == ["no tagger", "0", "10", str(most)]
    assert len({row.count("|") for row in table}) == 1 and (work / "table.md").read_text() in printed
    assert printed.count("on 6 held-out sentences") == 2 and len(rows) == 6 + 2 * 11
    assert (plain["text"]["f1"], plain["text"]["equal"]) == (1.0, 1.0), "the parser agrees with itself"
    parser = load_parser(trees)
    gold = TreebankFile.parse(dev).read()
    for result in results:
        assert len(result["text"]["seconds"]) == len(plain["text"]["seconds"]) == 6
        assert 0 < result["text"]["f1"] <= 1 and result["dev"]["tokens"] == sum(len(s.tags) for s in gold)
        assert max(result["text"]["searches"]) <= 1 + len(parser.settings.betas)
    assert results[0]["text"]["tagging"] != results[-1]["text"]["tagging"], "its text changed the tagger"

    adapted = spacy.load(out)
    assert adapted.pipe_names[-2:] == ["spine_tagger", "dtparse"] and "the fixture" in adapted.meta["credits"]
    tagger = adapted.get_pipe("spine_tagger").parser
    assert tagger.to_bytes() == (work / str(most) / "tagger.model").read_bytes()
    assert tagger.meta["sentences"] == 80 + most and tagger.meta["categories"] == "directional"
    doc = adapted("The old ferry left the harbour before noon. Rain fell on the town.")
    assert all(info["n_searches"] >= 1 and math.isfinite(info["cost"]) for info in sentence_infos(doc))

    assert main([*sized, "--sizes", "0", "10", "5000"]) == 0
    again = capsys.readouterr().out
    assert "chunk" not in again and "epoch" not in again, "nothing is parsed or learned again"
    assert again[again.index("| parser") :] == printed[printed.index("| parser") :]
    assert main([*sized, "--sizes", "10", "--betas", "0.2"]) == 0
    assert "epoch" not in capsys.readouterr().out
    assert spacy.load(out).get_pipe("dtparse").configured_parser.settings.betas == (0.2,)
    assert main([*sized, "--sizes", "0", "10", "--tune", "0.5,0.05", "0.01"]) == 0
    printed = capsys.readouterr().out
    assert "epoch" not in printed and "betas chosen on 6 sentences of dev" in printed
    plain, *results = json.loads((work / "result.json").read_text())["rows"]
    assert plain["betas"] is None and len(plain["dev"]["seconds"]) == 6
    assert {tuple(result["betas"]) for result in results} <= {(0.5, 0.05), (0.01,)}
    shown = [line.split("|")[2].strip() for line in printed.splitlines() if line.startswith("| ")]
    assert shown[1:4] == ["–", *(", ".join(map(str, result["betas"])) for result in results)]
    tuned = spacy.load(out).get_pipe("dtparse").configured_parser.settings.betas
    assert tuned == tuple(results[-1]["betas"])
    assert spacy.load(out).get_pipe("spine_tagger").beta == min(tuned)
    assert main([*sized, "--tune", "0.5;0.05"]) == 1
    assert "--tune 0.5;0.05: give numbers separated by commas, such as 0.1,0.01" in capsys.readouterr().err
    assert main([*sized, "--sizes", "10", "--limit", "20"]) == 1
    assert "holds a run with other limit (was None, now 20)" in capsys.readouterr().err
    for other, name in ((["--set", "epochs=2"], "options.epochs (was 3, now 2)"), (["--treebank", dev], "treebank")):
        assert main([*sized, *other, "--sizes", "10"]) == 1
        assert f"holds a run with other {name}" in capsys.readouterr().err
    assert main([*command, "--categories", "spine", "--limit", "25"]) == 0, "without a treebank and a workdir"
    assert "-" in spacy.load(out).get_pipe("spine_tagger").labels
    assert main([*command[:2], "--out", str(out)]) == 1
    assert "no text to adapt to" in capsys.readouterr().err


@compiled
@pytest.mark.slow
def test_the_command_with_a_grammar(grammar, nlp, tmp_path, capsys):
    """A grammar that gives no confidence can annotate, too."""
    source = with_parser(nlp, tmp_path, grammar, "pcfgla", prune=0.001)
    work, out = tmp_path / "work", tmp_path / "out"
    command = [
        "adapt", str(source), "--text", str(SAMPLE / "plain.txt"), "--limit", "40", "--workers", "1", "--treebank",
        f"{SAMPLE / 'train.mrg'},limit=40", "--dev", f"{SAMPLE / 'dev.mrg'},limit=8", "--sizes", "0", "20",
        "--set", "epochs=2", "--betas", "0.2", "0.02", "--workdir", str(work), "--out", str(out),
    ]  # fmt: skip
    assert main(command) == 0
    printed = capsys.readouterr().out
    assert f"{out}: a pipeline with a spine_tagger before its parser" in printed
    plain, *results = json.loads((work / "result.json").read_text())["rows"]
    assert (plain["text"]["f1"], plain["text"]["equal"]) == (1.0, 1.0), "the parser agrees with itself"
    assert plain["text"]["searches"] == [1] * 4 and len(results) == 2
    for result in results:
        assert list(result["text"]["tagging"]["betas"]) == ["0.2", "0.02"] and 0 < result["dev"]["f1"] <= 1
        assert min(result["text"]["searches"]) == 1 and max(result["text"]["searches"]) <= 3
    adapted = spacy.load(out)
    assert adapted.pipe_names[-2:] == ["spine_tagger", "pcfgla"]
    settings = adapted.get_pipe("pcfgla").configured_parser.settings
    assert (settings.prune, settings.betas) == (0.001, (0.2, 0.02))
    text = "The old ferry left the harbour before noon. Rain fell on the town."
    infos = sentence_infos(adapted(text))
    assert any(info["ambiguity"] is not None for info in infos)
    with adapted.select_pipes(disable=["spine_tagger"]):
        assert [(info["n_searches"], info["ambiguity"]) for info in sentence_infos(adapted(text))] == [(1, None)] * 2
    assert main(command) == 0
    assert "epoch" not in capsys.readouterr().out, "nothing is learned again"

    def annotated(work: Path, *tagger: SequenceTagger) -> int:
        """Check the trees that the text got: with the tagger's spines or without; how many are other than without."""
        sentences = json.loads((work / "text" / "sentences.json").read_text())["sentences"]
        (chunk,) = (work / "text" / "chunks").iterdir()
        other = 0
        for (_, words, tags), (tree, *_) in zip(sentences, json.loads(chunk.read_text())["trees"], strict=True):
            supertags = [one.multitag(words, tags, 0.01) for one in tagger]
            assert tree == write_tree(parser.parse(words, tags, *supertags).tree)
            other += tree != write_tree(parser.parse(words, tags).tree)
        return other

    parser = load_parser(grammar).with_settings(prune=0.001, betas=(0.1, 0.01))
    tagger = load_tagger(work / "0" / "tagger.model")
    assert tagger.meta["sentences"] == 40
    dev = TreebankFile.parse(f"{SAMPLE / 'dev.mrg'},limit=8").read()
    tagged = [Sentence(s.tree, s.tags, "dev") for s in dev]
    variants = [TaggerVariant(None, ()), TaggerVariant(tagger, (0.1, 0.01))]
    unrestricted, pruned = measure(parser, tagged, label_sentences(tagged, parser.recipe, DIRECTIONAL), variants)
    assert (
        f"F1 is {100 * unrestricted['f1']:.2f} alone and {100 * pruned['f1']:.2f} with that tagger: it parses"
        in printed
    )
    helps = pruned["f1"] >= unrestricted["f1"]
    assert ("parses the text with it" in printed) == helps
    annotated(work, *([tagger] if helps else []))
    for name, betas in (("spined", ["0.1", "0.01"]), ("alone", [])):
        assert main([*command, "--annotate-betas", *betas, "--workdir", str(tmp_path / name)]) == 0
        assert "it parses the text" not in capsys.readouterr().out
        assert bool(annotated(tmp_path / name, *([tagger] if betas else []))) == bool(betas)
    assert main([*command, "--annotate-betas", *(() if helps else ("0.1", "0.01"))]) == 1
    assert "holds a run with other" in capsys.readouterr().err
