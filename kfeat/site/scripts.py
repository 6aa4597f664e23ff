"""Data for the pages' programs: scripts that a page loads, since a page in a file may fetch nothing.

A script is `kfeat.put(NAME, JSON)`; long data are their JSON deflated (RFC 1950), as base64. The rows of a
config stand by columns: one that has the same value in all rows says it once, one whose value depends on the
cell only says it once per cell.
"""

import json
import zlib
from base64 import b64encode
from collections.abc import Sequence
from itertools import accumulate
from typing import Any

from kfeat.analysis.cells import Cell
from kfeat.analysis.names import cell_names
from kfeat.analysis.standing import Standing
from kfeat.experiments.row import Row
from kfeat.render.explanation import row_sections
from kfeat.site import links

_PREFIX = 8  # hexadecimal digits of an id in the index


def script(name: str, value: Any) -> str:
    """Return a script that hands over a value; no text in it can end the script or break a line."""
    text = _json([name, value])
    for sign in "<\u2028\u2029":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return f"kfeat.put(...{text});\n"


def packed_script(name: str, value: Any) -> str:
    """Return a script that hands over a long value in about a third of its size."""
    return script(name, {"deflated": b64encode(zlib.compress(_json(value).encode(), 9)).decode()})


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def index_script(standings: Sequence[Standing]) -> str:
    """Return the index of rows: for each config its file, and the beginnings of its ids, joined."""
    found = {
        one.experiment.name: [
            links.script(one.experiment.name),
            "".join(row["id"][:_PREFIX] for cell in one.cells for row in cell.there),
        ]
        for one in standings
        if one.has_rows
    }
    return script("index", {"length": _PREFIX, "configs": found})


def rows_script(standing: Standing) -> str:
    """Return the rows of a config with all that they say, and what rests on each of its cells."""
    experiment = standing.experiment
    cells, names = [cell for cell in standing.cells if cell.there], cell_names(standing.cells)
    value = {
        "title": experiment.title,
        "path": experiment.path.as_posix(),
        "page": links.section(experiment),
        "cells": [[cell.trial.cell, names[id(cell)], len(cell.there)] for cell in cells],
        "uses": _uses(standing, cells),
        "columns": _columns(cells),
    }
    return packed_script(f"rows {experiment.name}", value)


def _columns(cells: Sequence[Cell]) -> list[list[Any]]:
    """Return each column as [section, key, how, values]; `how` is all, cell or row."""
    found: dict[tuple[str, str], list[Any]] = {}
    sizes = [len(cell.there) for cell in cells]
    rows = [row for cell in cells for row in cell.there]
    done_first = sorted(enumerate(rows), key=lambda one: one[1]["status"] != "done")  # they have all sections
    for at, row in done_first:
        for place, value in _flat(row).items():
            found.setdefault(place, [None] * len(rows))[at] = value
    return [[*place, *_packed(values, sizes)] for place, values in found.items()]


def _flat(row: Row) -> dict[tuple[str, str], Any]:
    first = {("trial", "id"): row["id"], ("trial", "status"): row["status"]}
    if "reason" in row:
        first["trial", "reason"] = row["reason"]
    if "predictions" in row:
        first["trial", "predictions"] = row["predictions"]
    sections = row_sections(row).items()
    return first | {(title, key): value for title, lines in sections for key, value in lines.items()}


def _packed(values: list[Any], sizes: Sequence[int]) -> tuple[str, Any]:
    if len(set(values)) == 1:
        return "all", values[0]
    starts = [end - size for end, size in zip(accumulate(sizes), sizes, strict=True)]
    parts = [values[start : start + size] for start, size in zip(starts, sizes, strict=True)]
    if all(len(set(part)) == 1 for part in parts):
        return "cell", [part[0] for part in parts]
    return "row", values


def _uses(standing: Standing, cells: Sequence[Cell]) -> dict[str, Any]:
    """Return the printed numbers and the claims with their verdicts, and by cell those that rest on it."""
    home = links.section(standing.experiment)
    said: list[list[str]] = []
    by_cell: dict[str, list[int]] = {cell.trial.cell: [] for cell in cells}

    def add(words: list[str], holders: set[str]) -> None:
        if there := sorted(holders & by_cell.keys()):
            for cell in there:
                by_cell[cell].append(len(said))
            said.append(words)

    for item in standing.numbers:
        add([f"printed number, {item.number.where}", item.verdict, home], _cells(item.cells))
    for i, judged in enumerate(standing.claims, start=1):
        claim = judged.claim
        address = links.claim(standing.experiment.name, claim.id or f"claim-{i}")
        holders = _cells(cell for case in judged.cases for cell in case.cells)
        add([f"claim {i}: {claim.text}", judged.verdict, address], holders)
    return {"said": said, "cells": [by_cell[cell.trial.cell] for cell in cells]}


def _cells(cells: Any) -> set[str]:
    return {cell.trial.cell for cell in cells}
