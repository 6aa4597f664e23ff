"""Cells: the repeats of one method on one setting, summarised, with the paper's numbers beside them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from statistics import mean
from typing import Literal

from kfeat.analysis.statistics import Summary
from kfeat.experiments.clock import TEST_PHASES
from kfeat.experiments.load import Experiment
from kfeat.experiments.paper import ReportedNumber, reported_numbers
from kfeat.experiments.plan import Trial
from kfeat.experiments.quantities import QUANTITIES, SCORE, Quantity, quantity_named, score_of
from kfeat.experiments.row import Row, counts_as_timed

PHASES = ("map", "train", "test")  # the seconds that every table of cells has


@dataclass(frozen=True)
class Shown:
    """A number as a table shows it: perhaps from times of a busy machine, perhaps as a bound (`> `, `< `).

    `runs` is the number of timed runs of which a time is the mean, where that is a single one, or fewer than
    the cell has; a ratio has the smaller of two. `unconverged` tells whether a solver did not converge on
    which the number depends.
    """

    value: float | None
    busy: bool = False
    sign: Literal["", "> ", "< "] = ""
    runs: int | None = None
    unconverged: bool = False

    def over(self, other: "Shown") -> "Shown":
        """Return the ratio of two; nothing where a time is too short for the clock, or both are bounds."""
        if self.value is None or not other.value or (self.sign and other.sign):
            return Shown(None)
        sign: Literal["", "> ", "< "] = "< " if other.sign else self.sign
        busy = self.busy or other.busy
        runs = [one.runs for one in (self, other) if one.runs is not None and not busy]
        unconverged = self.unconverged or other.unconverged
        return Shown(self.value / other.value, busy, sign, min(runs, default=None), unconverged)


@dataclass(frozen=True)
class Cell:
    """All repeats of one method on one setting."""

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
        """Return the cell of these trials, with those of `rows` that are theirs."""
        there = [rows[trial.id] for trial in trials if trial.id in rows]
        done, failed, stopped = (
            [row for row in there if row["status"] == status] for status in ("done", "failed", "stopped")
        )
        return cls(trials, done, failed, stopped, printed or {})

    @property
    def trial(self) -> Trial:
        """Return one of the trials, for what they have in common."""
        return self.trials[0]

    @cached_property
    def setting(self) -> tuple[str, str, str]:
        """Return the dataset, the protocol and the kernel, as texts that tell them from others."""
        protocol = f"{self.folds} {self.trial.protocol.model_dump_json()}"
        return (self.trial.data_key, protocol, str(self.trial.kernel.identity()))

    @cached_property
    def folds(self) -> int:
        """Return over how many splits its runs are a mean: 1, but for the mean over folds."""
        return len({trial.protocol for trial in self.trials})

    @property
    def drawn(self) -> bool:
        """Tell whether its repeats differ by chance: by the draw of a map or of the split."""
        return self.trial.map is not None or self.trial.protocol.random

    @property
    def timed_runs(self) -> int:
        """Return how many of its rows have seconds that count."""
        return sum(map(counts_as_timed, self.rows))

    @property
    def unconverged(self) -> list[Row]:
        """Return those of its rows whose solver ended before it converged."""
        return [row for row in self.rows if (row.get("solve") or {}).get("converged") is False]

    @property
    def reported(self) -> ReportedNumber | None:
        """Return the paper's number for the score."""
        return self.printed.get(SCORE) or self.printed.get(self.named(SCORE).name)

    def named(self, name: str) -> Quantity:
        """Return the quantity of this name; `score` is that of the rows, or of the solver without any."""
        return self._scored if name == SCORE else quantity_named(name)

    @cached_property
    def _scored(self) -> Quantity:
        found = (score_of(row) for row in self.rows)
        solver = self.trial.solver
        regression = not self.rows and solver is not None and solver.build().task == "regression"
        name = "relative_error" if regression else "accuracy"
        return next((one for one in found if one is not None), QUANTITIES[name])

    def of(self, name: str, busy: bool = False) -> Summary | None:
        """Return a quantity over the runs that have it and count; None where there are none.

        Seconds count only in rows of an idle machine, and where no run was stopped: the mean over those that
        ended would be that of the quickest. With `busy`, all that have ended serve, and rows of a busy
        machine where there are no others: their times are longer than need be.
        """
        return self._over(name, busy, of_ended=busy)

    def _over(self, name: str, busy: bool, of_ended: bool) -> Summary | None:
        key = name, busy, of_ended
        if key not in self._known:
            self._known[key] = self._of(self.named(name), busy, of_ended)
        return self._known[key]

    @cached_property
    def _known(self) -> dict[tuple[str, bool, bool], Summary | None]:
        return {}

    def _of(self, quantity: Quantity, busy: bool, of_ended: bool) -> Summary | None:
        if quantity.derive:
            value = quantity.derive(lambda other: self._over(other, busy, of_ended))
            return None if value is None else Summary(value, None, len(self.rows))
        rows = self.rows
        if quantity.timed:
            if self.stopped and not of_ended:
                return None
            rows = [row for row in rows if counts_as_timed(row)] or (rows if busy else [])
        values = [(row, value) for row in rows if (value := quantity.read(row)) is not None]
        if not values:
            return None
        if quantity.timed or quantity.measured or self.drawn:
            return Summary.of([value for _, value in values])
        # Repeats without a draw are one observation: the mean over them is exact where they agree.
        splits: dict[str, list[float]] = {}
        for row, value in values:
            splits.setdefault(row["cell"], []).append(value)
        return Summary.of([mean(repeats) for repeats in splits.values()])

    @cached_property
    def score(self) -> Summary | None:
        """Return the score over the repeats, in the unit that is printed."""
        return self.of(SCORE)

    @property
    def there(self) -> list[Row]:
        """Return all rows, however they ended."""
        return [*self.rows, *self.failed, *self.stopped]

    def mean(self, name: str, busy: bool = False) -> float | None:
        """Return the mean of a quantity, as `of` has it."""
        found = self.of(name, busy)
        return found.mean if found else None

    def is_busy(self, name: str) -> bool:
        """Tell whether the quantity is known from times of a busy machine only."""
        return self._over(name, False, of_ended=True) is None and self.of(name, busy=True) is not None

    @property
    def bound(self) -> "Shown | None":
        """Return a lower bound of the seconds of mapping and training, where trials were stopped there.

        Where none has ended it is the time at which they were stopped, else the mean in which that time
        stands for each of them.
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
        return Shown((sum(limits) + ended.n * ended.mean) / (len(limits) + ended.n), busy, "> ")

    def shown(self, name: str) -> "Shown":
        """Return a quantity as tables show it.

        Of a map's stopped trial, how its time falls into mapping and training is not known.
        """
        whole = name == "fit" or (name == "train" and self.trial.map is None)
        if whole and self.bound:
            return self.bound
        found = self.of(name, busy=True)
        if found is None:
            return Shown(None)
        quantity = self.named(name)
        unconverged = quantity.solved and bool(self.unconverged)
        if self.is_busy(name):
            return Shown(found.mean, busy=True, unconverged=unconverged)
        few = quantity.timed and (found.n == 1 or found.n < len(self.rows) + len(self.stopped))
        return Shown(found.mean, runs=found.n if few else None, unconverged=unconverged)


def summarise(experiment: Experiment, trials: Iterable[Trial], rows: Mapping[str, Row]) -> list[Cell]:
    """Return the planned cells, the exact kernel SVM of each setting first, as the papers print them."""
    groups: dict[str, list[Trial]] = {}
    for trial in trials:
        groups.setdefault(trial.cell, []).append(trial)
    found = [
        Cell.of_trials(members, rows, reported_numbers(experiment.reported, members[0]))
        for members in groups.values()
    ]
    position = {key: i for i, key in enumerate(dict.fromkeys(setting(cell) for cell in found))}
    return sorted(found, key=lambda cell: (position[setting(cell)], cell.trial.map is not None))


def setting(cell: Cell) -> tuple[str, str, str]:
    """Return what methods are compared on: dataset, protocol and kernel."""
    return cell.setting


def by_setting(cells: Iterable[Cell]) -> list[list[Cell]]:
    """Return the cells setting by setting."""
    groups: dict[tuple[str, str, str], list[Cell]] = {}
    for cell in cells:
        groups.setdefault(setting(cell), []).append(cell)
    return list(groups.values())


def exact_of(cell: Cell, cells: Iterable[Cell]) -> Cell | None:
    """Return the exact kernel SVM of the same setting, if it is planned; of several, the best by score."""
    same = [other for other in cells if other.trial.map is None and setting(other) == setting(cell)]
    return best_of(same) or next(iter(same), None)


def best_of(cells: Iterable[Cell]) -> Cell | None:
    """Return the cell with the best score; None where none has a score of which one can be better."""
    scored = [cell for cell in cells if cell.score and cell.named(SCORE).better]

    def merit(cell: Cell) -> float:
        assert cell.score is not None
        return cell.score.mean if cell.named(SCORE).better == "higher" else -cell.score.mean

    return max(scored, key=merit, default=None)
