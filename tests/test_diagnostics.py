"""The diagnosis of a map: known faults found, its errors as defined, and intervals that cover."""

import tracemalloc

import numpy as np
import pytest
from scipy.sparse import coo_array, csr_array, random_array

from kfeat.diagnostics import ColumnCounter
from kfeat.errors import DataError
from kfeat.kernels import Exponential, Gaussian, Linear, Polynomial
from kfeat.maps import Nystrom, RandomFourier, RandomMaclaurin, TensorSketch, column_counts


def rows(n, d=6, seed=0):
    return np.random.default_rng(seed).standard_normal((n, d)) / np.sqrt(d)


def test_errors_are_what_their_definitions_say():
    X = rows(40)
    fitted = TensorSketch(Polynomial(2, coef0=0.5), 64, random_state=0).fit(X)
    found, Z, K = fitted.diagnose(X), fitted.transform(X), fitted.kernel_(X)
    pairs = [(Z[i] @ Z[j] - K[i, j], K[i, j]) for i in range(40) for j in range(40) if i != j]
    e, k = np.array(pairs).T
    assert found.relative_frobenius.value == pytest.approx(np.sqrt((e**2).sum() / (k**2).sum()))
    assert found.mean_absolute.value == pytest.approx(np.abs(e).mean())
    assert found.mean_relative.value == pytest.approx(np.abs(e / k).mean())
    assert found.maximum == pytest.approx(np.abs(e).max())
    norm = np.linalg.norm(Z @ Z.T - K, 2) / np.linalg.norm(K, 2)
    assert found.relative_spectral == pytest.approx(norm, rel=1e-6)
    for estimate in (found.relative_frobenius, found.mean_absolute, found.mean_relative):
        assert estimate.low == estimate.value == estimate.high  # all rows were seen


@pytest.mark.parametrize(("scale", "grows"), [(2.0**-200, 2), (2.0**200, 2), (2.0**500, 2)])
def test_errors_of_large_and_small_kernel_values_are_those_of_ordinary_ones(scale, grows):
    X = rows(40)
    near, far = (
        RandomMaclaurin(Linear(), 64, random_state=0).fit(data).diagnose(data, 30) for data in (X, scale * X)
    )
    for name in ("relative_frobenius", "mean_relative"):
        assert vars(getattr(far, name)) == pytest.approx(vars(getattr(near, name)), rel=1e-9)
    assert far.relative_spectral == pytest.approx(near.relative_spectral)
    assert far.effective_rank == pytest.approx(near.effective_rank)
    assert far.maximum == pytest.approx(scale**2 * near.maximum)
    assert far.mean_absolute.high == pytest.approx(scale**2 * near.mean_absolute.high)


def test_features_whose_products_overflow_are_refused():
    X = 1e160 * rows(40)
    with pytest.raises(DataError, match="inner products of features are not finite in float64"):
        RandomMaclaurin(Linear(), 64, random_state=0).fit(X).diagnose(X)


def test_columns_that_carry_nothing_are_counted():
    class Spoilt(RandomFourier):
        def transform(self, X, out=None):
            Z = super().transform(X)
            Z[:, 0], Z[:, 1:3], Z[:, 3], Z[:, 9] = 0, 0.5, Z[:, 7], -0.0
            return Z

    X = rows(50)
    found = Spoilt(Gaussian(), 20, random_state=0).fit(X).diagnose(X)
    assert (found.zero, found.constant, found.duplicate, found.n_columns) == (2, 2, 1, 20)
    assert column_counts(np.zeros((4, 3))) == (0, 3, 0)


@pytest.mark.parametrize("form", [csr_array, coo_array])
def test_sparse_features_are_counted_as_dense_ones(form):
    rng = np.random.default_rng(0)
    for _ in range(50):
        Z = rng.integers(-1, 2, (rng.integers(1, 5), 30)).astype(float)
        Z[:, :5], Z[:, 5:9] = 0.5, 0
        dense, sparse = ColumnCounter(), ColumnCounter()
        for block in (Z[:1], Z):
            dense.see(block)
            sparse.see(form(block))
        assert sparse.counts() == dense.counts() == column_counts(form(Z))


def test_stored_zeros_and_entries_in_two_parts_are_numbers_like_others():
    stored = csr_array((np.array([0.0, 1.0, 0.5, 0.5]), np.array([0, 1, 1, 1]), np.array([0, 2, 4])))
    assert column_counts(stored) == (0, 1, 1)


def test_a_million_sparse_columns_are_counted_without_a_dense_array():
    Z = random_array((1024, 10**6), density=1e-5, format="csr", rng=np.random.default_rng(0))
    tracemalloc.start()
    counts = column_counts(Z)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert counts.live == len(np.unique(Z.indices))
    assert counts.zero == 10**6 - counts.live
    assert peak < 10**8  # some vectors of 8 MB; a dense array of these rows takes 8 GB


def test_effective_rank_counts_the_directions_in_use():
    X = np.vstack([np.eye(5)] * 4)
    linear = Nystrom(Polynomial(1), landmarks=np.eye(5)).fit(X)
    assert linear.diagnose(X).effective_rank == pytest.approx(5)
    assert linear.diagnose(X[[0, 5, 10, 15]]).effective_rank == pytest.approx(1)


def test_a_map_without_its_constant_is_held_against_the_kernel_without_it():
    X = rows(200)
    fitted = RandomMaclaurin(
        Exponential(1.0), 20_000, degree_law="truncated", h01=True, constant=False, random_state=0
    ).fit(X)
    found = fitted.diagnose(X)
    assert found.offset == 1
    assert found.mean_absolute.value < 0.05


def test_intervals_from_a_sample_cover_the_value_on_all_rows():
    X = np.abs(rows(800))
    fitted = TensorSketch(Polynomial(2, coef0=0.5), 200, random_state=0).fit(X)
    whole = fitted.diagnose(X, n_rows=800)
    samples = [fitted.diagnose(X, n_rows=100, random_state=s) for s in range(100)]
    for name in ("relative_frobenius", "mean_absolute", "mean_relative"):
        truth = getattr(whole, name).value
        estimates = [getattr(sample, name) for sample in samples]
        # Of 100; fewer with probability 0.01 at a coverage of 93 %, and an interval half as wide fails.
        assert sum(e.low <= truth <= e.high for e in estimates) >= 87
        assert sum(abs(e.value - truth) <= (e.high - e.value) / 2 for e in estimates) < 87
        assert max(e.high - e.low for e in estimates) < truth  # and they say something


def test_a_zero_kernel_and_too_few_rows():
    X = np.zeros((5, 3))
    found = TensorSketch(Polynomial(2), 4, random_state=0).fit(X).diagnose(X)
    assert np.isnan(found.mean_relative.value)
    assert (found.zero, found.effective_rank, found.maximum) == (4, 0, 0)
    with pytest.raises(ValueError, match="at least 3 rows, got n_rows=1000 of n_samples=2"):
        TensorSketch().fit(X).diagnose(X[:2])
