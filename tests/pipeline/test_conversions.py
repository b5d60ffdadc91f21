"""Sentences as NLTK's trees, CoNLL-U and plain data: by hand, with white space, chains, dependencies."""

from __future__ import annotations

import json
import sys

import pytest
import spacy
from spacy.tokens import Doc

from spacy_dtparse import cost, from_nltk, head, labels, parse_string, sentence_record, to_conllu, to_nltk, to_tree
from spacy_dtparse.errors import DtparseError, NonConstituentError, NotParsedError, TreeError, TreeFormatError
from spacy_dtparse.pipeline.extensions import register_extensions
from spacy_dtparse.trees import parse_tree

from .conftest import make_links_nlp
from .test_attributes import CHAIN, PLAIN, gold_doc

TEXT = "The old cat sat (quietly). She saw\nit."


class Node(list):
    """A list of children with a label: all that from_nltk uses of NLTK's trees."""

    def __init__(self, label, *children):
        super().__init__(children)
        self._label = label

    def label(self):
        return self._label


class TestNltk:
    """To NLTK and back."""

    def test_round_trips(self, nlp):
        nltk = pytest.importorskip("nltk")
        for sentence in nlp(TEXT).sents:
            tree = sentence._.to_nltk()
            assert isinstance(tree, nltk.Tree) and tree == nltk.Tree.fromstring(parse_string(sentence))
            assert from_nltk(tree) == parse_tree(str(to_tree(sentence)))
            assert from_nltk(nltk.ParentedTree.convert(tree)) == from_nltk(tree)
        doc = gold_doc("(TOP (S (VP (NP (NN rain)))))")
        assert [to_nltk(span).label() for span in doc._.constituents] == ["S", "VP", "NP"]
        assert to_nltk(doc[0]).leaves() == ["rain"] and to_nltk(gold_doc(PLAIN)[3]) == nltk.Tree("IN", ["on"])

    def test_without_nltk(self, monkeypatch):
        monkeypatch.setitem(sys.modules, "nltk.tree", None)
        register_extensions()
        with pytest.raises(DtparseError, match="not installed: pip install nltk"):
            gold_doc(PLAIN)[:]._.to_nltk()

    def test_white_space_has_no_tree(self):
        pytest.importorskip("nltk")
        with pytest.raises(NonConstituentError, match="white space has no tree"):
            to_nltk(gold_doc(PLAIN, space_after="the")[1:2])

    def test_from_objects_like_nltk_trees(self):
        it, sat = Node("NP", Node("PRP", "it")), Node("VP", Node("VBD", "sat"), Node("-LRB-", "("))
        assert from_nltk(Node("S", it, sat)) == parse_tree("(TOP (S (NP (PRP it)) (VP (VBD sat) (-LRB- -LRB-))))")
        assert from_nltk(Node("ROOT", Node("S", it))).labels == ("TOP", "S", "NP")
        assert from_nltk(Node("ROOT", Node("S", it)), top=None).labels == ("ROOT", "S", "NP")
        assert from_nltk(Node("NN", "New York")) == parse_tree("(TOP (NN New_York))")
        deep = Node("NN", "a")
        for _ in range(5000):
            deep = Node("NP", deep)
        assert len(from_nltk(deep)) == 5001
        for wrong, message in ((Node("S"), "has no children"), (Node("S", it, "sat"), "has siblings in")):
            with pytest.raises(TreeError, match=message):
                from_nltk(wrong)
        with pytest.raises(TreeFormatError):
            from_nltk(Node("S", it, Node("ROOT", it)))

    def test_leaves_of_chunk_trees(self):
        """NLTK's chunkers and its named-entity chunker write (word, tag) leaves, also beside nodes."""
        chunks = Node("S", Node("NP", ("the", "DT"), ("cat", "NN")), ("sat", "VBD"), ("(", "("), (3, "CD"), ("?", None))
        wanted = "(S (NP (DT the) (NN cat)) (VBD sat) (-LRB- -LRB-) (CD 3) (XX ?))"
        assert from_nltk(chunks) == parse_tree(wanted)
        assert from_nltk(Node("NP", ("New York", "NNP"))) == parse_tree("(NP (NNP New_York))")
        token = gold_doc(PLAIN)[1]
        for leaf, word in ((3, "3"), (2.5, "2.5"), (True, "True"), (token, token.text)):
            assert from_nltk(Node("S", Node("X", leaf))).words == (word,)
            assert from_nltk(Node("S", (leaf, "X"))) == from_nltk(Node("S", Node("X", leaf)))

    @pytest.mark.parametrize(
        ("wrong", "message"),
        [
            (Node("NP", None), "the leaf None in 'NP' is no word"),
            (Node("NP", b"cat"), "the leaf b'cat' in 'NP' is no word"),
            (Node("NP", ["cat"]), "the leaf .* in 'NP' is no word"),
            (Node("NP", ("cat", "NN", "B-NP")), r"'B-NP'\) is no pair \(word, tag\)"),
            (Node("NP", (("cat", "NN"), "B-NP")), "is no pair"),
            (Node("NP", ("cat", 3)), "is no pair"),
            (Node("NP", (None, "NN")), "the leaf None in 'NN' is no word"),
            (Node("NP", 3, 4), "the word '3' has siblings in 'NP'; give each word a node, its tag, or"),
            (Node("NP", ("cat", "NN"), "sat"), "the word 'sat' has siblings"),
            ("(S (NN a))", "is no tree; give an nltk.Tree"),
            (("cat", "NN"), "is no tree; give an nltk.Tree"),
            (None, "None is no tree"),
        ],
    )
    def test_leaves_that_are_no_words(self, wrong, message):
        with pytest.raises(TreeError, match=message):
            from_nltk(wrong)

    def test_nltks_own_chunk_trees(self):
        nltk = pytest.importorskip("nltk")
        chunker = nltk.RegexpParser("NP: {<DT>?<JJ>*<NN>}")
        tagged = [("the", "DT"), ("old", "JJ"), ("cat", "NN"), ("sat", "VBD"), (".", ".")]
        wanted = "(S (NP (DT the) (JJ old) (NN cat)) (VBD sat) (. .))"
        assert from_nltk(chunker.parse(tagged)) == parse_tree(wanted)
        assert from_nltk(nltk.chunk.conllstr2tree("the DT B-NP\ncat NN I-NP\nsat VBD O")).labels == ("TOP", "S", "NP")


