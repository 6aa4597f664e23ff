"""What `kfeat plan` says of trials: their expected time and memory, and what is missing by the rows alone."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path

from rich.filesize import decimal

from kfeat.experiments.config import Experiment
from kfeat.experiments.plan import Estimate
from kfeat.experiments.row import counts_as_timed
from kfeat.experiments.run import plan_from_rows, rows_of
from kfeat.render.table import MISSING, time
from kfeat.text import plain


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
        ended = (rows.get(trial.id) for trial in lacking)
        reasons = Counter(f"{row['status']} ({row['reason']})" if row else "without a row" for row in ended)
        parts = [f"{n} trial{'s' * (n != 1)} {reason}" for reason, n in reasons.most_common()]
        with_rows = {trial.cell for trial in trials if trial.id in rows}
        timed = {trial.cell for trial in trials if trial.id in rows and counts_as_timed(rows[trial.id])}
        if untimed := len(with_rows - timed):
            parts.append(f"no time that counts for {untimed} of {len(with_rows)} methods")
        if parts:
            yield plain(f"missing: {experiment.path}: {'; '.join(parts)}")
    are = f"{absent:,} {'is' if absent == 1 else 'are'} missing" if absent else "nothing is missing"
    yield f"{planned:,} trials planned, {planned - absent:,} done, {are}"
