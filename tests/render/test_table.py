"""The tables of all cells: numbers, times and their marks, names, CSV."""

import csv
import io
from functools import partial
from math import exp, log, sqrt

import pytest

from kfeat.analysis.cells import summarise
from kfeat.analysis.statistics import TIME_FREEDOM, welch_half_width
from kfeat.errors import ConfigError
from kfeat.experiments.config import load_experiment
from kfeat.render.notes import notes
from kfeat.render.numbers import MISSING
from kfeat.render.report import records, render_csv
from tests.cells import cells_with, fake_row

STOPPED = {"status": "stopped", "reason": "too long", "limit_s": 60.0, "timed": True}
TABLE = """
table:
  lines: kernel
  columns:
    - {title: exact, for: {map: exact}}
    - {title: TS, for: {map: tensor_sketch}}
    - {title: exact / TS, for: {map: tensor_sketch}, over: {map: exact}, show: fit}
    - {title: RM / TS, for: {map: tensor_sketch}, over: {map: random_maclaurin}, show: fit}
"""


def csv_of(experiment, cells):
    return list(csv.DictReader(io.StringIO(render_csv(experiment, cells))))


def values(record, *keys):
    return [record[key] for key in keys]


def test_where_runs_were_stopped_the_seconds_of_all_have_a_bound(experiment, trials, make_rows):
    """Not the mean over those that ended, which would be that of the quickest."""
    rows = make_rows([0.84] * 5)
    exact, sketch, _ = records(
        experiment, summarise(experiment, trials, {key: row | STOPPED for key, row in rows.items()})
    )
    assert (exact["train"], *values(sketch, "train", "map")) == ("> 60.0", "> 60.0", MISSING)
    late = {trial.id for trial in trials if trial.map and trial.repeat > 1}
    rows = {key: row | STOPPED if key in late else row for key, row in rows.items()}
    cells = summarise(experiment, trials, rows)
    cell = cells[1]
    assert (len(cell.rows), len(cell.stopped), cell.of("fit"), cell.is_busy("fit")) == (2, 3, None, False)
    ended, shown = cell.mean("fit", busy=True), cell.shown("fit")
    assert (shown.value, shown.sign) == (pytest.approx((3 * 60 + 2 * ended) / 5), "> ")
    assert records(experiment, cells)[1]["train"].startswith("> 36")
    assert cell.shown("map").runs == 2


def test_two_printed_numbers_for_one_cell_are_an_error(write):
    number = "{for: {map: tensor_sketch}, mean: 1.0, where: Table 1}"
    loaded = load_experiment(write(f"reported: {{source: x, runs: 1, numbers: [{number}, {number}]}}\n"))
    with pytest.raises(ConfigError, match="same cell"):
        cells_with(loaded, lambda trial: None)


def test_the_share_of_mapping_and_the_spread_of_a_score(make_cells):
    exact, sketch, other = make_cells([0.84, 0.86])
    assert sketch.mean("share") == pytest.approx(1.0 / 1.5)  # map_fit, map_train, train: 0.5 s each
    assert sketch.mean("spread") == pytest.approx(sqrt(2))
    assert [exact.mean("share"), exact.mean("spread"), other.mean("share")] == [None] * 3


@pytest.fixture
def three(write):
    """The small experiment with a table of times and ratios, three repeats of every method."""
    return load_experiment(write(TABLE, **{"repeats: 2": "repeats: 3\nexact_repeats: 3"}))


def cells_of(experiment, exact, sketch):
    """Cells whose runs train so long, Random Maclaurin's 8 s; a negative time is one of a busy machine."""
    seconds = {"exact": exact, "tensor_sketch": sketch, "random_maclaurin": [8.0] * 3}

    def row(trial):
        times = seconds[trial.map.name if trial.map else "exact"]
        if trial.repeat >= len(times):
            return None
        train = {"cpu": abs(times[trial.repeat]), "wall": 99.0}
        return fake_row(trial, 0.9, seconds={"train": train}, timed=times[trial.repeat] > 0)

    return cells_with(experiment, row)


def test_a_table_has_the_seconds_of_learning_a_metric_if_a_cell_has_them(three):
    def row(trial, more):
        learning = {"cpu": 9.0 if trial.map else 3.0 + trial.repeat, "wall": 9.0}
        seconds = {"train": {"cpu": 1.0, "wall": 1.0}} | ({"metric": learning} if more else {})
        return fake_row(trial, 0.9, seconds=seconds)

    with_metric, without = (cells_with(three, partial(row, more=more)) for more in (True, False))
    exact, sketch, _ = records(three, with_metric)
    assert values(exact, "metric", "speed-up") == ["4.0", "1×"]
    assert values(sketch, "metric", "speed-up") == ["9.0", "0.493×"]  # 4, 5 and 6 s over 10 s
    exact, sketch, _ = csv_of(three, with_metric)
    keys = [f"metric_{key}" for key in ("cpu_seconds", "cpu_seconds_sd", "wall_seconds")]
    assert values(exact, *keys) == ["4.0", "1.0", "9.0"]
    assert any(line.startswith("metric: ") for line in notes(three, with_metric))
    assert "metric" not in records(three, without)[0]
    assert not any(key.startswith("metric_") for key in csv_of(three, without)[0])
    assert not any(line.startswith("metric: ") for line in notes(three, without))


def test_the_csv_has_deviations_counts_and_the_intervals_of_ratios(three):
    cells = cells_of(three, [60.0], [1.5, 2.0, -9.0])
    exact, sketch, other = csv_of(three, cells)
    assert [line["timed_runs"] for line in (exact, sketch, other)] == ["1", "2", "3"]
    assert values(sketch, "train_cpu_seconds", "train_cpu_seconds_sd") == ["1.75", "0.3536"]
    assert (exact["train_cpu_seconds_sd"], exact["ratio: RM / TS"]) == ("", "")
    # Two runs are too few to tell a spread: theirs is the one they show, with the degrees of freedom of few.
    spread = (log(2.0 / 1.5) / 2, TIME_FREEDOM)
    for name, ratio, half in (
        ("speed_up", 60, welch_half_width(spread, (0.1, TIME_FREEDOM))),
        ("ratio: RM / TS", 8, welch_half_width(spread)),
    ):
        found = [float(sketch[f"{name}{end}"]) for end in ("", "_low", "_high")]
        expected = [ratio / sqrt(1.5 * 2.0) * end for end in (1, exp(-half), exp(half))]
        assert found == pytest.approx(expected, rel=1e-3)


@pytest.mark.parametrize(
    ("split", "name"),
    [
        ("{kind: sample, n_train: %d, n_test: 100}", "split.n_train"),
        ("{kind: validation, of: {kind: sample, n_train: %d, n_test: 100}}", "split.of.n_train"),
    ],
)
def test_data_are_named_by_the_split_in_which_they_differ(write, split, name):
    experiment = load_experiment(write(), [f"protocol.split=[{split % 300}, {split % 400}]"])
    found = records(experiment, cells_with(experiment, lambda trial: fake_row(trial, 0.8)))
    assert {record["dataset"] for record in found} == {f"digits, {name} = 300", f"digits, {name} = 400"}


def test_a_trial_that_was_stopped_while_predicting_is_no_bound_of_training(experiment, trials, make_rows):
    end = STOPPED | {"timed": False, "phase": "predict"}
    rows = {key: row | end for key, row in make_rows([0.84] * 5).items()}
    assert records(experiment, summarise(experiment, trials, rows))[0]["train"] == MISSING
