"""A dataset of the registry, by its name."""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any

from annotated_types import Ge, MinLen
from pydantic import AfterValidator

from kfeat.data.access import Access
from kfeat.data.base import Task
from kfeat.data.cache import arrays_folder, current_notes, load_kept, parsed_once
from kfeat.data.chosen_columns import fingerprint_with, with_columns
from kfeat.data.dataset import Raw
from kfeat.data.download import ensure_file
from kfeat.data.formats import read_files
from kfeat.data.reading import repeated
from kfeat.data.recipes import RECIPES, digits
from kfeat.data.registry import Entry, Form, entry, registry
from kfeat.data.shapes import Shape, kept_shape
from kfeat.data.sources.base import DataSource, Fingerprint, with_pin
from kfeat.errors import DownloadError

CODED = "columns"  # part of what determines arrays of tables: their notes name the columns


def known_name(name: str) -> str:
    """Return a registered dataset's name; an unknown one is a validation error with the nearest name."""
    entry(name)
    return name


def once_each(columns: list[int | str]) -> list[int | str]:
    """Return the columns; raises ValueError for a repeated one."""
    if several := repeated(map(str, columns)):
        raise ValueError(f"expected each column once, got more than one {', '.join(several)}")
    return columns


class RegisteredSource(DataSource):
    """A registered dataset by its name, with all of its features or those of some `columns`.

    `columns` are names, where the dataset has names, or numbers from 0, in the order of the features.
    """

    name: Annotated[str, AfterValidator(known_name)]
    columns: Annotated[list[Annotated[int, Ge(0)] | str], MinLen(1), AfterValidator(once_each)] | None = None

    def __repr__(self) -> str:
        return repr(self.given())

    @property
    def entry(self) -> Entry:
        """What the registry says of it."""
        return entry(self.name)

    @property
    def task(self) -> Task:
        """The registered task."""
        return self.entry.task

    @property
    def pinned(self) -> str | None:
        """The registered fingerprint, or the one with these columns that follows from it."""
        return self.with_these_columns(self.entry.fingerprint)

    def known_fingerprint(self, access: Access) -> str | None:
        """Return the pinned fingerprint, else that of the first form whose arrays the cache keeps."""
        if self.pinned is not None:
            return self.pinned
        notes = (current_notes(folder, files) for _, folder, files in self.places(access.folder))
        return self.with_these_columns(next((str(note["fingerprint"]) for note in notes if note), None))

    def with_these_columns(self, fingerprint: str | None) -> str | None:
        """Return the fingerprint with the columns, from that of the whole dataset."""
        if fingerprint is None or self.columns is None:
            return fingerprint
        return fingerprint_with(fingerprint, self.columns)

    def folder(self, form: Form, cache: Path) -> Path:
        """Return where the arrays of one form are kept."""
        determined_by = [form.reading.as_set, form.recipe, sorted(form.files)]
        coded = [CODED] if form.reading.table else []
        return arrays_folder(cache / self.name, "arrays", determined_by + coded)

    def places(self, cache: Path) -> Iterator[tuple[Form, Path, dict[str, Path]]]:
        """Yield each form with the folder of its arrays and its files by role."""
        return ((form, self.folder(form, cache), form.paths(cache)) for form in self.entry.forms)

    def present_form(self, cache: Path) -> Form | None:
        """Return the form in use: the first whose arrays are kept, else the first whose files all exist."""
        whole = [place for place in self.places(cache) if all(path.is_file() for path in place[2].values())]
        kept = (form for form, folder, _ in whole if folder.is_dir())
        return next(kept, whole[0][0] if whole else None)

    def load(self, access: Access) -> Raw:
        """Return the data with their columns; raises DataError for a column that they do not have."""
        raw = self.whole(access)
        return raw if self.columns is None else with_columns(raw, self.columns)

    def whole(self, access: Access) -> Raw:
        """Return all data, checked against their entry; fetched and parsed where that is not yet done.

        Of several forms, the first that is already parsed is used, else the first whose files can be fetched.
        Raises DownloadError when none can, DataError when the arrays are not what the registry says.
        """
        if self.entry.bundled:
            raw = replace(digits(), name=self.name, verified=True)
            self.entry.check(raw)
            return raw
        cache = access.folder
        for form, folder, files in self.places(cache):
            kept = load_kept(folder, files, partial(self.read, form, files))
            if kept is not None:
                return self.checked(form, kept)
        failures = []
        for form, folder, files in self.places(cache):
            try:
                for file in form.files.values():
                    ensure_file(file, access)
            except DownloadError as error:
                failures.append(str(error))
                continue
            return self.checked(form, parsed_once(folder, files, partial(self.read, form, files)))
        stand_ins = [other for other, of in registry().items() if of.stand_in_for == self.name]
        hint = f"; a stand-in under its own name is {', '.join(stand_ins)}" if stand_ins else ""
        raise DownloadError(f"{self.name}: " + "; or else: ".join(failures) + hint)

    def read(self, form: Form, files: dict[str, Path]) -> Raw:
        """Return what a form's files hold, or what its recipe makes of them."""
        if form.recipe is None:
            return read_files(files, form.reading, self.task)
        return RECIPES[form.recipe](read_files(files, form.reading))

    def checked(self, form: Form, raw: Raw) -> Raw:
        """Return the data of a form under their name, checked against the entry.

        Verified means that the fingerprint is pinned and equal, or that every file's content has a pinned
        hash.
        """
        raw = replace(raw, name=self.name, verified=self.entry.fingerprint is not None or form.pinned)
        self.entry.check(raw)
        return raw

    def shape(self, access: Access) -> Shape | None:
        """Return the shape of the arrays in the cache, else that of the entry."""
        cache = access.folder
        form = self.present_form(cache)
        found = kept_shape(self.folder(form, cache), form.paths(cache)) if form else None
        if found is None:
            (n_train, d), (n_test, _) = self.entry.shape["train"], self.entry.shape.get("test", (0, 0))
            found = Shape(n_train, n_test, d)
        return found if self.columns is None else replace(found, n_features=len(self.columns))

    @property
    def options(self) -> dict[str, Any]:
        """What is set beside the name."""
        return self.model_dump(exclude={"name"}, exclude_none=True)

    @property
    def description(self) -> dict[str, Any] | None:
        """What a row says of it: nothing where the name is enough."""
        return {"name": self.name, **self.options} if self.options else None

    def given(self) -> Any:
        """Return the name, or a mapping where it is not enough."""
        return self.description or self.name


class PinnedSource(RegisteredSource):
    """A registered dataset by name and the fingerprint that it must have; it then counts as verified."""

    fingerprint: Fingerprint

    @property
    def pinned(self) -> str | None:
        """The fingerprint of the config."""
        return self.fingerprint

    def load(self, access: Access) -> Raw:
        """Return the data; raises DataError where they have another fingerprint."""
        return with_pin(super().load(access), self.fingerprint)
