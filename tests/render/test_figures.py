"""Figures of rows and a config: panels, curves, methods, ratios, and what they say of their numbers."""

import re
from itertools import combinations, pairwise
from xml.etree import ElementTree

import pytest
from matplotlib import font_manager, rc_context
from matplotlib.figure import Figure
from matplotlib.text import Text

from kfeat.errors import ConfigError
from kfeat.experiments.config import load_experiment
from kfeat.render.figures import svg
from kfeat.render.figures.figure import DIGITS, draw, figure_of
from kfeat.render.figures.style import RC, logarithmic
from kfeat.render.figures.svg import SVG, save
from kfeat.render.files import FILES, write_report
from kfeat.render.paper_table import check_figure
from kfeat.render.report import records, render
from tests.cells import cells_with, fake_row

KERNELS = """\
title: Two datasets
dataset: [digits, {name: dense, n: 50, d: 9}]
kernel: {name: polynomial, degree: [2, 3, 4], coef0: [0, 1]}
maps:
  - {name: tensor_sketch, n_components: [16, 64]}
  - {name: random_maclaurin, n_components: [16, 64]}
"""
ONE_DEGREE = KERNELS.replace("degree: [2, 3, 4]", "degree: 2")
ONE_KERNEL = ONE_DEGREE.replace(", coef0: [0, 1]", "")
MAPPED = "solvers: {mapped: {name: liblinear}}\n"
SOLVERS = "solvers: {mapped: {name: liblinear}, exact: {name: libsvm}}\n"
METHODS = ONE_DEGREE.replace("[16, 64]", "16") + SOLVERS
SYNTHETIC = """\
title: Synthetic
kernel: {name: polynomial, degree: 4, coef0: 1}
measure: {name: map_time}
settings:
  - {dataset: {name: dense, n: 50, d: 10}, maps: [{name: tensor_sketch, n_components: 10}]}
  - {dataset: {name: dense, n: 50, d: 20}, maps: [{name: tensor_sketch, n_components: 20}]}
figure: {kind: curves, x: n_features, y: [map], rows: [], columns: []}
"""
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
def load(tmp_path):
    """The experiment of a text, with the table beside it."""

    def loader(text, **choices):
        (tmp_path / "table.yaml").write_text(TABLE)
        (tmp_path / "own.yaml").write_text(text)
        return load_experiment(tmp_path / "own.yaml", **choices)

    return loader


@pytest.fixture
def drawn(load):
    """The figure of a text, with rows of the trials that are kept."""

    def drawer(text, keep=bool, timed=True, slow=1.0, **choices):
        experiment = load(text, **choices)
        return figure_of(experiment, cells_of(experiment, keep, timed, slow))

    return drawer


def measured(trial, timed, slow):
    """A row as the trial's measure or solver writes it; numbers differ between repeats.

    Random Maclaurin is slower by a factor.
    """
    d = getattr(trial.source, "d", 64)
    row = fake_row(trial, 0.9 + 0.01 * trial.repeat, n_features=d, timed=timed)
    if trial.measure is None:
        factor = slow if trial.map and trial.map.name == "random_maclaurin" else 1.0
        cpu = 0.5 * factor * (1 + 0.1 * trial.repeat)
        return row | {"seconds": {phase: {"cpu": cpu, "wall": cpu} for phase in row["seconds"]}}
    del row["accuracy"]
    value = 1.0 + 0.1 * trial.repeat
    if trial.measure.name == "kernel_error":
        error = {"value": value, "low": 0.9 * value, "high": 1.1 * value}
        # A larger map that is quicker: its point stands behind the smaller one's all the same.
        clock = dict.fromkeys(("cpu", "wall"), 100 / row["map"]["n_components"])
        seconds = dict.fromkeys(("fit", "sample"), clock)
        return {**row, "kernel_error": {"relative_frobenius": error}, "seconds": seconds}
    clock = dict.fromkeys(("cpu", "wall"), d / 10)
    return {**row, "mean_square": value, "seconds": {"map_fit": clock, "map_train": clock}}


