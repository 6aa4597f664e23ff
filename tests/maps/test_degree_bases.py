"""The degree law with base p is a distribution, and the map unbiased, for every kernel of the family."""

import numpy as np
import pytest
from degree_sums import expected_gram, series

from kfeat.errors import DataError
from kfeat.kernels import Exponential, Polynomial, VovkInfinite, VovkReal
from kfeat.maps import RandomMaclaurin
from kfeat.maps.series import geometric

KERNELS = [
    Polynomial(3),
    Polynomial(4, gamma=0.7, coef0=1.0),
    Exponential(1.3),
    VovkReal(4),
    VovkInfinite(),
]
ROWS = {1: np.array([[0.7], [-0.4], [0.9]]), 2: np.array([[0.7, -0.3], [0.4, 0.8], [-0.9, 0.3]])}
LAST = {1: 8, 2: 4}  # of the degrees that are enumerated: 2^(n d) choices of signs each


def weights_of(kernel, base, last):
    """Return the weight that the map gives a feature of each degree, from draws that have all of them."""
    degrees, weights = geometric(np.random.default_rng(0), kernel, 200_000, base, 0)
    return [weights[np.argmax(degrees == n)] for n in range(last + 1)]


def gram(kernel, base, X, total):
    last = LAST[X.shape[1]]
    P = [total * base ** -(n + 1) for n in range(last + 1)]
    weights = weights_of(kernel, base, last)
    fitted = RandomMaclaurin(kernel, base=base, random_state=0).fit(X)
    return expected_gram(fitted, dict(enumerate(zip(P, weights, strict=True))), X)


@pytest.mark.parametrize("d", [1, 2])
@pytest.mark.parametrize("base", [1.5, 2.0, 3.0])
@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_the_expectation_is_the_series(kernel, base, d):
    X = ROWS[d]
    actual = gram(kernel, base, X, total=base - 1)
    np.testing.assert_allclose(actual, series(kernel, X @ X.T, LAST[d]), rtol=1e-10, atol=1e-14)


@pytest.mark.parametrize("base", [1.5, 3.0])
def test_the_printed_law_is_no_distribution_and_biased_by_its_sum(base):
    """P(N = n) = p^-(n + 1), as printed, sums to 1 / (p - 1), and so does the map's expectation."""
    assert sum(base ** -(n + 1) for n in range(200)) == pytest.approx(1 / (base - 1))
    X = ROWS[2]
    actual = gram(Exponential(1.3), base, X, total=1.0)
    np.testing.assert_allclose(actual, series(Exponential(1.3), X @ X.T, 4) / (base - 1), rtol=1e-10)


def test_degree_ten_in_single_precision_is_that_in_double():
    X = np.random.default_rng(0).standard_normal((50, 20))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    for kernel in (Polynomial(10), Polynomial(10, coef0=1.0)):
        fitted = RandomMaclaurin(kernel, 2000, degree_law="truncated", random_state=0).fit(X)
        Z, single = fitted.transform(X), fitted.transform(X.astype(np.float32))
        assert single.dtype == np.float32
        gap = np.abs(single.astype(float) - Z)
        # A product of ten inner products, each off by a few eps of ||x||_1.
        assert gap.max() < 1e-5 * np.abs(Z).max()
        assert np.abs(single.astype(float) @ single.T.astype(float) - Z @ Z.T).max() < 1e-5 * (Z @ Z.T).max()


def test_rows_whose_features_overflow_are_refused():
    huge = np.full((3, 2), 1e200)
    fitted = RandomMaclaurin(Exponential(), 2000, random_state=0).fit(huge)
    with pytest.raises(DataError, match=r"features are not finite in float64.*scale them down"):
        fitted.transform(huge)
    with pytest.raises(DataError, match=r"values of Exponential\(\) are not finite in float64"):
        Exponential()(np.full((3, 2), 30.0))
