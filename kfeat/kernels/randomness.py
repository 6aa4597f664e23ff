"""One kind of random source inside, whatever scikit-learn allows for `random_state` outside."""

from typing import Any

import numpy as np


def generator(random_state: Any) -> np.random.Generator:
    """Return a Generator for None, an int, a SeedSequence, a Generator (itself) or a RandomState.

    A RandomState gives one number, the seed, so that it moves on between calls as scikit-learn expects.
    """
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(2**31 - 1))
    return np.random.default_rng(random_state)
