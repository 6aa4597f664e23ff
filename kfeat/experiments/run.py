"""Running an experiment: the trials not yet done, each saved as it finishes."""

import logging
import typing
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import closing
from functools import partial
from itertools import chain
from math import inf
from pathlib import Path
from typing import Any, Literal

from kfeat.data import load_raw
from kfeat.data.loading import is_kept
from kfeat.errors import StoreError
from kfeat.experiments.engines.base import Engine
from kfeat.experiments.engines.local import Local
from kfeat.experiments.estimates import Estimate, estimates
from kfeat.experiments.fingerprints import fingerprints
from kfeat.experiments.load import Experiment
from kfeat.experiments.order import arranged
from kfeat.experiments.plan import Trial, plan
from kfeat.experiments.row import Row, counts_as_timed
from kfeat.experiments.store import Store, ended, gathered_rows
from kfeat.experiments.worker import WorkerOptions
from kfeat.memory import USABLE, available_memory

# What to run again of what is done; a number N: what was not timed, until each cell has N timed runs.
Again = Literal["nothing", "untimed", "everything"] | int

LOCAL = Local()

log = logging.getLogger(__name__)


class RunObserver(typing.Protocol):
    """What a run tells whoever observes it."""

    def downloads(self) -> Any:
        """A `rich.progress.Progress` for downloads, or None."""

    def expect(self, expected: Mapping[str, Estimate]) -> None:
        """What each trial to run will take, by its id; said before `begin`."""

    def begin(self, trials: Sequence[Trial], done: int) -> None:
        """The trials to run, and how many of the plan were done before."""

    def started(self, trial: Trial) -> None:
        """A trial has begun."""

    def finished(self, trial: Trial, row: Row) -> None:
        """A trial is saved."""


def planned(experiment: Experiment, **access: Any) -> list[Trial]:
    """Return the experiment's trials; data that nobody has pinned are fetched and read for that."""
    return plan(experiment, fingerprints(experiment, **access))


def rows_of(experiment: Experiment, root: Path) -> dict[str, Row]:
    """Return the rows that an experiment finds below `root`: its own, and those it shares with others."""
    return gathered_rows(root, [experiment.name, *experiment.rows_from])


def sharers_last(experiments: Sequence[Experiment]) -> list[Experiment]:
    """Return experiments in an order in which those whose rows others share come first, else as they were.

    Run so, no trial that several of them share runs twice; of two that share each other's rows the second
    begins.
    """
    named = {one.name: one for one in experiments}
    arranged: list[Experiment] = []
    begun: set[int] = set()  # by identity, as files in two folders may have one name

    def put(one: Experiment) -> None:
        if id(one) not in begun:
            begun.add(id(one))
            for name in one.rows_from:
                if name in named:
                    put(named[name])
            arranged.append(one)

    for one in experiments:
        put(one)
    return arranged


def run_experiment(
    experiment: Experiment,
    root: Path,
    options: WorkerOptions,
    observer: RunObserver,
    *,
    engine: Engine = LOCAL,
    again: Again = "nothing",
    only: Collection[str] | None = None,
    published: Path | None = None,
) -> list[Trial]:
    """Run what is pending of an experiment's plan, or `only` of the trials with these ids; return these.

    New rows go to its own folder below `root`. What trials will take is learnt from the rows there and from
    those below `published`.
    """
    access = {"mirror": options.mirror, "offline": options.offline, "progress": observer.downloads()}
    trials = [trial for trial in planned(experiment, **access) if only is None or trial.id in only]
    there = partial(rows_of, experiment, root)
    past = partial(rows_of, experiment, published) if published else dict
    folder = root / experiment.name
    run_pending(trials, there, folder, options, observer, engine=engine, again=again, past=past)
    return trials


def run_pending(
    trials: Sequence[Trial],
    rows: Callable[[], dict[str, Row]],
    folder: Path,
    options: WorkerOptions,
    observer: RunObserver,
    *,
    engine: Engine = LOCAL,
    again: Again = "nothing",
    past: Callable[[], dict[str, Row]] = dict,
) -> list[Row]:
    """Run those of `trials` that are pending, and return their rows.

    `rows` is asked for the rows there are once the folder is locked, so that nothing runs twice that another
    process did meanwhile. These, and the rows of the `past`, tell how long trials will take. Where trials run
    on this machine, the data are fetched and parsed here, once, with the observer's progress bar; the workers
    find them in the cache. A trial that came further before, done or stopped at a longer limit, keeps its
    row, but where `again` is everything.
    """
    with Store(folder) as store:
        there = rows()
        todo = pending(trials, there, again, options.time_limit)
        if engine.here:
            fetch(todo, options, observer)
        known = [*_of_the_past(past), *there.values()] if todo else []
        done, replaces = len(trials) - len(todo), again == "everything"
        return _carried_out(
            todo, store, options, observer, engine, done, known, earlier=there, replaces=replaces
        )


def _of_the_past(past: Callable[[], dict[str, Row]]) -> Iterable[Row]:
    """Return rows that only tell how long trials take, so that one which cannot be read stops nothing."""
    try:
        return past().values()
    except StoreError as error:
        log.warning("not used to estimate times: %s", error)
        return ()


def fetch(trials: Sequence[Trial], options: WorkerOptions, observer: RunObserver) -> None:
    """Download and parse the data of `trials`, once, with the observer's progress bar.

    Generated data that no cache keeps are left to the processes that use them.
    """
    for source in {trial.source: None for trial in trials if is_kept(trial.source)}:
        load_raw(source, mirror=options.mirror, offline=options.offline, progress=observer.downloads())


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
    timed = Counter(trial.cell for trial in trials if trial.id not in untimed | failed)
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


def run_trials(
    trials: Sequence[Trial],
    folder: Path,
    options: WorkerOptions,
    observer: RunObserver,
    engine: Engine = LOCAL,
) -> list[Row]:
    """Run all `trials`, whatever rows there are, and return their rows, which go to `folder`."""
    with Store(folder) as store:
        return _carried_out(trials, store, options, observer, engine)


def _carried_out(
    trials: Sequence[Trial],
    store: Store,
    options: WorkerOptions,
    observer: RunObserver,
    engine: Engine,
    done: int = 0,
    past: Iterable[Row] = (),
    *,
    earlier: Mapping[str, Row] | None = None,
    replaces: bool = True,
) -> list[Row]:
    """Run all `trials` and return their rows; `done` is how many of the plan were done before.

    Every row is on disk before the engine goes on. The `past` rows tell how long trials will take. In the
    place of an `earlier` row comes only one that is worth as much, or any other if it `replaces` it: not that
    of a trial which did not even start.
    """
    there = options.memory or available_memory()
    expected = estimates(trials, past, there, options.time_limit)
    order = arranged(trials, expected, engine, options.memory or int(USABLE * there))
    observer.expect(expected)
    observer.begin(trials, done)
    rows: list[Row] = []
    begun: set[str] = set()
    with closing(engine.carried_out(order.packing, options)) as events:
        for trial, row in chain(order.refused, events):
            if row is None:
                observer.started(trial)
                begun.add(trial.id)
                continue
            before = (earlier or {}).get(trial.id)
            if before is None or ended(row) >= ended(before) or (replaces and trial.id in begun):
                store.append(row)
            else:
                log.warning("%s: %s (%s); its earlier row, which is %s, stays", trial.id, row["status"],
                            row["reason"], before["status"])  # fmt: skip
            rows.append(row)
            observer.finished(trial, row)
    return rows
