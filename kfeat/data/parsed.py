"""Files parsed once: their arrays are kept, and used for as long as the files stay the same."""

import hashlib
import json
import logging
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic_core import to_jsonable_python

from kfeat.data.arrays import load_notes, load_parts, save_parts
from kfeat.data.content import check_regular, file_state
from kfeat.data.fingerprints import fingerprint_of
from kfeat.data.formats import Contents
from kfeat.errors import DataError
from kfeat.saying import say_once

READER_VERSION = 1  # raised when a reader's arrays change
MOST_OF_A_NAME = 50  # characters; a file's name and what is put behind it may have 255 bytes
LOCK_TIMEOUT_S = 3600


@dataclass(frozen=True)
class Parsed(Contents):
    """The contents of files, with their fingerprint."""

    fingerprint: str = ""


def kept(folder: Path, files: Mapping[str, Path], make: Callable[[], Contents]) -> Parsed:
    """Return what `make` made of `files`, made anew only when a file has changed or an array is damaged.

    One process makes it, others wait. Raises DataError when a file is missing or the folder not writable.
    """
    from filelock import FileLock

    found = load_kept(folder, files)
    if found is not None:
        return found
    for path in files.values():
        check_regular(path)
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(f"{folder}.lock", timeout=LOCK_TIMEOUT_S):
            found = load_kept(folder, files)
            return found if found is not None else make_and_keep(folder, files, make)
    except OSError as error:
        raise DataError(
            f"{folder}: cannot be written ({error}); make its folder writable or set KFEAT_CACHE"
        ) from None


def make_and_keep(folder: Path, files: Mapping[str, Path], make: Callable[[], Contents]) -> Parsed:
    """Make the contents, write their arrays, and return them as the next call will find them."""
    states = states_of(files)
    made = make()
    notes = {
        "states": states,
        "fingerprint": fingerprint_of(made.parts, made.label_names),
        "task": made.task,
        "label_names": list(made.label_names),
    }
    save_parts(folder, made.parts, notes)
    del made
    found = load_kept(folder, files)
    if found is None:
        raise DataError(f"{', '.join(map(str, files.values()))}: changed while being read; read it again")
    return found


def load_kept(folder: Path, files: Mapping[str, Path]) -> Parsed | None:
    """Return the contents kept in a folder, or None when there are none for the files as they are.

    Damaged arrays or notes are as good as none, and a warning says so.
    """
    try:
        return read_kept(folder, files)
    except DataError as error:
        say_once(logging.WARNING, f"{error}; the data will be parsed anew from their files")
        return None


def read_kept(folder: Path, files: Mapping[str, Path]) -> Parsed | None:
    """Return the same; raises DataError for damaged arrays or notes."""
    notes = load_notes(folder)
    if notes is None or notes["states"] != states_of(files):
        return None
    parts = load_parts(folder, notes)
    return Parsed(parts, notes["task"], tuple(notes["label_names"]), notes["fingerprint"])


def known_fingerprint(folder: Path, files: Mapping[str, Path]) -> str | None:
    """Return the fingerprint recorded with kept arrays, if they are up to date."""
    try:
        notes = load_notes(folder)
    except DataError:
        return None  # whoever needs it loads the data next, and is told then
    return notes["fingerprint"] if notes and notes["states"] == states_of(files) else None


def states_of(files: Mapping[str, Path]) -> dict[str, list[int] | None]:
    """Return each file's size and modification time, None for a missing one."""
    return {role: file_state(path) if os.path.isfile(path) else None for role, path in files.items()}


def arrays_folder(parent: Path, stem: str, determined_by: Any) -> Path:
    """Return the folder of arrays for what determines them: files, how they are read, reader version."""
    text = json.dumps([to_jsonable_python(determined_by), READER_VERSION], sort_keys=True)
    return parent / f"{stem[:MOST_OF_A_NAME]}-{hashlib.sha256(text.encode()).hexdigest()[:12]}"
