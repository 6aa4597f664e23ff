"""All outcomes of random draws: their probabilities, and maps whose mean over them is exact or is not."""

import numpy as np
import pytest
from sklearn.kernel_approximation import PolynomialCountSketch
from sklearn.utils import check_random_state

from kfeat import maps
from kfeat.kernels import Gaussian, Polynomial
from kfeat.testing import check_map
from kfeat.testing.outcomes import NotEnumerableError, outcomes


def test_draws_may_depend_on_others():
    def run(random_state):
        rng = np.random.default_rng(random_state)
        n = rng.integers(1, 4)
        return int(n), int(rng.integers(n))

    known = list(outcomes(run))
    assert sum(p for p, _ in known) == pytest.approx(1)
    assert {value: p for p, value in known} == pytest.approx(
        {(1, 0): 1 / 3, (2, 0): 1 / 6, (2, 1): 1 / 6, (3, 0): 1 / 9, (3, 1): 1 / 9, (3, 2): 1 / 9}
    )


def test_generators_of_both_kinds_are_served():
    new = list(outcomes(lambda source: np.random.default_rng(source).choice([-1, 1], size=(2, 2)).tolist()))
    old = list(outcomes(lambda source: check_random_state(source).randint(0, high=2, size=(2, 2)).tolist()))
    assert len(new) == len(old) == len({str(value) for _, value in new}) == 16


@pytest.mark.parametrize(
    ("run", "reason"),
    [
        (lambda source: source.standard_normal(3), "it draws by `standard_normal`"),
        (lambda source: source.choice(3, p=[0.5, 0.25, 0.25]), "it draws by `choice`"),
        (lambda source: source.integers(2, size=20), "it has more than 1,000 outcomes"),
    ],
)
def test_other_draws_are_not_enumerated(run, reason):
    with pytest.raises(NotEnumerableError, match=reason):
        list(outcomes(run))


class WithoutSigns(maps.TensorSketch):
    def _draw(self, X, rng):
        width = super()._draw(X, rng)
        self.signs_ = np.abs(self.signs_)
        return width


def line(feature_map, kernel, **options):
    checks = check_map(feature_map, kernel, **options).checks
    return next(check for check in checks if check.promise == "unbiased over all draws")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("feature_map", "held"),
    [
        (maps.TensorSketch(Polynomial(2)), True),
        (maps.RecursiveSketch(Polynomial(2)), True),
        (PolynomialCountSketch(gamma=1.0, degree=2), True),
        (PolynomialCountSketch(gamma=1.05, degree=2), False),
        (WithoutSigns(Polynomial(2)), False),
    ],
)
def test_the_mean_over_all_draws_is_the_kernel_or_the_map_is_found_wanting(feature_map, held):
    check = line(feature_map, Polynomial(2))
    assert check.held is held, str(check)


def test_a_map_with_other_draws_is_not_checked():
    check = line(maps.RandomFourier(Gaussian(0.5), 20), Gaussian(0.5))
    assert (check.held, check.detail) == (None, "not checked: it draws by `standard_normal`")
