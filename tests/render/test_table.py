import csv
import io
from collections.abc import Callable
from dataclasses import replace
from math import sqrt
from pathlib import Path

import pytest

from kfeat.analysis.cells import Cell, summarise
from kfeat.analysis.names import dataset
from kfeat.errors import ConfigError, StoreError
from kfeat.experiments.layout import TableLayout
from kfeat.experiments.load import Experiment, load_experiment
from kfeat.experiments.plan import Trial, plan
from kfeat.experiments.store import Row, read_rows, write_rows
from kfeat.render.files import FILES, is_current, publish, write_report
from kfeat.render.layout import mirror
from kfeat.render.table import MISSING, records, render, render_csv
from tests.cells import REPORTED, fake_row

Make = Callable[..., list[Cell]]
MakeRows = Callable[..., dict[str, Row]]


def test_ours_stands_beside_the_papers(experiment: Experiment, make_cells: Make) -> None:
    exact, sketch, maclaurin = records(experiment, make_cells([0.84, 0.86], exact=0.9))
    assert exact["method"] == "exact, LIBSVM"
    assert (exact["accuracy (%)"], exact["paper"], exact["difference"]) == ("90.00", "90.00", "+0.00")
    assert sketch["method"] == "Tensor Sketch"
    assert (sketch["accuracy (%)"], sketch["paper"], sketch["difference"]) == (
        "85.00 ± 1.41",
        "85.00 ± 0.50",
        "+0.00",
    )
    assert (sketch["map"], sketch["train"], sketch["test"]) == ("1.0", "0.500", "1.0")
    assert sketch["speed-up"] == "0.333×¹"  # the exact kernel SVM trains in 0.5 s, map + train take 1.5 s
    assert sketch["runs"] == "2/5"
    assert maclaurin["accuracy (%)"] == MISSING
    assert maclaurin["paper"] == MISSING


def test_times_of_a_busy_machine_are_shown_and_marked(experiment: Experiment, make_cells: Make) -> None:
    cells = make_cells([0.84, 0.86], timed=False)
    sketch = records(experiment, cells)[1]
    assert sketch["accuracy (%)"] == "85.00 ± 1.41"
    times = [sketch[key] for key in ("map", "train", "test", "speed-up")]
    assert times == ["~1.0", "~0.500", "~1.0", "~0.333×"]
    reason = "~: a time of a busy machine"
    for style in ("markdown", "terminal"):
        assert render(experiment, cells, style).count(reason) == 1
        assert reason not in render(experiment, make_cells([0.84, 0.86]), style)
    assert r"$\sim$0.500" in render(experiment, cells, "latex")
    line = list(csv.DictReader(io.StringIO(render_csv(experiment, cells))))[1]
    assert (line["train_cpu_seconds"], line["busy"]) == ("0.5", "map train test speed-up")
    assert "busy" not in render_csv(experiment, make_cells([0.84, 0.86]))


def test_a_speed_up_is_marked_where_one_side_is_from_a_busy_machine(
    experiment: Experiment, trials: list[Trial], make_rows: MakeRows
) -> None:
    rows = make_rows([0.84, 0.86])
    rows[trials[-1].id]["timed"] = False  # the exact kernel SVM's
    sketch = records(experiment, summarise(experiment, trials, rows))[1]
    assert (sketch["train"], sketch["speed-up"]) == ("0.500", "~0.333×")


def test_one_row_that_counts_is_enough_for_a_time_without_a_mark(
    experiment: Experiment, trials: list[Trial], make_rows: MakeRows
) -> None:
    rows = make_rows([0.84, 0.86])
    busy = next(iter(rows.values()))
    busy["timed"], busy["seconds"] = False, {"train": {"cpu": 99.0, "wall": 99.0}}
    assert records(experiment, summarise(experiment, trials, rows))[1]["train"] == "0.500"


def test_a_stopped_trial_of_any_method_has_its_bound(
    experiment: Experiment, trials: list[Trial], make_rows: MakeRows
) -> None:
    rows = make_rows([0.84] * 5)
    end = {"status": "stopped", "reason": "too long", "limit_s": 60.0, "timed": True}
    rows = {key: row | end for key, row in rows.items()}
    exact, sketch, _ = records(experiment, summarise(experiment, trials, rows))
    assert (exact["train"], sketch["train"], sketch["map"]) == ("> 60.0", "> 60.0", MISSING)


