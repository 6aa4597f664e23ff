"""Timing two or more ways of doing one thing, side by side in one run.

Machines are noisy, so what counts is a ratio of medians: the candidates take turns in every round, so that
drift in the machine's speed hits all of them alike. The first round is thrown away, unless it took so long
that what is done once, such as loading a library, is nothing beside it.
"""

from collections.abc import Callable, Mapping
from statistics import median
from time import perf_counter

LONG = 5.0  # seconds of a round beside which what is done once is nothing


class Timings(dict[str, float]):
    """The median seconds of each candidate; `rounds` has the seconds of every round."""

    def __init__(self, rounds: Mapping[str, list[float]]) -> None:
        super().__init__({name: median(values) for name, values in rounds.items()})
        self.rounds = rounds

    def spread(self, other: str, ours: str, share: float = 1.0) -> str:
        """Return the range over the rounds of `share` times the other's seconds divided by ours."""
        pairs = zip(self.rounds[other], self.rounds[ours], strict=True)
        ratios = [share * theirs / own for theirs, own in pairs]
        return f"{min(ratios):.3g} to {max(ratios):.3g}"


def side_by_side(candidates: dict[str, Callable[[], object]], rounds: int = 3) -> Timings:
    """Return the median wall seconds of each candidate over `rounds` rounds taken in turn."""
    first = one_round(candidates)
    more = [one_round(candidates) for _ in range(rounds - 1)]
    kept = [first, *more] if sum(first.values()) >= LONG else [*more, one_round(candidates)]
    return Timings({name: [taken[name] for taken in kept] for name in candidates})


def one_round(candidates: Mapping[str, Callable[[], object]]) -> dict[str, float]:
    """Return the wall seconds of each candidate, taken in turn."""
    seconds = {}
    for name, candidate in candidates.items():
        start = perf_counter()
        candidate()
        seconds[name] = perf_counter() - start
    return seconds
