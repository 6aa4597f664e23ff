"""Rows as flat records and as a data frame."""

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kfeat.analysis.judgement import own_or_published
from kfeat.errors import StoreError
from kfeat.experiments.clock import MACHINE
from kfeat.experiments.config import load_experiment
from kfeat.experiments.plan import Trial
from kfeat.experiments.quantities import MEASURED, QUANTITIES, Quantity
from kfeat.experiments.row import Row, counts_as_timed, precedence
from kfeat.experiments.selectors import flat, learnt_values
from kfeat.experiments.shipped import config_files, configs_below, existing, published_folder
from kfeat.experiments.store import ROWS, folders_with_rows, gathered_rows

if TYPE_CHECKING:
    import pandas as pd

Record = dict[str, Any]


def read_rows(place: str | Path) -> "pd.DataFrame":
    """Return rows as a data frame with the columns of `kfeat rows --format csv`, one line per trial.

    Parameters
    ----------
    place : str or Path
        A folder with rows, such as `runs`: all rows below it, of each trial the best. Or a config or a
        folder of configs, as the commands take them, such as `adult_poly4`: the rows of its trials in
        `runs`, or if there are none, the published ones.

    Returns
    -------
    pandas.DataFrame
        Its columns are numbers, booleans or text. A value that a row lacks is missing (NA).

    Raises
    ------
    ConfigError
        If there is no such folder or config, or the config is wrong.
    StoreError
        If there are no rows, or a file of rows is damaged.

    Examples
    --------
    >>> import kfeat
    >>> rows = kfeat.read_rows("adult_poly4")
    >>> done = rows[rows["status"] == "done"]
    >>> done.groupby("map")["accuracy"].mean().round(1)
    map
    exact               79.4
    random_maclaurin    84.8
    tensor_sketch       82.3
    Name: accuracy, dtype: Float64
    """
    path = existing(Path(place))
    if path.name == ROWS:
        raise StoreError(f"{place}: expected the folder of the rows; give {path.parent}")
    if folders := folders_with_rows(path):
        rows = list(gathered_rows(Path(), map(str, reversed(folders))).values())
    elif path.is_dir() and not configs_below(path):
        raise StoreError(f"{place}: expected rows ({ROWS}) or configs below this folder, found neither")
    else:
        rows = _rows_of_configs(path)
    return frame([record(row) for row in rows])


def _rows_of_configs(path: Path) -> list[Row]:
    experiments = [load_experiment(file) for file in config_files([path])]
    out, results = Path("runs"), published_folder(Path("results"), experiments)
    rows = planned_rows(own_or_published(experiment, out, results)[:2] for experiment in experiments)
    if not rows:
        raise StoreError(f"no rows of {path} in {out} and {results}; `kfeat run {path}` makes them")
    return rows


def planned_rows(plans: Iterable[tuple[Sequence[Trial], Mapping[str, Row]]]) -> list[Row]:
    """Return the rows of planned trials; of a trial that is planned several times, the better row."""
    best: dict[str, Row] = {}
    for trials, rows in plans:
        for row in (rows[trial.id] for trial in trials if trial.id in rows):
            if row["id"] not in best or precedence(row) > precedence(best[row["id"]]):
                best[row["id"]] = row
    return list(best.values())


def record(row: Row) -> Record:
    """Return the row by flat keys; a value that it does not have has no key.

    Parameters have the keys of a config's `for:`, and quantities their names. Seconds have the prefix
    `seconds.`, since `map` is both a parameter and a time. `timed` says whether they count.
    """
    environment = row["environment"]
    first = {key: row.get(key) for key in ("id", "status", "reason", "limit_s", "repeat", "seed")}
    numbers: Record = {}
    if row["status"] == "done":
        numbers = {column(quantity): quantity.read(row) for quantity in QUANTITIES.values()}
        numbers |= {f"{MEASURED}{name}": number for name, number in row.get("measured", {}).items()}
        numbers["converged"] = (row.get("solve") or {}).get("converged")
    made = {key: row.get(key) for key in ("threads", "verified", "fingerprint", "cell")}
    made |= {"timed": counts_as_timed(row)}
    made |= {key: environment.get(key) for key in MACHINE}
    made |= {f"packages.{name}": version for name, version in environment["packages"].items()}
    # A parameter may be null and stays a column; a quantity that is null is missing in the row.
    return _known(first) | flat(row) | dict(learnt_values(row)) | _known(numbers) | _known(made)


def _known(values: Record) -> Record:
    return {key: value for key, value in values.items() if value is not None}


def column(quantity: Quantity) -> str:
    """Return the key of a quantity in a record."""
    return f"seconds.{quantity.name}" if quantity.timed else quantity.name


def columns(records: Iterable[Record]) -> list[str]:
    """Return the keys of all records; each follows the key before it in the first record that has it."""
    keys: list[str] = []
    for row in records:
        if row.keys() <= set(keys):
            continue
        before = -1
        for key in row:
            if key in keys:
                before = keys.index(key)
            else:
                before += 1
                keys.insert(before, key)
    return keys


def frame(records: Sequence[Record]) -> "pd.DataFrame":
    """Return the records as a data frame, one line each; a value that a record lacks is missing (NA).

    A column has numbers, booleans or text. If these are mixed, or if a value is a list, a mapping or an
    integer of more than 64 bits, the column has their JSON.
    """
    import pandas as pd

    table: dict[str, list[Any]] = {}
    for key in columns(records):
        values = [record.get(key) for record in records]
        kinds = {_kind(value) for value in values if value is not None}
        if len(kinds) > 1 or "nested" in kinds:
            values = [
                value if value is None or isinstance(value, str) else json.dumps(value, ensure_ascii=False)
                for value in values
            ]
        table[key] = values
    return pd.DataFrame(table).convert_dtypes()


def _kind(value: Any) -> str:
    if isinstance(value, bool):
        return "truth"
    if isinstance(value, float) or (isinstance(value, int) and -(2**63) <= value < 2**63):
        return "number"
    return "text" if isinstance(value, str) else "nested"
