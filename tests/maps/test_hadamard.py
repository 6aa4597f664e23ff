"""The Walsh-Hadamard transform against the matrix itself."""

import numpy as np
import pytest
from scipy.linalg import hadamard

from kfeat.maps.hadamard import next_power_of_two, walsh_hadamard


@pytest.mark.parametrize("m", [1, 2, 4, 8, 64, 128])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_it_is_the_product_with_the_hadamard_matrix(m, dtype):
    X = np.random.default_rng(0).integers(-3, 4, (5, m)).astype(dtype)
    transformed = walsh_hadamard(X)
    assert transformed.dtype == dtype
    np.testing.assert_array_equal(transformed, X @ hadamard(m))
    np.testing.assert_array_equal(walsh_hadamard(transformed), m * X)


def test_the_next_power_of_two():
    assert [next_power_of_two(n) for n in (1, 2, 3, 4, 5, 784)] == [1, 2, 4, 4, 8, 1024]
