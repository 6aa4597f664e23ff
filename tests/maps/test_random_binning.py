"""Random binning: the law of its features, and their equality over forms of rows, blocks and threads."""

import pickle

import numpy as np
import pytest
from scipy.sparse import csr_array

from kfeat.errors import DataError, ParameterError
from kfeat.kernels import Laplacian, Sum
from kfeat.maps import RandomBinning, RandomFourier, Stacked, grids, random_binning

KERNEL = Laplacian(gamma=0.7)
R = 20_000
BOUND = 4.5  # of the largest |z| of 45 pairs: a false alarm in 3,000 draws


@pytest.fixture(name="X", scope="module")
def rows_of_several_kinds():
    """Rows with zeros, an indicator, a constant, whole numbers and a far value, which float32 holds."""
    rng = np.random.default_rng(0)
    X = rng.random((300, 6)) * (rng.random((300, 6)) < 0.6)
    X[:, 3], X[:, 4], X[:, 5] = rng.integers(2, size=300), 2.5, rng.integers(4, size=300)
    X[0, 0] = 40.0
    return X.astype(np.float32).astype(float)


@pytest.fixture(name="pairs", scope="module")
def few_rows():
    return np.random.default_rng(3).random((10, 3)) * 1.5


def largest_z(shared, X, n_components=R):
    """Return the largest |z| over pairs of rows whose share of common cells should be binomial."""
    at = np.triu_indices(len(X), 1)
    k = KERNEL(X)[at]
    return np.abs((shared[at] - k) / np.sqrt(k * (1 - k) / n_components)).max()


@pytest.mark.parametrize("form", [np.asarray, csr_array])
def test_the_number_of_shared_cells_is_binomial(form, pairs):
    Z = RandomBinning(KERNEL, R, random_state=0).fit_transform(form(pairs))
    assert largest_z((Z @ Z.T).toarray(), pairs) < BOUND


def test_the_variance_is_that_of_a_mean_of_draws():
    """The relative deviation of the variance of 400 maps is sqrt(2 / 400), and four of it are allowed."""
    X = np.array([[0.0, 0.0], [0.5, 0.4]])
    maps = (RandomBinning(KERNEL, 50, random_state=seed).fit_transform(X) for seed in range(400))
    k = KERNEL(X)[0, 1]
    assert np.var([(Z @ Z.T)[0, 1] for Z in maps]) == pytest.approx(k * (1 - k) / 50, rel=0.28)


def gamma_widths(shape, scale=1.0):
    return lambda m: 1 / (scale * np.random.default_rng(1).gamma(shape, 1 / KERNEL.gamma, m.shifts_.shape))


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        ("shifts_", lambda m: np.repeat(m.shifts_[:, :1], 3, axis=1)),
        ("inverse_widths_", gamma_widths(1.0)),
        ("inverse_widths_", gamma_widths(2.0, 1.1)),
        ("multipliers_", lambda m: m.multipliers_ * [1, 0, 1]),
    ],
    ids=["one shift for all features", "widths of Gamma(1)", "wide by a tenth", "a lost feature"],
)
def test_the_law_shows_a_fault(name, fault, pairs):
    m = RandomBinning(KERNEL, R, random_state=0).fit(pairs)
    m.multipliers_ = np.floor(m.multipliers_ / 2**12)  # leaves room for narrower bins
    setattr(m, name, fault(m))
    codes = m._grids(slice(None)).codes(pairs)  # features would be those of the bins that `fit` met
    shared = (codes[:, :, None] == codes[:, None, :]).mean(axis=0)
    assert largest_z(shared, pairs) > 2 * BOUND


def test_cells_are_those_of_the_formula(X):
    """Two rows share a column if all floor(x / w + s) agree, whatever way computes them."""
    m = RandomBinning(KERNEL, 30, random_state=0)
    Z = m.fit_transform(X)
    bins = np.floor(X[:, None] * m.inverse_widths_ + m.shifts_)
    expected = (bins[:, None] == bins[None]).all(axis=3).mean(axis=2)
    np.testing.assert_allclose((Z @ Z.T).toarray(), expected, atol=1e-12)
    assert Z.shape == (300, m.first_[-1])
    assert m.first_[-1] == sum(len(np.unique(bins[:, g], axis=0)) for g in range(30))


@pytest.mark.parametrize("n_columns", [None, 512])
def test_forms_blocks_threads_and_precision_change_nothing(n_columns, X, monkeypatch):
    def features(rows, fit=True, **parameters):
        m = RandomBinning(KERNEL, 40, n_columns=n_columns, random_state=0, **parameters)
        Z = m.fit_transform(rows) if fit else m.fit(rows).transform(rows)
        return Z.astype(np.float64).toarray()

    expected = features(X)
    assert expected.any()
    for rows in (X, csr_array(X)):
        np.testing.assert_array_equal(features(rows), expected)
        np.testing.assert_array_equal(features(rows, fit=False, n_jobs=2), expected)
    np.testing.assert_allclose(features(X.astype(np.float32)), expected, rtol=1e-7)
    monkeypatch.setattr(grids, "BLOCK", 7)
    monkeypatch.setattr(grids, "COLUMNS", 2)
    monkeypatch.setattr(random_binning, "TRANSPOSED", 11)
    for rows in (X, csr_array(X)):
        np.testing.assert_array_equal(features(rows), expected)


