"""Experiments as plans and rows, and running the trials that are pending.

The content of each dataset is hashed for a run; for a report the hash is taken from the rows, if possible.
"""

import logging
from collections.abc import Callable, Collection, Generator, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

from kfeat.data import Raw, Source
from kfeat.data.access import AS_SET, Access
from kfeat.data.matrix import holds_strings
from kfeat.errors import ConfigError, DataError
from kfeat.experiments.component import Component
from kfeat.experiments.config import Experiment
from kfeat.experiments.engine import Engine
from kfeat.experiments.plan import Again, Trial, plan
from kfeat.experiments.quantities import PARTS
from kfeat.experiments.row import Row
from kfeat.experiments.schedule import ExperimentRun, Observer, Scheduler
from kfeat.experiments.setting import check_tasks
from kfeat.experiments.store import gathered_rows, read_rows
from kfeat.place import set_back
from kfeat.text import counted, say_once


def planned(experiment: Experiment, access: Access = AS_SET) -> list[Trial]:
    """Return the experiment's trials; data without a pinned hash are fetched and read."""
    return plan(experiment, fingerprints(experiment, access))


def fingerprints(experiment: Experiment, access: Access) -> dict[Source, str]:
    """Return the content hash of each dataset; data without a pinned hash are fetched and read.

    Loaders are called. Raises ConfigError if a solver is for another task than the data, and DataError if a
    kernel cannot compare the strings of a loader.
    """
    for source in experiment.datasets:
        source.renew(access)
    check_tasks(experiment.settings, lambda source: source.task or source.load(access).task)
    for setting in experiment.settings:
        for source in setting.datasets:
            if source.runs_code:  # only code returns strings
                check_kernels(setting.kernels, source.load(access))
    return {
        source: source.known_fingerprint(access) or source.load(access).fingerprint
        for source in experiment.datasets
    }


def check_kernels(kernels: Sequence[Component], raw: Raw) -> None:
    """Raise DataError for rows that are strings, if a kernel needs vectors or is no kernel on these rows."""
    X = raw.parts["train"].X
    for kernel in kernels if holds_strings(X) else ():
        with set_back():
            built = kernel.build()
            built.resolve(built.operand(X))


def plan_from_rows(
    experiment: Experiment, rows: Iterable[Row], known: Mapping[Source, str] | None = None
) -> list[Trial]:
    """Return the experiment's trials; data are read only if the rows name several contents of a file.

    A dataset's content hash is taken from `known`, else from the registry or config, else from the cache (for
    a user's own file), else from the rows. If the rows name several hashes, the user's file is read; if that
    fails, the last rows decide. Without any hash no row can belong to the dataset, and its trials have none.
    """
    named: dict[str, dict[str, None]] = {}
    versions: dict[str, str] = {}  # of code, which may not be at hand
    for row in rows:
        versions |= {item["name"]: item["version"] for part in PARTS if (item := row.get(part))}
        contents = named.setdefault(_source_key(row["dataset"], row["source"]), {})
        contents.pop(row["fingerprint"], None)
        contents[row["fingerprint"]] = None
    hashes = {
        source: (known or {}).get(source) or _known_hash(source) or _hash_in_rows(named, source)
        for source in experiment.datasets
    }
    settings = [setting.of_versions(versions) for setting in experiment.settings]
    experiment = experiment.model_copy(update={"settings": settings})
    return plan(experiment, {source: content for source, content in hashes.items() if content is not None})


def _known_hash(source: Source) -> str | None:
    """Return the content hash that needs no rows: a pinned one, or that of generated data or a known file."""
    if not source.own:
        return source.pinned
    try:
        return source.known_fingerprint(AS_SET)
    except DataError:  # no cache can be read: the rows decide
        return None


def _source_key(name: str, source: dict[str, Any] | None) -> str:
    """Return a key of the source without unset options, since others may be new, and version of its code."""
    options = {key: value for key, value in (source or {}).items() if value is not None and key != "version"}
    return f"{name} {source and options}"


