"""Code by its place: a class or a function in a file of the user's, or in an installed package.

`my_map.py:Mine` is `Mine` in a file; its path is relative to the config. `package.module:Class` is installed.
A place knows its version without importing the code; only `load` runs it.
"""

import hashlib
import logging
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module, metadata
from importlib.util import find_spec
from inspect import getsourcefile, getsourcelines
from pathlib import Path
from traceback import extract_tb
from types import ModuleType
from typing import Any

from kfeat.errors import ConfigError
from kfeat.parameters import did_you_mean
from kfeat.text import say_once

_FORM = re.compile(r"(?:(?P<file>.+\.py)|(?P<module>[^\W\d]\w*(?:\.[^\W\d]\w*)*)):(?P<name>[^\W\d]\w*)")
FORMS = "my_map.py:Mine for a file beside the config, or package.module:Class"
INSTALLED = ("site-packages", "dist-packages")


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

    def load(self) -> Any:
        """Return the class or the function; the first call in a process imports its module.

        Raises ConfigError, with the file and line, if the import fails or the name is missing there.
        """
        try:
            module = _run_file(self.path, self.version) if self.module is None else import_module(self.module)
        except ConfigError:
            raise
        except (Exception, SystemExit) as error:
            place = _line_of(error, self.path) or self.path
            raise ConfigError(f"{self.text} cannot be imported: {place}: {error!r}") from error
        if not hasattr(module, self.name):
            names = [name for name in vars(module) if not name.startswith("_")]
            near = did_you_mean(self.name, names)
            raise ConfigError(f"{self.module or self.path} has no '{self.name}'{near}")
        return getattr(module, self.name)

    def line_of(self, error: BaseException | None = None) -> str:
        """Return the file, and the line of it at which an error was raised, or that of the definition."""
        if error is not None and (place := _line_of(error, self.path)):
            return place
        try:
            code = self.load()
            return f"{getsourcefile(code)}, line {getsourcelines(code)[1]}"
        except (OSError, TypeError):  # not written in Python
            return str(self.path)


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
    return f"sha256:{hashlib.sha256(source).hexdigest()[:16]}"


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
    """Return the places that installed packages register in a group such as `kfeat.maps`, by short name."""
    return {point.name: point.value.replace(" ", "") for point in metadata.entry_points(group=group)}
