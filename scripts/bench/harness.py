"""Timing two or more ways of doing one thing, side by side in one run.

Machines are noisy, so what counts is a ratio of medians: the candidates take turns in every round, after
one round that is thrown away, so that drift in the machine's speed hits all of them alike.
"""

from collections.abc import Callable, Mapping
from statistics import median
from time import perf_counter


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
    seconds: dict[str, list[float]] = {name: [] for name in candidates}
    for turn in range(rounds + 1):
        for name, candidate in candidates.items():
            start = perf_counter()
            candidate()
            if turn:
                seconds[name].append(perf_counter() - start)
    return Timings(seconds)
