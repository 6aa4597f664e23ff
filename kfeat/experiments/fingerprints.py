"""The hash of each dataset's content: from the data for a run, and if possible from rows for a report."""

import logging
from collections.abc import Iterable, Mapping
from typing import Any

from kfeat.data import Source, fingerprint, load_raw
from kfeat.data.registry import entry
from kfeat.data.sources import FileSource
from kfeat.errors import DataError
from kfeat.experiments.load import Experiment
from kfeat.experiments.plan import Trial, dataset_name, described, plan
from kfeat.experiments.row import Row
from kfeat.experiments.setting import check_tasks, known_task
from kfeat.saying import say_once


def fingerprints(experiment: Experiment, **access: Any) -> dict[Source, str]:
    """Return the content hash of each dataset; data without a pinned hash are fetched and read.

    Raises ConfigError if a solver is for another task than the data.
    """
    check_tasks(experiment.settings, lambda source: known_task(source) or load_raw(source, **access).task)
    return {
        source: fingerprint(source) or load_raw(source, **access).fingerprint
        for source in experiment.datasets
    }


def plan_from_rows(
    experiment: Experiment, rows: Iterable[Row], known: Mapping[Source, str] | None = None
) -> list[Trial]:
    """Return the experiment's trials; data are read only if the rows name several contents of a file.

    A dataset's content hash is taken from `known`, else from the registry or config, else from the cache (for
    a user's own file), else from the rows. If the rows name several hashes, the user's file is read; if that
    fails, the last rows decide. Without any hash no row can belong to the dataset, and its trials have none.
    """
    named: dict[str, dict[str, None]] = {}
    for row in rows:
        contents = named.setdefault(_key(row), {})
        contents.pop(row["fingerprint"], None)
        contents[row["fingerprint"]] = None
    found = {
        source: (known or {}).get(source) or _known(source) or _named_by(named, source)
        for source in experiment.datasets
    }
    return plan(experiment, {source: content for source, content in found.items() if content is not None})


def _known(source: Source) -> str | None:
    """Return the content hash that needs no rows: a pinned one, or that of generated data or a known file."""
    if isinstance(source, str):
        return entry(source).fingerprint
    try:
        return fingerprint(source)
    except DataError:  # no cache can be read: the rows decide
        return None


def _named(name: str, source: dict[str, Any] | None) -> str:
    """Return a key of the source without options that are not set, since newer versions may add some."""
    return f"{name} {source and {key: value for key, value in source.items() if value is not None}}"


def _key(row: Row) -> str:
    """Return the key of a row's source; rows of schema 1, which have no seed, have only its name."""
    return f"{row['dataset']} of schema 1" if row["seed"] is None else _named(row["dataset"], row["source"])


def _named_by(named: Mapping[str, Iterable[str]], source: Source) -> str | None:
    """Return the hash in the last rows, with a warning if other rows have another hash."""
    name = dataset_name(source)
    contents = [*(named.get(_named(name, described(source))) or named.get(f"{name} of schema 1") or ())]
    if len(contents) < 2:
        return contents[0] if contents else None
    why = "no hash is pinned"
    if isinstance(source, FileSource):
        try:
            return load_raw(source).fingerprint
        except DataError as error:
            why = f"the file itself cannot be read ({error})"
    say_once(
        logging.WARNING,
        f"{name}: its rows come from {len(contents)} different versions of the data, and {why}; the rows of "
        "the version that ran last are used",
    )
    return contents[-1]
