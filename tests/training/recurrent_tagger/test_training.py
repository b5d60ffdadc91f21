"""The taggers' trainer: reading, folds, blindness, resuming, and the saved spaCy pipeline."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import chain
from pathlib import Path

import numpy as np
import pytest
import spacy
from spacy.language import Language
from spacy.tokens import Doc

from spacy_dtparse.errors import ConfigError, TreeFormatError
from spacy_dtparse.recurrent_tagger.features import TokenParts
from training.cli import main
from training.data.corpus import long_block_folds
from training.data.evaluate import tag_lists
from training.data.tagged_treebanks import CorpusSentence, Treebank, consecutive_runs, read_tagged_sentences
from training.data.tokens import add_tokens
from training.recurrent_tagger import running as running_module
from training.recurrent_tagger.config import AugmentConfig, FitConfig, NetworkConfig, TaggingConfig
from training.recurrent_tagger.documents import SPACE_TAG, DocumentSampler, TokenRow
from training.recurrent_tagger.network import TaggerTrainer, init_tagger_values
from training.recurrent_tagger.running import (
    TextEncoder,
    jackknife,
    make_pipeline,
    scheduled_rate,
    train_final,
    train_tagger,
)

OFF = AugmentConfig(curly=0, lower=0, title=0, upper=0)
SMALL = TaggingConfig(
    network=NetworkConfig(width=16, units=8, layers=1, min_count=2),
    fit=FitConfig(epochs=8, batch_tokens=60, learning_rate=0.02, warmup_steps=5, ema_decay=0.9),
)
NOUNS = ("dog", "teacher", "river", "engine", "letter", "garden", "doctor", "window")
VERBS = ("sees", "paints", "follows", "repairs", "likes")
ADJECTIVES = ("old", "green", "quiet", "famous")


def tree(number: int) -> str:
    """A sentence with a name of its own, so that the sentences can be told apart by that word."""
    noun, other = NOUNS[number % 8], NOUNS[(number * 3 + 1) % 8]
    verb, adjective = VERBS[number % 5], ADJECTIVES[number % 4]
    return (
        f"(TOP (S (NP-SBJ (DT The) (JJ {adjective}) (NN {noun})) (VP (VBZ {verb})"
        f" (NP (DT a) (NN {other})) (PP (IN near) (NP (NNP Name{number}x))) (NP (-NONE- *T*-1))) (. .)))"
    )


@pytest.fixture
def treebanks(tmp_path: Path) -> list[Treebank]:
    for name, first, size in (("alpha", 0, 60), ("beta", 1000, 40)):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "train.mrg").write_text("".join(tree(first + i) + "\n" for i in range(size)))
        (folder / "dev.mrg").write_text("".join(tree(first + 500 + i) + "\n" for i in range(10)))
    return [Treebank.read(str(tmp_path / "alpha")), Treebank.read(f"{tmp_path / 'beta'}:2")]


def test_to_is_always_to_with_the_penn_treebanks_forms() -> None:
    sentences = [CorpusSentence(("walk", "to", "Leeds"), ("VB", tag, "NNP")) for tag in ("IN", "TO")] * 20
    for penn_forms in (False, True):
        config = replace(SMALL, fit=replace(SMALL.fit, epochs=0.2), penn_forms=penn_forms)
        model, _ = train_tagger(config, [sentences], ["IN", "NNP", "TO", "VB"], "tagger")
        assert [tag for _, tag in model.forms] == (["TO"] if penn_forms else [])
        if penn_forms:
            assert make_pipeline(model, True)("To Leeds and to London")[0].tag_ == "TO"


def test_reading_strips_escapes_empties_and_suffixes(tmp_path: Path) -> None:
    path = tmp_path / "train.mrg"
    path.write_text(
        "( (S (`` ``) (NP (NNS-4 cats) (-LRB- -LRB-) (CD 1\\/2) (-RRB- -RRB-)) ('' '')\n"
        "  (VP (VBP run) (NP (-NONE- *)))) )\n(TOP (X (-NONE- *)))\n(TOP (NP (JJ anti-Ro-LRB-A-RRB-)))\n"
    )
    first, empty, last = read_tagged_sentences(path)
    assert first.words == ('"', "cats", "(", "1/2", ")", '"', "run")
    assert first.tags == ("``", "NNS", "-LRB-", "CD", "-RRB-", "''", "VBP")
    assert empty == CorpusSentence((), ())
    assert last.words == ("anti-Ro(A)",)


def test_malformed_trees_name_file_and_line(tmp_path: Path) -> None:
    path = tmp_path / "train.mrg"
    path.write_text("(TOP (NP (NN cat)))\n(TOP (NP (NN dog))\n")
    with pytest.raises(TreeFormatError, match=r"train\.mrg"):
        read_tagged_sentences(path)


def test_treebank_arguments(tmp_path: Path, treebanks: list[Treebank]) -> None:
    assert [(tb.name, tb.weight, len(tb.train), len(tb.dev)) for tb in treebanks] == [
        ("alpha", 1, 60, 10),
        ("beta", 2, 40, 10),
    ]
    with pytest.raises(FileNotFoundError, match=r"gamma has neither train\.mrg nor shards"):
        Treebank.read(str(tmp_path / "gamma"))
    with pytest.raises(ValueError, match="weight"):
        Treebank.read(f"{tmp_path / 'alpha'}:0")


@pytest.mark.parametrize(("size", "folds"), [(1, 2), (7, 5), (100, 10), (4014, 10), (18951, 7)])
def test_folds_are_even_blocks(size: int, folds: int) -> None:
    numbers = long_block_folds(size, folds)
    assert len(numbers) == size
    if size >= folds:
        assert set(numbers.tolist()) == set(range(folds))
    if size > 1000:
        changes = np.count_nonzero(np.diff(numbers))
        assert changes <= max(size // 100, 5 * folds)  # blocks, not single sentences
        assert np.bincount(numbers).max() <= 1.4 * size / folds
    with pytest.raises(ValueError, match="2 folds"):
        long_block_folds(size, 1)


def test_each_sentence_is_held_out_once_and_never_learned_from_then(treebanks: list[Treebank]) -> None:
    for treebank in treebanks:
        everything = set(range(len(treebank.train)))
        numbers = long_block_folds(len(treebank.train), 5)
        for fold in range(5):
            indices = range(len(treebank.train))
            learned = list(chain.from_iterable(indices[run] for run in consecutive_runs(numbers != fold)))
            assert len(learned) == len(set(learned))
            assert set(learned) == everything - set(np.flatnonzero(numbers == fold).tolist())
    assert consecutive_runs(np.array([True, True, False, True])) == [slice(0, 2), slice(3, 4)]
    assert consecutive_runs(np.zeros(3, dtype=bool)) == []


def test_no_tagger_saw_the_sentences_it_tags(
    treebanks: list[Treebank], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    learned: list[set[str]] = []  # per fold: the words of all documents its tagger was updated with
    tagged: list[str] = []

    class Recorder(DocumentSampler):
        def __init__(self, *args, **kwargs):
            learned.append(set())
            super().__init__(*args, **kwargs)

        def one_pass(self):
            for tokens in super().one_pass():
                learned[-1].update(token.word for token in tokens)
                yield tokens

    def recording(nlp, lists):
        names = {words[-2] for words in lists}  # "Name17x", before the full stop
        assert learned[-1] and names and not names & learned[-1]
        tagged.extend(names)
        return tag_lists(nlp, lists)

    monkeypatch.setattr(running_module, "DocumentSampler", Recorder)
    monkeypatch.setattr(running_module, "tag_lists", recording)
    # Lower case and capitals would be words of their own.
    config = replace(SMALL, augment=OFF, fit=replace(SMALL.fit, epochs=4.0))
    jackknife(treebanks, tmp_path / "out", folds=4, config=config)
    assert len(learned) == 4
    assert len(tagged) == len(set(tagged)) == 100


@pytest.mark.slow
def test_jackknifed_files_and_resuming(
    treebanks: list[Treebank], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = tmp_path / "whole"
    scores = jackknife(treebanks, whole, folds=3, config=SMALL)
    assert scores == {"alpha": 1.0, "beta": 1.0}
    for treebank in treebanks:
        lines = (whole / f"{treebank.name}.train.tags").read_text().splitlines()
        assert [len(line.split()) for line in lines] == [len(s.tags) for s in treebank.train]
    log = [json.loads(line) for line in (whole / "log.jsonl").read_text().splitlines()]
    assert [(entry["fold"], entry["treebank"]) for entry in log] == [
        (fold, name) for fold in range(3) for name in ("alpha", "beta")
    ]
    assert sum(entry["words"] for entry in log) == sum(len(s.tags) for tb in treebanks for s in tb.train)

    # Stop in the middle of the second fold, then go on: the first is kept, the files are the same.
    broken = tmp_path / "broken"
    calls: list[str] = []
    real_fit = running_module.train_tagger

    def failing_fit(*args, name, **kwargs):
        calls.append(name)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return real_fit(*args, name=name, **kwargs)

    monkeypatch.setattr(running_module, "train_tagger", failing_fit)
    with pytest.raises(KeyboardInterrupt):
        jackknife(treebanks, broken, folds=3, config=SMALL)
    assert not list(broken.glob("*.tags"))
    jackknife(treebanks, broken, folds=3, config=SMALL)
    assert calls == ["pooled fold 0", "pooled fold 1", "pooled fold 1", "pooled fold 2"]
    for treebank in treebanks:
        name = f"{treebank.name}.train.tags"
        assert (broken / name).read_bytes() == (whole / name).read_bytes()

    # Other settings never reuse the folds of these.
    jackknife(treebanks, broken, folds=3, config=replace(SMALL, fit=replace(SMALL.fit, epochs=0.2)))
    assert len(calls) == 7


@pytest.mark.slow
def test_spacy_loads_the_final_pipeline(treebanks: list[Treebank], tmp_path: Path) -> None:
    augment = AugmentConfig(split_hyphens=0.3, drop_final=0.2, newline=0.2, wrapped=0.1)
    config = replace(SMALL, augment=augment, fit=replace(SMALL.fit, epochs=25))
    scores = train_final(treebanks, tmp_path / "model", tmp_path / "out", config, senter=True)
    nlp = spacy.load(tmp_path / "model")
    assert nlp.pipe_names == ["tagger"]
    assert nlp.meta["performance"] == scores
    assert not nlp.meta.get("credits") and not nlp.meta["license"], "those of the default model, which it replaces"
    assert set(scores.values()) == {1.0}, "few words, each with one tag"
    assert 0 < json.loads((tmp_path / "out" / "log.jsonl").read_text())["bytes"] < 1_000_000
    assert not {"Name0x", "Name500x"} & set(nlp.vocab.strings), "words of train and dev stay out of the files"
    doc = nlp("The old dog likes a garden near Name4444x. The green engine sees a river near Name5555x.")
    assert [token.tag_ for token in doc][:9] == ["DT", "JJ", "NN", "VBZ", "DT", "NN", "IN", "NNP", "."]
    assert len(list(doc.sents)) == 2
    for treebank in treebanks:
        lines = (tmp_path / "out" / f"{treebank.name}.dev.tags").read_text().splitlines()
        assert [tuple(line.split()) for line in lines] == tag_lists(nlp, [s.words for s in treebank.dev])


@pytest.mark.slow
def test_training_continues_from_a_pipeline(treebanks: list[Treebank], tmp_path: Path) -> None:
    config = SMALL
    train_final(treebanks, tmp_path / "first", tmp_path / "out", config)
    still = replace(config, fit=replace(config.fit, epochs=0.01, learning_rate=1e-9))
    train_final(treebanks, tmp_path / "again", tmp_path / "out", still, start=tmp_path / "first")
    train_final(treebanks, tmp_path / "anew", tmp_path / "out", still)
    made = {name: spacy.load(tmp_path / name) for name in ("first", "again", "anew")}
    sentences = [sentence.words for sentence in treebanks[0].train[:20]]
    found = {name: tag_lists(nlp, sentences) for name, nlp in made.items()}
    assert found["again"] == found["first"] != found["anew"]
    with pytest.raises(ConfigError, match="has other sizes; give the same network settings"):
        wider = replace(config, network=replace(config.network, width=24))
        train_final(treebanks, tmp_path / "wide", tmp_path / "out", wider, start=tmp_path / "first")
    made["first"].remove_pipe("tagger")
    made["first"].add_pipe("tagger").add_label("NN")
    made["first"].initialize()
    made["first"].to_disk(tmp_path / "other_tagger")
    with pytest.raises(ConfigError, match="has no recurrent tagger; give one made by `train-tagger`"):
        train_final(treebanks, tmp_path / "other", tmp_path / "out", config, start=tmp_path / "other_tagger")
    fewer = [replace(treebanks[0], train=[CorpusSentence(("Run", "!"), ("VB", "."))] * 9)]
    with pytest.raises(ConfigError, match=r"has other tags \(DT, IN, .*VB"):
        train_final(fewer, tmp_path / "other", tmp_path / "out", config, start=tmp_path / "first")


@pytest.mark.slow
def test_clusters_decide_the_tags_of_words_that_were_not_learned(treebanks: list[Treebank], tmp_path: Path) -> None:
    """Two words with the same affixes and shape, between the same words: only their clusters differ."""
    clusters = tmp_path / "clusters.txt"
    clusters.with_suffix(".texts").write_text("wiki\n")
    config = replace(SMALL, augment=OFF, fit=replace(SMALL.fit, epochs=25))
    for noun, adjective in (("blorben", "bloxben"), ("bloxben", "blorben")):
        lines = (*NOUNS, noun), (*ADJECTIVES, adjective), VERBS
        clusters.write_text("".join(" ".join(line) + "\n" for line in lines))
        train_final(treebanks, tmp_path / "model", tmp_path / "out", config, clusters=clusters)
        nlp = spacy.load(tmp_path / "model")
        words = [("a", noun, "near", "."), ("a", adjective, "dog", ".")]
        assert tag_lists(nlp, words) == [("DT", "NN", "IN", "."), ("DT", "JJ", "NN", ".")]
        assert nlp.meta["credits"] == ["Raw text, for word clusters: English Wikipedia (CC BY-SA 4.0)"]
    with pytest.raises(ConfigError, match="--clusters are for new networks; --start continues"):
        train_final(treebanks, tmp_path / "b", tmp_path / "out", config, start=tmp_path / "model", clusters=clusters)


@pytest.mark.slow
def test_other_clusters_never_reuse_folds(treebanks: list[Treebank], tmp_path: Path) -> None:
    config = replace(SMALL, fit=replace(SMALL.fit, epochs=0.2))
    clusters, out = tmp_path / "clusters.txt", tmp_path / "out"
    for content, folds in (("dog cat", 2), ("dog cat", 2), ("dog\ncat", 4)):
        clusters.write_text(content)
        jackknife(treebanks, out, 2, config, clusters=clusters)
        log = [json.loads(line) for line in (out / "log.jsonl").read_text().splitlines()]
        assert len(log) == folds * len(treebanks)


@pytest.mark.slow
def test_command_line(treebanks: list[Treebank], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    small = ["network.width=16", "network.layers=1", "fit.epochs=0.5"]
    settings = [part for setting in small for part in ("--set", setting)]
    alpha, out = str(tmp_path / "alpha"), str(tmp_path / "out")
    assert not main(["jackknife-tags", "--treebank", alpha, "--out", out, "--folds", "2", "--run", "a", *settings])
    train = ["train-tagger", "--out", out, "--model", f"{out}/new/m", "--no-senter", *settings, "--treebank"]
    assert not main([*train, alpha])
    text = capsys.readouterr().out
    assert "alpha: " in text and "tag_acc_alpha: " in text
    nlp = spacy.load(f"{out}/new/m")
    assert nlp.pipe_names == ["tagger"] and not nlp("The old dog sleeps. It snores.").has_annotation("SENT_START")
    (tmp_path / "my-train.conllu").write_text("1\tGo\t_\tVERB\t_\t_\t_\t_\t_\t_\n")
    assert not main([*train, str(tmp_path / "my-train.conllu"), "--tag-column", "upos"])
    text = capsys.readouterr().out
    assert "there is no development set, so nothing is scored" in text and "tag_acc" not in text
    assert spacy.load(f"{out}/new/m").meta["performance"] == {}


def test_whitespace_needs_its_tag() -> None:
    with pytest.raises(ValueError, match="_SP"):
        train_tagger(replace(SMALL, augment=replace(OFF, newline=0.5)), [], ["NN", "VB"], "none")


def test_schedules() -> None:
    config = FitConfig(learning_rate=0.1, warmup_steps=10)
    rates = [scheduled_rate(config, step, step / 1000) for step in range(1001)]
    assert rates[0] == pytest.approx(0.01) and max(rates) == pytest.approx(0.0991) and rates[-1] == 0.0
    assert rates[10:] == sorted(rates[10:], reverse=True) and rates[:10] == sorted(rates[:10])
    short = [scheduled_rate(replace(config, warmup_steps=100), step, step / 40) for step in range(41)]
    assert max(short) == short[4] == pytest.approx(0.09), "the warm-up takes a tenth of a short run"


def test_derivatives_are_those_of_small_changes() -> None:
    tags, words = ["DT", "NN", "VBZ"], ["The", "dog", "\n", "sleeps", "A", "cat"]
    own = ["DT", "NN", SPACE_TAG, "VBZ", "DT", "NN"]
    tokens = [TokenRow(word, tag, word in ("The", "A")) for word, tag in zip(words, own, strict=True)]
    counts = dict.fromkeys(words, 1)
    parts = TokenParts.build(counts, 1)
    batch = [TextEncoder(parts, tags, counts, 0.5).encode(part) for part in (tokens, tokens[:2], tokens[3:4])]
    assert batch[0].tags.tolist() == [-1, 0, 1, -1, 2, 0, 1, -1]
    assert batch[0].starts.tolist() == [0, 0, -1, 0, -1, 1, -1, 0]
    assert batch[0].rare.tolist() == pytest.approx([0, 1 / 3, 1 / 3, 0, 1 / 3, 1 / 3, 1 / 3, 0])
    values = init_tagger_values(parts.size, 3, NetworkConfig(width=5, units=4, layers=2), np.random.default_rng(0))
    learner = TaggerTrainer(values, FitConfig(start_weight=0.7))

    def loss() -> float:
        of_tags, of_starts = learner.add_gradients(batch, None)[0]
        return of_tags + 0.7 * of_starts

    loss()
    gradients = {name: slope.copy() for name, slope in learner.gradients.items()}
    rng = np.random.default_rng(1)
    for name in ("table", "weights0", "weights1", "recurrent", "bias", "outputs", "output_bias"):
        flat = values[name].reshape(-1)
        places = np.flatnonzero(gradients[name].reshape(-1)) if name == "table" else np.arange(flat.size)
        for place in rng.choice(places, size=5):
            kept, step = flat[place], np.float32(2e-2)
            flat[place] = kept + step
            above = loss()
            flat[place] = kept - step
            below = loss()
            flat[place] = kept
            assert gradients[name].reshape(-1)[place] == pytest.approx((above - below) / (2 * step), abs=2e-3), name


def test_the_form_of_an_address_or_an_emoji_decides_its_tag(treebanks: list[Treebank]) -> None:
    def tagger(*more: str) -> Language:
        extra = [CorpusSentence(("some", "word"), (tag, "NN")) for tag in more]
        groups = [[*treebanks[0].train, *extra]]
        tags = sorted({tag for sentence in groups[0] for tag in sentence.tags})
        return make_pipeline(train_tagger(SMALL, groups, tags, "forms")[0], senter=False)

    nlp = tagger("ADD", "NFP", ":")
    addresses = ["https://www.example.org/a?b=c", "www.example.org", "Example.com", "a.b+c@mail.example.org", "@nina_r"]
    other = ["example", "p.m.", "e.g.", "U.S.", "etc.", "3.14", "@", "now.So", "http", "\u260e", ":", "naïve", "½"]
    emoji = ["\U0001f634", "\u2764", "\U0001f469\u200d\U0001f469", "\u2764\ufe0f"]
    decide = nlp.get_pipe("tagger").parser._decisions
    for words, tag in ((addresses, "ADD"), (emoji, "NFP"), (["\u2026", "\u2026\u2026"], ":")):
        assert {token.tag_ for token in nlp(Doc(nlp.vocab, words=words))} == {tag}
    assert not any(decide[word] for word in other), "their form says nothing"
    assert tagger().get_pipe("tagger").parser.model.forms == (), "tags that a treebank does not have are not given"


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("MR. HARRIS: Yes.", "MR. HARRIS : Yes ."),
        ("It is you and I.", "It is you and I ."),
        ("D’you see Capt. Lee?", "D’ you see Capt. Lee ?"),
        ("’Tis so; 'twas not.", "’T is so ; 't was not ."),
        ("Wanna go? Gimme that.", "Wan na go ? Gim me that ."),
        ("Apples, pears, etc.", "Apples , pears , etc."),
        ("(Smith et al. 2005)", "( Smith et al. 2005 )"),
    ],
)
def test_tokens_are_cut_as_in_treebanks(text: str, tokens: str) -> None:
    nlp = spacy.blank("en")
    before = nlp.tokenizer(text)
    add_tokens(nlp)
    after = nlp.tokenizer(text)
    assert " ".join(token.text for token in after) == tokens
    assert after.text == text
    assert [token.text for token in before] != [token.text for token in after]
