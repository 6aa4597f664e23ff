"""What a model says of a few invented rows: kept with it, so that nobody predicts with a misread model."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from kfeat.errors import DataError, ModelError
from kfeat.models.estimator import KernelModel
from kfeat.solvers.base import classifies

ROWS = 3
NORM = 0.9  # some kernels are defined for rows of norm below 1 only
TOLERANCE = 0.01  # far above what another machine's rounding does, far below what another meaning does


def answers(model: KernelModel) -> NDArray[np.float64]:
    """Return the decision values, or a regression's values, of invented rows that are scaled already.

    Raises DataError where the scaled rows of the model are not as wide as its map, or its solver, wants them.
    """
    first: Any = model.solver_ if model.map_ is None else model.map_
    d, raw = int(first.n_features_in_), csr_array((1, model.preparation_.n_features))
    if model.preparation_.rows(raw).shape[1] != d:
        raise DataError(f"its map or solver has {d} features, the scaled rows have others")
    X = np.random.default_rng(0).random((ROWS, d)) - 0.5
    X *= NORM / np.linalg.norm(X, axis=1, keepdims=True)
    method = model.solver_.decision_function if classifies(model.solver_) else model.solver_.predict
    rows = X.astype(model.preparation_.dtype)
    return np.concatenate([method(Z) for Z in model.blocks_of_prepared(rows)]).astype(np.float64)


def check_answers(model: KernelModel, expected: Any, kfeat: str) -> None:
    """Raise ModelError unless the model says what it said when that version of kfeat wrote it."""
    found, before = answers(model), np.array(expected, np.float64)
    allowed = TOLERANCE * np.abs(before).max()
    if found.shape != before.shape or not (np.abs(found - before) <= allowed).all():
        raise ModelError(
            f"it predicts otherwise here than where it was written, by kfeat {kfeat}: use that version, or "
            "train the model again with `kfeat fit`"
        )
