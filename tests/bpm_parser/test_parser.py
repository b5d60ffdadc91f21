"""DependencyParser: best trees, settings, bad input, long sentences, the same bits in any order, thread or process."""

from __future__ import annotations

import multiprocessing
import pickle
import random
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from spacy_dtparse.bpm_parser.features import TokenColumns
from spacy_dtparse.bpm_parser.kernels.links import ALL_LINKS, make_guide, score_links
from spacy_dtparse.bpm_parser.parser import DependencyParser, DependencyResult, best_tree
from spacy_dtparse.bpm_parser.parser import best_trees as k_best
from spacy_dtparse.core import load_dependency_parser, load_parser
from spacy_dtparse.core.settings import DependencySettings
from spacy_dtparse.errors import ConfigError, DtparseError, ModelFormatError
from spacy_dtparse.span_parser.parser import SpanParser
from tests.dependency_models import LABELS, SENTENCES, random_model
from tests.jit.harness import KERNEL_MARKS, SLOW
from tests.reference.dependencies import best_trees, is_projective, is_tree
from tests.span_models import random_model as random_span_model

pytestmark = KERNEL_MARKS

DECODERS = ("projective", "spanning")


def cut(sentence: TokenColumns, most: int, start: int = 0) -> TokenColumns:
    return TokenColumns(*(column[start : start + most] for column in sentence))


def work() -> list[TokenColumns]:
    """Sentences of several lengths, of seen and unseen words."""
    rng, found = random.Random(4), list(SENTENCES)
    rows = [row for sentence in SENTENCES for row in zip(*sentence[:4], strict=True)] + [("gnu", "XX", "X", "gnu")]
    for n in (1, 4) if SLOW else (1, 2, 30, 4, 12, 9):
        found.append(TokenColumns(*zip(*(rng.choice(rows) for _ in range(n)), strict=True)))
    return found


def heads_from_root(result: DependencyResult) -> tuple[int, ...]:
    return (-1, *(head + 1 for head in result.heads))


def parse_all(parser: DependencyParser, sentences: list[TokenColumns]) -> list[str]:
    return [f"{result!r} {result.score.hex()}" for result in map(parser.parse, sentences)]


@pytest.mark.parametrize("decoder", DECODERS)
def test_every_sentence_gets_a_tree(decoder: str) -> None:
    parser = DependencyParser(random_model(), DependencySettings(decoder=decoder))
    crossing = 0
    for sentence in work():
        result = parser.parse(sentence)
        heads = heads_from_root(result)
        assert len(result.heads) == len(result.labels) == len(sentence.words) and is_tree(heads)
        assert result.status == "optimal"
        crossing += not is_projective(heads)
        for head, label in zip(result.heads, result.labels, strict=True):
            assert (label == "root") == (head == -1) and label in LABELS
        scores = parser.link_scores(sentence)
        assert result.score == sum(scores[head, d] for d, head in enumerate(heads[1:], 1))
    assert bool(crossing) == (decoder == "spanning")


@pytest.mark.parametrize("decoder", DECODERS)
@pytest.mark.parametrize("stages", [1, 2])
def test_the_k_best_trees_are_those_of_the_enumeration(decoder: str, stages: int) -> None:
    parser = DependencyParser(random_model(stages, seed=stages), DependencySettings(decoder=decoder))
    for sentence in (cut(SENTENCES[0], 4), SENTENCES[2], SENTENCES[1], SENTENCES[3]):
        found = parser.parse_k_best(sentence, 8)
        expected = best_trees(parser.link_scores(sentence), decoder == "projective", 8)
        assert [(heads_from_root(result), result.score) for result in found] == expected
        assert found[0] == parser.parse(sentence) and parser.parse_k_best(sentence, 1) == found[:1]
        assert all(len(result.labels) == len(sentence.words) for result in found)
    assert [result.heads for result in parser.parse_k_best(SENTENCES[3], 99)] == [(-1,)], "there is no other"


