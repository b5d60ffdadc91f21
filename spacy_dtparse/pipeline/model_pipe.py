"""The base of all components of the package: loading and saving a parser's model, passing it to other processes, and
the settings of the parser.

spaCy imports this module and those of the components in every spacy.blank() and spacy.load() of the environment, so
they must stay light: parsers and numba are imported when a model is loaded. (No `from __future__ import annotations`
here: spaCy reads the annotations of `initialize`.)
"""
# ruff: noqa: UP007, UP045 (older releases of spaCy do not support X | None)

import copy
import inspect
import re
import warnings
import weakref
from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar, Optional, Union

import srsly
from spacy.language import Language
from spacy.pipeline.pipe import Pipe
from spacy.tokens import Doc

from ..checks import Setting
from ..core.registry import KINDS
from ..errors import ConfigError, ModelFormatError
from ..files import write_atomically
from ..memory import return_memory
from ..models import HERE, MODEL_FILE, PARSERS, embedded_model, find_model, missing_package
from .boundary_changes import later_sentence_setters
from .provenance import add_provenance, read_licence_files, stored_meta
from .sentences import SentenceInput, has_boundaries, read_sentences
from .settings import change_config, check_setting
from .tag_sets import TagSetCheck
from .text_language import language_problem

SAVED = "@saved"
"""Value of the setting `model` in a saved pipeline: the model is in the component's folder."""

_NAME = re.compile(r"[A-Za-z]\w*")
"""The form of a model's name, in contrast to a path; a file's path has a folder or a suffix."""

KEY = Setting(lambda value: isinstance(value, str) and value != "", "a non-empty string, a key of doc.spans", str)
"""The allowed values of a setting that names a span group."""


