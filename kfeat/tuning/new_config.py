"""From a file of data to the text of its first config; the config is read back before it is given out."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kfeat.data import load_raw
from kfeat.data.reading import Reading
from kfeat.data.registry import registry
from kfeat.errors import ConfigError
from kfeat.experiments.names import experiment_name
from kfeat.parameters import did_you_mean
from kfeat.tuning.columns import Columns, columns_of
from kfeat.tuning.first_choices import check_target, first_choices
from kfeat.tuning.first_config import config_text, read_back


@dataclass(frozen=True)
class Questions:
    """What a person is asked about some data: which of its `columns` is the target, `likely` this one."""

    stem: str
    columns: tuple[str, ...]
    likely: str | None


def questions(data: str, target: str | None, reading: Reading) -> Questions:
    """Return what to ask about a file, read as `reading` says, or a registered dataset: of that nothing."""
    stem = re.sub(r"[^\w.-]", "_", Path(data).name.split(".")[0]).lstrip(".-") or "config"
    if is_registered(data) or target is not None or reading.target is not None:
        return Questions(stem, (), None)
    columns = columns_of(_file(data), reading)
    return Questions(stem, columns.names if columns else (), columns.likely_target if columns else None)


def is_registered(data: str) -> bool:
    """Tell whether DATA is the name of a dataset; a file of that name comes first."""
    return data in registry() and not Path(data).exists()


def new_config(
    data: str, path: Path, *, target: str | None, test: str | None, task: Any, kernel: str,
    reading: Reading, **access: Any,
) -> str:  # fmt: skip
    """Return the text of a first config at `path` for a file, or for a registered dataset.

    What `reading`, the options of the file, leaves open is found out. Raises ConfigError where no target is
    named, the target has a single class or is of another task, and DataError where the file cannot be read.
    """
    experiment_name(path.resolve())  # a name that no folder of rows can have is refused first
    columns: Columns | None = None
    dataset: Any = data
    if is_registered(data):
        if target or test or task or reading.model_fields_set:
            raise ConfigError(
                f"--target, --test, --task and --set belong to files of yours; {data} is a known dataset"
            )
    else:
        columns = columns_of(_file(data), reading)
        if target is None and reading.target is not None:
            target = str(reading.target)
        target = _target(columns, target, data)
        dataset = _dataset(data, columns, target, test, task)
        said = reading.model_dump(mode="json", exclude_none=True, exclude={"target"})
        dropped = [*dataset.get("drop", []), *said.pop("drop", [])]
        dataset |= said | ({"drop": dropped} if dropped else {})
    raw = load_raw(dataset, **access)
    wrong = columns.wrong_with(target) if columns else None
    check_target(raw, target, task, wrong)
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
