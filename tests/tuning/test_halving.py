"""Who goes up a rung, and who has won."""

from dataclasses import replace
from functools import partial

from kfeat.kernels import KERNELS
from kfeat.tuning.candidates import Candidate, Facts, drawn
from kfeat.tuning.halving import FOLDS, Scored, baseline, first_rung, next_up, rungs, winner

FACTS = Facts("classification", 5000, 100, 3, False, 1.0, 1.0, 4.0, 2500)


def one(name: int, n: int, score: float, own: bool = False, reason: str = "") -> Scored:
    return Scored(
        Candidate({"name": "gaussian", "gamma": float(name)}, {"name": "orf"}, "logistic", own),
        n, score, 0.0, 1.0, 1.0, reason,
    )  # fmt: skip


def test_each_rung_has_three_times_the_rows_and_the_last_has_all() -> None:
    assert rungs(100) == [100]
    assert rungs(2700) == [300, 900, 2700]
    assert rungs(32561)[-1] == 32561
    assert rungs(32561)[0] >= 300


def test_every_fold_on_the_first_rung_has_rows_of_a_rare_class() -> None:
    sizes = rungs(227_845, 394)
    assert 394 * sizes[0] / 227_845 >= FOLDS
    assert sizes[0] < 227_845 / 3
    assert rungs(10_000, 5) == [10_000]


def test_landmarks_begin_where_there_are_as_many_rows() -> None:
    sizes = [300, 900, 2700]
    for n_components, rows in ((100, 300), (300, 300), (301, 900), (5000, 2700)):
        candidate = Candidate(
            {"name": "linear"}, {"name": "nystrom", "n_components": n_components}, "squares"
        )
        assert first_rung(candidate, sizes) == rows
    other = Candidate({"name": "linear"}, {"name": "orf", "n_components": 1000}, "squares")
    assert first_rung(other, sizes) == 300


def test_who_has_been_scored_above_does_not_go_up_again_when_time_runs_out() -> None:
    found = [one(i, 300, i / 10) for i in range(3)]
    above = replace(one(2, 900, 0.2), seconds=30.0)

    def fits(scored: Scored, left: float) -> bool:
        return 4 * scored.seconds < left

    assert next_up(found, [300, 900, 2700]) == (found[2], 900)
    for left in (4.1, 200.0):
        assert next_up([*found, above], [300, 900], partial(fits, left=left)) is None
    assert next_up(found, [300, 900], partial(fits, left=0.0)) is None


def test_rows_of_rungs_that_there_are_no_more_count_for_nothing() -> None:
    """A journal may be of an earlier version of kfeat."""
    assert next_up([one(i, 312, i / 10) for i in range(3)], [300, 900]) is None


def test_only_the_best_third_goes_up_and_the_own_candidate_follows() -> None:
    sizes = [300, 900]
    low = [one(i, 300, i / 10) for i in range(1, 6)] + [one(9, 300, 0.0, own=True)]
    assert next_up(low[:2], sizes) is None  # a third of two is none
    first = next_up(low, sizes)
    assert first is not None
    assert first == (low[4], 900)
    up = [*low, one(5, 900, 0.1)]
    assert next_up(up, sizes) == (low[5], 900)  # the config's own
    up.append(one(9, 900, 0.0, own=True))
    assert next_up(up, sizes) == (low[3], 900)  # the second best: two of six
    assert next_up([*up, one(4, 900, 0.3)], sizes) is None


def test_the_winner_is_the_best_on_the_most_rows_and_failures_never_win() -> None:
    rows = [one(1, 300, 0.99), one(2, 900, 0.7), one(3, 900, 0.8), one(4, 900, 0.9, reason="failed")]
    assert winner(rows) == rows[2]
    assert winner([rows[3]]) is None
    assert baseline([*rows, one(5, 900, 0.5, own=True)], 900) == one(5, 900, 0.5, own=True)


def test_draws_are_fixed_by_the_seed_and_cover_the_decades() -> None:
    some = [drawn(i, FACTS, 0, 300) for i in range(40)]
    assert some == [drawn(i, FACTS, 0, 300) for i in range(40)]
    assert some != [drawn(i, FACTS, 1, 300) for i in range(40)]
    gammas = sorted(c.kernel["gamma"] for c in some if c.kernel["name"] == "gaussian")
    assert gammas[0] < 0.1
    assert gammas[-1] > 1000
    assert {c.kernel["degree"] for c in some if c.kernel["name"] == "polynomial"} == {1, 2, 3, 4}
    assert {c.kernel["name"] for c in some} <= set(KERNELS)
    assert all(c.map["n_components"] <= 300 for c in some if c.map["name"] == "nystrom")


def test_later_draws_come_near_the_best() -> None:
    best = Candidate({"name": "gaussian", "gamma": 123.0}, {"name": "orf"}, "logistic")
    near = [drawn(i, FACTS, 0, 300, best) for i in range(9, 30, 2)]
    assert all(123 / 5.1 < c.kernel["gamma"] < 123 * 5.1 for c in near)