@pytest.mark.parametrize("projective", [True, False])
@pytest.mark.parametrize("kind", ["ties", "forbidden"])
def test_all_trees_of_a_matrix_come_in_order(projective: bool, kind: str) -> None:
    rng = np.random.default_rng(3)
    for n in (1, 2, 3, 4):
        scores = rng.integers(-1, 2, (n + 1, n + 1)).astype(float)
        if kind == "forbidden":
            scores[rng.random(scores.shape) < 0.3] = -np.inf
        found = [(tuple(heads.tolist()), score) for heads, score in k_best(scores, projective, 1000)]
        assert found == best_trees(scores, projective, 1000)
        if found:
            heads, score = best_tree(scores, projective)
            assert (tuple(heads.tolist()), score) == found[0]
        else:
            with pytest.raises(DtparseError, match="no tree is left"):
                best_tree(scores, projective)
    assert k_best(np.full((3, 3), -np.inf), projective, 5) == []


def test_a_stage_is_guided_by_the_best_tree_of_the_one_before() -> None:
    model = random_model(3)
    parser = DependencyParser(model)
    for sentence in SENTENCES:
        atoms, n, guide = model.parts.encode(sentence), len(sentence.words), None
        for stages, (slots, weights) in enumerate(model.tables, 1):
            scores = np.zeros((n + 1, n + 1))
            score_links(atoms, make_guide(guide), slots, weights, ALL_LINKS, scores)
            some = parser.with_settings(stages=stages)
            assert np.array_equal(some.link_scores(sentence), scores)
            guide = np.array(heads_from_root(some.parse(sentence)), np.int32)
    assert parser.with_settings(stages=1).parse(SENTENCES[0]).heads != parser.parse(SENTENCES[0]).heads
    assert parser.with_settings(stages=1).describe()["stages"] == "1 of 3"


def test_order_threads_and_processes_do_not_matter() -> None:
    parser, sentences = DependencyParser(random_model()), work()
    expected = parse_all(parser, sentences)
    assert parse_all(parser, sentences[::-1])[::-1] == expected
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(lambda _: parse_all(parser, sentences), range(4))) == [expected] * 4
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        assert pool.submit(parse_all, parser, sentences).result(timeout=240) == expected


def test_a_pickle_keeps_model_and_settings() -> None:
    parser = DependencyParser(random_model(), DependencySettings("spanning", 1, 5))
    again = pickle.loads(pickle.dumps(parser))
    assert again.settings == parser.settings and again.to_bytes() == parser.to_bytes()
    assert parse_all(again, work()) == parse_all(parser, work())


@pytest.mark.parametrize("most", [1, 2, 3, 6])
def test_a_long_sentence_is_parsed_in_pieces(most: int) -> None:
    parser = DependencyParser(random_model())
    long = parser.with_settings(max_tokens=most)
    sentence = SENTENCES[0]
    result = long.parse(sentence)
    assert result.status == "pieces" and is_tree(heads_from_root(result)), "one tree"
    total, before = 0.0, -1
    for start in range(0, 7, most):
        piece = parser.parse(cut(sentence, most, start))
        total += piece.score
        for place, (head, label) in enumerate(zip(piece.heads, piece.labels, strict=True), start):
            if head < 0:
                assert result.heads[place] == before and result.labels[place] == ("root" if before < 0 else "punct")
                root = place
            else:
                assert (result.heads[place], result.labels[place]) == (head + start, label)
        before = root
    assert result.score == total
    with pytest.raises(DtparseError, match=rf"7 tokens are more than max_tokens \({most}\); split the sentence"):
        long.parse_k_best(sentence, 2)
    assert parser.with_settings(max_tokens=7).parse(sentence) == parser.parse(sentence)


def test_a_very_long_sentence_is_parsed() -> None:
    n = 40 if SLOW else 1500
    sentence = TokenColumns(*((column * n)[:n] for column in SENTENCES[0]))
    result = DependencyParser(random_model(1)).with_settings(max_tokens=20).parse(sentence)
    assert len(result.heads) == n and result.heads.count(-1) == 1 and result.labels.count("root") == 1


