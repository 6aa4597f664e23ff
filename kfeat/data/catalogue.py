"""What the registry and the cache hold: listing, fetching, verifying, clearing, and shapes of datasets."""

import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from kfeat.data.cache import GENERATED, OWN, Folder, cache_folder, current_notes, load_kept, read_kept
from kfeat.data.content import hashed_content
from kfeat.data.download import chosen_mirror
from kfeat.data.fingerprints import fingerprint_of
from kfeat.data.generators import Generator
from kfeat.data.large_quadric import LargeQuadric
from kfeat.data.loading import form_folder, load_registered, own_folder
from kfeat.data.protocol import Protocol, StepName
from kfeat.data.registry import Entry, Form, RemoteFile, entry, registry
from kfeat.data.sources import OwnSource, Source, dataset_name
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
    arrays = chain(*(form_folder(name, form, folder).glob("*") for form in known.forms))
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


def present_form(name: str, known: Entry, folder: Path) -> Form | None:
    """Return the form in use: the first whose arrays are kept, else the first whose files all exist."""
    whole = [form for form in known.forms if all(map(os.path.isfile, form.paths(folder).values()))]
    kept = (form for form in whole if os.path.isdir(form_folder(name, form, folder)))
    return next(kept, whole[0] if whole else None)


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


FILLS_ZEROS: frozenset[StepName] = frozenset(
    {"minmax", "minmax_symmetric", "zscore", "zscore_numbers", "power"}
)


@dataclass(frozen=True)
class Shape:
    """The rows and columns that a trial sees.

    `stored` is the share of the values that a sparse matrix stores, 1 for a dense one. `classes` has the
    share of the rows that each class has where that is known, in falling order: () for a regression.
    `generated` is how many numbers are drawn in memory where the data are generated, 0 elsewhere.
    """

    n_train: int
    n_test: int
    n_features: int
    stored: float = 1.0
    classes: tuple[float, ...] = ()
    generated: int = 0


def shape_of(source: Source, protocol: Protocol) -> Shape | None:
    """Return the shape of a source under a protocol, or None if it is not known before loading.

    It comes from the registry, the specification of generated data, or the arrays in the cache. Columns that
    the protocol drops as constant count as if they stayed. A split that is not possible has no shape.
    """
    files = _of_files(source)
    if files is None:
        return None
    try:
        n_train, n_test = protocol.split.sizes(files.n_train, files.n_test, dataset_name(source))
    except DataError:
        return None  # loading the data, which comes next, reports this
    dense = any(step in FILLS_ZEROS for step in protocol.scale)
    classes = () if isinstance(source, OwnSource) else class_shares(dataset_name(source), protocol)
    stored = 1.0 if dense else files.stored
    return replace(files, n_train=n_train, n_test=n_test, stored=stored, classes=classes)


def class_shares(name: str, protocol: Protocol | Mapping[str, Any]) -> tuple[float, ...]:
    """Return the share of the rows of each class of a registered dataset, falling; () where unknown.

    Two classes made by a protocol are assumed to be equally large.
    """
    binarise = protocol.binarise if isinstance(protocol, Protocol) else protocol.get("binarise", "none")
    if binarise != "none":
        return (0.5, 0.5)
    counts = registry()[name].labels.get("train", {}) if name in registry() else {}
    return tuple(sorted((count / sum(counts.values()) for count in counts.values()), reverse=True))


def _of_files(source: Source) -> Shape | None:
    """Return the shape of a source as its files have it."""
    if isinstance(source, Generator):
        drawn = 0 if isinstance(source, LargeQuadric) else source.n * source.d  # the large one is on the disk
        return Shape(source.n, 0, source.d, generated=drawn)
    if isinstance(source, OwnSource):
        return _kept(own_folder(source, cache_folder()), source.files)
    name = dataset_name(source)
    folder, known = cache_folder(), entry(name)
    form = present_form(name, known, folder)
    found = _kept(form_folder(name, form, folder), form.paths(folder)) if form else None
    if found is not None:
        return found
    (n_train, d), (n_test, _) = known.shape["train"], known.shape.get("test", (0, 0))
    return Shape(n_train, n_test, d)


def _kept(folder: Path, files: Mapping[str, Path]) -> Shape | None:
    """Return what the notes of kept arrays say, or None where there are none for the current files."""
    notes = current_notes(folder, files)
    if notes is None:
        return None
    layout: dict[str, dict[str, Any]] = notes["layout"]
    rows = {part: each["shape"][0] for part, each in layout.items()}
    n, d = sum(rows.values()), layout["train"]["shape"][1]
    values = sum(_stored(folder, part) if each["sparse"] else rows[part] * d for part, each in layout.items())
    return Shape(rows["train"], rows.get("test", 0), d, stored=values / max(n * d, 1))


def _stored(folder: Path, part: str) -> int:
    """Return how many values a part's CSR arrays store; 0 where they cannot be read."""
    try:
        return int(np.load(folder / f"{part}.X.data.npy", mmap_mode="r").size)
    except (OSError, ValueError):
        return 0
