from collections.abc import Callable
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any

import pytest
from matplotlib import rc_context
from matplotlib.figure import Figure

from kfeat.analysis.cells import Cell, summarise
from kfeat.errors import ConfigError
from kfeat.experiments.load import Experiment, load_experiment
from kfeat.experiments.plan import Trial, plan
from kfeat.experiments.store import Row
from kfeat.render.figures.curves import curves
from kfeat.render.figures.figure import _settle, figure_of
from kfeat.render.figures.methods import methods
from kfeat.render.figures.palette import COLOURS
from kfeat.render.figures.panels import panels, points, styles
from kfeat.render.figures.style import RC, logarithmic
from kfeat.render.files import FIGURES, FILES, write_report
from kfeat.render.table import records, render
from tests.cells import fake_row

KERNELS = """\
title: Two datasets
dataset: [digits, {name: dense, n: 50, d: 9}]
kernel: {name: polynomial, degree: [2, 3, 4], coef0: [0, 1]}
maps:
  - {name: tensor_sketch, n_components: [16, 64]}
  - {name: random_maclaurin, n_components: [16, 64]}
"""
SOLVERS = "solvers: {mapped: {name: liblinear}, exact: {name: libsvm}}\n"
SYNTHETIC = """\
title: Synthetic
kernel: {name: polynomial, degree: 4, coef0: 1}
measure: {name: map_time}
settings:
  - {dataset: {name: dense, n: 50, d: 10}, maps: [{name: tensor_sketch, n_components: 10}]}
  - {dataset: {name: dense, n: 50, d: 20}, maps: [{name: tensor_sketch, n_components: 20}]}
figure: {kind: curves, x: n_features, y: [map], rows: [], columns: []}
"""


@pytest.fixture
def load(tmp_path: Path) -> Callable[[str], Experiment]:
    """The experiment of a text."""

    def loader(text: str) -> Experiment:
        path = tmp_path / "two.yaml"
        path.write_text(text)
        return load_experiment(path)

    return loader


def measured(trial: Trial, timed: bool = True) -> Row:
    """A row as the trial's measure writes it, or a solver."""
    d = getattr(trial.source, "d", 64)
    if trial.measure is None:
        return fake_row(trial, 0.9 + 0.01 * trial.repeat, n_features=d, timed=timed)
    row: Row = fake_row(trial, 0.0, n_features=d, timed=timed)
    del row["accuracy"]
    value = 1.0 + 0.1 * trial.repeat
    if trial.measure.name == "kernel_error":
        error = {"value": value, "low": 0.9 * value, "high": 1.1 * value}
        return {
            **row,
            "kernel_error": {"relative_frobenius": error},
            # A larger map that is quicker: its point stands behind the smaller one's all the same.
            "seconds": dict.fromkeys(
                ("fit", "sample"), dict.fromkeys(("cpu", "wall"), 100 / row["map"]["n_components"])
            ),
        }
    clock = {"cpu": d / 10, "wall": d / 10}
    return {**row, "mean_square": value, "seconds": {"map_fit": clock, "map_train": clock}}


def cells_of(
    experiment: Experiment, keep: Callable[[Trial], bool] = lambda trial: True, **more: Any
) -> list[Cell]:
    trials = plan(experiment, {source: str(i) for i, source in enumerate(experiment.datasets)})
    return summarise(experiment, trials, {t.id: measured(t, **more) for t in trials if keep(t)})


def drawn(experiment: Experiment, cells: list[Cell]) -> Figure:
    assert experiment.figure
    return curves(experiment.figure, cells)


def legend(figure: Figure) -> list[str]:
    return [text.get_text() for legend in figure.legends for text in legend.get_texts()]


