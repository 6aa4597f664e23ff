"""Mondrian features for a path of lifetimes, in NumPy (Balog, Lakshminarayanan, Ghahramani, Roy & Teh 2016).

A cell of extents l is cut after a time of Exp(sum of l), in a column drawn in proportion to l, at a uniform
place. The features of a lifetime are the cells that live then, and <z(x), z(y)> estimates
exp(-lifetime ||x - y||_1): one tree has the cells of all lifetimes up to the longest.
"""

import numpy as np
from numpy.typing import NDArray


def path(X: NDArray[np.float32], lifetimes: NDArray[np.float64], trees: int, seed: int) -> NDArray[np.intp]:
    """Return the cell of each row at each lifetime in each tree, of shape (trees, lifetimes, rows)."""
    rng = np.random.default_rng(seed)
    return np.stack([_tree(X, lifetimes, rng) for _ in range(trees)])


def _tree(
    X: NDArray[np.float32], lifetimes: NDArray[np.float64], rng: np.random.Generator
) -> NDArray[np.intp]:
    """Cut all cells of a level at once; `rows` are those whose cells may still be cut, ordered by cell."""
    known = np.zeros((len(lifetimes), len(X)), np.intp)
    rows, cells, born, total = np.arange(len(X)), np.zeros(len(X), np.intp), np.zeros(1), 1
    while len(rows):
        values, starts = X[rows], np.searchsorted(cells, np.arange(len(born)))
        low, high = np.minimum.reduceat(values, starts), np.maximum.reduceat(values, starts)
        extents = (high - low).astype(np.float64)
        reach, each = extents.cumsum(axis=1), np.arange(len(born))
        with np.errstate(divide="ignore"):
            cut = born + rng.standard_exponential(len(born)) / reach[:, -1]
        column = (reach < (rng.random(len(born)) * reach[:, -1])[:, None]).sum(axis=1)
        place = low[each, column] + rng.random(len(born)) * extents[each, column]
        going = cut[cells] <= lifetimes[-1]
        rows, cells = rows[going], cells[going]
        halves = 2 * cells + (X[rows, column[cells]] > place[cells])
        order = np.argsort(halves, kind="stable")
        rows, (parents, cells) = rows[order], np.unique(halves[order], return_inverse=True)
        born = cut[parents // 2]
        for lifetime, at in zip(lifetimes, known, strict=True):
            alive = born[cells] <= lifetime
            at[rows[alive]] = total + cells[alive]
        total += len(born)
    return known
