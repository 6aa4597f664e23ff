"""What figures say of their numbers: spreads, single runs, stand-ins, lines, and what the paper prints."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from matplotlib.figure import Figure

from kfeat.analysis.cells import Cell, summarise
from kfeat.errors import ConfigError
from kfeat.experiments.load import Experiment, load_experiment
from kfeat.experiments.plan import Trial, plan
from kfeat.render.figures.figure import DIGITS, draw, figure_of
from kfeat.render.figures.planned import check_figure
from kfeat.render.notes import notes
from tests.cells import fake_row

TABLE = """\
title: A table
dataset: digits
kernel: {name: polynomial, degree: 2, coef0: [0, 1]}
maps: [{name: tensor_sketch, n_components: 64}]
solvers: {mapped: {name: liblinear}, exact: {name: libsvm}}
reported:
  source: A Paper
  runs: 5
  numbers:
    - {for: {map: tensor_sketch, kernel.coef0: 1}, mean: 85.0, sd: 0.5, time: 1.5 mins, where: Table 1}
    - {for: {map: exact, kernel.coef0: 1}, mean: 99.0, time: < 1 sec, where: Table 1}
"""
CURVES = """\
title: A figure
kernel: {name: polynomial, degree: 2, coef0: 1}
solvers: {mapped: {name: liblinear}, exact: {name: libsvm}}
settings:
  - {dataset: digits, maps: [{name: tensor_sketch, n_components: [16, 64]}]}
  - {dataset: {name: dense, n: 50, d: 9}, maps: [{name: tensor_sketch, n_components: [16, 64]}]}
stand_ins: {dense: Gisette}
figure:
  kind: curves
  y: [score, fit]
  rows: [dataset]
  log: [x, fit]
  lines:
    - {at: 95, label: a line at 95}
    - {of: fit, at: 0.001, label: a line at a millisecond}
    - {of: fit, at: 9, label: a line at 95}
  numbers_from: [table]
"""
H01 = """\
title: H0/1
dataset: digits
kernel: {name: polynomial, degree: 2, coef0: 1}
maps: [{name: random_maclaurin, n_components: 64, h01: true}]
solvers: {mapped: {name: liblinear}}
figure: methods
"""
RATIOS = """\
title: Speed-ups
dataset: {name: dense, n: 50, d: 9}
kernel: {name: polynomial, degree: 2, coef0: 1}
maps: [{name: tensor_sketch, n_components: 64}, {name: random_maclaurin, n_components: 64}]
solvers: {mapped: {name: liblinear}, exact: {name: libsvm}}
stand_ins: {dense: Gisette}
table:
  lines: dataset
  columns:
    - {title: TS, for: {map: tensor_sketch}}
    - title: RM / TS
      for: {map: tensor_sketch}
      over: {map: random_maclaurin}
      show: fit
      printed: {dense: 25× (Gisette)}
    - {title: exact / TS, for: {map: tensor_sketch}, over: {map: exact}, show: fit}