def cells_of(experiment, keep=bool, timed=True, slow=1.0):
    return cells_with(experiment, lambda trial: measured(trial, timed, slow) if keep(trial) else None)


def nothing(trial):
    return False


def legend(figure):
    return [text.get_text() for legend in figure.legends for text in legend.get_texts()]


def titles(figure):
    """The panels' titles, with formulas as the config has them."""
    texts = [axes.get_title("left") or axes.get_title() for axes in figure.axes]
    return [text.replace("$", "").replace(r"\langle x,y\rangle", "<x, y>") for text in texts]


def words(figure):
    return [[text.get_text() for text in axes.texts] for axes in figure.axes]


def lines_of(axes, marker):
    return [line for line in axes.lines if line.get_marker() == marker]


def hollow(axes):
    return [line for line in axes.lines if line.get_markerfacecolor() == "white"]


def curves_of(axes):
    return [container[0] for container in axes.containers]


def drawn_as(artist, words):
    """What draws a title, of which matplotlib tells the words alone."""
    return [text for text in artist.findobj(Text, include_self=False) if text.get_text() == words]


def overlapping(figure):
    """Which of the title, the panels' titles and the labels of the axes touch each other."""
    texts = drawn_as(figure, figure.get_suptitle())
    for axes in figure.axes:
        texts += [*drawn_as(axes, axes.get_title("left")), axes.xaxis.label, axes.yaxis.label]
    boxes = [(text.get_text(), text.get_window_extent()) for text in texts if text.get_text()]
    return [(a, b) for (a, one), (b, other) in combinations(boxes, 2) if one.overlaps(other)]


def test_settings_make_a_grid_of_panels(drawn):
    layout = "figure: {kind: curves, y: [score], rows: [kernel], columns: [dataset]}\n"
    figure = drawn(ONE_DEGREE + SOLVERS + layout)
    assert titles(figure) == [
        "digits, <x, y>^2", "dense, <x, y>^2", "digits, (1+<x, y>)^2", "dense, (1+<x, y>)^2",
    ]  # fmt: skip
    assert [axes.get_ylabel() for axes in figure.axes] == ["accuracy (%)", "", "accuracy (%)", ""]
    assert [axes.get_xlabel() for axes in figure.axes] == ["", "", *["number of random features D"] * 2]
    assert legend(figure) == [
        "exact, LIBSVM (no random draw)", "Tensor Sketch", "Random Maclaurin",
        "mean ± standard deviation, 5 runs",
    ]  # fmt: skip
    for axes in figure.axes:
        exact, (sketch, maclaurin) = axes.lines[0], curves_of(axes)
        assert (exact.get_color(), exact.get_linestyle()) == ("black", "--")
        assert (sketch.get_color(), sketch.get_marker()) == ("#0072B2", "o")
        assert (maclaurin.get_color(), maclaurin.get_marker()) == ("#E69F00", "s")
        assert all(container.has_yerr for container in axes.containers)


@pytest.mark.parametrize("layout", ["", "figure: {kind: curves, rows: [dataset], y: [score]}\n"])
def test_accuracies_and_relative_errors_share_no_axis(layout, load):
    experiment = load(ONE_KERNEL.replace("[16, 64]", "[16, 64]" if layout else "16") + SOLVERS + layout)
    cells = cells_of(experiment)
    for row in (row for cell in cells for row in cell.rows if row["dataset"] == "dense"):
        row["relative_error"] = row.pop("accuracy")
    axes = figure_of(experiment, cells).axes
    labels = {text for one in axes for text in (one.get_xlabel(), one.get_ylabel())}
    assert {"accuracy (%)", "relative error"} <= labels


