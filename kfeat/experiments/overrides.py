"""Changing any key of a config from the command line: --set a.b.0.c=value, with a value in YAML."""

from collections.abc import Callable, Collection, Mapping, Sequence
from copy import deepcopy
from typing import Any

from kfeat.errors import ConfigError
from kfeat.experiments.located import LocatedDict
from kfeat.experiments.yaml_file import parse


def apply_override(raw: LocatedDict, override: str, shared: Collection[str] = ()) -> None:
    """Set one `a.b.0.c=value` in a config as read; raises ConfigError where it has no such place.

    A key that settings share (`shared`) is set in every setting that replaces it, and at the top of the
    file where a setting takes it from there. A word below a list means each of its items.
    """
    key, equals, text = override.partition("=")
    if not equals or not key:
        raise ConfigError(f"--set {override}: expected key=value, as in --set maps.0.n_components=500")
    parts, value = key.split("."), parse(text, f"--set {override}")
    holders = _holders(raw, parts[0]) if parts[0] in shared else [raw]
    for holder in holders:
        if len(parts) == 2 and parts[0] not in holder:
            holder[parts[0]] = LocatedDict()
    places = [place for holder in holders for place in _places(holder, parts)]
    if not places:
        raise ConfigError(f"--set {override}: changes nothing: {_obstacle(holders[0], parts)}")
    for container, last in places:
        container[last] = deepcopy(value)
        container.places[last] = f"--set {override}"


def settings_of(raw: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the settings of a file as they stand there, without what is no mapping."""
    settings = raw.get("settings")
    return [part for part in settings if isinstance(part, dict)] if isinstance(settings, list) else []


def refuse_idle(overrides: Sequence[str], typed: Callable[[Sequence[str]], tuple[Any, Any]]) -> None:
    """Raise ConfigError for an override whose effect other options of the command line undo.

    `typed` returns the experiment with some of the overrides: as the file has it, and what of that is run.
    Setting a key to the value that it has is no error.
    """
    for i, override in enumerate(overrides):
        before, after = (_or_none(typed, overrides[:end]) for end in (i, i + 1))
        if before is not None and after is not None and before[0] == after[0]:
            continue
        without = _or_none(typed, [*overrides[:i], *overrides[i + 1 :]])
        if without is not None and without[1] == typed(overrides)[1]:
            raise ConfigError(
                f"--set {override}: changes nothing that is run: another --set, --repeats, --maps or "
                "--no-exact replaces it or leaves it out; drop one of them"
            )


def _or_none(typed: Callable[[Sequence[str]], tuple[Any, Any]], overrides: Sequence[str]) -> Any:
    try:
        return typed(overrides)
    except ConfigError:  # overrides that are valid only together with others change something
        return None


def _holders(raw: dict[str, Any], key: str) -> list[dict[str, Any]]:
    """Return the settings that replace `key`, and the top of the file unless all of them do."""
    settings = settings_of(raw)
    replacing = [part for part in settings if key in part]
    return replacing if replacing and len(replacing) == len(settings) else [raw, *replacing]


def _places(target: Any, parts: Sequence[str]) -> list[tuple[Any, Any]]:
    """Return each container and its key that `parts` lead to; only the last key may be new."""
    first, rest = parts[0], parts[1:]
    if isinstance(target, list):
        if not _is_position(first):
            return [place for item in target for place in _places(item, parts)]
        if int(first) >= len(target):
            return []
        return _places(target[int(first)], rest) if rest else [(target, int(first))]
    if isinstance(target, dict):
        return _places(target.get(first), rest) if rest else [(target, first)]
    return []


def _is_position(part: str) -> bool:
    return part.isascii() and part.isdigit() and len(part) < 10  # int() refuses thousands of digits


def _obstacle(target: Any, parts: Sequence[str]) -> str:
    """Return why `parts` lead nowhere: the first of them that is not there."""
    for i, part in enumerate(parts):
        place = ".".join(parts[:i])
        if isinstance(target, list) and _is_position(part) and int(part) < len(target):
            target = target[int(part)]
        elif isinstance(target, list) and _is_position(part):
            return f"`{part}` is not a position from 0 to {len(target) - 1} in `{place}`"
        elif isinstance(target, dict) and part in target:
            target = target[part]
        elif isinstance(target, dict):
            return f"the config has no `{'.'.join(parts[: i + 1])}`"
        else:
            return f"`{place}` has no key `{part}`"
    return f"`{'.'.join(parts)}` is replaced everywhere"
