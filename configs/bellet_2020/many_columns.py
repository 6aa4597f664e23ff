"""Ridge on very many random features, never held at once, for many_columns.yaml."""

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin

from kfeat.kernels import Gaussian
from kfeat.maps import SORF

BLOCK_BYTES = 2**28  # of the features of a block of rows


class BlockRidge(ClassifierMixin, BaseEstimator):
    """One-against-all ridge on D features of a Gaussian, by conjugate gradients over mapped blocks of rows.

    min over W of ||Z W - Y||^2 + alpha ||W||^2, where Y is 1 for a row's class and -1 for others. Each step
    maps all rows again, so that no n x D matrix is made: the memory is that of one block and of four D x k
    arrays. It ends after `steps`, or when all residuals are below `tol` of their first norm.
    """

    def __init__(self, n_components=10_000, gamma=0.03, alpha=1.0, steps=30, tol=1e-2, random_state=None):
        self.n_components = n_components
        self.gamma = gamma
        self.alpha = alpha
        self.steps = steps
        self.tol = tol
        self.random_state = random_state

    def fit(self, X, y):
        """Train on X (n, d) and y (n,)."""
        self.classes_, codes = np.unique(y, return_inverse=True)
        Y = np.where(codes[:, None] == np.arange(len(self.classes_)), 1, -1).astype(np.float32)
        self.map_ = SORF(Gaussian(self.gamma), self.n_components, random_state=self.random_state).fit(X)
        R = sum(Z.T @ Y[rows] for rows, Z in self._blocks(X))
        W, P, rr = np.zeros_like(R), R.copy(), np.sum(R**2, axis=0)
        first = rr.copy()
        for n_iter in range(1, self.steps + 1):
            self.n_iter_ = n_iter
            A = self.alpha * P + sum(Z.T @ (Z @ P) for _, Z in self._blocks(X))
            step = rr / np.sum(P * A, axis=0)
            W, R = W + step * P, R - step * A
            rr, before = np.sum(R**2, axis=0), rr
            if (rr <= self.tol**2 * first).all():
                break
            P = R + rr / before * P
        self.coef_ = W
        return self

    def predict(self, X):
        """Return the class with the largest value for each row."""
        values = np.vstack([Z @ self.coef_ for _, Z in self._blocks(X)])
        return self.classes_[values.argmax(axis=1)]

    def _blocks(self, X):
        """Yield slices of the rows and their features."""
        step = max(1, BLOCK_BYTES // (4 * self.n_components))
        for start in range(0, X.shape[0], step):
            rows = slice(start, start + step)
            yield rows, self.map_.transform(X[rows])
