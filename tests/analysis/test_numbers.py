"""What the paper prints: means, deviations and times, held against made-up rows."""

from pathlib import Path

import numpy as np
import pytest
from pydantic import ValidationError
from scipy.stats import f, t, ttest_ind_from_stats

from kfeat.analysis import claims
from kfeat.analysis.judgement import judge_experiment
from kfeat.analysis.numbers import (
    AGREES,
    COMPATIBLE,
    EXPLAINED,
    UNEXPLAINED,
    NumberVerdict,
    held_against,
    reproduction,
)
from kfeat.analysis.tallies import in_short
from kfeat.experiments.config import load_experiment
from kfeat.experiments.paper import Claim, Reported, ReportedNumber, seconds_printed
from kfeat.render.overview import scoreboard_line
from kfeat.render.verdicts import tables
from tests.cells import cells_with, fake_row

CONFIGS = Path(__file__).parents[2] / "configs"


def a_paper(**keys):
    """A paper that prints accuracies of five runs with two decimals."""
    return Reported(source="A Paper", **{"runs": 5, "decimals": 2} | keys)


def reproductions_of(cells, slack):
    """The verdicts on the cells' printed scores."""
    reported = a_paper(slack=slack)
    pairs = ((cell, number) for cell in cells for number in cell.printed.values())
    return [found for cell, number in pairs if (found := reproduction(cell, number, reported))]


def printed(**keys):
    """A printed mean of 85 %."""
    return ReportedNumber.model_validate({"for": {}, "mean": 85.0, "where": "Table 1", **keys})


@pytest.mark.parametrize(
    ("interval", "verdict"),
    [
        ((-0.2, 0.3), AGREES),
        ((0.1, 0.3), AGREES),  # a difference that is known, and too small to matter
        ((-1.0, 1.0), AGREES),  # a bound counts as within
        ((0.9, 0.9), AGREES),
        ((-0.2, 1.1), COMPATIBLE),
        ((-1.1, 0.2), COMPATIBLE),
        ((-5.0, 5.0), COMPATIBLE),
        ((0.9, 1.1), COMPATIBLE),
        ((1.0, 1.1), COMPATIBLE),
        ((-1.1, -1.0), COMPATIBLE),
        (None, COMPATIBLE),
        ((1.01, 1.1), UNEXPLAINED),
        ((-9.0, -1.01), UNEXPLAINED),
        ((1.01, 1.01), UNEXPLAINED),
    ],
)
def test_a_difference_is_judged_by_where_its_interval_lies(interval, verdict):
    assert held_against(interval, slack=1.0) == verdict
    if interval is not None:
        assert held_against((-interval[1], -interval[0]), slack=1.0) == verdict


@pytest.mark.parametrize(
    ("scores", "slack", "verdict"),
    [
        ([0.85], 1.0, COMPATIBLE),  # of a single draw nobody knows how far another would be off
        ([0.50], 1.0, COMPATIBLE),
        ([0.849, 0.850, 0.851], 1.0, AGREES),
        ([0.843, 0.847, 0.851], 1.0, COMPATIBLE),
        ([0.840, 0.856], 1.0, COMPATIBLE),  # its mean is 84.8, known to 10 points
        ([0.800, 0.835, 0.870], 1.0, COMPATIBLE),
        ([0.8419, 0.8420, 0.8421], 1.0, COMPATIBLE),
        ([0.8319, 0.8320, 0.8321], 1.0, UNEXPLAINED),
        ([0.8459, 0.846, 0.8461], 1.1, AGREES),
        ([0.8459, 0.846, 0.8461], 0.9, COMPATIBLE),
        ([0.8459, 0.846, 0.8461], 0.3, COMPATIBLE),  # two printed deviations are more than the slack
        ([0.8309, 0.831, 0.8311], 0.3, UNEXPLAINED),
        ([0.8689, 0.869, 0.8691], 0.3, UNEXPLAINED),
    ],
)
def test_runs_agree_are_compatible_or_differ_with_a_printed_mean(make_cells, scores, slack, verdict):
    """The paper prints 85.0 ± 0.5 over five runs, a mean that is known to 0.6."""
    (found,) = reproductions_of(make_cells(scores, exact=None), slack)
    assert found.verdict == verdict


def exact_of(make_cells, score):
    """A cell in which nothing is random."""
    return next(cell for cell in make_cells([0.85], exact=score) if cell.trial.map is None)


