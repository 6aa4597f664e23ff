"""Running experiments: the trials not yet done, each saved as it finishes."""

import typing
from collections.abc import Callable, Collection, Generator, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

from kfeat.errors import KfeatError
from kfeat.experiments.engines.base import Engine
from kfeat.experiments.engines.local import Local
from kfeat.experiments.fingerprints import fingerprints
from kfeat.experiments.in_turn import InTurn, Wanted
from kfeat.experiments.load import Experiment
from kfeat.experiments.observer import RunObserver
from kfeat.experiments.pending import Again
from kfeat.experiments.plan import Trial, plan
from kfeat.experiments.row import Row
from kfeat.experiments.store import gathered_rows
from kfeat.experiments.worker import WorkerOptions

LOCAL = Local()


class Ran(typing.NamedTuple):
    """An experiment that has run, with its plan, or the error that ended it."""

    experiment: Experiment
    trials: list[Trial]
    error: KfeatError | None


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


def run_experiments(
    experiments: Sequence[Experiment],
    root: Path,
    options: WorkerOptions,
    observer: RunObserver,
    *,
    engine: Engine = LOCAL,
    again: Again = "nothing",
    only: Collection[str] | None = None,
    published: Path | None = None,
) -> Generator[Ran, None, None]:
    """Run what is pending of experiments, or `only` of the trials with these ids; yield each that has ended.

    New rows go to each one's own folder below `root`. What trials will take is learnt from the rows there and
    from those below `published`. An error ends the experiment that met it, and the others go on, but for
    EngineError, which is raised.
    """
    access = {"mirror": options.mirror, "offline": options.offline, "progress": observer.downloads()}

    def chosen(experiment: Experiment) -> list[Trial]:
        return [trial for trial in planned(experiment, **access) if only is None or trial.id in only]

    wanted = {
        Wanted(
            one.name,
            root / one.name,
            partial(chosen, one),
            partial(rows_of, one, root),
            partial(rows_of, one, published) if published else dict,
            one.rows_from,
        ): one
        for one in experiments
    }
    with closing(InTurn(wanted, options, observer, engine, again).carried_out()) as parts:
        for part in parts:
            part.rows.clear()  # they are on the disk, from where a report reads them
            yield Ran(wanted[part.wanted], part.trials, part.error)


def run_pending(
    trials: Sequence[Trial],
    rows: Callable[[], dict[str, Row]],
    folder: Path,
    options: WorkerOptions,
    observer: RunObserver,
    *,
    engine: Engine = LOCAL,
) -> list[Row]:
    """Run those of `trials` that are pending, and return their rows, which go to `folder`.

    `rows` is asked for the rows there are once the folder is locked.
    """
    return _rows(Wanted("", folder, lambda: list(trials), rows), options, observer, engine, "nothing")


def run_trials(
    trials: Sequence[Trial],
    folder: Path,
    options: WorkerOptions,
    observer: RunObserver,
    engine: Engine = LOCAL,
) -> list[Row]:
    """Run all `trials`, whatever rows there are, and return their rows, which go to `folder`."""
    return _rows(Wanted("", folder, lambda: list(trials), dict), options, observer, engine, "everything")


def _rows(
    wanted: Wanted, options: WorkerOptions, observer: RunObserver, engine: Engine, again: Again
) -> list[Row]:
    with closing(InTurn([wanted], options, observer, engine, again).carried_out()) as parts:
        part = next(parts)
    if part.error:
        raise part.error
    return part.rows
