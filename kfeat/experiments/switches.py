"""The switches of a config: what the paper leaves open, and what was chosen.

A switch is a key of `Trial.describe`, such as `protocol.scale` or `solver.C`, or one of `dataset`, `kernel`,
`map`, `solver`, `measure` and `repeats`.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, Literal

from kfeat.data import Protocol
from kfeat.experiments.component import Component, map_components
from kfeat.experiments.names import Strict
from kfeat.experiments.problems import validation_error
from kfeat.experiments.selectors import switch_keys
from kfeat.experiments.setting import Setting
from kfeat.parameters import KeyPath, did_you_mean

Place = tuple[str, str, str]  # the component (or ""), the dataset, the kernel (or "")


class Switch(Strict):
    """A choice of the protocol: how well it is known, and by what evidence; `value` if no key holds it.

    `key` is a key of `Trial.describe` (solver.C), or that of one component (solver.libsvm.C).
    """

    key: str
    status: Literal["known", "inferred", "open"]
    evidence: str
    value: str | None = None


@dataclass(frozen=True)
class Value:
    """One value of a switch, as plain JSON, where it holds, and whether it is the default."""

    place: Place
    value: Any
    default: bool


def choices(settings: Sequence[Setting]) -> dict[str, list[Value]]:
    """Return every switch of the settings with its values, by the key without a component's name."""
    values: dict[str, list[Value]] = {}
    for setting in settings:
        for source, kernel in product(setting.datasets, setting.kernels):
            formula = kernel.label or kernel.formula
            for key, name, value, default in _values(setting, kernel):
                place = (name, source.name, "" if name in ("", kernel.name) else formula)
                values.setdefault(key, []).append(Value(place, value, default))
            values.setdefault("dataset", []).append(Value(("", "", ""), source.name, False))
    return dict(sorted(values.items(), key=lambda item: _ORDER.index(item[0].partition(".")[0])))


_ORDER = ("dataset", "protocol", "kernel", "map", "solver", "measure", "repeats")


def _values(setting: Setting, kernel: Component) -> Iterator[tuple[str, str, Any, bool]]:
    """Yield key, component, value and whether it is the default, for each choice of a setting on `kernel`."""
    for protocol in setting.protocols:
        for key, value in protocol.model_dump(mode="json").items():
            default = getattr(protocol, key) == Protocol.model_fields[key].default
            yield f"protocol.{key}", "", value, default
    maps = setting.maps if setting.mapped_solvers or setting.measures else []
    mapped = setting.mapped_solvers if setting.maps else []
    solvers = [*mapped, *setting.exact_solvers, *setting.solvers.baseline]
    parts = {"kernel": [kernel], "map": maps, "solver": solvers, "measure": setting.measures}
    for part, items in parts.items():
        for item in items:
            yield part, "", item.name, False
            for key in item.numeric():
                value = map_components(item.parameters[key], Component.description)
                yield f"{part}.{key}", item.name, value, key not in item.given
    yield "repeats", "", setting.repeats, False


def general(key: str) -> tuple[str, str | None]:
    """Return a switch's key without a component's name, and that name, if it has one."""
    part, *rest = key.split(".", 2)
    return (f"{part}.{rest[1]}", rest[0]) if len(rest) == 2 else (key, None)


def check_switches(switches: list[Switch]) -> list[Switch]:
    """Return the switches; raises ValidationError for keys that are unknown or listed twice."""
    if problems := list(_problems(switches)):
        raise validation_error(problems)
    return switches


def _problems(switches: Sequence[Switch]) -> Iterator[tuple[KeyPath, str]]:
    known = switch_keys() if switches else []
    for i, switch in enumerate(switches):
        if switch.key in [other.key for other in switches[:i]]:
            yield (i, "key"), f"'{switch.key}' is listed twice"
        if switch.value is not None and switch.key in known:
            yield (i, "value"), f"the config itself holds the value of {switch.key}; leave it out"
        if switch.value is None and switch.key not in known:
            near = did_you_mean(switch.key, known)
            needed = "a choice without a key needs a `value`"
            yield (i, "key"), f"'{switch.key}' is not a key of an experiment{near}; {needed}"
