"""Cells: all repeats of one method on one setting, summarised, with their errors and the paper's numbers."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from operator import attrgetter, itemgetter
from statistics import fmean, mean
from typing import Any, Literal, TypeVar

from kfeat.analysis.statistics import KNOWN, Error, Summary, error_with_ties, time_error
from kfeat.experiments.clock import TEST_PHASES
from kfeat.experiments.config import Experiment
from kfeat.experiments.paper import ReportedNumber, reported_numbers
from kfeat.experiments.plan import Trial
from kfeat.experiments.quantities import QUANTITIES, SCORE, Quantity, score_of
from kfeat.experiments.row import Row, counts_as_timed
from kfeat.experiments.selectors import quantity_named

Item = TypeVar("Item")
PHASES = ("map", "train", "test")  # the seconds that every table of cells has


@dataclass(frozen=True)
class Shown:
    """A number as a table shows it.

    `busy`: it comes from times of a busy machine. `sign`: it is a bound. `runs`: the number of timed runs of
    a mean time, if it is 1 or smaller than the cell's number of runs; a ratio has the smaller of two.
    `unconverged`: it depends on a solver that did not converge. `in_ratios`: what ratios take in the place of
    the value, such as the geometric mean of times.
    """

    value: float | None
    busy: bool = False
    sign: Literal["", "> ", "< "] = ""
    runs: int | None = None
    unconverged: bool = False
    in_ratios: float | None = None

    def over(self, other: "Shown") -> "Shown":
        """Return the ratio of two numbers; it has no value if a time is too short, or both are bounds."""
        top, bottom = (
            number.value if number.in_ratios is None else number.in_ratios for number in (self, other)
        )
        if top is None or not bottom or (self.sign and other.sign):
            return Shown(None)
        sign: Literal["", "> ", "< "] = "< " if other.sign else self.sign
        busy = self.busy or other.busy
        runs = [number.runs for number in (self, other) if number.runs is not None and not busy]
        unconverged = self.unconverged or other.unconverged
        return Shown(top / bottom, busy, sign, min(runs, default=None), unconverged)


@dataclass(frozen=True, eq=False)
class Cell:
    """All repeats of one method on one setting; as a key of a mapping it equals itself alone."""

    trials: Sequence[Trial]
    rows: Sequence[Row]
    failed: Sequence[Row]
    stopped: Sequence[Row]
    printed: Mapping[str, ReportedNumber] = field(default_factory=dict)

    @classmethod
    def of_trials(
        cls,
        trials: Sequence[Trial],
        rows: Mapping[str, Row],
        printed: Mapping[str, ReportedNumber] | None = None,
    ) -> "Cell":
        """Return the cell of these trials with their rows."""
        own = [rows[trial.id] for trial in trials if trial.id in rows]
        done, failed, stopped = (
            [row for row in own if row["status"] == status] for status in ("done", "failed", "stopped")
        )
        return cls(trials, done, failed, stopped, printed or {})

    @property
    def all_rows(self) -> list[Row]:
        """Return all rows: done, failed and stopped."""
        return [*self.rows, *self.failed, *self.stopped]

    @property
    def trial(self) -> Trial:
        """Return one of the trials, for what they have in common."""
        return self.trials[0]

    @cached_property
    def setting(self) -> tuple[str, str, str]:
        """Return what methods share that are compared: texts for the dataset, the protocol and the kernel."""
        trial = self.trial
        return (trial.data_key, trial.protocol.model_dump_json(), trial.kernel.key)

    @property
    def D(self) -> int | None:  # noqa: N802
        """Return the number of components of its map; None for an exact kernel SVM."""
        return self.trial.map.parameters.get("n_components") if self.trial.map else None

    @property
    def drawn(self) -> bool:
        """Return whether its repeats are random: by a map or by a random split."""
        return not self.trial.exact or self.trial.protocol.random

    @cached_property
    def timed(self) -> list[Row]:
        """Return the timed rows with the number of threads and the memory mode that most of them have."""
        alike = grouped(filter(counts_as_timed, self.rows), lambda row: (row["threads"], row.get("memory")))
        return max(alike.values(), key=len, default=[])

    @property
    def timed_runs(self) -> int:
        """Return the number of its rows whose seconds count."""
        return len(self.timed)

    @property
    def unconverged(self) -> list[Row]:
        """Return the rows whose solver did not converge."""
        return [row for row in self.rows if (row.get("solve") or {}).get("converged") is False]

    @property
    def reported(self) -> ReportedNumber | None:
        """Return the paper's number for the score."""
        return self.printed.get(SCORE) or self.printed.get(self.named(SCORE).name)

    def named(self, name: str) -> Quantity:
        """Return the quantity of this name; `score` is that of the rows, or else that of the solver."""
        return self._scored if name == SCORE else quantity_named(name)

    @cached_property
    def _scored(self) -> Quantity:
        scores = [score for row in self.rows if (score := score_of(row)) is not None]
        if scores:
            return scores[0]
        solver = self.trial.solver
        known = solver if solver is not None and solver.ready and not self.rows else None
        regression = known is not None and known.build().task == "regression"
        return QUANTITIES["relative_error" if regression else "accuracy"]

    def of(self, name: str, busy: bool = False, logs: bool = False) -> Summary | None:
        """Return a quantity over the runs that have it and count; None if there are none.

        Seconds count only on an idle machine, and only if no run was stopped: otherwise the mean would be
        that of the fastest runs. With `busy`, all runs that have ended count, and rows of a busy machine are
        used if there are no others. With `logs`, as in ratios and claims, seconds have their geometric mean.
        """
        return self._over(name, busy, of_ended=busy, logs=logs)

    def _over(self, name: str, busy: bool, of_ended: bool, logs: bool) -> Summary | None:
        key = name, busy, of_ended, logs
        if key not in self._known:
            self._known[key] = self._of(self.named(name), busy, of_ended, logs)
        return self._known[key]

    @cached_property
    def _known(self) -> dict[tuple[str, bool, bool, bool], Summary | None]:
        return {}

    def _of(self, quantity: Quantity, busy: bool, of_ended: bool, logs: bool) -> Summary | None:
        if quantity.derive:
            value = quantity.derive(lambda other: self._over(other, busy, of_ended, logs=True))
            return None if value is None else Summary(value, None, len(self.rows))
        rows = self.rows
        if quantity.timed:
            if self.stopped and not of_ended:
                return None
            rows = self.timed or (rows if busy else [])
        values = [value for row in rows if (value := quantity.read(row)) is not None]
        if not values:
            return None
        if quantity.timed and logs:
            return Summary.of_logs(values)
        if quantity.timed or quantity.measured or self.drawn:
            return Summary.of(values)
        return Summary.of([mean(values)])  # repeats that are not random are one observation

    @cached_property
    def score(self) -> Summary | None:
        """Return the score over the repeats, in the unit that is printed."""
        return self.of(SCORE)

    def mean(self, name: str, busy: bool = False) -> float | None:
        """Return the mean of a quantity over the runs that `of` counts; of seconds, the geometric mean."""
        summary = self.of(name, busy, logs=True)
        return summary.mean if summary else None

    def at_least(self, name: str) -> Summary | None:
        """Return `of` as claims take it; of seconds that were stopped, their lower bound as of one run."""
        if summary := self.of(name, logs=True):
            return summary
        bound = self.shown(name)
        counts = bound.sign and not bound.busy
        return Summary.of([bound.in_ratios or bound.value or 0.0]) if counts else None

    def is_busy(self, name: str) -> bool:
        """Return whether the quantity is known only from times of a busy machine."""
        timed = self._over(name, busy=False, of_ended=True, logs=False)
        return timed is None and self.of(name, busy=True) is not None

    @property
    def bound(self) -> "Shown | None":
        """Return a lower bound of the seconds of mapping and training, if trials were stopped there.

        If no trial has ended, it is the smallest time limit. Otherwise it is the mean in which each stopped
        trial counts with its limit.
        """
        stopped = [row for row in self.stopped if row.get("phase") not in TEST_PHASES]
        if not stopped:
            return None
        timed = [row for row in stopped if counts_as_timed(row)]
        limits = [row["limit_s"] for row in timed or stopped]
        what = "fit" if self.trial.solver else "map"
        ended = self.of(what, busy=True)
        busy = not timed or self.is_busy(what)
        if ended is None:
            return Shown(min(limits), busy, "> ")
        whole = (sum(limits) + ended.n * ended.mean) / (len(limits) + ended.n)
        in_ratios = Summary.of_logs([*limits, *[self.mean(what, busy=True) or 0.0] * ended.n]).mean
        return Shown(whole, busy, "> ", in_ratios=in_ratios)

    def shown(self, name: str) -> "Shown":
        """Return a quantity as tables show it.

        For a stopped trial with a map, only the sum of mapping and training has a bound.
        """
        whole = name == "fit" or (name == "train" and self.trial.map is None)
        if whole and self.bound:
            return self.bound
        summary = self.of(name, busy=True)
        if summary is None:
            return Shown(None)
        quantity, busy = self.named(name), self.is_busy(name)
        few = quantity.timed and (summary.n == 1 or summary.n < len(self.rows) + len(self.stopped))
        return Shown(
            summary.mean,
            busy,
            runs=summary.n if few and not busy else None,
            unconverged=quantity.solved and bool(self.unconverged),
            in_ratios=self.mean(name, busy=True),
        )