def test_the_label_between_pieces_is_parataxis_where_there_is_one() -> None:
    model = replace(random_model(1), label_names=("root", "parataxis", "obj", "det", "punct"))
    result = DependencyParser(model).with_settings(max_tokens=1).parse(SENTENCES[1])
    assert result.labels == ("root", "parataxis") and result.heads == (-1, 0)


def test_without_a_labeller_there_are_no_labels() -> None:
    parser = DependencyParser(random_model(labels=False))
    assert parser.parse(SENTENCES[0]).labels == () and parser.describe()["label weights"] == 0
    assert parser.parse(SENTENCES[0]).heads == DependencyParser(random_model()).parse(SENTENCES[0]).heads
    assert parser.with_settings(max_tokens=3).parse(SENTENCES[0]).labels == ()


@pytest.mark.parametrize(
    ("rules", "sentence", "message"),
    [
        ({}, TokenColumns(()), "an empty sentence has no tree; give at least one word"),
        ({}, TokenColumns(("a", "b")), "2 words but 0 tags"),
        ({}, TokenColumns(("a", "b"), ("DT",)), "2 words but 1 tags"),
        ({"source": "pos"}, TokenColumns(("a",), ("DT",)), "1 words but 0 pos"),
        ({"source": "pos+tag"}, TokenColumns(("a",), (), ("DET",)), "1 words but 0 tags"),
        ({"source": "pos+tag"}, TokenColumns(("a",), ("DT",)), "1 words but 0 pos"),
        ({"stem": "lemma"}, TokenColumns(("a",), ("DT",)), "1 words but 0 lemmas"),
        ({}, TokenColumns(("a", "b"), ("DT", "NN"), ("DET",)), "2 words but 1 pos"),
        ({}, TokenColumns(("a", "b"), ("DT", "NN"), (), ("a", "b", "c")), "2 words but 3 lemmas"),
    ],
)
def test_bad_input_is_refused(rules: dict, sentence: TokenColumns, message: str) -> None:
    parser = DependencyParser(random_model(1, **rules))
    for parse in (parser.parse, parser.link_scores, lambda given: parser.parse_k_best(given, 2)):
        with pytest.raises(DtparseError, match=message):
            parse(sentence)


@pytest.mark.parametrize(
    ("heads", "labels", "message"),
    [
        ((), (), "2 words but 0 guide_heads; the model reads them"),
        ((-1, 0), (), "2 words but 0 guide_labels; the model reads them"),
        ((1, 0), ("x", "x"), "guide's heads are no trees: they leave the sentence or go round in a circle"),
        ((-1, 2), ("x", "x"), "guide's heads are no trees"),
        ((-1, -2), ("x", "x"), "guide's heads are no trees"),
    ],
)
def test_a_guide_that_is_none_is_refused(heads: tuple, labels: tuple, message: str) -> None:
    parser = DependencyParser(random_model(1, guide="constituents"))
    assert parser.needs_guide and not DependencyParser(random_model(1)).needs_guide
    with pytest.raises(DtparseError, match=message):
        parser.parse(SENTENCES[1]._replace(guide_heads=heads, guide_labels=labels))


def test_pieces_of_a_guided_sentence_have_pieces_of_the_guide() -> None:
    parser = DependencyParser(random_model(1, guide="constituents"))
    guided = SENTENCES[2]._replace(guide_heads=(1, 2, -1, 4, 2), guide_labels=("a",) * 5)
    assert is_tree(heads_from_root(parser.parse(guided)))
    first = parser.parse(cut(guided, 3)._replace(guide_heads=(1, 2, -1)))
    second = parser.parse(cut(guided, 2, 3)._replace(guide_heads=(1, -1)))
    result = parser.with_settings(max_tokens=3).parse(guided)
    assert result.score == first.score + second.score and result.heads[:3] == first.heads
    assert parser.parse(guided._replace(guide_heads=(-1,) * 5)).heads, "several roots are allowed"


