"""The Walsh-Hadamard transform against the matrix itself."""

import numpy as np
import pytest
from scipy.linalg import hadamard

from kfeat.maps.hadamard import next_power_of_two, walsh_hadamard

SIZES = pytest.mark.parametrize("m", [1, 2, 4, 8, 16, 32, 64, 128, 512, 1024, 2048])


@SIZES
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_it_is_the_product_with_the_hadamard_matrix(m, dtype):
    X = np.random.default_rng(0).integers(-3, 4, (5, m)).astype(dtype)
    transformed = walsh_hadamard(X)
    assert transformed.dtype == dtype
    np.testing.assert_array_equal(transformed, X @ hadamard(m))
    np.testing.assert_array_equal(walsh_hadamard(transformed), m * X)


@SIZES
def test_the_first_columns_alone_are_those_of_the_whole(m):
    X = np.random.default_rng(0).integers(-3, 4, (5, m)).astype(float)
    before = X.copy()
    for columns in {1, m // 3 or 1, m - 1 or 1, m}:
        np.testing.assert_array_equal(walsh_hadamard(X, columns), walsh_hadamard(X)[:, :columns])
    np.testing.assert_array_equal(X, before)


def test_rows_need_not_be_contiguous():
    X = np.random.default_rng(0).integers(-3, 4, (64, 6)).astype(float)
    np.testing.assert_array_equal(walsh_hadamard(X.T), X.T @ hadamard(64))


def test_the_next_power_of_two():
    assert [next_power_of_two(n) for n in (1, 2, 3, 4, 5, 784)] == [1, 2, 4, 4, 8, 1024]