class ModelPipe(Pipe):
    """A parser as a pipeline component; subclasses define the parser, its settings, and the annotation of a Doc.

    `model`: None for the embedded English one (loaded at the first Doc), or the path of a model file or of a folder
    with one, or the name of one in `models.PARSERS`. A path is read at once; if it does not exist, the component warns
    and waits for its data from disk. Raises ConfigError for a name that is neither.
    `settings`: settings of the parser (None: the model's value) and of the component, by keyword; each is also an
    attribute of the component. Raises ConfigError for an unknown one and for values that are not allowed,
    ModelFormatError for a model of another kind.
    """

    factory: ClassVar[str]
    """The component's name for `nlp.add_pipe`."""
    SETTINGS: ClassVar[Mapping[str, Setting]]
    """The settings that are passed to the parser's `with_settings`; None is always allowed and means the model's
    value."""
    COMPONENT_SETTINGS: ClassVar[Mapping[str, tuple[Any, Setting]]]
    """The settings of the component itself, with their defaults."""
    EMBEDDED: ClassVar[str]
    """The name of the English parser that `model` = None stands for."""
    LOADER: ClassVar[str] = "load_parser"
    """The function of `parsers` that reads the models."""
    PAST_VERB: ClassVar[str] = "parsed"
    """The verb for processing sentences, past participle, for messages."""
    SENTENCE_SETTERS: ClassVar[str] = "recurrent_tagger, senter, parser, sentencizer"
    """Components that may set sentence boundaries before this one, for messages."""

    spans_key: str

    def __init__(
        self,
        name: str = "",
        *,
        parser: Any = None,
        model: str | Path | None = None,
        scorer: Callable | None = None,
        **settings: Any,
    ):
        self.name = name = name or self.factory
        if unknown := sorted(settings.keys() - {*self.SETTINGS, *self.COMPONENT_SETTINGS}):
            allowed = ", ".join(("model", *self.SETTINGS, *self.COMPONENT_SETTINGS, "scorer"))
            raise ConfigError(f"{name}: there is no setting {', '.join(unknown)}; allowed are {allowed}")
        self._loaded_parser: Any = None
        self._nlp: weakref.ref[Language] | None = None  # the pipeline whose config names this component's model
        defaults = {setting: default for setting, (default, _) in self.COMPONENT_SETTINGS.items()}
        for setting in (*defaults, *self.SETTINGS):
            setattr(self, setting, settings.get(setting, defaults.get(setting)))
        self.prepare()
        self.scorer = scorer
        self._warned: set[str] = set()
        self._tag_set = TagSetCheck()
        self._source: str | None = None if model is None else str(model)
        self._with_settings: Any = None
        self._licence_files: dict[str, str] = {}
        if parser is not None:
            self.set_parser(parser)
        elif model is None:
            if problem := missing_package(getattr(self, "EMBEDDED", "")):
                advice = "or give another `model`, or load the component's data from disk (as spacy.load does)"
                warnings.warn(f"{name}: {problem}, {advice}", stacklevel=5)
        elif self._source != SAVED:
            path = find_model(model, self.factory)
            if path.exists():
                self._load(path)
            elif isinstance(model, str) and _NAME.fullmatch(model):
                names = [known for known, factory in PARSERS.items() if factory == self.factory]
                others = ", ".join(f"{known} ({factory})" for known, factory in PARSERS.items() if known not in names)
                near = get_close_matches(model, PARSERS, 1)
                raise ConfigError(
                    f"{name}: there is no model {model!r}, and no file or folder of that name"
                    f"{f'; did you mean {near[0]!r}?' if near else '.'} The English models for {self.factory!r} "
                    f"are {', '.join(names) or 'none by name'}; for other factories {others}. Give a file that does "
                    f"not exist yet with its folder: './{model}'"
                )
            else:
                warnings.warn(
                    f"{name}: there is no model file {path}; the component can only be used after its data is "
                    "loaded from disk (as spacy.load does), or with another `model`",
                    stacklevel=5,
                )

    def __setattr__(self, name: str, value: Any) -> None:
        """Set an attribute. A setting has its effect from the next Doc on, and is saved with the pipeline. Raises
        ConfigError for a value that is not allowed, and the errors of `set_parser`; then nothing changes."""
        if name not in self.SETTINGS and name not in self.COMPONENT_SETTINGS:
            return super().__setattr__(name, value)
        check_setting(self.name, name, value, self.SETTINGS, self.COMPONENT_SETTINGS)
        before = self.__dict__.get(name)
        super().__setattr__(name, value)
        if self._loaded_parser is not None:
            try:
                self.set_parser(self._loaded_parser)
            except Exception:
                super().__setattr__(name, before)
                raise
        change_config(self._nlp, self, name, value)

    @classmethod
    def default_model(cls) -> str:
        """The model file for `model` = None. Raises ModelFormatError if the installation lacks it."""
        return embedded_model(cls.EMBEDDED)

    def prepare(self) -> None:
        """Prepare a process for using the component; called in each process."""

    @property
    def cfg(self) -> dict[str, Any]:
        """The keyword arguments that `Pipe.score` passes to the scorer."""
        return {"spans_key": self.spans_key}

    # ---- the parser ----

    @property
    def parser(self) -> Any:
        """The parser; loads it if necessary. Raises ModelFormatError if there is none."""
        if self._loaded_parser is None:
            if self._source == SAVED:
                raise ModelFormatError(
                    f"{self.name}: this pipeline was saved without the model of {self.name!r} (or it was excluded "
                    "while loading); save it again with its model, or set `model` to a path, or to null for the "
                    "embedded English one"
                )
            self._load(find_model(self.default_model() if self._source is None else self._source, self.factory))
        assert self._loaded_parser is not None
        return self._loaded_parser

    @property
    def configured_parser(self) -> Any:
        """`parser` with this component's settings, which parses the Docs."""
        assert self.parser is not None and self._with_settings is not None
        return self._with_settings

    def set_parser(self, parser: Any) -> None:
        """Use `parser` from now on, with this component's settings.

        Raises ModelFormatError for a parser that needs another factory, ConfigError for settings that it does not have;
        then nothing changes.
        """
        kind = KINDS.get(parser.name)  # None: a parser of another package, which every factory accepts
        if kind is not None and kind.factory != self.factory:
            raise ModelFormatError(
                f"{self.name}: a model of kind {kind.name!r} ({kind.noun}) is not one for the factory "
                f"{self.factory!r}; use it with nlp.add_pipe({kind.factory!r}, config={{'model': …}}), or give this "
                "one another"
            )
        self._with_settings = self._configure(parser)
        self._loaded_parser = parser
        self.check_language()

    def _configure(self, parser: Any) -> Any:
        """Return a parser with this component's settings. Raises ConfigError for settings that it does not have."""
        return parser.with_settings(**self._parser_settings(parser))

    def _parser_settings(self, parser: Any) -> dict[str, Any]:
        """This component's settings for the parser's `with_settings`. Raises ConfigError for a setting that the parser
        lacks."""
        known = (
            vars(parser.settings) if parser.settings is not None else inspect.signature(parser.with_settings).parameters
        )
        settings = {setting: value for setting in self.SETTINGS if (value := getattr(self, setting)) is not None}
        unknown = sorted(set(settings) - set(known))
        if unknown:
            raise ConfigError(
                f"{self.name}: a parser of kind {parser.name!r} has no setting {', '.join(unknown)}; take it out, or "
                "give a model that has it"
            )
        return settings

    def _load(self, source: Path | bytes) -> None:
        try:
            parser = getattr(import_module("..core", __package__), self.LOADER)(source)
            if isinstance(source, Path) and HERE in source.parents:
                parser.mmap_model(source)
            self.set_parser(parser)
            if isinstance(source, Path):
                self._licence_files = read_licence_files(source)
            return_memory()
        except ModelFormatError as error:
            if isinstance(source, bytes) or str(source) in str(error):
                raise
            raise ModelFormatError(f"{self.name}: {source}: {str(error).removeprefix(f'{self.name}: ')}") from error

    def _load_saved(self, source: Path | bytes) -> None:
        """Load data that a component of this factory saved."""
        self._load(source)
        self._source = SAVED

    @property
    def labels(self) -> tuple[str, ...]:  # type: ignore[override]
        """The labels of the parser's trees, () while no model is loaded.

        spaCy reads them when it writes meta.json, before it writes the config. This is the moment to replace a model's
        path in the config by `SAVED`, since the model is saved too.
        """
        if self._loaded_parser is None:
            return ()
        if self._source is not None:
            change_config(self._nlp, self, "model", SAVED)
        return tuple(self.configured_parser.labels)

    def on_add(self, nlp: Language) -> None:
        """Called before the component is added to `nlp`."""

    def model_meta(self) -> dict[str, Any]:
        """Metadata of the model: language, licence, sources, credits and others. An embedded model is not loaded for
        them; {} while there is no model."""
        if self._loaded_parser is not None and self._source is not None:
            return dict(getattr(self._loaded_parser, "meta", None) or {})
        try:
            return stored_meta(Path(self.default_model())) if self._source is None else {}
        except ModelFormatError:
            return {}

    def check_language(self) -> None:
        """Warn if the model, loaded or to be loaded by default, is known to be for another language than `nlp`."""
        nlp = self._nlp() if self._nlp is not None else None
        if self._loaded_parser is not None:
            model = getattr(self._loaded_parser, "meta", {}).get("lang")
        else:
            model = getattr(type(self), "EMBEDDED", "").partition("_")[0] if self._source is None else ""
        if nlp is not None and (problem := language_problem(model, nlp.lang)):
            self._warn_once("language", f"{self.name}: {problem}")

    def _warn_once(self, kind: str, message: str) -> None:
        if kind not in self._warned:
            self._warned.add(kind)
            warnings.warn(message, stacklevel=3)

    def _read_sentences(self, doc: Doc, needs_tags: bool) -> list[SentenceInput]:
        """The sentences of a Doc; warns of missing tags and boundaries, and raises as `read_sentences` does."""
        sentences, untagged = read_sentences(doc, self.name, needs_tags)
        if untagged and needs_tags:
            self._warn_once(
                "tags",
                f"{self.name}: {untagged} words of a Doc have no part-of-speech tag; they are {self.PAST_VERB} as "
                "unknown (XX). Check the tagger before it",
            )
        if needs_tags:
            problem = self._tag_set.problem(sentences, self.parser.known_tags)
            if problem:
                self._warn_once("tag set", f"{self.name}: {problem}")
        self._check_boundaries(doc)
        return sentences

    def _check_boundaries(self, doc: Doc) -> None:
        if not has_boundaries(doc):
            later = self._later_sentence_setters()
            advice = f"Put a component that sets them ({self.SENTENCE_SETTERS}) before it"
            if later:
                advice = (
                    f"{later[-1]!r} sets them, but comes after it: use nlp.add_pipe({self.factory!r}, "
                    f"after={later[-1]!r}). nlp.analyze_pipes(pretty=True) shows such problems"
                )
            self._warn_once(
                "sentences",
                f"{self.name}: a Doc has no sentence boundaries and is {self.PAST_VERB} as one sentence. {advice}",
            )

    def _later_sentence_setters(self) -> list[str]:
        """The names of later components of the pipeline that set sentence boundaries; [] in another process."""
        nlp = self._nlp() if self._nlp is not None else None
        return [] if nlp is None else later_sentence_setters(nlp, self)

    def initialize(
        self,
        get_examples: Callable[[], Iterable[Any]],
        *,
        nlp: Optional[Language] = None,
        model: Optional[Union[str, Path]] = None,
    ) -> None:
        """Load `model`, the setting of [initialize.components.NAME]; without it nothing changes.

        Raises ModelFormatError if the file is missing, cannot be read, or needs another factory.
        """
        if model is None:
            return
        self._load(find_model(model, self.factory))
        self._source = str(model)
        if nlp is not None:
            self._nlp = weakref.ref(nlp)
            add_provenance(nlp, self.model_meta())

    # ---- serialization: the model only; settings are the config's ----

    def to_bytes(self, *, exclude: Iterable[str] = ()) -> bytes:
        """The component's model as bytes."""
        return srsly.msgpack_dumps({} if MODEL_FILE in exclude else {MODEL_FILE: self.parser.to_bytes()})

    def from_bytes(self, data: bytes, *, exclude: Iterable[str] = ()) -> "ModelPipe":
        """Load the model from the bytes of `to_bytes`. Raises ModelFormatError for other bytes."""
        try:
            model = srsly.msgpack_loads(data).get(MODEL_FILE)
        except Exception as error:  # another format, or no dict
            raise ModelFormatError(f"{self.name}: the bytes are not those of a {self.factory} component") from error
        if model is not None and MODEL_FILE not in exclude:
            self._load_saved(model)
        return self

    def to_disk(self, path: str | Path, *, exclude: Iterable[str] = ()) -> None:
        """Write the model to `path`/model, and the licence files that came with it; creates the folder."""
        data = None if MODEL_FILE in exclude else self.parser.to_bytes()
        Path(path).mkdir(parents=True, exist_ok=True)
        if data is not None:
            write_atomically(Path(path) / MODEL_FILE, data)
            for name, text in self._licence_files.items():
                write_atomically(Path(path) / name, text)

    def from_disk(self, path: str | Path, *, exclude: Iterable[str] = ()) -> "ModelPipe":
        """Load the model at `path`/model.

        A model that the config names by its path stays, so that spacy.load(…, config=…) can replace one, and so does
        the configured model if the folder was never written (the component was excluded while saving). Raises
        ModelFormatError if there is then no model, or the file cannot be read.
        """
        file = Path(path) / MODEL_FILE
        if MODEL_FILE in exclude or (self._loaded_parser is not None and self._source not in (None, SAVED)):
            return self
        if file.exists():
            self._load_saved(file)
        elif self._loaded_parser is None and self._source is not None:
            raise ModelFormatError(
                f"{self.name}: there is no model in {path} (was the component excluded while saving?); "
                f"load the pipeline with exclude=[{self.name!r}], or set `model` in its config to null or to a path"
            )
        return self

    def __reduce__(self) -> tuple:
        parser = self._loaded_parser
        packed = None if parser is None else (type(parser), parser.to_bytes())
        return _restore, (type(self), self.name, self._plain_state(), packed)

    def __deepcopy__(self, memo: dict) -> "ModelPipe":
        restored = _restore(type(self), self.name, copy.deepcopy(self._plain_state(), memo), None)
        if self._loaded_parser is not None:
            restored.set_parser(self._loaded_parser)  # immutable, so shared
        return restored

    def _plain_state(self) -> dict[str, Any]:
        """All attributes except the parser, the copy of it with this component's settings, and the weak reference."""
        left_out = ("_nlp", "_loaded_parser", "_with_settings", "timed")
        return {key: value for key, value in self.__dict__.items() if key not in left_out}


def _restore(cls: Any, name: str, state: dict[str, Any], packed: tuple[Any, bytes] | None) -> ModelPipe:
    component = cls.__new__(cls)
    component.name = name  # a C attribute of Pipe, not in __dict__
    component.__dict__.update(state, _nlp=None, _loaded_parser=None, _with_settings=None)
    component.prepare()
    if packed is not None:
        parser_class, data = packed
        component.set_parser(parser_class.from_bytes(data))
    return component
