"""The documents that the tagger learns from: typography, hyphens, white space, starts of sentences."""

from dataclasses import replace

import spacy
from spacy.training import Example

from training.data.tagged_treebanks import CorpusSentence
from training.recurrent_tagger.config import AugmentConfig, FitConfig
from training.recurrent_tagger.documents import DocumentSampler, WordSplitter, curly_words, title_words

OFF = AugmentConfig(curly=0, lower=0, title=0, upper=0)


def test_typographic_variants() -> None:
    sentence = CorpusSentence(
        ('"', "Do", "n't", "go", "--", "to", "town", '"'), ("``", "VB", "RB", "VB", ":", "TO", "NN", "''")
    )
    assert curly_words(sentence) == ("“", "Do", "n’t", "go", "—", "to", "town", "”")
    assert title_words(sentence) == ('"', "Do", "N't", "Go", "--", "to", "Town", '"')


def test_hyphenated_words_are_split_as_spacy_does() -> None:
    evidence = [CorpusSentence(("calcium", "activated", "of", "T"), ("NN", "VBN", "IN", "NN"))]
    splitter = WordSplitter(spacy.blank("en").tokenizer, evidence)
    words = ("T-cell", "growth", "is", "calcium-activated", "(", "Fig.", "2", ")", "'ve", "<i>", "-", "Ca2+")
    tags = ("NN", "NN", "VBZ", "JJ", "-LRB-", "NN", "CD", "-RRB-", "VBP", "SYM", ":", "NN")
    split = splitter.split(CorpusSentence(words, tags))
    assert split is not None
    assert list(zip(split.words, split.tags, strict=True)) == [
        *(("T", "NN"), ("-", "HYPH"), ("cell", "NN"), ("growth", "NN"), ("is", "VBZ")),
        *(("calcium", "NN"), ("-", "HYPH"), ("activated", "VBN")),
        *(("(", "-LRB-"), ("Fig", "NN"), (".", "."), ("2", "CD"), (")", "-RRB-")),
        *(("'ve", "VBP"), ("<i>", "SYM"), ("-", ":"), ("Ca2", "NN"), ("+", "SYM")),
    ]
    assert splitter.split(CorpusSentence(("plain", "words"), ("JJ", "NNS"))) is None


def _sample(augment: AugmentConfig, copies: int = 40) -> list[Example]:
    groups = [[CorpusSentence(("Cats", "don't", "."), ("NNS", "VBP", "."))] * copies]
    return list(DocumentSampler(groups, augment, FitConfig()).examples(spacy.blank("en")))


def test_documents_cover_a_pass_and_mark_sentence_starts() -> None:
    examples = _sample(OFF)
    assert sum(len(example) for example in examples) == 120
    assert len({len(example) for example in examples}) > 1
    for example in examples:
        copies = len(example) // 3
        assert [token.text for token in example.predicted] == ["Cats", "don't", "."] * copies
        assert [token.tag_ for token in example.reference] == ["NNS", "VBP", "."] * copies
        assert [token.is_sent_start for token in example.reference] == [True, False, False] * copies


def test_augmentation() -> None:
    assert sum(len(example) for example in _sample(replace(OFF, drop_final=1.0))) == 80
    for example in _sample(replace(OFF, newline=1.0)):
        spaces = [token for token in example.reference if token.is_space]
        assert len(spaces) == len(list(example.reference.sents))
        assert {token.text for token in spaces} <= {"\n", "\n\n", " "}
        assert {token.tag_ for token in spaces} == {"_SP"} and not any(token.is_sent_start for token in spaces)
    first = {name: _sample(replace(OFF, **{name: 1.0}))[0].predicted[:3].text for name in ("upper", "lower", "curly")}
    assert first == {"upper": "CATS DON'T .", "lower": "cats don't .", "curly": "Cats don’t ."}
