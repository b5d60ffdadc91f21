"""Trees of .psd files: annotations other than words are left out, line numbers stay the same."""

from __future__ import annotations

import pytest
import spacy

from spacy_dtparse.errors import TreeFormatError
from spacy_dtparse.pipeline.corpus import read_docs
from spacy_dtparse.trees import read_trees, write_tree
from spacy_dtparse.trees.psd import plain_lines
from training.data.converting import convert_treebank
from training.data.treebanks import corpus_files
from training.data.verify import verify

TEXT = r"""( (META (ID-CORPUS 1.7)
        (ID-LOCAL made_up.psd,.1)
        (COMMENT ))
  (S0 (S-MAIN )
      (S-MAIN (IP (NP-SUBJ (person_nf Anna Karlsdóttir (lemma Anna Karlsdóttir)))
                  (VP (so_1 á (lemma eiga))
                      (NP-OBJ (no_et hestvagn (lemma hestvagn)
                                              (exp_seg hest-vagn))
                              (grm \( (lemma \())
                              (to tvo (lemma tveir))
                              (grm &#41; (lemma &#41;))))))
      (grm . (lemma .))))
( (IP-MAT (CODE <P_3>) (NP-SBJ (D The) (N R&amp;D-manager)) (VBD left) (. .)) (ID MADE,3.1))
"""


def test_trees_of_a_file(tmp_path) -> None:
    path = tmp_path / "made.psd"
    path.write_text(TEXT, encoding="utf8")
    first, second = read_trees(path)
    assert write_tree(first) == (
        "(TOP (S0 (S-MAIN (IP (NP-SUBJ (person_nf Anna\u00a0Karlsdóttir)) (VP (so_1 á) (NP-OBJ (no_et hestvagn) "
        "(grm -LRB-) (to tvo) (grm -RRB-))))) (grm .)))"
    )
    assert write_tree(second) == "(TOP (IP-MAT (NP-SBJ (D The) (N R&D-manager)) (VBD left) (. .)))"
    plain = tmp_path / "made.mrg"
    plain.write_text(TEXT, encoding="utf8")
    with pytest.raises(TreeFormatError, match=r"made.mrg:3:\d+: '\(COMMENT\)' has no word"):
        list(read_trees(plain))


def test_an_error_names_its_line(tmp_path) -> None:
    path = tmp_path / "made.psd"
    path.write_text(TEXT.replace("(to tvo (lemma tveir))", "(to tvo (note x))"), encoding="utf8")
    errors: list[TreeFormatError] = []
    (left,) = read_trees(path, on_error="skip", errors=errors)
    assert left.words[0] == "The" and len(errors) == 1
    assert f"{path}:10:" in str(errors[0]) and "'(to tvo (…' contains a word and a bracket" in str(errors[0])


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("(NP (N dog))", "(NP (N dog))"),
        ("(NP (N dog (lemma dog)) (COMMENT a (b c) \\( d))", "(NP (N dog  )  )"),
        ("( NP ( ID x ) (N \\&amp;))", "( NP   (N &))"),
        ("(X ) (Y\t) ( )", "    "),
        ("(N a\\b)", "(N ab)"),
        ("(NP (lemma", "(NP  "),
    ],
)
def test_lines(line: str, wanted: str) -> None:
    assert "".join(plain_lines([line])).split() == wanted.split()


def test_ignored_annotations_can_span_several_lines() -> None:
    lines = ["(NP (META (URL x", ") (Y (Z z))", ") (N dog)", ")"]
    assert [line.strip() for line in plain_lines(lines)] == ["(NP", "", "(N dog)", ")"]


def test_treebanks_of_the_form(tmp_path) -> None:
    """Folders and named parts are found, checked and converted as those of plain brackets are."""
    folder = tmp_path / "treebanks" / "made"
    folder.mkdir(parents=True)
    for part in ("train", "dev"):
        (folder / f"{part}.psd").write_text(TEXT, encoding="utf8")
    assert [check.trees for check in verify(folder.parent, ["made"])] == [2, 2]
    assert convert_treebank(folder.parent, "made", tmp_path / "corpus").counts == {"train": 2, "dev": 2}
    (file,) = corpus_files(folder.parent, ["made"], "dev")
    assert file.path == folder / "dev.psd"
    plain = list(read_trees(tmp_path / "corpus" / "made" / "dev.mrg"))
    assert write_tree(plain[0]).startswith("(TOP (S0 (S (IP (NP (person_nf Anna) (person_nf Karlsdóttir)) (VP ")
    docs = list(read_docs(folder, spacy.blank("is").vocab))
    assert [len(doc) for doc in docs] == [7, 4, 7, 4]
    (folder / "dev.mrg").write_text("(TOP (NP (NN test)))\n")
    assert corpus_files(folder.parent, ["made"], "dev")[0].path == folder / "dev.mrg"
