"""Lists in a config as grids: all points of an entry whose values may be lists."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain, product
from math import prod
from typing import Any

from pydantic import ValidationInfo
from pydantic_core import core_schema

from kfeat.experiments.problems import validation_error
from kfeat.parameters import KeyPath

MAX_TRIALS = 100_000
CHAINS = frozenset({"scale", "kernels", "weights", "maps"})  # kfeat's own parameters that are lists


def one_or_many(value: Any) -> Any:
    """Return the value if it is a list, else a list of the value alone."""
    return value if isinstance(value, list) else [value]


class OneOrMany:
    """How a key is validated that takes a list of values or a single value."""

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> core_schema.CoreSchema:
        """Return pydantic's schema of the list, which also accepts one value."""
        return core_schema.no_info_before_validator_function(one_or_many, handler(source))

    def __get_pydantic_json_schema__(self, schema: Any, handler: Any) -> dict[str, Any]:
        """Return the JSON Schema of one value or a list of values."""
        several = handler(schema)
        return {"anyOf": [several["items"], several]}


@dataclass(frozen=True)
class Grids:
    """How a key is validated whose entries are grids: the result is the list of all their points.

    A single entry needs no list, unless `listed` is true. At least `least` entries are needed; if that is 0,
    null means no entry. `check` gets the points of one entry, and the values of the keys above.
    """

    least: int = 0
    listed: bool = False
    check: Callable[[list[Any], ValidationInfo], list[Any]] | None = None

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> core_schema.CoreSchema:
        """Return pydantic's schema of the list of points."""
        entry: core_schema.CoreSchema
        entry = core_schema.no_info_before_validator_function(expanded, handler(source))
        if self.check is not None:
            entry = core_schema.with_info_after_validator_function(self.check, entry)
        entries: core_schema.CoreSchema = core_schema.list_schema(entry, min_length=self.least)
        if not self.listed:
            entries = core_schema.no_info_before_validator_function(self._entries, entries)
        return core_schema.no_info_after_validator_function(_all_points, entries)

    def __get_pydantic_json_schema__(self, schema: Any, handler: Any) -> dict[str, Any]:
        """Return the JSON Schema of one entry or a list of entries."""
        entries = handler(schema)
        entries["items"] = entries["items"]["items"]
        return entries if self.listed else {"anyOf": [entries["items"], entries]}

    def _entries(self, value: Any) -> Any:
        return [] if value is None and self.least == 0 else one_or_many(value)


def _all_points(entries: list[list[Any]]) -> list[Any]:
    return list(chain.from_iterable(entries))


def _items(value: dict[str, Any]) -> list[tuple[str, Any]]:
    """Return the values of a mapping with their keys; those of a class by its place are never chains."""
    own = ":" in str(value.get("name"))
    return [("" if own else name, item) for name, item in value.items()]


def points(value: Any, key: Any = None) -> Iterator[Any]:
    """Yield the value of a key for every choice of one item from each axis in it, at any depth."""
    if isinstance(value, dict):
        for chosen in product(*(list(points(item, name)) for name, item in _items(value))):
            yield dict(zip(value, chosen, strict=True))
    elif isinstance(value, list) and key in CHAINS:
        yield from map(list, product(*(list(points(item)) for item in value)))
    elif isinstance(value, list):
        for item in value:
            yield from points(item)
    else:
        yield value


def count(value: Any, key: Any = None) -> int:
    """Return the number of points."""
    if isinstance(value, dict):
        return prod(count(item, name) for name, item in _items(value))
    if isinstance(value, list):
        return (prod if key in CHAINS else sum)(map(count, value))
    return 1


def expanded(entry: Any) -> list[Any]:
    """Return the points of a config's entry: each is a protocol or a component.

    Some lists are values, not axes, but their items may have axes: the steps of a protocol's `scale`, the
    kernels of a sum, the maps that are stacked. Raises pydantic's ValidationError for an empty axis, and for
    more points than an experiment may have trials.
    """
    if (n := count(entry)) > MAX_TRIALS:
        raise validation_error([((), f"a grid of {n:,} points; {MAX_TRIALS:,} are allowed")])
    if empty := list(_empty_axes(entry)):
        raise validation_error((path, "an empty list is a grid without points") for path in empty)
    return list(points(entry))


def _empty_axes(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[KeyPath]:
    if isinstance(value, dict | list):
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _empty_axes(item, (*path, key))
        if value == [] and not (path and path[-1] in CHAINS):
            yield path
