"""Configs and published rows by name: those in the working folder, or else those that come with kfeat."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from kfeat.errors import ConfigError
from kfeat.files import SUFFIXES, known_configs, replacing


def config_files(configs: Iterable[Path]) -> list[Path]:
    """Return the experiment files named, and those below the folders named."""
    files: list[Path] = []
    for path in configs:
        try:
            path = existing(path)
            below = configs_below(path) if path.is_dir() else [path]
        except OSError as error:
            raise ConfigError(f"{path}: cannot be read ({error.strerror})") from None
        if not below:
            raise ConfigError(f"{path}: no .yaml or .yml file below this folder")
        files += below
    return files


def existing(path: Path) -> Path:
    """Return a path that exists, or else the config or folder of this name that comes with kfeat.

    The name may begin with `configs/` and leave out `.yaml`.
    """
    if path.exists():
        return path
    name = Path(*path.parts[1:]) if path.parts[:1] == ("configs",) else path
    for known in (known_configs() / name, known_configs() / f"{name}.yaml"):
        if known.exists() and not path.is_absolute():
            return known
    return path


def configs_below(folder: Path) -> list[Path]:
    """Return the configs below a folder, except hidden files and files in hidden folders.

    A file whose name begins with _ is only included by others.
    """
    paths = [path for suffix in SUFFIXES for path in folder.rglob(f"[!_]*{suffix}")]
    return sorted(
        path for path in paths if not any(part.startswith(".") for part in path.relative_to(folder).parts)
    )


def published_folder(results: Path, experiments: Iterable[Any]) -> Path:
    """Return the folder `results`, or where there is none, that of the rows of these experiments in kfeat.

    A clone has them beside its modules, and an installed kfeat in an archive, unpacked once into the cache.
    """
    from hashlib import sha256
    from zipfile import ZipFile

    from kfeat.data.cache import cache_folder, locked

    if results.exists():
        return results
    folder, archive = known_configs().with_name("results"), known_configs().with_name("results.zip")
    if archive.exists():
        folder = cache_folder() / "results" / sha256(archive.read_bytes()).hexdigest()[:16]
        with locked(folder):
            if not folder.exists():
                with replacing(folder, locked=True) as new, ZipFile(archive) as rows:
                    rows.extractall(new)
    return folder if any((folder / experiment.name).exists() for experiment in experiments) else results