def test_settings_make_a_grid_of_panels(load: Callable[[str], Experiment]) -> None:
    layout = "figure: {kind: curves, y: [score], rows: [kernel], columns: [dataset]}\n"
    experiment = load(KERNELS.replace("degree: [2, 3, 4]", "degree: 2") + SOLVERS + layout)
    figure = drawn(experiment, cells_of(experiment))
    assert [axes.get_title() for axes in figure.axes] == [
        "digits, <x, y>^2", "dense, <x, y>^2", "digits, (1 + <x, y>)^2", "dense, (1 + <x, y>)^2",
    ]  # fmt: skip
    assert [axes.get_ylabel() for axes in figure.axes] == ["accuracy (%)", "", "accuracy (%)", ""]
    assert [axes.get_xlabel() for axes in figure.axes] == ["", "", *["number of random features D"] * 2]
    assert legend(figure) == [
        "exact, LIBSVM (no random draw)", "Tensor Sketch", "Random Maclaurin",
        "mean ± standard deviation, 5 runs",
    ]  # fmt: skip
    for axes in figure.axes:
        exact, sketch, maclaurin = (axes.lines[0], *(container[0] for container in axes.containers))
        assert (exact.get_color(), exact.get_linestyle()) == ("black", "--")
        assert (sketch.get_color(), sketch.get_marker()) == ("#0072B2", "o")
        assert (maclaurin.get_color(), maclaurin.get_marker()) == ("#E69F00", "s")
        assert all(container.has_yerr for container in axes.containers)


@pytest.mark.parametrize("layout", ["", "figure: {kind: curves, rows: [dataset], y: [score]}\n"])
def test_accuracies_and_relative_errors_share_no_axis(layout: str, load: Callable[[str], Experiment]) -> None:
    text = KERNELS.replace("degree: [2, 3, 4], coef0: [0, 1]", "degree: 2")
    experiment = load(text.replace("[16, 64]", "[16, 64]" if layout else "16") + SOLVERS + layout)
    trials = plan(experiment, {source: str(i) for i, source in enumerate(experiment.datasets)})
    rows = {trial.id: measured(trial) for trial in trials}
    for row in rows.values():
        if row["dataset"] == "dense":
            row["relative_error"] = row.pop("accuracy")
    cells = summarise(experiment, trials, rows)
    figure = drawn(experiment, cells) if layout else methods(cells)
    labels = {text for axes in figure.axes for text in (axes.get_xlabel(), axes.get_ylabel())}
    assert {"accuracy (%)", "relative error"} <= labels


def test_curves_of_errors_against_measured_seconds_run_along_the_number_of_features(
    load: Callable[[str], Experiment],
) -> None:
    experiment = load(
        KERNELS.replace("degree: [2, 3, 4], coef0: [0, 1]", "degree: 2")
        + "measure: {name: kernel_error}\n"
        + "figure: {kind: curves, x: sample, along: n_components, y: [score], rows: [dataset], log: [x, y]}\n"
    )
    figure = drawn(experiment, cells_of(experiment))
    assert legend(figure)[:2] == ["Tensor Sketch", "Random Maclaurin"]
    assert figure.axes[0].get_xlabel() == ""
    assert figure.axes[1].get_xlabel() == "CPU time of mapping the sampled rows (s)"
    for container in figure.axes[0].containers:
        assert list(container[0].get_xdata()) == [100 / 16, 100 / 64]


def test_what_the_panels_do_not_name_is_in_the_legend(load: Callable[[str], Experiment]) -> None:
    experiment = load(
        KERNELS.replace("degree: [2, 3, 4], coef0: [0, 1]", "degree: 2")
        + "measure: {name: map_time}\nfigure: {kind: curves, y: [map], rows: [], columns: []}\n"
    )
    cells = cells_of(experiment)
    figure = drawn(experiment, cells)
    assert legend(figure) == [
        "Tensor Sketch, digits", "Random Maclaurin, digits",
        "Tensor Sketch, dense", "Random Maclaurin, dense", "mean ± standard deviation, 5 runs",
    ]  # fmt: skip
    assert figure.axes[0].get_ylabel() == "CPU time of mapping (s)"
    assert figure.axes[0].get_ylim()[0] == 0
    assert experiment.figure
    style = {one.label: how for one, how in styles(points(experiment.figure, cells)).items()}
    digits, dense = style["Tensor Sketch, digits"], style["Tensor Sketch, dense"]
    assert digits["color"] == dense["color"]
    assert (digits["ls"], dense["ls"]) == ("-", "--")
    assert len({one["marker"] for one in style.values()}) == 4  # hollow ones are single runs, of any curve


