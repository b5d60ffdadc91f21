"""Untrained architectures of two other constituency parsers, for `bench_peers.py --torch`.

The run time of a network of fixed size does not depend on its weights, so none are downloaded: the programs are the
published ones, their weights are random. Both are given sentences and tokens (Stanza also tags) of our pipeline, whose
time is not counted.

`benepar` is its ChartParser over T5-small (encoder and decoder, as benepar uses it), with two layers of partitioned
attention, as in its commands for pretrained encoders. Its tokenizer is trained on text like its input. `stanza` is its
parser with the defaults of its trainer, word vectors of size 100 and two character language models, as in its default
English package, without the tagger that this package needs. The number of steps depends on the tree, and random weights
give no sensible tree, so it scores each step and then takes the step towards our pipeline's tree.
"""

from __future__ import annotations

import json
import logging
import os
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar

from spacy.tokens import Doc

from spacy_dtparse import parse_string

Run = Callable[[], Any]
PIECES = 8_000
"""Vocabulary size of benepar's tokenizer, which is trained on text like its input; that of T5 has 32,000."""
LONGEST = 200
"""Maximum number of tokens of a sentence: T5-small reads 512 pieces."""


@dataclass(frozen=True)
class Sentence:
    """Input of the peers: benepar uses `words`, `space_after` and `tree` (None: to be predicted); Stanza our tree."""

    words: list[str]
    space_after: list[bool]
    bracketed: str
    tree: ClassVar[None] = None


def sentences(docs: Iterable[Doc], longest: int = LONGEST) -> tuple[list[Sentence], int]:
    """Return the parsed sentences up to the maximum length, without spaces, and the number of longer ones."""
    found, left = [], 0
    for doc in docs:
        for sentence in doc.sents:
            tokens = [token for token in sentence if not token.is_space]
            if len(tokens) > longest:
                left += 1
            elif tokens:
                spaces = [bool(token.whitespace_) for token in tokens]
                found.append(Sentence([token.text for token in tokens], spaces, parse_string(sentence)))
    return found, left


def one_thread() -> None:
    import torch

    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    torch.set_num_threads(1)
    torch.manual_seed(0)


def t5_small(folder: Path, training: list[str]) -> None:
    """Write an untrained T5-small, and a tokenizer trained on these texts."""
    from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, processors, trainers
    from transformers import T5Config, T5Model

    tokenizer = Tokenizer(models.BPE(unk_token="<unk>"))
    words = Regex(r"▁?\p{L}+|▁?\p{N}+|▁?[^\p{L}\p{N}▁]+|▁")
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Metaspace(), pre_tokenizers.Split(words, "isolated")]
    )
    tokenizer.decoder = decoders.Metaspace()
    special = ["<pad>", "</s>", "<unk>"]
    tokenizer.train_from_iterator(
        training, trainers.BpeTrainer(vocab_size=PIECES, special_tokens=special, show_progress=False)
    )
    tokenizer.post_processor = processors.TemplateProcessing(single="$A </s>", special_tokens=[("</s>", 1)])
    config = T5Config(vocab_size=32_128, d_model=512, d_kv=64, d_ff=2048, num_layers=6, num_heads=8)
    T5Model(config).save_pretrained(folder)
    tokenizer.save(str(folder / "tokenizer.json"))
    facts = {"tokenizer_class": "T5TokenizerFast", "model_max_length": 512, "extra_ids": 0}
    facts |= {"pad_token": "<pad>", "eos_token": "</s>", "unk_token": "<unk>"}
    (folder / "tokenizer_config.json").write_text(json.dumps(facts))


