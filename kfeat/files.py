"""Writing files: whole or not at all, by one process at a time, with errors that name the path."""

import logging
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from difflib import get_close_matches
from fcntl import LOCK_EX, LOCK_NB, flock
from glob import escape
from pathlib import Path
from tempfile import TemporaryFile, mkdtemp
from typing import IO

from kfeat.errors import KfeatError, ModelError, StoreError

SUFFIXES = (".yaml", ".yml")  # of configs
ADVICE = "; free some space, or choose another folder"

log = logging.getLogger(__name__)


def known_configs() -> Path:
    """Return the folder of the configs that come with kfeat: beside its modules, or in a clone above them."""
    package = Path(__file__).parent
    return next(filter(Path.is_dir, (package / "configs", package.parent / "configs")), package)


def names_beside(path: Path) -> list[str]:
    """Return the names in the folder of a path that does not exist, of those that are like it.

    The endings do not count, since x.csv and pipe.csv have little in common.
    """
    names: list[str] = []
    with suppress(OSError):
        names = sorted(os.listdir(path.parent))
    close = get_close_matches(path.name.split(".")[0], {name.split(".")[0] for name in names})
    return [name for name in names if name.split(".")[0] in close]


@contextmanager
def writing(
    path: Path, error: type[KfeatError] = StoreError, what: str = "", hint: str = ""
) -> Iterator[None]:
    """Turn an error of the system into `error`: `PATH: WHAT cannot be written (no space)HINT`."""
    try:
        yield
    except OSError as problem:
        subject = f"{path}: {what} cannot" if what else f"{path}: cannot"
        full = "requested and" in str(problem)  # NumPy names bytes only
        why = problem.strerror or ("No space left on device" if full else problem)
        raise error(f"{subject} be written ({why}){hint}") from None


@contextmanager
def replacing(path: Path, locked: bool = False) -> Iterator[Path]:
    """Yield a path beside `path` for a new file or folder, which takes its place if the block succeeds.

    Otherwise it is removed, as is what killed processes left. `locked` says that the caller holds a lock:
    then nobody else uses the path beside.
    """
    place = nullcontext(path.parent) if locked else _scratch(path.parent, f".{path.name[:100]}.part-")
    with place as folder:
        new = folder / (f"{path.name}.part" if locked else path.name)
        _remove(new)
        try:
            yield new
            if not new.is_dir():
                with new.open("rb+") as file:
                    os.fsync(file.fileno())
            elif path.exists():
                shutil.rmtree(path)
            new.replace(path)
        finally:
            _remove(new)


def _remove(path: Path) -> None:
    """Remove a folder, a file, a link or a pipe, if there is one."""
    shutil.rmtree(path, ignore_errors=True)
    with suppress(OSError):
        path.unlink()


@contextmanager
def _scratch(folder: Path, prefix: str) -> Iterator[Path]:
    """Yield a new folder in `folder` that is removed at the end, and remove what killed processes left.

    A process has a lock on its own folder, which the system releases when the process ends.
    """
    for left in folder.glob(f"{escape(prefix)}*"):
        with suppress(OSError):
            number = os.open(left, os.O_RDONLY)
            try:
                flock(number, LOCK_EX | LOCK_NB)  # fails while its process lives
                shutil.rmtree(left)
            finally:
                os.close(number)
    new, number = _locked_folder(folder, prefix)
    try:
        yield new
    finally:
        shutil.rmtree(new, ignore_errors=True)
        os.close(number)


def _locked_folder(folder: Path, prefix: str) -> tuple[Path, int]:
    """Return a new folder and the number of the open folder, whose lock this process holds."""
    while True:
        new = Path(mkdtemp(prefix=prefix, dir=folder))
        with suppress(FileNotFoundError):  # another process took it for one that was left
            number = os.open(new, os.O_RDONLY)
            with suppress(OSError):  # a file system without locks: what is left there stays
                flock(number, LOCK_EX)
            if new.exists():
                return new, number
            os.close(number)


@contextmanager
def replacing_together() -> Iterator[Callable[[Path], Path]]:
    """Yield a function that takes a folder and returns another one, for the new files of that folder.

    When the block ends, they take their places folder by folder in the order of their names. An error in the
    block leaves every old file as it was. A process that is killed in between leaves whole files, some old
    and some new. Raises StoreError in the place of an OSError, which names the file, or the folder that was
    written last.
    """
    new: dict[Path, Path] = {}
    made: list[Path] = []

    def beside(folder: Path) -> Path:
        if folder not in new:
            with writing(folder):
                made.extend(path for path in (folder, *folder.parents) if not path.exists())
                folder.mkdir(parents=True, exist_ok=True)
                new[folder] = scratch.enter_context(_scratch(folder, ".new-"))
        return new[folder]

    try:
        with ExitStack() as scratch:
            yield beside
            for path in (path for folder in new.values() for path in sorted(folder.iterdir())):
                path.replace(path.parents[1] / path.name)
    except OSError as error:
        with writing(error.filename2 or [*new][-1]):
            raise
    finally:
        for folder in made:
            with suppress(OSError):  # unless it holds files
                folder.rmdir()


def append(path: Path, line: bytes) -> None:
    """Append a line and flush it to the disk; if this fails, no part of the line stays in the file."""
    with writing(path), path.open("ab", buffering=0) as file:
        end, left = file.tell(), memoryview(line)
        try:
            while left:  # on a full disk a write may be partial
                left = left[file.write(left) :]
            os.fsync(file.fileno())
        except BaseException:
            file.truncate(end)
            raise


def check_place(path: Path, what: str) -> None:
    """Raise ModelError where `new_file` would: before hours of work, not after them."""
    if path.exists() and not path.is_file():
        raise ModelError(f"{path}: expected the name of a file for {what}, got a folder or a device")
    with writing(path, ModelError, what, ADVICE), TemporaryFile(dir=Path(os.path.realpath(path)).parent):
        pass


@contextmanager
def new_file(path: Path, what: str) -> Iterator[IO[bytes]]:
    """Open a file that replaces the user's `path` if the block succeeds; links are followed.

    Raises ModelError, naming `what` is written, if the system refuses.
    """
    check_place(path, what)
    target = Path(os.path.realpath(path))
    with writing(path, ModelError, what, ADVICE), replacing(target) as new, new.open("xb") as file:
        yield file


class Lock:
    """A lock file, which one process holds at a time; others say so and wait."""

    def __init__(self, path: Path, file: Path, doing: str) -> None:
        """Set what is locked, the file of the lock, and what its holder is doing."""
        from filelock import FileLock

        self._lock = FileLock(file)
        self._busy = f"{path}: another kfeat is {doing}"

    def __enter__(self) -> None:
        self.acquire()

    def __exit__(self, *_: object) -> None:
        self.release()

    def acquire(self, waits: bool = True) -> bool:
        """Take the lock, and return whether that succeeded; with `waits`, it always does in the end."""
        from filelock import Timeout

        try:
            self._lock.acquire(timeout=0)
        except Timeout:
            if not waits:
                return False
            log.warning("%s; waiting until it has ended (Ctrl-C ends the waiting)", self._busy)
            self._lock.acquire(poll_interval=0.1)
        return True

    def release(self) -> None:
        """Release the lock, if it is held."""
        self._lock.release()