figure: ratios
"""


@pytest.fixture
def load(tmp_path: Path) -> Callable[..., Experiment]:
    """The experiment of a text, with the table beside it."""

    def loader(text: str, **more: Any) -> Experiment:
        (tmp_path / "table.yaml").write_text(TABLE)
        path = tmp_path / "own.yaml"
        path.write_text(text)
        return load_experiment(path, **more)

    return loader


def cells_of(
    experiment: Experiment, keep: Callable[[Trial], bool] = lambda trial: True, slow: float = 1.0
) -> list[Cell]:
    """Cells whose scores and seconds differ from repeat to repeat; Random Maclaurin is slower."""
    trials = plan(experiment, {source: str(i) for i, source in enumerate(experiment.datasets)})
    rows = {}
    for trial in filter(keep, trials):
        factor = slow if trial.map and trial.map.name == "random_maclaurin" else 1.0
        row = fake_row(trial, 0.9 + 0.01 * trial.repeat)
        cpu = 0.5 * factor * (1 + 0.1 * trial.repeat)
        row["seconds"] = {phase: {"cpu": cpu, "wall": cpu} for phase in row["seconds"]}
        rows[trial.id] = row
    return summarise(experiment, trials, rows)


def legend(figure: Figure) -> list[str]:
    return [text.get_text() for legend in figure.legends for text in legend.get_texts()]


def lines_of(axes: Any, marker: str) -> list[Any]:
    return [line for line in axes.lines if line.get_marker() == marker]


def hollow(axes: Any) -> list[Any]:
    return [line for line in axes.lines if line.get_markerfacecolor() == "white"]


def test_times_have_bars_as_scores_have(load: Callable[..., Experiment]) -> None:
    experiment = load(CURVES)
    figure = figure_of(experiment, cells_of(experiment))
    _, seconds, *_ = figure.axes
    ours = seconds.containers[-1]
    assert ours.has_yerr
    (low, high) = ours[2][0].get_segments()[0][:, 1]
    assert low < 1.5 * 1.2 < high  # three phases of half a second, on average 1.2 times as long
    assert not hollow(seconds)
    assert "mean ± standard deviation, 5 runs" in legend(figure)


def test_a_single_run_is_hollow(load: Callable[..., Experiment]) -> None:
    experiment = load(CURVES)
    some = [(16, 0), (64, 0), (64, 1)]
    figure = figure_of(
        experiment,
        cells_of(experiment, lambda t: t.map is None or (t.map.parameters["n_components"], t.repeat) in some),
    )
    (line,) = hollow(figure.axes[0])
    assert line.get_xdata().tolist() == [16]
    assert "hollow: one run" in legend(figure)
    assert "mean ± standard deviation, 2 runs" in legend(figure)
    assert "exact, LIBSVM (no random draw, one run)" in legend(figure)  # of its score and of its seconds


def test_a_methods_single_run_is_hollow(load: Callable[..., Experiment]) -> None:
    experiment = load(H01, repeats=1)
    figure = figure_of(experiment, cells_of(experiment))
    assert [len(hollow(axes)) for axes in figure.axes] == [1, 3]
    assert legend(figure)[-1] == "hollow: one run"
    experiment = load(H01)
    figure = figure_of(experiment, cells_of(experiment))
    assert [len(hollow(axes)) for axes in figure.axes] == [0, 0]
    assert all(container.has_xerr for axes in figure.axes for container in axes.containers)


def test_the_exact_svm_of_several_splits_has_a_band(load: Callable[..., Experiment]) -> None:
    split = "protocol: {split: {kind: fraction, train: 0.5}}\n"
    experiment = load(CURVES + split)
    figure = figure_of(experiment, cells_of(experiment))
    assert figure.axes[0].patches
    assert "exact, LIBSVM (band: standard deviation)" in legend(figure)


def test_a_name_says_h01_where_all_maps_have_it(load: Callable[..., Experiment]) -> None:
    experiment = load(H01)
    (label,) = figure_of(experiment, cells_of(experiment)).axes[0].get_yticklabels()
    assert label.get_text() == "Random Maclaurin, H0/1"
    experiment = load(H01.replace("h01: true", "h01: true, label: mine"))
    (label,) = figure_of(experiment, cells_of(experiment)).axes[0].get_yticklabels()
    assert label.get_text() == "mine"


def test_a_panel_says_for_what_its_data_stand_in(load: Callable[..., Experiment]) -> None:
    experiment = load(CURVES)
    cells = cells_of(experiment)
    assert [axes.get_title() for axes in figure_of(experiment, cells).axes] == [
        "digits", "", "dense\n(stand-in for Gisette)", "",
    ]  # fmt: skip
    experiment = load(CURVES.replace("rows: [dataset]", "rows: []"))
    assert "Tensor Sketch, dense (stand-in for Gisette)" in legend(figure_of(experiment, cells))
    text = CURVES[: CURVES.index("figure:")].replace("[16, 64]", "16")
    titles = [axes.get_title() for axes in figure_of(load(text + "figure: methods\n"), cells).axes]
    assert titles[::2] == ["digits", "dense (stand-in for Gisette)"]


def test_the_title_says_it_where_no_panel_names_the_data(load: Callable[..., Experiment]) -> None:
    experiment = load(H01 + "stand_ins: {digits: Gisette}\n")
    figure = figure_of(experiment, cells_of(experiment))
    assert figure.get_suptitle() == "H0/1 (digits, a stand-in for Gisette)"


def test_a_stand_in_has_to_be_known(load: Callable[..., Experiment]) -> None:
    with pytest.raises(ConfigError, match=r"stand_ins: unknown dataset 'digit' \(did you mean 'digits'"):
        load(H01 + "stand_ins: {digit: Gisette}\n")


def test_lines_across(load: Callable[..., Experiment]) -> None:
    experiment = load(CURVES)
    figure = figure_of(experiment, cells_of(experiment))
    score, seconds, *_ = figure.axes
    assert [95, 95] in [list(line.get_ydata()) for line in score.lines]
    assert [0.001, 0.001] in [list(line.get_ydata()) for line in seconds.lines]
    assert seconds.get_ylim()[0] < 0.001  # the axis reaches to it
    assert legend(figure)[-3:].count("a line at 95") == 1  # though two panels have one of these words
    assert legend(figure)[-2:] == ["a line at 95", "a line at a millisecond"]
    experiment = load(H01.replace("methods", "{kind: methods, lines: [{at: 95, label: here}]}"))
    figure = figure_of(experiment, cells_of(experiment))
    assert [95, 95] in [list(line.get_xdata()) for line in figure.axes[0].lines]
    assert legend(figure)[-1] == "here"


def test_log_names_axes(load: Callable[..., Experiment]) -> None:
    experiment = load(CURVES)
    score, seconds, *_ = figure_of(experiment, cells_of(experiment)).axes
    assert (score.get_xscale(), score.get_yscale(), seconds.get_yscale()) == ("log", "linear", "log")
    assert score.get_xticks().tolist() == [20, 50]
    experiment = load(CURVES.replace("[x, fit]", "true"))
    score, seconds, *_ = figure_of(experiment, cells_of(experiment)).axes
    assert (score.get_xscale(), score.get_yscale(), seconds.get_yscale()) == ("linear", "log", "log")
    with pytest.raises(ConfigError, match=r"log: expected true, or some of x, y, score, fit \(got z\)"):
        load(CURVES.replace("[x, fit]", "[z]"))


def test_the_numbers_of_another_experiment_are_marked(load: Callable[..., Experiment]) -> None:
    experiment = load(CURVES)
    cells = cells_of(experiment)
    figure = figure_of(experiment, cells)
    score, seconds, other, _ = figure.axes
    points = {(float(line.get_xdata()[0]), float(line.get_ydata()[0])) for line in lines_of(score, "D")}
    assert points == {(64.0, 85.0), (1.0, 99.0)}  # the exact SVM's at the right end of its line
    (mark,) = lines_of(seconds, "D")
    assert (mark.get_xdata()[0], mark.get_ydata()[0]) == (64, 90)
    (bound,) = lines_of(seconds, "v")
    assert bound.get_ydata()[0] == 1
    assert not lines_of(other, "D")  # other data
    assert "paper ± standard deviation (time: map + train)" in legend(figure)
    assert not any(cell.printed for cell in cells)  # so that no verdict counts them again


def test_an_experiment_whose_numbers_are_marked_has_to_be_there(load: Callable[..., Experiment]) -> None:
    experiment = load(CURVES.replace("[table]", "[no_table]"))
    with pytest.raises(
        ConfigError, match=r"it names the experiment no_table, and there is no .*no_table.yaml"
    ):
        check_figure(experiment, [])


def test_times_of_the_paper_stand_beside_ours(load: Callable[..., Experiment]) -> None:
    experiment = load(TABLE)
    figure = figure_of(experiment, cells_of(experiment))
    assert [line.get_xdata()[0] for line in lines_of(figure.axes[3], "D")] == [90]
    assert [line.get_xdata()[0] for line in lines_of(figure.axes[3], "<")] == [1]
    with pytest.raises(ConfigError, match="expected a time as printed"):
        load(TABLE.replace("1.5 mins", "a while"))


def test_the_papers_two_times_have_a_colour_each_and_the_legend_names_them(
    load: Callable[..., Experiment],
) -> None:
    experiment = load(TABLE.replace("1.5 mins", "1.5 mins, test_time: 0.5 mins"))
    figure = figure_of(experiment, cells_of(experiment))
    marks = {line.get_xdata()[0]: line.get_color() for line in lines_of(figure.axes[3], "D")}
    assert [*marks] == [90, 30]
    assert len({*marks.values()}) == 2
    assert legend(figure)[-1] == "paper (time: test)"
    assert "paper ± standard deviation (time: map + train)" in legend(figure)
    low, high = figure.axes[3].get_xlim()
    assert low < 30 < 90 < high


def test_curves_mark_the_papers_test_time_in_its_own_panel(load: Callable[..., Experiment]) -> None:
    text = CURVES.replace("y: [score, fit]", "y: [score, fit, test]").replace("numbers_from: [table]", "")
    experiment = load(
        text
        + """
