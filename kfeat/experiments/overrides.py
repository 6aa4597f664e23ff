"""A config's keys completed by the file that it includes, and changed by --set."""

from collections.abc import Collection, Iterator, Sequence
from copy import deepcopy
from functools import cache
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any

import yaml
from yaml.composer import Composer

from kfeat.errors import ConfigError

if TYPE_CHECKING or not yaml.__with_libyaml__:
    _Loader = yaml.SafeLoader
else:

    class _Loader(Composer, yaml.CSafeLoader):
        """PyYAML's parser in C (6 times faster) with its composer in Python: no text is too deep for it."""

        def __init__(self, text: str) -> None:
            yaml.CSafeLoader.__init__(self, text)
            Composer.__init__(self)


from kfeat.experiments.yaml import Document, Lines, read_mapping, read_text

Target = tuple[Any, Lines, Any]  # a mapping or list, its lines, and the key or position to set
COMPLETED: dict[str, type] = {"reported": dict, "solvers": dict, "switches": list}


def read_file(path: Path) -> Document:
    """Return the keys of an experiment file, completed by the file that it includes.

    Keys of the file have priority over included ones. The mappings `reported` and `solvers` are merged key by
    key, and `switches` by their `key`.
    """
    own = read_mapping(path)
    if "include" not in own.value:
        return own
    del own.lines["include"]
    shared = _included(beside(path, own.value.pop("include")))
    if "include" in shared.value:
        place = shared.place_of(["include"])
        raise ConfigError(f"{place}, include: an included file cannot include another")
    for key, kind in COMPLETED.items():
        value, mine = shared.value.get(key), own.value.get(key)
        if key in shared.value and not isinstance(value, kind):
            expected = "a mapping" if kind is dict else "a list"
            raise ConfigError(f"{shared.place_of([key])}, {key}: expected {expected} (got {value!r})")
        if key in shared.value and isinstance(mine, kind):
            _complete(mine, own.lines[key][1], value, shared.lines[key][1])
    return Document({**shared.value, **own.value}, {**shared.lines, **own.lines})


def _included(path: Path) -> Document:
    """Return an included file; one that many configs include is parsed once."""
    status = path.stat() if path.is_file() else None
    return _parsed(path, status and (status.st_mtime_ns, status.st_size))


@cache
def _parsed(path: Path, state: Any) -> Document:
    return read_mapping(path)


def _complete(mine: Any, my_lines: Lines, others: Any, other_lines: Lines) -> None:
    """Add to a mapping the keys that it lacks, or to a list the switches with other keys."""
    if isinstance(mine, dict):
        for values, more in ((mine, others), (my_lines, other_lines)):
            values.update({**more, **values})
        return
    stated = [switch.get("key") for switch in mine if isinstance(switch, dict)]
    for i, switch in enumerate(others):
        if not (isinstance(switch, dict) and switch.get("key") in stated):
            my_lines[len(mine)] = other_lines[i]
            mine.append(switch)


def beside(path: Path, include: Any) -> Path:
    """Return the path of a file that a config names; raises ConfigError unless it is in or below its folder.

    A config may come from someone else: it must not read other files of this machine.
    """
    if isinstance(include, str):
        name, folder = PurePath(include), path.parent
        inside = (folder / name).resolve().is_relative_to(folder.resolve())
        if inside and not name.is_absolute() and ".." not in name.parts:
            return folder / name
    raise ConfigError(
        f"{path}: expected the name of a file in this one's folder or below it, without `..` "
        f"(got {include!r})"
    )


def apply_override(document: Document, override: str, shared: Collection[str]) -> None:
    """Set one `a.b.0.c=value` in a config's keys; raises ConfigError if they have no such place.

    A key that settings share (`shared`) is set in every setting that replaces it, and at the top of the
    file if a setting takes it from there. A key after a list is set in each item of the list.
    """
    key, equals, text = override.partition("=")
    if not equals or not key:
        raise ConfigError(f"--set {override}: expected key=value, as in --set maps.0.n_components=500")
    parts, place = key.split("."), f"--set {override}"
    new, top = read_text(text, place), (document.value, document.lines)
    holders = _holders(*top, parts[0]) if parts[0] in shared else [top]
    for holder, lines in holders:
        if len(parts) == 2 and parts[0] not in holder:
            holder[parts[0]], lines[parts[0]] = {}, (place, {})
    targets = [target for holder, lines in holders for target in _targets(holder, lines, parts)]
    if not targets:
        raise ConfigError(f"--set {override}: changes nothing: the config has no place `{key}`")
    for container, lines, last in targets:
        container[last], lines[last] = deepcopy(new.value), (place, deepcopy(new.lines))


def _holders(keys: dict[str, Any], lines: Lines, key: str) -> list[tuple[dict[str, Any], Lines]]:
    """Return the settings that replace `key`, and the top of the file unless every setting replaces it."""
    listed = keys.get("settings")
    settings = listed if isinstance(listed, list) else []
    replacing = [
        (part, lines["settings"][1][i][1])
        for i, part in enumerate(settings)
        if isinstance(part, dict) and key in part
    ]
    return replacing if replacing and len(replacing) == len(settings) else [(keys, lines), *replacing]


def _targets(value: Any, lines: Lines, parts: Sequence[str]) -> Iterator[Target]:
    """Yield every place that `parts` lead to; only the last key may be new."""
    first, rest = parts[0], parts[1:]
    if isinstance(value, list) and not _is_position(first):
        for i, item in enumerate(value):
            yield from _targets(item, lines[i][1], parts)
        return
    key = int(first) if isinstance(value, list) else first
    exists = key in value if isinstance(value, dict) else isinstance(value, list) and int(key) < len(value)
    if rest and exists:
        yield from _targets(value[key], lines[key][1], rest)
    elif not rest and (exists or isinstance(value, dict)):
        yield value, lines, key


def _is_position(part: str) -> bool:
    return part.isascii() and part.isdigit() and len(part) < 10  # int() refuses thousands of digits