def test_a_long_row_of_panels_is_broken(load: Callable[[str], Experiment]) -> None:
    text = KERNELS.replace("[digits, {name: dense, n: 50, d: 9}]", "digits") + (
        "measure: {name: kernel_error}\n"
        "figure: {kind: curves, y: [score], rows: [], columns: [kernel], log: true}\n"
    )
    experiment = load(text)
    cells = cells_of(experiment)
    figure = drawn(experiment, cells)
    assert experiment.figure
    assert [len(row) for row in panels(experiment.figure, points(experiment.figure, cells))] == [3, 3]
    assert figure.axes[0].get_ylabel() == "relative kernel error (Frobenius),\non 2,000 rows"
    assert {axes.get_yscale() for axes in figure.axes} == {"log"}
    assert figure.axes[0].get_ylim() == (0.5, 2)
    assert figure.axes[0].get_yticks().tolist() == [0.5, 1, 2]
    assert all(container.has_yerr for axes in figure.axes for container in axes.containers)


@pytest.mark.parametrize("low", [1.1 * 10.0**k for k in range(-8, 9)])
@pytest.mark.parametrize("high", [1.0, 6.0, 9.0, 11.0, 100 / 1.21, 3e4])
def test_a_logarithmic_axis_holds_its_values_whatever_rounding_does(low: float, high: float) -> None:
    # 0.11 / 1.1 is one rounding below 0.1, whose logarithm is -1 nevertheless
    axes = Figure().add_subplot()
    logarithmic(axes, "y", [low, low * high])
    bottom, top = axes.get_ylim()
    assert bottom <= low / 1.1 < low * high * 1.1 <= top
    assert bottom > low / 20
    assert top < low * high * 20
    assert {bottom, top} <= set(axes.get_yticks())


@pytest.mark.parametrize("low", [0.0011, 0.0025, 7.0])
@pytest.mark.parametrize("high", [1.0, 9.0, 90.0, 250.0, 3e4])
def test_the_labels_of_a_logarithmic_axis_do_not_touch(low: float, high: float) -> None:
    with rc_context(RC):
        figure = Figure(figsize=(9, 3))
        _, axes = figure.subplots(1, 2)
        logarithmic(axes, "x", [low, low * high])
        figure.draw_without_rendering()
        boxes = [label.get_window_extent() for label in axes.get_xticklabels()]
    assert len(boxes) > 1
    assert all(left.x1 + 3 < right.x0 for left, right in pairwise(boxes))


def test_seconds_against_the_dimension(load: Callable[[str], Experiment]) -> None:
    experiment = load(SYNTHETIC)
    figure = drawn(experiment, cells_of(experiment))
    (axes,) = figure.axes
    assert axes.get_xlabel() == "dimension d = D"
    assert axes.containers[0][0].get_xdata().tolist() == [10, 20]
    assert axes.containers[0][0].get_ydata().tolist() == [2, 4]
    assert legend(figure) == ["Tensor Sketch", "mean ± standard deviation, 5 runs"]


def test_panels_without_numbers_say_so(load: Callable[[str], Experiment]) -> None:
    experiment = load(SYNTHETIC)
    (axes,) = drawn(experiment, cells_of(experiment, lambda trial: False)).axes
    assert [text.get_text() for text in axes.texts] == ["no rows yet"]


def test_times_of_a_busy_machine_are_crossed_out(load: Callable[[str], Experiment]) -> None:
    experiment = load(SYNTHETIC)
    figure = drawn(experiment, cells_of(experiment, timed=False))
    crosses = [line for line in figure.axes[0].lines if line.get_marker() == "x"]
    assert [line.get_xdata().tolist() for line in crosses] == [[10, 20]]
    assert legend(figure)[::2] == ["Tensor Sketch", "timed on a busy machine"]
    assert crosses[0].get_zorder() < figure.axes[0].containers[0][0].get_zorder()  # behind the points
    experiment = load(KERNELS.replace("degree: [2, 3, 4]", "degree: 2").replace("[16, 64]", "16") + SOLVERS)
    assert "timed on a busy machine" in legend(methods(cells_of(experiment, timed=False)))
    assert "timed on a busy machine" not in legend(methods(cells_of(experiment)))


def test_curves_need_a_number_of_features(load: Callable[[str], Experiment]) -> None:
    text = SYNTHETIC.replace("x: n_features", "x: n_components")
    experiment = load(text.replace("{name: tensor_sketch, n_components: 20}", "{name: nystrom}"))
    with pytest.raises(ConfigError, match="need that number of every map, and nystrom has none"):
        drawn(experiment, cells_of(experiment))


