"""Treebank files as spaCy Docs, with the trees as gold constituents, and optionally the gold category of each word.

(No `from __future__ import annotations` here: spaCy reads the annotations of registered functions.)
"""

import warnings
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import accumulate, chain, islice
from pathlib import Path
from typing import Optional, Union

from spacy.language import Language
from spacy.tokens import Doc, DocBin
from spacy.training import Example
from spacy.util import registry
from spacy.vocab import Vocab

from ..errors import ConfigError, TrainingDataError, TreeError, TreeFormatError
from ..files import write_atomically
from ..text import raw_word, unescape_token
from ..trees.bad_input import ERRORS, describe_skipped, on_error
from ..trees.brackets import read_trees
from ..trees.directional import category_writer, check_categories
from ..trees.heads import head_rules
from ..trees.labels import EMPTY_TAG
from ..trees.psd import SUFFIX
from ..trees.transforms import Recipe, strip_empty, strip_empty_elements
from ..trees.tree import Tree
from .constituents import DEFAULT_KEY
from .spines import SPINES_KEY, write_spines
from .writing import ParsedSentence, write_constituents

_NO_SPACE_BEFORE = frozenset(". , : ; ! ? % ) ] } '' ” ’ n't 's 'S 'm 're 've 'll 'd ' ...".split())
_NO_SPACE_AFTER = frozenset("( [ { `` “ ‘ $ £ € #".split())


@registry.readers("spacy_dtparse.BracketCorpus.v1")
def create_bracket_corpus(
    path: Union[str, Path],  # noqa: UP007
    sentences_per_doc: int = 1,
    gold_tags: bool = False,
    spans_key: str = DEFAULT_KEY,
    limit: int = 0,
    categories: Optional[str] = None,  # noqa: UP045
    spines_key: str = SPINES_KEY,
    errors: str = "strict",
) -> Callable[[Language], Iterable[Example]]:
    """Reader for `[corpora.dev]`: a bracketed file, or a folder of `.mrg` and `.psd` files, as Examples.

    The predicted Docs have the treebank's tokens and sentence boundaries, and its tags if `gold_tags`; `limit` is the
    maximum number of sentences, 0 for all. `categories`, `spines_key`: see `read_docs`. `errors`: at a malformed tree,
    "strict" raises TreeFormatError; "skip" leaves the tree out; "replace" also replaces bytes that are not UTF-8 by
    U+FFFD; a warning says how many trees were left out. Raises ConfigError for values out of range.
    """
    if sentences_per_doc < 1 or limit < 0:
        raise ConfigError(
            f"BracketCorpus: sentences_per_doc={sentences_per_doc}, limit={limit}; the first is at least 1, the second "
            "at least 0"
        )
    if categories is not None:
        check_categories(categories)
    if errors not in ERRORS:
        raise ConfigError(f"BracketCorpus: errors={errors!r}; allowed are {', '.join(map(repr, ERRORS))}")

    policy = on_error(errors)

    def read_examples(nlp: Language) -> Iterator[Example]:
        skipped: list[TreeFormatError] = []
        docs = read_docs(
            path, nlp.vocab, sentences_per_doc=sentences_per_doc, spans_key=spans_key, limit=limit,
            categories=categories, spines_key=spines_key, on_error=policy, errors=skipped,
        )  # fmt: skip
        for doc in docs:
            yield Example(blank_copy(doc, tags=gold_tags), doc)
        if skipped:
            warnings.warn(f"BracketCorpus: {describe_skipped(skipped, 'malformed tree')}", stacklevel=2)

    return read_examples


def read_docs(
    path: str | Path,
    vocab: Vocab,
    *,
    sentences_per_doc: int = 1,
    spans_key: str = DEFAULT_KEY,
    limit: int = 0,
    categories: str | None = None,
    spines_key: str = SPINES_KEY,
    on_error: str = "raise",
    errors: list[TreeFormatError] | None = None,
) -> Iterator[Doc]:
    """Read gold Docs from a bracketed file, or from the `.mrg` and `.psd` files of a folder in sorted order.

    Empty elements and function tags are stripped; `limit` is the maximum number of sentences, 0 for all. `categories`:
    one of `trees.directional.CATEGORIES`; `doc.spans[spines_key]` then has each word's category, by the head rules of
    the vocabulary's language. `on_error`, `errors`: for malformed trees, see `read_trees`.

    Raises TreeFormatError with file, line and column, TrainingDataError if there is no file, no tree, or a tree without
    categories, ConfigError for unknown `categories`.
    """
    path = Path(path)
    categories_of = None if categories is None else category_writer(categories, head_rules(vocab.lang))
    files = sorted(p for p in path.rglob("*") if p.suffix in (".mrg", SUFFIX)) if path.is_dir() else [path]
    if not files or not files[0].exists():
        raise TrainingDataError(
            f"{path}: no treebank there; give a file of bracketed trees or a folder with .mrg or .psd files"
        )
    read = partial(read_clean_trees, on_error=on_error, errors=errors)
    trees = islice(chain.from_iterable(map(read, files)), limit or None)
    any_tree = False
    while batch := list(islice(trees, sentences_per_doc)):
        any_tree = True
        try:
            doc = doc_from_trees(batch, vocab, spans_key=spans_key, categories=categories_of, spines_key=spines_key)
        except TreeError as error:
            raise TrainingDataError(f"{path}: {error}") from error
        yield doc
    if not any_tree:
        raise TrainingDataError(f"{path}: no tree in it; give a file of bracketed trees, (TOP (NP (NN test)))")


