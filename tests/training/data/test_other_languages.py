"""Treebanks of other languages and with labels of their own: schemes, tokens, head rules, parts, aliases of tags."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import spacy

from spacy_dtparse.errors import ConfigError, TrainingDataError
from spacy_dtparse.scoring.parseval import ALL, EVALB, score_sentence
from spacy_dtparse.span_parser.features import WordParts
from spacy_dtparse.trees import COLLINS, Tree, head_rules, parse_tree, read_trees, write_tree
from spacy_dtparse.trees.heads import LEFTMOST
from tests.span_models import count_parts
from training.data.converting import Conversion, convert_treebank, split_tokens
from training.data.corpus import Sentence, read_treebank
from training.data.heads import learn_head_rules, rules_for
from training.data.scheme import Scheme
from training.data.splitting import split_files
from training.data.tokens import blank_pipeline
from training.dtparse.training_set import build_lexicon
from training.span_parser.fitting import SpanOptions, make_training_data

ROOT = Path(__file__).resolve().parents[3]
ICELANDIC = """
( (META (ID x.1)) (S0 (S-MAIN (IP (NP-SUBJ (no_et_nf_kk Hundurinn (lemma hundur)))
   (VP (so_0_fh sefur (lemma sofa))))) (grm .)))
( (META (ID x.2)) (S0 (S-MAIN (IP (NP-SUBJ (person_nf_kk Jón Karl (lemma Jón Karl)))
   (VP (VP (so_1_þf_fh las (lemma lesa))) (NP-OBJ (no_et_þf_kvk bók (lemma bók)))))) (grm .)))
