"""One kind of random source inside, whatever scikit-learn allows for `random_state` outside."""

from typing import Any

import numpy as np

from kfeat.errors import ParameterError


def generator(random_state: Any) -> np.random.Generator:
    """Return a Generator for None, an int, a SeedSequence, a Generator (itself) or a RandomState.

    A RandomState gives one number, the seed, so that it moves on between calls as scikit-learn expects.
    """
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(2**31 - 1))
    try:
        return np.random.default_rng(random_state)
    except (TypeError, ValueError) as error:
        raise ParameterError(
            f"random_state: expected None, an integer of at least 0 or a random generator of NumPy's "
            f"(got {random_state!r}): {error}"
        ) from None
