"""The cache: its folder, the content of files and its hashes, and the arrays parsed from them.

The notes beside the arrays hold the SHA-256 of every array, and their own. Arrays are checked against them
when they are read, once per process, so that damaged or altered bytes never reach an experiment. An array
that is rewritten together with its notes passes; `kfeat data verify` compares the numbers with the
fingerprint.

Mirrors wrap the same content differently (gzip stores a time stamp, servers unpack on the way), so the
wrapper is recognised by its first bytes, not by the file's name, and hashes are taken of the content.

Arrays are used for as long as the files that they were parsed from stay the same.
"""

import bz2
import gzip
import hashlib
import io
import json
import logging
import lzma
import os
import stat
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import cache, partial
from importlib import import_module
from pathlib import Path
from typing import IO, Any, TypeAlias

import numpy as np
from platformdirs import user_cache_dir
from pydantic_core import to_jsonable_python

from kfeat.batches import ArrayBatches
from kfeat.data.coding import Coding
from kfeat.data.dataset import DENSE_FROM, Matrix, Part, Raw, zipped_name
from kfeat.errors import DataError, KfeatError
from kfeat.files import Lock, names_beside, replacing, writing
from kfeat.parameters import did_you_mean
from kfeat.text import say_once

LONGEST_LINE = 100_000_000  # bytes
CSR_ARRAYS = ("data", "indices", "indptr")


def save_parts(folder: Path, parts: Mapping[str, Part], notes: Mapping[str, Any]) -> None:
    """Write parts and notes into `folder`, replacing it as a whole; the caller holds its lock."""
    layout = {}
    with replacing(folder, locked=True) as new:
        new.mkdir(parents=True)
        for name, part in parts.items():
            layout[name] = {"shape": list(part.X.shape), "sparse": save_matrix(new, f"{name}.X", part.X)}
            np.save(new / f"{name}.y.npy", part.y)
        hashes = {path.name: array_sha256(path, *stamp_state(path)) for path in sorted(new.glob("*.npy"))}
        content = {**notes, "layout": layout, "arrays": hashes}
        text = json.dumps({**content, "sha256": sha256_of(content)}, indent=1)
        (new / "notes.json").write_text(text, encoding="utf-8")


def save_matrix(folder: Path, stem: str, X: Matrix) -> bool:
    """Write a matrix as one .npy, or as the three arrays of its CSR form; return whether it is sparse."""
    if isinstance(X, np.ndarray):
        save_array(folder / f"{stem}.npy", X)
        return False
    for array in CSR_ARRAYS:
        np.save(folder / f"{stem}.{array}.npy", getattr(X, array))
    return True


def save_array(path: Path, X: Matrix) -> None:
    """Write a dense array as .npy; a memory map is written in blocks, so that it is never all resident."""
    if not isinstance(X, np.memmap):
        np.save(path, X)
        return
    with path.open("wb") as file:
        np.lib.format.write_array_header_1_0(file, np.lib.format.header_data_from_array_1_0(X))
        for block in ArrayBatches(X).each(np.asarray):
            block.tofile(file)


def load_notes(folder: Path) -> dict[str, Any] | None:
    """Return the notes saved with a folder of parts, or None where there are none.

    Raises DataError when they are not the ones that were written.
    """
    path = folder / "notes.json"
    try:
        notes = json.loads(path.read_bytes())
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError, RecursionError) as error:
        raise DataError(f"{path}: cannot be read ({error})") from None
    if not isinstance(notes, dict) or notes.pop("sha256", None) != sha256_of(notes):
        raise DataError(f"{path}: expected the notes that kfeat wrote, got others or those of an older kfeat")
    return notes


def load_parts(folder: Path, notes: Mapping[str, Any]) -> dict[str, Part]:
    """Return the parts saved in `folder`, mapped into memory read-only.

    Raises DataError when an array is missing or is not the one that was written.
    """
    from scipy.sparse import csr_array

    for name, sha256 in notes["arrays"].items():
        check_array(folder / name, sha256)
    parts = {}
    for name, layout in notes["layout"].items():
        if layout["sparse"]:
            arrays = [np.load(folder / f"{name}.X.{array}.npy", mmap_mode="r") for array in CSR_ARRAYS]
            X = csr_array(tuple(arrays), shape=tuple(layout["shape"]), copy=False)
        else:
            X = np.load(folder / f"{name}.X.npy", mmap_mode="r")
        parts[name] = Part(X, np.load(folder / f"{name}.y.npy"))
    return parts