def grouped(items: Iterable[Item], key: Callable[[Item], Any]) -> dict[Any, list[Item]]:
    """Return the items by their key, in their order."""
    groups: dict[Any, list[Item]] = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    return groups


def summarise(experiment: Experiment, trials: Iterable[Trial], rows: Mapping[str, Row]) -> list[Cell]:
    """Return the planned cells; in each setting the exact kernel SVM comes first, as in the papers."""
    cells = [
        Cell.of_trials(repeats, rows, reported_numbers(experiment.reported, repeats[0]))
        for repeats in grouped(trials, attrgetter("cell")).values()
    ]
    return [
        cell
        for peers in by_setting(cells)
        for cell in sorted(peers, key=lambda cell: (not cell.trial.exact, cell.trial.baseline))
    ]


def by_setting(cells: Iterable[Cell]) -> list[list[Cell]]:
    """Return the cells grouped by setting."""
    return list(grouped(cells, attrgetter("setting")).values())


def exact_of(cell: Cell, cells: Iterable[Cell]) -> Cell | None:
    """Return the exact kernel SVM of the same setting, or the best one by score; None if none is planned."""
    same = [other for other in cells if other.trial.exact and other.setting == cell.setting]
    return best_of(same) or next(iter(same), None)


def best_of(cells: Iterable[Cell]) -> Cell | None:
    """Return the cell with the best score; None if no cell has a score with a better direction."""
    merits = {}
    for cell in cells:
        if cell.score and (better := cell.named(SCORE).better):
            merits[cell] = cell.score.mean if better == "higher" else -cell.score.mean
    return max(merits, key=merits.__getitem__, default=None)