def test_what_the_panels_do_not_name_is_in_the_legend(drawn):
    figure = drawn(
        ONE_KERNEL + "measure: {name: map_time}\nfigure: {kind: curves, y: [map], rows: [], columns: []}\n"
    )
    assert legend(figure) == [
        "Tensor Sketch, digits", "Random Maclaurin, digits",
        "Tensor Sketch, dense", "Random Maclaurin, dense", "mean ± standard deviation, 5 runs",
    ]  # fmt: skip
    (axes,) = figure.axes
    assert axes.get_ylabel() == "CPU time of mapping (s)"
    assert axes.get_ylim()[0] == 0
    digits, _, dense, _ = lines = curves_of(axes)
    assert digits.get_color() == dense.get_color()
    assert (digits.get_linestyle(), dense.get_linestyle()) == ("-", "--")
    assert len({line.get_marker() for line in lines}) == 4  # hollow ones are single runs, of any curve


def test_a_long_row_of_panels_is_broken(drawn):
    figure = drawn(
        KERNELS.replace("[digits, {name: dense, n: 50, d: 9}]", "digits") + "measure: {name: kernel_error}\n"
        "figure: {kind: curves, y: [score], rows: [], columns: [kernel], log: true}\n"
    )
    axes = figure.axes
    assert axes[0].get_gridspec().get_geometry() == (2, 3)
    assert axes[0].get_ylabel() == "relative kernel error (Frobenius),\non 2,000 rows"
    unknown = drawn(KERNELS + "measure: {name: kernel_error}\nfigure: {kind: curves, rows: [kernel]}\n")
    assert {one.get_ylabel() for one in unknown.axes} == {axes[0].get_ylabel()}  # no panel of training times
    assert {one.get_yscale() for one in axes} == {"log"}
    assert axes[0].get_ylim() == (0.5, 2)
    assert list(axes[0].get_yticks()) == [0.5, 1, 2]
    assert all(container.has_yerr for one in axes for container in one.containers)


@pytest.mark.parametrize("low", [1.1e-8, 0.11, 1.1, 1.1e8])
@pytest.mark.parametrize("high", [1.0, 9.0, 100 / 1.21, 3e4])
def test_a_logarithmic_axis_holds_its_values_whatever_rounding_does(low, high):
    # 0.11 / 1.1 is one rounding below 0.1, whose logarithm is -1 nevertheless
    axes = Figure().add_subplot()
    logarithmic(axes, "y", [low, low * high])
    bottom, top = axes.get_ylim()
    assert low / 20 < bottom <= low / 1.1 < low * high * 1.1 <= top < low * high * 20
    assert {bottom, top} <= set(axes.get_yticks())


@pytest.mark.parametrize("low", [0.0025, 7.0])
@pytest.mark.parametrize("high", [1.0, 90.0, 3e4])
def test_the_labels_of_a_logarithmic_axis_do_not_touch(low, high):
    with rc_context(RC):
        figure = Figure(figsize=(9, 3))
        _, axes = figure.subplots(1, 2)
        logarithmic(axes, "x", [low, low * high])
        figure.draw_without_rendering()
        boxes = [label.get_window_extent() for label in axes.get_xticklabels()]
    assert len(boxes) > 1
    assert all(left.x1 + 3 < right.x0 for left, right in pairwise(boxes))


def test_seconds_against_the_dimension(drawn):
    figure = drawn(SYNTHETIC)
    ((line,),) = (curves_of(axes) for axes in figure.axes)
    assert figure.axes[0].get_xlabel() == "dimension d = D"
    assert (list(line.get_xdata()), list(line.get_ydata())) == ([10, 20], [2, 4])
    assert legend(figure) == ["Tensor Sketch", "mean ± standard deviation, 5 runs"]
    assert words(drawn(SYNTHETIC, nothing)) == [["no rows yet"]]


