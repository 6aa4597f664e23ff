"""LIBLINEAR's older -s 1: the same optimum where it converges, and the truth where it does not."""

import numpy as np
import pytest

from kfeat.solvers import DualDescent, Liblinear
from tests.solvers.problems import features, labels


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("bias", [-1.0, 0.5])
def test_it_reaches_the_optimum_of_liblinear(classes: int, bias: float) -> None:
    X = features(300, 12)
    y = labels(X, classes)
    ours = DualDescent(C=2.0, eps=1e-8, bias=bias, max_iter=100_000, random_state=0).fit(X, y)
    theirs = Liblinear(2, C=2.0, eps=1e-10, bias=bias).fit(X, y)
    assert ours.converged_
    assert ours.objective_ == pytest.approx(theirs.objective_, rel=1e-6)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-4)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-4)


def test_where_it_does_not_converge_it_stops_and_says_so() -> None:
    X = features(400, 20) * np.logspace(0, 4, 20)  # badly scaled, as Random Maclaurin's features are
    y = labels(X, 2)
    stopped = DualDescent(eps=1e-3, max_iter=20, random_state=0).fit(X, y)
    assert (stopped.n_iter_, stopped.converged_, stopped.stop_reason_) == (20, False, "iteration limit")
    assert stopped.objective_ > 1.01 * Liblinear(2, eps=1e-6).fit(X, y).objective_
