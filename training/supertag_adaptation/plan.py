"""What an adaptation is made of."""

from dataclasses import dataclass, field
from pathlib import Path

from spacy_dtparse.errors import ConfigError
from spacy_dtparse.trees.categories import check_categories

from ..data.treebanks import TreebankFile
from ..loglinear_tagger.options import SequenceOptions
from ..self_train import Reading, TextFile

BETAS = ((0.5, 0.05), (0.3, 0.03), (0.2, 0.02), (0.1, 0.01), (0.03, 0.003), (0.01, 0.001))
"""What betas are chosen from where nothing else is said."""

ANNOTATE = (0.1, 0.01)
"""The betas of the treebanks' tagger while the parser annotates the text."""


@dataclass(frozen=True)
class Adaptation:
    """A pipeline and the text that its parser's search is to become faster on.

    `pipeline`: a spaCy pipeline by folder or package name, "embedded": the English one. `files`, `reading`: the text
    and what is read of it. `parser`: a model file that takes the place of the pipeline's own parser ("embedded": the
    English boosted trees, "embedded-pcfgla": the English grammar). `treebank`: trees that the tagger learns from, too.
    `dev`: trees to score on. `categories`: one of `trees.categories.CATEGORIES`. `options`: of the tagger's training.
    `betas`: of the search, in place of the parser's own. `sizes`: a tagger for each of these numbers of the parser's
    trees, None: one for all that there are; the last one goes into the pipeline. `tune`: each tagger gets the betas
    of these with which the parser is fastest at no less F1 than alone on every other sentence of `dev`; it is scored
    on the others. `annotate`: the betas with which the parser parses the text, its search pruned by a tagger of the
    treebanks alone, as Kummerfeld et al. (2010) do; (): the parser parses it alone, None: ANNOTATE where the parser has
    a chart (boosted trees gain nothing by spines) and is at least as accurate so as alone on the trees of `dev`, every
    other one where betas are chosen on them.

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
    tune: tuple[tuple[float, ...], ...] = ()
    annotate: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        if not self.files:
            raise ConfigError("there is no text to adapt to; give files or folders of plain text (--text)")
        check_categories(self.categories)
        sizes = self.sizes
        if sizes is not None and (not sizes or min(sizes) < 0 or sorted(set(sizes)) != list(sizes)):
            raise ConfigError(f"the sizes are {list(sizes)}; give whole numbers from 0, the smallest first (--sizes)")
        if sizes is not None and sizes[0] == 0 and not self.treebank:
            raise ConfigError("a tagger of 0 trees of the parser has nothing to learn from; give --treebank FILE, too")
        if self.tune and self.betas is not None:
            raise ConfigError("betas are given and to be chosen; give --betas or --tune, not both")
        if self.tune and not self.dev:
            raise ConfigError("betas are chosen by the parser's F1 on trees; give some of the text's kind (--dev FILE)")
        if self.annotate and not self.treebank:
            raise ConfigError(
                "a tagger of treebanks is to help the parser with the text (--annotate-betas), but there is no "
                "treebank; give --treebank FILE, too"
            )
        if any(not 0 <= beta <= 1 for beta in self.annotate or ()):
            raise ConfigError(f"betas are {list(self.annotate or ())}; give numbers from 0 to 1 (--annotate-betas)")
        for betas in self.tune:
            if not betas or any(not 0 <= beta <= 1 for beta in betas):
                raise ConfigError(
                    f"betas to choose from are {list(betas)}; give numbers from 0 to 1, such as 0.1,0.01 (--tune)"
                )
