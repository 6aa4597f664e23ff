"""Writing an experiment's report, and publishing it: runs/ -> results/, the only way results/ changes."""

from collections.abc import Sequence
from pathlib import Path

from kfeat.errors import StoreError
from kfeat.experiments.config import Experiment
from kfeat.experiments.plan import Trial
from kfeat.experiments.run import rows_of
from kfeat.experiments.store import write_rows
from kfeat.reports.cells import Cell, summarise
from kfeat.reports.standing import stand
from kfeat.reports.table import render, render_csv
from kfeat.reports.verdict_tables import verdicts_markdown

TABLES = {"table.md": "markdown", "table.tex": "latex"}
FIGURES = ("figure.svg", "figure.png")
FILES = (*TABLES, "table.csv", *FIGURES)


def write_report(experiment: Experiment, cells: Sequence[Cell], folder: Path) -> None:
    """Write table.md, table.tex, table.csv, figure.svg and figure.png below `folder`.

    table.md ends with the verdicts on what the paper prints and claims; the published rows have no part.
    """
    from kfeat.reports.figure import draw

    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, style in TABLES.items():
            (folder / name).write_text(render(experiment, cells, style), encoding="utf-8")
        with (folder / "table.md").open("a", encoding="utf-8") as file:
            file.write(verdicts_markdown(stand(experiment, cells, {})))
        (folder / "table.csv").write_text(render_csv(experiment, cells), encoding="utf-8")
        draw(experiment, cells, [folder / name for name in FIGURES])
    except OSError as error:
        raise StoreError(f"{folder}: cannot be written ({error.strerror})") from None


def is_current(experiment: Experiment, cells: Sequence[Cell], folder: Path) -> bool:
    """Tell whether the report below `folder` shows these cells, and is younger than the config."""
    try:
        oldest = min((folder / name).stat().st_mtime_ns for name in FILES)
        shown = (folder / "table.csv").read_text(encoding="utf-8")
        return oldest >= experiment.path.stat().st_mtime_ns and shown == render_csv(experiment, cells)
    except OSError:
        return False


def publish(
    experiment: Experiment, trials: Sequence[Trial], runs: Path, results: Path, partial: bool = False
) -> int:
    """Copy the rows of the plan from runs/ to results/, draw the report there, and return their number.

    Raises StoreError if a planned trial has neither ended nor been stopped at a time limit, or, with
    `partial`, if none has: what is missing then shows as missing in the report.
    """
    rows = rows_of(experiment, runs)
    missing = [trial for trial in trials if rows.get(trial.id, {}).get("status") not in ("done", "stopped")]
    if missing and not (partial and len(missing) < len(trials)):
        raise StoreError(
            f"{runs / experiment.name}: {len(missing)} of {len(trials)} planned trials are not done; "
            f"finish them with `kfeat run {experiment.path}`, or publish what there is with --partial"
        )
    folder = results / experiment.name
    chosen = {trial.id: rows[trial.id] for trial in trials if trial not in missing}
    write_rows(folder, chosen.values())
    write_report(experiment, summarise(experiment, trials, chosen), folder)
    return len(chosen)
