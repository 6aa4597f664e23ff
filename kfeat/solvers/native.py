"""Calling LIBLINEAR and LIBSVM: one thread at a time, with rows as the node arrays of their C code."""

import ctypes
import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Lock
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from threadpoolctl import ThreadpoolController

from kfeat.child import in_fork
from kfeat.errors import DataError
from kfeat.kernels.distances import is_forked
from kfeat.memory import check_memory
from kfeat.solvers.base import Solver
from kfeat.solvers.class_weights import class_factors

PRINT_FUNCTION = ctypes.CFUNCTYPE(None, ctypes.c_char_p)
C_INT_MAX = 2**31 - 1
_C_LIBRARY: Any = ctypes.cdll.msvcrt if sys.platform == "win32" else ctypes.CDLL(None)

_lock = Lock()


def _new_lock() -> None:
    """Make a new lock in a forked child, since another thread of the parent may have held the old one."""
    global _lock
    _lock = Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_new_lock)


@contextmanager
def one_at_a_time() -> Iterator[None]:
    """Keep all other threads out of the C libraries.

    Their print functions and rand() are global to the process, and so are the random numbers of
    scikit-learn's LIBLINEAR.
    """
    with _lock:
        yield


LONG_FROM = 2**18  # values that a pass reads, from which a solve is worth a fork
Solved = TypeVar("Solved")


def interruptible(solve: Callable[[], Solved], values: float) -> Solved:
    """Return solve(), a solve in C that reads so many `values` in a pass; Ctrl-C raises KeyboardInterrupt.

    C code cannot be ended but with its process. So a solve that may be long has a forked child, which Ctrl-C
    kills; after a short one Ctrl-C is heeded. Other threads do not get Ctrl-C, and a child process of
    multiprocessing is ended by its parent.
    """
    in_main_thread = threading.current_thread() is threading.main_thread()
    if not in_main_thread or not callable(signal.getsignal(signal.SIGINT)):
        return solve()
    if values >= LONG_FROM and hasattr(os, "fork") and multiprocessing.parent_process() is None:
        return in_fork(solve)
    with _interrupts_deferred():
        return solve()


@contextmanager
def _interrupts_deferred() -> Iterator[None]:
    """Heed Ctrl-C at the end of this context: C code would drop the exception of a print function."""
    came: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, frame: came.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        if came:
            signal.raise_signal(signal.SIGINT)


@contextmanager
def solving(set_print_function: Callable[[Any], None], seed: int | None) -> Iterator[list[str]]:
    """Yield a list that collects what the library prints; rand() starts from `seed`.

    None means the state in which the C library itself starts (seed 1), as in a new process.
    """
    messages: list[str] = []
    listen = PRINT_FUNCTION(lambda text: messages.append(text.decode("ascii", "replace")))
    with one_at_a_time():
        _C_LIBRARY.srand(ctypes.c_uint(1 if seed is None else seed & 0xFFFFFFFF))
        set_print_function(listen)
        try:
            yield messages
        finally:
            set_print_function(PRINT_FUNCTION(0))


def openmp_threads() -> int:
    """Return the threads of OpenMP, which LIBSVM uses: the smallest limit of all thread pools.

    `threadpool_limits` does not affect libraries that are loaded later: LIBSVM would use all cores. In a
    forked child the limit is one thread, see `is_forked`.
    """
    caps = [pool["num_threads"] for pool in ThreadpoolController().info()]
    return 1 if is_forked() else min(caps, default=1)


def structure(kind: Any, **fields: Any) -> Any:
    """Return a C structure of the packages with these fields, and all others 0.

    Their own constructors must not be called: `parameter()` and `svm_parameter()` set the print function,
    while another thread may use it. What a field points to must be kept alive.
    """
    made = kind.__new__(kind)
    for name, value in fields.items():
        setattr(made, name, value)
    return made


def weight_fields(weights: dict[int, float]) -> dict[str, Any]:
    """Return the fields of both libraries' parameters that hold the factors of C by label."""
    return {
        "nr_weight": len(weights),
        "weight_label": (ctypes.c_int * len(weights))(*weights),
        "weight": (ctypes.c_double * len(weights))(*weights.values()),
    }


