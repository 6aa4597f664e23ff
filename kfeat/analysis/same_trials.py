"""The same trials in two folders of experiments, such as results/ and runs/, trial by trial.

A trial is the same where its id is: the same data, split, map, solver and seeds. So its score should be the
same too, to the last digit where the machine and the libraries add in the same order.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isclose, isnan
from pathlib import Path

from scipy.stats import gmean

from kfeat.errors import StoreError
from kfeat.experiments.quantities import QUANTITIES, Quantity, score_of
from kfeat.experiments.row import Row, counts_as_timed
from kfeat.experiments.store import folders_with_rows, read_rows, worth

EQUAL = 1e-9  # relative: sums of thousands of terms, in another order, differ by less
Group = tuple[str, str]


@dataclass(frozen=True)
class SameTrials:
    """How the trials of one experiment and solver compare that are done on either side.

    equal: of those done on `both` sides. greatest: the largest change of the score, b - a; None where all are
    equal. time: the geometric mean of b's seconds over a's for map and training, of trials timed on both.
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
    """Return how the trials below two folders compare, by experiment and solver (or what is measured).

    A trial that several experiments share stands with the first of a's that has it; where a has it not, of
    b's. Raises StoreError where a folder has no rows.
    """
    ours, theirs = _done(a), _done(b)
    groups: dict[Group, list[str]] = {}
    for key, (place, row) in {**theirs, **ours}.items():
        groups.setdefault((place, _what(row)), []).append(key)
    rows = [{key: row for key, (_, row) in side.items()} for side in (ours, theirs)]
    return [_held(group, keys, *rows) for group, keys in sorted(groups.items())]


def _done(root: Path) -> dict[str, tuple[str, Row]]:
    """Return the rows below a folder that are done, and the experiment where each stands first."""
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
    """Return what made the score: the solver, else what is measured."""
    return str((row.get("solver") or row.get("measure") or {}).get("name", ""))


def _held(group: Group, keys: Sequence[str], a: Mapping[str, Row], b: Mapping[str, Row]) -> SameTrials:
    both = [(a[key], b[key]) for key in keys if key in a and key in b]
    changes = [b - a for a, b in _scores(both) if not isclose(a, b, rel_tol=EQUAL)]
    ratios = list(_time_ratios(both))
    some = a.get(keys[0]) or b[keys[0]]
    return SameTrials(
        *group,
        score=score_of(some),
        both=len(both),
        equal=len(both) - len(changes),
        greatest=max(changes, key=_size, default=None),
        time=float(gmean(ratios)) if ratios else None,
        only_a=sum(key not in b for key in keys),
        only_b=sum(key not in a for key in keys),
    )


def _scores(both: Sequence[tuple[Row, Row]]) -> Iterator[tuple[float, float]]:
    """Yield the scores of pairs of rows; not a number stands for one that is missing on one side."""
    for pair in both:
        values = [None if (one := score_of(row)) is None else one.read(row) for row in pair]
        if values != [None, None]:
            ours, theirs = (float("nan") if value is None else value for value in values)
            yield ours, theirs


def _size(change: float) -> float:
    """Return how far a change is; a score that only one side has is as far as can be."""
    return float("inf") if isnan(change) else abs(change)


def _time_ratios(both: Sequence[tuple[Row, Row]]) -> Iterator[float]:
    for pair in both:
        if all(counts_as_timed(row) for row in pair):
            ours, theirs = (QUANTITIES["fit"].read(row) for row in pair)
            if ours and theirs:
                yield theirs / ours
