"""Comparison of two runs, cell by cell: scores and times, with the intervals of their differences.

A cell of one run is matched with the cell of the other that has the same identity, whatever the repeats.
Otherwise it is matched with the cell of the same dataset, kernel, map, solver and number of features, if this
is unambiguous, or else without regard to the number of features. So runs with another C or another protocol
can be compared.

If both have rows with the same seeds, the difference is that of these pairs, by Student's t; else that of the
two means, by Welch's. Times are compared as ratios, over timed rows. All intervals of scores together have
the confidence LEVEL: each is at 1 - (1 - LEVEL) / number of cells (Bonferroni).
"""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Any

from kfeat.analysis.certainty import FEW, LONG_TIME, SHORT_TIME
from kfeat.analysis.statistics import LEVEL, Error, Interval, Summary, ratio_interval, welch_half_width
from kfeat.experiments.plan import drawn
from kfeat.experiments.quantities import QUANTITIES, Quantity, score_of
from kfeat.experiments.row import Row, counts_as_timed
from kfeat.experiments.selectors import flat

TIMES = ("fit", "test")
Pair = tuple[Sequence[Row], Sequence[Row]]


@dataclass(frozen=True)
class Difference:
    """A quantity of one cell in both runs: `change` is b - a, or for times b / a, with its interval.

    `how` names the test. `differs` is None if it cannot be decided, as for single runs with different seeds.
    """

    name: str
    quantity: Quantity
    a: Summary
    b: Summary
    change: float | None
    interval: Interval | None
    how: str
    differs: bool | None


@dataclass(frozen=True)
class TwoRuns:
    """The differences of all cells that both runs have, and the names of cells that only one has."""

    differences: Sequence[Difference]
    only_a: Sequence[str]
    only_b: Sequence[str]

    @property
    def differ(self) -> bool:
        """Whether a score differs, or a cell is missing on one side; times do not count."""
        scores = (one.differs for one in self.differences if not one.quantity.timed)
        return bool(self.only_a or self.only_b) or any(scores)


def two_runs(a: Iterable[Row], b: Iterable[Row]) -> TwoRuns:
    """Return the comparison of the done rows of two runs."""
    cells = [_cells(rows) for rows in (a, b)]
    pairs, only_a, only_b = _matched(*cells)
    named = _names([pair[0] for pair in pairs] + only_a + only_b)
    level = 1 - (1 - LEVEL) / max(1, len(pairs))
    found = []
    for (ours, theirs), name in zip(pairs, named, strict=False):
        quantities = [score_of(ours[0]), *(QUANTITIES[time] for time in TIMES)]
        compared = (_difference(name, one, ours, theirs, level) for one in quantities if one is not None)
        found += [one for one in compared if one is not None]
    rest = named[len(pairs) :]
    return TwoRuns(found, rest[: len(only_a)], rest[len(only_a) :])


def _cells(rows: Iterable[Row]) -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = {}
    for row in rows:
        if row["status"] == "done":
            found.setdefault(row["cell"], []).append(row)
    return found


def _matched(
    a: dict[str, list[Row]], b: dict[str, list[Row]]
) -> tuple[list[Pair], list[Sequence[Row]], list[Sequence[Row]]]:
    """Return the matched cells, and the unmatched cells of each run."""
    pairs: list[Pair] = [(a.pop(cell), b.pop(cell)) for cell in [cell for cell in a if cell in b]]
    for kind in (_kind, _looser_kind):
        shared = [one for one in _alone(a, kind) if one in _alone(b, kind)]
        pairs += [(_taken(a, kind, one), _taken(b, kind, one)) for one in shared]
    return pairs, list(a.values()), list(b.values())


def _alone(side: Mapping[str, Sequence[Row]], kind: Callable[[Row], str]) -> list[str]:
    """Return the kinds of which a run has only one cell."""
    counts = Counter(kind(rows[0]) for rows in side.values())
    return [one for one, count in counts.items() if count == 1]


def _taken(side: dict[str, list[Row]], kind: Callable[[Row], str], shared: str) -> list[Row]:
    return side.pop(next(cell for cell, rows in side.items() if kind(rows[0]) == shared))


def _kind(row: Row) -> str:
    """Return a key that is the same for cells that differ only in other parameters."""
    return f"{_looser_kind(row)} {(row.get('map') or {}).get('n_components')}"


