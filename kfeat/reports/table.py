"""The table of an experiment: ours beside the paper's, for the terminal, Markdown, LaTeX and CSV."""

import csv
import io
from collections.abc import Sequence
from typing import Any

from tabulate import tabulate

from kfeat.experiments.config import Experiment, ReportedNumber
from kfeat.reports.cells import PHASES, Cell, Estimate, exact_of, setting
from kfeat.reports.labels import method

MISSING = "–"


def records(experiment: Experiment, cells: Sequence[Cell]) -> list[dict[str, str]]:
    """Return one mapping of column -> text for each cell; columns that nothing fills are left out."""
    found = [_record(cell, cells) for cell in cells]
    if experiment.reported is None:
        for record in found:
            for column in ("paper", "difference", "paper's time"):
                del record[column]
    varying = _varying(cells)
    optional = {"dataset", "kernel", "live features"}
    empty = {c for c in optional if all(r[c] == MISSING for r in found)}
    hidden = empty | {c for c in ("dataset", "kernel") if c not in varying}
    return [{key: value for key, value in record.items() if key not in hidden} for record in found]


def _varying(cells: Sequence[Cell]) -> set[str]:
    columns = {
        "dataset": {cell.trial.fingerprint for cell in cells},
        "kernel": {str(cell.trial.kernel.identity()) for cell in cells},
    }
    return {name for name, values in columns.items() if len(values) > 1}


def _record(cell: Cell, cells: Sequence[Cell]) -> dict[str, str]:
    exact = exact_of(cell, cells)
    ours, theirs = cell.fit_seconds(), exact.fit_seconds() if exact else None
    same_setting = [other for other in cells if setting(other) == setting(cell)]
    flat = cell.trial.describe()
    return {
        "dataset": flat["dataset"],
        "kernel": cell.trial.kernel.label or cell.trial.kernel.build().formula,
        "method": method(cell, same_setting),
        "accuracy": _estimate(cell.score),
        "paper": _paper(cell.reported),
        "difference": _difference(cell),
        "map": _seconds(cell.seconds("map") if cell.trial.map else None),
        "train": _seconds(cell.seconds("train")),
        "test": _seconds(cell.seconds("test")),
        "speed-up": MISSING if not (ours and theirs) else f"{theirs / ours:.3g}×",
        "paper's time": (cell.reported and cell.reported.time) or MISSING,
        "live features": _count(cell.columns("live")),
        "runs": f"{len(cell.rows)}/{len(cell.trials)}",
    }


def _estimate(score: Estimate | None) -> str:
    if score is None:
        return MISSING
    return f"{score.mean:.2f}" + ("" if score.sd is None else f" ± {score.sd:.2f}")


def _paper(number: ReportedNumber | None) -> str:
    if number is None:
        return MISSING
    return f"{number.accuracy:.2f}" + ("" if number.sd is None else f" ± {number.sd:.2f}")


def _difference(cell: Cell) -> str:
    if cell.score is None or cell.reported is None:
        return MISSING
    return f"{cell.score.mean - cell.reported.accuracy:+.2f}"


def _seconds(value: float | None) -> str:
    if value is None:
        return MISSING
    return f"{value:.3f}" if value < 1 else f"{value:.1f}"


def _count(value: float | None) -> str:
    return MISSING if value is None else f"{value:.0f}"


def notes(experiment: Experiment, cells: Sequence[Cell]) -> list[str]:
    """Return the sentences that a reader needs beside the table."""
    regression = any(cell.rows and cell.metric == "relative_error" for cell in cells)
    score = "Relative error" if regression else "Accuracy on the test rows in per cent"
    threads = sorted({row["threads"] for cell in cells for row in cell.rows})
    lines = [
        f"{score}: mean ± standard deviation over the runs.",
        f"map, train, test: CPU seconds (map: fitting the map and mapping the training rows; test: mapping "
        f"and predicting the test rows; threads: {', '.join(map(str, threads)) or MISSING}). "
        "speed-up: the exact machine's training over map + train.",
    ]
    if any(cell.rows and cell.seconds("train") is None for cell in cells):
        lines.append(f"{MISSING}: no time, since the trials did not run alone.")
    if any(not row["verified"] for cell in cells for row in cell.rows):
        lines.append(
            "unverified: nobody has published a hash of this dataset; see its fingerprint in the rows."
        )
    if experiment.reported:
        lines.append(f"paper: {experiment.reported.source}.")
    return lines + _where_run(cells)


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
    return f"{experiment.title}\n\n{body}\n"


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
        "metric": cell.metric if cell.rows else "",
        "mean": score and round(score.mean, 6),
        "sd": score and score.sd and round(score.sd, 6),
        "runs": len(cell.rows),
        "planned": len(cell.trials),
        "paper_mean": reported and reported.accuracy,
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
