"""Which candidates go up to more rows."""

from dataclasses import replace

from kfeat.own.rungs import next_up, rungs
from tests.own.asking import scored


def up_next(scored, sizes, fits):
    """The fast candidates first, then the best of each kind, as in a search."""
    return next_up(scored, sizes, fits, False) or next_up(scored, sizes, fits, True)


def test_rungs_have_a_third_of_the_rows_each_and_rows_of_the_rarest_class():
    assert rungs(30_000, 30_000) == [1_111, 3_333, 10_000, 30_000]
    assert rungs(30_000, 30) == [10_000, 30_000]  # six rows of it on each rung
    assert rungs(500, 500) == [500]


def test_the_best_third_of_each_kind_goes_up():
    exact = [scored(100, 0.5 + i / 100, 1.0 + i) for i in range(4)]
    maps = [scored(100, 0.3 + i / 100, 1.0 + i, exact=False) for i in range(3)]
    done, order = [], []
    while (up := up_next([*exact, *maps, *done], [100, 300], lambda one, n, best: True)) is not None:
        order.append((up[0].exact, up[0].kernel["gamma"]))
        done.append(replace(up[2], n=300))
    assert order == [(False, 3.0), (True, 4.0), (True, 3.0)]  # one of three maps, two of four exact methods
    assert up_next([*exact, *maps], [100, 300], lambda one, n, best: False) is None
    slow = up_next([*exact, *maps, *done[1:2]], [100, 300], lambda one, n, best: best)
    assert slow is not None  # of what takes long only the best of each kind: the second exact one stays
    assert (slow[0].exact, slow[0].kernel["gamma"]) == (False, 3.0)
    second = up_next(exact, [100, 300], lambda one, n, best: best and one.candidate.kernel["gamma"] < 4)
    assert second[0].kernel["gamma"] == 3.0  # since there is no time for the best


def test_a_map_with_a_hundred_rows_for_each_feature_does_not_go_up():
    one = scored(6_400, 0.9, 1.0, exact=False)
    above = [6_400, 19_200]
    assert up_next([one], above, lambda *_: True) is None
    assert up_next([replace(one, n=6_399)], [6_399, 19_200], lambda *_: True) is not None
    assert up_next([scored(6_400, 0.9, 1.0)], above, lambda *_: True) is not None  # exact
    grids = replace(one.candidate, map={"name": "random_binning", "n_components": 64})
    assert up_next([replace(one, candidate=grids)], above, lambda *_: True) is not None
