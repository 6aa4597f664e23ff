"""What the registry and the cache hold: listing, fetching, verifying and clearing datasets by name."""

import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kfeat.data.cache import (
    GENERATED,
    OWN,
    Folder,
    cache_folder,
    load_kept,
    read_kept,
    recorded_sha256,
    stamp_path,
    stamp_state,
    write_stamp,
)
from kfeat.data.dataset import fingerprint_of
from kfeat.data.download import chosen_mirror
from kfeat.data.files import hashed_content
from kfeat.data.loading import form_folder, load_registered
from kfeat.data.registry import Entry, Form, RemoteFile, entry, registry
from kfeat.errors import DataError


@dataclass(frozen=True)
class Status:
    """One dataset: its registry entry, and what the cache has of it.

    `fetched`: all files of one form exist; `parsed`: their arrays exist too. `verified`: they equal pinned
    hashes (None as long as nothing is parsed). `n_bytes` counts files and arrays.
    """

    name: str
    entry: Entry
    fetched: bool
    parsed: bool
    verified: bool | None
    fingerprint: str | None
    n_bytes: int
    files: tuple[tuple[RemoteFile, Path, bool], ...]


def list_datasets(cache: Folder = None) -> list[Status]:
    """Return the status of every registered dataset, in the registry's order."""
    return [describe(name, cache) for name in registry()]


def describe(name: str, cache: Folder = None) -> Status:
    """Return one dataset's status; raises ConfigError for an unknown name."""
    folder, known = cache_folder(cache), entry(name)
    form = present_form(name, known, folder)
    data = load_kept(form_folder(name, form, folder), form.paths(folder)) if form else None
    files = tuple(
        (file, folder / file.path, os.path.isfile(folder / file.path))
        for form in known.forms
        for file in form.files.values()
    )
    verified = None
    if data is not None and form is not None:
        verified = known.fingerprint == data.fingerprint or (known.fingerprint is None and form.pinned)
    paths = [path for _, path, present in files if present] + list(arrays_of(name, known, folder))
    return Status(
        name=name,
        entry=known,
        fetched=known.bundled or form is not None,
        parsed=known.bundled or data is not None,
        verified=True if known.bundled else verified,
        fingerprint=known.fingerprint or (data.fingerprint if data else None),
        n_bytes=sum(path.stat().st_size for path in paths),
        files=files,
    )


def present_form(name: str, known: Entry, folder: Path) -> Form | None:
    """Return the form in use: the first whose arrays are kept, else the first whose files all exist."""
    whole = [form for form in known.forms if all(map(os.path.isfile, form.paths(folder).values()))]
    kept = (form for form in whole if os.path.isdir(form_folder(name, form, folder)))
    return next(kept, whole[0] if whole else None)


def arrays_of(name: str, known: Entry, folder: Path) -> Iterator[Path]:
    """Yield the files of all arrays kept for a dataset."""
    for form in known.forms:
        arrays = form_folder(name, form, folder)
        yield from (path for path in arrays.glob("*") if path.is_file())


def fetch(
    name: str, *, mirror: Folder = None, cache: Folder = None, offline: bool = False, progress: Any = None
) -> Status:
    """Download, verify and parse one dataset; raises DownloadError or DataError saying what to do."""
    load_registered(name, cache_folder(cache), chosen_mirror(mirror), offline, progress)
    return describe(name, cache)


def verify(name: str, cache: Folder = None) -> Status:
    """Hash a fetched dataset's files and fingerprint its arrays again.

    Raises DataError when a hash is not the recorded or pinned one, or nothing has been fetched.
    """
    folder, known = cache_folder(cache), entry(name)
    if not known.bundled:
        form = present_form(name, known, folder)
        if form is None:
            raise DataError(f"{name} is not in the cache {folder}; fetch it first")
        for file in form.files.values():
            verify_file(folder / file.path, file)
        try:
            read_kept(form_folder(name, form, folder), form.paths(folder))
        except DataError as error:
            raise DataError(f"{name}: {error}; clean the dataset and fetch it again") from None
    raw = load_registered(name, folder, mirror=None, offline=True)
    found = fingerprint_of(raw.parts, raw.label_names)
    if found != raw.fingerprint:
        raise DataError(
            f"{name}: expected arrays with the fingerprint {raw.fingerprint}, got {found}; "
            "clean the dataset and fetch it again"
        )
    return describe(name, cache)


def verify_file(path: Path, file: RemoteFile) -> None:
    """Raise DataError unless a file's content has the pinned hash, or that recorded when it was fetched."""
    state = stamp_state(path)
    expected = file.sha256 or recorded_sha256(path)
    found = hashed_content(path)
    if expected not in (None, found):
        raise DataError(f"{path}: expected content SHA-256 {expected}, got {found}; clean and fetch it again")
    write_stamp(path, found, state)


def path(name: str, cache: Folder = None) -> Path:
    """Return the folder that holds a dataset's files, or will once they are fetched."""
    known = entry(name)
    if known.bundled:
        raise DataError(f"{name} comes with scikit-learn; it has no files in the cache")
    return (cache_folder(cache) / next(iter(known.forms[0].files.values())).path).parent


def clean(name: str | None = None, cache: Folder = None) -> int:
    """Remove a dataset's arrays, and its files that no other parsed dataset uses; return the bytes freed.

    Without a name, remove every dataset, generated data, and the arrays of the user's own files, but never
    these files themselves.
    """
    folder = cache_folder(cache)
    chosen = registry() if name is None else {name: entry(name)}
    others = [status for status in list_datasets(cache) if status.name not in chosen and status.parsed]
    needed = {file.path for other in others for file, _, present in other.files if present}
    freed = sum(removed(folder / own) for own in (OWN, GENERATED)) if name is None else 0
    for each, known in chosen.items():
        freed += sum(removed(arrays) for arrays in (folder / each).glob("arrays-*") if arrays.is_dir())
        for file in (file for form in known.forms for file in form.files.values()):
            if file.path not in needed:
                freed += removed(folder / file.path) + removed(stamp_path(folder / file.path))
    return freed


def removed(path: Path) -> int:
    """Remove a file or folder where there is one; return the bytes it held."""
    if path.is_dir():
        n_bytes = sum(item.stat().st_size for item in path.rglob("*") if item.is_file())
        shutil.rmtree(path)
        return n_bytes
    n_bytes = path.stat().st_size if path.is_file() else 0
    path.unlink(missing_ok=True)
    return n_bytes