def test_unseen_words_and_tags_are_parsed() -> None:
    parser = DependencyParser(random_model())
    result = parser.parse(TokenColumns(("été", "a b", "<root>"), ("NEVER", "", "<after>")))
    assert is_tree(heads_from_root(result))
    with pytest.raises(ConfigError, match="k is 0; it must be 1 or more"):
        parser.parse_k_best(SENTENCES[0], 0)


def test_only_the_columns_in_use_matter() -> None:
    by_tag, by_pos = DependencyParser(random_model(1)), DependencyParser(random_model(1, source="pos"))
    words, tags, pos, lemmas, *_ = SENTENCES[0]
    assert by_tag.parse(TokenColumns(words, tags)) == by_tag.parse(SENTENCES[0])
    assert by_pos.parse(TokenColumns(words, (), pos)) == by_pos.parse(SENTENCES[0])
    by_lemma = DependencyParser(random_model(1, stem="lemma"))
    assert by_lemma.parse(TokenColumns(words, tags, (), lemmas)) == by_lemma.parse(SENTENCES[0])
    assert (by_lemma.needs_lemmas, by_pos.needs_lemmas) == (True, False)
    assert (by_tag.source, by_pos.source) == ("tag", "pos") and by_tag.labels == LABELS
    assert by_tag.name == "dependency" and by_tag.meta["name"] == "random"
    assert by_pos.describe()["tags"] == "9 of pos"


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"decoder": "greedy"}, "parser setting 'decoder' is 'greedy'; it must be 'projective' or 'spanning'"),
        ({"stages": 0}, "'stages' is 0; it must be a whole number from 1"),
        ({"stages": 3}, "'stages' is 3; the model has 2"),
        ({"stages": True}, "'stages' is True; it must be a whole number"),
        ({"max_tokens": 0}, "'max_tokens' is 0; it must be a whole number from 1"),
        ({"max_tokens": 2.5}, "'max_tokens' is 2.5; it must be a whole number"),
    ],
)
def test_settings_are_checked(settings: dict, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        DependencyParser(random_model(2)).with_settings(**settings)


def test_settings_stay_unless_they_are_changed() -> None:
    parser = DependencyParser(random_model(decoder="spanning"))
    assert parser.describe()["decoder"] == "spanning"
    changed = parser.with_settings(decoder="projective").with_settings(max_tokens=9)
    assert changed.settings == DependencySettings("projective", None, 9)
    assert changed.describe()["decoder"] == "projective" and changed.describe()["max_tokens"] == 9
    with pytest.raises(ConfigError, match="unknown parser setting beam; allowed are decoder, stages, max_tokens"):
        DependencySettings().with_changes(beam=3)


def test_files_round_trip(tmp_path: Path) -> None:
    parser = DependencyParser(random_model())
    path = tmp_path / "model"
    parser.to_disk(path)
    again = load_dependency_parser(path)
    assert isinstance(again, DependencyParser) and again.to_bytes() == parser.to_bytes()
    assert again.parse(SENTENCES[0]) == parser.parse(SENTENCES[0])
    assert load_dependency_parser(parser.to_bytes()).parse(SENTENCES[0]) == parser.parse(SENTENCES[0])
    for loading in (load_parser, load_dependency_parser):
        with pytest.raises(ModelFormatError, match="there is no model file"):
            loading(tmp_path / "other")
        with pytest.raises(ModelFormatError, match=r"the model is empty \(0 bytes\)"):
            loading(b"")
    with pytest.raises(ModelFormatError, match="truncated"):
        load_dependency_parser(parser.to_bytes()[:-9])


def test_a_model_of_the_other_kind_is_named(tmp_path: Path) -> None:
    path = tmp_path / "model"
    DependencyParser(random_model(1)).to_disk(path)
    message = "model: a model of kind 'dependency' .* builds dependencies, not constituents; .*bpm_parser"
    with pytest.raises(ModelFormatError, match=message):
        load_parser(path)
    SpanParser(random_span_model(1)).to_disk(path)
    message = r"model: a model of kind 'span' .* builds constituents, not dependencies; .*'span_parser'"
    with pytest.raises(ModelFormatError, match=message):
        load_dependency_parser(path)
