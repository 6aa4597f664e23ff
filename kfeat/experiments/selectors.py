"""Flat keys, and choosing trials, cells and rows by them: `for:` in a config, --where on the command line.

The keys are those of `Trial.describe`: dataset, protocol.scale, kernel.gamma, map, map.n_components. Trials
are also chosen by the first characters of their ids.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Annotated, Any, Protocol

from pydantic import AfterValidator

from kfeat import data
from kfeat.data.sources import GENERATED_KINDS
from kfeat.errors import ConfigError
from kfeat.experiments.component import PARAMETERS, flat_entry, parameters_of, registries
from kfeat.experiments.problems import validation_error
from kfeat.experiments.quantities import (
    MEASURED,
    PARTS,
    QUANTITIES,
    SCORE,
    TITLES,
    Quantity,
    measured_quantity,
    parameter_of,
)
from kfeat.experiments.yaml import parse
from kfeat.parameters import did_you_mean, parameter_model
from kfeat.text import counted

Record = Mapping[str, Any]


class Described(Protocol):
    """What can be chosen: a trial, which tells its parameters by flat keys."""

    def describe(self) -> Mapping[str, Any]:
        """Return them."""


DECIMALS = re.compile(r"-?\d+\.(\d+)")  # a number with a decimal point
MOST_IDS = 10  # that a message names


def known_keys() -> list[str]:
    """Return every key that a trial can have, except those of a split or of an inner component."""
    return _known_keys(tuple(name for registry in registries().values() for name in registry))


@cache
def _known_keys(registered: tuple[str, ...]) -> list[str]:
    """Return the keys that a trial can have with these kernels, maps, solvers and measures."""
    parameters = (f"{part}.{parameter}" for part, _, parameter in _parameters())
    generated = (f"dataset.{name}" for kind in GENERATED_KINDS for name in kind.model_fields)
    own = ["dataset", *(f"protocol.{name}" for name in data.Protocol.model_fields), *registries()]
    return list(dict.fromkeys([*own, *parameters, *generated]))


def by_place() -> list[str]:
    """Return the keys of parameters of classes by their places."""
    return [f"{part}.{name}" for part, names in PARAMETERS.items() for name in names]


def switch_keys() -> list[str]:
    """Return every key that a switch can have; parameters also with their component's name in the key."""
    named = [f"{part}.{name}.{parameter}" for part, name, parameter in _parameters()]
    own = [key for key in known_keys() if not key.startswith("dataset.")]
    return [*own, *by_place(), "repeats", *named]


def _parameters() -> Iterator[tuple[str, str, str]]:
    """Yield each parameter with its part (kernel, map, ...) and its component's name."""
    for part, registry in registries().items():
        for name, cls in registry.items():
            yield from ((part, name, parameter) for parameter in parameters_of(cls))


def check_keys(selector: dict[str, Any]) -> dict[str, Any]:
    """Return a selector; raises ValidationError for a key that no trial can have.

    Values are not checked, since several configs may share printed numbers and tables.
    """
    known = [*known_keys(), *by_place()] if selector else []
    unknown = [key for key in selector if ".".join(key.split(".")[:2]) not in known]
    if unknown:
        raise validation_error(
            ((), f"no trial has the key {key!r}{did_you_mean(key, known)}") for key in unknown
        )
    return selector


Selector = Annotated[dict[str, Any], AfterValidator(check_keys)]
Keys = Annotated[list[str], AfterValidator(lambda keys: list(check_keys(dict.fromkeys(keys))))]


def matches(selector: Record, trial: Described) -> bool:
    """Return whether the trial has these values at the keys of `Trial.describe`; a list means any of them."""
    return agrees(selector, trial.describe())


def agrees(selector: Record, flat: Record) -> bool:
    """Return whether `flat` has the selector's values at its keys; a list means any of its values."""
    return all(key in flat and _is(flat[key], expected) for key, expected in selector.items())


def _is(value: Any, expected: Any) -> bool:
    return bool(value == expected) or (isinstance(expected, list) and value in expected)


def flat(row: Record) -> dict[str, Any]:
    """Return the dataset, the protocol and every parameter of a row's components by their flat keys.

    Keys are such as `map.n_components` or `protocol.split.kind`. An inner component is given by its name, and
    its parameters follow; the version of a component is a key beside its parameters, as `map.version`.
    """
    keys: dict[str, Any] = {"dataset": row["dataset"]}
    source = row["source"] or {}
    keys |= {f"dataset.{key}": value for key, value in source.items() if key != "name"}
    for key, value in row["protocol"].items():
        keys[f"protocol.{key}"] = value
        inner = value if isinstance(value, dict) else {}
        keys |= {f"protocol.{key}.{name}": option for name, option in inner.items()}
    for part in PARTS:
        if row.get(part) is not None:
            keys |= flat_entry(part, row[part])
        elif part == "map":
            keys["map"] = "exact" if row["kernel"] is not None else "baseline"
    return keys


