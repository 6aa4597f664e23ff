"""Least squares that never predict the last class, for letter.yaml: so the program of Wu et al. does.

It wants labels from 0 and learns classes 0 to 25 of letter's labels 1 to 26. So class 0 has no row, and the
last class, Z, has no scores: its rows are trained on as rows of no class, and each is an error.
"""

import numpy as np

from kfeat.solvers import CellKernelRidgeClassifier, KernelRidgeClassifier, RidgeClassifier


class WithoutLast:
    """Mixed into a classifier of kfeat: predicts the class of the largest score among all but the last."""

    def predict(self, X):
        """Return a label for each row."""
        return self.classes_[np.argmax(self.decision_function(X)[:, :-1], axis=1)]


class Ridge(WithoutLast, RidgeClassifier):
    """RidgeClassifier that never predicts the last class."""


class KernelRidge(WithoutLast, KernelRidgeClassifier):
    """KernelRidgeClassifier that never predicts the last class."""


class CellKernelRidge(WithoutLast, CellKernelRidgeClassifier):
    """CellKernelRidgeClassifier that never predicts the last class."""
