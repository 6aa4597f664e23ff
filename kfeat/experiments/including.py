"""An experiment file as it is read: its keys, completed by the file beside it that it includes."""

from pathlib import Path, PurePath
from typing import Any

from kfeat.errors import ConfigError
from kfeat.experiments.located import LocatedDict, LocatedList, place_of
from kfeat.experiments.yaml_file import read_mapping

_COMPLETED: dict[str, type] = {"reported": LocatedDict, "solvers": LocatedDict, "switches": LocatedList}


def read_file(path: Path) -> LocatedDict:
    """Return the mapping of an experiment file, completed by the file that it includes.

    Keys of the file come first. What both hold as a mapping (`reported`, `solvers`) is completed key by
    key, and `switches` by the keys that they speak of.
    """
    raw = read_mapping(path)
    if "include" not in raw:
        return raw
    place = _beside(path, raw.pop("include"))
    shared = read_mapping(place)
    if "include" in shared:
        raise ConfigError(
            f"{place_of(shared, ['include'])}, include: an included file cannot include another"
        )
    for key, kind in _COMPLETED.items():
        if key in shared and not isinstance(shared[key], kind):
            expected = "a mapping" if kind is LocatedDict else "a list"
            raise ConfigError(f"{place_of(shared, [key])}, {key}: expected {expected} (got {shared[key]!r})")
        if key in shared and isinstance(raw.get(key), kind):
            raw[key] = _completed(raw[key], shared[key])
    return raw.completed(shared)


def _completed(own: Any, shared: Any) -> Any:
    if isinstance(own, LocatedDict):
        return own.completed(shared)
    stated = [switch.get("key") for switch in own if isinstance(switch, dict)]
    for i, switch in enumerate(shared):
        if not (isinstance(switch, dict) and switch.get("key") in stated):
            own.add(switch, shared.places[i])
    return own


def _beside(path: Path, include: Any) -> Path:
    """Return the included file; raises ConfigError unless it lies in the config's folder or below it.

    A config may come from others: it must not show what else lies on this machine.
    """
    if isinstance(include, str):
        name, folder = PurePath(include), path.parent
        inside = (folder / name).resolve().is_relative_to(folder.resolve())
        if inside and not name.is_absolute() and ".." not in name.parts:
            return folder / name
    raise ConfigError(
        f"{path}: include: expected the name of a file in this one's folder or below it, without `..` "
        f"(got {include!r})"
    )
