"""The theorems of Kar & Karnick against draws: failure rates, and printed constants that do not hold."""

from math import exp, inf, sqrt

import numpy as np
import pytest

from kfeat.errors import UnsupportedKernelError
from kfeat.experiments.measures.maclaurin_bounds import (
    Bound,
    compositional_bound,
    derivative_at,
    estimator_bound,
    fourier_black_box,
    informative_from,
    least_error,
    maclaurin_black_box,
    pair_bound,
    uniform_bound,
)
from kfeat.kernels import (
    Compositional,
    Exponential,
    Gaussian,
    Laplacian,
    Linear,
    Polynomial,
    VovkInfinite,
    VovkReal,
)
from kfeat.maps import CompositionalMaclaurin, RandomMaclaurin
from kfeat.maps.random_maclaurin import TruncatedSeries

R, DELTA, DRAWS = 0.5, 0.1, 100


def points(d):
    """Return a grid over the ball ||x||_1 <= R."""
    axis = np.linspace(-R, R, 21)
    grid = np.stack(np.meshgrid(*[axis] * d), axis=-1).reshape(-1, d)
    return grid[np.abs(grid).sum(axis=1) <= R + 1e-12]


def failure_rate(make, kernel, n_components, eps, d, draws=DRAWS):
    """Return the share of draws whose largest error over the grid is above eps."""
    X = points(d)
    exact, failed = kernel(X), 0
    for seed in range(draws):
        Z = make(kernel, n_components, random_state=seed).fit_transform(X)
        failed += np.abs(Z @ Z.T - exact).max() > eps
    return failed / draws


def with_base(base):
    return lambda kernel, n, random_state: RandomMaclaurin(kernel, n, base=base, random_state=random_state)


class PrintedWeights(RandomMaclaurin):
    """The printed scale sqrt(a_N p^(N + 1)) with degrees from a distribution: biased by p - 1."""

    def _draw(self, X, rng):
        width = super()._draw(X, rng)
        self.scales_ = self.scales_ * sqrt(self.base - 1)
        return width


@pytest.mark.slow
@pytest.mark.parametrize("d", [1, 2])
@pytest.mark.parametrize(
    ("kernel", "base"),
    [(Exponential(), 2.0), (Exponential(), 1.5), (Polynomial(2, coef0=1.0), 2.0), (VovkInfinite(), 2.0)],
    ids=str,
)
def test_theorem_8_holds_and_is_conservative(kernel, base, d):
    """Beyond eps = 1 with probability 0.1 at most: also a thirtieth of the features does it."""
    enough = uniform_bound(kernel, R, d, 1.0, base).components(DELTA)
    assert 500 < enough < 5000
    for n_components in (int(enough), int(enough / 30)):
        rate = failure_rate(with_base(base), kernel, n_components, 1.0, d, draws=40)
        assert rate <= DELTA + 2 * sqrt(DELTA * (1 - DELTA) / 40)
    # Three features do fail: draws and the grid can tell.
    assert failure_rate(with_base(base), kernel, 3, 1.0, d) > DELTA


def test_a_planted_bias_breaks_theorem_8():
    enough = int(uniform_bound(Exponential(), R, 1, 1.0, 3.0).components(DELTA))
    faulty = failure_rate(
        lambda kernel, n, random_state: PrintedWeights(kernel, n, base=3.0, random_state=random_state),
        Exponential(), enough, 1.0, 1,
    )  # fmt: skip
    assert faulty == 1
    assert failure_rate(with_base(3.0), Exponential(), enough, 1.0, 1) <= DELTA


