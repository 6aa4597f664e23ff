"""The switches of an experiment: each choice that its numbers depend on, by key, and the same turned.

Keys are those of `Trial.describe`: `protocol.scale`, `kernel.gamma`, `map.degree_law`, `solver.C`. Such a key
speaks of every component that has the parameter; with a name between (`solver.libsvm.C`) of that one only.
`dataset`, `kernel`, `map`, `solver`, `measure` and `repeats` are switches too, which cannot be turned.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

from pydantic import ValidationError

from kfeat.data import Protocol
from kfeat.experiments.compatibility import unsupported, wrong_tasks
from kfeat.experiments.component import Component, each
from kfeat.experiments.keys import known_keys
from kfeat.experiments.load import Experiment, Setting
from kfeat.experiments.plan import dataset_name
from kfeat.experiments.problems import KeyPath, config_error, refuse, sentences, told
from kfeat.experiments.schema import ExperimentKeys, Switch
from kfeat.parameters import did_you_mean

Place = tuple[str, str, str]  # the component (or ""), the dataset, the kernel (or "")


@dataclass(frozen=True)
class Value:
    """One value of a switch, as plain JSON, where it holds, and whether it is the default."""

    place: Place
    value: Any
    default: bool


def choices(experiment: Experiment) -> dict[str, list[Value]]:
    """Return every switch of the experiment with its values, by the key without a component's name."""
    found: dict[str, list[Value]] = {}
    for setting in experiment.settings:
        for source, kernel in product(setting.datasets, setting.kernels):
            for key, name, value, default in _values(setting, kernel):
                place = (name, dataset_name(source), "" if name in ("", kernel.name) else _formula(kernel))
                found.setdefault(key, []).append(Value(place, value, default))
            found.setdefault("dataset", []).append(Value(("", "", ""), dataset_name(source), False))
    return dict(sorted(found.items(), key=lambda item: _ORDER.index(item[0].partition(".")[0])))


_ORDER = ("dataset", "protocol", "kernel", "map", "solver", "measure", "repeats")


def _formula(kernel: Component) -> str:
    return kernel.label or kernel.formula


def _values(setting: Setting, kernel: Component) -> Iterator[tuple[str, str, Any, bool]]:
    """Yield key, component, value and whether it is the default, of what the setting runs on `kernel`."""
    for protocol in setting.protocols:
        for key, value in protocol.model_dump(mode="json").items():
            default = getattr(protocol, key) == Protocol.model_fields[key].default
            yield f"protocol.{key}", "", value, default
    maps = setting.maps if setting.mapped_solvers or setting.measures else []
    solvers = [*(setting.mapped_solvers if setting.maps else []), *setting.exact_solvers]
    parts = {"kernel": [kernel], "map": maps, "solver": solvers, "measure": setting.measures}
    for part, items in parts.items():
        for item in items:
            yield part, "", item.name, False
            for key in item.numeric():
                value = each(item.parameters[key], Component.description)
                yield f"{part}.{key}", item.name, value, key not in item.given
    yield "repeats", "", setting.repeats, False


def general(key: str) -> tuple[str, str | None]:
    """Return a switch's key without a component's name, and that name, if it has one."""
    part, *rest = key.split(".", 2)
    return (f"{part}.{rest[1]}", rest[0]) if len(rest) == 2 else (key, None)


def check_switches(experiment: Experiment) -> None:
    """Raise ConfigError with every problem of the file's switches: unknown keys, values that cannot be."""
    problems = list(_problems(experiment))
    if problems:
        told = sentences(refuse(problems), ExperimentKeys, experiment.raw, experiment.path)
        raise config_error(experiment.path, told)


def _problems(experiment: Experiment) -> Iterator[tuple[KeyPath, str]]:
    known = known_keys()
    for i, switch in enumerate(experiment.switches):
        place = ("switches", i)
        if switch.key in [other.key for other in experiment.switches[:i]]:
            yield (*place, "key"), f"'{switch.key}' stands there twice"
        if switch.value is not None and switch.key in known:
            yield (*place, "value"), f"the config itself holds the value of {switch.key}; leave it out"
        if switch.value is None and switch.key not in known:
            near = did_you_mean(switch.key, known)
            needed = "a choice that no key holds needs a `value`"
            yield (*place, "key"), f"'{switch.key}' is no key of an experiment{near}; {needed}"
        elif switch.alternatives:
            for path, text in _wrong_alternatives(experiment, switch):
                yield (*place, "alternatives", *path), text


def _wrong_alternatives(experiment: Experiment, switch: Switch) -> Iterator[tuple[KeyPath, str]]:
    if switch.value is not None or "." not in switch.key:
        can = "only keys of the protocol and parameters of kernels, maps and solvers can"
        yield (), f"{switch.key} cannot be turned; {can}"
        return
    for j, value in enumerate(switch.alternatives):
        try:
            settings = turned(experiment, switch.key, value).settings
        except ValidationError as error:
            changed = {error.errors()[0]["loc"][0]: value}
            yield from (((j, *path[1:]), text) for path, text in told(error, changed))
            continue
        for s in settings:
            yield from (((j,), f"maps: {text}") for item in s.maps for text in unsupported(item, s.kernels))
            yield from (((j,), f"solvers: {text}") for text in wrong_tasks(s.datasets, s.mapped_solvers))


def turned(experiment: Experiment, key: str, value: Any) -> Experiment:
    """Return the experiment with one switch at `value`, in every setting and every component that has it.

    Exact machines keep their parameters: a search runs none. Raises pydantic's ValidationError.
    """
    return replace(experiment, settings=[_turned(setting, key, value) for setting in experiment.settings])


def turn(experiment: Experiment, values: Mapping[str, Any]) -> Experiment:
    """Return the experiment with several switches turned, one after another."""
    for key, value in values.items():
        experiment = turned(experiment, key, value)
    return experiment


def _turned(setting: Setting, key: str, value: Any) -> Setting:
    part, _, name = key.partition(".")
    if part == "protocol":
        field = {name: getattr(Protocol.model_validate({name: value}), name)}
        return replace(setting, protocols=[each.model_copy(update=field) for each in setting.protocols])
    found = {"kernel": "kernels", "map": "maps", "solver": "mapped_solvers", "measure": "measures"}[part]
    items: Sequence[Component] = getattr(setting, found)
    changes: dict[str, Any] = {found: [_changed(item, key, value) for item in items]}
    return replace(setting, **changes)


def _changed(item: Component, key: str, value: Any) -> Component:
    whole, name = general(key)
    parameter = whole.partition(".")[2]
    meant = parameter in item.parameters and name in (None, item.name)
    return item.changed(parameter, value) if meant else item
