"""The tables of all cells: numbers, times and their marks, names, CSV."""

import csv
import io
from math import exp, log, sqrt

import pytest

from kfeat.analysis.cells import summarise
from kfeat.analysis.statistics import TIME_FREEDOM, welch_half_width
from kfeat.errors import ConfigError
from kfeat.experiments.config import load_experiment
from kfeat.render.notes import notes
from kfeat.render.paper_table import paper_table
from kfeat.render.report import records, render, render_csv
from kfeat.render.table import MISSING
from tests.cells import REPORTED, cells_with, fake_row

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
MARK = ", or a ratio of such a time"


def csv_of(experiment, cells):
    return list(csv.DictReader(io.StringIO(render_csv(experiment, cells))))


def values(record, *keys):
    return [record[key] for key in keys]


def test_ours_stands_beside_the_papers(experiment, make_cells):
    cells = make_cells([0.84, 0.86], exact=0.9)
    exact, sketch, maclaurin = records(experiment, cells)
    keys = ("method", "accuracy (%)", "paper", "difference")
    assert values(exact, *keys) == ["exact, LIBSVM", "90.00", "90.00", "+0.00"]
    assert values(sketch, *keys) == ["Tensor Sketch", "85.00 ± 1.41", "85.00 ± 0.50", "+0.00"]
    # The exact kernel SVM trains in 0.5 s, map + train take 1.5 s.
    shown = values(sketch, "map", "train", "test", "speed-up", "runs")
    assert shown == ["1.0", "0.500", "1.0", "0.333×¹", "2/5"]
    assert values(maclaurin, "accuracy (%)", "paper") == [MISSING, MISSING]
    exact, sketch, maclaurin = csv_of(experiment, cells)
    numbers = values(sketch, "mean", "map_cpu_seconds", "speed_up")
    assert [float(number) for number in numbers] == pytest.approx([85, 1.0, 1 / 3], abs=1e-3)
    assert maclaurin["mean"] == ""
    latex = render(experiment, cells, "latex")
    assert r"\toprule" in latex
    assert not any("<" in line for line in latex.splitlines() if not line.startswith("%"))


def test_times_of_a_busy_machine_are_shown_and_marked(experiment, make_cells):
    cells = make_cells([0.84, 0.86], timed=False)
    keys = ("accuracy (%)", "map", "train", "test", "speed-up")
    shown = values(records(experiment, cells)[1], *keys)
    assert shown == ["85.00 ± 1.41", "~1.0", "~0.500", "~1.0", "~0.333×"]
    reason = "~: a time of a busy machine"
    for style in ("markdown", "terminal"):
        assert render(experiment, cells, style).count(reason) == 1
        assert reason not in render(experiment, make_cells([0.84, 0.86]), style)
    assert r"$\sim$0.500" in render(experiment, cells, "latex")
    busy = values(csv_of(experiment, cells)[1], "train_cpu_seconds", "busy")
    assert busy == ["0.5", "map train test speed-up"]
    assert "busy" not in render_csv(experiment, make_cells([0.84, 0.86]))


def test_a_mark_says_that_one_side_is_busy_and_one_row_that_counts_is_enough(experiment, trials, make_rows):
    rows = make_rows([0.84, 0.86])
    rows[trials[-1].id]["timed"] = False  # the exact kernel SVM's
    sketch = records(experiment, summarise(experiment, trials, rows))[1]
    assert values(sketch, "train", "speed-up") == ["0.500", "~0.333×"]
    busy = next(iter(rows.values()))
    busy["timed"], busy["seconds"] = False, {"train": {"cpu": 99.0, "wall": 99.0}}
    assert records(experiment, summarise(experiment, trials, rows))[1]["train"] == "0.500"


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


@pytest.mark.parametrize("style", ["markdown", "terminal"])
def test_unverified_data_are_named_once(experiment, make_cells, style):
    text = render(experiment, make_cells([0.84], verified=False), style)
    assert text.count("unverified") == text.count("unverified: digits: ") == 1
    assert "unverified" not in render(experiment, make_cells([0.84]), style)


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


