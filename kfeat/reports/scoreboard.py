"""The scoreboard of `kfeat check`: the verdicts on one experiment as text."""

from collections.abc import Sequence
from pathlib import Path
from textwrap import fill

from tabulate import tabulate

from kfeat.reports.cells import ACCURACY, Cell
from kfeat.reports.names import cell_name
from kfeat.reports.standing import Standing
from kfeat.reports.verdict import FALSE_ALARM, FLIP_SHARE, RELATIVE_ROUNDING, Comparison
from kfeat.reports.verdict_tables import (
    CLAIM_HEADERS,
    NUMBER_HEADERS,
    claim_lines,
    claim_notes,
    number_lines,
    number_notes,
)

WIDTH = 118


def scoreboard(standing: Standing, folder: Path, *, published: bool) -> str:
    """Return the verdicts on one experiment: on numbers, claims and published cells, and what is missing."""
    experiment, cells = standing.experiment, standing.cells
    if not standing.has_rows:
        return f"{experiment.title}: no rows in {folder}; `kfeat run {experiment.path}` makes them"
    lines = [experiment.title, *_numbers(standing), *_claims(standing)]
    nothing = ["", "against the published rows: none are published"]
    lines += _against_published(standing) if published else nothing
    lines += _failed(standing)
    lines += [_missing(cell, cells) for cell in cells if not cell.rows and not cell.failed]
    return "\n".join(lines) + "\n"


def rerun_scoreboard(standing: Standing) -> str:
    """Return how trials that were run again compare with their published rows."""
    return "\n".join([standing.experiment.title, *_against_published(standing), *_failed(standing)]) + "\n"


def paragraph(text: str, indent: str = "  ") -> str:
    """Return the text broken at the width of a terminal, its further lines indented deeper."""
    return fill(text, WIDTH, initial_indent=indent, subsequent_indent=indent + "  ")


def _table(lines: Sequence[Sequence[str]], headers: Sequence[str], widths: Sequence[int | None]) -> str:
    return tabulate(lines, headers, disable_numparse=True, maxcolwidths=list(widths))


def _numbers(standing: Standing) -> list[str]:
    if standing.experiment.reported is None:
        return []
    headers = ("against the paper", *NUMBER_HEADERS[1:])
    table = _table(number_lines(standing), headers, [28, None, None, None, None, None, 12, 12])
    return ["", table, *map(paragraph, number_notes(standing))]


def _claims(standing: Standing) -> list[str]:
    if not standing.claims:
        return []
    table = _table(claim_lines(standing), CLAIM_HEADERS, [38, 11, 33, 14, 14])
    return ["", table, *map(paragraph, claim_notes(standing))]


def _against_published(standing: Standing) -> list[str]:
    """Return the comparison with the published rows, and what it rests on."""
    lines = [
        [cell_name(item.cell, standing.cells), *_change(item), item.test, item.verdict]
        for item in standing.comparisons
    ]
    headers = ["against the published rows", "change", "limit", "test", "verdict"]
    note = (
        f"false alarms: at most {FALSE_ALARM:g} a check, if rounding flips at most {100 * FLIP_SHARE:g} % of "
        f"the predictions and moves an error by at most {100 * RELATIVE_ROUNDING:g} % of it"
    )
    return ["", _table(lines, headers, [40, None, None, 34, None]), paragraph(note, "")]


def _failed(standing: Standing) -> list[str]:
    return [paragraph(f"failed: trial {row['id']}: {row['reason']}", "") for row in standing.failed]


def _missing(cell: Cell, cells: Sequence[Cell]) -> str:
    why = f", stopped: {cell.stopped[0]['reason']}" if cell.stopped else ""
    return paragraph(f"missing: {cell_name(cell, cells)}{why}", "")


def _change(item: Comparison) -> tuple[str, str]:
    style = ".3f" if item.cell.metric is ACCURACY else ".2g"
    return f"{item.change:+{style}}", f"±{item.limit:{style}}"