def check_array(path: Path, sha256: str) -> None:
    """Raise DataError unless a file has the hash noted for it."""
    try:
        found = array_sha256(path, *stamp_state(path))
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror})") from None
    if found != sha256:
        raise DataError(f"{path}: expected the array with the SHA-256 {sha256}, got {found}")


@cache
def array_sha256(path: Path, *state: int) -> str:
    """Return the SHA-256 of a file, computed once per process for each state of it."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def sha256_of(notes: Mapping[str, Any]) -> str:
    """Return the SHA-256 of notes, whatever the layout of their text."""
    return hashlib.sha256(json.dumps(notes, sort_keys=True).encode()).hexdigest()


def compact(parts: Mapping[str, Part]) -> dict[str, Part]:
    """Return the parts with sparse matrices in order, or all dense where that is better."""
    from scipy.sparse import issparse

    matrices = [part.X for part in parts.values()]
    for X in filter(issparse, matrices):
        X.sum_duplicates()
        X.eliminate_zeros()
    n_values = sum(X.nnz if issparse(X) else X.size for X in matrices)
    if n_values > DENSE_FROM * sum(X.shape[0] * X.shape[1] for X in matrices):
        dense = [X.toarray() if issparse(X) else np.ascontiguousarray(X) for X in matrices]
        return {name: Part(X, part.y) for X, (name, part) in zip(dense, parts.items(), strict=True)}
    return {name: Part(with_short_indices(part.X), part.y) for name, part in parts.items()}


def with_short_indices(X: Matrix) -> Matrix:
    """Return a CSR matrix with 32-bit indices if they suffice, which make it smaller and products faster."""
    from scipy.sparse import csr_array

    X = csr_array(X)
    index = np.int32 if max(X.nnz, X.shape[1]) < 2**31 else np.int64
    return csr_array((X.data, X.indices.astype(index), X.indptr.astype(index)), shape=X.shape)


def open_zipped(path: Path, mode: str) -> Any:
    """Open the one file in a zip archive; raises DataError where there is none, several, or a password."""
    with zipfile.ZipFile(path) as archive:
        try:
            return archive.open(zipped_name(path, archive))
        except (RuntimeError, NotImplementedError) as error:  # a password, or another kind of compression
            raise DataError(f"{path}: {error}; unpack it") from None


def open_zstd(path: Path, mode: str) -> Any:
    """Open a Zstandard file, by Python from 3.14 on, before by pyarrow; raises DataError without it."""
    try:
        zstd: Any = import_module("compression.zstd")
        return zstd.open(path, mode)
    except ImportError:
        pass
    try:
        import pyarrow as pa
    except ImportError:
        advice = "`pip install pyarrow` adds it, and `zstd -d FILE` unpacks it"
        raise DataError(f"{path}: .zst is read by pyarrow, which is not installed; {advice}") from None
    return pa.CompressedInputStream(pa.OSFile(str(path)), "zstd")


WRAPPERS: dict[bytes, Any] = {
    b"\x1f\x8b": gzip.open,
    b"BZh": bz2.open,
    b"\xfd7zXZ\x00": lzma.open,
    b"\x28\xb5\x2f\xfd": open_zstd,
}
ZIPPED = b"PK\x03\x04", b"PK\x05\x06"  # an archive, an empty one
CORRUPT = (EOFError, OSError, zlib.error, lzma.LZMAError, zipfile.BadZipFile)
MOST_PACKED = 100  # times its own size that a packed file may unpack to; text packs 20 times at most
LEAST_LIMIT = 1 << 30  # bytes that any packed file may unpack to


def local_path(path: str | os.PathLike[str], hint: str = "give the path of a file") -> Path:
    """Return a path as an absolute one, `~` expanded; raises DataError when it cannot be any file's path."""
    text = os.fspath(path)
    try:
        if "\0" in text or not text.encode():
            raise ValueError("a path is not empty and has no NUL character")
        return Path(text).expanduser().absolute()
    # RuntimeError: there is no such home folder; OSError: the working directory is gone.
    except (ValueError, RuntimeError, OSError) as error:
        raise DataError(f"{text!a} cannot be used as a path ({error}); {hint}") from None


def check_regular(path: Path) -> None:
    """Raise DataError unless there is a file to read, and not a folder, a pipe or a device."""
    try:
        mode = path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        raise DataError(f"{path}: no such file{did_you_mean(path.name, names_beside(path))}") from None
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror})") from None
    if not stat.S_ISREG(mode):
        kind = "a folder" if stat.S_ISDIR(mode) else "a pipe or a device"
        raise DataError(f"{path}: expected a file, got {kind}")


@contextmanager
def naming(path: Path | str) -> Iterator[None]:
    """Add the file's name to errors about its content."""
    try:
        yield
    except DataError as error:
        if str(error).startswith(str(path)):
            raise
        raise type(error)(f"{path}: {error}") from None


