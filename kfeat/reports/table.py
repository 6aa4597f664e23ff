"""The table of an experiment: ours beside the paper's, for the terminal, Markdown, LaTeX and CSV."""

import csv
import io
from collections.abc import Sequence
from typing import Any

from tabulate import tabulate

from kfeat.experiments.config import Experiment
from kfeat.reports.cells import PHASES, Cell, exact_of, setting
from kfeat.reports.labels import method

MISSING = "–"


def records(experiment: Experiment, cells: Sequence[Cell]) -> list[dict[str, str]]:
    """Return one mapping of column -> text for each cell, without the columns that say nothing here."""
    found = [_record(cell, cells) for cell in cells]
    if experiment.reported is None:
        for record in found:
            for column in ("paper", "difference", "paper's time"):
                del record[column]
    hidden = {
        "dataset": len({r["dataset"] for r in found}) == 1 and "unverified" not in found[0]["dataset"],
        "kernel": len({r["kernel"] for r in found}) == 1,
        "live features": all(r["live features"] == MISSING for r in found),
    }
    return [{key: value for key, value in record.items() if not hidden.get(key)} for record in found]


def _record(cell: Cell, cells: Sequence[Cell]) -> dict[str, str]:
    exact = exact_of(cell, cells)
    ours, theirs = cell.fit_seconds(), exact.fit_seconds() if exact else None
    same_setting = [other for other in cells if setting(other) == setting(cell)]
    flat = cell.trial.describe()
    return {
        "dataset": flat["dataset"] + ("" if all(row["verified"] for row in cell.rows) else ", unverified"),
        "kernel": cell.trial.kernel.label or cell.trial.kernel.build().formula,
        "method": method(cell, same_setting),
        cell.metric.title: _score(cell),
        "paper": _paper(cell),
        "difference": _difference(cell),
        "map": _seconds(cell.seconds("map") if cell.trial.map else None),
        "train": _seconds(cell.seconds("train")),
        "test": _seconds(cell.seconds("test")),
        "speed-up": MISSING if not (ours and theirs) else f"{theirs / ours:.3g}×",
        "paper's time": (cell.reported and cell.reported.time) or MISSING,
        "live features": _count(cell.columns("live")),
        "runs": f"{len(cell.rows)}/{len(cell.trials)}",
    }


def _score(cell: Cell) -> str:
    return MISSING if cell.score is None else cell.metric.text(cell.score.mean, cell.score.sd)


def _paper(cell: Cell) -> str:
    number = cell.reported
    return MISSING if number is None else cell.metric.text(number.mean, number.sd)


def _difference(cell: Cell) -> str:
    if cell.score is None or cell.reported is None:
        return MISSING
    return cell.metric.change(cell.score.mean - cell.reported.mean)


def _seconds(value: float | None) -> str:
    if value is None:
        return MISSING
    return f"{value:.3f}" if value < 1 else f"{value:.1f}"


def _count(value: float | None) -> str:
    return MISSING if value is None else f"{value:.0f}"


def notes(experiment: Experiment, cells: Sequence[Cell]) -> list[str]:
    """Return the sentences that a reader needs beside the table."""
    scores = " and ".join(sorted({cell.metric.title for cell in cells}))
    threads = sorted({row["threads"] for cell in cells for row in cell.rows})
    lines = [
        f"{scores}: on the test rows, mean ± standard deviation over the runs.",
        f"map, train, test: CPU seconds (map: fitting the map and mapping the training rows; test: mapping "
        f"and predicting the test rows; threads: {', '.join(map(str, threads)) or MISSING}). "
        "speed-up: the exact machine's training over map + train.",
    ]
    lines += cautions(cells)
    if experiment.reported:
        lines.append(f"paper: {experiment.reported.source}.")
    return lines + _where_run(cells)


def cautions(cells: Sequence[Cell]) -> list[str]:
    """Return what a reader must not miss, on the terminal either: missing times and unverified data."""
    lines = []
    if any(cell.rows and cell.seconds("train") is None for cell in cells):
        lines.append(
            f"{MISSING}: no time, since the trials did not run alone; `kfeat run --retime` runs them again."
        )
    if any(not row["verified"] for cell in cells for row in cell.rows):
        lines.append(
            "unverified: no hash of these data is published or pinned; their fingerprint stands in the rows."
        )
    return lines


def _where_run(cells: Sequence[Cell]) -> list[str]:
    environments = [row["environment"] for cell in cells for row in cell.rows]
    machines = {
        f"{e['processor']}, {e['cores']} cores, {e['system']}, Python {e['python']}, "
        f"kfeat {e['commit'] or e['packages']['kfeat']}"
        for e in environments
    }
    return [f"run on: {machine}." for machine in sorted(machines)]


def render(experiment: Experiment, cells: Sequence[Cell], style: str) -> str:
    """Return the table as text; `style` is `terminal`, `markdown` or `latex`."""
    found = records(experiment, cells)
    headers = dict(zip(found[0], found[0], strict=True)) if found else {}
    formats = {"terminal": "simple", "markdown": "github", "latex": "latex_booktabs"}
    align = ["left" if column in ("dataset", "kernel", "method") else "right" for column in headers]
    body = tabulate(
        found, headers=headers, tablefmt=formats[style], disable_numparse=True, colalign=align or None
    )
    lines = notes(experiment, cells)
    if style == "latex":
        return "\n".join([f"% {experiment.title}", *(f"% {line}" for line in lines), body]) + "\n"
    if style == "markdown":
        return f"# {experiment.title}\n\n{body}\n\n" + "".join(f"- {line}\n" for line in lines)
    return "\n".join([experiment.title, "", body, "", *cautions(cells)])


def render_csv(experiment: Experiment, cells: Sequence[Cell]) -> str:
    """Return every number of the table at full precision, one line per cell."""
    lines = [_flat(cell, cells) for cell in cells]
    text = io.StringIO()
    writer = csv.DictWriter(text, list(lines[0]) if lines else [], lineterminator="\n")
    writer.writeheader()
    writer.writerows(lines)
    return text.getvalue()


def _flat(cell: Cell, cells: Sequence[Cell]) -> dict[str, Any]:
    trial, reported = cell.trial, cell.reported
    exact = exact_of(cell, cells)
    ours, theirs = cell.fit_seconds(), exact.fit_seconds() if exact else None
    score = cell.score
    line: dict[str, Any] = {
        "cell": trial.cell,
        "dataset": trial.describe()["dataset"],
        "kernel": trial.kernel.build().formula,
        "method": method(cell, cells),
        "metric": cell.metric.title,
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
    return line | {f"{kind}_features": cell.columns(kind) for kind in ("live", "zero", "constant")}
