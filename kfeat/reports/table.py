"""The tables of an experiment, for the terminal, Markdown, LaTeX and CSV: the paper's own, then all cells."""

import csv
import io
from collections.abc import Sequence
from typing import Any

from kfeat.experiments.config import Experiment
from kfeat.reports import text
from kfeat.reports.cells import PHASES, Cell, Metric, by_setting, exact_of
from kfeat.reports.labels import dataset, kernel, method
from kfeat.reports.mirror import mirror
from kfeat.reports.notes import cautions, has_phase, metrics, notes
from kfeat.reports.sheet import Sheet, latex
from kfeat.reports.text import MISSING

# From so many lines on, the cells of each setting have a table of their own.
LONG = 40
_PLACE = ("dataset", "kernel")


def render(experiment: Experiment, cells: Sequence[Cell], style: str) -> str:
    """Return the report's tables as text; `style` is `terminal`, `markdown` or `latex`.

    Raises ConfigError where a column of the paper's table selects several cells.
    """
    formulas = {name for cell in cells if "<x, y>" in (name := kernel(cell)) or "||" in name}
    parts: list[str] = []
    if experiment.table:
        parts += [mirror(experiment.table, cells).text(style, formulas), _heading("All cells", style, 2)]
    for title, sheet in _sheets(experiment, cells):
        if title:
            parts.append(_heading(latex(title, formulas) if style == "latex" else title, style, 3))
        parts.append(sheet.text(style, formulas))
    if style == "latex":
        head = "".join(f"% {line}\n" for line in (experiment.title, *notes(experiment, cells)))
        return head + "\n\n".join(parts) + "\n"
    body = "\n\n".join(parts)
    if style == "markdown":
        lines = "".join(f"- {line}\n" for line in notes(experiment, cells))
        return f"# {experiment.title}\n\n{body}\n\n{lines}"
    return "\n".join([experiment.title, "", body, "", *cautions(cells)])


def _heading(title: str, style: str, level: int) -> str:
    if style == "latex":
        return rf"\paragraph{{{title}}}"
    return f"{'#' * level} {title}" if style == "markdown" else title


def _sheets(experiment: Experiment, cells: Sequence[Cell]) -> list[tuple[str, Sheet]]:
    """Return the tables of all cells with their titles: one, or one per setting where it would be long."""
    found = records(experiment, cells)
    if len(found) <= LONG:
        return [("", _sheet(found))] if found else []
    parts: dict[str, list[dict[str, str]]] = {}
    for record in found:
        title = ", ".join(record[key] for key in _PLACE if key in record)
        rest = {key: value for key, value in record.items() if key not in _PLACE}
        parts.setdefault(title, []).append(rest)
    return [(title, _sheet(lines)) for title, lines in parts.items()]


def _sheet(found: Sequence[dict[str, str]]) -> Sheet:
    left = sum(key in (*_PLACE, "method") for key in found[0])
    return Sheet(list(found[0]), [list(record.values()) for record in found], left)


def records(experiment: Experiment, cells: Sequence[Cell]) -> list[dict[str, str]]:
    """Return one mapping of column -> text for each cell, without the columns that say nothing here."""
    scores = metrics(cells)
    found = [_record(cell, cells, peers, scores) for peers in by_setting(cells) for cell in peers]
    hidden = {
        "dataset": len({r["dataset"] for r in found}) == 1 and "unverified" not in found[0]["dataset"],
        "kernel": len({r["kernel"] for r in found}) == 1,
        "difference": not any(cell.reported for cell in cells),
        **{column: _empty(column, found) for column in ("paper", "paper's time", "live features")},
    }
    if all(cell.trial.measure for cell in cells):  # of maps alone: nothing is trained, and not all are timed
        hidden |= {phase: not any(has_phase(cell, phase) for cell in cells) for phase in PHASES}
        hidden["speed-up"] = True
    return [{key: value for key, value in record.items() if not hidden.get(key)} for record in found]


def _empty(column: str, found: Sequence[dict[str, str]]) -> bool:
    return all(record[column] == MISSING for record in found)


def _record(
    cell: Cell, cells: Sequence[Cell], peers: Sequence[Cell], scores: Sequence[Metric]
) -> dict[str, str]:
    exact = exact_of(cell, peers)
    metric = cell.metric if cell.rows else scores[0]
    return {
        "dataset": dataset(cell, cells)
        + ("" if all(row["verified"] for row in cell.rows) else ", unverified"),
        "kernel": kernel(cell),
        "method": method(cell, peers),
        **{score.title: _score(cell) if score == metric else MISSING for score in scores},
        "paper": MISSING if cell.reported is None else metric.text(cell.reported.mean, cell.reported.sd),
        "difference": _difference(cell),
        "map": text.seconds(cell.seconds("map") if cell.trial.map else None),
        "train": text.seconds(cell.seconds("train"), None if cell.trial.map else cell.more_than),
        "test": text.seconds(cell.seconds("test")),
        "speed-up": text.ratio(
            exact.fit_seconds() if exact else None, cell.fit_seconds(), exact.more_than if exact else None
        ),
        "paper's time": (cell.reported and cell.reported.time) or MISSING,
        "live features": text.count(cell.columns("live")),
        "runs": f"{len(cell.rows)}/{len(cell.trials)}",
    }


def _score(cell: Cell) -> str:
    return MISSING if cell.score is None else cell.metric.text(cell.score.mean, cell.score.sd)


def _difference(cell: Cell) -> str:
    if cell.score is None or cell.reported is None:
        return MISSING
    return cell.metric.change(cell.score.mean - cell.reported.mean)


def render_csv(experiment: Experiment, cells: Sequence[Cell]) -> str:
    """Return every number of the table at full precision, one line per cell."""
    lines = [_flat(cell, cells, peers) for peers in by_setting(cells) for cell in peers]
    out = io.StringIO()
    writer = csv.DictWriter(out, list(lines[0]) if lines else [], lineterminator="\n")
    writer.writeheader()
    writer.writerows(lines)
    return out.getvalue()


def _flat(cell: Cell, cells: Sequence[Cell], peers: Sequence[Cell]) -> dict[str, Any]:
    trial, reported = cell.trial, cell.reported
    exact = exact_of(cell, peers)
    ours, theirs = cell.fit_seconds(), exact.fit_seconds() if exact else None
    score = cell.score
    line: dict[str, Any] = {
        "cell": trial.cell,
        "dataset": dataset(cell, cells),
        "kernel": trial.kernel.build().formula,
        "method": method(cell, cells),
        "metric": (cell.metric if cell.rows else metrics(cells)[0]).title,
        "mean": score and round(score.mean, 6),
        "sd": score and score.sd and round(score.sd, 6),
        "runs": len(cell.rows),
        "planned": len(cell.trials),
        "paper_mean": reported and reported.mean,
        "paper_sd": reported and reported.sd,
        "paper_time": reported and reported.time,
        "paper_where": reported and reported.where,
        "speed_up": ours and theirs and round(theirs / ours, 3),
    }
    for clock in ("cpu", "wall"):
        for phase in PHASES:
            seconds = cell.seconds(phase, clock)
            line[f"{phase}_{clock}_seconds"] = None if seconds is None else round(seconds, 4)
    line["stopped_after_seconds"] = cell.more_than
    return line | {f"{kind}_features": cell.columns(kind) for kind in ("live", "zero", "constant")}
