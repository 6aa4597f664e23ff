"""Successive halving as rows come in: which candidate is scored next, and on how many training rows.

A candidate goes up a rung, to three times as many rows, once it is among the best third of those scored on
its rung. No rung waits for another to be full, so that there is a best answer at any moment (Li, Jamieson,
Rostamizadeh, Gonina, Ben-tzur, Hardt, Recht & Talwalkar, "A system for massively parallel hyperparameter
tuning", MLSys 2020, Algorithm 2).
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import ceil

from kfeat.tuning.candidates import Candidate

ETA = 3
FOLDS = 5
SMALLEST = 300  # rows of the first rung
MOST = 300  # candidates of one search
TOO_LONG = "it took longer than"  # how the reason of a candidate whose time was up begins


@dataclass(frozen=True)
class Scored:
    """A candidate scored on `n` training rows: `value` is the best C or alpha, `score` its mean over folds.

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

    @property
    def ended(self) -> str:
        """Return in a word how one without a score ended."""
        return "too long" if self.took_too_long else "failed"


def rungs(n_train: int, rarest: int | None = None) -> list[int]:
    """Return how many training rows each rung has: all, a third of them, a ninth ..., at least 300.

    With `rarest`, the number of rows of the rarest class, each rung but the last has a row of it per fold.
    """
    least = max(SMALLEST, ceil((FOLDS + 1) * n_train / (rarest or n_train)))
    found = [n_train]
    while found[0] / ETA >= least:
        found.insert(0, found[0] // ETA)
    return found


def first_rung(candidate: Candidate, sizes: Sequence[int]) -> int:
    """Return the rows on which a candidate begins: as many as it has landmarks at least, if any."""
    need = candidate.map.get("n_components", 0) if candidate.map["name"] == "nystrom" else 0
    return next((n for n in sizes if n >= need), sizes[-1])


def next_up(
    scored: Iterable[Scored], sizes: Sequence[int], fits: Callable[[Scored], bool] = lambda one: True
) -> tuple[Scored, int] | None:
    """Return who goes up a rung next, from the highest rung that has one, and to how many rows.

    The config's own candidate follows when another one has gone up, so that the two can be compared. Passed
    over is who does not fit into the time that is left.
    """
    by_size: dict[int, list[Scored]] = {n: [] for n in sizes}
    for one in scored:
        if one.n in by_size:  # not of an earlier version, whose rungs were others
            by_size[one.n].append(one)
    for n, above in reversed(list(pairwise(sizes))):
        up = {one.candidate.key for one in by_size[above]}
        here = sorted(by_size[n], key=lambda one: (-one.score, one.seconds))
        here = [one for one in here if not one.reason]
        best = here[: len(by_size[n]) // ETA]
        own = [one for one in here if one.candidate.own][:1] if up else []
        for one in (*own, *best):
            if one.candidate.key not in up and fits(one):
                return one, above
    return None


def winner(scored: Iterable[Scored]) -> Scored | None:
    """Return the best on the largest number of rows that any has reached; of equal ones the quickest."""
    good = [one for one in scored if not one.reason]
    top = max((one.n for one in good), default=0)
    return max((one for one in good if one.n == top), key=lambda one: (one.score, -one.seconds), default=None)


def baseline(scored: Iterable[Scored], n: int) -> Scored | None:
    """Return the best of the config's own candidates on n rows; None where none was scored there."""
    own = [one for one in scored if one.candidate.own and one.n == n and not one.reason]
    return max(own, key=lambda one: one.score, default=None)
