"""On how many timed runs the seconds of tables rest, how much they spread, and what ratios make of both."""

import csv
import io
from collections.abc import Callable, Sequence
from math import exp, sqrt
from pathlib import Path

import pytest
from scipy.stats import t as student

from kfeat.analysis.cells import Cell, summarise
from kfeat.analysis.certainty import LONG_TIME
from kfeat.experiments.load import Experiment, load_experiment
from kfeat.experiments.plan import plan
from kfeat.render.layout import mirror
from kfeat.render.notes import notes
from kfeat.render.table import records, render, render_csv
from kfeat.render.text import ratio
from tests.cells import fake_row

TABLE = """
table:
  lines: kernel
  columns:
    - {title: exact, for: {map: exact}}
    - {title: TS, for: {map: tensor_sketch}}
    - {title: exact / TS, for: {map: tensor_sketch}, over: {map: exact}, show: fit}
    - {title: RM / TS, for: {map: tensor_sketch}, over: {map: random_maclaurin}, show: fit}
"""
MARK = ", or a ratio of such a time"


@pytest.fixture
def experiment(write: Callable[..., Path]) -> Experiment:
    """The small experiment with a table of times and ratios, three repeats of every method."""
    path = write(**{"repeats: 2": "repeats: 3\nexact_repeats: 3"})
    path.write_text(path.read_text() + TABLE)
    return load_experiment(path)


def cells_of(experiment: Experiment, exact: Sequence[float], sketch: Sequence[float]) -> list[Cell]:
    """Cells whose runs train so long, Random Maclaurin's 8 s; a negative time is one of a busy machine."""
    trials = plan(experiment, dict.fromkeys(experiment.datasets, "f"))
    rows = {}
    for trial in trials:
        times = {"exact": exact, "tensor_sketch": sketch}.get(
            trial.map.name if trial.map else "exact", [8.0] * 3
        )
        if trial.repeat < len(times):
            seconds = {"train": {"cpu": abs(times[trial.repeat]), "wall": 99.0}}
            rows[trial.id] = fake_row(trial, 0.9, seconds=seconds, timed=times[trial.repeat] > 0)
    return summarise(experiment, trials, rows)


def test_times_of_all_runs_have_no_mark_and_a_deviation_in_the_list(experiment: Experiment) -> None:
    cells = cells_of(experiment, [59.0, 60.0, 61.0], [1.5, 2.0, 2.5])
    assert experiment.table
    seconds = mirror(experiment.table, cells).lines[1]
    assert seconds[1:3] == ("1.0 mins", "2.0 secs")
    exact, sketch, _ = records(experiment, cells, spread=True)
    assert (exact["train"], sketch["train"]) == ("60.0 ± 1.0", "2.0 ± 0.5")
    assert (exact["speed-up"], sketch["speed-up"], sketch["runs"]) == ("1×", "30×", "3/3")
    assert not any(MARK in line or "timed:" in line for line in notes(experiment, cells))


def test_a_time_of_one_run_or_of_a_part_of_them_says_so(experiment: Experiment) -> None:
    cells = cells_of(experiment, [60.0], [1.5, -9.0, 2.5])
    assert experiment.table
    seconds = mirror(experiment.table, cells).lines[1]
    assert seconds[1:4] == ("1.0 mins¹ (1/3 runs)", "2.0 secs²", "30×¹ [17.7, 50.9] (1/3 runs)")
    exact, sketch, _ = records(experiment, cells, spread=True)
    assert (exact["train"], exact["speed-up"], exact["runs"]) == ("60.0", "1×", "1/3")
    assert (sketch["train"], sketch["speed-up"], sketch["runs"]) == ("2.0 ± 0.7", "30×¹", "3/3, 2 timed")
    told = notes(experiment, cells)
    assert [line[:4] for line in told if MARK in line] == ["¹, ²"]
    assert any(line.startswith("timed: how many of the runs ") for line in told)
    assert "2.0 secs$^2$" in render(experiment, cells, "latex")
    terminal = render(experiment, cells, "terminal")
    assert MARK in " ".join(terminal.split())
    assert "2.0 ± 0.7" not in terminal


def test_the_csv_has_deviations_counts_and_the_intervals_of_ratios(experiment: Experiment) -> None:
    cells = cells_of(experiment, [60.0], [1.5, 2.0, -9.0])
    exact, sketch, other = csv.DictReader(io.StringIO(render_csv(experiment, cells)))
    assert [line["timed_runs"] for line in (exact, sketch, other)] == ["1", "2", "3"]
    assert (sketch["train_cpu_seconds"], sketch["train_cpu_seconds_sd"]) == ("1.75", "0.3536")
    assert exact["train_cpu_seconds_sd"] == ""
    # Two runs are too few to tell a spread: theirs is the one they show, as the normal law has it.
    half = 1.959964 * sqrt((0.25 / 1.75) ** 2 + LONG_TIME**2)
    found = [sketch[f"speed_up{end}"] for end in ("", "_low", "_high")]
    assert [float(number) for number in found] == pytest.approx(
        [60 / 1.75, 60 / 1.75 * exp(-half), 60 / 1.75 * exp(half)], rel=1e-3
    )
    half = 1.959964 * 0.25 / 1.75
    found = [sketch[f"ratio: RM / TS{end}"] for end in ("", "_low", "_high")]
    assert [float(number) for number in found] == pytest.approx(
        [8 / 1.75, 8 / 1.75 * exp(-half), 8 / 1.75 * exp(half)], abs=1e-3
    )
    assert exact["ratio: RM / TS"] == ""


def test_a_ratio_in_the_mirrored_table_has_its_interval(experiment: Experiment) -> None:
    cells = cells_of(experiment, [59.0, 60.0, 61.0], [2.0, 2.0, 2.0])
    half = student.ppf(0.975, 2) / sqrt(3) / 60
    assert experiment.table
    low, high = 30 * exp(-half), 30 * exp(half)
    assert mirror(experiment.table, cells).lines[1][3] == f"30× [{low:.3g}, {high:.3g}]"


def test_a_ratio_that_is_a_bound_or_of_one_cell_has_neither_interval_nor_mark(experiment: Experiment) -> None:
    exact, sketch, _ = cells_of(experiment, [60.0], [-1.5])
    assert ratio(exact, exact, "fit").text == "1×"
    assert ratio(exact, sketch, "fit").text == "~40×"
    assert ratio(exact, None, "fit").text == "–"
