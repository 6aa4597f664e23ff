"""The same trials in two folders of experiments, such as results/ and runs/, trial by trial.

Two trials are the same if their ids are: the same data, split, map, solver and seeds. So their scores should
be the same too, to the last digit if the machines and libraries add in the same order.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isclose, isnan, nan
from pathlib import Path

from scipy.stats import gmean

from kfeat.errors import StoreError
from kfeat.experiments.quantities import QUANTITIES, Quantity, score_of
from kfeat.experiments.row import Row, counts_as_timed
from kfeat.experiments.store import folders_with_rows, read_rows, worth

EQUAL = 1e-9  # relative; in single precision, sums in another order can differ by more
TINY = 1e-15  # absolute; the size of rounding errors of a number that should be 0
Group = tuple[str, str]


@dataclass(frozen=True)
class SameTrials:
    """The comparison of the trials of one experiment and solver that are done on either side.

    equal: how many of the trials done on `both` sides have the same scores. `score` is the first score that
    changed. greatest: its largest change, b - a; None if all are equal. time: the geometric mean of b's
    seconds over a's for map and training (or the map alone without training), timed on both sides.
    """

    experiment: str
    solver: str
    score: Quantity | None
    both: int
    equal: int
    greatest: float | None
    time: float | None
    only_a: int
    only_b: int


def same_trials(a: Path, b: Path) -> list[SameTrials]:
    """Return the comparison of the trials below two folders, by experiment and solver (or measure).

    A trial that several experiments share belongs to the first one of a that has it, or else of b. Raises
    StoreError if a folder has no rows.
    """
    ours, theirs = _done(a), _done(b)
    groups: dict[Group, list[str]] = {}
    for key, (place, row) in {**theirs, **ours}.items():
        groups.setdefault((place, _what(row)), []).append(key)
    rows = [{key: row for key, (_, row) in side.items()} for side in (ours, theirs)]
    return [_held(group, keys, *rows) for group, keys in sorted(groups.items())]


def _done(root: Path) -> dict[str, tuple[str, Row]]:
    """Return the rows below a folder that are done, each with its first experiment."""
    folders = folders_with_rows(root)
    if not folders:
        raise StoreError(f"{root}: no rows below it; name a folder such as runs or results")
    found: dict[str, tuple[str, Row]] = {}
    for folder in folders:
        for key, row in read_rows(folder).items():
            place, best = found.get(key, (folder.relative_to(root).as_posix(), row))
            found[key] = (place, max(best, row, key=worth))
    return {key: (place, row) for key, (place, row) in found.items() if row["status"] == "done"}


def _what(row: Row) -> str:
    """Return the name of the solver, or else of the measure."""
    return str((row.get("solver") or row.get("measure") or {}).get("name", ""))


def _held(group: Group, keys: Sequence[str], a: Mapping[str, Row], b: Mapping[str, Row]) -> SameTrials:
    both = [(a[key], b[key]) for key in keys if key in a and key in b]
    changed = [found for pair in both if (found := list(_changes(pair)))]
    ratios = list(_time_ratios(both))
    score, greatest = _greatest([change for found in changed for change in found])
    some = a.get(keys[0]) or b[keys[0]]
    return SameTrials(
        *group,
        score=score or score_of(some),
        both=len(both),
        equal=len(both) - len(changed),
        greatest=greatest,
        time=float(gmean(ratios)) if ratios else None,
        only_a=sum(key not in b for key in keys),
        only_b=sum(key not in a for key in keys),
    )


def _changes(pair: tuple[Row, Row]) -> Iterator[tuple[Quantity, float]]:
    """Yield each of a trial's scores that changed and its change; NaN if one side lacks the score."""
    for quantity in QUANTITIES.values():
        if quantity.score:
            ours, theirs = (quantity.read(row) for row in pair)
            if ours is None or theirs is None:
                if ours is not theirs:
                    yield quantity, nan
            elif not isclose(ours, theirs, rel_tol=EQUAL, abs_tol=TINY):
                yield quantity, theirs - ours


def _greatest(changes: Sequence[tuple[Quantity, float]]) -> tuple[Quantity | None, float | None]:
    """Return the first score that changed anywhere, and its greatest change; None if none changed."""
    if not changes:
        return None, None
    score = next(one for one in QUANTITIES.values() if any(one is changed for changed, _ in changes))
    return score, max((change for changed, change in changes if changed is score), key=_size)


def _size(change: float) -> float:
    """Return the absolute value of a change; infinity for a score that only one side has."""
    return float("inf") if isnan(change) else abs(change)


def _time_ratios(both: Sequence[tuple[Row, Row]]) -> Iterator[float]:
    for pair in both:
        if all(counts_as_timed(row) for row in pair):
            ours, theirs = (QUANTITIES["fit"].read(row) or QUANTITIES["map"].read(row) for row in pair)
            if ours and theirs:
                yield theirs / ours