@pytest.mark.parametrize(
    ("mean", "decimals", "verdict"),
    [
        (84.0, 2, COMPATIBLE),
        (84.0, 0, COMPATIBLE),  # a printed 84.0 is 83.95 to 84.05
        (84.02, 0, AGREES),
        (84.1, 2, AGREES),
        (84.1, 0, AGREES),
        (84.04, 2, AGREES),
        (84, 0, COMPATIBLE),  # a printed 84 is 83.5 to 84.5
        (84.9, 3, AGREES),
        (83, 0, UNEXPLAINED),
        (84, 2, COMPATIBLE),
        (83.9, 2, UNEXPLAINED),
        (83.96, 0, UNEXPLAINED),
    ],
)
def test_an_exact_number_is_known_to_the_rounding_of_the_print(make_cells, mean, decimals, verdict):
    """Ours is 85.00, and the slack one point."""
    item = reproduction(exact_of(make_cells, 0.85), printed(mean=mean), a_paper(decimals=decimals))
    assert item.verdict == verdict


def test_the_decimals_are_those_that_the_config_writes_or_says():
    def rounding(mean, decimals=0):
        return a_paper(decimals=decimals).rounding_of(printed(mean=mean))

    found = [rounding(mean) for mean in (94, 94.0, 93.5, 79.31, 0.0335, 2.049e-05, 100)]
    assert found == pytest.approx([0.5, 0.05, 0.05, 0.005, 5e-5, 5e-9, 0.5])
    assert [rounding(mean, 2) for mean in (78.9, 86.0, 41.45)] == pytest.approx([0.005] * 3)


def test_a_number_and_a_claim_with_the_same_interval_and_bound_never_contradict_each_other(
    experiment, make_cells
):
    """The claim is that ours - 85.0, which the paper prints without an error, is above -1 and below 1."""
    same = {claims.REPRODUCED: AGREES, claims.OPEN: COMPATIBLE, claims.UNEXPLAINED: UNEXPLAINED}
    about = {"text": "They are alike", "where": "Table 1", "value": {"map": "tensor_sketch"}}
    alike = Claim.model_validate({**about, "of": "accuracy", "minus": [85.0], "above": -1, "below": 1})
    claiming = experiment.model_copy(update={"claims": [alike]})
    number, paper = printed(sd=0.0), a_paper(slack=1.0, decimals=9)
    rng, seen = np.random.default_rng(0), set()
    for _ in range(60):
        cells = make_cells(rng.normal(rng.uniform(0.82, 0.88), rng.uniform(0, 0.01), 5), exact=None)
        (claimed,) = claims.claim_verdicts(claiming, cells)
        item = reproduction(claimed.cases[0].cells[0], number, paper)
        assert item.interval == pytest.approx(claimed.cases[0].interval, abs=1e-8)
        assert item.verdict == same[claimed.verdict]
        seen.add(item.verdict)
    assert len(seen) == 3


def test_a_number_may_have_a_slack_of_its_own(make_cells):
    cell = exact_of(make_cells, 0.843)
    for of_all, own, verdict in ((1.0, 0.5, UNEXPLAINED), (0.1, 0.5, UNEXPLAINED), (0.1, 0.8, AGREES)):
        assert reproduction(cell, printed(slack=own), a_paper(slack=of_all)).verdict == verdict


def test_the_interval_is_welchs(make_cells):
    ours = [0.843, 0.847, 0.851]
    item = reproductions_of(make_cells(ours), slack=1.0)[1]
    test = ttest_ind_from_stats(
        100 * np.mean(ours), 100 * np.std(ours, ddof=1), 3, 85.0, 0.5, 5, equal_var=False
    )
    a, b = np.var(np.multiply(100, ours), ddof=1) / 3, 0.5**2 / 5
    df = (a + b) ** 2 / (a**2 / 2 + b**2 / 4)
    half = t.ppf(0.975, df) * np.sqrt(a + b)
    assert test.statistic == pytest.approx(item.difference / np.sqrt(a + b))
    assert item.interval == pytest.approx((item.difference - half - 0.005, item.difference + half + 0.005))


