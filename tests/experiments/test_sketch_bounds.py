"""The derivations of `sketch_bounds`, held against a formula that enumeration proves."""

from itertools import product

import numpy as np
import pytest

from kfeat.errors import DataError
from kfeat.experiments.measures import sketch_bounds
from kfeat.experiments.measures.sketch_bounds import (
    Pairs,
    corrected,
    exact_variance,
    extended,
    lemma_6,
    lemma_7,
    lemma_10,
    tensor_error,
    tensor_power,
)
from tests.maps.test_sketches import tensor_sketch_variance

X = np.array([[1.0, 1.0], [0.7, -1.3], [1.0, 0.5], [0.7, -1.3], [1.0, 1.0], [1.0, 0.0]])
Y = np.array([[1.0, 1.0], [0.4, 2.0], [0.3, 1.0], [2.0, 0.9], [1.0, -1.0], [1.0, 1.0]])
LIKE = np.array([True, False, True, False, False, True])  # <x, y>^2 >= sum x_i^2 y_i^2


def pairs_of(x, y, degree, D):
    return Pairs(np.atleast_2d(x), np.atleast_2d(y), degree, D)


def variance_of(pairs):
    """The variance of each pair, which test_sketches.py proves by all hash tables and all signs."""
    return np.array(
        [tensor_sketch_variance(x, y, pairs.degree, pairs.D) for x, y in zip(pairs.x, pairs.y, strict=True)]
    )


@pytest.mark.parametrize(("degree", "D"), [*product((1, 2, 3), (1, 2, 3, 64))])
def test_the_variance_is_the_one_over_all_hashes_and_signs(degree, D):
    pairs = pairs_of(X, Y, degree, D)
    np.testing.assert_allclose(pairs.kernel, (X * Y).sum(axis=1) ** degree)
    np.testing.assert_allclose(exact_variance(pairs), variance_of(pairs), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("D", [2, 3, 50])
def test_for_one_sketch_all_are_lemma_2_and_within_lemma_3(D):
    pairs = pairs_of(X, Y, 1, D)
    i, j = np.array([[0, 1], [1, 0]])  # all i != j
    lemma_2 = (X[:, i] ** 2 * Y[:, j] ** 2 + X[:, i] * Y[:, i] * X[:, j] * Y[:, j]).sum(axis=1) / D
    np.testing.assert_allclose(exact_variance(pairs), lemma_2, atol=1e-12)
    np.testing.assert_allclose(extended(pairs), lemma_2, atol=1e-12)
    assert (lemma_2 <= lemma_6(pairs)).all()


@pytest.mark.parametrize("degree", [1, 2])
def test_the_extended_versions_bound_is_the_variance_with_two_buckets(degree):
    pairs = pairs_of(X, Y, degree, 2)
    np.testing.assert_allclose(variance_of(pairs), extended(pairs), atol=1e-12)


def test_the_extended_versions_bound_holds_for_points_that_are_alike_and_no_others():
    """With three buckets: equality only at a point with one feature; x = (1, 1), y = (1, -1) would have 0."""
    pairs = pairs_of(X, Y, 2, 3)
    variance = variance_of(pairs)
    assert ((pairs.inner**2 >= pairs.overlap) == LIKE).all()
    np.testing.assert_array_equal(variance <= extended(pairs) + 1e-12, LIKE)
    assert extended(pairs)[4] == 0 < 1.7 < variance[4]
    assert (variance <= corrected(pairs) + 1e-12).all()
    np.testing.assert_allclose(corrected(pairs)[LIKE], extended(pairs)[LIKE])
    assert variance[0] > lemma_6(pairs)[0]


def test_the_corrected_bound_is_between_the_variance_and_the_worst_case():
    rng = np.random.default_rng(0)
    for degree, D, d in product((1, 2, 3, 4, 5), (1, 2, 3, 64, 65), (1, 2, 20)):
        x, y = rng.standard_normal((2, 200, d))
        for pairs in (
            pairs_of(x, y, degree, D),
            pairs_of(x, x, degree, D),
            pairs_of(abs(x), abs(y), degree, D),
        ):
            assert (exact_variance(pairs) <= corrected(pairs) * (1 + 1e-9) + 1e-12).all()
            worst = (3**degree - 1) * pairs.norms**degree / D
            assert (corrected(pairs) <= worst * (1 + 1e-9)).all()


def test_lemma_7_is_chebyshevs_inequality_with_lemma_6():
    pairs = pairs_of([[0.6, 0.8]], [[1.0, 0.0]], 2, 50)  # the cosine is 0.6
    errors, bounds = lemma_7(pairs, 1)
    np.testing.assert_allclose(errors[:, 0], np.array([0.25, 0.5, 1, 2]) * 0.36)
    np.testing.assert_allclose(bounds[:, 0], 2 / (50 * np.array([0.25, 0.5, 1, 2]) ** 2 * 0.6**4))


def test_lemma_10_takes_the_least_delta_that_its_conditions_allow():
    for d, degree, D in ((400, 4, 1024), (400, 2, 1024), (20, 3, 64), (5, 1, 10**6)):
        x = np.ones((1, d)) / np.sqrt(d)
        errors, bounds = lemma_10(pairs_of(x, x, degree, D), 1)
        for eps, delta in zip(errors[:, 0], bounds[:, 0] / 2, strict=True):
            u = np.log(1 / delta)
            slack = [D - 72 * u / eps**2, eps / (18 * np.sqrt(u * np.log(D / delta))) - d ** (-degree / 2)]
            assert min(slack) == pytest.approx(0, abs=1e-6 * D)
            assert max(slack) > 0


def test_lemma_10_says_nothing_below_50_features_or_of_rows_with_few_values():
    spread, few = np.ones((1, 10**6)) / 10**3, np.ones((1, 14)) / np.sqrt(14)
    assert (lemma_10(pairs_of(spread, spread, 2, 49), 1)[1] > 1).all()
    assert (lemma_10(pairs_of(spread, spread, 2, 60), 1)[1] < 1).any()
    for D in (50, 200, 1000, 10**5, 10**7):
        assert (lemma_10(pairs_of(few, few, 2, D), 1)[1] > 1).all()


def test_lemma_4_holds_for_the_tensor_product_and_for_no_other(monkeypatch):
    np.testing.assert_array_equal(tensor_power(np.array([[1.0, 3.0]]), 2), [[1, 3, 3, 9]])
    x, y = np.random.default_rng(0).standard_normal((2, 10, 6))
    for degree in (1, 2, 3, 4):
        for pairs in (pairs_of(x, y, degree, 1), pairs_of(x, x, degree, 1)):
            assert tensor_error(pairs) < 1
    monkeypatch.setattr(sketch_bounds, "tensor_power", lambda x, degree: x**degree)
    assert tensor_error(pairs_of(x, y, 2, 1)) > 1e6
    with pytest.raises(DataError, match="the tensor product of the pairs takes"):
        tensor_error(pairs_of(x, y, 40, 1))
