"""Timing two or more ways of doing one thing, side by side in one run.

Machines are noisy, so what counts is a ratio of medians: the candidates take turns in every round, after
one round that is thrown away, so that drift in the machine's speed hits all of them alike.
"""

from collections.abc import Callable
from statistics import median
from time import perf_counter


def side_by_side(candidates: dict[str, Callable[[], object]], rounds: int = 5) -> dict[str, float]:
    """Return the median wall seconds of each candidate over `rounds` rounds taken in turn."""
    seconds = each_round(candidates, rounds + 1)
    return {name: median(values[1:]) for name, values in seconds.items()}


def each_round(candidates: dict[str, Callable[[], object]], rounds: int) -> dict[str, list[float]]:
    """Return the wall seconds of each candidate in each of `rounds` rounds taken in turn."""
    seconds: dict[str, list[float]] = {name: [] for name in candidates}
    for _ in range(rounds):
        for name, candidate in candidates.items():
            start = perf_counter()
            candidate()
            seconds[name].append(perf_counter() - start)
    return seconds
