"""The files of a report: its tables and its figure, written together."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from kfeat.analysis.cells import Cell
from kfeat.analysis.judgement import Evidence, judge_experiment
from kfeat.experiments.config import Experiment
from kfeat.experiments.row import Row
from kfeat.experiments.store import write_rows
from kfeat.files import replacing_together
from kfeat.render.report import render, render_csv
from kfeat.render.verdicts import verdicts_markdown

Pending = Mapping[str, Mapping[str, Row]]  # rows that are being published, by the names of experiments
# They are replaced in the order of their names: a report whose texts are new has new figures.
FILES = ("figure.png", "figure.svg", "table.csv", "table.md", "table.tex")
PUBLISHED = ("figure.svg", "table.csv", "table.md")  # without PNG and LaTeX, since git keeps every version
RESULTS = Path("results")  # where published rows lie, seen from the folder of the configs


def write_report(
    experiment: Experiment, cells: Sequence[Cell], folder: Path, names: Sequence[str] = FILES
) -> None:
    """Write the files of a report below `folder`, all or none of them."""
    with replacing_together() as beside:
        write_files(beside(folder), experiment, cells, folder, names)


def published_files(experiment: Experiment) -> tuple[str, ...]:
    """Return the names of the files of a report that are published beside the rows."""
    return PUBLISHED if experiment.publish == "report" else ()


def write_files(
    new: Path, experiment: Experiment, cells: Sequence[Cell], folder: Path, names: Sequence[str],
    rows: Iterable[Row] | None = None, pending: Pending | None = None,
) -> None:  # fmt: skip
    """Write the files to `new`, which will be `folder`, and any `rows` beside them."""
    from kfeat.render.figures.figure import draw

    if rows is not None:
        write_rows(new, rows)
    if not names:
        return
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
