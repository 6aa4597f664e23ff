"""Nystrom: exact in its limits, the published formula on a sample, and what it refuses."""

import itertools

import numpy as np
import pytest
from numpy.exceptions import RankWarning
from scipy.linalg import eigh
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.model_selection import HalvingGridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from kfeat.errors import DataError, ParameterError
from kfeat.experiments.component import Component
from kfeat.kernels import KERNELS, Gaussian, Kernel, Polynomial
from kfeat.kernels.operands import as_operand
from kfeat.maps import Nystrom
from kfeat.maps.landmarks import RULES
from kfeat.maps.nystrom import ROUNDING
from kfeat.solvers import Newton

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
    with pytest.warns(
        RankWarning, match="the numerical rank 10 on the landmarks instead of the requested 40"
    ):
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
    counts, rng = np.zeros(60), np.random.default_rng(0)
    for _ in range(600):
        indices = RULES["uniform"](Gaussian(), X, 10, rng)
        assert len(set(indices)) == 10
        counts[indices] += 1
    assert np.abs(counts - 100).max() < 4.5 * np.sqrt(600 * (1 / 6) * (5 / 6))


def test_uniform_is_the_default_under_both_of_its_names():
    drawn = np.sort(np.random.default_rng(5).choice(60, size=10, replace=False))
    for given in ({}, {"landmarks": "uniform"}, {"landmarks": None}):
        fitted = Nystrom(n_components=10, random_state=5, **given).fit(X)
        np.testing.assert_array_equal(fitted.landmark_indices_, drawn)
        np.testing.assert_array_equal(fitted.landmarks_, X[drawn])
    components = [Component.of("nystrom", Nystrom, given) for given in ({}, {"landmarks": None})]
    assert components[0].identity() == components[1].identity() == {"name": "nystrom", "version": 3}


def test_given_landmarks_are_used():
    given = np.vstack([X[3:8], X[:1] + 0.1])
    fitted = Nystrom(landmarks=given).fit(X)
    np.testing.assert_array_equal(fitted.landmarks_, given)
    Z = fitted.transform(given)
    np.testing.assert_allclose(Z @ Z.T, Gaussian()(given), atol=1e-7)
    sparse = Nystrom(landmarks=csr_array(given)).fit(X).transform(X)
    np.testing.assert_allclose(sparse, fitted.transform(X), atol=1e-7)


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_values_against_prepared_rows_are_the_kernels(name, dtype):
    kernel = KERNELS[name]()
    rows = np.random.default_rng(0).random((90, 60)) * (np.random.default_rng(1).random((90, 60)) < 0.03) / 2
    for data in (rows, X):
        data = data.astype(dtype)
        for block, given in itertools.product(
            (data[:40], csr_array(data[:40])), (data[30:], csr_array(data[30:]))
        ):
            values = kernel.against(given)(block)
            assert values.dtype == dtype
            np.testing.assert_allclose(values, kernel(block, given), rtol=8 * np.finfo(dtype).eps)


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