def test_a_printed_mean_without_a_deviation_is_taken_to_vary_as_ours_does(make_cells):
    cell = next(one for one in make_cells([0.800, 0.835, 0.870], exact=None) if one.rows)
    for runs in (1, 5):
        item = reproduction(cell, printed(), a_paper(runs=runs))
        half = t.ppf(0.975, 2) * 3.5 * np.sqrt(1 / 3 + 1 / runs) + 0.005
        assert item.interval == pytest.approx((-1.5 - half, -1.5 + half))
        assert item.verdict == COMPATIBLE
    alike = next(one for one in make_cells([0.8319, 0.8320, 0.8321], exact=None) if one.rows)
    assert reproduction(alike, printed(), a_paper()).verdict == UNEXPLAINED


def number_verdict(cells, **keys):
    number = printed(**keys)
    sketch = [cell for cell in cells if cell.rows and cell.trial.map]
    found = (reproduction(cell, number, a_paper()) for cell in sketch)
    return NumberVerdict(number, sketch, [one for one in found if one], [], a_paper())


def beside(found, what):
    """How the only cell compares with the printed deviation, or the time of `fit` or `test`."""
    (cell,) = found.cells
    return found.deviation(cell) if what == "deviation" else found.times(cell)[what]


def test_a_deviation_is_alike_where_the_f_interval_of_the_ratio_has_1_inside(make_cells):
    def ratio(spread, **keys):
        scores = [0.85 + spread * i for i in (-1, 0, 1)]
        found = beside(number_verdict(make_cells(scores), **{"sd": 0.5, **keys}), "deviation")
        return found.number, found.verdict

    assert ratio(0.005) == (pytest.approx(1), "alike")
    assert ratio(0.05) == (pytest.approx(10), "wider")
    assert ratio(0.0002, runs=30) == (pytest.approx(0.04), "narrower")
    none_printed = number_verdict(make_cells([0.85]))
    assert none_printed.deviation(none_printed.cells[0]) is None


def test_the_interval_of_a_deviation_is_fishers_widened_by_rounding(make_cells):
    found = beside(number_verdict(make_cells([0.845, 0.85, 0.855]), sd=0.25), "deviation")
    assert found.interval == pytest.approx((
        2 / f.ppf(0.975, 2, 4) ** 0.5 * 0.25 / 0.255,
        2 / f.ppf(0.025, 2, 4) ** 0.5 * 0.25 / 0.245,
    ))  # fmt: skip


def test_times_are_alike_within_a_factor_of_two(make_cells):
    def verdict(time, seconds, timed=True):
        phases = {"train": {"cpu": seconds, "wall": seconds}}
        cells = make_cells([0.85], seconds=phases, timed=timed)
        return beside(number_verdict(cells, time=time), "fit").verdict

    found = [verdict("1.6 mins", seconds) for seconds in (47, 49, 191, 193)]
    assert found == ["quicker", "alike", "alike", "slower"]
    assert [verdict("< 1 sec", seconds) for seconds in (0.01, 1.9, 2.1)] == ["alike", "alike", "slower"]
    assert verdict("1.6 mins", 96, timed=False) == "missing"


def test_a_printed_test_time_is_compared_with_mapping_and_predicting_the_test_rows(make_cells):
    names = ("map_fit", "map_train", "train", "map_test", "predict")
    phases = {name: {"cpu": 2.0**i, "wall": 2.0**i} for i, name in enumerate(names)}
    found = number_verdict(make_cells([0.85] * 2, seconds=phases), time="3.5 s", test_time="60 s")
    assert {name: one.number for name, one in found.times(found.cells[0]).items()} == {
        "fit": pytest.approx((1 + 2 + 4) / 3.5),
        "test": pytest.approx((8 + 16) / 60),
    }
    assert beside(found, "test").verdict == "quicker"
    alone = number_verdict(make_cells([0.85]), test_time="< 1 sec")
    assert [*alone.times(alone.cells[0])] == ["test"]
    assert beside(alone, "test").verdict == "alike"
    none_printed = number_verdict(make_cells([0.85]))
    assert none_printed.times(none_printed.cells[0]) == {}


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("3.6 secs", (3.55, 3.65)),
        ("< 1 sec", (0, 1)),
        ("1 hour", (1800, 5400)),
        ("11.3 mins", (675, 681)),
        ("250 ms", (0.2495, 0.2505)),
    ],
)
def test_a_printed_time_stands_for_what_rounds_to_it(text, seconds):
    assert seconds_printed(text) == pytest.approx(seconds)


@pytest.mark.parametrize("text", ["", "soon", "5", "5 fortnights", "-3 secs", "0 secs"])
def test_what_is_no_time_is_refused_as_the_config_is_read(text):
    with pytest.raises(ValidationError, match="time as printed"):
        printed(time=text)