def test_where_some_runs_were_stopped_the_seconds_of_all_have_a_bound(
    experiment: Experiment, trials: list[Trial], make_rows: MakeRows
) -> None:
    """Not the mean over those that ended, which would be that of the quickest."""
    rows = make_rows([0.84] * 5)
    end = {"status": "stopped", "reason": "too long", "limit_s": 60.0, "timed": True}
    late = {trial.id for trial in trials if trial.map and trial.repeat > 1}
    rows = {key: row | end if key in late else row for key, row in rows.items()}
    cells = summarise(experiment, trials, rows)
    sketch = cells[1]
    assert (len(sketch.rows), len(sketch.stopped)) == (2, 3)
    assert sketch.of("fit") is None
    assert not sketch.is_busy("fit")
    ended = sketch.mean("fit", busy=True)
    assert ended is not None
    shown = sketch.shown("fit")
    assert (shown.value, shown.sign) == (pytest.approx((3 * 60 + 2 * ended) / 5), "> ")
    assert records(experiment, cells)[1]["train"].startswith("> 36")
    assert sketch.shown("map").runs == 2


def test_the_bound_of_trials_that_only_map_counts_those_that_ended(trials: list[Trial]) -> None:
    mapping = [replace(trial, solver=None) for trial in trials if trial.map][:2]
    seconds = {"map_fit": {"cpu": 10.0, "wall": 10.0}}
    ended, late = (fake_row(trial, 0.8, seconds=seconds) for trial in mapping)
    late |= {"status": "stopped", "reason": "too long", "limit_s": 60.0}
    bound = Cell.of_trials(mapping, {row["id"]: row for row in (ended, late)}).bound
    assert bound is not None
    assert (bound.value, bound.busy) == (35.0, False)


def test_a_trial_that_was_stopped_while_predicting_is_no_bound_of_training(
    experiment: Experiment, trials: list[Trial], make_rows: MakeRows
) -> None:
    end = {"status": "stopped", "reason": "too long", "limit_s": 60.0, "timed": False, "phase": "predict"}
    rows = {key: row | end for key, row in make_rows([0.84] * 5).items()}
    exact, *_ = records(experiment, summarise(experiment, trials, rows))
    assert exact["train"] == MISSING


@pytest.mark.parametrize("style", ["markdown", "terminal"])
def test_unverified_data_are_named_once(experiment: Experiment, make_cells: Make, style: str) -> None:
    text = render(experiment, make_cells([0.84], verified=False), style)
    assert text.count("unverified") == text.count("unverified: digits: ") == 1
    assert "unverified" not in render(experiment, make_cells([0.84]), style)


def test_csv_has_every_number(experiment: Experiment, make_cells: Make) -> None:
    lines = list(csv.DictReader(io.StringIO(render_csv(experiment, make_cells([0.84, 0.86])))))
    assert len(lines) == 3
    assert float(lines[1]["mean"]) == pytest.approx(85)
    assert float(lines[1]["map_cpu_seconds"]) == pytest.approx(1.0)
    assert float(lines[1]["speed_up"]) == pytest.approx(1 / 3, abs=1e-3)
    assert lines[2]["mean"] == ""


def test_latex_escapes_and_uses_booktabs(experiment: Experiment, make_cells: Make) -> None:
    text = render(experiment, make_cells([0.84, 0.86]), "latex")
    assert r"\toprule" in text
    body = [line for line in text.splitlines() if not line.startswith("%")]
    assert not any("<" in line and r"\ensuremath" not in line for line in body)


def test_two_printed_numbers_for_one_cell_are_an_error(
    write: Callable[..., Path], trials: list[Trial]
) -> None:
    path = write()
    number = "{for: {map: tensor_sketch}, mean: 1.0, where: Table 1}"
    path.write_text(path.read_text() + f"reported: {{source: x, runs: 1, numbers: [{number}, {number}]}}\n")
    experiment = load_experiment(path)
    with pytest.raises(ConfigError, match="same cell"):
        summarise(experiment, plan(experiment, dict.fromkeys(experiment.datasets, "f")), {})


def test_reports_are_written_whole_and_known_to_be_current(
    experiment: Experiment, make_cells: Make, tmp_path: Path
) -> None:
    cells = make_cells([0.84, 0.86])
    assert not is_current(experiment, cells, tmp_path)
    write_report(experiment, cells, tmp_path)
    assert all((tmp_path / name).stat().st_size > 100 for name in FILES)
    assert is_current(experiment, cells, tmp_path)
    assert not is_current(experiment, make_cells([0.84, 0.87]), tmp_path)


