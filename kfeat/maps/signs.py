"""Random signs: the draws that Tensor Sketch, Random Maclaurin and their relatives share."""

import numpy as np
from numpy.typing import NDArray


def random_signs(rng: np.random.Generator, shape: tuple[int, ...]) -> NDArray[np.int8]:
    """Return independent uniform signs in {-1, 1}, as int8."""
    return 2 * rng.integers(2, size=shape, dtype=np.int8) - 1


def random_fourth_roots(rng: np.random.Generator, shape: tuple[int, ...]) -> NDArray[np.int8]:
    """Return independent uniform exponents j in {0, 1, 2, 3}, as int8, of the complex signs i^j."""
    return rng.integers(4, size=shape, dtype=np.int8)


FOURTH_ROOTS = np.array([1, 1j, -1, -1j])  # i^j by its exponent j
