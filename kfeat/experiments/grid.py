"""Grids: a list where one value is expected; their points are counted before they are laid out."""

from collections.abc import Iterator, Mapping
from itertools import product
from math import prod
from typing import Any

from kfeat.data import Protocol

MAX_TRIALS = 100_000


def one_or_many(value: Any) -> Any:
    """Return a list: the value where it is one, else the value alone in one."""
    return value if isinstance(value, list) else [value]


def points(value: Any) -> Iterator[Any]:
    """Yield a mapping for every choice of one item from each list in it, at any depth."""
    if isinstance(value, dict):
        for chosen in product(*(list(points(item)) for item in value.values())):
            yield dict(zip(value, chosen, strict=True))
    elif isinstance(value, list):
        for item in value:
            yield from points(item)
    else:
        yield value


def count(value: Any) -> int:
    """Return the number of points."""
    if isinstance(value, dict):
        return prod(count(item) for item in value.values())
    return sum(count(item) for item in value) if isinstance(value, list) else 1


def protocols(entry: Any) -> list[Any]:
    """Return the protocols of a config's entry, one for each point of its grid.

    The list of `scale` is no axis: it is a chain of steps, each of which may have axes.
    """
    if isinstance(entry, Protocol):
        return [entry]
    found = list(points(_chain_as_mapping(entry)))
    if not found:
        raise ValueError("an empty list is a grid without points")
    for one in found:
        if isinstance(one, dict) and isinstance(entry.get("scale"), list):
            one["scale"] = list(one["scale"].values())
    return found


def _chain_as_mapping(entry: Any) -> Any:
    if isinstance(entry, dict) and isinstance(entry.get("scale"), list):
        return {**entry, "scale": dict(enumerate(entry["scale"]))}
    return entry


def count_trials(setting: Mapping[str, Any], repeats: int | None) -> int:
    """Return how many trials a setting as read has at most; what is no grid at all counts once."""
    solvers = setting.get("solvers")
    solvers = solvers if isinstance(solvers, dict) else {}
    mapped, exact = (_count_all(solvers.get(role)) for role in ("mapped", "exact"))
    maps, measures = _count_all(setting.get("maps")), _count_all(setting.get("measure"))
    if repeats is None:
        given = setting.get("repeats")
        repeats = given if isinstance(given, int) else 1
    places = [
        len(one_or_many(setting.get("dataset"))),
        sum(count(_chain_as_mapping(entry)) for entry in one_or_many(setting.get("protocol"))),
        _count_all(setting.get("kernel")),
    ]
    # A method of which there is none leaves the others to be laid out.
    return prod(max(1, n) for n in [*places, repeats, max(maps, 1) * max(mapped + measures, 1) + exact])


def _count_all(entries: Any) -> int:
    """Return the number of components of a config's entries, each a mapping whose lists are axes."""
    if entries is None:
        return 0
    return sum(
        prod(len(one_or_many(value)) for value in entry.values()) if isinstance(entry, dict) else 1
        for entry in one_or_many(entries)
    )
