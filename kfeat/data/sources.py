"""What a config's `dataset:` may be: a name, pinned or not, your files, your loader, or generated data."""

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from importlib.resources import files
from operator import attrgetter
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, TypeAlias

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    PlainSerializer,
    StringConstraints,
    Tag,
    TypeAdapter,
    ValidationError,
    ValidationInfo,
)

from kfeat.data.base import Model, Task
from kfeat.data.content import local_path
from kfeat.data.dataset import Raw
from kfeat.data.generators import GeneratorSource, LargeQuadric
from kfeat.data.reading import Reading
from kfeat.errors import ConfigError, DataError
from kfeat.parameters import describe, did_you_mean
from kfeat.place import Place, entry_points

MARGIN = 16 << 20  # bytes beyond the known size that a source may send, since it may compress otherwise
UNKNOWN = 2 << 30  # the most bytes of a file whose size is not known
SHORT_NAMES = "kfeat.datasets"  # the group in which installed packages register loaders


class RegistryModel(BaseModel):
    """A frozen record of registry.yaml: no unknown keys."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)


class RemoteFile(RegistryModel):
    """One upstream file.

    `path` is its place in the cache and in a mirror. A URL may end in `#member`: the file inside that .tgz,
    .tar or .zip. `sha256` is the hash of the content, without the compression wrapper, and `content_size` its
    length where that is not `size`, the length of the file upstream.
    """

    path: str
    sha256: str | None = None
    urls: tuple[str, ...] = ()
    size: int | None = None
    content_size: int | None = None

    @property
    def limit(self) -> int:
        """The most bytes that are taken from any source, and the most that the content may have."""
        return UNKNOWN if self.size is None else max(self.size, self.content_size or 0) + MARGIN


class Form(RegistryModel):
    """One of the forms in which a dataset is distributed: its files by role, and how to read them.

    `recipe` names the function that makes the dataset, if the files hold another one.
    """

    files: Mapping[Literal["train", "test", "train_labels", "test_labels"], RemoteFile]
    reading: Reading
    recipe: Literal["covertype_binary", "gisette_mnist"] | None = None

    @property
    def pinned(self) -> bool:
        """Whether the hash of every file's content is known."""
        return all(file.sha256 is not None for file in self.files.values())

    def paths(self, cache: Path) -> dict[str, Path]:
        """Return where the files lie in a cache folder, by role."""
        return {role: cache / file.path for role, file in self.files.items()}


class Entry(RegistryModel):
    """One dataset: what it is, where it comes from, and what it must look like once parsed."""

    title: str
    task: Task
    shape: Mapping[Literal["train", "test"], tuple[int, int]]
    labels: Mapping[str, Mapping[int, int]] = {}
    fingerprint: str | None = None
    forms: tuple[Form, ...] = ()
    bundled: bool = False
    stand_in_for: str | None = None
    licence: str
    citation: str

    def check(self, raw: Raw) -> None:
        """Raise DataError when shape or fingerprint of parsed data are not those registered."""
        again = f"`kfeat data clean {raw.name}` removes the files, so that they are fetched again"
        part: str
        for part, shape in self.shape.items():
            size = raw.parts[part].X.shape if part in raw.parts else None
            if size != shape:
                raise DataError(f"{raw.name}: expected {part} rows x features {shape}, got {size}; {again}")
        if self.fingerprint not in (None, raw.fingerprint):
            raise DataError(
                f"{raw.name}: expected the fingerprint {self.fingerprint}, got {raw.fingerprint}; {again}"
            )


@cache
def registry() -> dict[str, Entry]:
    """Return all entries by name."""
    import yaml

    text = (files("kfeat.data") / "registry.yaml").read_text(encoding="utf-8")
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    return {name: Entry.model_validate(entry) for name, entry in yaml.load(text, loader).items()}


def entry(name: str) -> Entry:
    """Return the entry of a dataset; raises ConfigError with the nearest name for an unknown one."""
    known = registry()
    if name not in known:
        raise ConfigError(
            f"unknown dataset '{name}'{did_you_mean(name, list(known))}; known are "
            f"{', '.join(sorted(known))}, and your own files as a mapping with `path`"
        )
    return known[name]


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


def validated(kind: Any, value: Any, name: str) -> Any:
    """Return the value as a model of its kind; raises ConfigError naming every problem with its path."""
    try:
        return _adapter(kind).validate_python(value)
    except ValidationError as error:
        raise ConfigError(
            "; ".join(describe(problem, [name, *problem["loc"]]) for problem in error.errors())
        ) from None


@cache
def _adapter(kind: Any) -> TypeAdapter[Any]:
    """Return the validator of this kind, kept since making one takes longer than a small trial."""
    return TypeAdapter(kind)


def dataset_name(source: Source) -> str:
    """Return the short name of a config's dataset."""
    return source if isinstance(source, str) else source.name
