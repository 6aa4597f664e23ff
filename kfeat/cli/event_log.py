"""What happens in a run, as JSON lines in a file, for whoever watches it from elsewhere."""

import json
import logging
from collections.abc import Collection, Sequence
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any

from kfeat.cli.progress import Quiet, names
from kfeat.errors import KfeatError, StoreError
from kfeat.experiments.estimates import Estimate
from kfeat.experiments.observer import Begun
from kfeat.experiments.plan import Trial
from kfeat.experiments.store import Row

logger = logging.getLogger(__name__)


class EventLog(Quiet):
    """Passes all on to `shown`, and appends a line to a file for each event of a run, at once.

    Each line has the `event` (begin, started, finished, end), the `time` (UTC), the `experiment`, and
    `seconds_left` of the run, null where nobody can tell. `begin` has the number of `trials` of the
    plan, of those `done` before, and of those `in_hand` for another experiment; `started` and `finished`
    have the `id` and the `name` of a trial, with the `seconds` and the `memory` (bytes) that are expected of
    it, or the `status` and the `reason` of its row; `end` has the `error` that ended the experiment, null
    where it came to its end. What ends the run ends each experiment in hand; `experiment` is null where
    there was none.
    """

    def __init__(self, shown: Quiet, path: Path) -> None:
        super().__init__()
        self._shown, self._path = shown, path
        self.told = shown.told
        self._expected: dict[str, Estimate] = {}
        self._names: dict[str, str] = {}
        self._of: dict[str, str] = {}  # the experiment of each trial
        self._open: list[str] = []  # experiments
        self._written: list[BaseException | None] = []  # what experiments ended with

    def __enter__(self) -> "EventLog":
        """Open the file; raises StoreError where it cannot be written, before anything runs."""
        try:
            self._file = self._path.open("ab", buffering=0)
        except OSError as error:
            raise StoreError(f"{self._path}: cannot be written ({error.strerror})") from None
        self._shown.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Write the end that an error makes, and leave the terminal as it was."""
        self._shown.__exit__(kind, error, trace)
        if error is not None:
            told = "terminated" if isinstance(error, SystemExit) else str(error) or type(error).__name__
            nobody: list[str | None] = [] if any(error is one for one in self._written) else [None]
            for experiment in self._open or nobody:
                self._write("end", experiment, error=told)
        self._file.close()

    def downloads(self) -> Any:
        """Return where downloads may show their bars."""
        return self._shown.downloads()

    def aside(self) -> AbstractContextManager[None]:
        """Leave the terminal to what is written within."""
        return self._shown.aside()

    def expect(self, experiment: str, seconds: Sequence[float | None]) -> None:
        """Take note of what an experiment will take that begins later."""
        super().expect(experiment, seconds)
        self._shown.expect(experiment, seconds)

    def begin(self, begun: Begun) -> None:
        """Write how much of an experiment there is to do."""
        super().begin(begun)
        self._shown.begin(begun)
        self._expected |= begun.expected
        self._names |= names(begun.trials)
        self._of |= {trial.id: begun.experiment for trial in begun.trials}
        self._open.append(begun.experiment)
        facts = {"trials": len(begun.trials) + begun.done + begun.in_hand, "done": begun.done}
        self._write("begin", begun.experiment, **facts, in_hand=begun.in_hand)

    def started(self, trial: Trial) -> None:
        """Write that a trial has begun, and what is expected of it."""
        super().started(trial)
        self._shown.started(trial)
        one = self._expected[trial.id]
        self._write(
            "started", self._of[trial.id], **self._named(trial), seconds=one.seconds, memory=one.memory
        )

    def finished(self, trial: Trial, row: Row) -> None:
        """Write how a trial ended."""
        super().finished(trial, row)
        self._shown.finished(trial, row)
        ended = {"status": row["status"], "reason": row.get("reason")}
        self._write("finished", self._of[trial.id], **self._named(trial), **ended)

    def end(self, experiment: str, left: Collection[str], error: KfeatError | None) -> None:
        """Write that an experiment has ended."""
        super().end(experiment, left, error)
        self._shown.end(experiment, left, error)
        if experiment in self._open:
            self._open.remove(experiment)
        self._written.append(error)
        self._write("end", experiment, error=error and str(error))

    def _named(self, trial: Trial) -> dict[str, str]:
        return {"id": trial.id, "name": self._names[trial.id]}

    def _write(self, event: str, experiment: str | None, **facts: Any) -> None:
        """Append a line; where that fails a warning says so and the run goes on, since the rows count."""
        if self._file.closed:
            return
        now = datetime.now(UTC).isoformat(timespec="milliseconds")
        left = self.time.left
        line = {"event": event, "time": now, "experiment": experiment, **facts}
        line["seconds_left"] = None if left is None else round(left, 1)
        try:
            self._file.write(json.dumps(line).encode() + b"\n")
        except OSError as error:
            logger.warning("%s: cannot be written any longer (%s)", self._path, error.strerror)
            self._file.close()