def test_times_of_a_busy_machine_are_crossed_out(drawn):
    figure = drawn(SYNTHETIC, timed=False)
    (cross,) = lines_of(figure.axes[0], "x")
    assert list(cross.get_xdata()) == [10, 20]
    assert legend(figure)[::2] == ["Tensor Sketch", "timed on a busy machine"]
    assert cross.get_zorder() < curves_of(figure.axes[0])[0].get_zorder()  # behind the points
    for timed in (False, True):
        assert ("timed on a busy machine" in legend(drawn(METHODS, timed=timed))) == (not timed)


def test_curves_need_a_number_of_features(load):
    text = SYNTHETIC.replace("x: n_features", "x: n_components")
    experiment = load(text.replace("{name: tensor_sketch, n_components: 20}", "{name: nystrom}"))
    for make in (check_figure, figure_of):
        with pytest.raises(ConfigError, match="need that number of every map, and nystrom has none"):
            make(experiment, cells_of(experiment))


def test_a_curve_along_a_parameter_joins_kernels(drawn):
    keys = "figure: {kind: curves, x: kernel.coef0, y: [score], rows: [], columns: [dataset]}\n"
    text = ONE_KERNEL.replace("[16, 64]", "16").replace("degree: 2", "degree: 2, coef0: [0.5, 1, 2]")
    figure = drawn(text + MAPPED + keys)
    assert legend(figure)[:2] == ["Tensor Sketch", "Random Maclaurin"]
    assert [list(line.get_xdata()) for line in curves_of(figure.axes[0])] == [[0.5, 1, 2]] * 2


def test_parameters_that_go_with_the_size_are_joined_in_one_curve(drawn):
    text = """title: t
dataset: digits
protocol: {split: {kind: sample, n_train: 100, n_test: 50}}
settings:
  - kernel: {name: gaussian, gamma: 0.01}
    maps: [{name: random_fourier, n_components: 16}]
    solvers: {mapped: {name: ridge_classifier, alpha: 0.1}}
  - kernel: {name: gaussian, gamma: 0.02}
    maps: [{name: random_fourier, n_components: 32}]
    solvers: {mapped: {name: ridge_classifier, alpha: 0.2}}
    repeats: 2
  - kernel: {name: gaussian, gamma: 0.02}
    solvers: {exact: {name: cell_kernel_ridge_classifier, cell_size: [8, 16]}}
"""
    figure = drawn(text + "figure: {kind: curves, y: [accuracy], rows: [dataset]}\n")
    assert len(legend(figure)) > 4
    joined = "figure: {kind: curves, y: [accuracy], rows: [dataset], x_title: R, join: [kernel.gamma, "
    figure = drawn(text + joined + "solver.alpha, solver.cell_size]}\n")
    assert legend(figure)[:2] == ["Random Fourier, Ridge Classifier", "exact, Cell Kernel Ridge Classifier"]
    assert [list(line.get_xdata()) for line in curves_of(figure.axes[0])] == [[16, 32], [8, 16]]
    assert figure.axes[0].get_xlabel() == "R"
    with pytest.raises(ConfigError, match=r"no trial has the key 'kernel.gama'"):
        drawn(text + joined.replace("gamma", "gama") + "solver.alpha]}\n")


def test_along_gamma_a_kernel_with_a_bandwidth_stands_at_its_bandwidth(drawn):
    """Its gamma is what it would be without, 1."""
    text = """title: t
dataset: digits
protocol: {split: {kind: sample, n_train: 100, n_test: 50}}
maps: [{name: random_fourier, n_components: 16}]
solvers: {mapped: {name: ridge_classifier}}
settings:
  - kernel: {name: laplacian, gamma: [0.5, 2]}
  - kernel: {name: euclidean_laplacian, bandwidth: [3, 5, 7]}
figure: {kind: curves, x: kernel.gamma, y: [accuracy], rows: [dataset], join: [kernel.bandwidth]}
"""
    xs = [list(line.get_xdata()) for line in curves_of(drawn(text).axes[0])]
    assert xs == [[0.5, 2, 3, 5, 7]] or xs == [[0.5, 2], [3, 5, 7]]