def test_figures_are_the_same_bytes_each_time(
    experiment: Experiment, make_cells: Make, tmp_path: Path
) -> None:
    cells = make_cells([0.84, 0.86])
    write_report(experiment, cells, tmp_path / "a")
    write_report(experiment, cells, tmp_path / "b")
    for name in FILES:
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()


def test_only_a_whole_plan_is_published(
    experiment: Experiment, trials: list[Trial], make_rows: MakeRows, tmp_path: Path
) -> None:
    rows = make_rows([0.84] * 5)
    write_rows(tmp_path / "runs" / experiment.name, rows.values())
    with pytest.raises(StoreError, match="5 of 11 planned trials are not done"):
        publish([(experiment, trials)], tmp_path / "runs", tmp_path / "results")
    assert not (tmp_path / "results").exists()
    chosen = [trial for trial in trials if trial.id in rows]
    assert publish([(experiment, chosen)], tmp_path / "runs", tmp_path / "results") == [6]
    assert set(read_rows(tmp_path / "results" / experiment.name)) == set(rows)


def test_a_grid_over_sizes_is_drawn_as_curves(write: Callable[..., Path], tmp_path: Path) -> None:
    experiment = load_experiment(
        write(), ["maps.0.n_components=[16, 64]", "kernel.degree=[2, 3]", "maps.1.n_components=[16, 64]"]
    )
    trials = plan(experiment, dict.fromkeys(experiment.datasets, "f"))
    rows = {trial.id: fake_row(trial, 0.9 + 0.001 * i) for i, trial in enumerate(trials)}
    cells = summarise(experiment, trials, rows)
    write_report(experiment, cells, tmp_path)
    drawing = (tmp_path / "figure.svg").read_text()
    for words in (
        "number of random features D",
        r"$(1+\langle x,y\rangle)^2$",
        r"$(1+\langle x,y\rangle)^3$",
        "exact, LIBSVM",
    ):
        assert words in drawing
    assert "Tensor Sketch, D" not in drawing  # D is the axis
    table = (tmp_path / "table.md").read_text()
    assert "Tensor Sketch, D = 64" in table
    assert "(1 + <x, y>)^3" in table


def test_a_dataset_is_told_from_itself_by_the_switches_that_differ(write: Callable[..., Path]) -> None:
    splits = ("{kind: sample, n_train: 300, n_test: 200, seed: 0}", "{kind: fraction, train: 0.5}")
    protocols = ", ".join(f"{{split: {split}}}" for split in splits)
    experiment = load_experiment(write(), [f"protocol=[{protocols}]", "kernel.degree=[2, 3]"])
    cells = summarise(experiment, plan(experiment, dict.fromkeys(experiment.datasets, "f")), {})
    assert {dataset(cell, cells) for cell in cells} == {
        "digits, split.seed = 0, split.kind = sample, split.n_train = 300, split.n_test = 200",
        "digits, split.kind = fraction, split.train = 0.5",
    }
    one = [cell for cell in cells if cell.trial.protocol == cells[0].trial.protocol]
    assert {dataset(cell, one) for cell in one} == {"digits"}


@pytest.mark.parametrize(
    ("dataset", "names"),
    [("adult", ["Tensor Sketch, Newton", "Tensor Sketch, LIBLINEAR"]), ("mnist", ["Tensor Sketch"] * 2)],
)
def test_a_solver_is_named_where_another_trains_on_the_same_data(
    tmp_path: Path, dataset: str, names: list[str]
) -> None:
    setting = "{{dataset: {}, kernel: {{name: polynomial, degree: {}}}, solvers: {{mapped: {{name: {}}}}}}}"
    settings = setting.format(dataset, 2, "newton"), setting.format("adult", 3, "liblinear")
    path = tmp_path / "two_solvers.yaml"
    path.write_text(
        f"title: two\nsettings: [{', '.join(settings)}]\nmaps: [{{name: tensor_sketch, n_components: 20}}]\n"
    )
    experiment = load_experiment(path)
    cells = summarise(experiment, plan(experiment, dict.fromkeys(experiment.datasets, "f")), {})
    assert [record["method"] for record in records(experiment, cells)] == names


