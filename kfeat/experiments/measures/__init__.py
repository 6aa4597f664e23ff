"""Measures of a map itself, which a config may use instead of a solver; a new one is a module here."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from importlib import import_module
from pkgutil import iter_modules
from typing import Any, ClassVar, TypeVar, dataclass_transform

import sklearn.base  # noqa: F401 (its import would load a scipy.special that was postponed before)

from kfeat.experiments.quantities import Quantity, declare

Clock = Callable[[str], AbstractContextManager[None]]  # times the phase of this name


class Measure(ABC):
    """A measure of a map: `of` returns the numbers of a row, `quantities` declares them.

    `keys` are the keys that it adds to a row; a row with other scores is refused.
    """

    algorithm_version: ClassVar[int] = 1
    quantities: ClassVar[tuple[Quantity, ...]]
    keys: ClassVar[frozenset[str]]

    @abstractmethod
    def of(self, feature_map: Any, X: Any, clock: Clock, seed: int) -> dict[str, Any]:
        """Return the numbers that measure an unfitted map on X (n, d), by the keys of a row.

        The timed work runs inside `clock(phase)`; `seed` is that of the split.
        """


MEASURES: dict[str, type[Measure]] = {}
SOLVED = frozenset({"accuracy", "relative_error"})  # the keys of a solver's score in a row
SCORES = set(SOLVED)  # and those of measures
M = TypeVar("M", bound=type[Measure])


@dataclass_transform(eq_default=False)
def register(name: str) -> Callable[[M], M]:
    """Return a class decorator that registers a measure and its quantities; its fields are its parameters."""

    def enter(cls: M) -> M:
        MEASURES[name] = dataclass(eq=False, repr=False)(cls)
        SCORES.update(cls.keys)
        declare(*cls.quantities)
        return cls

    return enter


for _module in iter_modules(__path__):
    import_module(f"{__name__}.{_module.name}")

__all__ = ["MEASURES", "SCORES", "SOLVED", "Measure", "register"]
