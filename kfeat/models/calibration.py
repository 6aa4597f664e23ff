"""Probabilities for classifiers that have decision values only (Platt 1999)."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from kfeat.errors import ModelError

FOLDS = 5


@dataclass(frozen=True)
class Calibration:
    """P(class c | f) = 1 / (1 + exp(a_c f_c + b_c)) of decision values f, divided by the sum over classes.

    `slopes` are a and `offsets` b, one for each class; a single one for two classes, whose f belongs to the
    last.
    """

    slopes: NDArray[np.float64]
    offsets: NDArray[np.float64]

    def probabilities(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the probabilities (n, classes) of decision values of shape (n,) or (n, classes)."""
        lines = values[:, None] if values.ndim == 1 else values
        each = special.expit(-(self.slopes * lines + self.offsets))
        if len(self.slopes) == 1:
            return np.hstack([1 - each, each])
        total = each.sum(axis=1, keepdims=True)
        even = np.full_like(each, 1 / each.shape[1])  # where every class has probability 0
        return np.divide(each, total, out=even, where=total > 0)


def check_rows(y: NDArray[Any]) -> None:
    """Raise ModelError where a class has fewer rows than there are folds."""
    rarest = int(np.unique(y, return_counts=True)[1].min())
    if rarest < FOLDS:
        raise ModelError(
            f"probabilities are calibrated in {FOLDS} folds, which need {FOLDS} training rows of a class, "
            f"and one has {rarest}: leave the probabilities out, or the class"
        )


def calibrated(solver: Any, Z: Any, y: NDArray[Any]) -> tuple[Any, Calibration]:
    """Return the solver, fitted to all rows of Z (n, D), and how its decision values become probabilities.

    The curves are scikit-learn's (`CalibratedClassifierCV`), fitted to the values of rows that the solver has
    not seen, in 5 stratified folds. Raises ModelError for a class with fewer rows than folds.
    """
    check_rows(y)
    from sklearn.calibration import CalibratedClassifierCV  # which takes as long as all of kfeat to import
    from sklearn.model_selection import StratifiedKFold

    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=0)
    fitted = CalibratedClassifierCV(solver, method="sigmoid", cv=folds, ensemble=False).fit(Z, y)
    (whole,) = fitted.calibrated_classifiers_
    slopes, offsets = ([getattr(curve, name) for curve in whole.calibrators] for name in ("a_", "b_"))
    return whole.estimator, Calibration(np.array(slopes, float), np.array(offsets, float))
