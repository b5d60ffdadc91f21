"""Components that parse the sentences of several Docs at once, in threads if asked to."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple, Optional

from spacy.tokens import Doc

from ..checks import Setting, optional, whole_number
from ..parsers import settings
from .batches import batches, in_threads
from .model_pipe import ModelPipe

THREADS: tuple[int, Setting] = (1, whole_number(1, 256))
"""The setting `threads`, its default and its values."""
DEADLINE: tuple[None, Setting] = (None, optional(settings.DEADLINE)._replace(type=Optional[float]))  # noqa: UP045
"""The setting `deadline`, its default and its values."""


class Job(NamedTuple):
    """A Doc on its way through a parser: what was read of it, what was found, an error."""

    doc: Doc
    read: Any
    found: Any = None
    error: Optional[Exception] = None  # noqa: UP045 (as in all modules that spaCy imports)


class BatchPipe(ModelPipe, ABC):
    """A ModelPipe that reads a Doc, parses what it has read, and writes what was found; a subclass says how.

    `threads`: how many parse in `nlp.pipe`, beside the thread of the other components; the result is the same. Docs are
    read and written in the calling thread only. `deadline`: the most seconds that the parser may take for a
    sentence; one that could take longer is parsed in less time (see `parsers.deadline`), and the record of its parse
    says so. None: as long as it takes.
    """

    threads: int
    deadline: float | None
    _timed: Any = None

    @abstractmethod
    def in_time(self, parser: Any, deadline: float) -> Any:
        """A parser of the same kind that keeps a deadline."""

    def set_parser(self, parser: Any) -> None:
        """See `ModelPipe.set_parser`."""
        super().set_parser(parser)
        self._timed = None if self.deadline is None else self.in_time(self.configured_parser, self.deadline)

    @property
    def timed_parser(self) -> Any:
        """`configured_parser`, with the deadline if there is one."""
        parser = self.configured_parser  # which loads it
        return parser if self._timed is None else self._timed

    @abstractmethod
    def begin(self, doc: Doc) -> Any:
        """What is to be parsed of a Doc. Raises MissingAnnotationError."""

    @abstractmethod
    def parse_read(self, read: Sequence[Any]) -> list[Any]:
        """What is found for several Docs, by what `begin` has read of each. It does not see the Docs, may run in
        another thread, and finds the same for a Doc in any company."""

    @abstractmethod
    def write(self, doc: Doc, read: Any, found: Any) -> None:
        """Set in the Doc what was found."""

    def __call__(self, doc: Doc) -> Doc:
        """Parse `doc` and set what was found; on an error the Doc is left as it was."""
        (job,) = self._parsed([self._begun(doc)])
        if job.error is not None:
            raise job.error
        self.write(doc, job.read, job.found)
        return doc

    def pipe(self, stream: Iterable[Doc], *, batch_size: int = 1000) -> Iterator[Doc]:
        """Parse a stream of Docs, the sentences of several at a time. A Doc that raises goes to the error handler,
        alone."""
        handle: Callable = self.get_error_handler()
        begun = (list(map(self._begun, docs)) for docs in batches(stream, batch_size))
        for jobs in in_threads(begun, self._parsed, self.threads):
            for doc, read, found, error in jobs:
                if error is None:
                    try:
                        self.write(doc, read, found)
                    except Exception as raised:
                        error = raised
                if error is None:
                    yield doc
                else:
                    handle(self.name, self, [doc], error)

    def _begun(self, doc: Doc) -> Job:
        """What is to be parsed of a Doc, or why it cannot be."""
        try:
            return Job(doc, self.begin(doc))
        except Exception as error:
            return Job(doc, None, error=error)

    def _parsed(self, jobs: Sequence[Job]) -> list[Job]:
        """The jobs with what was found, or with errors."""
        able = [job for job in jobs if job.error is None]
        if not able:
            return list(jobs)
        try:
            found = iter(self.parse_read([job.read for job in able]))
        except Exception as error:  # of one of them: which is found out Doc by Doc
            if len(able) == 1:
                return [job if job.error is not None else job._replace(error=error) for job in jobs]
            return [self._parsed([job])[0] for job in jobs]
        return [job if job.error is not None else job._replace(found=next(found)) for job in jobs]