def test_a_number_with_an_unexplained_cell_differs_though_another_is_missing(make_cells):
    there = make_cells([0.7, 0.71], exact=None)
    found = [one for cell in there if (one := reproduction(cell, printed(), a_paper()))]
    assert 0 < len(found) < len(there)
    assert NumberVerdict(printed(), there, found, [], a_paper()).verdict == UNEXPLAINED
    assert NumberVerdict(printed(), there, [], [], a_paper()).verdict == "missing"


def test_a_deviation_of_one_run_is_refused():
    number = {"for": {}, "mean": 85.0, "sd": 0.5, "where": "Table 1"}
    with pytest.raises(ValidationError, match="Table 1: a standard deviation needs at least 2 runs"):
        Reported.model_validate({"source": "A Paper", "runs": 1, "numbers": [number]})
    Reported.model_validate({"source": "A Paper", "runs": 1, "numbers": [{**number, "runs": 2}]})


CURVES = """
reported:
  source: A Paper
  runs: 5
  curves: true
  numbers:
    - {for: {map: tensor_sketch, map.n_components: 64}, mean: 10, slack: 2, where: "Fig. 1, TS, D = 64"}
    - {for: {map: tensor_sketch, map.n_components: 128}, mean: 20, slack: 4, where: "Fig. 1, TS, D = 128"}
    - {for: {map: random_maclaurin, map.n_components: 64}, mean: 10, slack: 2, where: "Fig. 1, RM, D = 64"}
    - {for: {map: random_maclaurin, map.n_components: 128}, mean: 20, slack: 4, where: "Fig. 1, RM, D = 128"}
"""
SAMPLES = np.random.default_rng(3).normal(1, 0.3, 8)  # each is what a sample multiplies all values by


def judged_curves(write, factor, split="seed: 0}", more=CURVES):
    """The judgement on rows of 10 and 20 times `factor` of the map's name, its D and the repeat."""
    path = write(more, **{"n_components: 64": "n_components: [64, 128]", "seed: 0}": split})
    experiment = load_experiment(path, repeats=8)

    def row(trial):
        if trial.map is None:
            return None
        size = trial.map.parameters["n_components"]
        value = factor(trial.map.name, size, trial.repeat)
        return None if value is None else fake_row(trial, {64: 0.1, 128: 0.2}[size] * value)

    return judge_experiment(experiment, cells_with(experiment, row), {})


def test_points_that_share_their_samples_are_one_observation(write):
    """Both maps have one value in each sample; that it stands at two D makes the interval no narrower."""
    curves = judged_curves(write, lambda name, size, repeat: SAMPLES[repeat], "}").curves
    assert [(c.where, len(c.points), c.samples) for c in curves] == [
        ("Fig. 1, TS", 2, 8),
        ("Fig. 1, RM", 2, 8),
    ]
    mean, half = (
        SAMPLES.mean(),
        t.ppf(0.975, 7) * SAMPLES.std(ddof=1) / SAMPLES.mean() * np.sqrt(1 / 8 + 1),
    )
    rounding = np.log(1.05 * 1.025) / 2
    for curve in curves:
        assert curve.ratio.number == pytest.approx(mean)
        assert curve.ratio.interval == pytest.approx(mean * np.exp([-half - rounding, half + rounding]))
        assert curve.verdict == COMPATIBLE


def test_a_number_alone_is_no_curve(write):
    alone = CURVES.rpartition("    - ")[0]
    judgement = judged_curves(write, lambda name, size, repeat: 1 + repeat / 1000, "}", alone)
    assert [(curve.where, len(curve.points)) for curve in judgement.curves] == [("Fig. 1, TS", 2)]
    assert len(judgement.numbers) == 3


