"""Code by its place: a class or a function in a file of the user's, or in an installed package.

`my_map.py:Mine` is `Mine` in a file; its path is relative to the config. `package.module:Class` is installed.
A place knows its version without importing the code; only `load` runs it.

Such code can do anything to the process that runs it. What it does by mistake is set back or named here: it
prints, changes the working folder, exits, leaves a thread behind, or forks a copy of the process that goes
on with kfeat's work.
"""

import hashlib
import logging
import os
import re
import signal
import sys
import warnings
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, redirect_stdout
from dataclasses import dataclass
from functools import cache
from importlib import import_module, metadata
from importlib.util import find_spec
from inspect import getsourcefile, getsourcelines
from multiprocessing.connection import wait
from pathlib import Path
from threading import Thread
from traceback import extract_tb
from types import ModuleType
from typing import Any, NoReturn

from kfeat.errors import CodeError, ConfigError, KfeatError, Terminated
from kfeat.parameters import did_you_mean
from kfeat.text import say_once

_FORM = re.compile(r"(?:(?P<file>.+\.py)|(?P<module>[^\W\d]\w*(?:\.[^\W\d]\w*)*)):(?P<name>[^\W\d]\w*)")
FORMS = "my_map.py:Mine for a file beside the config, or package.module:Class"
INSTALLED = ("site-packages", "dist-packages")
FILE_VERSION = "sha256:"  # begins the version of a file
COPY_SECONDS = 0.2  # to wait for a forked copy to come back; it comes when the process itself does
_loaded: dict[str, "Place"] = {}  # by their texts


@dataclass(frozen=True)
class Place:
    """Where a class or a function lies: `text` is the place as a config has it.

    `version` tells other code apart: the name and the version of the distribution that installed the module,
    or else `sha256:` and the first 16 digits of the hash of the file, but not of files that it imports.
    """

    text: str
    path: Path
    module: str | None
    name: str
    version: str

    @classmethod
    def of(cls, text: str, folder: Path | None = None, needed: bool = True) -> "Place":
        """Return the place; a file is relative to `folder` (None: the current one). Nothing is imported.

        Raises ConfigError for another form. A file that cannot be read, or a module that is not installed,
        raises it too if it is `needed`; otherwise the version is empty.
        """
        match = _FORM.fullmatch(text)
        if match is None:
            raise ConfigError(f"'{text}' is not the place of a class or a function; write {FORMS}")
        module = match["module"]
        path, version = Path(match["file"] or ""), ""
        try:
            path = _relative((folder or Path()) / path) if module is None else _module_file(module)
            installed = module is not None and any(part in INSTALLED for part in path.parts)
            version = (installed and _distribution(str(module))) or _version_of(_source(path))
        except ConfigError:
            if needed:
                raise
        return cls(text, path, module, match["name"], version)

    @property
    def loaded(self) -> bool:
        """Whether the code is imported in this process."""
        return hasattr(sys.modules.get(self.module or _module_name(self.path, self.version)), self.name)

    @property
    def installed(self) -> bool:
        """Whether a distribution installed the code, so that it is not a file of the user's own."""
        return not self.version.startswith(FILE_VERSION)

    def load(self) -> Any:
        """Return the class or the function; the first call in a process imports its module.

        Raises ConfigError, with the file and line, if the import fails or the name is missing there.
        """
        with code_errors(self, ConfigError, f"{self.text} cannot be imported: "), set_back():
            module = _run_file(self.path, self.version) if self.module is None else import_module(self.module)
        if not hasattr(module, self.name):
            names = [name for name in vars(module) if not name.startswith("_")]
            near = did_you_mean(self.name, names)
            raise ConfigError(f"{self.module or self.path} has no '{self.name}'{near}")
        _loaded[self.text] = self
        return getattr(module, self.name)

    def line_of(self, error: BaseException | None = None) -> str:
        """Return the file, and the line of it at which an error was raised, or that of the definition."""
        if error is not None and (place := _line_of(error, self.path)):
            return place
        if not self.loaded:  # its import failed
            return str(self.path)
        try:
            code = self.load()
            return f"{getsourcefile(code)}, line {getsourcelines(code)[1]}"
        except (OSError, TypeError):  # not written in Python
            return str(self.path)


