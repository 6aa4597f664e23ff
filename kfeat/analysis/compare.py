"""Comparison of two runs cell by cell, or of two folders of many runs trial by trial.

Cells: a cell of one run is matched with the cell of the other that has the same identity, whatever the
repeats. Otherwise it is matched with the cell of the same dataset, kernel, map, solver and number of
features, if this is unambiguous, or else without regard to the number of features. So runs with another C or
another protocol can be compared. If both have rows with the same seeds, the difference is that of these
pairs, by Student's t; else that of the two means, by Welch's. Times are compared as ratios, over timed rows.
All intervals of scores together have the confidence LEVEL: each is at 1 - (1 - LEVEL) / number of cells
(Bonferroni).

Trials: two trials are the same if their ids are: the same data, split, map, solver and seeds. So their scores
should be the same too, to the last digit if the machines and libraries add in the same order.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import log
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from kfeat.analysis.certainty import time_error
from kfeat.analysis.statistics import KNOWN, LEVEL, Interval, Summary, ratio_interval, welch_half_width
from kfeat.errors import StoreError
from kfeat.experiments.plan import drawn
from kfeat.experiments.quantities import QUANTITIES, Quantity, score_of
from kfeat.experiments.row import Row, counts_as_timed
from kfeat.experiments.selectors import flat
from kfeat.experiments.store import folders_with_rows, read_rows, worth

TIMES = ("fit", "test")
EQUAL = 1e-9  # relative; in single precision, sums in another order can differ by more
TINY = 1e-15  # absolute; the size of rounding errors of a number that should be 0
Cells = dict[str, list[Row]]
Pair = tuple[list[Row], list[Row]]
Key = Callable[[Row], str]


@dataclass(frozen=True)
class Difference:
    """A quantity of one cell in both runs: `change` is b - a, or for times b / a, with its interval.

    `differs` is None if it cannot be decided, as for single runs with different seeds.
    """

    name: str
    quantity: Quantity
    a: Summary
    b: Summary
    change: float | None
    interval: Interval | None
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
    ours, theirs = _cells(a), _cells(b)
    pairs = _matched(ours, theirs)
    named = _names([pair[0] for pair in pairs] + [*ours.values(), *theirs.values()])
    level = 1 - (1 - LEVEL) / max(1, len(pairs))
    found = [one for pair, name in zip(pairs, named, strict=False) for one in _differences(name, pair, level)]
    first, last = len(pairs), len(pairs) + len(ours)
    return TwoRuns(found, named[first:last], named[last:])


def _cells(rows: Iterable[Row]) -> Cells:
    found: Cells = {}
    for row in rows:
        if row["status"] == "done":
            found.setdefault(row["cell"], []).append(row)
    return found


def _matched(a: Cells, b: Cells) -> list[Pair]:
    """Return the cells that match, and remove them from both runs."""
    pairs = []
    for key in (lambda row: row["cell"], _kind, _looser_kind):
        ours, theirs = _alone(a, key), _alone(b, key)
        pairs += [(a.pop(cell), b.pop(theirs[kind])) for kind, cell in ours.items() if kind in theirs]
    return pairs


def _alone(cells: Cells, key: Key) -> dict[str, str]:
    """Return the cells that are the only ones of their kind, by their kinds."""
    kinds = {cell: key(rows[0]) for cell, rows in cells.items()}
    counts = Counter(kinds.values())
    return {kind: cell for cell, kind in kinds.items() if counts[kind] == 1}


def _kind(row: Row) -> str:
    """Return a key that is the same for cells that differ only in other parameters."""
    return f"{_looser_kind(row)} {(row.get('map') or {}).get('n_components')}"


def _looser_kind(row: Row) -> str:
    parts = (row.get(part) or {} for part in ("kernel", "map", "solver", "measure"))
    return json.dumps([row["dataset"], *(one.get("name") for one in parts)])


def _names(cells: Sequence[Sequence[Row]]) -> list[str]:
    """Return a name for each cell: dataset, map, solver, and the parameters in which such cells differ."""
    rows = [flat(rows[0]) for rows in cells]
    parts = ("dataset", "map", "solver", "measure")
    main = [[str(row[key]) for key in parts if row.get(key)] for row in rows]
    names = []
    for row, name in zip(rows, main, strict=True):
        others = [other for other, its in zip(rows, main, strict=True) if its == name]
        keys = [key for key in row if any(str(row[key]) != str(other.get(key)) for other in others)]
        keys = [key for key in keys if not any(other.startswith(f"{key}.") for other in keys)]
        names.append(", ".join([*name, *(f"{key.rpartition('.')[2]}={row[key]}" for key in keys)]))
    return names


def _by_seeds(rows: Sequence[Row], quantity: Quantity) -> dict[str, float]:
    """Return the values by the seeds of split, map and solver, and the repeat."""
    counted = [row for row in rows if not quantity.timed or counts_as_timed(row)]
    found = {json.dumps([row["seeds"], row["repeat"]], sort_keys=True): quantity.read(row) for row in counted}
    return {key: value for key, value in found.items() if value is not None}


def _differences(name: str, pair: Pair, level: float) -> Iterator[Difference]:
    """Yield the differences of the score and the times that both runs have of a cell."""
    for quantity in (score_of(pair[0][0]), *(QUANTITIES[time] for time in TIMES)):
        if quantity is not None and all(values := [_by_seeds(rows, quantity) for rows in pair]):
            yield _difference(name, quantity, pair, values, level)


def _difference(
    name: str, quantity: Quantity, pair: Pair, values: Sequence[Mapping[str, float]], level: float
) -> Difference:
    """Return the difference of a quantity, whose values in the two runs are given by their seeds."""
    ours, theirs = (Summary.of(list(each.values())) for each in values)
    change: float | None
    if quantity.timed:
        positive = ours.mean > 0 and theirs.mean > 0
        change, unchanged = theirs.mean / ours.mean if positive else None, 1.0
        interval = ratio_interval(theirs.mean, time_error(theirs), ours.mean, time_error(ours), level)
    else:
        a, b = values
        paired = a.keys() == b.keys()
        samples = [Summary.of([b[key] - a[key] for key in a])] if paired else [theirs, ours]
        change, unchanged, interval = samples[0].mean - sum(one.mean for one in samples[1:]), 0.0, None
        errors = [one.error for one in samples if one.error is not None]
        if len(errors) == len(samples):
            half = welch_half_width(errors[0], errors[1] if len(errors) > 1 else KNOWN, level)
            interval = change - half, change + half
    differs = None if interval is None else not interval[0] <= unchanged <= interval[1]
    same = {row["id"] for row in pair[0]} == {row["id"] for row in pair[1]}
    if differs is None and not quantity.timed and (same or not any(drawn(rows[0]) for rows in pair)):
        differs = change != 0
    return Difference(name, quantity, ours, theirs, change, interval, differs)


def same_trials(a: Path, b: Path) -> pd.DataFrame:
    """Return how the trials below two folders compare, a line per experiment and solver (or measure).

    both: the number of trials done on both sides; equal: how many of these have the same scores. score and
    change: the first score that changed, and its largest change b - a, NaN if one side lacks the score; None
    if all are equal. time: the geometric mean of b's seconds over a's for map and training (or the map alone
    without training), timed on both sides; NaN if there are none.

    A trial that several experiments share belongs to the first one of a that has it, or else of b. Raises
    StoreError if a folder has no rows.
    """
    ours, theirs = _done(a), _done(b)
    shared = ours.index.intersection(theirs.index)
    scores = [one.name for one in QUANTITIES.values() if one.score]
    old, new = ours.loc[shared, scores], theirs.loc[shared, scores]
    changes = (new - old).mask(np.isclose(new, old, rtol=EQUAL, atol=TINY, equal_nan=True), 0.0)
    ratios = (theirs["seconds"] / ours["seconds"]).map(log)
    lines = []
    for (experiment, solver), members in ours.combine_first(theirs).groupby(["experiment", "solver"]):
        own = changes.loc[members.index.intersection(shared)]
        line = {"experiment": experiment, "solver": solver, "both": len(own), "equal": 0}
        line |= {"equal": int((own == 0).all(axis=1).sum()), "score": None, "change": None}
        for name in [name for name in scores if (own[name] != 0).any()][:1]:
            line |= {"score": name, "change": own[name].iloc[own[name].abs().fillna(np.inf).argmax()]}
        line["time"] = np.exp(ratios.reindex(members.index).mean())
        only = {"only_a": members.index.isin(theirs.index), "only_b": members.index.isin(ours.index)}
        lines.append(line | {key: int((~there).sum()) for key, there in only.items()})
    return pd.DataFrame(lines)


def _done(root: Path) -> pd.DataFrame:
    """Return the trials below a folder that are done: their first experiment, solver, seconds and scores."""
    folders = folders_with_rows(root)
    if not folders:
        raise StoreError(f"{root}: no rows below it; name a folder such as runs or results")
    found: dict[str, tuple[str, Row]] = {}
    for folder in folders:
        for key, row in read_rows(folder).items():
            place, best = found.get(key, (folder.relative_to(root).as_posix(), row))
            found[key] = (place, max(best, row, key=worth))
    done = {key: (place, row) for key, (place, row) in found.items() if row["status"] == "done"}
    records: dict[str, dict[str, Any]] = {}
    for key, (place, row) in done.items():
        seconds = QUANTITIES["fit"].read(row) or QUANTITIES["map"].read(row) if counts_as_timed(row) else None
        named = (row.get("solver") or row.get("measure") or {}).get("name", "")
        records[key] = {"experiment": place, "solver": named, "seconds": seconds or None}
        records[key] |= {one.name: one.read(row) for one in QUANTITIES.values() if one.score}
    numbers = ["seconds", *(one.name for one in QUANTITIES.values() if one.score)]
    frame = pd.DataFrame.from_dict(records, orient="index", columns=["experiment", "solver", *numbers])
    return frame.astype(dict.fromkeys(numbers, float))