def error_of(cell: Cell, name: str = SCORE) -> Error | None:
    """Return the standard error of a cell's quantity and its degrees of freedom; None if it is not known.

    A number that is not random has no error, such as the score of the exact kernel SVM on a given split; but
    memory, for example, varies from run to run. A single random score has no known error. Seconds of a solver
    that did not converge in all runs vary at least as those of all its runs do, timed or not.
    """
    summary, quantity = cell.at_least(name), cell.named(name)
    if summary is None:
        return None
    if quantity.timed:
        every = [seconds for row in cell.rows if (seconds := quantity.read(row)) is not None]
        unsteady = Summary.of_logs(every) if quantity.solved and cell.unconverged else None
        return time_error(summary, unsteady.sd / unsteady.mean if unsteady and unsteady.sd else 0.0)
    if quantity.measured:
        return summary.error
    return error_with_ties(summary, quantity, cell.rows) if cell.drawn else KNOWN


def paired(a: Cell, b: Cell, name: str = SCORE) -> list[tuple[float, float]] | None:
    """Return the values of a quantity of two cells in pairs of the same random draw; None if not all match.

    Two solvers share the features of a map, and all methods share a random split. The effect of these draws
    on both cells cancels in the difference. Times are not paired.
    """
    same_repeats = [trial.repeat for trial in a.trials] == [trial.repeat for trial in b.trials]
    same_map = a.trial.map is not None and same_repeats and a.trial.seeds["map"] == b.trial.seeds["map"]
    same_split = a.trial.protocol.random and a.trial.protocol == b.trial.protocol
    if a.named(name).timed or not (same_map or same_split):
        return None
    seed = "map" if same_map else "data"
    ours, theirs = by_seed(a, name, seed), by_seed(b, name, seed)
    if ours.keys() != theirs.keys() or len(ours) < 2:
        return None
    return [(ours[key], theirs[key]) for key in ours]


def by_seed(cell: Cell, name: str, seed: str) -> dict[int, float]:
    """Return the mean of a quantity over the runs with each seed: of the split (`data`), or of the `map`."""
    quantity = cell.named(name)
    values = ((row["seeds"][seed], quantity.read(row)) for row in cell.rows)
    groups = grouped(((key, value) for key, value in values if value is not None), itemgetter(0))
    return {key: fmean(value for _, value in pairs) for key, pairs in groups.items()}
