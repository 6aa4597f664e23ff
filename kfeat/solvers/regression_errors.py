"""How far predicted values are off."""

from math import nan
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import metrics


def relative_error(y: Any, predicted: Any) -> float:
    """Return ||predicted - y|| / ||y||, as Chang, Li, Yang and Poczos (IJCAI 2017) report it."""
    y, predicted = _vector(y), _vector(predicted)
    with np.errstate(divide="ignore", invalid="ignore"):  # inf or nan where all of y is 0
        return float(np.linalg.norm(predicted - y) / np.linalg.norm(y))


def regression_errors(y: Any, predicted: Any) -> dict[str, float]:
    """Return relative error, root mean squared error, mean absolute error and R^2 by name.

    R^2 of a single row is nan.
    """
    return {
        "relative_error": relative_error(y, predicted),
        "rmse": float(np.sqrt(metrics.mean_squared_error(y, predicted))),
        "mae": float(metrics.mean_absolute_error(y, predicted)),
        "r2": float(metrics.r2_score(y, predicted)) if len(_vector(y)) > 1 else nan,
    }


def _vector(values: Any) -> NDArray[np.float64]:
    return np.asarray(values, dtype=np.float64)
