"""The registry: what each dataset is, where it comes from, and what it must look like once parsed."""

from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict

from kfeat.data.base import Task
from kfeat.data.dataset import Raw
from kfeat.data.reading import Reading
from kfeat.errors import ConfigError, DataError
from kfeat.parameters import did_you_mean

MARGIN = 16 << 20  # bytes beyond the known size that a source may send, since it may compress otherwise
UNKNOWN = 2 << 30  # the most bytes of a file whose size is not known


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


def class_shares(name: str, binary: bool) -> tuple[float, ...]:
    """Return the share of the rows of each class of a registered dataset, falling; () where unknown.

    Two classes that a protocol makes are assumed to be equally large.
    """
    if binary:
        return (0.5, 0.5)
    counts = registry()[name].labels.get("train", {}) if name in registry() else {}
    return tuple(sorted((count / sum(counts.values()) for count in counts.values()), reverse=True))
