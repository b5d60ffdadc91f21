"""Replace the tags of annotated text and trees by those of a tagger like the one used at parsing time."""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from spacy_dtparse.errors import ConfigError, DtparseError

from ..data.bad_input import input_errors
from ..data.corpus import read_treebank
from ..data.evaluate import tag_lists
from ..data.reading import load_tagger
from ..data.shards import read_shard, retag, shard_files
from ..data.treebanks import write_tags
from ..runs.files import write_atomically
from .tag_layer import EncoderTagger


class RetagTask(NamedTuple):
    """A shard or a file of trees, and the file to write. `copy`: copy the shard unchanged."""

    source: Path
    out: Path
    copy: bool = False


def retag_tasks(sources: Sequence[Path], out: Path, skip_every: int = 0) -> list[RetagTask]:
    """List the tasks for folders of shards and files of trees whose output is missing or older than the source. Every
    `skip_every`-th shard of a text is copied unchanged (0: none).

    Raises TrainingDataError for a folder without shards, ConfigError if two sources would be written to one file.
    """
    tasks = []
    for source in sources:
        if source.is_dir():
            numbered = [pair for paths in shard_files(source).values() for pair in enumerate(paths)]
            tasks += [RetagTask(path, out / path.name, skip_every > 0 and k % skip_every == 0) for k, path in numbered]
        else:
            name = source.resolve().parent.name if source.parent.name == "" else source.parent.name
            tasks.append(RetagTask(source, out / f"{name}.{source.stem}.tags"))
    source_of: dict[Path, Path] = {}
    for task in tasks:
        other = source_of.setdefault(task.out, task.source)
        if other != task.source:
            raise ConfigError(
                f"{other} and {task.source} would both be written to {task.out}; tag them in two calls with different "
                "--out folders"
            )
    return [t for t in tasks if not t.out.is_file() or t.out.stat().st_mtime < t.source.stat().st_mtime]


_pipeline = lru_cache(maxsize=1)(load_tagger)
_encoder_tagger = lru_cache(maxsize=1)(EncoderTagger)


class TaggerSource(NamedTuple):
    """The tagger: a spaCy `pipeline` (None: the embedded one), or an `encoder`, a model by file or name, with a
    `tag_layer`."""

    pipeline: str | None = None
    encoder: str | None = None
    tag_layer: Path | None = None

    def tag(self, sentences: Iterable[Sequence[str]]) -> list[tuple[str, ...]]:
        """Return the tags of sentences (lists of words)."""
        if self.encoder is None or self.tag_layer is None:
            return tag_lists(_pipeline(self.pipeline), sentences)
        return _encoder_tagger(self.encoder, self.tag_layer).tag(list(sentences))


def retag_file(tagger: TaggerSource, errors: str, task: RetagTask) -> tuple[str, list[DtparseError]]:
    """Write the file of a task; returns a message with the tag accuracy for trees, an empty one for shards, and the
    errors of what was skipped. `errors`: the value of --errors, which a worker process does not know. The file has a
    line of tags for each tree that is not skipped."""
    with input_errors(errors) as skipped:
        message = _retag(tagger, task)
    return message, [*skipped.values()]


def _retag(tagger: TaggerSource, task: RetagTask) -> str:
    task.out.parent.mkdir(parents=True, exist_ok=True)
    if task.copy:
        write_atomically(task.out, task.source.read_bytes())
        return ""
    if task.source.suffix == ".npz":
        sentences = [sentence.words for sentence in read_shard(task.source).sentences]
        retag(task.source, task.out, tagger.tag(sentences))
        return ""
    trees = read_treebank(task.source)
    tags = tagger.tag(sentence.tree.words for sentence in trees)
    write_tags(task.out, tags)
    right = sum(a == b for s, row in zip(trees, tags, strict=True) for a, b in zip(s.tree.tags, row, strict=True))
    return f"{task.out}: {100 * right / max(1, sum(map(len, tags))):.2f} % of the tags are correct"