def test_methods_of_several_settings_have_axes_each(drawn):
    figure = drawn(METHODS)
    assert titles(figure)[::2] == [
        "digits, <x, y>^2", "digits, (1+<x, y>)^2", "dense, <x, y>^2", "dense, (1+<x, y>)^2",
    ]  # fmt: skip
    names = [label.get_text() for label in figure.axes[0].get_yticklabels()]
    assert names == ["exact, LIBSVM", "Tensor Sketch", "Random Maclaurin"]
    assert legend(figure) == [
        "accuracy", "map", "train", "test",
        "mean ± standard deviation, 5 runs", "hollow: one run or no random draw",
    ]  # fmt: skip
    assert figure.axes[1].get_xlim() == figure.axes[-1].get_xlim() == (0.2, 2)


def test_reports_of_measures(load, tmp_path):
    """Nearly fifty cells: tables by setting, no empty columns, files of a sane size."""
    experiment = load(
        KERNELS.replace("degree: [2, 3, 4]", "degree: [2, 3]").replace("[16, 64]", "[16, 32, 64]")
        + "measure: {name: kernel_error}\nfigure: {kind: curves, y: [score], rows: [dataset]}\n"
    )
    cells = cells_of(experiment)
    write_report(experiment, cells, tmp_path / "report")
    text = (tmp_path / "report" / "table.md").read_text()
    assert text.startswith("# Two datasets\n\n### digits, <x, y>^2\n\n| method ")
    assert text.count("### ") == 8
    error = (
        "- relative kernel error (Frobenius): sqrt(sum (z_i·z_j - k_ij)² / sum k_ij²) over the pairs i != j"
    )
    assert error in text
    assert "± 10.0 % of the error on average" in text
    assert "test rows" not in text
    assert "CPU seconds" not in text
    assert list(records(experiment, cells)[0]) == [
        "dataset", "kernel", "method", "relative kernel error (Frobenius)", "live features", "runs",
    ]  # fmt: skip
    latex = render(experiment, cells, "latex")
    assert (
        r"\caption{Two datasets. digits, $\langle x,y\rangle^2$. Mean $\pm$ standard deviation over 5 runs"
        in latex
    )
    assert latex.count(r"\begin{table}") == latex.count(r"\label{tab:own") == 8
    assert len(set(re.findall(r"\\label\{.*", latex))) == 8
    sizes = {name: (tmp_path / "report" / name).stat().st_size for name in FILES}
    assert all(200 < size < 1_000_000 for size in sizes.values())
    assert all(sizes[name] > 20_000 for name in ("figure.png", "figure.svg"))


def test_equal_labels_are_told_apart_by_what_differs(load):
    text = GRID.replace("[0.1, 1, 10, 100, 1000, 1e4]", "1").replace("[16, 64]}", "[16, 64], label: ours}")
    experiment = load(text.replace("gamma: median", "gamma: [1, 2], label: k"))
    cells = cells_of(experiment)
    figure = figure_of(experiment, cells)
    assert {"ours, Random Fourier", "ours, Nystrom"} < {*legend(figure)}
    assert len({*titles(figure)} - {""}) == 2
    names = {tuple(record[key] for key in ("kernel", "method")) for record in records(experiment, cells)}
    assert len(names) == len(cells)