@pytest.mark.parametrize("kernel", [Exponential(), Polynomial(3, coef0=0.5), VovkReal(4)], ids=str)
@pytest.mark.parametrize("base", [1.2, 1.5, 2.0, 3.0])
def test_lemma_4_bounds_every_feature(kernel, base):
    X = np.vstack([np.eye(2), -np.eye(2), 0.5 * np.ones((1, 2))])  # on the ball of radius 1
    fitted = RandomMaclaurin(kernel, 5000, base=base, random_state=0).fit(X)
    Z = fitted.transform(X) * sqrt(5000)
    largest = np.einsum("ik,jk->ijk", Z, Z).max()
    assert largest <= estimator_bound(kernel, 1.0, base)


def test_lemma_4_as_printed_fails_below_base_2():
    """One term, and a base of 1.2: the estimator is five times what is printed."""
    X = np.eye(2)
    Z = RandomMaclaurin(Polynomial(3), 5000, base=1.2, random_state=0).fit_transform(X) * sqrt(5000)
    largest = np.einsum("ik,jk->ijk", Z, Z).max()
    printed = estimator_bound(Polynomial(3), 1.0, 1.2, printed=True)
    assert largest == pytest.approx(5 * printed)
    assert largest == pytest.approx(estimator_bound(Polynomial(3), 1.0, 1.2))


def test_lemma_6_as_printed_fails_beyond_radius_1():
    """The gradient of f(<x, y>) is f'(<x, y>) y, of norm R f'(R^2) at x = y, not f'(R^2)."""
    kernel, h = Polynomial(2), 1e-6
    gradient = (kernel([[3 + h]], [[3.0]])[0, 0] - kernel([[3 - h]], [[3.0]])[0, 0]) / (2 * h)
    assert gradient == pytest.approx(3 * derivative_at(kernel, 9.0))
    assert gradient > 2.9 * derivative_at(kernel, 9.0)


def test_lemma_7_bounds_the_gradient_of_every_feature():
    kernel, base, X = Exponential(), 2.0, np.array([[0.6, 0.4], [-1.0, 0.0], [0.3, -0.7], [0.0, 1.0]])
    fitted = RandomMaclaurin(kernel, 4000, base=base, random_state=0).fit(X)
    Z, h = fitted.transform(X) * sqrt(4000), 1e-6
    slopes = [(fitted.transform(X + s) - fitted.transform(X - s)) / (2 * h) for s in h * np.eye(2)]
    norms = np.linalg.norm(np.array(slopes) * sqrt(4000), axis=0)
    largest = np.einsum("ik,jk->ijk", norms, np.abs(Z)).max()
    assert largest <= base**2 * sqrt(2) * derivative_at(kernel, base)
    assert largest > 0.1 * base**2 * sqrt(2) * derivative_at(kernel, base)


def test_theorem_8_is_vacuous_where_the_series_diverges():
    assert uniform_bound(VovkInfinite(), 0.8, 2, 0.5).components(DELTA) == inf
    assert uniform_bound(VovkInfinite(), 0.8, 2, 0.5).failure(10**9) == 1


@pytest.mark.parametrize("d", [1, 2])
def test_theorem_9_holds_with_the_rate_that_follows(d):
    kernel = Compositional(Exponential(2.0), Gaussian(0.5))
    box = fourier_black_box(kernel.inner, d)
    enough = compositional_bound(kernel, box, R, d, 0.5).components(DELTA)
    printed = compositional_bound(kernel, box, R, d, 0.5, printed=True).components(DELTA)
    assert 1.5 * printed < enough < 30_000

    def make(kernel, n, random_state):
        return CompositionalMaclaurin(kernel, n_components=n, random_state=random_state)

    assert failure_rate(make, kernel, int(enough / 10), 0.5, d, draws=20) <= DELTA
    assert failure_rate(make, kernel, 3, 0.5, d) > DELTA


