"""What the registry and the cache hold: listing, fetching, verifying and clearing datasets."""

import os
import shutil
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from kfeat.data.access import Access
from kfeat.data.cache import GENERATED, OWN, Folder, cache_folder, load_kept, read_kept
from kfeat.data.content import hashed_content
from kfeat.data.fingerprints import fingerprint_of
from kfeat.data.registry import Entry, RemoteFile, entry, registry
from kfeat.data.sources import RegisteredSource
from kfeat.data.stamps import recorded_sha256, stamp_path, stamp_state, write_stamp
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


def registered(name: str) -> RegisteredSource:
    """Return the source of this name; raises ConfigError for an unknown one."""
    entry(name)
    return RegisteredSource(name=name)


def list_datasets(cache: Folder = None) -> list[Status]:
    """Return the status of every registered dataset, in the registry's order."""
    return [describe(name, cache) for name in registry()]


def describe(name: str, cache: Folder = None) -> Status:
    """Return one dataset's status; raises ConfigError for an unknown name."""
    source, folder = registered(name), cache_folder(cache)
    known = source.entry
    form = source.present_form(folder)
    data = load_kept(source.folder(form, folder), form.paths(folder)) if form else None
    files = tuple(
        (file, folder / file.path, os.path.isfile(folder / file.path))
        for form in known.forms
        for file in form.files.values()
    )
    verified = None
    if data is not None and form is not None:
        verified = known.fingerprint == data.fingerprint or (known.fingerprint is None and form.pinned)
    arrays = chain(*(source.folder(form, folder).glob("*") for form in known.forms))
    paths = [path for _, path, present in files if present] + [path for path in arrays if path.is_file()]
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


def fetch(
    name: str, *, mirror: Folder = None, cache: Folder = None, offline: bool = False, progress: Any = None
) -> Status:
    """Download, verify and parse one dataset; raises DownloadError or DataError saying what to do."""
    registered(name).load(Access(mirror, cache, offline, progress))
    return describe(name, cache)


def verify(name: str, cache: Folder = None) -> Status:
    """Hash a fetched dataset's files and fingerprint its arrays again.

    Raises DataError when a hash is not the recorded or pinned one, or nothing has been fetched.
    """
    source, folder = registered(name), cache_folder(cache)
    known = source.entry
    if not known.bundled:
        form = source.present_form(folder)
        if form is None:
            raise DataError(f"{name} is not in the cache {folder}; fetch it first")
        for file in form.files.values():
            verify_file(folder / file.path, file)
        try:
            read_kept(source.folder(form, folder), form.paths(folder))
        except DataError as error:
            raise DataError(f"{name}: {error}; clean the dataset and fetch it again") from None
    raw = source.load(Access(cache=cache, offline=True))
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
    """Remove a file or folder where there is one, and what a killed process left of it; return the bytes.

    It gets the name of an unfinished one first: if this process is killed, no half of it is used.
    """
    part, n_bytes = path.with_name(f"{path.name}.part"), 0
    for left in (part, path):
        items = [item for item in (left, *left.rglob("*")) if item.is_file()]
        n_bytes += sum(item.stat().st_size for item in items)
        if left is path and path.exists():
            path.rename(part)
        if part.is_dir():
            shutil.rmtree(part)
        else:
            part.unlink(missing_ok=True)
    return n_bytes
