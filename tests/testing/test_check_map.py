"""check_map finds each promise that a map breaks, and no other."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.kernel_approximation import Nystroem, PolynomialCountSketch, RBFSampler

from kfeat.errors import ParameterError, UnsupportedKernelError
from kfeat.kernels import Gaussian, Polynomial
from kfeat.maps import ORF, TensorSketch
from kfeat.testing import check_map

KERNEL = Gaussian(0.5)


class Waves(TransformerMixin, BaseEstimator):
    """Random Fourier features of exp(-||x - y||^2 / 2)."""

    def __init__(self, n_components=60, random_state=None):
        self.n_components, self.random_state = n_components, random_state

    def fit(self, X, y=None):
        rng = np.random.default_rng(self.random_state)
        self.W_ = rng.standard_normal((X.shape[1], self.n_components // 2))
        return self

    def transform(self, X):
        phases = X @ self.W_
        return np.hstack([np.cos(phases), np.sin(phases)]) / np.sqrt(self.W_.shape[1])

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


class Louder(Waves):
    def transform(self, X):
        return np.sqrt(1.05) * super().transform(X)


class OneFrequency(Waves):
    def fit(self, X, y=None):
        super().fit(X)
        self.W_[:] = self.W_[:, :1]
        return self


class SparseInAnotherOrder(Waves):
    def transform(self, X):
        Z = super().transform(X)
        return Z if isinstance(X, np.ndarray) else Z[:, ::-1]


class DenseAlone(Waves):
    def fit(self, X, y=None):
        return super().fit(np.ascontiguousarray(X[:, ::-1]))  # SciPy has no such view of CSR


class Half(Waves):
    def transform(self, X):
        return super().transform(X).astype(np.float16 if X.dtype == np.float32 else float)


class SingleTagged(Waves):
    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float32", "float64"]
        return tags


class Unseeded(Waves):
    def fit(self, X, y=None):
        self.W_ = np.random.default_rng().standard_normal((X.shape[1], self.n_components // 2))
        return self


class DrawnInTransform(Waves):
    def transform(self, X):
        return super().transform(X) * np.random.default_rng().choice([-1, 1])


class OneSeed(Waves):
    def fit(self, X, y=None):
        self.W_ = np.random.default_rng(0).standard_normal((X.shape[1], self.n_components // 2))
        return self


class Centred(Waves):
    def transform(self, X):
        Z = super().transform(X)
        return Z - Z.mean(axis=0)


class InPlace(Waves):
    def transform(self, X):
        X *= 2
        return super().transform(X)


class FitInPlace(Waves):
    def fit(self, X, y=None):
        super().fit(X)
        X *= 2
        return self


class Same(TransformerMixin, BaseEstimator):
    def fit(self, X, y=None):
        return self

    def transform(self, X):
        return X


class SeedOverwritten(Waves):
    def fit(self, X, y=None):
        self.random_state = np.random.RandomState(self.random_state)
        self.W_ = self.random_state.standard_normal((X.shape[1], self.n_components // 2))
        return self


class Unpicklable(Waves):
    def fit(self, X, y=None):
        self.wave_ = lambda phases: np.cos(phases)
        return super().fit(X)


class StateLost(Waves):
    def __getstate__(self):
        return {**super().__getstate__(), "W_": np.ones_like(self.W_)}


class Raises(Waves):
    def transform(self, X):
        if X.dtype == np.float32:
            raise ZeroDivisionError("no float32 here")
        return super().transform(X)


BROKEN = [
    (Louder, "unbiased", "the kernel is estimated 1.0"),
    (OneFrequency, "variance of order 1 / D", r"the variance falls as D\^-0\.00"),
    (SparseInAnotherOrder, "sparse rows as dense ones", "relative difference 1e"),
    (DenseAlone, "sparse rows as dense ones", "test_check_map.py, line"),
    (Half, "float32 as float64", "relative difference"),
    (SingleTagged, "float32 as float64", "its tags promise float32"),
    (Unseeded, "the same draw on each call", "other features from a second fit"),
    (DrawnInTransform, "the same draw on each call", "a second transform"),
    (OneSeed, "the same draw on each call", "random_state=0 and random_state=1 give equal"),
    (Centred, "each row by itself", "relative difference"),
    (Same, "each row by itself", "share memory"),
    (InPlace, "rows unchanged", "transform changes"),
    (FitInPlace, "rows unchanged", "fit changes"),
    (SeedOverwritten, "clone and pickle", "a clone of the fitted map"),
    (Unpicklable, "clone and pickle", "pickle"),
    (StateLost, "clone and pickle", "its pickle"),
    (Raises, "float32 as float64", r"test_check_map.py, line \d+: ZeroDivisionError: no float32 here"),
]
