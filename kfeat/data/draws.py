"""Random orders that stay the same across platforms and versions of NumPy."""

import numpy as np
from numpy.typing import NDArray


def shuffled(rng: np.random.Generator, n: int) -> NDArray[np.int64]:
    """Return a random order of 0 .. n-1.

    It ranks uniform numbers: the streams of NumPy's bit generators and their uniform doubles are kept fixed,
    those of `permutation` and `choice` are not promised to be.
    """
    return np.argsort(rng.random(n), kind="stable")