def test_missing_rows_leave_no_gap_in_the_figure(
    experiment: Experiment, make_cells: Make, tmp_path: Path
) -> None:
    write_report(experiment, make_cells([0.84, 0.86], exact=None), tmp_path)
    drawing = (tmp_path / "figure.svg").read_text()
    assert "exact, LIBSVM" not in drawing


def test_the_share_of_mapping_and_the_spread_of_a_score(make_cells: Make) -> None:
    exact, sketch, other = make_cells([0.84, 0.86])
    assert sketch.mean("share") == pytest.approx(1.0 / 1.5)  # map_fit, map_train, train: 0.5 s each
    assert sketch.mean("spread") == pytest.approx(sqrt(2))
    assert exact.mean("share") is None
    assert exact.mean("spread") is None
    assert other.mean("share") is None


def test_a_printed_test_time_has_a_column_only_where_there_is_one(
    write: Callable[..., Path], make_cells: Make, experiment: Experiment
) -> None:
    assert "paper's test time" not in records(experiment, make_cells([0.84]))[0]
    assert "paper_test_time" not in render_csv(experiment, make_cells([0.84]))
    path = write()
    path.write_text(path.read_text() + REPORTED.replace("1 hour", "1 hour, test_time: 3.37s"))
    both = load_experiment(path)
    trials = plan(both, dict.fromkeys(both.datasets, "f"))
    cells = summarise(both, trials, {one.id: fake_row(one, 0.84) for one in trials})
    found = [(one["paper's time"], one["paper's test time"]) for one in records(both, cells)]
    assert found == [("1 hour", "3.37s"), ("–", "–"), ("–", "–")]
    line = next(csv.DictReader(io.StringIO(render_csv(both, cells))))
    assert (line["paper_time"], line["paper_test_time"]) == ("1 hour", "3.37s")


def test_what_a_solver_that_did_not_converge_gave_is_marked(
    experiment: Experiment, trials: list[Trial], make_rows: MakeRows
) -> None:
    ended = {"converged": True, "stop_reason": "tolerance"}
    rows = make_rows([0.84, 0.86], solve=ended)
    assert "†" not in render(experiment, summarise(experiment, trials, rows), "markdown")
    first = next(iter(rows.values()))
    first["solve"] = {"converged": False, "stop_reason": "iteration limit"}
    cells = summarise(experiment, trials, rows)
    exact, sketch, _ = records(experiment, cells)
    keys = ("accuracy (%)", "map", "train", "test", "speed-up")
    assert [sketch[key] for key in keys] == ["85.00 ± 1.41†", "1.0", "0.500†", "1.0", "0.333×†¹"]
    assert not any("†" in text for text in exact.values())
    note = "†: the solver ended before it converged. Tensor Sketch: 1 of 2 runs (iteration limit)."
    for style in ("markdown", "terminal"):
        assert render(experiment, cells, style).count(note) == 1
    assert r"85.00 $\pm$ 1.41$\dagger$" in render(experiment, cells, "latex")
    lines = list(csv.DictReader(io.StringIO(render_csv(experiment, cells))))
    assert [line["not_converged"] for line in lines] == ["0", "1", "0"]


def test_a_mirrored_table_and_its_ratios_mark_an_exact_solver_that_did_not_converge(
    experiment: Experiment, trials: list[Trial], make_rows: MakeRows
) -> None:
    rows = make_rows([0.84, 0.86])
    rows[trials[-1].id]["solve"] = {"converged": False, "stop_reason": "iteration limit"}
    layout = TableLayout.model_validate({
        "lines": "dataset",
        "show": ["score", "fit", "test"],
        "columns": [
            {"title": "exact", "for": {"map": "exact"}},
            {"title": "TS", "for": {"map": "tensor_sketch"}},
            {
                "title": "times", "for": {"map": "tensor_sketch"}, "over": {"map": "exact"},
                "show": ["fit", "test"],
            },
        ],
    })  # fmt: skip
    score, fit, test = mirror(layout, summarise(experiment, trials, rows)).lines
    assert [score[1], fit[1], test[1]] == ["90.00 %†", "0.5 secs†¹", "0.5 secs¹"]
    assert score[3].startswith("85.00")
    assert "†" not in score[3]
    assert fit[5].startswith("0.333×†¹")
    assert test[5].startswith("0.5×¹")
