"""Ridge on very many random features, of which a block at a time is in memory, for many_columns.yaml."""

import warnings

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import gen_batches

from kfeat.kernels import Gaussian
from kfeat.maps import SORF, Nystrom

BLOCK = 2048  # features of a block: a cosine and a sine for each of 1,024 frequencies


class BlockRidge(ClassifierMixin, BaseEstimator):
    """Ridge regression on D features Z of a Gaussian kernel: W = Z' A with (Z Z' + alpha I) A = Y.

    Y is 1 in the column of a row's class and 0 in the others. A is found by conjugate gradients, whose steps
    need Z (Z' P) for n x k matrices P. Each step maps the rows again, block by block of structured orthogonal
    features. So memory has one block, whatever D is, and some matrices of n x k and D x k. The preconditioner
    is (L L' + alpha I)^-1, with Nystrom features L of the same kernel on some landmarks (Cutajar, Osborne,
    Cunningham & Filippone 2016). The steps end when the residual of each column is below `tol` of that of Y.
    """

    def __init__(self, n_components, gamma, alpha, landmarks=2000, tol=0.03, max_iter=100, random_state=None):
        self.n_components = n_components
        self.gamma = gamma
        self.alpha = alpha
        self.landmarks = landmarks
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state

    def fit(self, X, y):
        """Train on X (n, d) and y (n,)."""
        X = np.asarray(X, np.float32)
        self.classes_, codes = np.unique(y, return_inverse=True)
        rng, kernel = np.random.default_rng(self.random_state), Gaussian(self.gamma)
        self.maps_ = [
            SORF(kernel, columns.stop - columns.start, random_state=rng).fit(X)
            for columns in gen_batches(self.n_components, BLOCK)
        ]
        L = Nystrom(kernel, min(self.landmarks, len(X)), random_state=rng).fit_transform(X)
        factor = cho_factor(L.T @ L + self.alpha * np.eye(L.shape[1], dtype=np.float32))

        def preconditioned(R):
            return R - L @ cho_solve(factor, L.T @ R)

        R = np.eye(len(self.classes_), dtype=np.float32)[codes]
        smallest = self.tol * np.linalg.norm(R, axis=0)
        self.coef_ = np.zeros((self.n_components, R.shape[1]), np.float32)
        P = S = preconditioned(R)
        products = np.sum(R * S, axis=0)
        for n_iter in range(1, self.max_iter + 1):
            self.n_iter_ = n_iter
            V, Q = self._multiply(X, P)
            step = products / np.sum(P * Q, axis=0)
            self.coef_ += step * V
            R -= step * Q
            if (np.linalg.norm(R, axis=0) <= smallest).all():
                break
            S = preconditioned(R)
            before, products = products, np.sum(R * S, axis=0)
            P = S + products / before * P
        else:
            warnings.warn(f"no convergence in {self.max_iter} steps", ConvergenceWarning, stacklevel=2)
        return self

    def predict(self, X):
        """Return the class with the largest value for each row."""
        values = sum(Z @ self.coef_[columns] for columns, _, Z in self._blocks(np.asarray(X, np.float32)))
        return self.classes_[values.argmax(axis=1)]

    def _multiply(self, X, P):
        """Return Z' P (D, k) and (Z Z' + alpha I) P (n, k)."""
        V, Q = np.empty_like(self.coef_), self.alpha * P
        for columns, share, Z in self._blocks(X):
            V[columns] = share * (Z.T @ P)
            Q += Z @ V[columns]
        return V, Q

    def _blocks(self, X):
        """Yield the columns of each block, their share of all columns, and the block of features of X.

        Each block alone approximates the kernel; Z Z' is the mean of all, weighted by their shares.
        """
        buffer = np.empty((len(X), BLOCK), np.float32)  # filled again for each block
        for feature_map, columns in zip(self.maps_, gen_batches(self.n_components, BLOCK), strict=True):
            width = columns.stop - columns.start
            yield columns, width / self.n_components, feature_map.transform(X, out=buffer[:, :width])
