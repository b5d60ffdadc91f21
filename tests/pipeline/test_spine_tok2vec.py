"""spine_tok2vec: it learns, what it writes, what survives, bad settings and Docs, and who reads its spines."""

from __future__ import annotations

import copy
import pickle
from collections import Counter

import numpy as np
import pytest
import spacy
from spacy.cli.train import train
from spacy.tokens import Doc, Span, Token
from spacy.tokens.underscore import Underscore
from spacy.training import Example
from thinc.api import Adam, fix_random_seed

from spacy_dtparse import sentence_infos
from spacy_dtparse.cli.pipelines import sentence_pipes
from spacy_dtparse.errors import ConfigError, ModelFormatError, TrainingDataError
from spacy_dtparse.parsers.pcfg import PcfgParser
from spacy_dtparse.pipeline.component import PcfgLa, SpineTok2Vec
from spacy_dtparse.pipeline.corpus import BracketCorpus, blank_copy
from spacy_dtparse.pipeline.spine_tok2vec import multitags
from spacy_dtparse.pipeline.spines import read_offers, spine, write_spines
from training.data.corpus import read_treebank
from training.pcfg import train_pcfg

from ..documents import ROOT

SAMPLE = ROOT / "assets" / "sample"
TREES = 12
TEXTS = ["The old cat sat on the mat. She sleeps quietly.", "Run.", "  ", "", "It saw\nthe dog."]


def tok2vec(width=24):
    """The config of a small tok2vec."""
    return {
        "@architectures": "spacy.HashEmbedCNN.v2", "pretrained_vectors": None, "width": width, "depth": 1,
        "embed_size": 200, "window_size": 1, "maxout_pieces": 2, "subword_features": True,
    }  # fmt: skip


def make_nlp(layers=None, **config):
    nlp = spacy.blank("en")
    model = {"@architectures": "spacy.Tagger.v2", "tok2vec": layers or tok2vec()}
    nlp.add_pipe("spine_tok2vec", config={"model": model, **config})
    return nlp


def sample(nlp, categories="spine", **options):
    return list(BracketCorpus(SAMPLE / "train.mrg", limit=TREES, categories=categories, **options)(nlp))


def learn(nlp, examples, steps=30, **options):
    """Losses of the steps."""
    fix_random_seed(0)
    if options:
        nlp.config["initialize"]["components"]["spine_tok2vec"] = options
    optimizer = nlp.initialize(lambda: examples, sgd=Adam(0.02))
    return [nlp.update(examples, sgd=optimizer)["spine_tok2vec"] for _ in range(steps)]


@pytest.fixture(scope="module")
def taught():
    nlp = make_nlp()
    learn(nlp, sample(nlp))
    return nlp


@pytest.fixture
def nlp(taught):
    return copy.deepcopy(taught)


def written(doc):
    return [(token._.spine, token._.spines) for token in doc]


@pytest.mark.parametrize("categories", ["spine", "sided", "control"])
def test_it_learns(categories):
    nlp = make_nlp()
    examples = sample(nlp, categories)
    losses = learn(nlp, examples)
    assert losses[-1] < 0.2 * losses[0]
    gold = [spine(token) for example in examples for token in example.reference]
    assert nlp.get_pipe("spine_tok2vec").labels == tuple(sorted(set(gold)))
    scores = nlp.evaluate(sample(nlp, categories))
    assert scores["spine_multi_acc"] >= scores["spine_acc"] > 0.9 and scores["spine_labels"] >= 1


def test_multitags():
    labels = ("A", "B", "C")
    chances = np.array([[0.2, 0.6, 0.2], [0.5, 0.25, 0.25], [1.0, 0.0, 0.0]], np.float32)
    third = [("B", pytest.approx(0.6)), ("A", pytest.approx(0.2)), ("C", pytest.approx(0.2))]
    assert multitags(chances, labels, 0.3)[0] == third, "equal ones in the order of labels"
    assert [len(offer) for offer in multitags(chances, labels, 0.5)] == [1, 3, 1]
    assert multitags(chances, labels, 1.0)[1:] == [[("A", 0.5)], [("A", 1.0)]]
    assert [len(offer) for offer in multitags(chances, labels, 0.0)] == [3, 3, 3]
    assert multitags(chances[:0], labels, 0.5) == []


@pytest.mark.parametrize("beta", [0.0, 0.001, 0.3, 1.0])
def test_words_get_what_is_within_beta_of_the_best(nlp, beta):
    component = nlp.get_pipe("spine_tok2vec")
    component.beta = beta
    doc = nlp(TEXTS[0])
    (chances,) = component.predict([nlp.make_doc(TEXTS[0])])
    assert chances.shape == (len(doc), len(component.labels)) and np.allclose(chances.sum(axis=1), 1, atol=1e-5)
    for token, row in zip(doc, chances.tolist(), strict=True):
        found = [chance for _, chance in token._.spines]
        assert found == sorted(found, reverse=True) and token._.spine == token._.spines[0][0]
        assert dict(token._.spines) == {
            name: chance for name, chance in zip(component.labels, row, strict=True) if chance >= beta * max(row)
        }
    assert [(span.start, span.end, span.label_) for span in doc.spans["spines"]] == [
        (token.i, token.i + 1, token._.spine) for token in doc
    ]


