"""Data for the pages' programs: scripts that a page loads, since a page in a file may fetch nothing.

A script is `kfeat.put(NAME, JSON)`; long data are their JSON deflated (RFC 1950), as base64. The rows of a
config stand by columns: one that has the same value in all rows says it once, one whose value depends on the
cell only says it once per cell.
"""

import json
import zlib
from base64 import b64encode
from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import Any

from kfeat.analysis.cells import Cell, by_setting
from kfeat.analysis.judgement import Judgement
from kfeat.analysis.names import Names
from kfeat.data.sources import dataset_name
from kfeat.experiments.config import EXACT
from kfeat.experiments.quantities import QUANTITIES
from kfeat.experiments.row import Row
from kfeat.render.rows import row_sections
from kfeat.site import links

_PREFIX = 8  # hexadecimal digits of an id in the index
# What can stand on an axis of the explorer, those first that it shows where nothing is chosen.
AXES = (
    "fit", "n_components", "accuracy", "relative_error", "kernel_error", "map", "train", "test",
    "fit_and_sample", "live", "memory", "n_train",
)  # fmt: skip


def script(name: str, value: Any) -> str:
    """Return a script that hands over a value; no text in it can end the script or break a line."""
    text = _json([name, value])
    for sign in "<\u2028\u2029":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return f"kfeat.put(...{text});\n"


def _packed_script(name: str, value: Any) -> str:
    """Return a script that hands over a long value in about a third of its size."""
    return script(name, {"deflated": b64encode(zlib.compress(_json(value).encode(), 9)).decode()})


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def index_script(judgements: Sequence[Judgement]) -> str:
    """Return the index of rows: for each config its file, and the beginnings of its ids, joined."""
    found = {
        one.experiment.name: [
            links.script(one.experiment.name),
            "".join(row["id"][:_PREFIX] for cell in one.cells for row in cell.all_rows),
        ]
        for one in judgements
        if one.has_rows
    }
    return script("index", {"length": _PREFIX, "configs": found})


def explorer_script(judgements: Sequence[Judgement]) -> str:
    """Return the points of the explorer: each cell with rows, what it was run on, and its values on the axes.

    Names stand once, points refer to them.
    """
    lists: dict[str, list[str]] = {"configs": [], "datasets": [], "kernels": [], "maps": [], "series": []}
    points = []
    for one in judgements:
        for peers in by_setting(one.cells):
            for cell in (cell for cell in peers if cell.rows):
                words = (
                    one.experiment.name,
                    dataset_name(cell.trial.source),
                    cell.trial.kernel.formula,
                    cell.trial.map.name if cell.trial.map else EXACT,
                    Names(peers, ["n_components"]).method(cell),
                )
                places = [_place(known, word) for known, word in zip(lists.values(), words, strict=True)]
                points.append([*places, cell.trial.cell, one.names.of(cell), len(cell.rows), *_values(cell)])
    axes = [[name, QUANTITIES[name].heading, QUANTITIES[name].better or ""] for name in AXES]
    return _packed_script("cells", {**lists, "axes": axes, "points": points})


def _place(known: list[str], word: str) -> int:
    """Return where a word stands in a list, which it joins if it is new."""
    if word not in known:
        known.append(word)
    return known.index(word)


def _values(cell: Cell) -> list[float | None]:
    """Return the means on the axes to four digits; seconds count only where they were timed."""
    found = [cell.mean(name) for name in AXES]
    while found and found[-1] is None:
        found.pop()
    return [None if value is None else float(f"{value:.4g}") for value in found]


def rows_script(judgement: Judgement) -> str:
    """Return the rows of a config with all that they say, and what rests on each of its cells."""
    experiment = judgement.experiment
    cells = [cell for cell in judgement.cells if cell.all_rows]
    value = {
        "title": experiment.title,
        "path": experiment.path.as_posix(),
        "page": links.section(experiment),
        "cells": [[cell.trial.cell, judgement.names.of(cell), len(cell.all_rows)] for cell in cells],
        "uses": _uses(judgement, cells),
        "columns": _columns(cells),
    }
    return _packed_script(f"rows {experiment.name}", value)


def _columns(cells: Sequence[Cell]) -> list[list[Any]]:
    """Return each column as [section, key, how, values]; `how` is all, cell or row."""
    found: dict[tuple[str, str], list[Any]] = {}
    sizes = [len(cell.all_rows) for cell in cells]
    rows = [row for cell in cells for row in cell.all_rows]
    done_first = sorted(enumerate(rows), key=lambda one: one[1]["status"] != "done")  # they have all sections
    for at, row in done_first:
        for place, value in _flat(row).items():
            found.setdefault(place, [None] * len(rows))[at] = value
    return [[*place, *_packed(values, sizes)] for place, values in found.items()]


def _flat(row: Row) -> dict[tuple[str, str], Any]:
    first = {("trial", key): row[key] for key in ("id", "status", "reason", "predictions") if key in row}
    sections = row_sections(row).items()
    return first | {(title, key): value for title, lines in sections for key, value in lines.items()}


def _packed(values: list[Any], sizes: Sequence[int]) -> tuple[str, Any]:
    if len(set(values)) == 1:
        return "all", values[0]
    parts = [values[end - size : end] for end, size in zip(accumulate(sizes), sizes, strict=True)]
    if all(len(set(part)) == 1 for part in parts):
        return "cell", [part[0] for part in parts]
    return "row", values


def _uses(judgement: Judgement, cells: Sequence[Cell]) -> dict[str, Any]:
    """Return the printed numbers and the claims with their verdicts, and by cell those that rest on it."""
    name, home = judgement.experiment.name, links.section(judgement.experiment)
    uses: list[tuple[list[str], Iterable[Cell]]] = [
        ([f"printed number, {item.number.where}", item.verdict, home], item.cells)
        for item in judgement.numbers
    ]
    for i, judged in enumerate(judgement.claims, start=1):
        address = links.claim(name, judged.claim.id or f"claim-{i}")
        held = [cell for case in judged.cases for cell in case.cells]
        uses.append(([f"claim {i}: {judged.claim.text}", judged.verdict, address], held))
    known = {cell.trial.cell for cell in cells}
    found = [(words, there) for words, held in uses if (there := {one.trial.cell for one in held} & known)]
    by_cell = [[i for i, (_, there) in enumerate(found) if cell.trial.cell in there] for cell in cells]
    return {"said": [words for words, _ in found], "cells": by_cell}
