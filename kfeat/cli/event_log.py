"""What happens in a run, as JSON lines in a file, for whoever watches it from elsewhere."""

import json
import logging
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any

from kfeat.cli.progress import Quiet, names
from kfeat.errors import StoreError
from kfeat.experiments.estimates import Estimate
from kfeat.experiments.plan import Trial
from kfeat.experiments.store import Row

logger = logging.getLogger(__name__)


class EventLog(Quiet):
    """Passes all on to `shown`, and appends a line to a file for each event of a run, at once.

    Each line has the `event` (begin, started, finished, end), the `time` (UTC), the `experiment`, and
    `seconds_left`, null where nobody can tell. `begin` has the number of `trials` of the plan, and of those
    `done` before; `started` and `finished` the `id` and the `name` of a trial, with the `seconds` and the
    `memory` (bytes) that are expected of it, or the `status` and the `reason` of its row; `end` the `error`
    that ended the run, null where it came to its end.
    """

    def __init__(self, shown: Quiet, path: Path, experiment: str) -> None:
        super().__init__()
        self._shown, self._path, self._experiment = shown, path, experiment
        self._expected: Mapping[str, Estimate] = {}
        self._names: dict[str, str] = {}

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
        """Write the end, and leave the terminal as it was."""
        self._shown.__exit__(kind, error, trace)
        self.told = self._shown.told
        told = "terminated" if isinstance(error, SystemExit) else str(error) or type(error).__name__
        self._write("end", error=None if error is None else told)
        self._file.close()

    def downloads(self) -> Any:
        """Return where downloads may show their bars."""
        return self._shown.downloads()

    def expect(self, expected: Mapping[str, Estimate]) -> None:
        """Take note of what each trial to run will take."""
        super().expect(expected)
        self._shown.expect(expected)
        self._expected = expected

    def begin(self, trials: Sequence[Trial], done: int) -> None:
        """Write how much there is to do."""
        super().begin(trials, done)
        self._shown.begin(trials, done)
        self._names = names(trials)
        self._write("begin", trials=len(trials) + done, done=done)

    def started(self, trial: Trial) -> None:
        """Write that a trial has begun, and what is expected of it."""
        super().started(trial)
        self._shown.started(trial)
        one = self._expected[trial.id]
        self._write("started", **self._named(trial), seconds=one.seconds, memory=one.memory)

    def finished(self, trial: Trial, row: Row) -> None:
        """Write how a trial ended."""
        super().finished(trial, row)
        self._shown.finished(trial, row)
        self._write("finished", **self._named(trial), status=row["status"], reason=row.get("reason"))

    def _named(self, trial: Trial) -> dict[str, str]:
        return {"id": trial.id, "name": self._names[trial.id]}

    def _write(self, event: str, **facts: Any) -> None:
        """Append a line; where that fails a warning says so and the run goes on, since the rows count."""
        if self._file.closed:
            return
        now = datetime.now(UTC).isoformat(timespec="milliseconds")
        left = self.time.left
        line = {"event": event, "time": now, "experiment": self._experiment, **facts}
        line["seconds_left"] = None if left is None else round(left, 1)
        try:
            self._file.write(json.dumps(line).encode() + b"\n")
        except OSError as error:
            logger.warning("%s: cannot be written any longer (%s)", self._path, error.strerror)
            self._file.close()