def test_a_curve_along_a_parameter_of_the_kernel_joins_kernels(load: Callable[[str], Experiment]) -> None:
    keys = "figure: {kind: curves, x: kernel.coef0, y: [score], rows: [], columns: [dataset]}\n"
    text = KERNELS.replace("degree: [2, 3, 4]", "degree: 2").replace("[16, 64]", "16")
    experiment = load(
        text.replace("coef0: [0, 1]", "coef0: [0.5, 1, 2]") + SOLVERS.split(", exact")[0] + "}\n" + keys
    )
    figure = drawn(experiment, cells_of(experiment))
    assert legend(figure)[:2] == ["Tensor Sketch", "Random Maclaurin"]
    assert [list(one[0].get_xdata()) for one in figure.axes[0].containers] == [[0.5, 1, 2]] * 2


def test_a_curve_along_the_number_of_classes_joins_data_of_other_numbers(
    load: Callable[[str], Experiment],
) -> None:
    sources = ", ".join(f"{{name: sectors, n: 50, d: 9, classes: {k}}}" for k in (3, 6, 12))
    keys = f"dataset: [{sources}]\nfigure: {{kind: curves, x: classes, y: [score], rows: [], columns: []}}\n"
    text = KERNELS.replace("degree: [2, 3, 4], coef0: [0, 1]", "degree: 2").replace("[16, 64]", "16")
    text = "".join(line for line in text.splitlines(keepends=True) if not line.startswith("dataset"))
    experiment = load(text + SOLVERS.split(", exact")[0] + "}\n" + keys)
    figure = drawn(experiment, cells_of(experiment))
    assert legend(figure)[:2] == ["Tensor Sketch", "Random Maclaurin"]
    assert [list(one[0].get_xdata()) for one in figure.axes[0].containers] == [[3, 6, 12]] * 2


def test_methods_of_several_settings_have_axes_each(load: Callable[[str], Experiment]) -> None:
    experiment = load(KERNELS.replace("degree: [2, 3, 4]", "degree: 2").replace("[16, 64]", "16") + SOLVERS)
    figure = methods(cells_of(experiment))
    titles = [axes.get_title() for axes in figure.axes if axes.get_title()]
    assert titles == [
        "digits, <x, y>^2",
        "digits, (1 + <x, y>)^2",
        "dense, <x, y>^2",
        "dense, (1 + <x, y>)^2",
    ]
    names = [label.get_text() for label in figure.axes[0].get_yticklabels()]
    assert names == ["exact, LIBSVM", "Tensor Sketch", "Random Maclaurin"]
    assert legend(figure) == [
        "accuracy", "map", "train", "test",
        "mean ± standard deviation, 5 runs", "hollow: one run or no random draw",
    ]  # fmt: skip
    assert figure.axes[1].get_xlim() == figure.axes[-1].get_xlim() == (0.2, 2)


