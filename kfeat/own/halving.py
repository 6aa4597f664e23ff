"""Successive halving as scores come in: which candidate is scored next, and on how many training rows.

A candidate goes up a rung, to three times as many rows, once it is among the best third of its kind (exact
methods or maps) on its rung. No rung waits until another is full, so there is a best candidate at any time
(Li et al., "A system for massively parallel hyperparameter tuning", MLSys 2020, Algorithm 2). Optuna's own
pruner drops a candidate that does not go up at once; here it can go up later.
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
EXACT_GROWTH, MAP_GROWTH = 10.0, 3.5  # factors of a candidate's time on three times the rows
TOO_LONG = "it took longer than"  # the beginning of the reason of a candidate that was ended


@dataclass(frozen=True)
class Scored:
    """A candidate scored on `n` training rows: `value` is the best C or alpha, `score` its mean over folds.

    `seconds` is the time of one value of C or alpha, over all folds.
    A candidate that failed or took too long has the score -inf and a `reason`.
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
        """Whether it has no score because it took too long."""
        return TOO_LONG in self.reason


Step = tuple[Candidate, int, Scored | None]  # the next candidate, its rows, and its last score


def near(one: Scored, best: Scored) -> bool:
    """Return whether a candidate is within half a point of the best."""
    return not one.reason and one.score >= best.score - NEAR


def grown(one: Scored, n: int) -> float:
    """Return the ratio of a candidate's time on n rows to its time on the rows where it was scored."""
    thrice = log(max(n / one.n, 1.0), ETA)
    return float((EXACT_GROWTH if one.candidate.exact else MAP_GROWTH) ** thrice)


def rungs(n_train: int, rarest: int) -> list[int]:
    """Return how many training rows each rung has: all, a third of them, a ninth ..., at least 900.

    Each rung but the last has a row per fold of the rarest class, which has `rarest` training rows.
    """
    least = max(SMALLEST, ceil((MOST_FOLDS + 1) * n_train / rarest))
    found = [n_train]
    while found[0] / ETA >= least:
        found.insert(0, found[0] // ETA)
    return found


def next_up(
    scored: Sequence[Scored], sizes: Sequence[int], fits: Callable[[Scored, int, bool], bool]
) -> Step | None:
    """Return the candidate that goes up a rung next, from the highest rung that has one.

    Exact methods and maps compete only among themselves, since exact methods are the best on few rows and too
    slow on many. `fits(one, n, best)` says whether there is time for a candidate on n rows. First all fast
    candidates go up, then only the best of each kind that there is time for.
    """
    for best in (False, True):
        for n, above in reversed(list(pairwise(sizes))):
            up = {one.candidate for one in scored if one.n == above}
            for exact in (True, False):
                good = leaders(scored, n, exact)
                able = [one for one in good if one.candidate in up or fits(one, above, best)]
                for one in able[: 1 if best else None]:
                    if one.candidate not in up:
                        return one.candidate, above, one
    return None


def leaders(scored: Sequence[Scored], n: int, exact: bool) -> list[Scored]:
    """Return the best third of a kind on n rows, the best first."""
    kind = [one for one in scored if one.n == n and one.candidate.exact == exact]
    here = sorted(kind, key=lambda one: (-one.score, one.candidate.size))[: ceil(len(kind) / ETA)]
    return [one for one in here if not one.reason]


def winner(scored: Iterable[Scored]) -> Scored | None:
    """Return the best candidate on the largest number of rows reached, or on a third of it.

    More rows rarely harm, so a better score on a third of them counts more than a worse one on all. Of equal
    scores the one with the fewest features wins, and an exact method before all maps; times would not be
    reproducible.
    """
    good = [one for one in scored if not one.reason]
    least = max((one.n for one in good), default=0) // ETA
    good = [one for one in good if one.n >= least]
    return max(good, key=lambda one: (one.score, -one.candidate.size), default=None)
