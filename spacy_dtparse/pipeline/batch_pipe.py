"""Components that parse the sentences of several Docs at once, optionally in threads."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple, Optional

from spacy.tokens import Doc

from ..checks import Setting, integer, optional
from ..core import settings
from .batches import batches, map_in_threads
from .model_pipe import ModelPipe

THREADS: tuple[int, Setting] = (1, integer(1, 256))
"""The setting `threads`: its default and its allowed values."""
DEADLINE: tuple[None, Setting] = (None, optional(settings.DEADLINE)._replace(type=Optional[float]))  # noqa: UP045
"""The setting `deadline`: its default and its allowed values."""


class Job(NamedTuple):
    """A Doc on its way through a parser: its input for the parser, the result, an error."""

    doc: Doc
    parser_input: Any
    results: Any = None
    error: Optional[Exception] = None  # noqa: UP045 (as in all modules that spaCy imports)


class BatchPipe(ModelPipe, ABC):
    """A ModelPipe in three steps: `read_doc`, `predict`, `set_annotations`; subclasses implement them.

    `threads`: number of threads that parse in `nlp.pipe`, in addition to the thread of the other components; the result
    is the same. Docs are read and written in the calling thread only. `deadline`: maximum number of seconds for parsing
    a sentence; a sentence that could take longer is parsed in less time (see `core.deadline`), and the record of its
    parse says so. None: no limit.
    """

    threads: int
    deadline: float | None
    timed: Any = None
    """The parser with the deadline, set by `set_parser`; None without a deadline."""

    @property
    def timed_parser(self) -> Any:
        """`configured_parser`, with the deadline if there is one."""
        parser = self.configured_parser  # which loads it
        return parser if self.timed is None else self.timed

    @abstractmethod
    def read_doc(self, doc: Doc) -> Any:
        """Return the parser's input for a Doc. Raises MissingAnnotationError."""

    @abstractmethod
    def predict(self, inputs: Sequence[Any]) -> list[Any]:
        """Return the results for several Docs, given what `read_doc` returned for each.

        It has no access to the Docs, may run in another thread, and its result for a Doc does not depend on the others.
        """

    @abstractmethod
    def set_annotations(self, doc: Doc, parser_input: Any, results: Any) -> None:
        """Set the results in the Doc."""

    def __call__(self, doc: Doc) -> Doc:
        """Parse `doc` and set the results; on an error the Doc is left as it was."""
        (job,) = self._run_jobs([self._read_job(doc)])
        if job.error is not None:
            raise job.error
        self.set_annotations(doc, job.parser_input, job.results)
        return doc

    def pipe(self, stream: Iterable[Doc], *, batch_size: int = 1000) -> Iterator[Doc]:
        """Parse a stream of Docs, the sentences of several at a time. Only a Doc that raises goes to the error
        handler."""
        handle: Callable = self.get_error_handler()
        jobs_of_batches = (list(map(self._read_job, docs)) for docs in batches(stream, batch_size))
        for jobs in map_in_threads(jobs_of_batches, self._run_jobs, self.threads):
            for doc, parser_input, results, error in jobs:
                if error is None:
                    try:
                        self.set_annotations(doc, parser_input, results)
                    except Exception as raised:
                        error = raised
                if error is None:
                    yield doc
                else:
                    handle(self.name, self, [doc], error)

    def _read_job(self, doc: Doc) -> Job:
        """Return the Job of a Doc, with its input or with the error that reading it raised."""
        try:
            return Job(doc, self.read_doc(doc))
        except Exception as error:
            return Job(doc, None, error=error)

    def _run_jobs(self, jobs: Sequence[Job]) -> list[Job]:
        """Return the jobs with their results or errors."""
        ready = [job for job in jobs if job.error is None]
        if not ready:
            return list(jobs)
        try:
            results = iter(self.predict([job.parser_input for job in ready]))
        except Exception as error:  # one Doc's error: parse Doc by Doc to find which
            if len(ready) == 1:
                return [job if job.error is not None else job._replace(error=error) for job in jobs]
            return [self._run_jobs([job])[0] for job in jobs]
        return [job if job.error is not None else job._replace(results=next(results)) for job in jobs]
