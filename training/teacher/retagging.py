"""Annotated text with the tags of the tagger that the parser will meet."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from spacy.language import Language

from ..evaluate import tag_lists
from ..self_train.tagging import load_tagger
from .shards import read_shard, retag


@lru_cache(maxsize=1)
def _pipeline(name: str) -> Language:
    return load_tagger(name)


def retag_shard(pipeline: str, out: Path, path: Path) -> None:
    """Write the shard of `path` to the folder `out` with the pipeline's tags, a sentence at a time as the treebanks are
    tagged."""
    sentences = [sentence.words for sentence in read_shard(path).sentences]
    retag(path, out / path.name, tag_lists(_pipeline(pipeline), sentences))
