"""What the mutation test of the library hands in: parameters, matrices and targets of every wrong kind."""

import numpy as np
import pandas as pd
from scipy import sparse

from kfeat.kernels import Gaussian, Linear, Polynomial, Sum


def rows(rng, n=24, d=5):
    X = rng.standard_normal((n, d)) * (rng.random((n, d)) < 0.7)
    return 0.8 * X / np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1)


def read_only(X):
    X = X.copy()
    X.flags.writeable = False
    return X


def put(value, place=None):
    """Return the function that puts a value into one place, in the middle if none is named."""

    def change(X):
        X = X.copy()
        X.flat[X.size // 2 if place is None else place] = value
        return X

    return change


def csr(make=sparse.csr_array, **changes):
    """Return the function that makes a sparse matrix and changes its arrays behind its back."""

    def changed(X):
        matrix = make(X)
        for name, change in changes.items():
            setattr(matrix, name, change(getattr(matrix, name).copy()))
        return matrix

    return changed


def doubled(X):
    """X as CSR in which every value is stored as two halves, in an order of its own."""
    rows, columns = np.nonzero(X)
    halves = X[rows, columns] / 2
    order = np.random.default_rng(0).permutation(2 * len(rows))
    rows, columns, halves = (np.tile(part, 2)[order] for part in (rows, columns, halves))
    by_row = np.argsort(rows, kind="stable")
    indptr = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=len(X)))])
    return sparse.csr_array((halves[by_row], columns[by_row], indptr), shape=X.shape)


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
    *(put(value) for value in (np.nan, np.inf, -np.inf, 1e308, -1e150)),
    *(lambda X, s=s: X[s] for s in (slice(0), slice(1), slice(2), slice(None, None, -2))),
    *(lambda X, s=s: X[s] for s in (np.s_[:, :0], np.s_[:, :1], np.s_[:, ::-1], np.s_[:, :4])),
    *(lambda X, s=s: X[s] for s in (np.s_[:, 0], np.s_[None], np.s_[0, 0])),
    np.asfortranarray, read_only, np.ones_like, pd.DataFrame, list, np.ma.array, lambda X: X.tolist(),
    lambda X: [[1.0], [1.0, 2.0]], lambda X: None, lambda X: "rows", lambda X: 3, lambda X: {},
    lambda X: print,
    lambda X: np.hstack([X, X]), lambda X: np.array([[None] * 5] * 24), lambda X: X.T, lambda X: X * 1e200,
    *(getattr(sparse, f"{form}_array") for form in ["csr", "csc", "coo", "lil", "dok", "bsr", "dia"]),
    *(getattr(sparse, f"{form}_matrix") for form in ["csr", "csc", "coo", "lil"]),
    doubled, unsorted, lambda X: sparse.csr_array(X.astype(complex)), lambda X: sparse.csr_array(X > 0),
    *(csr(data=lambda a, t=t: a.astype(t)) for t in ["f4", ">f8", "i8", "g", "f2", "O"]),
    csr(data=put(np.nan)), csr(data=put(1e200)), lambda X: sparse.csr_array((24, 5)),
    *(csr(indices=lambda a, t=t: a.astype(t), indptr=lambda a, t=t: a.astype(t))
      for t in ["i8", "u4", ">i4"]),
    *(csr(indices=put(v)) for v in (-1, 5, 10**9, -(2**31))), csr(indices=lambda a: a / 2),
    *(csr(indptr=put(v)) for v in (-1, 0, 10**9, -(2**31))), csr(indices=lambda a: a[:5]),
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
