"""Lists and mappings that know where each of their values stands, so that a message can say it."""

from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

Place: TypeAlias = str  # "configs/x.yaml, line 12" or "--set seed=1"


class LocatedDict(dict[str, Any]):
    """A mapping; `places` tells by key where each value was written."""

    def __init__(self, items: Any = (), places: dict[str, Place] | None = None) -> None:
        super().__init__(items)
        self.places: dict[Any, Place] = dict(places or {})

    def completed(self, others: "LocatedDict") -> "LocatedDict":
        """Return this mapping with the keys of `others` that it lacks."""
        return LocatedDict({**others, **self}, {**others.places, **self.places})


class LocatedList(list[Any]):
    """A list; `places` tells by position where each item was written."""

    def __init__(self, items: Iterable[Any] = (), places: dict[int, Place] | None = None) -> None:
        super().__init__(items)
        self.places: dict[Any, Place] = dict(places or {})

    def add(self, item: Any, place: Place) -> None:
        """Append an item that was written at `place`."""
        self.places[len(self)] = place
        self.append(item)


def place_of(tree: Any, path: Sequence[str | int]) -> Place | None:
    """Return where the value at `path` was written, or else the nearest value around it."""
    found = None
    for part in path:
        if not isinstance(tree, LocatedDict | LocatedList):
            break
        found = tree.places.get(part, found)
        inside = part in tree if isinstance(tree, dict) else isinstance(part, int) and part < len(tree)
        tree = tree[part] if inside else None  # type: ignore[index]
    return found


def own_copy(value: Any) -> Any:
    """Return the value with a copy of its own wherever it is used twice, as YAML's aliases are."""
    if isinstance(value, LocatedDict):
        return LocatedDict({key: own_copy(item) for key, item in value.items()}, value.places)
    return LocatedList(map(own_copy, value), value.places) if isinstance(value, LocatedList) else value
