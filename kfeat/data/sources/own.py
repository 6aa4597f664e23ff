"""The user's own data: files, which are parsed once, or what a function returns."""

import logging
from abc import abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from kfeat.data.access import Access
from kfeat.data.base import Task
from kfeat.data.cache import OWN, arrays_folder, current_notes, parsed_once
from kfeat.data.cells import listed
from kfeat.data.content import local_path, naming
from kfeat.data.dataset import Raw
from kfeat.data.formats import as_data_errors, read_files
from kfeat.data.reading import Reading, format_of
from kfeat.data.shapes import Shape, kept_shape
from kfeat.data.sources.base import DataSource, Fingerprint, with_pin
from kfeat.text import say_once

OWN_READER = 7  # raised when the user's own files are read in another way


class OwnSource(DataSource):
    """The user's own data; their arrays are kept by what determines them, and a fingerprint may be pinned."""

    own: ClassVar[bool] = True

    if TYPE_CHECKING:

        @property
        def fingerprint(self) -> str | None:
            """The fingerprint that the data must have."""

    @property
    def files(self) -> Mapping[str, Path]:
        """The files by role whose change makes the arrays old."""
        return {}

    @abstractmethod
    def folder(self, cache: Path) -> Path:
        """Return where the arrays are kept."""

    @abstractmethod
    def parse(self) -> Raw:
        """Return what is read now."""

    @property
    def pinned(self) -> str | None:
        """The fingerprint of the config."""
        return self.fingerprint

    def known_fingerprint(self, access: Access) -> str | None:
        """Return the pinned fingerprint, else that of the arrays in the cache."""
        if self.pinned is not None:
            return self.pinned
        notes = current_notes(self.folder(access.folder), self.files)
        return str(notes["fingerprint"]) if notes else None

    def load(self, access: Access) -> Raw:
        """Return the data as kept or read; they are verified when their fingerprint is pinned."""
        raw = replace(parsed_once(self.folder(access.folder), self.files, self.parse), name=self.name)
        for remark in self.remarks(raw):
            say_once(logging.WARNING, f"{self.name}: {remark}")
        return raw if self.fingerprint is None else with_pin(raw, self.fingerprint)

    def remarks(self, raw: Raw) -> Iterator[str]:
        """Yield what is odd about the data: here, classes that only test rows have."""
        if raw.task == "classification" and "test" in raw.parts:
            new = np.setdiff1d(raw.parts["test"].y, raw.parts["train"].y).tolist()
            if words := [raw.label_names[label] if raw.label_names else str(label) for label in new]:
                yield f"no training row has the test rows' labels {listed(words)}"

    def shape(self, access: Access) -> Shape | None:
        """Return the shape of the arrays in the cache."""
        return kept_shape(self.folder(access.folder), self.files)


class FileSource(Reading, OwnSource):
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

    def folder(self, cache: Path) -> Path:
        """Return where the arrays are kept, by the files, the options and the version of the reader."""
        return arrays_folder(cache / OWN, self.name, [self.files, self.reading.as_set, self.task, OWN_READER])

    def parse(self) -> Raw:
        """Return what the files hold."""
        return read_files(self.files, self.reading, self.task)

    def load(self, access: Access) -> Raw:
        """Return the data as kept or read; a column of a table can split or weigh the rows."""
        raw = super().load(access)
        return replace(raw, column=self.cells if raw.columns else None)

    def remarks(self, raw: Raw) -> Iterator[str]:
        """Yield how many rows have no label, and what is odd about labels that `levels` do not declare."""
        if raw.n_dropped and self.missing != "drop":
            yield (
                f"{raw.n_dropped:,} of {raw.n_dropped + len(raw.y):,} rows have no label and are left out "
                "(None, NA, null and ? count as missing, unless `levels` names them as words of the column)"
            )
        if raw.target not in (self.levels or {}):
            yield from super().remarks(raw)

    def cells(self, column: int | str, kind: str) -> Any:
        """Return the numbers by which a column splits the rows, or weighs those of both files."""
        from kfeat.data.formats.tables import column_by

        numbers, files = [], self.files
        for part in ("train", "test") if kind == "weight" and "test" in files else ("train",):
            with as_data_errors(files[part], "a table"), naming(files[part]):
                labels = files.get(f"{part}_labels")
                numbers.append(column_by(files[part], labels, self.reading, column, kind))
        return np.concatenate(numbers)

    def later_reading(self) -> Reading:
        """Return how these files are read, with their format."""
        return self.reading.model_copy(update={"format": format_of(Path(self.path), self.reading)})
