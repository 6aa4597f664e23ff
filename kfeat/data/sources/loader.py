"""The user's own data by a function that returns them."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import chain
from operator import attrgetter
from pathlib import Path
from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import BeforeValidator, PlainSerializer, ValidationInfo

from kfeat.data.access import Access
from kfeat.data.base import Task
from kfeat.data.cache import OWN, arrays_folder, load_kept, locked, parse_and_keep
from kfeat.data.cells import are_durations, are_numbers, as_numbers, in_seconds, words_error
from kfeat.data.coders import label_words
from kfeat.data.coding import Coding
from kfeat.data.content import naming
from kfeat.data.dataset import Raw
from kfeat.data.formats import as_data_errors, as_raw, check_part
from kfeat.data.formats.matrices import parts_of
from kfeat.data.matrix import Matrix
from kfeat.data.reading import Reading, Variables
from kfeat.data.sources.base import Fingerprint
from kfeat.data.sources.own import OWN_READER, OwnSource
from kfeat.errors import ConfigError, DataError
from kfeat.place import Place, announce, code_errors, entry_points, set_back
from kfeat.text import counted

SHORT_NAMES = "kfeat.datasets"  # the group in which installed packages register loaders


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


class LoaderSource(OwnSource):
    """A function without arguments that returns (X, y) or (X_train, y_train, X_test, y_test).

    `loader` is its place, such as my_data.py:load, or the short name under which a package registers it.
    `task` and `fingerprint` are as for files.
    """

    runs_code: ClassVar[bool] = True

    loader: Annotated[
        Place, BeforeValidator(loader_place, json_schema_input_type=str), PlainSerializer(attrgetter("text"))
    ]
    task: Task | None = None
    fingerprint: Fingerprint | None = None

    @property
    def name(self) -> str:
        """The place, as the dataset's name in rows and tables."""
        return self.loader.text

    @property
    def description(self) -> dict[str, Any]:
        """The options, and the version of the code."""
        return {**self.options, "version": self.loader.version}

    def folder(self, cache: Path) -> Path:
        """Return where the arrays are kept, by the function, its version and that of the reader."""
        place = self.loader
        made_by = [str(place.path.resolve()), place.name, place.version, self.task, OWN_READER]
        return arrays_folder(cache / OWN, place.name, made_by)

    def renew(self, access: Access) -> None:
        """Call the function, which may read other data than before, and keep what it returns."""
        announce(self.loader, "`dataset`")
        folder, raw = self.folder(access.folder), self.parse()
        with locked(folder):
            kept = load_kept(folder, self.files)
            if kept is None or kept.fingerprint != raw.fingerprint:
                parse_and_keep(folder, self.files, lambda: raw)

    def parse(self) -> Raw:
        """Return what the function returns; raises DataError with its line if it fails or returns no data."""
        place = self.loader
        try:
            load = place.load()
        except ConfigError as error:  # it cannot be imported
            raise DataError(str(error)) from error
        with code_errors(place, DataError, f"{place.text} failed: "), set_back():
            values = load()
        return self.raw_of(values, place.line_of())

    def raw_of(self, values: Any, where: str) -> Raw:
        """Return the data in the values that the function at a place returned."""
        n = len(values) if isinstance(values, tuple | list) else 0
        if n not in (2, 4):
            got = counted(n, "values") if n else type(values).__name__
            raise DataError(f"{where}: expected (X, y) or (X_train, y_train, X_test, y_test), got {got}")
        names = ("X", "y") if n == 2 else ("X_train", "y_train", "X_test", "y_test")
        with as_data_errors(where, "arrays"), naming(where):
            task = self.task or ("regression" if in_seconds(values[1]) is not values[1] else None)
            labels, words = coded_labels([*map(in_seconds, values[1::2])])
            both = chain.from_iterable(zip(map(numbers_of, values[::2]), labels, strict=True))
            variables = Variables(X=names[0], y=names[1])
            parts = parts_of(dict(zip(names, both, strict=True)), variables, where, strings=True)
            coding = Coding("regression", parts["train"].X.shape[1], label_names=words)
            for part in parts.values():
                check_part(part, where, coding.width)
        return as_raw(self.name, parts, coding, task, {"train": where})


def numbers_of(X: Any) -> Matrix:
    """Return the rows that a loader returns as an array or CSR; raises DataError for a frame with words.

    A list or an array of strings becomes a column of them.
    """
    from scipy.sparse import csr_array, issparse

    if issparse(X):
        return csr_array(X, copy=True)  # it is sorted in place later
    if not hasattr(X, "columns"):
        rows = np.asarray(X)
        strings = rows.ndim == 1 and len(rows) > 0 and all(isinstance(row, str) for row in X)
        if rows.dtype.kind == "m":
            return in_seconds(rows).reshape(rows.shape)
        return rows.astype(str)[:, None] if strings else rows
    for i in range(X.shape[1]):
        if not are_numbers(cells := X.iloc[:, i]):
            raise words_error(cells, "the loader must return numbers")
    if any(are_durations(X.iloc[:, i]) for i in range(X.shape[1])):
        return np.column_stack([as_numbers(X.iloc[:, i]) for i in range(X.shape[1])])
    real = all(dtype.kind != "c" for dtype in X.dtypes)
    return X.to_numpy(np.float64 if real else None, na_value=np.nan)


def coded_labels(labels: Sequence[Any]) -> tuple[list[Any], tuple[str, ...]]:
    """Return the labels of parts, words as positions among those of the training rows, and these words."""
    arrays = [np.asarray(y) for y in labels]
    if arrays[0].dtype.kind not in "OUS":
        return arrays, ()
    import pandas as pd

    columns = [pd.Series(np.atleast_1d(y.squeeze()), name="y") for y in arrays]
    coding = Coding("regression", 0, target="y", label_names=label_words(columns[0], Reading()))
    return [coding.labels(cells.to_frame()) for cells in columns], coding.label_names
