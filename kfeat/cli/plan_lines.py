"""What `kfeat plan` says of trials: their expected time and memory, and what is missing by the rows alone."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path

from rich.filesize import decimal

from kfeat.experiments.estimates import Estimate
from kfeat.experiments.load import Experiment
from kfeat.experiments.plan import Trial
from kfeat.experiments.row import Row, counts_as_timed
from kfeat.experiments.run import plan_from_rows, rows_of
from kfeat.render.text import MISSING, time
from kfeat.saying import plain


def needs(one: Estimate) -> str:
    """Return the CPU time and the memory of a trial, in columns."""
    return f"{time(one.seconds):>10}  {_size(one):>8}"


def in_all(whole: Collection[Estimate], left: Collection[Estimate]) -> str:
    """Return the CPU time of all trials and of the pending ones, and the most memory that a trial needs."""
    most = max(whole, key=lambda one: one.memory or 0, default=Estimate(None, 0))
    unknown = sum(one.seconds is None for one in whole)
    without = f" ({unknown} not counted, since their data are not read yet)" if unknown else ""
    together = decimal(sum(one.memory or 0 for one in whole))
    return (
        f"estimated: {time(_sum(whole))} of CPU time in all{without}, {time(_sum(left))} of it pending; "
        f"{_size(most)} of memory for the largest trial, {together} for all at once"
    )


def _sum(some: Iterable[Estimate]) -> float:
    return sum(one.seconds or 0.0 for one in some)


def _size(one: Estimate) -> str:
    return MISSING if one.memory is None else decimal(one.memory)


def missing_lines(experiments: Sequence[Experiment], out: Path) -> Iterator[str]:
    """Yield a line for each experiment that lacks trials or times below `out`, and a line for the total.

    The data are looked up only where the rows do not identify them.
    """
    planned = absent = 0
    for experiment in experiments:
        rows = rows_of(experiment, out)
        trials = plan_from_rows(experiment, rows.values())
        lacking = [trial for trial in trials if rows.get(trial.id, {}).get("status") != "done"]
        planned, absent = planned + len(trials), absent + len(lacking)
        parts = [*_reasons(lacking, rows), *_untimed(trials, rows)]
        if parts:
            yield plain(f"missing: {experiment.path}: {'; '.join(parts)}")
    are = f"{absent:,} {'is' if absent == 1 else 'are'} missing" if absent else "nothing is missing"
    yield f"{planned:,} trials planned, {planned - absent:,} done, {are}"


def _reasons(lacking: Sequence[Trial], rows: dict[str, Row]) -> Iterator[str]:
    """Yield how many trials have no row, and how many ended in each way."""
    found = Counter(_reason(rows.get(trial.id)) for trial in lacking)
    for reason, number in found.most_common():
        yield f"{number} {'trial' if number == 1 else 'trials'} {reason}"


def _reason(row: Row | None) -> str:
    return "without a row" if row is None else f"{row['status']} ({row['reason']})"


def _untimed(trials: Sequence[Trial], rows: dict[str, Row]) -> Iterator[str]:
    """Yield how many of the cells with rows have no time that counts, if there are any."""
    with_rows = {trial.cell for trial in trials if trial.id in rows}
    timed = {trial.cell for trial in trials if trial.id in rows and counts_as_timed(rows[trial.id])}
    if number := len(with_rows - timed):
        yield f"no time that counts for {number} of {len(with_rows)} methods"
