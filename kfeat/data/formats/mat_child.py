"""The child process that decodes .mat files: bytes on its standard input, a .npz on its standard output.

What it cannot read it tells as one line on standard error, with exit status 1.
"""

import io
import sys
from typing import Any

import numpy as np

from kfeat.data.models import MOST_SIDE
from kfeat.errors import DataError
from kfeat.saying import printable

NUMERIC = {"double", "single", "sparse", "logical"} | {
    f"{u}int{bits}" for u in ("", "u") for bits in (8, 16, 32, 64)
}


def main(names: list[str], transposed: bool) -> None:
    """Decode what comes in, and end the process."""
    try:
        arrays = decoded(sys.stdin.buffer.read(), names, transposed)
    # SciPy's reader raises anything at all on damaged bytes.
    except Exception as error:
        reason = printable(error) or type(error).__name__
        sys.exit(reason if isinstance(error, DataError) else f"cannot be read as mat ({reason})")
    np.savez(sys.stdout.buffer, **arrays)


def decoded(stored: bytes, names: list[str], transposed: bool) -> dict[str, Any]:
    """Return the named matrices by their place among the names, sparse ones as their CSR arrays."""
    from scipy.io import loadmat, whosmat

    file = io.BytesIO(stored)
    try:
        kinds = {name: kind for name, _, kind in whosmat(file) if name in names}
    except NotImplementedError:
        raise DataError("expected MATLAB version 7 or earlier, got 7.3; save it with -v7") from None
    for name, kind in kinds.items():
        if kind not in NUMERIC:
            raise DataError(f"expected {name} to be a numeric matrix, got a {kind} array")
    file.seek(0)
    found = loadmat(file, variable_names=sorted(kinds)) if kinds else {}
    packed: dict[str, Any] = {}
    for name in kinds:
        packed |= packed_matrix(found[name], str(names.index(name)), transposed)
    return packed


def packed_matrix(X: Any, place: str, transposed: bool) -> dict[str, Any]:
    """Return one matrix under its place, turned where samples are columns."""
    from scipy.sparse import csr_array, issparse

    if not issparse(X):
        return {place: X.T if transposed else X}
    if max(X.shape) > MOST_SIDE:
        raise DataError(f"expected {MOST_SIDE:,} rows and columns at most, got {X.shape}")
    # The conversion to CSR trusts the indices in the file, and crashes on wrong ones.
    X.check_format(full_check=True)
    rows = csr_array(X.T if transposed else X)
    return {
        f"{place}.data": rows.data,
        f"{place}.indices": rows.indices,
        f"{place}.indptr": rows.indptr,
        f"{place}.shape": np.array(rows.shape),
    }
