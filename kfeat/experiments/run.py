"""Experiments that are run: their plans, the rows there are of them, and running what is pending."""

from collections.abc import Callable, Collection, Generator, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

from kfeat.errors import ConfigError
from kfeat.experiments.engine import Engine
from kfeat.experiments.fingerprints import fingerprints
from kfeat.experiments.load import Experiment, load_experiment
from kfeat.experiments.plan import Again, Trial, plan
from kfeat.experiments.row import Row
from kfeat.experiments.schedule import Observer, Part, Scheduler
from kfeat.experiments.store import gathered_rows, read_rows


def planned(experiment: Experiment, **access: Any) -> list[Trial]:
    """Return the experiment's trials; data that nobody has pinned are fetched and read for that."""
    return plan(experiment, fingerprints(experiment, **access))


def rows_of(experiment: Experiment, root: Path) -> dict[str, Row]:
    """Return the rows that an experiment finds below `root`: its own, and those it shares with others."""
    return gathered_rows(root, [experiment.name, *experiment.rows_from])


def neighbour(experiment: Experiment, name: str) -> Experiment:
    """Return the experiment of this name, such as one of the same paper, from its file beside `experiment`'s.

    Raises ConfigError where there is no such file, or a problem in it.
    """
    depth = experiment.name.count("/") + 1
    path = experiment.path.resolve().parents[depth - 1] / f"{name}.yaml"
    if not path.is_file():
        raise ConfigError(f"{experiment.path}: it names the experiment {name}, and there is no {path}")
    return load_experiment(path)


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
    engine: Engine,
    observer: Observer,
    *,
    again: Again = "nothing",
    only: Collection[str] | None = None,
    published: Path | None = None,
) -> Generator[tuple[Experiment, Part], None, None]:
    """Run what is pending of experiments, or `only` of the trials with these ids; yield each that has ended.

    New rows go to each one's own folder below `root`. What trials will take is learnt from the rows there and
    from those below `published`. An error ends the experiment that met it, and the others go on, but for
    EngineError, which is raised.
    """
    access = {"mirror": engine.options.mirror, "offline": engine.options.offline}

    def chosen(experiment: Experiment) -> list[Trial]:
        trials = planned(experiment, progress=observer.downloads(), **access)
        return [trial for trial in trials if only is None or trial.id in only]

    parts = {
        Part(
            one.name,
            root / one.name,
            partial(chosen, one),
            partial(rows_of, one, root),
            partial(rows_of, one, published) if published else dict,
            one.rows_from,
        ): one
        for one in experiments
    }
    with closing(Scheduler(parts, engine, observer, again).run()) as running:
        for part in running:
            yield parts[part], part


def run_trials(
    trials: Sequence[Trial],
    folder: Path,
    engine: Engine,
    observer: Observer,
    rows: Callable[[], dict[str, Row]] | None = None,
) -> dict[str, Row]:
    """Run those of `trials` that are pending, and return the rows of `folder`, to which theirs go.

    `rows` is asked for the rows there are once the folder is locked: those of the folder, if it is left out.
    """
    part = Part("", folder, lambda: list(trials), rows or partial(read_rows, folder))
    with closing(Scheduler([part], engine, observer).run()) as running:
        next(running)
    if part.error:
        raise part.error
    return read_rows(folder)
