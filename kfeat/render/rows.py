"""Rows one by one: a table for the terminal, CSV, Parquet and lines of JSON."""

import io
import json
from collections.abc import Sequence
from typing import Any

from kfeat.analysis.cells import PHASES
from kfeat.analysis.records import Record, column, columns, frame
from kfeat.errors import StoreError
from kfeat.experiments.quantities import QUANTITIES
from kfeat.render.escapes import csv_text
from kfeat.render.terminal import paragraph, table
from kfeat.render.text import value_text

_ALWAYS = ("id", "status")  # columns of the table though all rows agree in them
# Of the seconds, the table has those that every table has: CPU time of mapping, training and testing.
_SECONDS = [column(QUANTITIES[phase]) for phase in PHASES]


def render_rows(records: Sequence[Record], form: str, width: int | None = None) -> bytes:
    """Return the records as `table`, `csv`, `parquet` or `jsonl`; a terminal has `width` characters a line.

    CSV, Parquet and JSON have every column, at full precision. Raises StoreError for Parquet where the
    package that writes it is not there.
    """
    if form == "table":
        return (_table(records, width) + "\n").encode()
    if form == "jsonl":
        return "".join(json.dumps(one, ensure_ascii=False) + "\n" for one in records).encode()
    return _parquet(records) if form == "parquet" else _csv(records)


def _csv(records: Sequence[Record]) -> bytes:
    found = frame(records).rename(columns=csv_text)
    texts: list[str] = list(found.select_dtypes("string"))
    found[texts] = found[texts].map(csv_text, na_action="ignore")
    return found.to_csv(index=False, lineterminator="\n").encode()


def _parquet(records: Sequence[Record]) -> bytes:
    try:
        import pyarrow  # noqa: F401 (pandas takes it; its own words for a missing one are many)
    except ImportError:
        raise StoreError(
            "Parquet is written by pyarrow, which is not installed; `pip install pyarrow` adds it"
        ) from None
    out = io.BytesIO()
    frame(records).to_parquet(out, engine="pyarrow", index=False)
    return out.getvalue()


def _table(records: Sequence[Record], width: int | None) -> str:
    """Return the columns in which rows differ as a table, and below it in a sentence what all have."""
    if not records:
        return "no rows"
    there = _for_reading(columns(records))
    shared = [key for key in there if key not in _ALWAYS and _same(key, records)]
    shown = [key for key in there if key not in shared]
    lines = [[_text(key, one) for key in shown] for one in records]
    numbers = [i for i, key in enumerate(shown) if _is_number(key, records)]
    words = [i for i in range(len(shown)) if i not in numbers]
    said = [f"{key} = {_text(key, records[0])}" for key in shared]
    parts = [table(shown, lines, width, words, numbers)]
    if said and len(records) > 1:
        parts.append(paragraph(f"the same in all {len(records)} rows: {', '.join(said)}", "", width))
    elif said:
        parts += [paragraph(line, "", width) for line in said]
    return "\n\n".join(parts[:2]) + "".join(f"\n{line}" for line in parts[2:])


def _for_reading(keys: Sequence[str]) -> list[str]:
    """Return the columns without those that others say as well."""
    parents = {key.rpartition(".")[0] for key in keys}
    told = {"cell", "error_rate" if "accuracy" in keys else ""}
    told |= {key for key in parents if key.startswith("protocol.")}
    told |= {key for key in keys if key.startswith("seconds.") and key not in _SECONDS}
    return [key for key in keys if key not in told]


def _same(key: str, records: Sequence[Record]) -> bool:
    return all(key in one and one[key] == records[0].get(key) for one in records)


def _is_number(key: str, records: Sequence[Record]) -> bool:
    values = [one[key] for one in records if key in one]
    return all(isinstance(value, int | float) and not isinstance(value, bool) for value in values)


_DECLARED = {column(quantity): quantity for quantity in QUANTITIES.values()}


def _text(key: str, one: Record) -> str:
    """Return a value as tables write it: quantities with their digits, truth values as yes and no."""
    value: Any = one.get(key)
    if isinstance(value, int | float) and not isinstance(value, bool) and key in _DECLARED:
        return _DECLARED[key].text(value)
    return value_text(value)
