"""The record of a search: a file to which Optuna's journal appends, and which tells if it was damaged."""

import json
import os
import warnings
from pathlib import Path
from typing import Any
from zlib import crc32

import optuna
from optuna.storages import JournalStorage
from optuna.storages.journal import BaseJournalBackend

from kfeat.errors import StoreError
from kfeat.files import append


class Record(BaseJournalBackend):
    """A journal of Optuna in a file. A line is the checksum of all entries so far, and an entry as JSON.

    It takes no lock, since a search holds that of kfeat: a lock of Optuna is a file, which a killed process
    leaves behind. Such a process may also leave an incomplete last line, which is cut off. Raises StoreError
    for a line that was changed, added or taken away.
    """

    def __init__(self, path: Path) -> None:
        self._path, self._checksum, self._entries = path, 0, list[dict[str, Any]]()
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
        content = path.read_bytes()
        *lines, rest = content.split(b"\n")
        for number, line in enumerate(lines, 1):
            checksum, _, entry = line.partition(b" ")
            if checksum != self._next(entry):
                raise StoreError(
                    f"{path}, line {number}: expected the record of a search, got a damaged line; remove the "
                    "file to start the search again"
                )
            self._entries.append(json.loads(entry))
        os.truncate(path, len(content) - len(rest))

    def read_logs(self, log_number_from: int) -> list[dict[str, Any]]:
        """Return the entries from this one on."""
        return self._entries[log_number_from:]

    def append_logs(self, logs: list[dict[str, Any]]) -> None:
        """Append entries to the file, and wait until the disk has them."""
        for entry in logs:
            text = json.dumps(entry, separators=(",", ":")).encode()
            append(self._path, b"%s %s\n" % (self._next(text), text))
            self._entries.append(json.loads(text))

    def _next(self, entry: bytes) -> bytes:
        """Return the checksum of all entries so far with another one."""
        self._checksum = crc32(entry, self._checksum)
        return b"%08x" % self._checksum


def study_of(path: Path | None, seed: int) -> Any:
    """Return Optuna's study of a search, as far as it has come; without a path in memory.

    A draw that has no score, since the process ended, comes again. Raises StoreError for a file that is no
    record of a search.
    """
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    storage = None if path is None else JournalStorage(Record(path))
    study = optuna.create_study(
        storage=storage, study_name="search", direction="maximize", load_if_exists=True
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
        study.sampler = optuna.samplers.TPESampler(
            seed=seed + len(study.trials), multivariate=True, group=True, n_startup_trials=12
        )
    state = optuna.trial.TrialState
    for trial in study.get_trials(states=(state.RUNNING,)):
        study.tell(trial.number, state=state.FAIL)
        study.enqueue_trial(trial.params)
    return study
