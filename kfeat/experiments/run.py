"""Running experiments: their plans, their rows, and running pending trials."""

from collections.abc import Callable, Collection, Generator, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

from kfeat.errors import ConfigError
from kfeat.experiments.engine import Engine
from kfeat.experiments.fingerprints import fingerprints
from kfeat.experiments.load import Experiment
from kfeat.experiments.plan import Again, Trial, plan
from kfeat.experiments.row import Row
from kfeat.experiments.schedule import Observer, Part, Scheduler
from kfeat.experiments.store import gathered_rows, read_rows


def planned(experiment: Experiment, **access: Any) -> list[Trial]:
    """Return the experiment's trials; data without a pinned hash are fetched and read."""
    return plan(experiment, fingerprints(experiment, **access))


def rows_of(experiment: Experiment, root: Path) -> dict[str, Row]:
    """Return the rows of an experiment below `root`: its own, and those of `rows_from`."""
    return gathered_rows(root, [experiment.name, *experiment.rows_from])


def neighbour_path(experiment: Experiment, name: str) -> Path:
    """Return the config of the experiment of this name in the same folder of configs.

    Raises ConfigError if there is no such file.
    """
    depth = experiment.name.count("/") + 1
    path = experiment.path.resolve().parents[depth - 1] / f"{name}.yaml"
    if not path.is_file():
        raise ConfigError(f"{experiment.path}: it names the experiment {name}, but {path} does not exist")
    return path


def dependencies_first(experiments: Sequence[Experiment]) -> list[Experiment]:
    """Return experiments in an order in which an experiment comes after those of its `rows_from`.

    In this order no shared trial runs twice. If two experiments name each other, the second comes first.
    """
    named = {one.name: one for one in experiments}
    arranged: list[Experiment] = []
    begun: set[int] = set()  # by identity, since files in two folders may have the same name

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
    """Run the pending trials of experiments, or `only` those with these ids; yield experiments as they end.

    New rows go to each experiment's own folder below `root`. Times and memory are estimated from the rows
    there and below `published`. An error ends its experiment, and the others continue; an EngineError is
    raised.
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
    """Run those of `trials` that are pending, write their rows to `folder`, and return its rows.

    `rows` returns the existing rows and is called after the folder is locked; by default it reads the folder.
    """
    part = Part("", folder, lambda: list(trials), rows or partial(read_rows, folder))
    with closing(Scheduler([part], engine, observer).run()) as running:
        next(running)
    if part.error:
        raise part.error
    return read_rows(folder)
