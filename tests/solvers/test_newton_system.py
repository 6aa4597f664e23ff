import numpy as np
import pytest
from scipy.linalg import LinAlgError, cho_solve

from kfeat.solvers.newton_system import cholesky


@pytest.mark.parametrize("block", [1, 7, 16, 40, 64])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_blocks_of_any_size_give_the_factor_of_the_whole(block, dtype):
    A = np.random.default_rng(0).standard_normal((40, 40)).astype(dtype)
    A = A @ A.T + np.eye(40, dtype=dtype)
    factor, lower = cholesky(A.copy(), block)
    eps = 100 * np.finfo(dtype).eps
    assert not lower
    np.testing.assert_allclose(np.triu(factor).T @ np.triu(factor), A, rtol=eps, atol=eps * abs(A).max())
    b = np.arange(40.0)
    np.testing.assert_allclose(A @ cho_solve((factor, lower), b), b, atol=1e4 * eps)


@pytest.mark.parametrize("block", [2, 8])
def test_what_is_not_positive_definite_is_refused(block):
    A = np.eye(5)
    A[4, 4] = -1.0
    with pytest.raises(LinAlgError):
        cholesky(A, block)


@pytest.mark.slow
def test_a_matrix_at_which_openblas_ends_the_process():
    """With two threads on AVX-512 OpenBLAS writes beyond its buffer from 16,384 rows on."""
    n = 16_500
    x = np.linspace(0, 1, n)
    A = np.exp(-np.abs(x[:, None] - x))
    A[np.diag_indices(n)] += 1
    b = A @ x
    assert np.abs(cho_solve(cholesky(A), b) - x).max() < 1e-9
