"""Rows of a matrix as the node arrays that LIBLINEAR and LIBSVM read, without a Python loop over rows."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from kfeat.memory import check_memory

# struct {int index; double value;}: both libraries, 4 bytes of padding between the two.
NODE = np.dtype({"names": ["index", "value"], "formats": ["i4", "f8"], "offsets": [0, 8], "itemsize": 16})
BLOCK = 2**16  # nodes written at once (1 MB): both fields are written while they are in the cache
# Shares of non-zeros below which a dense array is handed over without its zeros. LIBLINEAR walks along one
# row; LIBSVM merges two, and its branches are hard to foresee unless rows are full or have few values.
LINEAR_BELOW, MERGED_BELOW = 0.9, 0.25


@dataclass(frozen=True)
class NodeRows:
    """A matrix as the libraries read it; `nodes` must outlive every use of `pointers`."""

    nodes: NDArray[Any]
    pointers: NDArray[np.uintp]


def node_rows(X: Any, bias: float | None = None, sparse_below: float = LINEAR_BELOW) -> NodeRows:
    """Return the rows of X as node arrays: (index from 1, value) ..., (d + 1, bias), (-1, -).

    X is a dense array or CSR with sorted indices, shape (n, d), float32 or float64. The nodes take
    16 bytes * (values + 1 per row, + 1 with a bias), and only a few MB beside them are used. A dense array
    with a share of non-zeros below `sparse_below` goes without its zeros: no sum changes by a bit. Raises
    SolverError where memory is short.
    """
    n, d = X.shape
    counts = np.diff(X.indptr).astype(np.int64) if issparse(X) else _nonzeros(X)
    extra = 1 if bias is None else 2
    full = not issparse(X) and counts.sum() >= sparse_below * n * d
    values = n * d if full else int(counts.sum())
    needed = NODE.itemsize * (values + extra * n)
    check_memory(f"a matrix of {values:,} values as nodes", needed, "take fewer rows or features")
    if full:
        nodes, ends = _full_rows(X, extra)
    else:
        nodes, ends = _ragged_rows(X, counts, extra)
    nodes["index"][ends - 1] = -1
    if bias is not None:
        nodes["index"][ends - 2] = d + 1
        nodes["value"][ends - 2] = bias
    starts = np.concatenate([[0], ends[:-1]])
    return NodeRows(nodes, (starts * NODE.itemsize + nodes.ctypes.data).astype(np.uintp))


def _full_rows(X: NDArray[Any], extra: int) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Return the nodes of all values of a dense array, and where each row's nodes end."""
    n, d = X.shape
    nodes = np.empty((n, d + extra), NODE)
    index = np.arange(1, d + 1, dtype=np.int32)
    for rows in _blocks(np.full(n, d)):
        nodes["index"][rows, :d] = index
        nodes["value"][rows, :d] = X[rows]
    return nodes.reshape(-1), (d + extra) * np.arange(1, n + 1)


def _ragged_rows(X: Any, counts: NDArray[np.int64], extra: int) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Return the nodes of the stored (CSR) or non-zero (dense) values, and where each row's nodes end."""
    ends = np.cumsum(counts + extra)
    nodes = np.empty(ends[-1], NODE)
    for rows in _blocks(counts):
        first = ends[rows.start] - counts[rows.start] - extra
        block = nodes[first : ends[rows.stop - 1]]
        # A mask over whole runs is copied run by run in C, much faster than an index per value.
        inside = np.ones(len(block), dtype=bool)
        for back in range(1, extra + 1):
            inside[ends[rows] - first - back] = False
        if issparse(X):
            stored = slice(X.indptr[rows.start], X.indptr[rows.stop])
            block["index"][inside] = X.indices[stored] + 1
            block["value"][inside] = X.data[stored]
        else:
            kept = X[rows] != 0
            block["index"][inside] = np.nonzero(kept)[1] + 1
            block["value"][inside] = X[rows][kept]
    return nodes, ends


def _nonzeros(X: NDArray[Any]) -> NDArray[np.int64]:
    """Return the number of non-zeros in each row of a dense array."""
    counts = np.empty(len(X), dtype=np.int64)
    for rows in _blocks(np.full(len(X), X.shape[1])):
        counts[rows] = np.count_nonzero(X[rows], axis=1)
    return counts


def _blocks(counts: NDArray[np.int64]) -> list[slice]:
    """Cut the rows into slices of about BLOCK values, one row at least."""
    edges = np.flatnonzero(np.diff(np.cumsum(counts) // BLOCK, prepend=-1))
    return [slice(a, b) for a, b in zip(edges, [*edges[1:], len(counts)], strict=True)]
