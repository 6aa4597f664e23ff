"""The rungs of a search: how many rows each has, and which candidate goes up next."""

from collections.abc import Callable, Sequence
from itertools import pairwise
from math import ceil

from kfeat.own.candidates import Candidate, Kind
from kfeat.own.folds import MOST_FOLDS
from kfeat.own.result import ETA, Scored

SMALLEST = 900  # rows of the first rung
KINDS: tuple[Kind, ...] = ("binning", "map", "exact")  # that go up: the linear model does so beside the best
Step = tuple[Candidate, int, Scored | None]  # the next candidate, its rows, and its last score


def rungs(n_train: int, rarest: int) -> list[int]:
    """Return how many training rows each rung has: all, a third of them, a ninth ..., at least 900.

    Each rung but the last has a row per fold of the rarest class, which has `rarest` training rows.
    """
    least = max(SMALLEST, ceil((MOST_FOLDS + 1) * n_train / rarest))
    sizes = [n_train]
    while sizes[0] / ETA >= least:
        sizes.insert(0, sizes[0] // ETA)
    return sizes


def next_up(
    scored: Sequence[Scored], sizes: Sequence[int], fits: Callable[[Scored, int, bool], bool], best: bool
) -> Step | None:
    """Return the candidate that goes up a rung next, from the highest rung that has one.

    Candidates compete only with their kind, since exact methods are the best on few rows and too slow on
    many, and random binning is not at its best on few. A map with enough rows stays where it is.
    `fits(method, n, best)` says whether there is time for a candidate on n rows. Either all fast candidates
    go up, or the `best` of each kind that there is time for.
    """
    for n, above in reversed(list(pairwise(sizes))):
        up = {
            method.candidate
            for method in scored
            if method.n == above or (method.n == n and method.has_enough_rows)
        }
        for kind in KINDS:
            good = leaders(scored, n, kind)
            able = [method for method in good if method.candidate in up or fits(method, above, best)]
            for method in able[: 1 if best else None]:
                if method.candidate not in up:
                    return method.candidate, above, method
    return None


def leaders(scored: Sequence[Scored], n: int, kind: Kind) -> list[Scored]:
    """Return the best third of a kind on n rows, the best first."""
    kin = [method for method in scored if method.n == n and method.candidate.kind == kind]
    best = sorted(kin, key=lambda method: (-method.score, method.candidate.D))[: ceil(len(kin) / ETA)]
    return [method for method in best if not method.reason]
