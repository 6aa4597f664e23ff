"""The time that a run has left, with a clock that the test sets."""

import pytest

from kfeat.cli.progress import Quiet
from kfeat.cli.time_left import AROUND, TimeLeft
from kfeat.errors import DataError
from kfeat.experiments.estimates import Estimate
from kfeat.experiments.observer import Begun


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def run_of(*seconds: float | None) -> tuple[TimeLeft, Clock]:
    clock = Clock()
    expected = {str(i): Estimate(each, None) for i, each in enumerate(seconds)}
    return TimeLeft(expected, clock), clock


def test_it_begins_with_what_is_expected_and_runs_down() -> None:
    time, clock = run_of(10.0, 20.0)
    assert time.left == pytest.approx(30 + 2 * AROUND)
    time.started("0")
    clock.now = 4.0
    assert time.left == pytest.approx(26 + 2 * AROUND)
    clock.now = 100.0  # the trial takes longer than expected: the other is still to come
    assert time.left == pytest.approx(20 + AROUND)


def test_trials_that_took_twice_as_long_double_what_is_left() -> None:
    time, clock = run_of(100.0, 100.0, 100.0)
    for identity in "01":
        time.started(identity)
        clock.now += 200.0
        time.finished(identity)
    assert time.left == pytest.approx(200, rel=0.02)


def test_short_trials_tell_what_is_around_the_work_of_every_trial_and_nothing_of_long_ones() -> None:
    time, clock = run_of(0.1, 0.1, 0.1, 60.0)
    for identity in "01":
        time.started(identity)
        clock.now += 2.1
        time.finished(identity)
    assert time.left == pytest.approx(2.1 + 62)


def test_as_many_at_once_as_have_run_share_what_is_left_but_the_longest_runs_alone() -> None:
    time, clock = run_of(60.0, 10.0, 10.0)
    for identity in "01":
        time.started(identity)
    assert time.left == pytest.approx(60 + AROUND)
    clock.now = 58.0
    assert time.left == pytest.approx((2 + AROUND + 10 + AROUND) / 2)


def test_what_is_not_known_counts_as_the_mean_of_the_others() -> None:
    time, _ = run_of(10.0, None)
    assert time.left == pytest.approx(20 + 2 * AROUND)
    nothing, _ = run_of(None)
    assert nothing.left is None
    nothing.started("0")
    nothing.finished("0")
    assert nothing.left == 0


def test_an_experiment_takes_nothing_that_an_error_ends_before_it_begins() -> None:
    shown = Quiet()
    shown.expect("broken", [10.0, 20.0])
    shown.expect("whole", [5.0])
    assert shown.time.left == pytest.approx(35 + 3 * AROUND)
    shown.end("broken", [], DataError("no such file"))
    assert shown.time.left == pytest.approx(5 + AROUND)
    shown.begin(Begun("whole", [], {"0": Estimate(5.0, 0)}, 0, 0))
    assert shown.time.left == pytest.approx(5 + AROUND)  # not twice


def test_a_trial_that_was_refused_takes_nothing() -> None:
    time, _ = run_of(10.0, 1000.0)
    time.finished("1")
    assert time.left == pytest.approx(10 + AROUND)


def test_trials_that_come_later_count_too_and_those_that_will_not_end_no_more() -> None:
    time, clock = run_of(None, None)
    assert time.left is None
    time.add({"2": Estimate(100.0, None), "3": Estimate(50.0, None)})
    assert time.left == pytest.approx(150 + 2 * 75 + 4 * AROUND)
    time.started("2")
    clock.now = 10.0
    time.drop(["1", "2"])
    assert time.left == pytest.approx(75 + 50 + 2 * AROUND)


def test_experiments_that_come_count_until_they_begin_or_will_not() -> None:
    time, _ = run_of(10.0)
    time.announce("next", [30.0, None])
    time.announce("lacking", [1000.0])
    time.over("lacking")
    assert time.left == pytest.approx(10 + 30 + 20 + 3 * AROUND)
    time.over("next")
    time.add({"a": Estimate(30.0, None), "b": Estimate(5.0, None)})
    assert time.left == pytest.approx(10 + 30 + 5 + 3 * AROUND)
    unknown, _ = run_of()
    assert unknown.left == 0
    unknown.announce("next", [None])
    assert unknown.left is None