def test_white_space_gets_no_spine(nlp):
    doc = nlp("The \n cat")
    assert [token._.spine != "" for token in doc] == [True, False, True] and doc[1]._.spines == ()
    assert len(nlp("  ").spans["spines"]) == len(nlp("").spans["spines"]) == 0


def test_round_trips(nlp, tmp_path):
    wanted = written(nlp(TEXTS[0]))
    nlp.to_disk(tmp_path / "pipeline")
    assert written(spacy.load(tmp_path / "pipeline")(TEXTS[0])) == wanted
    exact = spacy.load(tmp_path / "pipeline", config={"components": {"spine_tok2vec": {"beta": 1.0}}})
    assert [offer for _, offer in written(exact(TEXTS[0]))] == [offer[:1] for _, offer in wanted]
    assert written(make_nlp().from_bytes(nlp.to_bytes())(TEXTS[0])) == wanted
    for twin in (pickle.loads(pickle.dumps(nlp)), copy.deepcopy(nlp)):
        assert written(twin(TEXTS[0])) == wanted
    component = nlp.get_pipe("spine_tok2vec")
    again = make_nlp().get_pipe("spine_tok2vec").from_bytes(component.to_bytes())
    assert again.labels == again.label_data == component.labels


def test_processes(nlp):
    wanted = [written(doc) for doc in nlp.pipe(TEXTS, batch_size=2)]
    assert [written(doc) for doc in nlp.pipe(TEXTS, n_process=2, batch_size=2)] == wanted


def test_a_process_that_made_no_component_can_read_what_an_unpickled_one_writes(nlp, monkeypatch):
    data = pickle.dumps(nlp)
    for name in ("spine", "spines"):
        monkeypatch.delitem(Underscore.token_extensions, name)
    assert not Token.has_extension("spine")
    assert pickle.loads(data)("The cat sat")[1]._.spine


def test_a_bad_doc_fails_alone(nlp, monkeypatch):
    predict = SpineTok2Vec.predict

    def picky(self, docs):
        if any("bad" in doc.text for doc in docs):
            raise ValueError("a bad Doc")
        return predict(self, docs)

    wanted = [written(doc) for doc in nlp.pipe(["The cat sat.", "The mat."])]
    monkeypatch.setattr(SpineTok2Vec, "predict", picky)
    failed = []
    nlp.set_error_handler(lambda name, component, batch, error: failed.append([doc.text for doc in batch]))
    done = list(nlp.pipe(["The cat sat.", "A bad one.", "The mat."]))
    assert failed == [["A bad one."]]
    for doc, spines in zip(done, wanted, strict=True):
        assert [best for best, _ in written(doc)] == [best for best, _ in spines]


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"beta": 1.5}, r"spine_tok2vec: beta = 1\.5; it is a number from 0"),
        ({"spans_key": ""}, "spine_tok2vec: spans_key = ''; it is a non-empty string"),
    ],
)
def test_settings_are_checked(config, message):
    with pytest.raises(ConfigError, match=message):
        make_nlp(**config)


def test_use_before_training():
    nlp = make_nlp()
    with pytest.raises(ModelFormatError, match=r"spine_tok2vec: it has no labels.*python -m spacy train"):
        nlp("The cat sat")
    with pytest.raises(ModelFormatError, match="it has no labels"):
        nlp.get_pipe("spine_tok2vec").update(sample(nlp))


def test_examples_that_cannot_be_learned_from():
    nlp = make_nlp()
    component = nlp.get_pipe("spine_tok2vec")
    examples = sample(nlp)
    with pytest.raises(TrainingDataError, match=r"no word of the training Docs has a category in doc\.spans"):
        nlp.initialize(lambda: sample(nlp, categories=None))
    with pytest.raises(TrainingDataError, match=r"no category is met 10000 times, the most frequent one \d+ times"):
        component.initialize(lambda: examples, least=10000)
    with pytest.raises(ConfigError, match="least = 0; it is a whole number from 1"):
        component.initialize(lambda: examples, least=0)
    gold = examples[0].reference
    gold.spans["spines"] = [Span(gold, 0, 2, label="NP")]
    with pytest.raises(TrainingDataError, match=r"of a training Doc is 2 tokens; categories are of words"):
        component.initialize(lambda: examples)


def test_labels(nlp):
    component = nlp.get_pipe("spine_tok2vec")
    assert component.add_label(component.labels[0]) == 0
    with pytest.raises(ConfigError, match="label ''; it is a non-empty string"):
        component.add_label("")
    with pytest.raises(ValueError, match="cannot add any more labels"):
        component.add_label("NP+NP+NP+NP+NP")
    given = make_nlp()
    learn(given, sample(given), steps=1, labels=["-", "NP"])
    assert given.get_pipe("spine_tok2vec").labels == ("-", "NP")


