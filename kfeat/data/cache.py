"""The cache: its folder, and the arrays parsed from files, kept for as long as these files stay the same."""

import hashlib
import json
import logging
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

from platformdirs import user_cache_dir
from pydantic_core import to_jsonable_python

from kfeat.data.arrays import load_notes, load_parts, save_parts
from kfeat.data.coding import Coding
from kfeat.data.content import check_regular, local_path
from kfeat.data.dataset import Raw
from kfeat.data.stamps import file_state, stamp_state
from kfeat.errors import DataError, KfeatError
from kfeat.files import Lock, writing
from kfeat.text import say_once

Folder: TypeAlias = str | os.PathLike[str] | None
OWN = "files"  # the folder of the cache for arrays of the user's own files
GENERATED = "generated"  # the folder for large generated data
CACHE_HINT = "set KFEAT_CACHE to a folder that can be read and written"
READER_VERSION = 1  # raised when a reader's arrays change
MOST_OF_A_NAME = 50  # characters; a file's name may have 255 bytes with its suffixes


def cache_folder(cache: Folder = None) -> Path:
    """Return the cache folder: `cache`, else KFEAT_CACHE, else the platform's cache folder for kfeat.

    Raises DataError when that is not a folder; it is created when it is needed.
    """
    path = local_path(cache or os.environ.get("KFEAT_CACHE") or user_cache_dir("kfeat"), CACHE_HINT)
    if path.exists() and not path.is_dir():
        raise DataError(f"{path}: expected a cache folder; {CACHE_HINT}")
    return path


@contextmanager
def locked(path: Path, failure: type[KfeatError] = DataError) -> Iterator[None]:
    """Let one process at a time write `path`; raises `failure` where its folder cannot be written."""
    with writing(path, failure, hint="; make its folder writable or set KFEAT_CACHE"):
        path.parent.mkdir(parents=True, exist_ok=True)
        with Lock(path, Path(f"{path}.lock"), "writing it"):
            yield


def parsed_once(folder: Path, files: Mapping[str, Path], parse: Callable[[], Raw]) -> Raw:
    """Return what `parse` makes of `files`, from the arrays kept for them if there are any.

    `parse` is called again only when a file has changed or an array is damaged. One process parses, others
    wait. Raises DataError when a file is missing or the folder is not writable.
    """
    if kept := load_kept(folder, files, parse):
        return kept
    for path in files.values():
        check_regular(path)
    with locked(folder):
        return load_kept(folder, files, parse) or parse_and_keep(folder, files, parse)


def parse_and_keep(folder: Path, files: Mapping[str, Path], parse: Callable[[], Raw]) -> Raw:
    """Parse the files, write the arrays, and return them as the next call will find them."""
    states = states_of(files, folder)
    raw = parse()
    notes = {
        "states": states,
        "fingerprint": raw.fingerprint,
        "task": raw.task,
        "label_names": list(raw.label_names),
        "columns": list(raw.columns),
        "target": raw.target,
        "n_dropped": raw.n_dropped,
        "coding": raw.learn is not None,
    }
    save_parts(folder, raw.parts, notes)
    del raw
    found = load_kept(folder, files, parse)
    if found is None:
        raise DataError(f"{', '.join(map(str, files.values()))}: changed while being read; read it again")
    return found


def load_kept(folder: Path, files: Mapping[str, Path], parse: Callable[[], Raw] | None = None) -> Raw | None:
    """Return the data kept in a folder, or None when there are none for the current files.

    Damaged arrays or notes give None and a warning.
    """
    try:
        return read_kept(folder, files, parse)
    except DataError as error:
        say_once(logging.WARNING, f"{error}; the data will be parsed again from their files")
        return None


def read_kept(folder: Path, files: Mapping[str, Path], parse: Callable[[], Raw] | None = None) -> Raw | None:
    """Return the data kept in a folder or None; raises DataError for damaged arrays or notes.

    The coding of a table, which only training a model needs, is not kept: `parse` reads the files for it.
    """
    notes = load_notes(folder)
    if notes is None or notes["states"] != states_of(files, folder):
        return None
    kept = (notes["task"], load_parts(folder, notes), tuple(notes["label_names"]), notes["fingerprint"])
    columns = tuple(notes.get("columns", ()))
    facts = {"target": notes.get("target"), "n_dropped": notes.get("n_dropped", 0)}
    raw = Raw(folder.name, *kept, columns=columns, **facts)
    if not notes.get("coding"):
        return raw
    if columns:
        return replace(raw, learn=(lambda: parse().coding) if parse else None)
    return replace(raw, learn=partial(Coding, raw.task, raw.n_features, sparse=raw.sparse))


def current_notes(folder: Path, files: Mapping[str, Path]) -> dict[str, Any] | None:
    """Return the notes of kept arrays, or None where there are none for the current files."""
    try:
        notes = load_notes(folder)
    except DataError:
        return None  # loading the data, which comes next, reports the damage
    return notes if notes and notes["states"] == states_of(files, folder) else None


def states_of(files: Mapping[str, Path], folder: Path) -> dict[str, list[int] | None]:
    """Return the state of each file whose arrays `folder` keeps, None for a missing file.

    For files of a cache, which may be copied, the state is size and modification time. For the user's own
    files it includes the time of the last change, which reveals a replaced file of equal size and time.
    """
    state = stamp_state if folder.parent.name == OWN else file_state
    return {role: state(path) if os.path.isfile(path) else None for role, path in files.items()}


def arrays_folder(parent: Path, stem: str, determined_by: Any) -> Path:
    """Return the folder of arrays from what determines them: files, reading options, reader version."""
    text = json.dumps([to_jsonable_python(determined_by), READER_VERSION], sort_keys=True)
    return parent / f"{stem[:MOST_OF_A_NAME]}-{hashlib.sha256(text.encode()).hexdigest()[:12]}"
