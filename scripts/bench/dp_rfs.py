"""The sketches of dp-rfs (Wacker et al., github.com/joneswack/dp-rfs, in PyTorch), where a copy is at hand.

DP_RFS names the folder of the copy, and PyTorch must be installed. Its Hadamard transform is a CUDA
extension that is not built here, so only the count sketches and the dense signs are compared, the former by
the quickest of its three ways to sketch on the data at hand.
"""

import os
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
from scipy.sparse import issparse

from scripts.bench.harness import side_by_side

WAYS = ("countsketch_scatter", "countsketch_sparse", "countsketch_dense")


def at_hand() -> bool:
    """Tell whether a copy of dp-rfs is named."""
    return "DP_RFS" in os.environ


def sketch(X: Any, n_components: int, degree: int, complex_real: bool, threads: int) -> Callable[[], object]:
    """Return the quickest count sketch of dp-rfs for (1 + <x, y>)^degree on these rows, as a candidate."""
    able = WAYS[:1] if complex_real else WAYS  # the other two do not run with complex signs
    ways = {way: candidate(X, n_components, degree, way, complex_real, threads) for way in able}
    seconds = side_by_side(ways, rounds=1)
    return ways[min(seconds, key=lambda way: seconds[way])]


def candidate(
    X: Any, n_components: int, degree: int, way: str, complex_real: bool, threads: int
) -> Callable[[], object]:
    """Return what maps the rows of X (dense or CSR, float32) by one projection type of dp-rfs."""
    torch, sketches = _imported()
    torch.set_num_threads(threads)
    torch.manual_seed(0)
    rows = torch.from_numpy(np.ascontiguousarray(X.toarray() if issparse(X) else X, dtype=np.float32))
    theirs = sketches.PolynomialSketch(
        rows.shape[1],
        n_components,
        degree=degree,
        bias=1.0,
        lengthscale=1.0,
        projection_type=way,
        complex_real=complex_real,
    )
    theirs.resample()

    def mapped() -> object:
        with torch.no_grad():
            return theirs.forward(rows)

    return mapped


def _imported() -> tuple[Any, Any]:
    """Return PyTorch and the module of dp-rfs's polynomial sketches."""
    if os.environ["DP_RFS"] not in sys.path:
        sys.path.insert(0, os.environ["DP_RFS"])
        extension: Any = ModuleType("util.hadamard_cuda.fwht")
        extension.FastWalshHadamardTransform = None
        sys.modules[extension.__name__] = extension
    import torch
    from random_features import polynomial_sketch

    return torch, polynomial_sketch
