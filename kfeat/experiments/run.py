"""Running an experiment: the trials not yet done, each saved as it finishes."""

from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from math import inf
from multiprocessing.connection import wait
from pathlib import Path
from typing import Any, Literal, Protocol

from kfeat.data import Source, fingerprint, load_raw
from kfeat.errors import DataError, DownloadError
from kfeat.experiments.config import Experiment
from kfeat.experiments.plan import Trial, dataset_name, plan
from kfeat.experiments.store import Row, Store, gathered_rows
from kfeat.experiments.trial import header
from kfeat.experiments.worker import Worker, WorkerOptions

Again = Literal["nothing", "untimed", "everything"]


class Watcher(Protocol):
    """What a run tells whoever watches it."""

    def downloads(self) -> Any:
        """A `rich.progress.Progress` for downloads, or None."""

    def begin(self, trials: Sequence[Trial], done: int) -> None:
        """The trials to run, and how many of the plan were done before."""

    def started(self, trial: Trial) -> None:
        """A trial has begun."""

    def finished(self, trial: Trial, row: Row) -> None:
        """A trial is saved."""


def fingerprints(experiment: Experiment, **access: Any) -> dict[Source, str]:
    """Return the content hash of each dataset; one that nobody has pinned is fetched and read for that."""
    return {
        source: fingerprint(source) or load_raw(source, **access).fingerprint
        for source in experiment.datasets
    }


def fingerprints_at_hand(experiment: Experiment, rows: Iterable[Row], **access: Any) -> dict[Source, str]:
    """Return the content hash of each dataset without any download.

    That of data which are not here is what `rows` name; without such rows nothing can be told of their
    trials, and a stand-in serves to plan them.
    """
    named = {row["dataset"]: row["fingerprint"] for row in rows}

    def of(source: Source) -> str:
        try:
            return fingerprint(source) or load_raw(source, **{**access, "offline": True}).fingerprint
        except (DownloadError, DataError):  # a file of one's own may be gone since
            return str(named.get(dataset_name(source), f"not at hand: {source}"))

    return {source: of(source) for source in experiment.datasets}


def planned(experiment: Experiment, **access: Any) -> list[Trial]:
    """Return the experiment's trials; data that nobody has pinned are fetched and read for that."""
    return plan(experiment, fingerprints(experiment, **access))


def rows_of(experiment: Experiment, root: Path) -> dict[str, Row]:
    """Return the rows that an experiment finds below `root`: its own, and those it shares with others."""
    return gathered_rows(root, [experiment.name, *experiment.rows_from])


def run_experiment(
    experiment: Experiment,
    root: Path,
    options: WorkerOptions,
    watcher: Watcher,
    *,
    jobs: int = 1,
    again: Again = "nothing",
) -> list[Trial]:
    """Run what is pending of an experiment's plan, and return the plan.

    New rows go to its own folder below `root`. The data are fetched and parsed here, once, with the
    watcher's progress bar; the workers find them in the cache.
    """
    access = {"mirror": options.mirror, "offline": options.offline, "progress": watcher.downloads()}
    trials = planned(experiment, **access)
    todo = pending(trials, rows_of(experiment, root), again, options.time_limit)
    fetch(todo, options, watcher)
    run_trials(todo, root / experiment.name, options, watcher, jobs=jobs, done=len(trials) - len(todo))
    return trials


def fetch(trials: Sequence[Trial], options: WorkerOptions, watcher: Watcher) -> None:
    """Download and parse the data of `trials`, once, with the watcher's progress bar."""
    for source in {trial.source: None for trial in trials}:
        load_raw(source, mirror=options.mirror, offline=options.offline, progress=watcher.downloads())


def pending(
    trials: Sequence[Trial], rows: dict[str, Row], again: Again = "nothing", time_limit: float = inf
) -> list[Trial]:
    """Return the trials without a row of status `done`, and those that are to run again.

    One that was stopped is to run again if it may take longer now.
    """
    if again == "everything":
        return list(trials)

    def is_settled(row: Row) -> bool:
        ended = row["status"] == "done" or (row["status"] == "stopped" and row["limit_s"] >= time_limit)
        return ended and (row["timed"] or again == "nothing")

    return [trial for trial in trials if trial.id not in rows or not is_settled(rows[trial.id])]


def run_trials(
    trials: Sequence[Trial],
    folder: Path,
    options: WorkerOptions,
    watcher: Watcher,
    *,
    jobs: int = 1,
    done: int = 0,
) -> list[Row]:
    """Run all `trials` and return their rows; `done` is how many of the plan were done before.

    Every row is on disk before the next trial starts. The folder is locked meanwhile.
    """
    with Store(folder) as store, ExitStack() as ending:
        watcher.begin(trials, done)
        rows: list[Row] = []
        idle: list[Worker] = []
        busy: list[Worker] = []
        ending.callback(_kill, idle, busy)
        queue = list(trials)[::-1]
        while queue or busy:
            while queue and len(busy) < jobs:
                worker = idle.pop() if idle else Worker(options)
                busy.append(worker)
                watcher.started(queue[-1])
                worker.start(queue.pop())
            patience = max(0.0, min(worker.seconds_left for worker in busy))
            answered = wait([worker.connection for worker in busy], None if patience == inf else patience)
            for worker in [one for one in busy if one.connection in answered or one.seconds_left <= 0]:
                trial = worker.trial
                assert trial is not None
                row = worker.answer() if worker.connection in answered else header(trial) | worker.stop()
                busy.remove(worker)
                if row is None:
                    row = {**header(trial), "status": "failed", "reason": _death(worker)}
                    worker.kill()
                elif row["status"] != "stopped":
                    idle.append(worker)
                store.append(row)
                rows.append(row)
                watcher.finished(trial, row)
    return rows


def _kill(*groups: list[Worker]) -> None:
    for group in groups:
        for worker in group:
            worker.kill()


def _death(worker: Worker) -> str:
    code = worker.exit_code()
    if code == -9:
        return "the process was killed (signal 9), most likely for want of memory"
    return f"the process died ({f'signal {-code}' if code and code < 0 else f'exit status {code}'})"
