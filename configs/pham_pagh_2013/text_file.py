"""LIBLINEAR on features that pass through a text file, for text_file.yaml."""

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin

from kfeat.solvers import Liblinear


class TextFile(ClassifierMixin, BaseEstimator):
    """LIBLINEAR's -s 1 on features X as "%.6g" writes them: x -> round(x / u) u, u = 10^(floor(log10 |x|) - 5)."""

    def __init__(self, C=1.0, digits=6, random_state=None):
        self.C = C
        self.digits = digits
        self.random_state = random_state

    def fit(self, X, y):
        """Train on X (n, d) and y (n,)."""
        self.solver_ = Liblinear(solver_type=1, C=self.C, random_state=self.random_state)
        self.solver_.fit(self._read(X), y)
        self.classes_ = self.solver_.classes_
        return self

    def predict(self, X):
        """Return a label for each row."""
        return self.solver_.predict(self._read(X))

    def _read(self, X):
        X = np.asarray(X, np.float64)
        size = np.abs(np.where(X == 0, 1.0, X))
        unit = 10.0 ** (np.floor(np.log10(size)) + 1 - self.digits)
        return np.round(X / unit) * unit
