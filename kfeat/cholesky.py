"""Cholesky factors of any size.

OpenBLAS can crash in a threaded Cholesky factorisation of a large matrix in double precision. With two
threads and AVX-512 it writes beyond its buffer at 16,384 rows but not at 14,500 (0.3.30 and 0.3.31; OpenBLAS
issue 2562). Large matrices are therefore factored in blocks here.
"""

from typing import Any

from numpy.typing import NDArray
from scipy.linalg import cho_factor, solve_triangular

BLOCK = 8192  # rows


def cholesky(A: NDArray[Any], block: int = BLOCK) -> tuple[NDArray[Any], bool]:
    """Return the factor of a positive definite A (n, n) in C order, which it overwrites, for `cho_solve`.

    A = L L' with blocks L_kk = chol(A_kk) and L_jk = A_jk L_kk'^-1; the remaining blocks become
    A_ij - L_ik L_jk' (Golub & Van Loan, Matrix Computations, section 4.2.9). Raises LinAlgError where A is
    not positive definite.
    """
    n = len(A)
    if n <= block:  # A.T: LAPACK's order, so that nothing is copied
        return cho_factor(A.T, overwrite_a=True, check_finite=False)
    for start in range(0, n, block):
        stop = start + block
        L = A[start:stop, start:stop]
        L[:] = cho_factor(L, lower=True, check_finite=False)[0]
        below = A[stop:, start:stop]
        if len(below):
            below[:] = solve_triangular(L, below.T, lower=True, check_finite=False).T
        for i in range(stop, n, block):
            rows = slice(i, i + block)
            A[rows, stop : i + block] -= A[rows, start:stop] @ A[stop : i + block, start:stop].T
    return A.T, False
