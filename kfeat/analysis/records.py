"""Rows as flat records: every parameter, every quantity, and how the trial was run."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from kfeat.experiments.machine import MACHINE
from kfeat.experiments.quantities import QUANTITIES, Quantity
from kfeat.experiments.row import Row, counts_as_timed
from kfeat.experiments.selectors import flat, learnt

if TYPE_CHECKING:
    import pandas as pd

Record = dict[str, Any]


def record(row: Row) -> Record:
    """Return the row by flat keys; a value that it does not have has no key.

    Parameters have the keys of a config's `for:`, and quantities their names. Seconds have the prefix
    `seconds.`, since `map` is both a parameter and a time. `timed` says whether they count.
    """
    environment = row["environment"]
    first = {key: row.get(key) for key in ("id", "status", "reason", "limit_s", "repeat", "seed")}
    numbers: Record = {}
    if row["status"] == "done":
        numbers = {column(one): one.read(row) for one in QUANTITIES.values()}
        numbers["converged"] = (row.get("solve") or {}).get("converged")
    made = {key: row.get(key) for key in ("threads", "verified", "fingerprint", "cell")}
    made |= {"timed": counts_as_timed(row)}
    made |= {key: environment.get(key) for key in MACHINE}
    made |= {f"packages.{name}": version for name, version in environment["packages"].items()}
    # A parameter may be null and stays a column; a quantity that is null is missing in the row.
    return _known(first) | flat(row) | dict(learnt(row)) | _known(numbers) | _known(made)


def _known(found: Record) -> Record:
    return {key: value for key, value in found.items() if value is not None}


def column(quantity: Quantity) -> str:
    """Return the key of a quantity in a record."""
    return f"seconds.{quantity.name}" if quantity.timed else quantity.name


def columns(records: Iterable[Record]) -> list[str]:
    """Return the keys of all records; each follows the key before it in the first record that has it."""
    found: list[str] = []
    for one in records:
        if one.keys() <= set(found):
            continue
        before = -1
        for key in one:
            if key in found:
                before = found.index(key)
            else:
                before += 1
                found.insert(before, key)
    return found


def frame(records: Sequence[Record]) -> "pd.DataFrame":
    """Return the records as a data frame, one line each; a value that a record lacks is missing (NA).

    A column has numbers, booleans or text. If these are mixed, or if a value is a list, a mapping or an
    integer of more than 64 bits, the column has their JSON.
    """
    import json

    import pandas as pd

    def text(value: Any) -> str:
        return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)

    table: dict[str, list[Any]] = {}
    for key in columns(records):
        values = [one.get(key) for one in records]
        kinds = {_kind(value) for value in values if value is not None}
        plain = len(kinds) == 1 and "nested" not in kinds
        table[key] = values if plain else [None if value is None else text(value) for value in values]
    return pd.DataFrame(table).convert_dtypes()


def _kind(value: Any) -> str:
    if isinstance(value, bool):
        return "truth"
    if isinstance(value, float) or (isinstance(value, int) and -(2**63) <= value < 2**63):
        return "number"
    return "text" if isinstance(value, str) else "nested"