def _hash_in_rows(named: Mapping[str, Iterable[str]], source: Source) -> str | None:
    """Return the hash in the last rows, with a warning if other rows have another hash."""
    contents = list(named.get(_source_key(source.name, source.description), ()))
    if len(contents) < 2:
        return contents[0] if contents else None
    why = "no hash is pinned"
    if source.own and not source.runs_code:
        try:
            return source.load(AS_SET).fingerprint
        except DataError as error:
            why = f"the file itself cannot be read ({error})"
    say_once(
        logging.WARNING,
        f"{source.name}: its rows come from {len(contents)} different versions of the data, and {why}; the "
        "rows of the version that ran last are used",
    )
    return contents[-1]


def rows_of(experiment: Experiment, root: Path) -> dict[str, Row]:
    """Return the rows of an experiment below `root`: its own, and those of `rows_from`."""
    return gathered_rows(root, [experiment.name, *experiment.rows_from])


def other_settings(experiment: Experiment, root: Path, command: str) -> str:
    """Return what to do where the only rows of an experiment below `root` are of another plan, else nothing.

    They were most likely run with --set, which a `command` such as "report" then needs too.
    """
    others, name = len(rows_of(experiment, root)), experiment.argument
    if not others:
        return ""
    return (
        f"{root / experiment.name}: no rows of this plan, but {counted(others, 'rows')} of other settings; "
        f"give the --set options with which they were run, `kfeat {command} {name} --set KEY=VALUE`, or make "
        f"rows of this plan with `kfeat run {name}`"
    )


def needs_code(experiment: Experiment, root: Path) -> bool:
    """Return whether there are trials to run, by the rows below `root`, of classes by their places.

    A finished config needs none: its rows have the version of the code, which was checked before they ran.
    """
    items = ((*here.kernels, *here.maps, *here.measures, *here.solvers.all) for here in experiment.settings)
    if not any(item.place for item in chain(*items)):
        return False
    rows = rows_of(experiment, root)
    trials = plan_from_rows(experiment, rows.values())
    return not trials or any(rows.get(trial.id, {}).get("status") != "done" for trial in trials)


def _say_edited(trials: Iterable[Trial], rows: Mapping[str, Row]) -> None:
    """Log which code by its place has changed since all of its rows were made: its trials run again."""
    items = (item for trial in trials for item in (trial.own_kernel, *trial.components.values()))
    used = {item.name: item for item in items if item and item.place}
    for name, item in used.items():
        of_name = [
            part for row in rows.values() for part in map(row.get, PARTS) if part and part["name"] == name
        ]
        if of_name and all(part["version"] != item.cls.algorithm_version for part in of_name):
            say_once(logging.WARNING, f"{name} has changed since its rows were made: its trials run again")


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
    named = {experiment.name: experiment for experiment in experiments}
    arranged: list[Experiment] = []
    begun: set[int] = set()  # by identity, since files in two folders may have the same name

    def put(experiment: Experiment) -> None:
        if id(experiment) not in begun:
            begun.add(id(experiment))
            for name in experiment.rows_from:
                if name in named:
                    put(named[name])
            arranged.append(experiment)

    for experiment in experiments:
        put(experiment)
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
) -> Generator[tuple[Experiment, ExperimentRun], None, None]:
    """Run the pending trials of experiments, or `only` those with these ids; yield experiments as they end.

    New rows go to each experiment's own folder below `root`. Times and memory are estimated from the rows
    there and below `published`. An error ends its experiment, and the others continue; an EngineError is
    raised.
    """
    access = replace(engine.options.access, progress=observer.downloads())

    def chosen(experiment: Experiment) -> list[Trial]:
        trials = planned(experiment, access)
        _say_edited(trials, rows_of(experiment, root))
        return [trial for trial in trials if only is None or trial.id in only]

    parts = {
        ExperimentRun(
            experiment.name,
            root / experiment.name,
            partial(chosen, experiment),
            partial(rows_of, experiment, root),
            partial(rows_of, experiment, published) if published else dict,
            experiment.rows_from,
        ): experiment
        for experiment in experiments
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
    part = ExperimentRun("", folder, lambda: list(trials), rows or partial(read_rows, folder))
    with closing(Scheduler([part], engine, observer).run()) as running:
        next(running)
    if part.error:
        raise part.error
    return read_rows(folder)
