"""The hash of each dataset's content: from the data for a run; for a report from rows, if these tell it."""

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
    """Return the content hash of each dataset; data that nobody has pinned are fetched and read for that.

    Raises ConfigError where a solver is for another task than the data.
    """
    check_tasks(experiment.settings, lambda source: known_task(source) or load_raw(source, **access).task)
    return {
        source: fingerprint(source) or load_raw(source, **access).fingerprint
        for source in experiment.datasets
    }


def plan_from_rows(
    experiment: Experiment, rows: Iterable[Row], known: Mapping[Source, str] | None = None
) -> list[Trial]:
    """Return the experiment's trials without a look at any data, but where rows alone do not tell which.

    A dataset's content hash is the one in `known`, else the one that is pinned, else that of one's own file
    as it lies there if the cache knows it, else the one that its rows name. Where these name several, one's
    own file is read for that; if it cannot be, the latest rows decide, which come last. Where there is none,
    no row can belong to the dataset, and its trials have no hash.
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
    """Return the content hash that needs no rows: stated, or of data to be generated or of a file's own."""
    if isinstance(source, str):
        return entry(source).fingerprint
    try:
        return fingerprint(source)
    except DataError:  # no cache can be read: rows tell then
        return None


def _named(name: str, source: dict[str, Any] | None) -> str:
    """Return a key of the source; an option that is not set, and may be of a newer kfeat, does not count."""
    return f"{name} {source and {key: value for key, value in source.items() if value is not None}}"


def _key(row: Row) -> str:
    """Return the key of a row's source; rows of an older schema, without a seed, know its name alone."""
    return f"{row['dataset']} of schema 1" if row["seed"] is None else _named(row["dataset"], row["source"])


def _named_by(named: Mapping[str, Iterable[str]], source: Source) -> str | None:
    """Return the hash that the last rows name, with a warning where others name another."""
    name = dataset_name(source)
    contents = [*(named.get(_named(name, described(source))) or named.get(f"{name} of schema 1") or ())]
    if len(contents) < 2:
        return contents[0] if contents else None
    why = "nobody has pinned which is meant"
    if isinstance(source, FileSource):
        try:
            return load_raw(source).fingerprint
        except DataError as error:
            why = f"the file that tells which is meant cannot be read ({error})"
    say_once(
        logging.WARNING,
        f"{name}: its rows are of {len(contents)} different contents, and {why}; those of the content that "
        "ran last are taken",
    )
    return contents[-1]
