"""Kernel ridge regression in cells: in each cell what KernelRidge gives on its rows."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from kfeat.kernels import EuclideanLaplacian, Gaussian
from kfeat.solvers import (
    CellKernelRidge,
    CellKernelRidgeClassifier,
    KernelRidge,
    KernelRidgeClassifier,
)
from kfeat.solvers.cells import Tree

rng = np.random.default_rng(0)
X = rng.random((700, 4))
TARGETS = np.sin(9 * X[:, 0]) + X[:, 1] * X[:, 2]
LABELS = np.digitize(TARGETS, [0.0, 0.7])
NEW = rng.random((300, 4))


@pytest.mark.parametrize("size", [1, 7, 40, 349, 700])
def test_cells_are_halves_of_at_least_their_size(size):
    tree = Tree.grow(X, size, np.random.default_rng(1))
    assert sorted(np.concatenate(tree.cells())) == [*range(700)]
    assert all(size <= len(rows) < max(2 * size, 2) for rows in tree.cells())
    for rows, members in zip(tree.cells(), tree.members(X), strict=True):
        assert [*rows] == sorted(members)  # a row of training is predicted from its own cell
    parts = tree.members(NEW)
    assert sorted(np.concatenate(parts)) == [*range(300)]


def test_rows_of_the_same_cell_lie_on_the_same_side_of_each_hyperplane():
    """Two rows share a cell of n rows with the probability 1 - angle-like distance: near ones mostly do."""
    together, apart = [], []
    for seed in range(60):
        tree = Tree.grow(X, 100, np.random.default_rng(seed))
        cell = np.empty(700, int)
        for k, rows in enumerate(tree.cells()):
            cell[rows] = k
        distances = np.linalg.norm(X - X[0], axis=1)
        near, far = np.argsort(distances)[[1, -1]]
        together.append(cell[near] == cell[0])
        apart.append(cell[far] == cell[0])
    assert np.mean(together) > 0.6
    assert np.mean(apart) < 0.1


@pytest.mark.parametrize("make", [np.asarray, csr_array])
@pytest.mark.parametrize("weights", [None, rng.integers(0, 3, 700)], ids=["equal", "weighted"])
def test_each_cell_is_kernel_ridge_on_its_rows(make, weights):
    kernel = EuclideanLaplacian(bandwidth=0.8)
    kept = np.arange(700) if weights is None else np.flatnonzero(weights)
    c = np.ones(len(kept)) if weights is None else weights[kept]
    mean = np.average(TARGETS[kept], weights=c)
    ours = CellKernelRidge(kernel, 0.05, 90, random_state=3).fit(make(X), TARGETS, weights)
    expected = np.empty(300)
    for rows, members in zip(ours.tree.cells(), ours.tree.members(NEW), strict=True):
        alone = KernelRidge(kernel, 0.05, fit_intercept=False)
        alone.fit(X[kept[rows]], TARGETS[kept[rows]] - mean, c[rows])
        expected[members] = alone.predict(NEW[members]) + mean
    np.testing.assert_allclose(ours.predict(make(NEW)), expected, atol=1e-9)
    signs = 2.0 * (LABELS[:, None] == np.arange(3)) - 1
    classes = CellKernelRidgeClassifier(kernel, 0.05, 90, random_state=3).fit(make(X), LABELS, weights)
    parts = [CellKernelRidge(kernel, 0.05, 90, random_state=3).fit(X, s, weights) for s in signs.T]
    scores = np.stack([part.predict(NEW) for part in parts], axis=1)
    np.testing.assert_allclose(classes.decision_function(make(NEW)), scores, atol=1e-9)
    assert classes.objective_ == pytest.approx(sum(part.objective_ for part in parts))
    np.testing.assert_array_equal(classes.predict(NEW), scores.argmax(axis=1))


def test_one_cell_is_exact_kernel_ridge():
    kernel = Gaussian(3.0)
    ours = CellKernelRidgeClassifier(kernel, 0.1, 500, random_state=0).fit(X, LABELS)
    exact = KernelRidgeClassifier(kernel, 0.1, "mean").fit(X, LABELS)
    np.testing.assert_allclose(ours.decision_function(NEW), exact.decision_function(NEW), atol=1e-9)
    two = CellKernelRidgeClassifier(kernel, 0.1, 500, random_state=0).fit(X, LABELS > 0)
    assert two.decision_function(NEW).shape == (300,)


def test_some_cells_have_no_new_row():
    ours = CellKernelRidge(Gaussian(1.0), 0.1, 5, random_state=0).fit(X, TARGETS)
    np.testing.assert_allclose(ours.predict(NEW[:3]), ours.predict(NEW)[:3])


def test_equal_rows_stay_in_one_cell():
    rows = np.repeat(X[:5], 60, axis=0)
    ours = CellKernelRidge(Gaussian(1.0), 0.1, 20, random_state=0).fit(rows, np.arange(300.0))
    assert all(len(np.unique(rows[cell], axis=0)) <= 5 for cell in ours.tree.cells())
    assert min(map(len, ours.tree.cells())) >= 60
    np.testing.assert_allclose(ours.predict(rows).reshape(5, 60).std(axis=1), 0, atol=1e-9)
