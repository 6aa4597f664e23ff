"""Rows one by one: as flat records with all that they say, and one trial with all that rests on it."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kfeat.analysis.judgement import Judgement, judge_experiments, own_or_published
from kfeat.experiments.clock import MACHINE
from kfeat.experiments.config import Experiment
from kfeat.experiments.quantities import QUANTITIES, Quantity
from kfeat.experiments.row import ROWS, Row, counts_as_timed, folders_with_rows, precedence, read_rows
from kfeat.experiments.selectors import flat, ids_beginning, learnt_values

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
    return _known(first) | flat(row) | dict(learnt_values(row)) | _known(numbers) | _known(made)


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


@dataclass(frozen=True)
class Explanation:
    """A trial: its rows with their folders, the row that counts first, and the verdicts of the configs."""

    identity: str
    rows: Sequence[tuple[Path, Row]]
    judgements: Sequence[Judgement]


def explain(prefix: str, experiments: Sequence[Experiment], out: Path, results: Path) -> Explanation:
    """Return the explanation of the trial whose id begins with `prefix`.

    Rows below `out` come before equally good ones below `results`. Raises ConfigError if no row and no plan
    has such an id, or several have.
    """
    rows = [found for root in (out, results) for found in _rows(root, prefix)]
    plans = [(one, {trial.id for trial in own_or_published(one, out, results)[0]}) for one in experiments]
    ids = {row["id"] for _, row in rows}.union(*(plan for _, plan in plans))
    where = f"{out}, {results} and the configs"
    (identity,) = ids_beginning([prefix], ids, where)
    own = sorted(
        (one for one in rows if one[1]["id"] == identity), key=lambda one: precedence(one[1]), reverse=True
    )
    judgements = judge_experiments([one for one, plan in plans if identity in plan], out, results)
    return Explanation(identity, own, judgements)


def _rows(root: Path, prefix: str) -> list[tuple[Path, Row]]:
    """Return the rows below a folder whose ids begin with `prefix`, each with its folder."""
    mark = re.compile(rb'"id": ?"' + re.escape(prefix.encode()))
    # To save time, only files with such an id are read row by row.
    files = [folder / ROWS for folder in folders_with_rows(root)]
    paths = [path for path in files if path.is_file() and mark.search(path.read_bytes())]
    return [
        (path.parent, row)
        for path in paths
        for identity, row in read_rows(path.parent).items()
        if identity.startswith(prefix)
    ]
