"""What of a plan is to run: what is not done, and what is to run again."""

from collections import Counter
from collections.abc import Sequence
from math import inf
from typing import Literal

from kfeat.experiments.plan import Trial
from kfeat.experiments.row import Row, counts_as_timed

# What to run again of what is done; a number N: what was not timed, until each cell has N timed runs.
Again = Literal["nothing", "untimed", "everything"] | int


def pending(
    trials: Sequence[Trial], rows: dict[str, Row], again: Again = "nothing", time_limit: float = inf
) -> list[Trial]:
    """Return the trials without a row of status `done`, and those that are to run again.

    One that was stopped is to run again if it may take longer now. Where `again` is a number of timed runs,
    the first repeats of a cell come first, and those that run anyway are taken for timed ones, but for those
    that failed before.
    """
    if again == "everything":
        return list(trials)
    wanted = again if isinstance(again, int) else inf if again == "untimed" else 0
    ended = {trial.id for trial in trials if _has_ended(rows.get(trial.id), time_limit)}
    untimed = {identity for identity in ended if not counts_as_timed(rows[identity])}
    failed = {trial.id for trial in trials if rows.get(trial.id, {}).get("status") == "failed"}
    none = untimed | failed
    timed = Counter(trial.cell for trial in trials if trial.id not in none)
    todo = []
    for trial in trials:
        if trial.id in untimed and timed[trial.cell] < wanted:
            timed[trial.cell] += 1
            todo.append(trial)
        elif trial.id not in ended:
            todo.append(trial)
    return todo


def _has_ended(row: Row | None, time_limit: float) -> bool:
    """Tell whether a trial with this row is done, or was stopped at a limit no shorter than this."""
    if row is None:
        return False
    return row["status"] == "done" or (row["status"] == "stopped" and row["limit_s"] >= time_limit)
