"""Grids: a list where one value is expected; their points are counted before they are laid out."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain, product
from math import prod
from typing import Any

from pydantic import ValidationInfo
from pydantic_core import core_schema

from kfeat.experiments.problems import KeyPath, refuse

MAX_TRIALS = 100_000
CHAINS = frozenset({"scale", "kernels", "weights", "maps"})  # the parameters that are lists


class _Chain(dict[int, Any]):
    """A list that is one value, by position."""


def one_or_many(value: Any) -> Any:
    """Return a list: the value where it is one, else the value alone in one."""
    return value if isinstance(value, list) else [value]


class OneOrMany:
    """How a key is validated that has a list of values, or one alone."""

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> core_schema.CoreSchema:
        """Return pydantic's schema of the list, which takes one value too."""
        return core_schema.no_info_before_validator_function(one_or_many, handler(source))

    def __get_pydantic_json_schema__(self, schema: Any, handler: Any) -> dict[str, Any]:
        """Return the JSON Schema of one value or a list of some."""
        several = handler(schema)
        return {"anyOf": [several["items"], several]}


@dataclass(frozen=True)
class Grids:
    """How a key is validated that has entries, each of them a grid: as the list of all their points.

    One entry may stand alone, but where the key always has a list (`listed`). At least `least` are needed;
    where that is none, null is none too. `check` has the points of one entry, and what the keys above hold.
    """

    least: int = 0
    listed: bool = False
    check: Callable[[list[Any], ValidationInfo], list[Any]] | None = None

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> core_schema.CoreSchema:
        """Return pydantic's schema of a list of points, for entries that are laid out."""
        entry: core_schema.CoreSchema
        entry = core_schema.no_info_before_validator_function(laid_out, handler(source))
        if self.check is not None:
            entry = core_schema.with_info_after_validator_function(self.check, entry)
        entries: core_schema.CoreSchema = core_schema.list_schema(entry, min_length=self.least)
        if not self.listed:
            entries = core_schema.no_info_before_validator_function(self._entries, entries)
        return core_schema.no_info_after_validator_function(_all_points, entries)

    def __get_pydantic_json_schema__(self, schema: Any, handler: Any) -> dict[str, Any]:
        """Return the JSON Schema of one entry or a list of some."""
        entries = handler(schema)
        entries["items"] = entries["items"]["items"]
        return entries if self.listed else {"anyOf": [entries["items"], entries]}

    def _entries(self, value: Any) -> Any:
        return [] if value is None and self.least == 0 else one_or_many(value)


def _all_points(entries: list[list[Any]]) -> list[Any]:
    return list(chain.from_iterable(entries))


def points(value: Any) -> Iterator[Any]:
    """Yield a mapping for every choice of one item from each list in it, at any depth."""
    if isinstance(value, dict):
        for chosen in product(*(list(points(item)) for item in value.values())):
            yield list(chosen) if isinstance(value, _Chain) else dict(zip(value, chosen, strict=True))
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


def laid_out(entry: Any) -> list[Any]:
    """Return the points of a config's entry: each a protocol, or each a component.

    Some lists are no axes but values, each item of which may have axes: the steps of a protocol's `scale`,
    the kernels of a sum, the maps that are stacked. Raises pydantic's ValidationError for an empty axis.
    """
    grid = _with_chains(entry)
    if empty := list(_empty_lists(grid)):
        raise refuse((path, "an empty list is a grid without points") for path in empty)
    return list(points(grid))


def _empty_lists(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[KeyPath]:
    if isinstance(value, dict | list):
        items = value.items() if isinstance(value, dict) else enumerate(value)
        for key, item in items:
            yield from _empty_lists(item, (*path, key))
        if value == []:
            yield path


def _with_chains(value: Any, key: Any = None) -> Any:
    """Return the entry with every list that is a value as a mapping by position."""
    if isinstance(value, dict):
        return {name: _with_chains(item, name) for name, item in value.items()}
    if not isinstance(value, list):
        return value
    items = [_with_chains(item) for item in value]
    return _Chain(enumerate(items)) if key in CHAINS else items


def count_trials(setting: Mapping[str, Any], repeats: int | None) -> int:
    """Return how many trials a setting as read has at most; what is no grid at all counts once."""
    solvers = setting.get("solvers")
    solvers = solvers if isinstance(solvers, dict) else {}
    mapped, exact = (_count_all(solvers.get(role)) for role in ("mapped", "exact"))
    maps, measures = _count_all(setting.get("maps")), _count_all(setting.get("measure"))
    drawn = _given(setting, "repeats") if repeats is None else repeats
    exact_runs = max(drawn, _given(setting, "exact_repeats") if repeats is None else 1)
    # A method of which there is none leaves the others to be laid out.
    methods = drawn * max(maps, 1) * max(mapped + measures, 1) + exact_runs * exact
    data = len(one_or_many(setting.get("dataset")))
    counts = [data, _count_all(setting.get("protocol")), _count_all(setting.get("kernel")), methods]
    return prod(max(1, n) for n in counts)


def _given(setting: Mapping[str, Any], key: str) -> int:
    value = setting.get(key)
    return value if isinstance(value, int) else 1


def _count_all(entries: Any) -> int:
    """Return the number of points of a config's entry or entries."""
    return 0 if entries is None else sum(count(_with_chains(entry)) for entry in one_or_many(entries))
