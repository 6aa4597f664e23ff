"""Nystrom: exact in its limits, the published formula on a sample, and what it refuses."""

import numpy as np
import pytest
from numpy.exceptions import RankWarning
from scipy.linalg import eigh
from scipy.sparse import csr_array
from sklearn.datasets import load_digits
from sklearn.preprocessing import StandardScaler

from kfeat.errors import DataError, ParameterError
from kfeat.kernels import KERNELS, Gaussian, Polynomial, Sum
from kfeat.maps import Nystrom

ignore_rank = pytest.mark.filterwarnings("ignore::numpy.exceptions.RankWarning")

X = np.random.default_rng(0).random((60, 4)) / 2.5


@ignore_rank
@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("form", [np.asarray, csr_array])
def test_all_rows_as_landmarks_give_the_exact_kernel(name, form):
    kernel = KERNELS[name]()
    Z = Nystrom(kernel, n_components=60, random_state=0).fit_transform(form(X))
    np.testing.assert_allclose(Z @ Z.T, kernel(X), atol=1e-7)


def test_a_kernel_of_low_rank_is_exact_with_as_many_landmarks_and_needs_no_more_columns():
    kernel = Polynomial(2)  # of rank 10 on 4 features
    fitted = Nystrom(kernel, n_components=40, random_state=0)
    with pytest.warns(RankWarning, match="the kernel has the numerical rank 10 on the landmarks, 40 was ask"):
        fitted.fit(X)
    Z = fitted.transform(X)
    assert fitted.rank_ == 10
    assert Z.shape == (60, 10)
    np.testing.assert_allclose(Z @ Z.T, kernel(X), rtol=1e-8)


@pytest.mark.parametrize("rank", [None, 1, 7, 20])
def test_the_approximation_is_the_published_one(rank):
    kernel = Gaussian(3.0)
    fitted = Nystrom(kernel, n_components=20, rank=rank, random_state=0).fit(X)
    C, W = kernel(X, fitted.landmarks_), kernel(fitted.landmarks_)
    values, vectors = eigh(W)
    best = slice(None) if rank is None else slice(-rank, None)
    W_k = (vectors[:, best] * values[best]) @ vectors[:, best].T
    Z = fitted.transform(X)
    assert Z.shape == (60, rank or 20)
    np.testing.assert_allclose(Z @ Z.T, C @ np.linalg.pinv(W_k, hermitian=True) @ C.T, atol=1e-9)


def test_landmarks_are_rows_drawn_uniformly_without_replacement():
    counts = np.zeros(60)
    for seed in range(600):
        fitted = Nystrom(n_components=10, random_state=seed).fit(X)
        indices = fitted.landmark_indices_
        assert len(set(indices)) == 10
        np.testing.assert_array_equal(fitted.landmarks_, X[indices])
        counts[indices] += 1
    assert np.abs(counts - 100).max() < 4.5 * np.sqrt(600 * (1 / 6) * (5 / 6))


def test_given_landmarks_are_used():
    given = np.vstack([X[3:8], X[:1] + 0.1])
    fitted = Nystrom(landmarks=given).fit(X)
    np.testing.assert_array_equal(fitted.landmarks_, given)
    Z = fitted.transform(given)
    np.testing.assert_allclose(Z @ Z.T, Gaussian()(given), atol=1e-7)
    sparse = Nystrom(landmarks=csr_array(given)).fit(X).transform(X)
    np.testing.assert_allclose(sparse, fitted.transform(X), atol=1e-7)


@ignore_rank
def test_duplicate_landmarks_do_no_harm_in_single_precision():
    rows = np.repeat(np.random.default_rng(0).random((20, 30), dtype=np.float32), 3, axis=0)
    kernel = Sum([Gaussian(0.5), Polynomial(2, coef0=1.0)])
    Z = Nystrom(kernel, n_components=60, random_state=0).fit_transform(rows)
    assert Z.dtype == np.float32
    assert Z.shape[1] <= 20
    np.testing.assert_allclose(Z @ Z.T, kernel(rows), rtol=1e-4)


def digits():
    return StandardScaler().fit_transform(load_digits().data), Polynomial(4, gamma=0.02), 200


def clusters():
    """Rows in 26 clouds on 16 features, as letter has them: the kernel's eigenvalues fall quickly."""
    rng = np.random.default_rng(0)
    rows = 2 * rng.standard_normal((26, 16))[rng.integers(26, size=3000)] + rng.standard_normal((3000, 16))
    return rows, Gaussian("median"), 1000


@pytest.mark.parametrize("case", [digits, clusters])
def test_single_precision_keeps_every_direction_that_double_keeps(case):
    rows, kernel, c = case()
    rows = rows.astype(np.float32)
    errors = []
    for data in (rows, rows.astype(np.float64)):
        fitted = Nystrom(kernel, n_components=c, random_state=0).fit(data)
        Z = fitted.transform(data)
        assert Z.dtype == data.dtype
        assert Z.shape[1] == fitted.rank_ == c
        errors.append(fitted.diagnose(data, n_rows=600).relative_frobenius.value)
    assert errors[0] == pytest.approx(errors[1], rel=0.01)


def test_what_does_not_fit_is_refused():
    with pytest.raises(
        DataError, match=r"n_components=61 landmarks need as many rows, got n_samples=60: use fewer"
    ):
        Nystrom(n_components=61).fit(X)
    with pytest.raises(ParameterError, match="rank must be at most the number of landmarks, 5, got 6"):
        Nystrom(n_components=5, rank=6).fit(X)
    for landmarks, c in ((X[:5, :3], None), (X[:5], 6)):
        with pytest.raises(DataError, match=r"expected landmarks of shape .* got \(5, "):
            Nystrom(n_components=c, landmarks=landmarks).fit(X)
    with pytest.raises(ParameterError, match="landmarks"):
        Nystrom(landmarks="best").fit(X)
    with pytest.raises(DataError, match=r"Polynomial\(\) is 0 on all landmarks"):
        Nystrom(Polynomial(2)).fit(np.zeros((4, 2)))