@pytest.mark.parametrize("kind", ["curves", "methods"])
def test_long_titles_and_labels_stay_inside_the_figure(drawn, kind):
    long = "a long title of many words " * 8
    text = GRID.replace("A grid", long).replace("figure: curves", f"figure: {kind}")
    with rc_context(RC):
        figure = drawn(
            text.replace("16, 64]}", f"16, 64], label: {long}}}").replace("10, 100, 1000, 1e4]", "1e4]")
        )
        figure.draw_without_rendering()
        texts = [
            *drawn_as(figure, figure.get_suptitle()),
            *(t for legend in figure.legends for t in legend.get_texts()),
        ]
        texts += [axes.title for axes in figure.axes] + figure.axes[0].get_yticklabels()
        boxes = [text.get_window_extent() for text in texts if text.get_text()]
        axes_boxes = [axes.get_window_extent() for axes in figure.axes]
    assert max(box.x1 for box in boxes) <= figure.bbox.x1
    assert min(box.x0 for box in boxes) >= 0
    assert min(box.width for box in axes_boxes) > 100
    assert min(box.height for box in axes_boxes) > 80


@pytest.mark.slow
def test_quantities_below_each_other_in_twelve_panels(load):
    experiment = load(TWELVE)
    with rc_context(RC):
        figure = draw(experiment, cells_of(experiment), [])
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


def test_times_have_bars_as_scores_have_and_lines_across(drawn):
    figure = drawn(CURVES)
    score, seconds, *_ = figure.axes
    ours = seconds.containers[-1]
    assert ours.has_yerr
    (low, high) = ours[2][0].get_segments()[0][:, 1]
    assert low < 1.5 * 1.2 < high  # three phases of half a second, on average 1.2 times as long
    assert not hollow(seconds)
    assert "mean ± standard deviation, 5 runs" in legend(figure)
    assert [95, 95] in [list(line.get_ydata()) for line in score.lines]
    assert [0.001, 0.001] in [list(line.get_ydata()) for line in seconds.lines]
    assert seconds.get_ylim()[0] < 0.001  # the axis reaches to it
    assert legend(figure)[-3:].count("a line at 95") == 1  # though two panels have one of these words
    assert legend(figure)[-2:] == ["a line at 95", "a line at a millisecond"]
    figure = drawn(H01.replace("methods", "{kind: methods, lines: [{at: 95, label: here}]}"))
    assert [95, 95] in [list(line.get_xdata()) for line in figure.axes[0].lines]
    assert legend(figure)[-1] == "here"


def test_a_single_run_is_hollow(drawn):
    some = [(16, 0), (64, 0), (64, 1)]
    figure = drawn(CURVES, lambda t: t.map is None or (t.map.parameters["n_components"], t.repeat) in some)
    (line,) = hollow(figure.axes[0])
    assert list(line.get_xdata()) == [16]
    assert {"hollow: one run", "mean ± standard deviation, 2 runs"} < {*legend(figure)}
    assert "exact, LIBSVM (no random draw, one run)" in legend(figure)  # of its score and of its seconds
    figures = drawn(H01, repeats=1), drawn(H01)
    assert [[len(hollow(axes)) for axes in figure.axes] for figure in figures] == [[1, 3], [0, 0]]
    assert legend(figures[0])[-1] == "hollow: one run"
    bars = [container for axes in figures[1].axes for container in axes.containers]
    assert all(container.has_xerr for container in bars)


def test_a_figure_says_for_what_its_data_stand_in(drawn, load):
    assert titles(drawn(CURVES)) == ["digits", "", "dense\n(stand-in for Gisette)", ""]
    text = CURVES[: CURVES.index("figure:")].replace("[16, 64]", "16")
    assert titles(drawn(text + "figure: methods\n"))[::2] == ["digits", "dense (stand-in for Gisette)"]
    figure = drawn(CURVES.replace("rows: [dataset]", "rows: []"))
    assert "Tensor Sketch, dense (stand-in for Gisette)" in legend(figure)
    alone = drawn(H01 + "stand_ins: {digits: Gisette}\n")  # no panel names the data
    assert alone.get_suptitle() == "H0/1 (digits, a stand-in for Gisette)"
    with pytest.raises(ConfigError, match=r"stand_ins: unknown dataset 'digit' \(did you mean 'digits'"):
        load(H01 + "stand_ins: {digit: Gisette}\n")


