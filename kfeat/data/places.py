"""Where files are looked for and kept: the cache folder and the mirror."""

import os
import re
import stat
from pathlib import Path
from typing import TypeAlias

from kfeat.errors import DataError

Folder: TypeAlias = str | os.PathLike[str] | None
OWN = "files"  # the folder of the cache for arrays of the user's own files
CACHE_HINT = "set KFEAT_CACHE to a folder that can be read and written"


def cache_folder(cache: Folder = None) -> Path:
    """Return the cache folder: `cache`, else KFEAT_CACHE, else the platform's cache folder for kfeat.

    Raises DataError when that cannot be a folder, or is one that may not be read.
    """
    path = local_path(cache or os.environ.get("KFEAT_CACHE") or default_cache(), CACHE_HINT)
    try:
        is_folder = stat.S_ISDIR(path.stat().st_mode)
    except FileNotFoundError:
        return path  # it is made when there is something to put into it
    except OSError as error:
        raise DataError(f"{path}: cannot be the cache folder ({error.strerror}); {CACHE_HINT}") from None
    if not is_folder or not os.access(path, os.R_OK | os.X_OK):
        raise DataError(f"{path}: expected a cache folder that may be read; {CACHE_HINT}")
    return path


def default_cache() -> str:
    """Return the platform's cache folder for kfeat, which may begin with an unknown home folder."""
    from platformdirs import user_cache_dir

    try:
        return user_cache_dir("kfeat")
    except RuntimeError as error:
        raise DataError(f"no folder for caches is known ({error}); {CACHE_HINT}") from None


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


def mirror_place(mirror: Folder = None) -> str | None:
    """Return the mirror, a folder or a URL laid out as `<dataset>/<file>`: `mirror`, else KFEAT_MIRROR."""
    place = mirror or os.environ.get("KFEAT_MIRROR")
    return os.path.expanduser(place) if place else None


def is_url(place: str) -> bool:
    """Return whether a mirror or source is fetched over the network rather than read from a folder."""
    return place.lower().startswith(("http://", "https://"))


def shown(place: str) -> str:
    """Return a place as it may be printed: a URL without the name and password in it."""
    return re.sub(r"://.*@", "://***@", place, flags=re.DOTALL)