def read_clean_trees(
    path: str | Path, *, on_error: str = "raise", errors: list[TreeFormatError] | None = None, functions: bool = False
) -> Iterator[Tree]:
    """The trees of a file without empty elements and function tags; trees of empty elements only are left out.

    `functions`: with function tags. `on_error`, `errors`: for malformed trees, see `read_trees`.
    """
    for tree in read_trees(path, on_error=on_error, errors=errors):
        if any(tag != EMPTY_TAG for tag in tree.tags):
            yield strip_empty_elements(tree) if functions else strip_empty(tree)


def doc_from_trees(
    trees: Iterable[Tree],
    vocab: Vocab,
    *,
    spans_key: str = DEFAULT_KEY,
    categories: Callable[[Tree], list[str]] | None = None,
    spines_key: str = SPINES_KEY,
) -> Doc:
    """Build one Doc of the trees' sentences with their words as running text, tags, sentence boundaries, constituents,
    and the categories that `categories` returns for a tree's tokens (repeated unary labels count once).

    Escaped brackets and `` '' become ( ) and "; spaces are guessed from the words, because trees do not record them.
    Raises TreeError as `categories` does.
    """
    trees = list(trees)
    words = [raw_word(word) for tree in trees for word in tree.words]
    tags = [tag for tree in trees for tag in tree.tags]
    spaces = [space for tree in trees for space in guess_spaces(tree.words, tree.tags)]
    bounds = [0, *accumulate(len(tree.words) for tree in trees)]
    starts: list[bool | int | None] = [k == 0 for tree in trees for k in range(len(tree.words))]
    doc = Doc(vocab, words=words, spaces=spaces, tags=tags, sent_starts=starts)
    extents = zip(bounds, bounds[1:], trees, strict=False)
    sentences = [ParsedSentence(first, end, range(first, end), tree) for first, end, tree in extents]
    write_constituents(doc, sentences, spans_key, "gold")
    if categories is not None:
        names = (name for tree in trees for name in categories(Recipe.PLAIN.apply(tree)))
        write_spines(doc, range(len(words)), [[(name, 1.0)] for name in names], spines_key)
    return doc


def guess_spaces(words: Iterable[str], tags: Iterable[str]) -> list[bool]:
    """Whether a space follows each word of a sentence in running English text; the last word gets one."""
    words, tags = [unescape_token(word) for word in words], list(tags)
    return [
        not (following in _NO_SPACE_BEFORE or word in _NO_SPACE_AFTER or "HYPH" in (tag, next_tag))
        for word, following, tag, next_tag in zip(words, [*words[1:], ""], tags, [*tags[1:], ""], strict=True)
    ]


def blank_copy(doc: Doc, *, tags: bool = False) -> Doc:
    """A Doc of the same tokens and sentence boundaries, with the tags if `tags`, and no other annotation."""
    return Doc(
        doc.vocab,
        words=[token.text for token in doc],
        spaces=[bool(token.whitespace_) for token in doc],
        tags=[token.tag_ for token in doc] if tags else None,
        sent_starts=[bool(token.is_sent_start) for token in doc],
    )


def convert_brackets(
    source: str | Path,
    target: str | Path,
    *,
    sentences_per_doc: int = 10,
    limit: int = 0,
    lang: str = "en",
    categories: str | None = None,
    on_error: str = "raise",
    errors: list[TreeFormatError] | None = None,
) -> int:
    """Write the trees of `source` to the DocBin file `target` (.spacy), with `categories` if given (see `read_docs`);
    return the number of Docs.

    The result is for `spacy evaluate`, `spacy train` and spacy.Corpus.v1 (not with `gold_preproc = true`: spaCy drops
    span groups when it cuts Docs into sentences; BracketCorpus keeps gold tokens). `on_error`, `errors`: as for
    `read_docs`, which raises likewise.
    """
    from spacy import blank

    vocab = blank(lang).vocab
    docs = list(
        read_docs(
            source, vocab, sentences_per_doc=sentences_per_doc, limit=limit, categories=categories, on_error=on_error,
            errors=errors,
        )
    )  # fmt: skip
    target = Path(target)
    target.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(target, DocBin(docs=docs, store_user_data=True).to_bytes())
    return len(docs)