def test_the_laplacian_and_series_that_diverge_make_theorem_9_vacuous():
    for kernel, box in (
        (Compositional(Exponential(), Laplacian(0.5)), fourier_black_box(Laplacian(0.5), 2)),
        (Compositional(VovkInfinite(), Linear()), maclaurin_black_box(Linear(), 0.8, 2)),
    ):
        assert compositional_bound(kernel, box, R, 2, 0.5).components(DELTA) == inf
    with pytest.raises(UnsupportedKernelError, match="the bounds know the features of Gaussian"):
        fourier_black_box(Linear(), 2)
    with pytest.raises(UnsupportedKernelError, match="do not add up to its value at <x, y> = 400"):
        maclaurin_black_box(Exponential(), 20.0, 2)


def test_the_formulas_are_written_out_once_more():
    f, slope = exp(0.5), exp(0.5)  # of exp(t) at p R^2 = 0.5
    C, L = 2 * f, R * exp(0.25) + 4 * sqrt(3) * R * slope
    bound = uniform_bound(Exponential(), R, 3, 0.2)
    assert bound.failure(1000) == 1
    D = 200_000
    assert bound.failure(D) == pytest.approx(2 * (32 * R * L / 0.2) ** 6 * exp(-D * 0.04 / (8 * C**2)))
    assert bound.failure(int(bound.components(0.01))) <= 0.01 < bound.failure(int(bound.components(0.01)) - 1)
    assert pair_bound(Exponential(), R, 0.2).failure(D // 100) == pytest.approx(2 * exp(-2000 * 0.02 / C**2))
    # A net has at least one point.
    assert uniform_bound(Exponential(), R, 1, 1e4).log_factor == pytest.approx(np.log(2))
    assert uniform_bound(Exponential(), R, 1, 1e4, printed=True).log_factor < 0
    assert Bound(0.0, 0.0).components(0.5) == inf


@pytest.mark.parametrize(
    "kernel", [Exponential(1.3), VovkInfinite(), VovkReal(5), Polynomial(4, 0.3, 2.0), Linear()], ids=str
)
def test_derivatives_are_those_of_the_series(kernel):
    for k in (kernel, TruncatedSeries(kernel, 3)):
        a = k.maclaurin(150)
        expected = np.polynomial.polynomial.polyval(0.6, a[1:] * np.arange(1, 150))
        assert derivative_at(k, 0.6) == pytest.approx(expected, rel=1e-12)


def starts(bound_of, largest):
    """Return the D from which each bound says something with a probability of 95 %."""
    return [informative_from(lambda eps, d=d: bound_of(d, eps), largest, 0.05) for d in (1, 2, 4)]


def test_the_features_from_which_the_bounds_say_something_are_those_that_the_configs_list():
    for kernel, top, whole in (
        (Exponential(), exp(1), [3682, 6795, 13339]),
        (Polynomial(2, coef0=1.0), 4.0, [2351, 4302, 8414]),
    ):
        assert starts(lambda d, eps, k=kernel: uniform_bound(k, 1.0, d, eps, printed=True), top) == whole
    for sigma, printed, follows in (
        (1.0, [150_611, 312_836, 646_558], [291_513, 547_420, 1_077_290]),
        (2.0, [1158, 2440, 5107], [2663, 4906, 9587]),
    ):
        kernel, top = Compositional(Exponential(sigma), Gaussian(1.0)), exp(1 / sigma**2)
        for form, expected in ((True, printed), (False, follows)):
            found = starts(
                lambda d, eps, k=kernel, form=form: compositional_bound(
                    k, fourier_black_box(k.inner, d), 1.0, d, eps, printed=form
                ),
                top,
            )
            assert found == expected


def test_the_error_that_is_promised_is_the_least_one():
    def bound_of(eps):
        return uniform_bound(Exponential(), 1.0, 2, eps)

    eps = least_error(bound_of, 6795, 0.05)
    assert eps == pytest.approx(exp(1), rel=1e-3)
    assert bound_of(eps).failure(6795) <= 0.05 < bound_of(0.999 * eps).failure(6795)
    assert least_error(lambda eps: uniform_bound(VovkInfinite(), 0.8, 2, eps), 10**9, 0.05) == inf