CONLLU = """\
# sent_id = 1
# text = the cat sat on it .
1	the	_	_	DT	_	2	dep	_	_
2	cat	_	_	NN	_	3	dep	_	_
3	sat	_	_	VBD	_	0	root	_	_
4	on	_	_	IN	_	3	dep	_	_
5	it	_	_	PRP	_	4	dep	_	_
6	.	_	_	.	_	3	dep	_	_

# sent_id = 2
# text = go
1	go	_	_	VB	_	0	root	_	_

"""


class TestConllu:
    """Columns and heads."""

    def test_heads_by_the_rules(self):
        vocab = spacy.blank("en").vocab
        for space_after in (None, "the", "."):
            doc = gold_doc(PLAIN, CHAIN, vocab=vocab, space_after=space_after)
            assert to_conllu(doc) == CONLLU
        first, second = doc.sents
        assert to_conllu(first) == CONLLU.partition("\n\n")[0] + "\n\n"
        assert to_conllu(second, first_id=7).splitlines()[0] == "# sent_id = 7"

    def test_annotation_of_the_doc(self):
        vocab = spacy.blank("en").vocab
        doc = Doc(
            vocab,
            words=["Cats", "\n", "sat", "."],
            spaces=[False] * 4,
            pos=["NOUN", "SPACE", "VERB", "PUNCT"],
            lemmas=["cat", "", "sit", "."],
            morphs=["Number=Plur", "", "", ""],
            heads=[2, 0, 2, 1],
            deps=["nsubj", "dep", "ROOT", "punct"],
            tags=["NNS", "_SP", "VBD", "."],
        )
        assert to_conllu(doc).splitlines()[2:] == [
            "1\tCats\tcat\tNOUN\tNNS\tNumber=Plur\t2\tnsubj\t_\t_",
            "2\tsat\tsit\tVERB\tVBD\t_\t0\troot\t_\tSpaceAfter=No",
            "3\t.\t.\tPUNCT\t.\t_\t1\tpunct\t_\tSpaceAfter=No",  # its head is white space, whose head is Cats
            "",
        ]

    def test_neither_heads_nor_constituents(self):
        with pytest.raises(NotParsedError):
            to_conllu(Doc(spacy.blank("en").vocab, words=["a"]))

    def test_the_package_can_read_its_output(self, stored_link_model, tmp_path):
        from training.data.dependencies import read_conllu

        doc = make_links_nlp(stored_link_model)("The old cat sat on the mat. \n She saw it.")
        path = tmp_path / "out.conllu"
        path.write_text(to_conllu(doc), encoding="utf-8")
        read = list(read_conllu(path))
        assert [list(sentence.columns.words) for sentence in read] == [
            [token.text for token in sentence if not token.is_space] for sentence in doc.sents
        ]


def test_records(nlp):
    doc = nlp(TEXT)
    first, second = (json.loads(json.dumps(sentence_record(sentence))) for sentence in doc.sents)
    assert (first["text"], first["start_char"]) == (doc.text[first["start_char"] : first["end_char"]], 0)
    assert second["start_char"] == doc.text.index("She") and second["status"] == "optimal"
    for record, sentence in zip((first, second), doc.sents, strict=True):
        spans = [span for span in doc._.constituents if sentence.start <= span.start < sentence.end]
        assert len(spans) == len(record["constituents"])
        for found, span in zip(record["constituents"], spans, strict=True):
            assert doc.text[found["start_char"] : found["end_char"]] == span.text
            assert sentence[found["start"] : found["end"]].text == span.text and found["label"] == span.label_
            assert f"level-{found['level']}" == span.id_ and found["cost"] == cost(span)
            assert sentence[found["head"]] == head(span) and labels(span)[0] == found["label"]
        for found, token in zip(record["tokens"], sentence, strict=True):
            assert doc.text[found["start_char"] : found["end_char"]] == token.text == found["text"]
            assert (found["tag"], found["pos"]) == (token.tag_, token.pos_)
        assert record["tree"] == str(to_tree(sentence))
    assert [token["head"] for token in second["tokens"]] == [1, None, None, 1, 1]  # the third is the line's end
    assert set(first) == {
        "text", "start_char", "end_char", "tokens", "constituents", "tree", "status", "cost", "n_states", "n_scored",
        "greedy_optimal", "n_searches", "ambiguity", "tree_probability",
    }  # fmt: skip


def test_records_of_stored_tops_and_chains():
    doc = gold_doc("(TOP (NP (NN rain)) (. .))", "(TOP (S (VP (VB go))))", vocab=spacy.blank("en").vocab)
    first, second = map(sentence_record, doc.sents)
    assert [(c["label"], c["level"], c["head"]) for c in first["constituents"]] == [("TOP", 1, 0), ("NP", 1, 0)]
    assert [(c["label"], c["level"]) for c in second["constituents"]] == [("S", 1), ("VP", 2)]
    assert second["constituents"][0]["cost"] is None and second["constituents"][0]["start"] == 0
    with pytest.raises(NotParsedError):
        sentence_record(Doc(doc.vocab, words=["a"])[:])