def test_a_cell_without_training_rows_has_no_column(X):
    m = RandomBinning(KERNEL, 50, random_state=0).fit(X[:100])
    for rows in (X[100:], X[100:] + 1e9, X[100:] - 1e300):
        bins, known = (np.floor(part[:, None] * m.inverse_widths_ + m.shifts_) for part in (rows, X[:100]))
        expected = [
            sum((bins[i, g] == known[:, g]).all(axis=1).any() for g in range(50)) for i in range(len(rows))
        ]
        for form in (rows, csr_array(rows)):
            np.testing.assert_array_equal(np.diff(m.transform(form).indptr), expected)


def test_hashed_columns_are_unbiased_for_new_rows_too(pairs):
    """512 columns add about 1 / 512 to the variance of k (1 - k) / 100; over 200 seeds |z| < 4.5."""
    at = np.triu_indices(10, 1)
    k, estimates = KERNEL(pairs)[at], []
    for seed in range(200):
        m = RandomBinning(KERNEL, 100, n_columns=512, random_state=seed).fit(pairs + 3)
        Z = m.transform(pairs)
        assert Z.shape == (10, 512)
        estimates.append((Z @ Z.T).toarray()[at])
    variance = k * (1 - k) / 100 + 1 / 512
    assert np.abs((np.mean(estimates, axis=0) - k) / np.sqrt(variance / 200)).max() < 4.5
    assert np.var(estimates, axis=0).mean() == pytest.approx(variance.mean(), rel=0.15)


def test_a_single_row_has_a_hashed_column_of_either_sign():
    signs = {
        RandomBinning(KERNEL, 1, n_columns=8, random_state=seed).fit_transform([[0.5]]).sum()
        for seed in range(20)
    }
    assert signs == {-1.0, 1.0}


def test_a_pickle_maps_alike(X):
    m = RandomBinning(KERNEL, 20, random_state=0).fit(X)
    expected = m.transform(X)
    again = pickle.loads(pickle.dumps(m))
    assert (again.transform(X) != expected).nnz == 0


@pytest.mark.parametrize(
    ("gamma", "sentence"),
    [(1e-9, "all rows share all cells: raise gamma"), (1e4, "alone in its cells: lower gamma")],
)
def test_a_gamma_that_tells_nothing_is_named(gamma, sentence, X):
    with pytest.warns(UserWarning, match=sentence):
        RandomBinning(Laplacian(gamma), 20, random_state=0).fit(np.random.default_rng(0).random((50, 3)))


def test_rows_of_too_many_bins_are_refused():
    X = np.array([[0.0, 1.0], [1.0, 1e15]])
    with pytest.raises(DataError, match=r"feature 1 reaches from .* to .*e\+15, which is too many bins"):
        RandomBinning(KERNEL, 20, random_state=0).fit(X)
    m = RandomBinning(KERNEL, 20, n_columns=64, random_state=0).fit(X[:, :1])
    with pytest.raises(DataError, match="too many bins to tell apart: scale the columns, or lower gamma"):
        m.transform(X[:, 1:])


def test_what_needs_dense_features_is_refused_in_a_sentence(X):
    m = RandomBinning(KERNEL, 20, random_state=0).fit(X)
    with pytest.raises(ParameterError, match="sparse and cannot be written to `out`"):
        m.transform(X, out=np.empty((300, m.first_[-1])))
    both = Stacked(Sum([Laplacian(), Laplacian()]), [RandomBinning(), RandomFourier()])
    with pytest.raises(ParameterError, match="sparse and cannot stand beside"):
        both.fit_transform(X)


def test_more_cells_than_memory_are_refused_with_the_bytes(X, monkeypatch):
    monkeypatch.setattr("kfeat.memory.available_memory", lambda: 100_000)
    with pytest.raises(
        ParameterError, match=r"300 rows in 500 grids takes 1,800,000 bytes, 100,000 are free"
    ):
        RandomBinning(KERNEL, 500, random_state=0).fit(X)


def test_weights_within_cells_cost_more_variance_than_random_fourier_features_have():
    # The widths of weighted binning (Kapralov et al. 2020) are Gamma(2, 1), its weights a tent whose square
    # has the integral 1. All laws are products over the columns, of means over the widths.
    at, d = np.linspace(-0.5, 0.5, 401), 8
    shifts, widths = np.linspace(0, 1, 101), np.random.default_rng(0).gamma(2.0, 1.0, 1000)

    def tent(u):
        return np.sqrt(3) * np.maximum(1 - 2 * np.abs(u), 0)

    def law(power, distances):
        overlap = [np.trapezoid(tent(at) ** power * tent(at + shift) ** power, at) for shift in shifts]
        grid = np.linspace(0, distances.max(), 300)
        of_one = np.interp(grid[:, None] / widths, shifts, overlap, right=0).mean(axis=1)
        return np.interp(distances, grid, of_one).prod(axis=-1)

    X = np.random.default_rng(1).standard_normal((2, 2000, d))
    for bandwidth in (0.1, 0.15):
        distances = bandwidth * np.abs(X[0] - X[1])
        k, twice = law(1, distances), law(1, 2 * distances)
        assert 0.1 < np.median(k) < 0.7
        weighted, fourier = law(2, distances) - k**2, (1 + twice) / 2 - k**2
        assert weighted.mean() > 20 * fourier.mean()
    assert law(2, np.zeros((1, d)) + 1e-9) == pytest.approx(1.8**d, rel=1e-3)