def test_independent_points_of_a_curve_average_out(write):
    noise = np.random.default_rng(4).normal(1, 0.3, (2, 8))
    two = judged_curves(write, lambda name, size, repeat: noise[size // 128, repeat], "}").curves[0]
    parts = (noise / noise.mean(axis=1, keepdims=True)).mean(axis=0)
    half = t.ppf(0.975, 7) * parts.std(ddof=1) * np.sqrt(1 / 8 + 1) + np.log(1.05 * 1.025) / 2
    number = np.exp(np.log(noise.mean(axis=1)).mean())
    assert two.ratio.number == pytest.approx(number)
    assert two.ratio.interval == pytest.approx((number * np.exp(-half), number * np.exp(half)))


@pytest.mark.parametrize(
    ("factor", "verdict"), [(1.01, AGREES), (1.2, COMPATIBLE), (1.3, UNEXPLAINED), (1 / 1.3, UNEXPLAINED)]
)
def test_a_curve_agrees_or_differs_by_the_rule_of_a_number(write, factor, verdict):
    judgement = judged_curves(write, lambda name, size, repeat: factor * (1 + repeat % 2 / 100), "}")
    assert [curve.verdict for curve in judgement.curves] == [verdict] * 2


def test_maps_that_are_drawn_on_one_sample_say_nothing_of_others(write):
    curves = judged_curves(write, lambda name, size, repeat: 3 + SAMPLES[repeat]).curves
    assert [(c.samples, c.ratio.interval, c.verdict) for c in curves] == [(1, None, COMPATIBLE)] * 2


def test_a_curve_without_a_point_is_missing_and_one_of_zeros_differs(write):
    missing = "tensor_sketch", 128
    lost = judged_curves(write, lambda *drawn: None if drawn[:2] == missing else 1.0, "}").curves
    assert [curve.verdict for curve in lost] == ["missing", AGREES]
    exact = judged_curves(write, lambda name, size, repeat: 0.0, "}").curves
    assert [curve.verdict for curve in exact] == [UNEXPLAINED] * 2


def test_a_curve_is_explained_where_each_of_its_points_is(write):
    rain = (
        "\nclaims: [{text: Rain, id: rain, where: here, value: {map: tensor_sketch}, above: 0, kind: own}]\n"
    )
    why = 'explanation: Rain., evidence: ["small#rain"]}'
    some = CURVES.replace('D = 64"}', f'D = 64", {why}').replace('RM, D = 128"}', f'RM, D = 128", {why}')
    verdicts = []
    for text in (some, some.replace('TS, D = 128"}', f'TS, D = 128", {why}')):
        judgement = judged_curves(write, lambda name, size, repeat: 2 + repeat / 1000, "}", text + rain)
        verdicts.append([curve.verdict for curve in judgement.curves])
        bullets = [item.what for item in judgement.disagreements() if "curve" in item.what]
        assert bullets == ["Fig. 1, TS: the curve of 2 points", "Fig. 1, RM: the curve of 2 points"]
    assert verdicts == [[UNEXPLAINED, EXPLAINED], [EXPLAINED, EXPLAINED]]


def test_tallies_and_tables_count_curves_beside_numbers(write):
    judgement = judged_curves(write, lambda name, size, repeat: 1 + repeat / 1000, "}")
    assert in_short([judgement])[0] == "agree: 4 of 4 printed numbers; 2 of 2 printed curves"
    assert scoreboard_line(judgement, "small")[2] == "4 agrees; 2 curves: 2 agrees"
    table = tables(judgement)["Printed curves"].markdown(str)
    assert [[word.strip() for word in line.split("|")[1:4]] for line in table.splitlines()[2:4]] == [
        ["Fig. 1, TS", "2", "8"],
        ["Fig. 1, RM", "2", "8"],
    ]


def test_a_point_of_a_curve_is_positive():
    number = {"for": {}, "mean": 0, "where": "Figure 1, D = 64"}
    with pytest.raises(ValidationError, match="a point of a curve needs a mean above 0"):
        a_paper(curves=True, numbers=[number])
    assert a_paper(numbers=[number]).rounding_of(printed(mean=0.25)) == 0.005
    assert a_paper(numbers=[number], reading_error=0.1).rounding_of(printed(mean=0.25)) == 0.1


@pytest.mark.parametrize(("figure", "axis"), [("1a", 0.002), ("1b", 60), ("1c", 0.5)])
def test_what_is_read_from_a_drawing_lies_on_its_grid(figure, axis):
    """Coordinates are whole: every error is a multiple of 1/3,612 of the axis, to its four digits."""
    reported = load_experiment(CONFIGS / f"kar_karnick_2012/figure{figure}.yaml").reported
    step = axis / 3612
    assert step / 2 <= reported.reading_error < 0.51 * step
    for number in reported.numbers:
        digits = 0.5 * 10.0 ** (np.floor(np.log10(number.mean)) - 3)
        assert abs(number.mean - step * round(number.mean / step)) < 1.001 * digits