def _looser_kind(row: Row) -> str:
    parts = (row.get(part) or {} for part in ("kernel", "map", "solver", "measure"))
    return json.dumps([row["dataset"], *(one.get("name") for one in parts)])


def _names(cells: Sequence[Sequence[Row]]) -> list[str]:
    """Return a name for each cell: dataset, map, solver, and the parameters in which such cells differ."""
    rows = [flat(rows[0]) for rows in cells]
    groups: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    for row in rows:
        groups.setdefault(_main(row), []).append(row)
    return [", ".join([*_main(row), *_differing(row, groups[_main(row)])]) for row in rows]


def _main(row: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(str(row[key]) for key in ("dataset", "map", "solver", "measure") if row.get(key))


def _differing(row: Mapping[str, Any], others: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the parameters of a row that are not the same in all others."""
    keys = [key for key in row if any(str(row[key]) != str(other.get(key)) for other in others)]
    keys = [key for key in keys if not any(other.startswith(f"{key}.") for other in keys)]
    return [f"{key.rpartition('.')[2]}={row[key]}" for key in keys]


def _difference(
    name: str, quantity: Quantity, a: Sequence[Row], b: Sequence[Row], level: float
) -> Difference | None:
    """Return the difference of a quantity; None if one of the two runs does not have it."""
    ours, theirs = (_by_seeds(rows, quantity) for rows in (a, b))
    if not ours or not theirs:
        return None
    summaries = Summary.of(list(ours.values())), Summary.of(list(theirs.values()))
    compare: Callable[..., tuple[float | None, Interval | None, str, bool | None]]
    compare = _ratio if quantity.timed else _paired if ours.keys() == theirs.keys() else _unpaired
    change, interval, how, differs = compare(ours, theirs, *summaries, level)
    if differs is None and not quantity.timed and (_same_trials(a, b) or not (drawn(a[0]) or drawn(b[0]))):
        differs = change != 0
    return Difference(name, quantity, *summaries, change, interval, how, differs)


def _by_seeds(rows: Sequence[Row], quantity: Quantity) -> dict[str, float]:
    """Return the values by the seeds of split, map and solver, and the repeat."""
    counted = [row for row in rows if not quantity.timed or counts_as_timed(row)]
    found = {json.dumps([row["seeds"], row["repeat"]], sort_keys=True): quantity.read(row) for row in counted}
    return {key: value for key, value in found.items() if value is not None}


def _same_trials(a: Sequence[Row], b: Sequence[Row]) -> bool:
    return {row["id"] for row in a} == {row["id"] for row in b}


def _paired(
    a: Mapping[str, float], b: Mapping[str, float], ours: Summary, theirs: Summary, level: float
) -> tuple[float, Interval | None, str, bool | None]:
    change = Summary.of([b[key] - a[key] for key in a])
    how = f"{change.n} pairs"
    if change.error is None:
        return change.mean, None, how, None
    half = welch_half_width(change.error, level=level)
    return (*_around(change.mean, half), how, abs(change.mean) > half)


def _unpaired(
    a: Any, b: Any, ours: Summary, theirs: Summary, level: float
) -> tuple[float, Interval | None, str, bool | None]:
    change, how = theirs.mean - ours.mean, f"Welch, {ours.n} and {theirs.n} runs"
    if ours.error is None or theirs.error is None:
        return change, None, how, None
    half = welch_half_width(ours.error, theirs.error, level)
    return (*_around(change, half), how, abs(change) > half)


def _around(change: float, half: float) -> tuple[float, Interval]:
    return change, (change - half, change + half)


def _ratio(
    a: Any, b: Any, ours: Summary, theirs: Summary, level: float
) -> tuple[float | None, Interval | None, str, bool | None]:
    how = f"ratio, {ours.n} and {theirs.n} timed runs"
    if ours.mean <= 0 or theirs.mean <= 0:
        return None, None, how, None
    found = ratio_interval(theirs.mean, _time_error(theirs), ours.mean, _time_error(ours), level)
    differs = None if found is None else not found[0] <= 1 <= found[1]
    return theirs.mean / ours.mean, found, how, differs


def _time_error(seconds: Summary) -> Error:
    """Return the standard error of a mean of seconds; for few runs as in `kfeat.analysis.certainty`."""
    if seconds.n >= FEW and seconds.error is not None:
        return seconds.error
    taken = LONG_TIME if seconds.mean >= 1 else SHORT_TIME
    return max(taken * seconds.mean, seconds.sd or 0.0) / sqrt(seconds.n), float("inf")
