"""The bounds of Kar & Karnick: their formulas, and what their measure finds of maps that are known."""

from math import exp, inf, log, sqrt

import numpy as np
import pytest

from kfeat.errors import ParameterError, UnsupportedKernelError
from kfeat.experiments.measures.maclaurin_bounds import (
    Bound,
    compositional_bound,
    derivative_at,
    fourier_black_box,
    informative_from,
    least_error,
    maclaurin_black_box,
    pair_bound,
    uniform_bound,
)
from kfeat.experiments.measures.maclaurin_measure import MaclaurinBound
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
from kfeat.maps import CompositionalMaclaurin, RandomMaclaurin, TruncatedMaclaurin
from kfeat.maps.random_maclaurin import TruncatedSeries
from tests.experiments.rows import measured

R, DELTA = 0.5, 0.1


@pytest.mark.parametrize(("p", "printed"), [(2.0, False), (2.0, True), (3.0, False), (3.0, True)])
def test_the_bounds_are_the_formulas_of_their_docstrings(p, printed):
    f, total = exp(p / 4), 1 if printed else p - 1  # f is exp(t) and its derivative at t = p R^2
    C = p * f / total
    L = (1 if printed else R) * exp(0.25) + p**2 / total * sqrt(3) * R * f
    rate = 0.04 / (8 * C**2)
    expected = Bound(pytest.approx(log(2) + 6 * log(32 * R * L / 0.2)), pytest.approx(rate))
    assert uniform_bound(Exponential(), R, 3, 0.2, p, printed) == expected
    one_pair = Bound(pytest.approx(log(2)), pytest.approx(rate if printed else 4 * rate))
    assert pair_bound(Exponential(), R, 0.2, p, printed) == one_pair


def test_the_constants_of_random_maclaurin_in_a_box_are_those_of_its_docstring():
    box = maclaurin_black_box(Polynomial(2), R, 3, 4.0)  # one term, n = 2, of probability 3 / 64
    assert box == pytest.approx((R**4, 2 * R**3, 64 / 3 * R**4, sqrt(3) * 2 * sqrt(3 / 64) * R))


def test_a_bound_is_a_probability_and_turns_into_a_number_of_features():
    bound = uniform_bound(Exponential(), R, 3, 0.2)
    assert bound.failure(1000) == 1
    assert bound.failure(200_000) == pytest.approx(exp(bound.log_factor - 200_000 * bound.rate))
    assert bound.failure(int(bound.components(0.01))) <= 0.01 < bound.failure(int(bound.components(0.01)) - 1)
    # A net has at least one point.
    assert uniform_bound(Exponential(), R, 1, 1e4).log_factor == pytest.approx(log(2))
    assert uniform_bound(Exponential(), R, 1, 1e4, printed=True).log_factor < 0
    assert Bound(0.0, 0.0).components(0.5) == inf


def test_where_a_series_diverges_or_a_mean_is_infinite_a_bound_is_vacuous():
    assert uniform_bound(VovkInfinite(), 0.8, 2, 0.5).components(DELTA) == inf
    assert uniform_bound(VovkInfinite(), 0.8, 2, 0.5).failure(10**9) == 1
    for kernel, box in (
        (Compositional(Exponential(), Laplacian(0.5)), fourier_black_box(Laplacian(0.5), 2)),
        (Compositional(VovkInfinite(), Linear()), maclaurin_black_box(Linear(), 0.8, 2)),
    ):
        assert compositional_bound(kernel, box, R, 2, 0.5).components(DELTA) == inf
    with pytest.raises(UnsupportedKernelError, match="the bounds know the features of Gaussian"):
        fourier_black_box(Linear(), 2)
    with pytest.raises(UnsupportedKernelError, match="do not add up to its value at <x, y> = 400"):
        maclaurin_black_box(Exponential(), 20.0, 2)


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


X = np.random.default_rng(0).standard_normal((40, 2))
SQUARE = Polynomial(degree=2)


def of(feature_map, statement, **parameters):
    measure = MaclaurinBound(statement, **{"n_draws": 10, **parameters})
    return measured(measure, feature_map, X)["bound"]


def maclaurin(kernel, D=500, **parameters):
    return RandomMaclaurin(kernel, D, random_state=0, **parameters)


@pytest.mark.parametrize(
    ("statement", "base", "radius", "printed"),
    [
        *((lemma, *case) for lemma in ("lemma_4", "lemma_7")
          for case in ((1.25, 1.0, 4.0), (2.0, 0.5, 1.0), (3.0, 2.0, 0.5))),
        *(("lemma_6", 2.0, radius, radius) for radius in (0.5, 1.0, 3.0)),
    ],
)  # fmt: skip
def test_a_kernel_of_one_term_attains_the_lemmas_and_misses_what_is_printed(statement, base, radius, printed):
    """By the factor base - 1 that the printed Lemmas 4 and 7 lack, and by the R that Lemma 6 lacks."""
    reached = {
        form: of(maclaurin(SQUARE, base=base), statement, printed=form, radius=radius)["reached"]
        for form in (False, True)
    }
    assert reached == {False: pytest.approx(1), True: pytest.approx(printed)}


def test_lemma_5_measures_the_steepest_change_of_the_error():
    """One sign is 1 or -1, so the error is 3 x y for N = 1 and else -x y; its change is 6 at x = y = 1."""
    points = np.linspace(-1, 1, 41)[:, None]
    feature_map = RandomMaclaurin(Linear(), 1, random_state=0)
    measure = MaclaurinBound("lemma_5", n_draws=20, n_rows=50)
    reached = measured(measure, feature_map, points)["bound"]["reached"]
    assert reached == pytest.approx(3 * (2 - 0.05) / (2 * (1 + 4)))  # between 1 and 0.95


def test_what_theorem_8_promises_is_kept():
    found = of(maclaurin(Exponential()), "theorem_8")
    eps = found["promised_error"]
    assert uniform_bound(Exponential(), 1.0, 2, eps, printed=True).failure(500) == pytest.approx(
        0.05, rel=1e-3
    )
    assert found["informative_from"] == 6795
    assert 0.005 < found["reached"] < 0.1
    one_pair = of(maclaurin(Exponential()), "pair")
    assert one_pair["promised_error"] < eps / 2
    assert one_pair["reached"] < 1


def test_where_the_series_diverges_nothing_is_promised():
    found = of(maclaurin(VovkInfinite()), "theorem_8", radius=0.8)
    assert found == {"reached": 0.0}


def test_theorem_9_asks_for_more_features_than_printed():
    kernel = Compositional(Exponential(2.0), Gaussian(1.0))
    black_box = CompositionalMaclaurin(kernel, n_components=2000, random_state=0)
    printed, holds = (of(black_box, "theorem_9", printed=form) for form in (True, False))
    assert (printed["informative_from"], holds["informative_from"]) == (2440, 4906)
    assert holds["reached"] < printed["reached"] < 0.1
    outer = CompositionalMaclaurin(
        Compositional(Exponential(2.0), Polynomial(1)),
        inner=RandomMaclaurin(degree_law="truncated"),
        n_components=100,
        random_state=0,
    )
    with pytest.raises(ParameterError, match="needs an inner map"):
        of(outer, "theorem_9")


def test_statements_about_other_maps_are_refused():
    for feature_map, statement in (
        (maclaurin(SQUARE, degree_law="truncated"), "theorem_8"),
        (maclaurin(Exponential(), h01=True), "lemma_4"),
        (TruncatedMaclaurin(random_state=0), "theorem_8"),
    ):
        with pytest.raises(ParameterError, match=f"maclaurin_bound: {statement} is about"):
            of(feature_map, statement)
