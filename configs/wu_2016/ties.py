"""Least squares for which a test row without scores is an error: so the program of Wu et al. counts.

A test row that shares no cell with a training row has the score 0 for every class. With two classes their
program counts a row as right if score times label is more than 0. With more it predicts the first class of
the largest score; letter's labels begin at 1, so that its first class, 0, is never right (without_last.py).
"""

import numpy as np

from kfeat.solvers import RidgeClassifier

NO_CLASS = -9


class Ridge(RidgeClassifier):
    """RidgeClassifier of two classes that labels a row without a score NO_CLASS."""

    def predict(self, X):
        """Return a label for each row."""
        scores = self.decision_function(X)
        return np.where(scores != 0, self.classes_[(scores > 0).astype(int)], NO_CLASS)


class RidgeWithoutLast(RidgeClassifier):
    """RidgeClassifier that never predicts the last class, and labels a row without scores NO_CLASS."""

    def predict(self, X):
        """Return a label for each row."""
        scores = self.decision_function(X)
        labels = self.classes_[np.argmax(scores[:, :-1], axis=1)]
        return np.where(scores.any(axis=1), labels, NO_CLASS)
