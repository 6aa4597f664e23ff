"""What C libraries take on trust, and therefore has to be right before they see it."""

from typing import Any

import numpy as np

from kfeat.errors import ModelError
from kfeat.solvers.libsvm_model import (
    LINEAR,
    POLYNOMIAL,
    PRECOMPUTED,
    RBF,
    GivenKernel,
    NativeKernel,
    SupportVectors,
)


def check_sound(made: Any) -> None:
    """Raise ModelError for an object that would make LIBSVM read outside of its arrays."""
    if isinstance(made, SupportVectors):
        sound = _match(made)
    elif isinstance(made, NativeKernel):
        sound = made.type in (LINEAR, POLYNOMIAL, RBF) and type(made.degree) is int
    elif isinstance(made, GivenKernel):
        sound = made.type == PRECOMPUTED
    else:
        return
    if not sound:
        raise ModelError(f"its {type(made).__name__} is damaged: the parts do not match each other")


def _match(made: SupportVectors) -> bool:
    """Tell whether the arrays of a model of LIBSVM's have the shapes and types that belong together."""
    m, k = len(made.rows), len(made.order)
    n_pairs, n_lines = (k * (k - 1) // 2, k - 1) if k else (1, 1)
    return (
        k != 1
        and sorted(made.order.tolist()) == list(range(k))
        and made.counts.shape == (max(k, 1),)
        and made.counts.dtype.kind == "i"
        and bool((made.counts >= 0).all())
        and int(made.counts.sum()) == m == made.vectors.shape[0]
        and made.coefficients.shape == (n_lines, m)
        and made.rho.shape == (n_pairs,)
        and made.coefficients.dtype == made.rho.dtype == np.float64
        and made.vectors.ndim == 2
    )