def loaded_code() -> list[Place]:
    """Return the places whose code this process has imported."""
    return list(_loaded.values())


@contextmanager
def code_errors(place: Place, kind: type[KfeatError] = CodeError, what: str = "") -> Iterator[None]:
    """Raise an error of this `kind`, with the file and line, for whatever the code of a place raises.

    Code may raise SystemExit or GeneratorExit, too; Ctrl-C and SIGTERM are not its own. A copy of the process
    that it forks ends here, where it would go on with the work of kfeat.
    """
    try:
        with _without_copies():
            yield
    except (CodeError, ConfigError, KeyboardInterrupt, Terminated):
        raise
    except BaseException as error:
        raise kind(f"{what}{place.line_of(error)}: {type(error).__name__}: {error}") from error


@contextmanager
def _without_copies() -> Iterator[None]:
    """End a copy of this process that comes back from this context; then raise an error in the process."""
    reader, writer = os.pipe()
    own = os.getpid()
    try:
        yield
    finally:
        if os.getpid() != own:
            try:
                os.write(writer, b"!")
            finally:
                os._exit(1)
        os.close(writer)
        # The end of the file comes at once unless copies live, such as the processes of a pool.
        came_back = bool(wait([reader], COPY_SECONDS)) and bool(os.read(reader, 1))
        os.close(reader)
    if came_back:
        raise RuntimeError("it forked this process, and the copy came back; end the copy with os._exit")


@contextmanager
def set_back() -> Iterator[None]:
    """Set back what the code in this context changes of the process; what it prints goes to stderr.

    That is the working folder, the umask, the handlers of Ctrl-C and SIGTERM, the standard streams, the
    filters of warnings, what NumPy does on an overflow or underflow, and the configuration of scikit-learn.
    os._exit raises SystemExit, and threads that the code starts end with the process.
    It is for the main thread: most of this belongs to the whole process.
    """
    import numpy as np  # here, since commands that run no code start without these libraries
    import sklearn

    folder, mask = os.getcwd(), os.umask(0o077)
    os.umask(mask)
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    streams = sys.stdout, sys.stderr
    settings = warnings.catch_warnings(), np.errstate(), sklearn.config_context()
    try:
        with ExitStack() as stack:
            for context in (printing_to_stderr(), _without_exits(), _with_daemons(), *settings):
                stack.enter_context(context)
            yield
    finally:
        os.chdir(folder)
        os.umask(mask)
        for number, handler in handlers.items():
            if signal.getsignal(number) is not handler:
                signal.signal(number, handler)
        sys.stdout, sys.stderr = streams
        if sys.stderr is not None and sys.stderr.closed:
            sys.stderr = open(2, "w", errors="backslashreplace", closefd=False)  # noqa: SIM115


@contextmanager
def _without_exits() -> Iterator[None]:
    """Turn os._exit into a SystemExit, since it ends the process without a word; a copy may end by it."""
    own, end, inside = os.getpid(), os._exit, True

    def exit_or_raise(status: int) -> NoReturn:
        if inside and os.getpid() == own:
            raise SystemExit(f"os._exit({status})")
        end(status)

    os._exit = exit_or_raise
    try:
        yield
    finally:
        os._exit, inside = end, False


@contextmanager
def _with_daemons() -> Iterator[None]:
    """Make the threads that start in this context daemons: the process does not wait for them at its end."""
    start = Thread.start

    def start_daemon(thread: Thread) -> None:
        thread.daemon = True
        start(thread)

    Thread.start = start_daemon  # type: ignore[assignment, method-assign]
    try:
        yield
    finally:
        Thread.start = start  # type: ignore[method-assign]


