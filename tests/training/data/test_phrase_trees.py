"""Constituency trees of CoNLL-U treebanks: multiword tokens, empty nodes, tags, counts, the commands."""

from __future__ import annotations

from pathlib import Path

import pytest
import spacy

from spacy_dtparse.errors import TrainingDataError
from spacy_dtparse.trees import read_trees, write_tree
from training.cli import main
from training.data.phrase_trees import read_phrase_trees, training_tag

FRENCH = """\
# text = Le chat du voisin dort.
1	Le	le	DET	_	_	2	det	_	_
2	chat	chat	NOUN	_	Gender=Masc	6	nsubj	_	_
3-4	du	_	_	_	_	_	_	_	_
3	de	de	ADP	_	_	5	case	_	_
4	le	le	DET	_	_	5	det	_	_
5	voisin	voisin	NOUN	_	_	2	nmod	_	_
6	dort	dormir	VERB	_	VerbForm=Fin	0	root	_	SpaceAfter=No
6.1	_	_	NOUN	_	_	_	_	6:obj	_
7	.	.	PUNCT	_	_	6	punct	_	_

"""
SPANISH = """\
1-2	Dámelo	_	_	_	_	_	_	_	_
1	Da	dar	VERB	_	VerbForm=Fin	0	root	_	_
2	me	yo	PRON	_	Case=Dat	1	iobj	_	_
3	ahora	ahora	ADV	_	_	1	advmod	_	_

"""


def read(tmp_path: Path, text: str, lang: str = "fr"):
    path = tmp_path / "train.conllu"
    path.write_text(text, encoding="utf-8")
    return read_phrase_trees(path, lang)


def test_multiword_tokens_are_those_of_the_text(tmp_path):
    (tree,), (rows,), counts = read(tmp_path, FRENCH)
    assert write_tree(tree) == (
        "(TOP (S (NP (NP (DET Le) (NOUN chat)) (PP (ADP+DET du) (NP (NOUN voisin)))) (VP (VERB.Fin dort)) (PUNCT .)))"
    )
    assert str(counts) == (
        "phrases by rule from the dependencies of 1 sentences: 0 crossing arcs lifted, 0 heads repaired, 1 multiword "
        "tokens, 0 constituents inside them dropped, 1 empty nodes left out"
    )
    columns = [[row.split("\t")[k] for k in (1, 3, 4, 6, 7)] for row in rows.splitlines() if row]
    assert columns == [
        ["Le", "DET", "DET", "2", "det"],
        ["chat", "NOUN", "NOUN", "5", "nsubj"],
        ["du", "ADP", "ADP+DET", "4", "case"],
        ["voisin", "NOUN", "NOUN", "2", "nmod"],
        ["dort", "VERB", "VERB.Fin", "0", "root"],
        [".", "PUNCT", "PUNCT", "5", "punct"],
    ]


def test_tokens_with_spaces_become_several(tmp_path):
    text = FRENCH.replace("5\tvoisin", "5\t10 000")
    _, (rows,), _ = read(tmp_path, text)
    assert [row.split("\t")[1] for row in rows.splitlines() if row] == ["Le", "chat", "du", "10", "000", "dort", "."]
    assert rows.splitlines()[4].split("\t")[6:8] == ["4", "goeswith"]


def test_constituents_inside_a_multiword_token_are_dropped(tmp_path):
    (tree,), (rows,), counts = read(tmp_path, SPANISH, "es")
    assert [row.split("\t")[6:8] for row in rows.splitlines() if row] == [["0", "root"], ["1", "advmod"]]
    assert write_tree(tree) == "(TOP (S (VP (VERB.Fin+PRON Dámelo) (ADVP (ADV ahora)))))"
    assert counts.counts["dropped"] == 1