def test_rare_categories_teach_nothing():
    nlp = make_nlp()
    examples = sample(nlp)
    component = nlp.get_pipe("spine_tok2vec")
    learn(nlp, examples, steps=1, least=10)
    met = Counter(spine(token) for example in examples for token in example.reference)
    assert set(component.labels) == {name for name, count in met.items() if count >= 10} != set(met)
    example = next(e for e in examples if any(met[spine(token)] < 10 for token in e.reference))
    _, (gradient,) = component.get_loss([example], component.predict([example.predicted]))
    taught = np.abs(gradient).sum(axis=1) > 0
    assert taught.tolist() == [met[spine(token)] >= 10 for token in example.reference] and taught.any()


def test_words_that_are_no_single_tokens_teach_nothing(nlp):
    component = nlp.get_pipe("spine_tok2vec")
    gold = Doc(nlp.vocab, words=["The", "old", "cats", "sat"])
    write_spines(gold, range(4), [[("-", 1.0)], [("-", 1.0)], [("NP", 1.0)], [("VP+S", 1.0)]])
    cut = Doc(nlp.vocab, words=["The", "old", "cat", "s", "sat"], spaces=[True, True, False, True, True])
    joined = Doc(nlp.vocab, words=["The old", "cats", "sat"])
    for predicted, wanted in ((cut, [True, True, False, False, True]), (joined, [False, True, True])):
        _, (gradient,) = component.get_loss([Example(predicted, gold)], component.predict([predicted]))
        assert (np.abs(gradient).sum(axis=1) > 0).tolist() == wanted


def test_another_key():
    nlp = make_nlp(spans_key="mine")
    learn(nlp, sample(nlp, spines_key="mine"))
    doc = nlp(TEXTS[0])
    assert list(doc.spans) == ["mine"] and spine(doc[0], "mine")
    assert nlp.evaluate(sample(nlp, spines_key="mine"))["spine_acc"] > 0.9
    assert nlp.evaluate(sample(nlp))["spine_acc"] is None, "the gold ones are elsewhere"


def test_a_shared_tok2vec():
    nlp = make_nlp({"@architectures": "spacy.Tok2VecListener.v1", "width": 24, "upstream": "*"})
    nlp.add_pipe("tok2vec", config={"model": tok2vec(24)}, first=True)
    losses = learn(nlp, sample(nlp))
    assert losses[-1] < 0.3 * losses[0]
    nlp.add_pipe("dtparse")
    assert sentence_pipes(nlp, only_parser=True) == ["tok2vec", "spine_tok2vec", "dtparse"]
    with nlp.select_pipes(disable="dtparse"):
        assert nlp.evaluate(sample(nlp))["spine_acc"] > 0.8


def test_what_it_writes_prunes_a_chart():
    nlp = make_nlp(beta=0.01)
    examples = sample(nlp, "sided")
    learn(nlp, examples)
    parser = PcfgParser(train_pcfg(read_treebank(SAMPLE / "train.mrg", limit=TREES)))
    component = PcfgLa(parser=parser.with_settings(betas=(0.01,)))
    docs = [blank_copy(example.reference, tags=True) for example in examples[:3]]
    for doc in nlp.pipe(docs):
        offers = read_offers(doc)
        (info,) = sentence_infos(component(doc))
        assert info["ambiguity"] == pytest.approx(sum(map(len, offers.values())) / len(doc)), "it was pruned by them"


def test_the_config_trains(tmp_path):
    small = {"model.tok2vec.embed": ("width", "rows"), "model.tok2vec.encode": ("width",)}
    overrides = {
        "paths.train": str(SAMPLE / "train.mrg"), "paths.dev": str(SAMPLE / "dev.mrg"), "paths.categories": "control",
        "training.max_steps": 20, "training.eval_frequency": 10, "corpora.train.limit": 30, "corpora.dev.limit": 10,
        "initialize.components.spine_tok2vec.least": 2, "components.spine_tok2vec.model.tok2vec.encode.depth": 1,
        **{
            f"components.spine_tok2vec.{section}.{name}": 16 if name == "width" else [50] * 5
            for section, names in small.items()
            for name in names
        },
    }  # fmt: skip
    train(ROOT / "training" / "configs" / "spine_tok2vec.cfg", tmp_path / "out", overrides=overrides)
    nlp = spacy.load(tmp_path / "out" / "model-best")
    assert 0.3 < nlp.meta["performance"]["spine_acc"] < 1
    assert all(label.startswith("=") for label in nlp.get_pipe("spine_tok2vec").labels)
    assert nlp(Doc(nlp.vocab, words=["It", "slept"], tags=["PRP", "VBD"]))[0]._.spines


def test_the_default_model_is_that_of_spacys_tagger():
    nlp = spacy.blank("en")
    component = nlp.add_pipe("spine_tok2vec")
    config = nlp.get_pipe_config("spine_tok2vec")
    assert config["model"]["@architectures"] == "spacy.Tagger.v2" and config["beta"] == 0.01
    assert config["model"]["tok2vec"]["@architectures"] == "spacy.HashEmbedCNN.v2"
    assert component.is_trainable and component.model.get_ref("softmax").attrs["softmax_normalize"]

