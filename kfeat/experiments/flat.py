"""A row by flat keys: those of a config's `for:` and of `Trial.describe`, read from the row alone.

A row explains itself, so that neither its config nor the version of kfeat that made it is needed.
"""

from collections.abc import Iterator
from typing import Any

from kfeat.experiments.row import PARTS, Row


def flat(row: Row) -> dict[str, Any]:
    """Return the dataset, the protocol and every parameter of the row's components by their flat keys.

    As in `map.n_components` or `protocol.split.kind`. A component within is its name, with its own parameters
    below; the version of each stands beside its parameters, as in `map.version`.
    """
    found: dict[str, Any] = {"dataset": row["dataset"]}
    source = row["source"] or {}
    found |= {f"dataset.{key}": value for key, value in source.items() if key != "name"}
    for key, value in row["protocol"].items():
        found[f"protocol.{key}"] = value
        inner = value if isinstance(value, dict) else {}
        found |= {f"protocol.{key}.{name}": each for name, each in inner.items()}
    for part in PARTS:
        if row.get(part) is not None:
            found |= _component(part, row[part])
        elif part == "map":
            found["map"] = "exact"
    return found


def learnt(row: Row) -> Iterator[tuple[str, float]]:
    """Yield what took the place of parameters that were left to the data, as `learnt.kernel.gamma`."""
    for part, numbers in row.get("learnt", {}).items():
        for name, number in numbers.items():
            yield f"learnt.{part}.{name}", number


def _component(part: str, item: dict[str, Any]) -> dict[str, Any]:
    """Return a component's name and parameters, as `Component.flat` has them."""
    found: dict[str, Any] = {part: item["name"]}
    for key, value in item.items():
        if key == "name":
            continue
        within = [one for one in (value if isinstance(value, list) else [value]) if _is_component(one)]
        found[f"{part}.{key}"] = " + ".join(one["name"] for one in within) if within else value
        for i, one in enumerate(within):
            found |= _component(f"{part}.{key}.{i}" if isinstance(value, list) else f"{part}.{key}", one)
    return found


def _is_component(value: Any) -> bool:
    return isinstance(value, dict) and {"name", "version"} <= value.keys()