@contextmanager
def printing_to_stderr() -> Iterator[None]:
    """Send what is printed in this context to stderr, also by C code and by other programs."""
    sys.stdout.flush()
    stdout = os.dup(1)
    try:
        os.dup2(2, 1)
        with redirect_stdout(sys.stderr):
            yield
    finally:
        os.dup2(stdout, 1)
        os.close(stdout)


def _line_of(error: BaseException, path: Path) -> str:
    lines = [frame.lineno for frame in extract_tb(error.__traceback__) if frame.filename == str(path)]
    if isinstance(error, SyntaxError) and error.filename == str(path):
        lines.append(error.lineno)
    return f"{path}, line {lines[-1]}" if lines else ""


def _relative(path: Path) -> Path:
    """Return a path relative to the current folder if it lies below, so that other machines find it too."""
    path = path.resolve()
    return path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path


def _version_of(source: bytes) -> str:
    return f"{FILE_VERSION}{hashlib.sha256(source).hexdigest()[:16]}"


def _source(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise ConfigError(f"{path}: this file of code cannot be read ({error.strerror})") from None


def _run_file(path: Path, version: str) -> ModuleType:
    """Return the module in a file; raises ConfigError if the file is no longer that of this version."""
    name = _module_name(path, version)
    if name in sys.modules:
        return sys.modules[name]
    source = _source(path)
    if version != _version_of(source):
        raise ConfigError(f"{path}: this file of code has changed since the run was planned; run it again")
    folder = str(path.resolve().parent)
    if folder not in sys.path:
        sys.path.append(folder)  # at the end: a file beside it must not hide a library
    module = ModuleType(name)
    module.__file__ = str(path)
    sys.modules[name] = module
    try:
        # importlib may take cached bytecode of another text, of equal size and written in the same second.
        exec(compile(source, str(path), "exec"), vars(module))
    except BaseException:
        del sys.modules[name]
        raise
    return module


def _module_name(path: Path, version: str) -> str:
    return f"{path.stem}_{hashlib.sha256(f'{path.resolve()} {version}'.encode()).hexdigest()[:16]}"


@cache
def _module_file(module: str) -> Path:
    """Return the file of an installed module; the packages that contain it are not imported."""
    top, *inner = module.split(".")
    spec = find_spec(top)
    if spec and spec.origin and not inner:
        return Path(spec.origin)
    for folder in (spec and spec.submodule_search_locations) or ():
        place = Path(folder, *inner)
        for file in (place / "__init__.py", *place.parent.glob(f"{place.name}.*")):
            if inner and file.is_file():
                return file
    raise ConfigError(f"no module '{module}' is installed; write {FORMS}")


@cache
def _distribution(module: str) -> str | None:
    """Return the name and the version of the distribution that installed a module; None if none lists it."""
    files = re.compile(rf"^{module.partition('.')[0]}[/.]", re.MULTILINE)
    # importlib's packages_distributions parses the files of all distributions, which takes half a second.
    for distribution in metadata.distributions():
        if files.search(distribution.read_text("RECORD") or ""):
            return f"{distribution.name} {distribution.version}"
    return None


def announce(place: Place, named_by: str) -> None:
    """Say once that the code at a place is imported, since a config, or a key of one, names it."""
    say_once(logging.WARNING, f"{place.module or place.path} is imported, since {named_by} names it")


def entry_points(group: str) -> Mapping[str, str]:
    """Return the places that installed packages register in a group such as `kfeat.maps`, by short name.

    What is no place is left out with a warning, so that one package does not stop commands that need others.
    """
    places = {}
    for point in metadata.entry_points(group=group):
        place = point.value.partition("[")[0].replace(" ", "")  # without extras
        if _FORM.fullmatch(place):
            places[point.name] = place
        else:
            what = f"a package registers '{point.name}' in {group} as '{point.value}'"
            say_once(logging.WARNING, f"{what}, which is left out; expected package.module:Class")
    return places
