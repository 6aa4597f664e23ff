"""What a config's `dataset:` may be: a name, pinned or not, your files, your loader, or generated data."""

from collections.abc import Mapping
from dataclasses import replace
from operator import attrgetter
from pathlib import Path
from typing import Annotated, Any, ClassVar, TypeAlias

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Discriminator,
    Field,
    PlainSerializer,
    StringConstraints,
    Tag,
    ValidationInfo,
)

from kfeat.data.base import Model, Task
from kfeat.data.content import local_path
from kfeat.data.generators import GeneratorSource
from kfeat.data.large_quadric import LargeQuadric
from kfeat.data.reading import Reading
from kfeat.data.registry import entry, registry
from kfeat.errors import ConfigError
from kfeat.place import Place, entry_points

SHORT_NAMES = "kfeat.datasets"  # the group in which installed packages register loaders


Fingerprint = Annotated[str, StringConstraints(pattern="^[0-9a-f]{64}$")]


class FileSource(Reading):
    """The user's own files: `path`, perhaps a `test` file, and how to read them.

    `labels` and `test_labels` are for formats that keep labels in a file of their own. `task` is inferred
    from the labels where it is left out. `fingerprint` pins the data: loading anything else is an error.
    """

    path: str
    test: str | None = None
    labels: str | None = None
    test_labels: str | None = None
    task: Task | None = None
    fingerprint: Fingerprint | None = None

    @property
    def name(self) -> str:
        """The file's name, as the dataset's name in rows and tables."""
        return Path(self.path).name

    @property
    def reading(self) -> Reading:
        """How the files are to be read."""
        return Reading(**{name: getattr(self, name) for name in Reading.model_fields})

    @property
    def files(self) -> dict[str, Path]:
        """The files by role, as absolute paths; raises DataError for what cannot be a path."""
        roles = {
            "train": self.path,
            "test": self.test,
            "train_labels": self.labels,
            "test_labels": self.test_labels,
        }
        return {role: local_path(path) for role, path in roles.items() if path is not None}


def loader_place(loader: Any, info: ValidationInfo) -> Place:
    """Return the place of a loader, whose file is relative to the config; its text stays as written."""
    if not isinstance(loader, str):
        raise ConfigError("expected text")
    config: Path | None = getattr(info.context, "path", info.context)
    code = getattr(info.context, "code", "run")
    if code == "refuse":
        raise ConfigError(f"'{loader}' is code, which --no-code refuses")
    known = {} if ":" in loader else entry_points(SHORT_NAMES)
    place = Place.of(known.get(loader, loader), config and config.parent, needed=code == "run")
    return replace(place, text=loader)


class LoaderSource(Model):
    """A function without arguments that returns (X, y) or (X_train, y_train, X_test, y_test).

    `loader` is its place, such as my_data.py:load, or the short name under which a package registers it.
    `task` and `fingerprint` are as for files.
    """

    loader: Annotated[
        Place, BeforeValidator(loader_place, json_schema_input_type=str), PlainSerializer(attrgetter("text"))
    ]
    task: Task | None = None
    fingerprint: Fingerprint | None = None
    files: ClassVar[Mapping[str, Path]] = {}  # what it reads is not known

    @property
    def name(self) -> str:
        """The place, as the dataset's name in rows and tables."""
        return self.loader.text


OwnSource: TypeAlias = FileSource | LoaderSource
WithShortName = BeforeValidator(lambda source: {"loader": source} if isinstance(source, str) else source)


def known_name(name: str) -> str:
    """Return a registered dataset's name; an unknown one is a validation error with the nearest name."""
    entry(name)
    return name


class PinnedSource(Model):
    """A registered dataset by name and the fingerprint that it must have; it then counts as verified."""

    name: Annotated[str, AfterValidator(known_name)]
    fingerprint: Fingerprint


def source_tag(source: Any) -> str:
    """Return which kind of source is meant."""
    if isinstance(source, str):
        return "name" if source in registry() or source not in entry_points(SHORT_NAMES) else "function"
    keys = source if isinstance(source, dict) else getattr(source, "model_fields_set", ())
    tags = {"loader": "function", "path": "files", "fingerprint": "pinned"}
    return next((tag for key, tag in tags.items() if key in keys), "generator")


Source = Annotated[
    Annotated[str, AfterValidator(known_name), Tag("name")]
    | Annotated[FileSource, Tag("files")]
    | Annotated[LoaderSource, WithShortName, Tag("function")]
    | Annotated[PinnedSource, Tag("pinned")]
    | Annotated[Annotated[GeneratorSource | LargeQuadric, Field(discriminator="name")], Tag("generator")],
    Discriminator(source_tag),
]


def dataset_name(source: Source) -> str:
    """Return the short name of a config's dataset."""
    return source if isinstance(source, str) else source.name
