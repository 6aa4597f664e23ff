"""The scoreboard of `kfeat check`: the verdicts on one experiment as text."""

from collections.abc import Sequence
from pathlib import Path

from kfeat.analysis.cells import Cell
from kfeat.analysis.comparisons import FALSE_ALARM, FLIP_SHARE, RELATIVE_ROUNDING, Comparison
from kfeat.analysis.names import cell_name
from kfeat.analysis.standing import Standing
from kfeat.experiments.quantities import SCORE
from kfeat.render.terminal import LONGEST, paragraph, table
from kfeat.render.verdict_tables import (
    BESIDE_WORDS,
    CLAIM_HEADERS,
    NUMBER_HEADERS,
    beside_headers,
    beside_lines,
    beside_notes,
    claim_lines,
    claim_notes,
    number_lines,
    number_notes,
)
from kfeat.saying import plain


def scoreboard(standing: Standing, folder: Path, *, published: bool, width: int | None = None) -> str:
    """Return the verdicts on one experiment: on numbers, claims and published cells, and what is missing.

    A terminal has `width` characters a line.
    """
    experiment, cells = standing.experiment, standing.cells
    if not standing.has_rows:
        return plain(f"{experiment.title}: no rows in {folder}; `kfeat run {experiment.path}` makes them")
    lines = [plain(experiment.title), *_numbers(standing, width), *_claims(standing, width)]
    nothing = ["", "against the published rows: none are published"]
    lines += _against_published(standing, width) if published else nothing
    lines += _failed(standing, width)
    lines += [_missing(cell, cells, width) for cell in cells if not cell.rows and not cell.failed]
    return "\n".join(lines) + "\n"


def published_scoreboard(standing: Standing, folder: Path, results: Path, width: int | None = None) -> str:
    """Return the verdicts on the published rows, where there are none of one's own in `folder`."""
    lines = [
        plain(standing.experiment.title),
        paragraph(
            f"no rows in {folder}: these are the published ones of {results}; "
            f"`kfeat run {standing.experiment.path}` makes your own",
            "",
            width,
        ),
        *_numbers(standing, width),
        *_claims(standing, width),
        *_failed(standing, width),
        *(_missing(cell, standing.cells, width) for cell in standing.cells if not cell.there),
    ]
    return "\n".join(lines) + "\n"


def rerun_scoreboard(standing: Standing, width: int | None = None) -> str:
    """Return how trials that were run again compare with their published rows."""
    title = plain(standing.experiment.title)
    return "\n".join([title, *_against_published(standing, width), *_failed(standing, width)]) + "\n"


def _numbers(standing: Standing, width: int | None) -> list[str]:
    if not standing.numbers:
        return []
    headers = ("against the paper", *NUMBER_HEADERS[1:])
    said = [paragraph(note, width=width) for note in number_notes(standing)]
    lines = ["", table(headers, number_lines(standing), _most(width), (0, 6, 7)), *said]
    if beside := beside_lines(standing):
        titles = beside_headers(standing)
        words = [i for i, title in enumerate(titles) if title in BESIDE_WORDS]
        lines += ["", table(titles, beside, _most(width), words)]
        lines += [paragraph(note, width=width) for note in beside_notes(standing)]
    return lines


def _claims(standing: Standing, width: int | None) -> list[str]:
    if not standing.claims:
        return []
    shown = table(CLAIM_HEADERS, claim_lines(standing), _most(width), range(5))
    return ["", shown, *(paragraph(note, width=width) for note in claim_notes(standing))]


def _against_published(standing: Standing, width: int | None) -> list[str]:
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
    return ["", table(headers, lines, _most(width), (0, 3)), paragraph(note, "", width)]


def _most(width: int | None) -> int:
    """Return the width of a table: long sentences are broken also where the lines have no end."""
    return min(LONGEST, width or LONGEST)


def _failed(standing: Standing, width: int | None) -> list[str]:
    return [paragraph(f"failed: trial {row['id']}: {row['reason']}", "", width) for row in standing.failed]


def _missing(cell: Cell, cells: Sequence[Cell], width: int | None) -> str:
    why = f", stopped: {cell.stopped[0]['reason']}" if cell.stopped else ""
    return paragraph(f"missing: {cell_name(cell, cells)}{why}", "", width)


def _change(item: Comparison) -> tuple[str, str]:
    style = ".3f" if item.cell.named(SCORE).name == "accuracy" else ".2g"
    return f"{item.change:+{style}}", f"±{item.limit:{style}}"