def test_log_names_axes(drawn):
    score, seconds, *_ = drawn(CURVES).axes
    assert (score.get_xscale(), score.get_yscale(), seconds.get_yscale()) == ("log", "linear", "log")
    assert list(score.get_xticks()) == [20, 50]
    score, seconds, *_ = drawn(CURVES.replace("[x, fit]", "true")).axes
    assert (score.get_xscale(), score.get_yscale(), seconds.get_yscale()) == ("linear", "log", "log")


def test_the_numbers_of_another_experiment_are_marked(load):
    experiment = load(CURVES)
    cells = cells_of(experiment)
    figure = figure_of(experiment, cells)
    score, seconds, other, _ = figure.axes
    points = {(float(line.get_xdata()[0]), float(line.get_ydata()[0])) for line in lines_of(score, "D")}
    assert points == {(64.0, 85.0), (1.0, 99.0)}  # the exact SVM's at the right end of its line
    (mark,), (bound,) = lines_of(seconds, "D"), lines_of(seconds, "v")
    assert (mark.get_xdata()[0], mark.get_ydata()[0], bound.get_ydata()[0]) == (64, 90, 1)
    assert not lines_of(other, "D")  # other data
    assert "paper ± standard deviation (time: map + train)" in legend(figure)
    assert not any(cell.printed for cell in cells)  # so that no verdict counts them again
    lacking = load(CURVES.replace("[table]", "[no_table]"))
    with pytest.raises(ConfigError, match=r"experiment no_table, but .*no_table.yaml does not exist"):
        check_figure(lacking, [])


def test_times_of_the_paper_stand_beside_ours_in_a_colour_each(drawn, load):
    seconds = drawn(TABLE).axes[3]
    found = [[line.get_xdata()[0] for line in lines_of(seconds, marker)] for marker in "D<"]
    assert found == [[90], [1]]
    with pytest.raises(ConfigError, match="expected a time as printed"):
        load(TABLE.replace("1.5 mins", "a while"))
    figure = drawn(TABLE.replace("1.5 mins", "1.5 mins, test_time: 0.5 mins"))
    marks = {line.get_xdata()[0]: line.get_color() for line in lines_of(figure.axes[3], "D")}
    assert [*marks] == [90, 30]
    assert len({*marks.values()}) == 2
    assert legend(figure)[-1] == "paper (time: test)"
    assert "paper ± standard deviation (time: map + train)" in legend(figure)
    low, high = figure.axes[3].get_xlim()
    assert low < 30 < 90 < high


def test_ratios_of_a_table(drawn, load):
    figure = drawn(RATIOS, slow=10)
    (axes,) = figure.axes
    assert [label.get_text() for label in axes.get_yticklabels()] == ["RM / TS", "exact / TS"]
    slower = (1 * 1.1 * 1.2 * 1.3 * 1.4) ** 0.2  # the geometric mean of the runs
    assert list(curves_of(axes)[0].get_xdata()) == pytest.approx([10, 0.5 / (1.5 * slower)])
    low, high = axes.containers[0][2][0].get_segments()[0][:, 0]
    assert low < 10 < high
    assert [list(line.get_ydata()) for line in hollow(axes)] == [[1]]  # the exact SVM ran once
    assert [line.get_xdata()[0] for line in lines_of(axes, "D")] == [25]
    assert titles(figure) == ["dense (stand-in for Gisette)"]
    assert {"paper, beside a stand-in that of Gisette", "hollow: one run of one of the two"} < {
        *legend(figure)
    }
    with pytest.raises(ConfigError, match="ratios need a `table`"):
        load(H01.replace("methods", "ratios"))


def test_trials_that_were_stopped_are_drawn_at_their_limit(load):
    experiment, end = load(H01, repeats=1), {"status": "stopped", "reason": "limit", "limit_s": 60.0}
    figure = figure_of(experiment, cells_with(experiment, lambda trial: fake_row(trial, 0.9) | end))
    assert words(figure) == [["stopped at the time limit"], []]
    (mark,) = lines_of(figure.axes[1], ">")
    assert mark.get_xdata()[0] == 60
    assert "stopped: it takes longer" in legend(figure)