def benepar_shape(found: list[Sentence], training: list[str], folder: Path) -> tuple[Run, dict[str, Any]]:
    """benepar's parser as in benepar_en3, over all sentences in batches of its default 500 pieces."""
    import benepar.nkutil
    import benepar.parse_chart

    warnings.filterwarnings("ignore", module="torch_struct")
    t5_small(folder, training)
    hparams = benepar.nkutil.HParams(
        d_model=1024, num_layers=2, num_heads=8, d_kv=64, d_ff=2048, d_label_hidden=256, d_tag_hidden=256,
        encoder_max_len=512, attention_dropout=0.2, relu_dropout=0.1, residual_dropout=0.2, morpho_emb_dropout=0.2,
        use_chars_lstm=False, use_pretrained=True, pretrained_model=str(folder), use_encoder=True, predict_tags=True,
        tag_loss_scale=5.0, force_root_constituent=True,
    )  # fmt: skip
    labels = {"": 0} | {f"L{number}": number for number in range(1, 112)}
    tags = {f"T{number}": number for number in range(50)}
    parser = benepar.parse_chart.ChartParser(tags, labels, {}, hparams)
    pieces = sum(len(parser.encode(sentence)["input_ids"]) - 1 for sentence in found)
    facts = {"parameters": sum(part.numel() for part in parser.parameters()), "pieces": pieces}
    return lambda: parser.parse(found, return_compressed=True, subbatch_max_tokens=500), facts


class Untrained:
    """Write the word vectors and character language models that Stanza's trainer needs, with random weights."""

    def __init__(self, words: Iterable[str], characters: Iterable[str]) -> None:
        import torch
        from stanza.models.charlm import build_argparse
        from stanza.models.common.char_model import CharacterLanguageModel
        from stanza.models.common.pretrain import Pretrain, PretrainedWordVocab
        from stanza.models.common.vocab import CharVocab

        self.vectors = Pretrain()
        self.vectors._vocab = PretrainedWordVocab(sorted(set(words)), lang="en", lower=False)
        self.vectors._emb = torch.randn(len(self.vectors._vocab), 100)
        sizes, vocab = vars(build_argparse().parse_args([])), {"char": CharVocab([sorted(set(characters))])}
        self.readers = {
            way: CharacterLanguageModel(sizes, vocab, is_forward_lm=way == "forward") for way in ("forward", "backward")
        }
        for reader in self.readers.values():
            reader.eval()

    def load_pretrain(self, _: str) -> Any:
        return self.vectors

    def load_charlm(self, way: str) -> Any:
        return self.readers[way]

    def load_bert(self, *_: Any, **__: Any) -> tuple[None, None]:
        return None, None


def stanza_shape(found: list[Sentence]) -> tuple[Run, dict[str, Any]]:
    """Stanza's parser with the defaults of its trainer, over all sentences in batches of its default 50."""
    from stanza.models import constituency_parser
    from stanza.models.constituency import parser_training, transition_sequence, tree_reader
    from stanza.pipeline.constituency_processor import ConstituencyProcessor

    logging.disable(logging.INFO)
    trees = tree_reader.read_trees("\n".join(f"(ROOT {sentence.bracketed})" for sentence in found), use_tqdm=False)
    words = {word for sentence in found for word in sentence.words}
    cache = Untrained(words, {character for word in words for character in word} | {" ", "\n"})
    files = "--wordvec_pretrain_file vectors --charlm_forward_file forward --charlm_backward_file backward"
    args = constituency_parser.parse_args([*files.split(), "--no_multistage", "--cpu"])
    model = parser_training.build_trainer(args, trees, trees[:1], [], cache, None)[0].model.eval()
    way = args["transition_scheme"], args["reversed"]
    sequences, _ = transition_sequence.convert_trees_to_sequences(trees, "all", *way)
    work = sorted(zip(trees, sequences, strict=True), key=lambda pair: len(pair[1]), reverse=True)
    batch = ConstituencyProcessor.DEFAULT_BATCH_SIZE

    def start(size: int, pairs: Iterator[Any]) -> list[Any]:
        taken = list(islice(pairs, size))
        return model.initial_state_from_gold_trees(*map(list, zip(*taken, strict=True))) if taken else []

    parameters = sum(part.numel() for part in model.parameters())
    facts = {"parameters": parameters, "steps": sum(map(len, sequences))}
    return lambda: model.parse_sentences_no_grad(iter(work), start, batch, model.predict_gold), facts
