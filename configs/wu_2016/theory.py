"""How far the ridge regression of a map is from the exact one, for theory.yaml: objective and predictions."""

from functools import cache

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.sparse import issparse

from kfeat.data import load
from kfeat.kernels import Laplacian

ALPHAS = {"": 0.01, "_1": 1.0}  # by the end of the names: the authors' lambda, and about what folds choose
DATA = {
    "cadata": (
        {
            "name": "cal_housing",
            "columns": [
                "medianIncome", "housingMedianAge", "totalRooms", "totalBedrooms", "population", "households",
                "latitude", "longitude",
            ],
        },
        "maxabs",
    ),
    "letter": ("letter", "minmax_symmetric"),
}  # fmt: skip
SPLIT = {"kind": "sample", "n_train": 4000, "n_test": 2000, "seed": 0}


class Solution:
    """Measures the solution of ridge regression on a map's features by the exact one, and the map's cells.

    The objective is F(f) = sum_i (y_i - f(x_i))^2 + alpha ||f||^2 with centred y, summed over the columns of
    y. Its least value is alpha y' (K + alpha I)^-1 y for the kernel. `gap` is (F_R - F) / F, and
    `prediction` ||f_R - f|| / ||f|| on held-out rows. Sparse features also have `bins`, the mean number of
    cells of a grid that hold rows, and `kappa`, the mean inverse of the largest share of the rows in one.

    Parameters
    ----------
    data : {"cadata", "letter"}
        The data, whose targets and held-out rows are loaded anew.
    """

    def __init__(self, data):
        self.data = data

    def of(self, feature_map, X):
        """Return the numbers of an unfitted map on the training rows X (4000, d)."""
        rows, Y, held_out = of_data(self.data)
        np.testing.assert_array_equal(X, rows)
        Z = feature_map.fit(X).transform(X)
        Z_held_out = feature_map.transform(held_out)
        product = Z.T @ Z if Z.shape[1] < Z.shape[0] else Z @ Z.T
        product = product.toarray() if issparse(product) else product
        numbers = cells(Z, feature_map.first_) if issparse(Z) else {}
        exact = exact_solutions(self.data, feature_map.kernel.gamma)
        for end, alpha in ALPHAS.items():
            w = (
                solution(product, Z.T @ Y, alpha)
                if len(product) < len(Y)
                else Z.T @ solution(product, Y, alpha)
            )
            F, f = exact[end]
            values = Z_held_out @ w
            numbers[f"gap{end}"] = (np.sum((Y - Z @ w) ** 2) + alpha * np.sum(w**2)) / F - 1
            numbers[f"prediction{end}"] = np.linalg.norm(values - f) / np.linalg.norm(f)
        return {name: float(number) for name, number in numbers.items()}


@cache
def of_data(name):
    """Return the training rows (n, d), their centred targets (n, k), and the held-out rows."""
    source, scale = DATA[name]
    data = load(source, {"scale": scale, "split": SPLIT, "dtype": "float64"})
    y = data.y_train
    Y = y[:, None] if data.task == "regression" else np.where(y[:, None] == np.unique(y), 1.0, -1.0)
    return data.X_train, Y - Y.mean(axis=0), data.X_test


@cache
def exact_solutions(name, gamma):
    """Return by the end of a name the least objective of kernel ridge regression and its held-out values."""
    X, Y, held_out = of_data(name)
    kernel = Laplacian(gamma)
    K, K_held_out = kernel(X), kernel(held_out, X)
    found = {}
    for end, alpha in ALPHAS.items():
        a = solution(K, Y, alpha)
        found[end] = alpha * np.vdot(Y, a), K_held_out @ a
    return found


def solution(A, B, alpha):
    """Return the solution of (A + alpha I) x = B."""
    return cho_solve(cho_factor(A + alpha * np.eye(len(A)), overwrite_a=True), B)


def cells(Z, first):
    """Return the mean number of cells of a grid that hold rows, and of n over the most rows of one."""
    counts = np.bincount(Z.indices, minlength=Z.shape[1])
    largest = np.maximum.reduceat(counts, first[:-1])
    return {"bins": np.diff(first).mean(), "kappa": (Z.shape[0] / largest).mean()}