"""


def test_a_scheme_renames_takes_away_and_dissolves():
    scheme = Scheme(
        {"S0": "", "NP-SUBJ": "SUBJ", "NP": "Thing", "VP": "Pred"},
        {"grm": "mark"},
        r"([^_]+)(?:\w*?_(nf|þf)(?![^_]))?",
        [("Pred", "Pred")],
    )
    tree = parse_tree("(TOP (S0 (S-MAIN (NP-SUBJ (no_et_nf_kk a)) (VP (VP (so_1_þf_fh b)) (NP (st c)))) (grm .)))")
    done = "(TOP (S-MAIN (SUBJ (no_nf a)) (Pred (so_þf b) (Thing (st c)))) (mark .))"
    assert write_tree(scheme.apply(tree)) == done
    assert write_tree(Scheme().apply(tree)) == write_tree(tree)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"labels": {"NP": "NP-SBJ"}}, "to become 'NP-SBJ'"),
        ({"labels": ["NP"]}, "give an object"),
        ({"tags": {"NN": ""}}, "a tag is not empty"),
        ({"tag_pattern": "("}, "no regular expression"),
        ({"dissolve": ["VP"]}, "give pairs of labels"),
        ({"label": {}}, "with the keys labels, tags, tag_pattern, dissolve"),
    ],
)
def test_invalid_schemes(data, message, tmp_path):
    path = tmp_path / "scheme.json"
    path.write_text(json.dumps(data))
    with pytest.raises(ConfigError, match=message):
        Scheme.from_json(path)


@pytest.mark.parametrize("path", sorted((ROOT / "training" / "schemes").glob("*.json")), ids=lambda path: path.stem)
def test_shipped_schemes(path):
    scheme = Scheme.from_json(path)
    assert scheme.labels or scheme.tag_pattern


def test_plain_words_leaves_no_penn_label_or_tag():
    scheme = Scheme.from_json(ROOT / "training" / "schemes" / "plain_words.json")
    found = [scheme.apply(tree) for tree in read_trees(ROOT / "assets" / "everyday" / "dev.mrg")]
    assert all(label[1:].islower() for tree in found for label in tree.labels[1:])
    assert all(tag.islower() for tree in found for tag in tree.tags)


def test_tokens_with_spaces_are_split():
    tree = parse_tree("(TOP (S (NP (P Anna\u00a0Sól)) (V sér) (NP (D hér) (N a\u00a0b\u00a0c))))")
    apart = "(TOP (S (NP (P Anna) (P Sól)) (V sér) (NP (D hér) (N a) (N b) (N c))))"
    assert write_tree(split_tokens(tree)) == apart


def test_a_psd_treebank_is_converted_and_described(tmp_path):
    folder = tmp_path / "treebanks" / "mine"
    folder.mkdir(parents=True)
    (folder / "train.psd").write_bytes((ICELANDIC * 15).encode("latin-1"))
    how = Conversion("is", encoding="latin-1", limit=28, dev="1/2")
    done = convert_treebank(folder.parent, "mine", tmp_path / "out", how)
    assert done.counts == {"train": 10, "dev": 18}
    printed = "\n".join(done.findings)
    for words in ("NP-SUBJ is NP", "S0 spans 10 of 10", "5 tokens with spaces ('Jón Karl')", "6 tags"):
        assert words in printed
    assert (tmp_path / "out" / "mine" / "dev.spacy").is_file()
    with pytest.raises(ConfigError, match="leaves 0 trees for train"):
        convert_treebank(folder.parent, "mine", tmp_path / "out", Conversion("is", encoding="latin-1", dev="1/1"))
    with pytest.raises(ConfigError, match="--encoding latin-99 is unknown"):
        convert_treebank(folder.parent, "mine", tmp_path / "out", Conversion("is", encoding="latin-99"))
    with pytest.raises(ConfigError, match="--lang tlh: spaCy has no tokenizer for it"):
        convert_treebank(folder.parent, "mine", tmp_path / "out", Conversion("tlh"))
    with pytest.raises(
        TrainingDataError, match=r"there is no file .*test\.mrg; the folder has .*; name the file test\.mrg"
    ):
        convert_treebank(folder.parent, "mine", tmp_path / "out", Conversion("is", splits=("test",)))


def test_a_tokenizer_learns_what_the_trees_keep_whole():
    sentences = [["Sjá", "bls.", "2"], ["Þetta", "er", "bls.", "."], *[["Facebook-síða", "."]] * 10, ["Árið", "9", "."]]
    before, after = blank_pipeline("is"), blank_pipeline("is", sentences)
    text = "Sjá bls. á Netflix-síðu, árið 9."
    assert [token.text for token in after(text)] == ["Sjá", "bls.", "á", "Netflix-síðu", ",", "árið", "9", "."]
    assert len(before(text)) > len(after(text))
    again = spacy.blank("is").from_bytes(after.to_bytes())
    assert [token.text for token in again(text)] == [token.text for token in after(text)]


def test_head_rules_are_read_off_trees():
    train = list(read_trees(ROOT / "assets" / "everyday" / "train.mrg"))[:1500]
    dev = list(read_trees(ROOT / "assets" / "everyday" / "dev.mrg"))
    rules = learn_head_rules(train)
    assert {".", ","} <= rules.punctuation and "NN" not in rules.punctuation

    def agreement(others) -> float:
        pairs = [
            a == b
            for tree in dev
            for k, (a, b) in enumerate(zip(others.heads(tree), COLLINS.heads(tree), strict=True))
            if tree.ends[k] - tree.starts[k] > 1
        ]
        return sum(pairs) / len(pairs)

    assert agreement(rules) > 0.8 > 0.5 > agreement(LEFTMOST)
    assert rules_for("en", train) is COLLINS and rules_for("is", train) == rules
    own = Scheme.from_json(ROOT / "training" / "schemes" / "plain_words.json")
    learned = rules_for("en", [own.apply(tree) for tree in train])
    assert learned != head_rules("en"), "the English table does not know these labels"
    assert learned.rules["Rel"][0][1][0] in ("relation", "Thing")


def test_punctuation_of_any_tag_set_is_left_out():
    gold = parse_tree("(TOP (S (NP (no Jón)) (VP (so sefur)) (grm .)))")
    other = parse_tree("(TOP (S (NP (no Jón)) (VP (so sefur) (grm .))))")
    assert score_sentence(gold, other, EVALB).exact and not score_sentence(gold, other, ALL).exact
    assert score_sentence(gold, other, EVALB).tokens == 2
    bracket = parse_tree("(TOP (NP (no Jón) (grm -LRB-)))")
    assert score_sentence(bracket, bracket, EVALB).tokens == 2


def test_aliases_of_tags():
    words = WordParts.build(count_parts([(["a", "b"], ["NN", "VB"])] * 3))
    known = WordParts(words.tables, {"noun": "NN"})
    assert (known.encode(["a", "b"], ["noun", "VB"]) == words.encode(["a", "b"], ["NN", "VB"])).all()
    assert known.tag_ids(["noun", "NN", "other"]).tolist() == words.tag_ids(["NN", "NN", "other"]).tolist()
    again = WordParts.from_dict(known.to_dict())
    assert again.aliases == {"noun": "NN"} and "aliases" not in words.to_dict()


def test_files_are_split_at_random_into_parts(tmp_path):
    file = tmp_path / "all.mrg"
    file.write_text("".join(f"( (NP (N w{k % 8})) )\n" for k in range(10)))
    split_files([file], {"train": 5, "dev": 3}, tmp_path / "out", seed=1)
    parts = [(tmp_path / "out" / f"{part}.mrg").read_text().splitlines() for part in ("train", "dev")]
    assert list(map(len, parts)) == [5, 3] and len({*parts[0], *parts[1]}) == 8
    with pytest.raises(TrainingDataError, match="need 9 trees, but there are only 8 with different words"):
        split_files([file], {"train": 6, "dev": 3}, tmp_path / "out")
    with pytest.raises(ConfigError, match="each 1 or more"):
        split_files([file], {"train": 0}, tmp_path / "out")


def test_names_that_no_model_may_have_are_refused_before_training(tmp_path):
    file, tags = tmp_path / "all.mrg", tmp_path / "tags"
    file.write_text(f"( (S (NP (N cat)) ({'V' * 101} (V sat))) )\n", encoding="utf8")
    with pytest.raises(TrainingDataError, match=r"all\.mrg: a label is 'VVV.*of 1 to 100 characters.*; rename it"):
        read_treebank(file)
    file.write_text("( (S (NP (N cat)) (VP (V sat))) )\n", encoding="utf8")
    tags.write_text("N V\u00ad\n", encoding="utf8")
    with pytest.raises(TrainingDataError, match=r"a tag is 'V\\xad'; it must be a text, printable.*; rename it"):
        read_treebank(file, tags)
    many = [Tree.from_spans(["w"], [f"T{k}"], [(0, 1, "TOP"), (0, 1, f"L{k}")]) for k in range(512)]
    with pytest.raises(TrainingDataError, match="513 labels; a model has at most 512"):
        build_lexicon(many, 1)
    tall = Tree.from_spans(["cat"], ["N"], [(0, 1, "TOP"), *[(0, 1, f"L{k}") for k in range(20)]])
    usual = Tree.from_spans(["a", "cat"], ["D", "N"], [(0, 2, "TOP"), (0, 2, "S"), (1, 2, "NP")])
    sentences = [Sentence(tree, tree.tags, "x") for tree in (tall, tall, usual, usual)]
    assert make_training_data(sentences, (), SpanOptions()).chains == ((), ("NP",), ("S",))
