"""Where files are looked for and kept: the cache folder and the mirror."""

import os
from pathlib import Path
from typing import TypeAlias

Folder: TypeAlias = str | os.PathLike[str] | None
OWN = "files"  # the folder of the cache for arrays of the user's own files


def cache_folder(cache: Folder = None) -> Path:
    """Return the cache folder: `cache`, else KFEAT_CACHE, else the platform's cache folder for kfeat."""
    from platformdirs import user_cache_dir

    return Path(cache or os.environ.get("KFEAT_CACHE") or user_cache_dir("kfeat")).expanduser().absolute()


def mirror_place(mirror: Folder = None) -> str | None:
    """Return the mirror, a folder or a URL laid out as `<dataset>/<file>`: `mirror`, else KFEAT_MIRROR."""
    place = mirror or os.environ.get("KFEAT_MIRROR")
    return os.path.expanduser(place) if place else None


def is_url(place: str) -> bool:
    """Return whether a mirror or source is fetched over the network rather than read from a folder."""
    return place.startswith(("http://", "https://"))
