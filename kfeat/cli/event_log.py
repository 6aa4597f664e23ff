"""The events of a run as JSON lines in a file, for monitoring."""

import json
import logging
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from kfeat.errors import StoreError
from kfeat.experiments.estimates import Estimate
from kfeat.experiments.schedule import Event

logger = logging.getLogger(__name__)


class EventLog:
    """Appends a line to a file as soon as an event of a run happens.

    Each line has the `event` (begin, started, finished, end), the `time` (UTC), the `experiment`, and
    `seconds_left` of the run, which is null while unknown. `begin` has the number of `trials` of the plan and
    the number already `done`. `started` has the `id` and the `name` of a trial and its expected `seconds` and
    `memory` (bytes); `finished` has the id, the name, and the `status` and the `reason` of the row. `end` has
    the `error` that ended the experiment, or null. An error that ends the run gives an `end` for each
    experiment that had begun; `experiment` is null if none had.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._expected: dict[str, Estimate] = {}
        self._begun: list[str] = []  # experiments that have not ended
        self._errors: list[BaseException | None] = []  # errors that have ended other experiments

    def open(self) -> None:
        """Open the file; raises StoreError where it cannot be written."""
        try:
            self._file = self._path.open("ab", buffering=0)
        except OSError as error:
            raise StoreError(f"{self._path}: cannot be written ({error.strerror})") from None

    def close(self, error: BaseException | None, left: float | None) -> None:
        """Write the error that ended the run, unless an experiment has ended with it, and close the file."""
        if error is not None:
            text = "terminated" if isinstance(error, SystemExit) else str(error) or type(error).__name__
            without: list[str | None] = [] if any(error is one for one in self._errors) else [None]
            for experiment in self._begun or without:
                self._write("end", experiment, left, error=text)
        self._file.close()

    def tell(self, event: Event, names: Mapping[str, str], left: float | None) -> None:
        """Write an event."""
        if event.what == "expected":
            return
        facts: dict[str, Any] = {}
        if event.what in ("started", "finished"):
            identity = event.trials[0].id
            facts = {"id": identity, "name": names[identity]}
        if event.what == "begin":
            self._expected |= event.expected
            self._begun.append(event.experiment)
            facts = {"trials": len(event.trials) + event.done, "done": event.done}
        elif event.what == "started":
            facts |= vars(self._expected[identity])
        elif event.row is not None:
            facts |= {"status": event.row["status"], "reason": event.row.get("reason")}
        else:
            if event.experiment in self._begun:
                self._begun.remove(event.experiment)
            self._errors.append(event.error)
            facts = {"error": event.error and str(event.error)}
        self._write(event.what, event.experiment, left, **facts)

    def _write(self, event: str, experiment: str | None, left: float | None, **facts: Any) -> None:
        """Append a line; a failure is only a warning, since the run can go on without its log."""
        if self._file.closed:
            return
        now = datetime.now(UTC).isoformat(timespec="milliseconds")
        line = {"event": event, "time": now, "experiment": experiment, **facts}
        line["seconds_left"] = None if left is None else round(left, 1)
        try:
            self._file.write(json.dumps(line).encode() + b"\n")
        except OSError as error:
            logger.warning("%s: cannot be written any longer (%s)", self._path, error.strerror)
            self._file.close()