def test_a_printed_test_time_has_a_column_only_where_there_is_one(write, make_cells, experiment):
    assert "paper's test time" not in records(experiment, make_cells([0.84]))[0]
    assert "paper_test_time" not in render_csv(experiment, make_cells([0.84]))
    both = load_experiment(write(REPORTED.replace("1 hour", "1 hour, test_time: 3.37s")))
    cells = cells_with(both, lambda trial: fake_row(trial, 0.84))
    found = [values(one, "paper's time", "paper's test time") for one in records(both, cells)]
    assert found == [["1 hour", "3.37s"], ["–", "–"], ["–", "–"]]
    assert values(csv_of(both, cells)[0], "paper_time", "paper_test_time") == ["1 hour", "3.37s"]


def test_what_a_solver_that_did_not_converge_gave_is_marked(experiment, trials, make_rows):
    rows = make_rows([0.84, 0.86], solve={"converged": True, "stop_reason": "tolerance"})
    assert "†" not in render(experiment, summarise(experiment, trials, rows), "markdown")
    next(iter(rows.values()))["solve"] = {"converged": False, "stop_reason": "iteration limit"}
    cells = summarise(experiment, trials, rows)
    exact, sketch, _ = records(experiment, cells)
    keys = ("accuracy (%)", "map", "train", "test", "speed-up")
    assert values(sketch, *keys) == ["85.00 ± 1.41†", "1.0", "0.500†", "1.0", "0.333×†¹"]
    assert not any("†" in text for text in exact.values())
    note = "†: the solver ended before it converged. Tensor Sketch: 1 of 2 runs (iteration limit)."
    for style in ("markdown", "terminal"):
        assert render(experiment, cells, style).count(note) == 1
    assert r"85.00 $\pm$ 1.41$\dagger$" in render(experiment, cells, "latex")
    assert [line["not_converged"] for line in csv_of(experiment, cells)] == ["0", "1", "0"]


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


def seconds_of(experiment, cells):
    return paper_table(experiment.table, cells).lines[1]


def test_times_of_all_runs_have_no_mark_and_a_deviation_in_the_list(three):
    cells = cells_of(three, [59.0, 60.0, 61.0], [1.5, 2.0, 2.5])
    assert seconds_of(three, cells)[1:3] == ("1.0 mins", "2.0 secs")
    exact, sketch, _ = records(three, cells, spread=True)
    assert values(exact, "train", "speed-up") == ["60.0 ± 1.0", "1×"]
    assert values(sketch, "train", "speed-up", "runs") == ["2.0 ± 0.5", "30.6×", "3/3"]
    assert not any(MARK in line or "timed:" in line for line in notes(three, cells))


def test_a_time_of_one_run_or_of_a_part_of_them_says_so(three):
    cells = cells_of(three, [60.0], [1.5, -9.0, 2.5])
    shown = ("1.0 mins¹ (1/3 runs)", "2.0 secs²", "31×¹ [14.4, 66.9] (1/3 runs)")
    assert seconds_of(three, cells)[1:4] == shown
    exact, sketch, _ = records(three, cells, spread=True)
    assert values(exact, "train", "speed-up", "runs") == ["60.0", "1×", "1/3"]
    assert values(sketch, "train", "speed-up", "runs") == ["2.0 ± 0.7", "31×¹", "3/3, 2 timed"]
    said = notes(three, cells)
    assert [line[:4] for line in said if MARK in line] == ["¹, ²"]
    assert any(line.startswith("timed: how many of the runs ") for line in said)
    assert "2.0 secs$^2$" in render(three, cells, "latex")
    terminal = render(three, cells, "terminal")
    assert MARK in " ".join(terminal.split())
    assert "2.0 ± 0.7" not in terminal


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
