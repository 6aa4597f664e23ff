"""From a file of data to the text of its first config; the config is read back before it is given out."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kfeat.data import load_raw
from kfeat.data.reading import Reading
from kfeat.data.registry import registry
from kfeat.data.sources import validated
from kfeat.errors import ConfigError
from kfeat.experiments.names import experiment_name
from kfeat.parameters import did_you_mean
from kfeat.tuning.columns import Columns, columns_of
from kfeat.tuning.first_choices import check_target, first_choices
from kfeat.tuning.first_config import config_text, read_back

How = Mapping[str, Any]  # what a person says of a file: options of a config's `dataset`
NOTHING_SAID: How = {}


@dataclass(frozen=True)
class Questions:
    """What a person is asked about some data: which of its `columns` is the target, `likely` this one."""

    stem: str
    columns: tuple[str, ...]
    likely: str | None


def questions(data: str, target: str | None, how: How = NOTHING_SAID) -> Questions:
    """Return what to ask about a file, or about a registered dataset, which has no open question."""
    stem = re.sub(r"[^\w.-]", "_", Path(data).name.split(".")[0]).lstrip(".-") or "config"
    if is_registered(data) or target is not None:
        return Questions(stem, (), None)
    columns = columns_of(_file(data), validated(Reading, dict(how), "--set"))
    return Questions(stem, columns.names if columns else (), columns.likely_target if columns else None)


def is_registered(data: str) -> bool:
    """Tell whether DATA is the name of a dataset; a file of that name comes first."""
    return data in registry() and not Path(data).exists()


def new_config(
    data: str, path: Path, *, target: str | None, test: str | None, task: Any, kernel: str,
    how: How = NOTHING_SAID, **access: Any,
) -> str:  # fmt: skip
    """Return the text of a first config at `path` for a file, or for a registered dataset.

    `how` are options with which the file is read; what they leave open is found out.

    Raises ConfigError where no target is named, the target has a single class or is of another task, and
    DataError where the file cannot be read.
    """
    experiment_name(path.resolve())  # a name that no folder of rows can have is refused first
    columns: Columns | None = None
    dataset: Any = data
    if is_registered(data):
        if target or test or task or how:
            raise ConfigError(
                f"--target, --test, --task and --set belong to files of yours; {data} is a known dataset"
            )
    else:
        reading = validated(Reading, dict(how), "--set")
        columns = columns_of(_file(data), reading)
        target = _target(columns, target, data)
        said = reading.model_dump(mode="json", exclude_none=True)
        dataset = {**_dataset(data, columns, target, test, task), **said}
    raw = load_raw(dataset, **access)
    check_target(raw, target, task)
    words = isinstance(dataset, dict) and "categorical" in dataset
    text = config_text(raw, dataset, first_choices(raw, kernel, words), columns, path, target)
    return read_back(text)


def _file(data: str) -> Path:
    path = Path(data).expanduser()
    if not path.exists():
        near = did_you_mean(data, list(registry()))
        raise ConfigError(f"{data}: no such file, and no dataset of `kfeat data list` has this name{near}")
    return path


def _target(columns: Columns | None, target: str | None, data: str) -> str | None:
    """Return the name of the target column; None for a format whose files tell their targets themselves."""
    if columns is None:
        return target
    if target is None:
        likely = f"; perhaps --target {columns.likely_target}" if columns.likely_target else ""
        more = ", ..." * (len(columns.names) > 12)
        raise ConfigError(
            f"{data}: no target: name the column with the labels by --target; there are "
            f"{', '.join(columns.names[:12])}{more}{likely}"
        )
    if target not in columns.names:
        if re.fullmatch(r"-?\d+", target) and -len(columns.names) <= int(target) < len(columns.names):
            return columns.names[int(target)]
        near = did_you_mean(target, list(columns.names))
        raise ConfigError(f"{data}: no column '{target}'{near}; there are {', '.join(columns.names[:12])}")
    return target


def _dataset(
    data: str, columns: Columns | None, target: str | None, test: str | None, task: Any
) -> dict[str, Any]:
    """Return the config's `dataset`: what tells how the file is to be read."""
    found: dict[str, Any] = {"path": data}
    if test is not None:
        found["test"] = test
    if columns is not None:
        found["target"] = target if columns.header else int(str(target))
        found |= columns.reading.model_dump(include={"delimiter", "header", "decimal"}, exclude_none=True)
        if dropped := list(columns.useless(target)):
            found["drop"] = dropped if columns.header else [int(name) for name in dropped]
        features = columns.features(target)
        if any(column.holds == "words" for column in features):
            found["categorical"] = "one_hot"
        labels = [column for column in columns.reports if column.name == target]
        if any(column.n_missing for column in [*labels, *features]):
            found["missing"] = "mean"
    elif target is not None:
        found["target"] = target
    if task is not None:
        found["task"] = task
    return found
