"""The hash of each dataset's content: from the data for a run, from configs and rows for a report."""

from collections.abc import Iterable, Mapping
from typing import Any

from kfeat.data import FileSource, PinnedSource, Source, fingerprint, load_raw
from kfeat.data.registry import entry
from kfeat.experiments.compatibility import check_tasks, known_task
from kfeat.experiments.load import Experiment
from kfeat.experiments.plan import Trial, dataset_name, described, plan
from kfeat.experiments.row import Row


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
    """Return the experiment's trials without a look at any data.

    A dataset's content hash is the one in `known`, else the one that is pinned, else the one that the latest
    of its rows names. Where there is none, no row can belong to the dataset, and its trials have no hash.
    """
    named = {_named(row["dataset"], row["source"]): row["fingerprint"] for row in rows}
    found = {
        source: (known or {}).get(source) or _pinned(source) or _named_by(named, source)
        for source in experiment.datasets
    }
    return plan(experiment, {source: content for source, content in found.items() if content is not None})


def _pinned(source: Source) -> str | None:
    """Return the content hash that the registry or the config states, or that of data to be generated."""
    if isinstance(source, str):
        return entry(source).fingerprint
    if isinstance(source, FileSource | PinnedSource):
        return source.fingerprint
    return fingerprint(source)


def _named(name: str, source: dict[str, Any] | None) -> str:
    """Return a key of the source; an option that is not set, and may be of a newer kfeat, does not count."""
    return f"{name} {source and {key: value for key, value in source.items() if value is not None}}"


def _named_by(named: Mapping[str, str], source: Source) -> str | None:
    """Return the hash that rows name; those of an older schema say nothing of a source but its name."""
    name = dataset_name(source)
    return named.get(_named(name, described(source))) or named.get(_named(name, None))
