"""Rows that come back from other machines, held against the trials that were sent there."""

from collections.abc import Sequence

from kfeat.errors import EngineError, StoreError
from kfeat.experiments.plan import Trial
from kfeat.experiments.row import Row, check_row
from kfeat.experiments.trial import header


def checked(row: Row, trial: Trial, address: str) -> Row:
    """Return the row that the worker at `address` made of `trial`.

    Raises EngineError where it is not a row of this trial, since another version of kfeat runs there, whose
    maps, kernels or solvers have other versions or defaults and give other numbers.
    """
    theirs = {name: row.get(name) for name in header(trial) if name not in ("status", "environment")}
    wrong = [name for name, value in theirs.items() if value != header(trial)[name]]
    try:
        check_row(row)
    except StoreError as error:
        wrong = wrong or [str(error)]
    if wrong:
        raise EngineError(
            f"the worker at {address} runs another version of kfeat: its row differs from the trial in "
            f"{', '.join(wrong)}; install there what is installed here"
        )
    return row


def lost_row(trial: Trial, lost: Sequence[str]) -> Row:
    """Return the row of a trial under which workers were lost as often as it may be tried."""
    return header(trial) | {
        "status": "failed",
        "reason": f"each of the {len(lost)} Dask workers that took it was lost ({', '.join(lost)}): killed, "
        "perhaps for want of memory, or cut off",
    }