@contextmanager
def open_content(path: Path, limit: int | None = None, archive: bool = False) -> Iterator[IO[bytes]]:
    """Open a plain, gzip, bzip2, xz or zstd file for reading its content, of `limit` bytes at most.

    With `archive`, also the one file in a zip archive. Without a limit, a packed file may unpack to
    MOST_PACKED times its size. Raises DataError when the file is missing or not a file, its compressed bytes
    are cut short or corrupt, or its content is too long.
    """
    check_regular(path)
    try:
        with path.open("rb") as file:
            start = file.read(64)
        if start.startswith(b"version https://git-lfs"):
            raise DataError(f"{path}: a Git LFS pointer, not the data; `git lfs pull` gets them")
        if start.lstrip().lower().startswith((b"<!doctype html", b"<html")):
            raise DataError(f"{path}: an HTML page, not data; download the file itself")
        opener = next((opener for magic, opener in WRAPPERS.items() if start.startswith(magic)), open)
        if archive and start.startswith(ZIPPED):
            opener = open_zipped
        if limit is None and opener is not open:
            limit = most_content(path)
        with opener(path, "rb") as content:
            yield content if limit is None else io.BufferedReader(_Limited(content, limit, path), 1 << 18)
    except CORRUPT as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise DataError(f"{path}: cannot be read ({error.strerror})") from None
        raise DataError(f"{path}: cut short or corrupt ({error}); get the file again") from None


@contextmanager
def open_text(path: Path) -> Iterator[IO[bytes]]:
    """Open the content of a text file; raises DataError if its first line is longer than LONGEST_LINE."""
    with open_content(path, archive=True) as content:
        if len(content.readline(LONGEST_LINE)) == LONGEST_LINE:
            raise DataError(f"{path}: expected lines of text, got one of {LONGEST_LINE:,} bytes or more")
    with open_content(path, archive=True) as content:
        yield content


def most_content(path: Path) -> int:
    """Return how many bytes a packed file may unpack to, where its content's length is not known."""
    return max(LEAST_LIMIT, MOST_PACKED * path.stat().st_size)


class _Limited(io.RawIOBase):
    """A stream that raises DataError once it has given more than `limit` bytes."""

    def __init__(self, content: Any, limit: int, path: Path) -> None:
        self.content, self.limit, self.path = content, limit, path
        self.n_read = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        n = int(self.content.readinto(buffer))
        self.n_read += n
        if self.n_read > self.limit:
            raise DataError(f"{self.path}: expected {self.limit:,} bytes of content at most, got more")
        return n


def hashed_content(path: Path, limit: int | None = None) -> str:
    """Return the SHA-256 of a file's content, computed from its bytes."""
    with open_content(path, limit) as content:
        return hashlib.file_digest(content, "sha256").hexdigest()  # type: ignore[arg-type]


def file_state(path: Path) -> list[int]:
    """Return [size, modification time in ns], which change when a file does."""
    status = path.stat()
    return [status.st_size, status.st_mtime_ns]


logger = logging.getLogger("kfeat")

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


def recorded_sha256(path: Path) -> str | None:
    """Return the content hash recorded beside a file; None where there is none, or the file changed since."""
    try:
        known = json.loads(stamp_path(path).read_text())
        return str(known["sha256"]) if known["state"] == stamp_state(path) else None
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        logger.debug("%s: no content hash is recorded", path)
        return None


def content_sha256(path: Path, limit: int | None = None) -> str:
    """Return the SHA-256 of a file's content, recorded beside it or, where the file changed, computed."""
    known = recorded_sha256(path)
    if known is not None:
        return known
    state = stamp_state(path)  # before, so that a file which is replaced meanwhile is hashed again
    sha256 = hashed_content(path, limit)
    write_stamp(path, sha256, state)
    return sha256


def write_stamp(path: Path, sha256: str, state: list[int]) -> None:
    """Record the content hash of a file in this state beside it, valid until the file is written to.

    A cache that cannot be written still serves: the file is hashed again each time.
    """
    try:
        stamp_path(path).write_text(json.dumps({"state": state, "sha256": sha256}))
    except OSError as error:
        logger.debug("%s: its content hash cannot be recorded (%s)", path, error)


def stamp_path(path: Path) -> Path:
    """Return where the content hash of a file is recorded."""
    return path.with_name(path.name + ".sha256.json")


def stamp_state(path: Path) -> list[int]:
    """Return a file's state and the time of its last change, which cannot be set back."""
    return [*file_state(path), path.stat().st_ctime_ns]


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
