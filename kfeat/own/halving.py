"""Successive halving as scores come in: which candidate is scored next, and on how many training rows.

A candidate goes up a rung, to three times as many rows, once it is among the best third of its kind (exact
methods or maps) on its rung. No rung waits for another to be full, so that there is a best answer at any
moment (Li et al., "A system for massively parallel hyperparameter tuning", MLSys 2020, Algorithm 2).
Optuna's own pruner decides at once and drops a candidate that has to wait; here it can come later.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import ceil, log

from kfeat.own.bench import MOST_FOLDS
from kfeat.own.candidates import Candidate

ETA = 3
SMALLEST = 900  # rows of the first rung
NEAR = 5e-3  # of the score: half a point, or 0.005 of R²
EXACT_GROWTH, MAP_GROWTH = 10.0, 3.5  # times that a candidate takes on three times the rows
TOO_LONG = "it took longer than"  # how the reason of a candidate whose time was up begins


@dataclass(frozen=True)
class Scored:
    """A candidate scored on `n` training rows: `value` is the best C or alpha, `score` its mean over folds.

    `seconds` is the time of one value of C or alpha, over all folds.
    The score is -inf of one that failed or took too long; `reason` says so.
    """

    candidate: Candidate
    n: int
    score: float
    sd: float
    value: float
    seconds: float
    reason: str = ""

    @property
    def took_too_long(self) -> bool:
        """Tell whether it has no score because its time was up."""
        return TOO_LONG in self.reason


Step = tuple[Candidate, int, Scored | None]  # what is scored next, on how many rows, and from where it comes


def near(one: Scored, best: Scored) -> bool:
    """Tell whether a candidate is within half a point of the best."""
    return not one.reason and one.score >= best.score - NEAR


def grown(one: Scored, n: int) -> float:
    """Return how many times as long a candidate takes on n rows as on those on which it was scored."""
    thrice = log(max(n / one.n, 1.0), ETA)
    return float((EXACT_GROWTH if one.candidate.exact else MAP_GROWTH) ** thrice)


def rungs(n_train: int, rarest: int | None = None) -> list[int]:
    """Return how many training rows each rung has: all, a third of them, a ninth ..., at least 900.

    With `rarest`, the number of rows of the rarest class, each rung but the last has a row of it per fold.
    """
    least = max(SMALLEST, ceil((MOST_FOLDS + 1) * n_train / (rarest or n_train)))
    found = [n_train]
    while found[0] / ETA >= least:
        found.insert(0, found[0] // ETA)
    return found


def next_up(
    scored: Sequence[Scored], sizes: Sequence[int], fits: Callable[[Scored, int, bool], bool]
) -> Step | None:
    """Return who goes up a rung next, from the highest rung that has one, to how many rows, and from where.

    Exact methods and maps go up among themselves: on few rows the exact one is the best, on many it has no
    time. `fits(one, n, best)` tells whether there is the time for a candidate on n rows: first for all that
    are quick, then for the best of each kind alone, of those that have the time.
    """
    for best in (False, True):
        for n, above in reversed(list(pairwise(sizes))):
            up = {one.candidate.key for one in scored if one.n == above}
            for exact in (True, False):
                able = [
                    one
                    for one in leaders(scored, n, exact)
                    if one.candidate.key in up or fits(one, above, best)
                ]
                for one in able[: 1 if best else None]:
                    if one.candidate.key not in up:
                        return one.candidate, above, one
    return None


def leaders(scored: Sequence[Scored], n: int, exact: bool) -> list[Scored]:
    """Return the best third of a kind on n rows, the best first."""
    kind = [one for one in scored if one.n == n and one.candidate.exact == exact]
    here = sorted(kind, key=lambda one: (-one.score, one.candidate.size))[: ceil(len(kind) / ETA)]
    return [one for one in here if not one.reason]


def winner(scored: Iterable[Scored]) -> Scored | None:
    """Return the best on the largest number of rows that any has reached, or on a third of it.

    More rows rarely harm: a better score on a third of them promises more than a worse one on all. Of equal
    ones that with the fewest features wins, an exact method before all maps: seconds would not repeat.
    """
    good = [one for one in scored if not one.reason]
    least = max((one.n for one in good), default=0) // ETA
    good = [one for one in good if one.n >= least]
    return max(good, key=lambda one: (one.score, -one.candidate.size), default=None)