def learnt_values(row: Record) -> Iterator[tuple[str, float]]:
    """Yield the parameter values that were learnt from the data, by keys such as `learnt.kernel.gamma`."""
    for part, numbers in row.get("learnt", {}).items():
        for name, number in numbers.items():
            yield f"learnt.{part}.{name}", number


def chosen(records: Sequence[dict[str, Any]], conditions: Sequence[str]) -> list[dict[str, Any]]:
    """Return the records that meet all conditions `key=value`; a value is YAML, and a list means any of it.

    A value also matches as text: host=12e45678 matches the text "12e45678". If no
    record has a number with a decimal point, it matches those that round to it: accuracy=82.18 finds what a
    table shows as 82.18.

    Raises ConfigError for a condition without `=`, and for a key or a value that no record has.
    """
    selector: dict[str, Any] = {}
    for condition in conditions:
        key, equals, text = condition.partition("=")
        if not equals or not key:
            raise ConfigError(f"--where {condition}: expected key=value, as in --where map.n_components=200")
        known = list(dict.fromkeys(name for record in records for name in record))
        if key not in known:
            near = f"no row has '{key}'{did_you_mean(key, known)}"
            raise ConfigError(f"--where {condition}: {near}; there are: {', '.join(known)}")
        met = [record[key] for record in records if key in record]
        selector[key] = _values(condition, text, met)
        if not any(value in selector[key] for value in met):
            selector[key] = [value for value in met if _rounds_to(value, text)]
        if not any(value in selector[key] for value in met):
            words = list(dict.fromkeys(map(str, met)))
            more = ", ..." if len(words) > 12 else ""
            near = f"no row has this value{did_you_mean(text, words)}"
            raise ConfigError(f"--where {condition}: {near}; there are: {', '.join(words[:12])}{more}")
    return [record for record in records if agrees(selector, record)]


def _values(condition: str, text: str, met: Sequence[Any]) -> list[Any]:
    """Return the values that a text means: its value in YAML, the items of that, and values of this text."""
    written = [value for value in met if str(value) == text][:1]
    try:
        value = parse(text, f"--where {condition}")
    except ConfigError:
        if not written:
            raise
        return written
    return [*written, value, *(value if isinstance(value, list) else ())]


def _rounds_to(value: Any, text: str) -> bool:
    """Return whether a number is that of `text` at the precision of the text."""
    if not isinstance(value, float) or not (decimals := DECIMALS.fullmatch(text.strip())):
        return False
    return f"{value:.{len(decimals[1])}f}" == text.strip()


def ids_beginning(prefixes: Sequence[str], ids: Iterable[str], where: str) -> list[str]:
    """Return the id that begins with each prefix; `where` names the searched trials in messages.

    Raises ConfigError for a prefix that matches no id, or several.
    """
    known = sorted(set(ids))
    return list(dict.fromkeys(_only_one(prefix, known, where) for prefix in prefixes))


def _only_one(prefix: str, known: Sequence[str], where: str) -> str:
    matching = [identity for identity in known if prefix and identity.startswith(prefix)]
    if prefix in matching:
        return prefix
    if not matching:
        raise ConfigError(
            f"no trial of {where} has an id that begins with '{prefix}'; `kfeat plan` shows the ids"
        )
    if len(matching) > 1:
        shown = ", ".join(matching[:MOST_IDS]) + ", ..." * (len(matching) > MOST_IDS)
        raise ConfigError(
            f"'{prefix}' begins the ids of {counted(len(matching), 'trials')} of {where}: {shown}"
        )
    return matching[0]


def quantity_named(name: str) -> Quantity:
    """Return the quantity of this name or of a parameter such as `solver.C`; raise ValueError for others."""
    if name in QUANTITIES:
        return QUANTITIES[name]
    if name.startswith(MEASURED):
        return measured_quantity(name.removeprefix(MEASURED))
    part, _, parameter = name.partition(".")
    if part in PARTS and parameter in known_parameters(part):
        return Quantity(name, TITLES.get(name, name), parameter_of(part, parameter))
    known = [SCORE, *QUANTITIES]
    listed = f"{', '.join(known)}, and parameters such as kernel.gamma"
    raise ValueError(f"unknown quantity{did_you_mean(name, known)}; known: {listed}")


def known_parameters(part: str) -> frozenset[str]:
    """Return the names of the parameters that kernels, maps, solvers or measures have."""
    models = (parameter_model(cls) for cls in registries()[part].values())
    return frozenset(name for model in models for name in model.model_fields) | PARAMETERS.get(part, set())


def known_quantity(name: str) -> str:
    """Return a quantity's name, or raise ValueError with the nearest one."""
    # The measures declare their own quantities. Imported here, since they load scikit-learn.
    import kfeat.experiments.measures  # noqa: F401

    return name if name == SCORE else quantity_named(name).name


# A declared quantity, a parameter such as kernel.gamma, or `score`: the quantity by which a row is judged.
QuantityName = Annotated[str, AfterValidator(known_quantity)]
