"""What an adaptation is made of."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from spacy_dtparse.errors import ConfigError
from spacy_dtparse.trees.categories import check_categories

from ..self_train import Reading, TextFile
from ..sequence.options import SequenceOptions
from ..treebanks import TreebankFile


@dataclass(frozen=True)
class Adaptation:
    """A pipeline and the text that its parser's search is to become faster on.

    `pipeline`: a spaCy pipeline by folder or package name, "embedded": the English one. `files`, `reading`: the text
    and what is read of it. `parser`: a model file that takes the place of the pipeline's own parser ("embedded": the
    English boosted trees, "embedded-pcfgla": the English grammar). `treebank`: trees that the tagger learns from, too.
    `dev`: trees to score on. `categories`: one of `trees.categories.CATEGORIES`. `options`: of the tagger's training.
    `betas`: of the search, in place of the parser's own. `sizes`: a tagger for each of these numbers of the parser's
    trees, None: one for all that there are; the last one goes into the pipeline.

    Raises ConfigError for values out of range.
    """

    pipeline: str
    files: tuple[TextFile, ...]
    reading: Reading = field(default_factory=Reading)
    parser: Path | None = None
    treebank: tuple[TreebankFile, ...] = ()
    dev: tuple[TreebankFile, ...] = ()
    categories: str = "sided"
    options: SequenceOptions = field(default_factory=SequenceOptions)
    betas: tuple[float, ...] | None = None
    sizes: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        if not self.files:
            raise ConfigError("there is no text to adapt to; give files or folders of plain text (--text)")
        check_categories(self.categories)
        sizes = self.sizes
        if sizes is not None and (not sizes or min(sizes) < 0 or sorted(set(sizes)) != list(sizes)):
            raise ConfigError(f"the sizes are {list(sizes)}; give whole numbers from 0, the smallest first (--sizes)")
        if sizes is not None and sizes[0] == 0 and not self.treebank:
            raise ConfigError("a tagger of 0 trees of the parser has nothing to learn from; give --treebank FILE, too")