def test_a_setting_of_methods_without_numbers_says_so(load: Callable[[str], Experiment]) -> None:
    experiment = load(KERNELS.replace("degree: [2, 3, 4]", "degree: 2").replace("[16, 64]", "16") + SOLVERS)
    states = (cells_of(experiment), cells_of(experiment, timed=False), cells_of(experiment, lambda _: False))
    cells = [states[line // 3 % 3][line] for line in range(len(states[0]))]  # three methods a setting
    figure = methods(cells)
    words = [[text.get_text() for text in axes.texts] for axes in figure.axes]
    assert words == [[], [], [], [], ["no rows yet"], ["no rows yet"], [], []]


def test_reports_of_measures(load: Callable[[str], Experiment], tmp_path: Path) -> None:
    """A hundred cells: tables by setting, no empty columns, files of a sane size."""
    experiment = load(
        KERNELS.replace("[16, 64]", "[16, 32, 48, 64]")
        + "measure: {name: kernel_error}\nfigure: {kind: curves, y: [score], rows: [dataset]}\n"
    )
    cells = cells_of(experiment)
    write_report(experiment, cells, tmp_path / "report")
    text = (tmp_path / "report" / "table.md").read_text()
    assert text.startswith("# Two datasets\n\n### digits, <x, y>^2\n\n| method ")
    assert text.count("### ") == 12
    assert (
        "- relative kernel error (Frobenius): sqrt(sum (z_i·z_j - k_ij)² / sum k_ij²) over the pairs i != j"
        in text
    )
    assert "± 10.0 % of the error on average" in text
    assert "test rows" not in text
    assert "CPU seconds" not in text
    assert list(records(experiment, cells)[0]) == [
        "dataset", "kernel", "method", "relative kernel error (Frobenius)", "live features", "runs",
    ]  # fmt: skip
    assert r"\paragraph{digits, $\langle x,y\rangle^2$}" in render(experiment, cells, "latex")
    for name in FILES:
        assert 200 < (tmp_path / "report" / name).stat().st_size < 1_000_000
    for name in FIGURES:
        assert (tmp_path / "report" / name).stat().st_size > 20_000


def test_data_of_one_name_are_told_apart(load: Callable[[str], Experiment]) -> None:
    experiment = load(SYNTHETIC)
    found = records(experiment, cells_of(experiment))
    assert [record["dataset"] for record in found] == ["dense, d = 10", "dense, d = 20"]
    assert list(found[0]) == ["dataset", "method", "mean ‖z(x)‖²", "map", "live features", "runs"]
    assert [record["map"] for record in found] == ["2.0", "4.0"]
    text = render(experiment, cells_of(experiment, timed=False), "terminal")
    assert "~2.0" in text
    assert "~: a time of a busy machine" in text


def test_an_experiment_without_rows_is_drawn(load: Callable[[str], Experiment], tmp_path: Path) -> None:
    experiment = load(KERNELS + SOLVERS)
    write_report(experiment, cells_of(experiment, lambda trial: False), tmp_path / "report")
    assert (tmp_path / "report" / "figure.png").stat().st_size > 100


GRID = """\
title: A grid
dataset: digits
kernel: {name: gaussian, gamma: median}
maps:
  - {name: random_fourier, n_components: [16, 64]}
  - {name: nystrom, n_components: [16, 64]}
solvers:
  mapped: {name: liblinear, C: [0.1, 1, 10, 100, 1000, 1e4]}
  exact: {name: libsvm, C: [0.1, 1, 10, 100, 1000, 1e4]}
figure: curves
"""


def test_no_two_of_many_lines_have_the_same_colour_and_dashes(load: Callable[[str], Experiment]) -> None:
    experiment = load(GRID)
    assert experiment.figure
    drawn_as = styles(points(experiment.figure, cells_of(experiment)))
    assert len(drawn_as) == 18
    assert len({(style["color"], style["ls"]) for style in drawn_as.values()}) == 18
    first = [(style["color"], style["ls"]) for style in drawn_as.values()][6:12]
    assert first == [(colour, "-") for colour in COLOURS]  # as ever, where the colours suffice


def test_equal_labels_are_told_apart_by_what_differs(load: Callable[[str], Experiment]) -> None:
    text = (
        GRID.replace("[0.1, 1, 10, 100, 1000, 1e4]", "1")
        .replace("fourier, n_components: [16, 64]", "fourier, n_components: [16, 64], label: ours")
        .replace("nystrom, n_components: [16, 64]", "nystrom, n_components: [16, 64], label: ours")
    )
    experiment = load(text.replace("gamma: median", "gamma: [1, 2], label: k"))
    assert experiment.figure
    cells = cells_of(experiment)
    found = points(experiment.figure, cells)
    assert {point.series.label for point in found if not point.series.exact} == {
        "ours, Random Fourier",
        "ours, Nystrom",
    }
    assert len({point.title for point in found}) == 2
    names = {tuple(record[key] for key in ("kernel", "method")) for record in records(experiment, cells)}
    assert len(names) == len(cells)


def test_numbers_that_six_digits_do_not_tell_apart_have_more(load: Callable[[str], Experiment]) -> None:
    experiment = load(GRID.replace("[0.1, 1, 10, 100, 1000, 1e4]", "[0.3333333, 0.33333334, 1]"))
    found = {record["method"] for record in records(experiment, cells_of(experiment))}
    assert {"exact, LIBSVM, C = 0.3333333", "exact, LIBSVM, C = 0.33333334", "exact, LIBSVM, C = 1"} <= found


def test_a_quantity_of_which_nothing_is_known_has_no_panel(load: Callable[[str], Experiment]) -> None:
    experiment = load(KERNELS + "measure: {name: kernel_error}\nfigure: {kind: curves, rows: [kernel]}\n")
    titles = {axes.get_ylabel() for axes in drawn(experiment, cells_of(experiment)).axes}
    assert titles == {"relative kernel error (Frobenius),\non 2,000 rows"}


@pytest.mark.parametrize("kind", ["curves", "methods"])
def test_long_titles_and_labels_stay_inside_the_figure(load: Callable[[str], Experiment], kind: str) -> None:
    long = "a long title of many words " * 8
    text = GRID.replace("A grid", long).replace("figure: curves", f"figure: {kind}")
    experiment = load(
        text.replace("16, 64]}", f"16, 64], label: {long}}}").replace("10, 100, 1000, 1e4]", "1e4]")
    )
    with rc_context(RC):
        figure = figure_of(experiment, cells_of(experiment))
        figure.draw_without_rendering()
        texts = [figure._suptitle, *(t for legend in figure.legends for t in legend.get_texts())]  # type: ignore[attr-defined]
        texts += [axes.title for axes in figure.axes] + figure.axes[0].get_yticklabels()
        boxes = [text.get_window_extent() for text in texts if text.get_text()]
        axes_boxes = [axes.get_window_extent() for axes in figure.axes]
    assert max(box.x1 for box in boxes) <= figure.bbox.x1
    assert min(box.x0 for box in boxes) >= 0
    assert min(box.width for box in axes_boxes) > 100
    assert min(box.height for box in axes_boxes) > 80


TWELVE = """\
title: Four settings, three quantities
maps: [{name: random_maclaurin, n_components: [10, 100, 1000], h01: [false, true]}]
solvers: {mapped: {name: liblinear}, exact: {name: libsvm}}
settings:
  - {dataset: {name: dense, n: 50, d: 9}, kernel: {name: polynomial, degree: 10, coef0: 1}}
  - {dataset: {name: dense, n: 60, d: 9}, kernel: {name: polynomial, degree: 10, coef0: 1}}
  - {dataset: {name: dense, n: 70, d: 9}, kernel: {name: exponential, sigma: mean_distance}}
  - {dataset: {name: dense, n: 80, d: 9}, kernel: {name: exponential, sigma: mean_distance}}
figure: {kind: curves, y: [score, fit, test], rows: [y], columns: [dataset, kernel], log: [x, fit, test]}
"""


def test_quantities_below_each_other_in_twelve_panels(
    load: Callable[[str], Experiment], tmp_path: Path
) -> None:
    experiment = load(TWELVE)
    with rc_context(RC):
        figure = figure_of(experiment, cells_of(experiment))
        _settle(figure, 100)
        axes = figure.axes
        assert len(axes) == 12
        assert [one.get_title("left").count("\n") for one in axes] == [1] * 4 + [0] * 8
        assert all("$" in one.get_title("left") for one in axes[:4])  # no formula is broken
        assert [bool(one.get_ylabel()) for one in axes] == [True, False, False, False] * 3
        assert [one.get_xlabel() for one in axes] == [""] * 8 + ["number of random features D"] * 4
        assert [one.get_yscale() for one in axes] == ["linear"] * 4 + ["log"] * 8
        assert {one.get_xscale() for one in axes} == {"log"}
        assert not overlapping(figure)
    assert {one.get_ylim() for one in axes[4:8]} == {axes[4].get_ylim()}


def test_a_long_label_of_a_y_axis_is_broken_where_it_would_reach_the_title(
    load: Callable[[str], Experiment],
) -> None:
    title = "A title that is long enough to stand over the labels of all three axes"
    text = TWELVE.replace("rows: [y], columns: [dataset, kernel]", "rows: []")
    text = text.replace("Four settings, three quantities", title)
    lines = text.splitlines()
    experiment = load("\n".join([*lines[:5], *lines[-1:]]))
    with rc_context(RC):
        figure = figure_of(experiment, cells_of(experiment))
        figure.draw_without_rendering()
        assert overlapping(figure)
        _settle(figure, 100)
        assert not overlapping(figure)
    assert figure.axes[0].get_ylabel() == "accuracy (%)"
    assert figure.axes[2].get_ylabel() == "CPU time of mapping and\npredicting the test rows (s)"


def overlapping(figure: Figure) -> list[tuple[str, str]]:
    """Which of the title, the panels' titles and the labels of the axes touch each other."""
    texts = [figure._suptitle]  # type: ignore[attr-defined]
    for axes in figure.axes:
        texts += [axes._left_title, axes.xaxis.label, axes.yaxis.label]  # type: ignore[attr-defined]
    boxes = [(text.get_text(), text.get_window_extent()) for text in texts if text.get_text()]
    return [(a, b) for (a, one), (b, other) in combinations(boxes, 2) if one.overlaps(other)]
