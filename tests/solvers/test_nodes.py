"""Node arrays hold what the packages' own converters write."""

import ctypes
import tracemalloc

import numpy as np
import pytest
from liblinear import liblinear
from scipy.sparse import csr_array, csr_matrix

from kfeat.solvers import native as module
from kfeat.solvers.native import node_rows
from tests.solvers.problems import features


def read(rows, i):
    """Row i as the C code walks it: up to the node with index -1."""
    node = ctypes.cast(int(rows.pointers[i]), ctypes.POINTER(liblinear.feature_node))
    found = []
    while node[len(found)].index != -1:
        found.append((node[len(found)].index, node[len(found)].value))
    return found


def expected(X, i, bias, zeros):
    dense = X.toarray() if hasattr(X, "toarray") else X
    row = [(j + 1, float(v)) for j, v in enumerate(dense[i]) if zeros or v != 0]
    return row + ([] if bias is None else [(X.shape[1] + 1, bias)])


@pytest.mark.parametrize(("bias", "dtype"), [(None, np.float64), (0.0, np.float32), (1.5, np.float64)])
@pytest.mark.parametrize("density", [1.0, 0.95, 0.3, 0.0])
@pytest.mark.parametrize("make", [np.asarray, csr_array, csr_matrix])
def test_rows_are_what_was_put_in(make, density, dtype, bias, monkeypatch):
    monkeypatch.setattr(module, "BLOCK", 40)  # several blocks, and rows longer than some of them
    X = make(features(23, 17, density=density, dtype=dtype))
    rows = node_rows(X, bias)
    zeros = isinstance(X, np.ndarray) and density > module.LINEAR_BELOW
    assert [read(rows, i) for i in range(23)] == [expected(X, i, bias, zeros) for i in range(23)]


def test_stored_zeros_of_csr_stay_as_the_package_keeps_them():
    X = csr_array((np.array([0.0, 2.0]), np.array([0, 2]), np.array([0, 2])), shape=(1, 3))
    assert read(node_rows(X), 0) == [(1, 0.0), (3, 2.0)]


@pytest.mark.parametrize("density", [1.0, 0.3])
@pytest.mark.parametrize("make", [np.asarray, csr_array])
def test_memory_is_the_nodes_the_pointers_and_a_few_megabytes(make, density):
    X = make(features(10_000, 300, density=density, dtype=np.float32))
    stored = X.size if isinstance(X, np.ndarray) and density == 1 else np.count_nonzero(X.data)
    if isinstance(X, np.ndarray) and density < 1:
        stored = np.count_nonzero(X)
    tracemalloc.start()
    node_rows(X, 1.0)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak <= 16 * (stored + 2 * 10_000) + 8 * 10_000 + 8e6
