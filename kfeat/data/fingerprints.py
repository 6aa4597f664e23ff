"""The fingerprint of a dataset: a hash of its numbers, whatever holds them."""

import hashlib
import json
from collections.abc import Mapping

import numpy as np

from kfeat.data.matrix import Matrix, Part, holds_strings

DIGEST_ROWS = 4096  # rows made sparse together for the fingerprint


def fingerprint_of(parts: Mapping[str, Part], label_names: tuple[str, ...] = ()) -> str:
    """Return the SHA-256 over the parts' shapes, labels and non-zero values, in hexadecimal.

    Per part ("train" before "test"): name, n, d, then hashes of the labels (float64), of the non-zeros per
    row (int64), their columns (int64) and their values (float64), row by row, little-endian. Dense arrays and
    CSR with the same numbers give the same fingerprint, whatever their dtypes; -0.0 counts as 0.
    """
    total = hashlib.sha256(b"kfeat dataset 1\n")
    total.update("\n".join(label_names).encode() + b"\n")
    for name in ("train", "test"):
        if name in parts:
            X, y = parts[name].X, parts[name].y
            total.update(f"{name} {X.shape[0]} {X.shape[1]}\n".encode())
            total.update(hashlib.sha256((y.astype("<f8") + 0.0).tobytes()).digest())
            total.update(matrix_digest(X))
    return total.hexdigest()


def matrix_digest(X: Matrix) -> bytes:
    """Return the three digests of a matrix's non-zeros: counts per row, columns, values; of strings, one."""
    from scipy.sparse import csr_array
    from sklearn.utils import gen_batches

    if holds_strings(X):
        return hashlib.sha256(json.dumps(X.tolist()).encode()).digest()
    counts, columns, values = hashlib.sha256(), hashlib.sha256(), hashlib.sha256()
    for batch in gen_batches(X.shape[0], DIGEST_ROWS):
        block = csr_array(X[batch], copy=True)
        block.sum_duplicates()
        block.eliminate_zeros()
        counts.update(np.diff(block.indptr).astype("<i8").tobytes())
        columns.update(block.indices.astype("<i8").tobytes())
        values.update(block.data.astype("<f8").tobytes())
    return counts.digest() + columns.digest() + values.digest()
