"""What the paper prints: means, deviations and times, held against made-up rows."""

import numpy as np
import pytest
from pydantic import ValidationError
from scipy.stats import f, t, ttest_ind_from_stats

from kfeat.analysis.numbers import (
    KNOWN_WELL,
    OPEN,
    TOO_WIDE,
    UNEXPLAINED,
    WITHIN_ERROR,
    WITHIN_SLACK,
    NumberVerdict,
    reproduction,
)
from kfeat.experiments.paper import Reported, ReportedNumber, seconds_printed


def reproductions_of(cells, slack, runs):
    """The verdicts on the cells' printed scores."""
    reported = Reported(source="A Paper", runs=runs, slack=slack)
    pairs = ((cell, number) for cell in cells for number in cell.printed.values())
    return [found for cell, number in pairs if (found := reproduction(cell, number, reported))]


def printed(**keys):
    """A printed mean of 85 %."""
    return ReportedNumber.model_validate({"for": {}, "mean": 85.0, "where": "Table 1", **keys})


@pytest.mark.parametrize(
    ("scores", "slack", "verdict"),
    [
        ([0.81], 0.3, OPEN),  # of a single draw nobody knows how far another would be off
        ([0.845], 0.3, WITHIN_SLACK),
        ([0.89], 0.3, OPEN),
        ([0.843, 0.847, 0.851], 1.0, WITHIN_ERROR),
        ([0.8419, 0.8420, 0.8421], 1.0, WITHIN_SLACK),
        ([0.800, 0.835, 0.870], 1.0, OPEN),
        ([0.8319, 0.8320, 0.8321], 1.0, UNEXPLAINED),
        ([0.8409, 0.841, 0.8411], 0.3, WITHIN_SLACK),  # two printed deviations are more than the slack
        ([0.8589, 0.859, 0.8591], 0.3, WITHIN_SLACK),
        ([0.8397, 0.8398, 0.8399], 0.3, UNEXPLAINED),
        ([0.8601, 0.8602, 0.8603], 0.3, UNEXPLAINED),
    ],
)
def test_a_difference_from_a_printed_mean_is_within_the_error_the_slack_or_neither(
    make_cells, scores, slack, verdict
):
    (found,) = reproductions_of(make_cells(scores, exact=None), slack=slack, runs=5)
    assert found.verdict == verdict


def test_a_number_may_have_a_slack_of_its_own(make_cells):
    cell = next(one for one in make_cells([0.8429, 0.843, 0.8431], exact=None) if one.rows)
    for of_all, own, verdict in ((1.0, 0.5, UNEXPLAINED), (0.1, 0.5, UNEXPLAINED), (0.1, 0.8, WITHIN_SLACK)):
        reported = Reported(source="A Paper", runs=5, slack=of_all)
        assert reproduction(cell, printed(slack=own), reported).verdict == verdict


def test_few_runs_are_within_the_error_of_much_and_do_not_tell(make_cells):
    def certainty(*scores):
        found = [reproductions_of(make_cells(one, exact=None), slack=1.0, runs=5)[0] for one in scores]
        assert {item.verdict for item in found} == {WITHIN_ERROR}
        return NumberVerdict(printed(sd=0.5), [item.cell for item in found], found, (), 5).certainty

    close, wide = [0.849, 0.850, 0.851], [0.840, 0.856]  # about 85.0 and 84.8, by 0.6 and 10 points
    assert certainty(close) == KNOWN_WELL
    assert certainty(wide) == certainty(close, wide) == TOO_WIDE


def test_the_interval_is_welchs(make_cells):
    ours = [0.843, 0.847, 0.851]
    item = reproductions_of(make_cells(ours), slack=1.0, runs=5)[1]
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
        item = reproduction(cell, printed(), Reported(source="A Paper", runs=runs, slack=1.0))
        half = t.ppf(0.975, 2) * 3.5 * np.sqrt(1 / 3 + 1 / runs) + 0.005
        assert item.interval == pytest.approx((-1.5 - half, -1.5 + half))
        assert item.verdict == OPEN
    alike = next(one for one in make_cells([0.8319, 0.8320, 0.8321], exact=None) if one.rows)
    reported = Reported(source="A Paper", runs=5, slack=1.0)
    assert reproduction(alike, printed(), reported).verdict == UNEXPLAINED


def number_verdict(cells, **keys):
    number = printed(**keys)
    sketch = [cell for cell in cells if cell.rows and cell.trial.map]
    found = (reproduction(cell, number, Reported(source="A Paper", runs=5)) for cell in sketch)
    return NumberVerdict(number, sketch, [one for one in found if one], [], 5)


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
    reported = Reported(source="A Paper", runs=5)
    found = [one for cell in there if (one := reproduction(cell, printed(), reported))]
    assert 0 < len(found) < len(there)
    assert NumberVerdict(printed(), there, found, [], 5).verdict == UNEXPLAINED
    assert NumberVerdict(printed(), there, [], [], 5).verdict == "missing"


def test_a_deviation_of_one_run_is_refused():
    number = {"for": {}, "mean": 85.0, "sd": 0.5, "where": "Table 1"}
    with pytest.raises(ValidationError, match="Table 1: a standard deviation needs at least 2 runs"):
        Reported.model_validate({"source": "A Paper", "runs": 1, "numbers": [number]})
    Reported.model_validate({"source": "A Paper", "runs": 1, "numbers": [{**number, "runs": 2}]})