def labels_in_c(solver: Solver, y: NDArray[Any]) -> NDArray[np.float64]:
    """Return the labels for the libraries, which treat the labels -1 and +1, and only these, specially."""
    if solver.task == "classification" and np.array_equal(solver.classes_, [-1, 1]):
        return 2.0 * y - 1
    return y.astype(np.float64)


def weights_in_c(solver: Any, y: NDArray[Any], sample_weight: Any = None) -> dict[int, float]:
    """Return the factors of C by the libraries' labels; empty for regression or without `class_weight`."""
    if solver.task == "regression" or solver.class_weight is None:
        return {}
    labels = np.unique(labels_in_c(solver, y)).astype(int).tolist()
    factors = class_factors(solver.class_weight, solver.classes_, y, sample_weight)
    return dict(zip(labels, factors.tolist(), strict=True))


def c_array(values: NDArray[Any], c_type: Any) -> Any:
    """Return a C pointer of `c_type` to the first of `values`, which must be kept alive."""
    return ctypes.cast(values.ctypes.data, ctypes.POINTER(c_type))


def row_pointers(rows: NDArray[Any]) -> NDArray[np.uintp]:
    """Return the memory address of each row."""
    return (rows.ctypes.data + rows.strides[0] * np.arange(len(rows))).astype(np.uintp)


def check_sizes(library: str, **sizes: int) -> None:
    """Raise DataError if a count does not fit in the library's C int."""
    for name, size in sizes.items():
        if size > C_INT_MAX:
            raise DataError(
                f"{library} counts in C's int, at most {C_INT_MAX:,}: {name.replace('_', ' ')} would be "
                f"{size:,}; take fewer rows, features or classes"
            )


# struct {int index; double value;} of both libraries, with 4 bytes of padding after the index.
NODE = np.dtype({"names": ["index", "value"], "formats": ["i4", "f8"], "offsets": [0, 8], "itemsize": 16})
BLOCK = 2**16  # nodes written at a time (1 MB), so that both fields are written while they are in the cache
# Shares of non-zeros below which a dense array is passed without its zeros. LIBLINEAR reads one row; LIBSVM
# merges two, and branch prediction fails unless rows are full or have few values.
LINEAR_BELOW, MERGED_BELOW = 0.9, 0.25


@dataclass(frozen=True)
class NodeRows:
    """A matrix in the libraries' format; `nodes` must be kept alive while `pointers` is used."""

    nodes: NDArray[Any]
    pointers: NDArray[np.uintp]


def node_rows(X: Any, bias: float | None = None, sparse_below: float = LINEAR_BELOW) -> NodeRows:
    """Return the rows of X as node arrays: (index from 1, value) ..., (d + 1, bias), (-1, -).

    X is a dense array or CSR with sorted indices, shape (n, d), float32 or float64. The nodes take
    16 bytes * (values + 1 per row, + 1 with a bias), and temporaries only a few MB. The zeros of a dense
    array are left out if the share of non-zeros is below `sparse_below`, which changes no sum. Raises
    SolverError if memory is too small.
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
    """Return the nodes of all values of a dense array, and the end of each row's nodes."""
    n, d = X.shape
    nodes = np.empty((n, d + extra), NODE)
    index = np.arange(1, d + 1, dtype=np.int32)
    for rows in _blocks(np.full(n, d)):
        nodes["index"][rows, :d] = index
        nodes["value"][rows, :d] = X[rows]
    return nodes.reshape(-1), (d + extra) * np.arange(1, n + 1)


def _ragged_rows(X: Any, counts: NDArray[np.int64], extra: int) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Return the nodes of the stored (CSR) or non-zero (dense) values, and the end of each row's nodes."""
    ends = np.cumsum(counts + extra)
    nodes = np.empty(ends[-1], NODE)
    for rows in _blocks(counts):
        first = ends[rows.start] - counts[rows.start] - extra
        block = nodes[first : ends[rows.stop - 1]]
        # A mask is copied in long runs, which is much faster than an index per value.
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
    """Cut the rows into slices of about BLOCK values, but at least one row."""
    edges = np.flatnonzero(np.diff(np.cumsum(counts) // BLOCK, prepend=-1))
    return [slice(a, b) for a, b in zip(edges, [*edges[1:], len(counts)], strict=True)]