@pytest.mark.parametrize(
    ("pos", "features", "tag"),
    [
        ("VERB", "Mood=Ind|VerbForm=Fin", "VERB.Fin"),
        ("AUX", "Mood=Sub|Number=Sing|Person=3|Tense=Past", "AUX.Fin"),
        ("VERB", "Tense=Past", "VERB.Part"),
        ("VERB", "Person=3|Tense=Past", "VERB"),
        ("VERB", "", "VERB"),
        ("ADJ", "Tense=Past", "ADJ"),
        ("PRON", "Case=Acc|PronType=Rel", "PRON.Rel"),
        ("PRON", "PronType=Prs", "PRON"),
        ("NOUN", "Case=Gen|Number=Sing", "NOUN"),
        ("ADP", "Case=Acc", "ADP"),
        ("DET", "PronType=Int,Rel", "DET.Int"),
        ("PUNCT", "", "PUNCT"),
    ],
)
def test_tags_have_the_features_that_matter(pos: str, features: str, tag: str):
    assert training_tag(pos, features) == tag


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1\tChat\tchat\n\n", r"train.conllu:1: 3 columns; CoNLL-U has 10"),
        (FRENCH.replace("\t6\tnsubj", "\tx\tnsubj"), r"train.conllu:10: a head is 'x'; it must be a token's number"),
        (FRENCH.replace("5\tvoisin", "8\tvoisin"), "the sentence that ends here are not numbered 1, 2, 3"),
        (FRENCH.replace("\tnsubj", "\tsb").replace("\tnmod", "\tnk").replace("\tcase", "\tac"), "TIGER treebank"),
    ],
)
def test_faults_are_named_with_file_and_line(tmp_path, text: str, message: str):
    with pytest.raises(TrainingDataError, match=message):
        read(tmp_path, text)


def test_convert_takes_conllu_files(tmp_path, capsys):
    folder = tmp_path / "treebanks" / "mine"
    folder.mkdir(parents=True)
    (folder / "fr_mine-ud-train.conllu").write_text(FRENCH * 3, encoding="utf-8")
    (folder / "fr_mine-ud-dev.conllu").write_text(FRENCH, encoding="utf-8")
    assert not main(["convert", str(folder.parent), "mine", "--lang", "fr", "--out", str(tmp_path / "out")])
    printed = capsys.readouterr().out
    assert "mine: 3 train trees, 1 dev trees" in printed
    assert "fr_mine-ud-train.conllu: phrases by rule from the dependencies of 3 sentences" in printed
    assert (tmp_path / "out" / "mine" / "dev.conllu").is_file()
    trees = list(read_trees(tmp_path / "out" / "mine" / "dev.mrg"))
    assert [tree.labels[1] for tree in trees] == ["S"] and trees[0].tags[2] == "ADP+DET"


@pytest.mark.slow
def test_one_command_makes_a_pipeline_with_tags_constituents_and_dependencies(tmp_path, capsys):
    folder = tmp_path / "mini"
    folder.mkdir()
    sentences = [FRENCH, FRENCH.replace("chat", "chien"), FRENCH.replace("dort", "mange").replace("voisin", "jardin")]
    (folder / "train.conllu").write_text("".join(sentences * 20), encoding="utf-8")
    (folder / "dev.conllu").write_text("".join(sentences), encoding="utf-8")
    small = ["--span-set", "epochs=2", "--span-set", "shape.width=16", "--span-set", "shape.units=16"]
    arguments = ["--lang", "fr", "--parser", "span", "--folds", "2", "--workers", "1", "--tagger-set", "fit.epochs=4"]
    arguments += ["--seeds", "0"]
    out = tmp_path / "out"
    assert not main(["pipeline", str(folder), *arguments, *small, "--dependencies", "--out", str(out)])
    nlp = spacy.load(out / "pipeline")
    assert nlp.pipe_names[-2:] == ["span_parser", "bpm_parser"]
    doc = nlp("Le chat du voisin dort.")
    assert doc[2].text == "du" and doc[0].pos_ == "DET" and doc[2].tag_ == "ADP+DET"
    assert doc[4].dep_ == "ROOT" and doc[1].head == doc[4]
    assert doc.spans["constituents"][0].label_ == "S"


def test_dependencies_need_a_conllu_treebank(tmp_path, capsys):
    folder = tmp_path / "trees"
    folder.mkdir()
    (folder / "train.mrg").write_text("(TOP (NP (NN test)))\n" * 3)
    assert main(["pipeline", str(folder), "--dependencies", "--out", str(tmp_path / "out")])
    assert "--dependencies needs a CoNLL-U treebank" in capsys.readouterr().err
