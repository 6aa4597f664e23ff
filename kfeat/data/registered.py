"""Registered datasets: fetched in whichever form can be had, and held against their entry."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from kfeat.data.digits import digits
from kfeat.data.download import ensure_file
from kfeat.data.fingerprints import fingerprint_of
from kfeat.data.formats import Contents, read_files
from kfeat.data.models import Raw, Task
from kfeat.data.parsed import Parsed, arrays_folder, kept, known_fingerprint, load_kept
from kfeat.data.registry import Entry, Form, entry, registry
from kfeat.errors import DataError, DownloadError


def load_entry(
    name: str, cache: Path, mirror: str | None, offline: bool = False, progress: Any = None
) -> Raw:
    """Return a registered dataset, held against its entry; fetched and parsed where that is not yet done.

    Of several forms the first that is parsed already is used, else the first whose files can all be had.
    Raises DownloadError when none can, DataError when the arrays are not what the registry says.
    """
    known = entry(name)
    if known.bundled:
        return checked(name, known, with_fingerprint(digits()), hashed=True)
    for form in known.forms:
        data = load_kept(form_folder(name, form, cache), cached_files(form, cache))
        if data is not None:
            return checked(name, known, data, is_hashed(form))
    failures = []
    for form in known.forms:
        try:
            for file in form.files.values():
                ensure_file(file, cache, mirror, offline, progress)
        except DownloadError as error:
            failures.append(str(error))
            continue
        return parse_form(name, known, form, cache)
    stand_ins = [other for other, of in registry().items() if of.stand_in_for == name]
    hint = f"; a stand-in under its own name is {', '.join(stand_ins)}" if stand_ins else ""
    raise DownloadError(f"{name}: " + "; or else: ".join(failures) + hint)


def parse_form(name: str, known: Entry, form: Form, cache: Path) -> Raw:
    """Return a fetched form's data, held against the dataset's entry."""
    files = cached_files(form, cache)
    data = kept(form_folder(name, form, cache), files, lambda: contents_of(form, files, known.task))
    with dropping_unhashed(form, files):
        return checked(name, known, data, is_hashed(form))


def contents_of(form: Form, files: dict[str, Path], task: Task) -> Contents:
    """Return what a form's files hold, or what its recipe makes of them."""
    with dropping_unhashed(form, files):
        if form.recipe is None:
            return read_files(files, form.reading, task)
        from kfeat.data.recipes import RECIPES

        return RECIPES[form.recipe](read_files(files, form.reading))


@contextmanager
def dropping_unhashed(form: Form, files: dict[str, Path]) -> Iterator[None]:
    """Remove files that no hash vouches for when their content is at fault, so that they are fetched anew."""
    try:
        yield
    except DataError:
        for role, file in form.files.items():
            if file.sha256 is None:
                files[role].unlink(missing_ok=True)
        raise


def checked(name: str, known: Entry, data: Parsed, hashed: bool) -> Raw:
    """Return the data; raises DataError when shape, labels or fingerprint are not those registered.

    Verified means that the fingerprint is pinned and equal, or that every file's content has a pinned hash.
    """
    part: str
    for part, shape in known.shape.items():
        met = data.parts[part].X.shape if part in data.parts else None
        if met != shape:
            raise DataError(
                f"{name}: expected {part} rows x features {shape}, got {met}; fetch the files anew"
            )
    for part, counts in known.labels.items():
        labels, n = np.unique(data.parts[part].y, return_counts=True)
        found = dict(zip(labels.tolist(), n.tolist(), strict=True))
        if found != counts:
            raise DataError(
                f"{name}: expected {part} labels {dict(counts)}, got {found}; fetch the files anew"
            )
    if known.fingerprint not in (None, data.fingerprint):
        raise DataError(
            f"{name}: expected the fingerprint {known.fingerprint}, got {data.fingerprint}; "
            "the numbers are not the pinned ones, fetch the files anew"
        )
    verified = known.fingerprint is not None or hashed
    return Raw(name, known.task, data.parts, data.fingerprint, verified, data.label_names)


def recorded_fingerprint(name: str, cache: Path) -> str | None:
    """Return a registered dataset's fingerprint: pinned, or recorded with its arrays, or None."""
    known = entry(name)
    if known.fingerprint is not None:
        return known.fingerprint
    recorded = (
        known_fingerprint(form_folder(name, form, cache), cached_files(form, cache)) for form in known.forms
    )
    return next((found for found in recorded if found is not None), None)


def form_folder(name: str, form: Form, cache: Path) -> Path:
    """Return where the arrays of one form of a dataset are kept."""
    return arrays_folder(cache / name, "arrays", [form.reading, form.recipe, sorted(form.files)])


def cached_files(form: Form, cache: Path) -> dict[str, Path]:
    """Return where the files of a form lie in the cache, by role."""
    return {role: cache / file.path for role, file in form.files.items()}


def is_hashed(form: Form) -> bool:
    """Return whether a content hash is pinned for every file of a form."""
    return all(file.sha256 is not None for file in form.files.values())


def with_fingerprint(made: Contents) -> Parsed:
    """Return contents that are made in memory, with their fingerprint."""
    return Parsed(made.parts, made.task, made.label_names, fingerprint_of(made.parts, made.label_names))
