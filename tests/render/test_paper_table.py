"""The table as the paper prints it: lines are settings, columns methods, ours beside the paper's."""

import re
from math import inf

import pytest

from kfeat.analysis.cells import Shown
from kfeat.errors import ConfigError
from kfeat.experiments.config import load_experiment
from kfeat.render.numbers import factor_text, time
from kfeat.render.paper_table import paper_table, paper_table_notes, shown
from kfeat.render.report import render
from tests.cells import cells_with, fake_row


def table_of(*columns, more=""):
    """A table with a line for each kernel and these columns."""
    return f"table:\n  lines: kernel\n{more}  columns:\n" + "".join(f"    - {{{one}}}\n" for one in columns)


EXACT, NEWTON = "for: {map: exact}", "for: {map: tensor_sketch, solver: newton}"
SPEED_UP = f"title: exact / TS, {NEWTON}, over: {{map: exact}}, show: fit"
LIBLINEAR = "for: {map: tensor_sketch, solver: liblinear}"
TABLE = table_of(f"title: κ + LIBSVM, {EXACT}", f"title: TS, {LIBLINEAR}", f"title: TS + Newton, {NEWTON}")
NUMBERS = """
reported:
  source: A Paper
  runs: 5
  numbers:
    - {for: {map: exact, kernel.coef0: 1}, mean: 90.0, time: 1 hour, where: Table 1}
    - for: {map: tensor_sketch, solver: liblinear, kernel.coef0: 1}
      mean: 85.0
      sd: 0.5
      time: < 1 sec
      where: Table 1
"""
SOLVERS = "[{name: liblinear, C: 1}, {name: newton, C: 1}]"
# The table of a paper that prints both times, both speed-ups and D.
KAR = """
title: Table 1 of Kar & Karnick
dataset: digits
kernel: {name: polynomial, degree: 10, coef0: 1}
maps:
  - {name: random_maclaurin, n_components: 500}
  - {name: random_maclaurin, n_components: 100, h01: true}
solvers: {mapped: {name: liblinear, C: 1}, exact: {name: libsvm, C: 1}}
repeats: 2
exact_repeats: 2
table:
  lines: dataset
  show: [score, fit, test, n_components]
  columns:
    - {title: K + LIBSVM, for: {map: exact}}
    - {title: RF, for: {map.h01: false}}
    - title: RF speed-up
      for: {map.h01: false}
      over: {map: exact}
      show: [fit, test]
      printed: {digits: [4.7×, 5.3×]}
    - {title: H0/1, for: {map.h01: true}}
    - title: H0/1 speed-up
      for: {map.h01: true}
      over: {map: exact}
      show: [fit, test]
      printed: {digits: [38×, 33×]}
reported:
  source: A Paper
  runs: 5
  numbers:
    - {for: {map: exact}, mean: 99.9, time: 18.6s, test_time: 3.37s, where: Table 1}
    - {for: {map.h01: false, map.n_components: 500}, mean: 99.7, time: 3.96s, test_time: 0.63s, where: T1}
    - {for: {map.h01: true, map.n_components: 100}, mean: 98.2, time: 0.49s, test_time: 0.1s, where: Table 1}
"""


@pytest.fixture
def two_kernels(write):
    """The small experiment on <x, y>^2 and (1 + <x, y>)^2 with two solvers and a paper's table."""

    def maker(table=TABLE, *overrides, **choices):
        changes = {"coef0: 1": "coef0: [0, 1]", "mapped: {name: liblinear, C: 1}": f"mapped: {SOLVERS}"}
        return load_experiment(write(table + NUMBERS, **changes), overrides, **choices)

    return maker


def row(trial):
    """A row with the same numbers in every run: the exact SVM trains 600 s, the solvers 8 s and 2 s."""
    if trial.map is None:
        return timed(trial, 0.9, {"train": 600.0})
    train = 8.0 if trial.solver.name == "liblinear" else 2.0
    return timed(trial, 0.84 + 0.02 * trial.repeat, {"map_fit": 0.0, "map_train": 0.1, "train": train})


def timed(trial, score, seconds):
    return fake_row(trial, score, seconds={key: {"cpu": s, "wall": s} for key, s in seconds.items()})


def lines_of(experiment, make=row):
    return list(paper_table(experiment.table, cells_with(experiment, make)).lines)


def said_of(experiment, make=row):
    return paper_table_notes(experiment.table, cells_with(experiment, make))


def nothing(trial):
    return None


