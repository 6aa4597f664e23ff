"""Compositional features: unbiased by enumeration, and which inner maps can."""

from itertools import permutations, product
from math import comb

import numpy as np
import pytest

from kfeat import maps
from kfeat.errors import DataError, UnsupportedKernelError
from kfeat.kernels import (
    Compositional,
    Exponential,
    Gaussian,
    Laplacian,
    Linear,
    Polynomial,
    Sum,
    VovkInfinite,
)
from kfeat.maps import CompositionalMaclaurin, RandomFourier, RandomMaclaurin

X = np.array([[0.3, -0.2], [0.5, 0.9], [-0.4, 0.8], [1.2, 0.1]])
D = 200_000


def expected_over_inner_draws(arrangements):
    """Return E[Z Z^T] of two features of (1 + <x, y>)^2, exactly, at d = 1.

    All inner degrees (0 or 1, P = 2 / 3 and 1 / 3, sorted as the map keeps them), signs and arrangements.
    """
    rows = np.array([[0.7], [-0.4], [0.9]])
    inner = RandomMaclaurin(degree_law="truncated", random_state=0)
    kernel = Compositional(Polynomial(2), Polynomial(1, coef0=1.0))
    fitted = CompositionalMaclaurin(kernel, inner, 2, "truncated", random_state=0).fit(rows)
    assert fitted.inner_.n_components == 4
    total = np.zeros((3, 3))
    for ones in range(5):
        factors = np.repeat([0, 1], [4 - ones, ones])
        share = comb(4, ones) * (1 / 3) ** ones * (2 / 3) ** (4 - ones)
        fitted.inner_.degrees_ = fitted.inner_.n_factors_ = factors
        fitted.inner_.scales_ = np.sqrt(np.where(factors == 1, 3, 1.5) / 4)
        draws = [*product(product((-1, 1), repeat=ones), arrangements)]
        for signs, columns in draws:
            fitted.inner_.signs_ = np.reshape(signs, (ones, 1)).astype(np.int8)
            fitted.columns_ = np.array(columns)
            Z = fitted.transform(rows)
            total += share / len(draws) * (Z @ Z.T)
    return total, kernel(rows)


def test_the_expectation_over_all_degrees_signs_and_arrangements_is_the_kernel():
    np.testing.assert_allclose(*expected_over_inner_draws(list(permutations(range(4)))), rtol=1e-12)


def test_columns_taken_in_the_order_of_their_degrees_are_biased():
    actual, exact = expected_over_inner_draws([range(4)])
    assert np.abs(actual / exact - 1).max() > 0.05


@pytest.mark.parametrize("law", ["geometric", "truncated", "proportional"])
@pytest.mark.parametrize(
    ("outer", "inner_kernel", "inner"),
    [
        (Exponential(2.0), Gaussian(0.6), None),
        (Polynomial(3), Laplacian(0.4), RandomFourier(features="offset")),
        (Polynomial(2, coef0=1.0), Linear(), RandomMaclaurin(degree_law="truncated")),
    ],
    ids=str,
)
def test_many_features_approach_the_kernel_with_and_without_its_constant(outer, inner_kernel, inner, law):
    kernel = Compositional(outer, inner_kernel)
    for constant in (True, False):
        fitted = CompositionalMaclaurin(kernel, inner, D, law, constant=constant, random_state=0).fit(X)
        assert fitted.kernel_offset_ == (0 if constant else outer.maclaurin(1)[0])
        Z = fitted.transform(X)
        np.testing.assert_allclose(Z @ Z.T, kernel(X) - fitted.kernel_offset_, atol=0.03)
    assert fitted.degrees_.min() >= 1


def test_bandwidths_and_seeds_reach_the_inner_map():
    kernel = Compositional(Polynomial(2), Gaussian("median"))
    fitted = CompositionalMaclaurin(kernel, n_components=50, random_state=0).fit(X)
    assert fitted.kernel_.inner.gamma == fitted.inner_.kernel_.gamma == Gaussian("median").resolve(X).gamma
    inner = RandomFourier(features="offset", random_state=3)
    maps = [CompositionalMaclaurin(kernel, inner, 50, random_state=s).fit(X) for s in (0, 1)]
    frequencies = [fitted.inner_.frequencies_.ravel() for fitted in maps]
    shortest = min(map(len, frequencies)) // 100
    np.testing.assert_array_equal(frequencies[0][:shortest], frequencies[1][:shortest])
    assert inner.kernel is None


def test_inner_maps_that_depend_on_each_other_are_refused_and_those_that_can_are_named():
    for inner in (
        maps.TensorSketch(Polynomial(2)), RandomFourier(Gaussian()), RandomMaclaurin(Polynomial(2), h01=True),
        RandomMaclaurin(Polynomial(2), constant=False), maps.TruncatedMaclaurin(Polynomial(2)),
        maps.Nystrom(Gaussian()),
    ):  # fmt: skip
        kernel = Compositional(Polynomial(2), inner.kernel)
        with pytest.raises(
            UnsupportedKernelError,
            match=r'which are RandomFourier\(features="offset"\), RandomMaclaurin and CompositionalMaclaurin',
        ):
            CompositionalMaclaurin(kernel, inner).fit(X)
    with pytest.raises(UnsupportedKernelError, match=r"RandomMaclaurin cannot approximate Laplacian\(\)"):
        CompositionalMaclaurin(Compositional(inner=Laplacian()), RandomMaclaurin()).fit(X)
    with pytest.raises(UnsupportedKernelError, match=r"maps that can: nystrom$"):
        CompositionalMaclaurin(Compositional(inner=Sum([Gaussian(), Linear()]))).fit(X)
    with pytest.raises(UnsupportedKernelError, match="CompositionalMaclaurin cannot approximate Gaussian"):
        CompositionalMaclaurin(Gaussian()).fit(X)


def test_values_beyond_the_outer_series_are_refused():
    with pytest.raises(DataError, match="needs values below 1, got 1 of Gaussian"):
        CompositionalMaclaurin(Compositional(VovkInfinite(), Gaussian())).fit(X)
    fitted = CompositionalMaclaurin(Compositional(VovkInfinite(), Polynomial(2)), random_state=0).fit(X[:1])
    with pytest.raises(DataError, match=r"needs values below 1, got 2\.1"):
        fitted.transform(X)
