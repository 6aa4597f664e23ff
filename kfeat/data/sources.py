"""What a config's `dataset:` may be: a registered name, pinned or not, your own files, or generated data."""

from functools import cache
from pathlib import Path
from typing import Annotated, Any

from pydantic import (
    AfterValidator,
    Discriminator,
    Field,
    StringConstraints,
    Tag,
    TypeAdapter,
    ValidationError,
)

from kfeat.data.files import local_path
from kfeat.data.generators import GeneratorSource, LargeQuadric
from kfeat.data.models import Model, Task
from kfeat.data.reading import Reading
from kfeat.data.registry import entry
from kfeat.errors import ConfigError
from kfeat.parameters import describe

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
        return "name"
    if isinstance(source, FileSource) or (isinstance(source, dict) and "path" in source):
        return "files"
    if isinstance(source, PinnedSource) or (isinstance(source, dict) and "fingerprint" in source):
        return "pinned"
    return "generator"


Source = Annotated[
    Annotated[str, AfterValidator(known_name), Tag("name")]
    | Annotated[FileSource, Tag("files")]
    | Annotated[PinnedSource, Tag("pinned")]
    | Annotated[Annotated[GeneratorSource | LargeQuadric, Field(discriminator="name")], Tag("generator")],
    Discriminator(source_tag),
]


def validated(kind: Any, value: Any, name: str) -> Any:
    """Return the value as a model of its kind; raises ConfigError naming every problem with its path."""
    try:
        return _adapter(kind).validate_python(value)
    except ValidationError as error:
        raise ConfigError("; ".join(describe(problem, name) for problem in error.errors())) from None


@cache
def _adapter(kind: Any) -> TypeAdapter[Any]:
    """Return the validator of this kind, kept since making one takes longer than a small trial."""
    return TypeAdapter(kind)