@pytest.mark.parametrize(
    ("kind", "timed", "lines"),
    [
        ("exact", True, [("> 30.0 mins", "–", "", "2.0 secs"), ("> 30.0 mins", "–", "> 857×", "2.1 secs")]),
        ("exact", False,
         [("> ~30.0 mins", "–", "", "2.0 secs"), ("> ~30.0 mins", "–", "> ~857×", "2.1 secs")]),
        # How a map's time falls into mapping and training is not known.
        ("tensor_sketch", True,
         [("10.0 mins¹", "–", "", "–"), ("10.0 mins¹", "–", "< 0.333×¹", "> 30.0 mins")]),
    ],
)  # fmt: skip
def test_a_stopped_trial_gives_a_lower_bound_if_its_time_counts(two_kernels, kind, timed, lines):
    columns = f"title: exact, {EXACT}", SPEED_UP, f"title: TS, {NEWTON}"
    experiment = two_kernels(table_of(*columns, more="  show: [train, fit]\n"))
    end = {"status": "stopped", "reason": "too long", "limit_s": 1800.0, "timed": timed}

    def stopped(t):
        return row(t) | (end if kind == (t.map.name if t.map else "exact") else {})

    assert [line[1:] for line in lines_of(experiment, stopped)[:2]] == lines
    text = render(experiment, cells_with(experiment, stopped), "markdown")
    assert text.count("too long") == (2 if kind == "exact" else 4)  # of two kernels; the sketch's two solvers
    assert "- after >: the time limit" in text
    mark = "" if timed else "~"
    assert bool(re.search(rf"\| exact, LIBSVM .*\| +> {mark}1800\.0 \|", text)) == (kind == "exact")
    assert bool(re.search(r"\| Tensor Sketch, Newton .*\| +> 1800\.0 \|", text)) == (kind != "exact")
    assert ("- ~: a time of a busy machine" in text) == (not timed)
    assert text.count(f"> {mark}857× |") == (6 if kind == "exact" else 0)  # two here, four of all cells


def test_missing_cells_and_runs_show(two_kernels):
    experiment = two_kernels()
    score, seconds, *_ = lines_of(experiment, lambda t: row(t) if t.map and t.repeat == 0 else None)
    assert score == ("<x, y>^2", "–", "–", "84.00 % (1/2 runs)", "–", "84.00 % (1/2 runs)")
    assert seconds[1] == "–"
    assert {text for line in lines_of(experiment, nothing)[:2] for text in line[1:]} == {"–"}
    unplanned = two_kernels(exact=False)
    assert [line[1] for line in lines_of(unplanned)] == ["–"] * 4
    assert "κ + LIBSVM: nothing of this plan (map: exact)." in said_of(unplanned)


def test_a_column_selects_one_cell_and_words_are_for_ratios(two_kernels):
    experiment = two_kernels(TABLE.replace(", solver: newton", ""))
    with pytest.raises(
        ConfigError,
        match=r"`for` of the column 'TS \+ Newton' should select one cell of digits, <x, y>\^2, and "
        r"selects 2: 'Tensor Sketch, LIBLINEAR' and 'Tensor Sketch, Newton'; they differ in solver, ",
    ):
        render(experiment, cells_with(experiment, row), "terminal")
    with pytest.raises(ConfigError, match="`printed` is for a column with `over`"):
        two_kernels(TABLE.replace("{map: exact}}", "{map: exact}, printed: {x: 2×}}"))


@pytest.mark.parametrize(
    ("seconds", "printed"),
    [
        (0.0712, "0.071 secs"), (0.996, "1.0 secs"), (8.07, "8.1 secs"), (59.94, "59.9 secs"),
        (59.96, "1.0 mins"), (401.8, "6.7 mins"), (5400, "1.5 hours"), (None, "–"),
    ],
)  # fmt: skip
def test_times_read_as_the_paper_prints_them(seconds, printed):
    assert time(seconds) == printed


def test_large_ratios_have_no_exponent():
    assert [factor_text(value) for value in (0.333333, 49.23, 1612.4, inf)] == [
        "0.333×", "49.2×", "1612×", "∞",
    ]  # fmt: skip
    one, missing, zero, bound = Shown(1.0), Shown(None), Shown(0.0), Shown(60.0, sign="> ")
    for over, under in ((one, zero), (missing, one), (one, missing), (bound, bound)):
        assert shown(over.over(under), factor_text) == "–"
    assert shown(bound.over(one), factor_text) == "> 60×"
    assert shown(one.over(bound), factor_text) == "< 0.0167×"
    assert shown(Shown(8.07, busy=True).over(one), factor_text) == "~8.07×"
    assert shown(Shown(60.0, True, "> "), time) == "> ~1.0 mins"


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("[4.7×, 5.3×]", "4.7×", "'RF speed-up' shows 2 quantities, and `printed` has 1 words for digits"),
        ("show: [score, fit, test, n_components]", "show: [score]",
         "2 quantities, and the table has 1 lines"),
    ],
)  # fmt: skip
def test_a_column_has_a_word_and_a_line_for_each_of_its_quantities(load_text, old, new, problem):
    with pytest.raises(ConfigError, match=re.escape(problem)):
        load_text(KAR.replace(old, new))


def test_a_ratio_may_be_against_the_quickest_of_several(two_kernels):
    ratio = f"title: exact / TS, {NEWTON}, over: {{map: exact}}, quickest: true"
    table = table_of(ratio, more="  show: [fit]\n")
    exact = "solvers.exact=[{name: libsvm, C: 1}, {name: svc, C: 1}, {name: libsvm, C: 2}]"
    seconds = {"libsvm": 600.0, "svc": 210.0}

    def several(trial):
        return row(trial) if trial.map else timed(trial, 0.9, {"train": seconds[trial.solver.name]})

    assert [line[1].split()[0] for line in lines_of(two_kernels(table, exact), several)] == ["100×¹", "100×¹"]
    with pytest.raises(ConfigError, match="should select one cell"):
        lines_of(two_kernels(table.replace(", quickest: true", ""), exact), several)
    with pytest.raises(ConfigError, match="chooses among the cells of `over`"):
        two_kernels(table.replace("over: {map: exact}, ", ""), exact)
