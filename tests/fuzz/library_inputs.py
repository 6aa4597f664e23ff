"""What the mutation test of the library hands in: parameters, matrices and targets of every wrong kind."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from kfeat.kernels import Gaussian, Linear, Polynomial, Sum

Rng = np.random.Generator
Change = Callable[[np.ndarray], Any]


def rows(rng, n=24, d=5):
    X = rng.standard_normal((n, d)) * (rng.random((n, d)) < 0.7)
    return 0.8 * X / np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1)


def read_only(X):
    X = X.copy()
    X.flags.writeable = False
    return X


def one(value):
    """Put a value into one place."""

    def put(X):
        X = X.copy()
        X.flat[X.size // 2] = value
        return X

    return put


def csr(**changes):
    """Make CSR and change its arrays behind its back."""

    def make(X):
        matrix = sparse.csr_array(X)
        for name, change in changes.items():
            setattr(matrix, name, change(getattr(matrix, name).copy()))
        return matrix

    return make


def duplicated(X):
    A = sparse.csr_array(X)
    twice = (np.repeat(A.data / 2, 2), np.repeat(A.indices, 2), 2 * A.indptr)
    return sparse.csr_array(twice, shape=A.shape)


def unsorted(X):
    A = sparse.csr_array(X[:, ::-1])
    return sparse.csr_array((A.data, X.shape[1] - 1 - A.indices, A.indptr), shape=A.shape)


VALUES = [
    None, "10", "text", "median", "", b"x", True, False, 0, -1, 1, 3, 2.5, 1e-9, 1e30, 1e308, 5e-324, np.nan,
    np.inf, -np.inf, 10**15, 10**30, -(10**30), [], [1.0], (), {}, {0: 2.0}, {"a": 1}, {0: np.nan}, object,
    np.ones(3), np.float32(2), np.int64(3), np.array(2), np.array("2"), np.ones((3, 5)), 1j, print,
    "balanced", Gaussian(), Linear(), Polynomial, Polynomial("2"), Sum([Gaussian(), Polynomial(3)]),
    Sum([]), Sum([None]), Sum([Linear()], [-1.0]),
]  # fmt: skip

INPUTS = [
    *(lambda X, t=t: X.astype(t) for t in ["f2", "f4", ">f4", ">f8", "g", "i1", "u1", "i8", ">i4", "?"]),
    *(lambda X, t=t: X.astype(t) for t in ["c16", "O", "U8", "S8", "M8[s]"]),
    *(lambda X, s=s: X * s for s in (0, 1e-320, 1e-30, 1e4, 1e10, 1e20, 1e30, 1e60, 1e120, 1e153, 1e155)),
    *(lambda X, s=s: (X * s).astype(np.float32) for s in (1e4, 1e10, 1e19, 1e30, 3e38)),
    *(one(value) for value in (np.nan, np.inf, -np.inf, 1e308, -1e150)),
    *(lambda X, s=s: X[s] for s in (slice(0), slice(1), slice(2), slice(None, None, -2))),
    *(lambda X, s=s: X[s] for s in (np.s_[:, :0], np.s_[:, :1], np.s_[:, ::-1], np.s_[:, :4])),
    *(lambda X, s=s: X[s] for s in (np.s_[:, 0], np.s_[None], np.s_[0, 0])),
    np.asfortranarray, read_only, np.ones_like, pd.DataFrame, list, np.ma.array, lambda X: X.tolist(),
    lambda X: [[1.0], [1.0, 2.0]], lambda X: None, lambda X: "rows", lambda X: 3, lambda X: {},
    lambda X: print,
    lambda X: np.hstack([X, X]), lambda X: np.array([[None] * 5] * 24), lambda X: X.T, lambda X: X * 1e200,
    *(getattr(sparse, f"{form}_array") for form in ["csr", "csc", "coo", "lil", "dok", "bsr", "dia"]),
    *(getattr(sparse, f"{form}_matrix") for form in ["csr", "csc", "coo", "lil"]),
    duplicated, unsorted, lambda X: sparse.csr_array(X.astype(complex)), lambda X: sparse.csr_array(X > 0),
    *(csr(data=lambda a, t=t: a.astype(t)) for t in ["f4", ">f8", "i8", "g", "f2", "O"]),
    csr(data=one(np.nan)), csr(data=one(1e200)), lambda X: sparse.csr_array((24, 5)),
    *(csr(indices=lambda a, t=t: a.astype(t), indptr=lambda a, t=t: a.astype(t))
      for t in ["i8", "u4", ">i4"]),
    *(csr(indices=one(v)) for v in (-1, 5, 10**9, -(2**31))), csr(indices=lambda a: a / 2),
    *(csr(indptr=one(v)) for v in (-1, 0, 10**9, -(2**31))), csr(indices=lambda a: a[:5]),
    csr(indptr=lambda a: a[:-2]), csr(indptr=lambda a: a + 1), csr(data=lambda a: a[:5]),
    csr(indptr=lambda a: np.where(np.arange(len(a)) == 2, 10**9, 0)), csr(data=lambda a: a[:, None]),
    lambda X: sparse.csr_array((0, 5)), lambda X: sparse.csr_array((24, 2**40)),
    lambda X: sparse.coo_array(X[0]),
]  # fmt: skip

TARGETS = [
    lambda y: y.astype(float), lambda y: np.where(y, "a", "b"), lambda y: y * 0, lambda y: y[:-3],
    lambda y: y[:, None], lambda y: np.where(y, np.nan, 1), lambda y: y * 1e200, lambda y: y * np.inf,
    lambda y: y.astype(object), lambda y: None, lambda y: 2 * y - 1, lambda y: y + 0.5, list, lambda y: [],
    lambda y: np.arange(len(y)), lambda y: y > 0, lambda y: "abc", lambda y: y.astype("f4"),
    lambda y: y.astype(">i8"), lambda y: np.stack([y, y], 1), lambda y: y * 1j, lambda y: y * 1e307,
    lambda y: np.where(y, None, 1), lambda y: sparse.csr_array(y[None]), lambda y: np.arange(len(y)) % 3,
]  # fmt: skip
