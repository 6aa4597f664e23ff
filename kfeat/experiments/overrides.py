"""Changing any key of a config from the command line: --set a.b.0.c=value, with a value in YAML."""

from typing import Any

from kfeat.errors import ConfigError
from kfeat.experiments.yaml_file import parse


def apply_override(raw: dict[str, Any], override: str) -> None:
    """Set one `a.b.0.c=value` in a config as read; raises ConfigError where it has no such place."""
    key, equals, text = override.partition("=")
    if not equals or not key:
        raise ConfigError(f"--set {override}: expected key=value, as in --set maps.0.n_components=500")
    target: Any = raw
    *parents, last = key.split(".")
    for part in parents:
        target = _step(target, part, override)
    value = parse(text, f"--set {override}")
    if isinstance(target, list):
        target[_index(target, last, override)] = value
    elif isinstance(target, dict):
        target[last] = value
    else:
        raise ConfigError(f"--set {override}: `{'.'.join(parents)}` has no keys to set")


def _step(target: Any, part: str, override: str) -> Any:
    if isinstance(target, list):
        return target[_index(target, part, override)]
    if isinstance(target, dict):
        return target.setdefault(part, {})
    raise ConfigError(f"--set {override}: `{part}` stands below a plain value")


def _index(target: list[Any], part: str, override: str) -> int:
    if not part.isdigit() or int(part) >= len(target):
        raise ConfigError(f"--set {override}: `{part}` is not a position from 0 to {len(target) - 1}")
    return int(part)