def test_two_draws_are_equal_byte_for_byte_and_axes_have_round_places(load, tmp_path):
    # An SVG's names hold every digit of these places, and the layout's last digits differ from draw to draw.
    experiment = load(CURVES)
    cells = cells_of(experiment)
    for name in ("one", "two"):
        figure = draw(experiment, cells, [tmp_path / f"{name}.svg"])
    assert (tmp_path / "one.svg").read_bytes() == (tmp_path / "two.svg").read_bytes()
    for axes in figure.axes:
        ends = axes.get_position().bounds
        assert ends == pytest.approx([round(end, DIGITS) for end in ends], abs=1e-12)


def test_an_svg_has_texts_in_fonts_that_others_have_and_nothing_twice(load, tmp_path):
    experiment = load(
        ONE_KERNEL.replace("degree: 2", "degree: [2, 3], coef0: 1").replace("[16, 64]", "16") + SOLVERS
    )
    draw(experiment, cells_of(experiment), [tmp_path / "figure.svg"])
    text = (tmp_path / "figure.svg").read_text()
    root = ElementTree.fromstring(text)
    texts = ["".join(element.itertext()).replace("\n", "") for element in root.iter(f"{{{SVG}}}text")]
    assert {"Two datasets", "Random Maclaurin", "digits,\xa0(1+⟨x,y⟩)3"} <= {*texts}
    assert text.count("font-family") == 1 < text.count("font-size")
    rules = dict(re.findall(r"^\.(c\d+)({.*})$", text, re.MULTILINE))
    assert {element.get("class") for element in root.iter()} - {None} == {*rules}
    assert len({*rules.values()}) == len(rules)
    assert not re.search(r"\.\d{3}|style=|<g>|Matplotlib", text)
    referred = re.findall(r"(?:href=\"|url\()#(\w+)", text)
    assert {*referred} == {element.get("id") for element in root.iter()} - {None}


def test_a_setting_without_rows_is_not_left_out(drawn, load, tmp_path):
    figure = drawn(TABLE, lambda trial: trial.kernel.parameters["coef0"] == 0)
    assert words(figure) == [[], [], ["no rows yet"], ["no rows yet"]]
    experiment = load(METHODS)
    draw(experiment, cells_of(experiment, nothing), [tmp_path / "figure.png"])
    assert (tmp_path / "figure.png").stat().st_size > 100


@pytest.mark.filterwarnings("error")
def test_signs_that_the_font_lacks_are_drawn_by_another_font_or_as_boxes_in_silence(tmp_path):
    signs = {"DejaVu Sans": list[set[int]](), "STIXGeneral": list[set[int]]()}  # fonts of Matplotlib
    for font in font_manager.fontManager.ttflist:
        if font.name in signs and font.style == "normal":
            signs[font.name].append(set(font_manager.get_font(font.fname).get_charmap()))
    others = set.intersection(*signs["STIXGeneral"]) - set.union(*signs["DejaVu Sans"])
    in_stix = chr(min(code for code in others if chr(code).isalpha()))
    for label, families in (("\u65e5\u672c", ()), (in_stix, ("STIXGeneral",)), ("\u00e9", ())):
        with rc_context(RC):
            figure = Figure()
            axes = figure.subplots()
            axes.set(title=label, xticks=[0, 1], xticklabels=[label, "b"])
            if svg.fonts_with(frozenset(map(ord, label))) and label == "\u65e5\u672c":
                continue  # this machine has a font for it
            save(figure, [tmp_path / "a.svg", tmp_path / "a.png"])
            assert tuple(axes.title.get_fontfamily()[1:]) == families
        assert label in (tmp_path / "a.svg").read_text(encoding="utf-8")