reported:
  source: A Paper
  runs: 5
  numbers: [{for: {dataset: digits, map.n_components: 64}, mean: 85, time: 90 s, test_time: 30 s, where: T}]
"""
    )
    figure = figure_of(experiment, cells_of(experiment))
    found = [[line.get_ydata()[0] for line in lines_of(axes, "D")] for axes in figure.axes]
    assert found == [[85], [90], [30], [], [], []]
    assert "paper (times: map + train; test)" in legend(figure)


def test_ratios_of_a_table(load: Callable[..., Experiment]) -> None:
    experiment = load(RATIOS)
    figure = figure_of(experiment, cells_of(experiment, slow=10))
    (axes,) = figure.axes
    assert [label.get_text() for label in axes.get_yticklabels()] == ["RM / TS", "exact / TS"]
    assert axes.containers[0][0].get_xdata().tolist() == pytest.approx([10, 0.5 / (1.5 * 1.2)])
    low, high = axes.containers[0][2][0].get_segments()[0][:, 0]
    assert low < 10 < high
    assert [line.get_ydata().tolist() for line in hollow(axes)] == [[1]]  # the exact SVM ran once
    assert [line.get_xdata()[0] for line in lines_of(axes, "D")] == [25]
    assert axes.get_title() == "dense (stand-in for Gisette)"
    assert "paper, beside a stand-in that of Gisette" in legend(figure)
    assert "hollow: one run of one of the two" in legend(figure)
    with pytest.raises(ConfigError, match="ratios are those of a `table`"):
        load(H01.replace("methods", "ratios"))


def test_ratios_of_several_quantities_of_a_column_have_a_line_each(load: Callable[..., Experiment]) -> None:
    several = RATIOS.replace("show: fit\n", "show: [fit, test]\n").replace(
        "{dense: 25× (Gisette)}", "{dense: [25× (Gisette), 7×]}"
    )
    experiment = load(several)
    (axes,) = figure_of(experiment, cells_of(experiment, slow=10)).axes
    labels = [label.get_text() for label in axes.get_yticklabels()]
    assert labels == ["RM / TS, fit", "RM / TS, test", "exact / TS"]
    assert [line.get_xdata()[0] for line in lines_of(axes, "D")] == [25, 7]
    assert axes.containers[0][0].get_ydata().tolist() == [0, 1, 2]


def test_trials_that_were_stopped_are_drawn_at_their_limit(load: Callable[..., Experiment]) -> None:
    experiment = load(H01, repeats=1)
    (trial,) = plan(experiment, dict.fromkeys(experiment.datasets, "0"))
    row = fake_row(trial, 0.9)
    stopped = {**row, "status": "stopped", "reason": "limit", "limit_s": 60.0}
    figure = figure_of(experiment, summarise(experiment, [trial], {trial.id: stopped}))
    score, seconds = figure.axes
    assert [text.get_text() for text in score.texts] == ["stopped at the time limit"]
    (mark,) = lines_of(seconds, ">")
    assert mark.get_xdata()[0] == 60
    assert "stopped: it takes longer" in legend(figure)


def test_an_axis_of_numbers_below_zero_shows_them(load: Callable[..., Experiment]) -> None:
    experiment = load(CURVES)
    cells = cells_of(experiment)
    for cell in cells:
        for i, row in enumerate(cell.rows):
            row["r2"] = -0.4 - 0.01 * i
    layout = experiment.figure
    assert layout is not None
    below = replace(experiment, figure=layout.model_copy(update={"y": ["r2"]}))
    for axes in figure_of(below, cells).axes[:1]:
        low, high = axes.get_ylim()
        assert low < -0.4 < high


def test_two_draws_are_equal_byte_for_byte(load: Callable[..., Experiment], tmp_path: Path) -> None:
    experiment = load(CURVES)
    cells = cells_of(experiment)
    for name in ("one", "two"):
        draw(experiment, cells, [tmp_path / f"{name}.svg", tmp_path / f"{name}.png"])
    for kind in ("svg", "png"):
        assert (tmp_path / f"one.{kind}").read_bytes() == (tmp_path / f"two.{kind}").read_bytes()


def test_axes_have_round_places(
    load: Callable[..., Experiment], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # An SVG's names hold every digit of these places, and the layout's last digits differ from draw to draw.
    drawn = []
    save = Figure.savefig
    monkeypatch.setattr(Figure, "savefig", lambda self, *a, **k: (drawn.append(self), save(self, *a, **k)))
    experiment = load(H01)
    draw(experiment, cells_of(experiment), [tmp_path / "one.svg"])
    for axes in drawn[0].axes:
        box = axes.get_position()
        assert (box.x0, box.y0) == (round(box.x0, DIGITS), round(box.y0, DIGITS))
        assert (box.width, box.height) == pytest.approx(
            (round(box.width, DIGITS), round(box.height, DIGITS)), abs=1e-12
        )


def test_a_setting_without_rows_is_not_left_out(load: Callable[..., Experiment]) -> None:
    experiment = load(TABLE)
    cells = cells_of(experiment, lambda trial: trial.kernel.parameters["coef0"] == 0)
    figure = figure_of(experiment, cells)
    words = [[text.get_text() for text in axes.texts] for axes in figure.axes]
    assert words == [[], [], ["no rows yet"], ["no rows yet"]]


def test_a_table_says_for_what_its_data_stand_in(load: Callable[..., Experiment]) -> None:
    experiment = load(H01 + "stand_ins: {digits: Gisette, mnist: Another}\n")
    said = notes(experiment, cells_of(experiment))
    assert "digits: a stand-in for Gisette." in said
    assert not any("Another" in line for line in said)
