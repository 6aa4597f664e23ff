"""From a file of data to the text of its first config; the config is read back before it is given out."""

import re
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kfeat.data import load_raw
from kfeat.data.registry import registry
from kfeat.errors import ConfigError
from kfeat.experiments.load import load_experiment
from kfeat.experiments.names import experiment_name
from kfeat.parameters import did_you_mean
from kfeat.tuning.columns import Columns, columns_of
from kfeat.tuning.first_choices import check_target, first_choices
from kfeat.tuning.first_config import config_text


@dataclass(frozen=True)
class Questions:
    """What a person is asked about some data: which of its `columns` is the target, `likely` this one."""

    stem: str
    columns: tuple[str, ...]
    likely: str | None


def questions(data: str, target: str | None) -> Questions:
    """Return what to ask about a file, or about a registered dataset, which has no open question."""
    stem = re.sub(r"[^\w.-]", "_", Path(data).name.split(".")[0]).lstrip(".-") or "config"
    if is_registered(data) or target is not None:
        return Questions(stem, (), None)
    columns = columns_of(_file(data))
    return Questions(stem, columns.names if columns else (), columns.likely_target if columns else None)


def is_registered(data: str) -> bool:
    """Tell whether DATA is the name of a dataset; a file of that name comes first."""
    return data in registry() and not Path(data).exists()


def new_config(
    data: str, path: Path, *, target: str | None, test: str | None, task: Any, kernel: str, **access: Any
) -> str:
    """Return the text of a first config at `path` for a file, or for a registered dataset.

    Raises ConfigError where no target is named, the target has a single class or is of another task, and
    DataError where the file cannot be read.
    """
    experiment_name(path.resolve())  # a name that no folder of rows can have is refused first
    columns: Columns | None = None
    dataset: Any = data
    if is_registered(data):
        if target or test or task:
            raise ConfigError(
                f"--target, --test and --task belong to files of yours; {data} is a known dataset"
            )
    else:
        columns = columns_of(_file(data))
        target = _target(columns, target, data)
        dataset = _dataset(data, columns, target, test, task)
    raw = load_raw(dataset, **access)
    check_target(raw, target, task)
    words = isinstance(dataset, dict) and "categorical" in dataset
    text = config_text(raw, dataset, first_choices(raw, kernel, words), columns, path, target)
    with tempfile.TemporaryDirectory() as folder:  # what is given out is a config that kfeat reads
        tried = Path(folder) / "config.yaml"
        tried.write_text(text, encoding="utf-8")
        load_experiment(tried)
    return text


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
        if columns.delimiter:
            found["delimiter"] = columns.delimiter
        if not columns.header:
            found["header"] = False
        dropped = columns.useless(target)
        if dropped:
            found["drop"] = dropped if columns.header else [int(name) for name in dropped]
        if set(columns.words) - {target, *dropped}:
            found["categorical"] = "one_hot"
        if columns.missing:  # labels are never made up: rows without one are left out
            found["missing"] = "drop" if target in columns.missing else "mean"
    elif target is not None:
        found["target"] = target
    if task is not None:
        found["task"] = task
    return found
