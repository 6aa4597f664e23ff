"""Writing an experiment's report, whole whatever part of it ran, and publishing it: runs/ -> results/."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from kfeat.analysis.cells import Cell, summarise
from kfeat.analysis.judgement import Evidence, judge_experiment
from kfeat.data.sources import dataset_name
from kfeat.errors import ConfigError, StoreError
from kfeat.experiments.config import Experiment, load_experiment
from kfeat.experiments.plan import Trial, plan
from kfeat.experiments.row import Row, write_rows
from kfeat.experiments.run import plan_from_rows, rows_of
from kfeat.files import replacing_together
from kfeat.render.table import render, render_csv
from kfeat.render.verdicts import verdicts_markdown

# They are replaced in the order of their names: a report whose texts are new has new figures.
FILES = ("figure.png", "figure.svg", "table.csv", "table.md", "table.tex")
PUBLISHED = ("figure.svg", "table.csv", "table.md")  # without PNG and LaTeX, since git keeps every version
Pending = Mapping[str, Mapping[str, Row]]  # rows that are being published, by the names of experiments
RESULTS = Path("results")  # where published rows lie, seen from the folder of the configs


def check_report(experiment: Experiment) -> None:
    """Raise ConfigError if claims, table or figure cannot be made of the plan, or a switch is wrong.

    It needs no data and no rows, so that a mistake is found before hours of work and not after them.
    """
    from kfeat.render.figures.printed import check_figure

    stand_ins = {source: f"{dataset_name(source)}: {source!r}" for source in experiment.datasets}
    cells = summarise(experiment, plan(experiment, stand_ins), {})
    judge_experiment(experiment, cells, {})
    render(experiment, cells, "terminal")
    check_figure(experiment, cells)


def write_report(
    experiment: Experiment, cells: Sequence[Cell], folder: Path, names: Sequence[str] = FILES
) -> None:
    """Write the files of a report below `folder`, all or none of them."""
    with replacing_together() as beside:
        _write(beside(folder), experiment, cells, folder, names)


def _write(
    new: Path, experiment: Experiment, cells: Sequence[Cell], folder: Path, names: Sequence[str],
    rows: Iterable[Row] | None = None, pending: Pending | None = None,
) -> None:  # fmt: skip
    from kfeat.render.figures.figure import draw

    if rows is not None:
        write_rows(new, rows)
    for name, text in texts(experiment, cells, folder, pending).items():
        if name in names:
            (new / name).write_text(text, encoding="utf-8")
    draw(experiment, cells, [new / name for name in names if name.startswith("figure")])


def texts(
    experiment: Experiment, cells: Sequence[Cell], folder: Path, pending: Pending | None = None
) -> dict[str, str]:
    """Return the tables by file name, for a report in `folder`.

    table.md ends with the verdicts on what the paper prints and claims; the published rows have no part, but
    for those of cited experiments that have none beside this one's, nor `pending` ones.
    """
    root = folder.parents[len(Path(experiment.name).parts) - 1]
    evidence = Evidence(root, RESULTS, pending=pending)
    verdicts = verdicts_markdown(judge_experiment(experiment, cells, {}, evidence=evidence))
    return {
        "table.csv": render_csv(experiment, cells),
        "table.md": render(experiment, cells, "markdown") + verdicts,
        "table.tex": render(experiment, cells, "latex"),
    }


def is_current(experiment: Experiment, cells: Sequence[Cell], folder: Path) -> bool:
    """Tell whether the report below `folder` is whole, shows these cells, and is younger than the config."""
    try:
        oldest = min((folder / name).stat().st_mtime_ns for name in FILES)
        return oldest >= experiment.path.stat().st_mtime_ns and all(
            (folder / name).read_text(encoding="utf-8") == text
            for name, text in texts(experiment, cells, folder).items()
        )
    except (OSError, UnicodeDecodeError):
        return False


def whole_of(experiment: Experiment) -> Experiment:
    """Return the experiment as its file has it, without the choices of the command line."""
    try:
        return load_experiment(experiment.path)
    except ConfigError:
        return experiment  # a file that only --set completes has no whole but this


def cells_below(experiment: Experiment, root: Path, trials: Iterable[Trial] = ()) -> list[Cell]:
    """Return the cells of the plan with the rows below `root`, as `plan_from_rows` has it.

    `trials` are those that were just run, which know the content of their data.
    """
    rows = rows_of(experiment, root)
    known = {trial.source: trial.fingerprint for trial in trials if trial.fingerprint}
    return summarise(experiment, plan_from_rows(experiment, rows.values(), known), rows)


def update_report(
    experiment: Experiment, root: Path, trials: Iterable[Trial] = (), *, anew: bool = False
) -> str:
    """Draw the files of the whole config from all of its rows, if they are not up to date, or `anew`.

    `trials` are those that were just run. Return a sentence that says where the files are, and what of the
    config they lack.
    """
    whole, folder = whole_of(experiment), root / experiment.name
    cells = cells_below(whole, root, trials)
    planned = sum(len(cell.trials) for cell in cells)
    ended = sum(len(part) for cell in cells for part in (cell.rows, cell.failed, cell.stopped))
    if not ended:
        return f"tables and figure: none, since no trial of {experiment.path} as it stands has run"
    if anew or not is_current(whole, cells, folder):
        write_report(whole, cells, folder)
    lacking = f" ({ended} of the config's {planned} trials; the others have not run)" * (ended < planned)
    return f"tables and figure: {folder}/{lacking}"


def publish(
    plans: Iterable[tuple[Experiment, Sequence[Trial]]], runs: Path, results: Path, partial: bool = False
) -> list[int]:
    """Copy the rows of the plans from runs/ to results/, draw the reports there; return the numbers of rows.

    Everything is published, or nothing. Raises StoreError if a planned trial has neither ended nor been
    stopped at a time limit, or, with `partial`, if none of an experiment has: what is missing then shows as
    missing in its report.
    """
    chosen = [(one, trials, _publishable(one, trials, runs, partial)) for one, trials in plans]
    pending = {one.name: rows for one, _, rows in chosen}  # which may cite each other
    with replacing_together() as beside:
        for experiment, trials, rows in chosen:
            cells, folder = summarise(experiment, trials, rows), results / experiment.name
            _write(beside(folder), experiment, cells, folder, PUBLISHED, rows.values(), pending)
    return [len(rows) for _, _, rows in chosen]


def _publishable(
    experiment: Experiment, trials: Sequence[Trial], runs: Path, partial: bool
) -> dict[str, Row]:
    rows = rows_of(experiment, runs)
    ended = [trial for trial in trials if rows.get(trial.id, {}).get("status") in ("done", "stopped")]
    missing = len(trials) - len(ended)
    if missing and not (partial and ended):
        raise StoreError(
            f"{runs / experiment.name}: {missing} of {len(trials)} planned trials are not done; "
            f"finish them with `kfeat run {experiment.path}`, or publish what there is with --partial"
        )
    return {trial.id: rows[trial.id] for trial in ended}
