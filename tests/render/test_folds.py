from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from kfeat.analysis.cells import Cell, summarise
from kfeat.analysis.folds import fold_means, without_folds
from kfeat.experiments.load import Experiment, load_experiment
from kfeat.experiments.plan import plan
from kfeat.render.figures.figure import figure_of
from kfeat.render.table import records, render, render_csv
from tests.cells import fake_row

TABLE = """
table:
  lines: dataset
  columns: [{title: TS, for: {map: tensor_sketch}}, {title: exact, for: {map: exact}}]
"""


@pytest.fixture
def folds(write: Callable[..., Path]) -> Experiment:
    """The small experiment on three folds, as a list of protocols."""
    path = write()
    path.write_text(path.read_text() + TABLE)
    splits = ", ".join(f"{{split: {{kind: k_fold, k: 3, fold: {i}}}}}" for i in range(3))
    return load_experiment(path, [f"protocol=[{splits}]"])


def cells_of(experiment: Experiment, planned: int = 3) -> list[Cell]:
    """Tensor Sketch has 60, 70 and 80 % on the folds, the exact kernel SVM ten more."""
    trials = plan(experiment, dict.fromkeys(experiment.datasets, "f"))
    score = {(i, exact): 0.6 + 0.1 * i + 0.1 * exact for i in range(3) for exact in (False, True)}
    rows = {}
    for trial in trials:
        fold = trial.describe()["protocol.split"]["fold"]
        if fold < planned:
            rows[trial.id] = fake_row(trial, score[fold, trial.map is None])
    return summarise(experiment, trials, rows)


def test_a_mean_over_the_folds_of_each_method(folds: Experiment) -> None:
    cells = cells_of(folds)
    means = fold_means(cells)
    assert [len(mean.rows) for mean in means] == [3, 6, 6]  # exact once per fold, the maps twice
    found = {(r["dataset"], r["method"]): r for r in records(folds, [*cells, *means])}
    mean = found["digits, mean over 3 folds", "Tensor Sketch"]
    assert mean["accuracy (%)"] == "70.00 ± 8.94"
    assert mean["speed-up"] == "0.333×"
    assert found["digits, mean over 3 folds", "exact, LIBSVM"]["accuracy (%)"] == "80.00 ± 10.00"
    assert found["digits, split.fold = 2", "Tensor Sketch"]["accuracy (%)"] == "80.00 ± 0.00"
    for style in ("terminal", "markdown", "latex"):
        assert render(folds, cells, style).count("mean over 3 folds") >= 4  # the paper's table, three methods
    assert "- mean over folds: over the runs of all folds together" in render(folds, cells, "markdown")
    assert "mean over 3 folds" in render_csv(folds, cells)


def test_a_mean_over_folds_counts_each_of_them_once_where_nothing_is_drawn(folds: Experiment) -> None:
    settings = [setting.model_copy(update={"exact_repeats": 3}) for setting in folds.settings]
    exact = fold_means(cells_of(replace(folds, settings=settings)))[0]
    assert len(exact.rows) == 9
    assert exact.score is not None
    assert (exact.score.sd, exact.score.n) == (pytest.approx(10.0), 3)


def test_the_figure_shows_the_means(folds: Experiment) -> None:
    cells = cells_of(folds)
    assert len(without_folds(cells)) == 3
    figure = figure_of(folds, cells)
    assert [label.get_text() for label in figure.axes[0].get_yticklabels()] == [
        "exact, LIBSVM",
        "Tensor Sketch",
        "Random Maclaurin",
    ]


def test_missing_folds_show_in_the_count_of_runs(folds: Experiment) -> None:
    cells = cells_of(folds, planned=2)
    mean = fold_means(cells)[1]
    assert (len(mean.rows), len(mean.trials)) == (4, 6)


def test_other_splits_have_no_mean(experiment: Experiment, make_cells: Callable[..., list[Cell]]) -> None:
    cells = make_cells([0.84, 0.86])
    assert fold_means(cells) == []
    assert without_folds(cells) == cells