def single_and_double(kernel, rows, c):
    """Return a map fitted to half of the rows, and how far float32 moves its kernel on the others."""
    rows = rows.astype(np.float32)
    fitted = Nystrom(kernel, c, random_state=0).fit(rows[: len(rows) // 2])
    new = rows[len(rows) // 2 :]
    grams = [Z @ Z.T for Z in (fitted.transform(new.astype(t)).astype(float) for t in (np.float32, float))]
    return fitted, np.abs(grams[0] - grams[1]).max() / grams[1].max()


@ignore_rank
@pytest.mark.parametrize("d", [2, 5, 100])
@pytest.mark.parametrize("name", KERNELS)
def test_single_precision_moves_no_kernel_value_by_more_than_it_says(d, name):
    rng = np.random.default_rng(7)
    for rows in (rng.random((300, d)), rng.standard_normal((300, d)), rng.random((300, d)).round()):
        rows = rows / np.linalg.norm(rows, axis=1).max() * 0.99
        for c in (20, 100):
            assert single_and_double(KERNELS[name](), rows, c)[1] < ROUNDING


@ignore_rank
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("rank", [None, 61, 7])
def test_with_fewer_rows_than_components_all_rows_are_landmarks(rule, rank):
    more = Nystrom(n_components=61, rank=rank, landmarks=rule, random_state=0)
    all_rows = clone(more).set_params(n_components=60, rank=rank and min(rank, 60))
    with pytest.warns(
        UserWarning, match="n_components=61 landmarks need as many rows, got n_samples=60"
    ) as told:
        more.fit(X)
    assert told[0].filename == __file__
    assert np.array_equal(more.transform(X), all_rows.fit_transform(X))


def test_a_halving_search_begins_with_fewer_rows_than_components():
    y = X[:, 0] > np.median(X[:, 0])
    search = HalvingGridSearchCV(
        make_pipeline(Nystrom(Gaussian(), n_components=30, random_state=0), Newton()),
        {"newton__C": [0.1, 1.0, 10.0]},
        min_resources=12,
        cv=2,
        random_state=0,
    )
    with pytest.warns(UserWarning, match="landmarks need as many rows"):
        search.fit(X, y)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()


def test_what_does_not_fit_is_refused():
    with pytest.raises(ParameterError, match="rank must be at most the number of landmarks, 5, got 6"):
        Nystrom(n_components=5, rank=6).fit(X)
    for landmarks, c in ((X[:5, :3], None), (X[:5], 6)):
        with pytest.raises(DataError, match=r"expected landmarks of shape .* got \(5, "):
            Nystrom(n_components=c, landmarks=landmarks).fit(X)
    with pytest.raises(DataError, match=r"expected landmarks of shape \(any, 4\) .* got \(4,\)"):
        Nystrom(landmarks=X[0]).fit(X)
    for bad in (0, -3):
        with pytest.raises(ParameterError, match=r"Nystrom: n_components: expected at least 1"):
            Nystrom(n_components=bad).fit(X)
    for bad, near in (("kmeans", r"\(did you mean 'kmeans\+\+'\?\)"), ("best", ""), ([[1.0]], "")):
        with pytest.raises(
            ParameterError, match=r"landmarks: expected rows as .* one of uniform, kmeans\+\+, lev.*" + near
        ):
            Nystrom(landmarks=bad).fit(X)
    with pytest.raises(DataError, match=r"Polynomial\(\) is 0 on all landmarks"):
        Nystrom(Polynomial(2)).fit(np.zeros((4, 2)))


@ignore_rank
def test_precision_follows_the_conditioning():
    rng = np.random.default_rng(0)
    good, loss = single_and_double(Gaussian(1.0), rng.random((600, 50)), 100)
    assert good.precision_ == np.float32
    assert 1e-8 < loss < ROUNDING
    smooth, loss = single_and_double(Gaussian(0.1), rng.random((600, 3)), 100)
    assert smooth.precision_ == np.float64
    assert loss < 2e-7
    smooth.precision_ = np.dtype(np.float32)  # the planted fault: single precision all the same
    Z = smooth.transform(rng.random((300, 3), dtype=np.float32)).astype(float)
    assert np.abs((Z**2).sum(axis=1) - 1).max() > 10 * ROUNDING


def test_values_beyond_single_precision_are_computed_in_double():
    rows = np.float32(1e6) * np.random.default_rng(0).random((50, 8), dtype=np.float32)
    fitted = Nystrom(Polynomial(4), 10, random_state=0).fit(rows)
    assert fitted.precision_ == np.float64
    Z = fitted.transform(rows[fitted.landmark_indices_]).astype(float)
    np.testing.assert_allclose(
        Z @ Z.T, Polynomial(4)(rows.astype(float)[fitted.landmark_indices_]), rtol=1e-4
    )


def test_nystrom_takes_a_kernel_of_ones_own():
    class Intersection(Kernel):
        formula = "sum min(x, y)"

        def _tile(self, X, Y):
            return np.minimum(X[:, None, :], Y[None, :, :]).sum(axis=2)

        def diagonal(self, X):
            return as_operand(X).sum(axis=1)

    Z = Nystrom(Intersection(), n_components=60).fit_transform(X)
    np.testing.assert_allclose(Z @ Z.T, Intersection()(X), atol=1e-6)
