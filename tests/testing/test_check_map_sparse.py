"""check_map on random binning: a foreign map with CSR features, whose columns depend on the rows of `fit`."""

import importlib
import tracemalloc
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator, TransformerMixin

from kfeat.kernels import Laplacian
from kfeat.testing import check_map

KERNEL = Laplacian(0.5)
module = importlib.import_module("kfeat.testing.check_map")


class Binning(TransformerMixin, BaseEstimator):
    """Random binning (Rahimi & Recht 2007, Algorithm 2) of exp(-gamma ||x - y||_1); unseen bins are dropped.

    Each of R = n_components grids has widths Gamma(2, 1 / gamma), and shifts that are uniform in the width.
    """

    shape = 2.0

    def __init__(self, n_components=50, gamma=0.5, random_state=None):
        self.n_components, self.gamma, self.random_state = n_components, gamma, random_state

    def fit(self, X, y=None):
        rng, size = np.random.default_rng(self.random_state), (self.n_components, 1, X.shape[1])
        self.widths_ = rng.gamma(self.shape, 1 / self.gamma, size)
        self.shifts_ = self.draw_shifts(rng, size) * self.widths_
        self.hashes_ = 2 * rng.integers(2**62, size=size) + 1
        self.bins_ = np.unique(self.hashed(X))
        return self

    def draw_shifts(self, rng, size):
        return rng.random(size)

    def hashed(self, X):
        """Return a number for the bin of each row in each grid, shape (R, n)."""
        cells = np.floor((X[None] - self.shifts_) / self.widths_).astype(np.int64)
        return (cells * self.hashes_).sum(axis=2) + np.arange(self.n_components)[:, None]

    def transform(self, X):
        bins = self.hashed(X).T
        columns = np.searchsorted(self.bins_, bins).clip(max=len(self.bins_) - 1)
        seen = self.bins_[columns] == bins
        starts = np.append(0, seen.sum(axis=1).cumsum())
        data = np.full(seen.sum(), 1 / np.sqrt(self.n_components))
        return csr_array((data, columns[seen], starts), shape=(len(X), len(self.bins_)))


class OneShift(Binning):
    """The share of the width by which a grid is shifted is the same for all its coordinates."""

    def draw_shifts(self, rng, size):
        return np.broadcast_to(rng.random((*size[:2], 1)), size)


class OneShiftForAllGrids(Binning):
    def draw_shifts(self, rng, size):
        return np.broadcast_to(rng.random((1, *size[1:])), size)


class NoShift(Binning):
    def draw_shifts(self, rng, size):
        return np.zeros(size)


class Exponential(Binning):
    shape = 1.0


class LostColumn(Binning):
    def transform(self, X):
        return super().transform(X)[:, 1:]


class LostBin(Binning):
    def fit(self, X, y=None):
        super().fit(X)
        self.bins_ = self.bins_[:-1]
        return self


class Louder(Binning):
    def transform(self, X):
        return np.sqrt(1.05) * super().transform(X)


class OneSeed(Binning):
    def fit(self, X, y=None):
        return self.set_params(random_state=0) and super().fit(X)


def test_it_passes_and_its_features_stay_sparse(monkeypatch):
    monkeypatch.setattr(csr_array, "toarray", refuse_wide(csr_array.toarray))
    report = check_map(Binning(), KERNEL)
    assert report.passed, str(report)
    checks = {check.promise: check for check in report.checks}
    assert checks["unbiased"].held
    assert checks["variance of order 1 / D"].held
    open_ = [check.promise for check in report.checks if check.held is None]
    assert open_ == ["unbiased over all draws", "sparse rows as dense ones"]  # gamma draws; dense rows alone


def refuse_wide(toarray):
    def checked(self, *arguments, **options):
        assert self.shape[1] <= 600, "features were made dense"
        return toarray(self, *arguments, **options)

    return checked


@pytest.mark.parametrize(
    "faulty", [OneShift, NoShift, Exponential, LostColumn, LostBin, Louder], ids=lambda cls: cls.__name__
)
def test_a_planted_fault_is_found_by_its_bias(faulty):
    check = check_map(faulty(), KERNEL).checks[0]
    assert check.held is False, str(check)


def test_grids_that_share_their_shifts_vary_too_much():
    checks = {check.promise: check.held for check in check_map(OneShiftForAllGrids(), KERNEL).checks}
    assert False in (checks["unbiased"], checks["variance of order 1 / D"]), checks


def test_a_seed_that_is_ignored_is_found():
    checks = {check.promise: check for check in check_map(OneSeed(), KERNEL).checks}
    assert checks["the same draw on each call"].held is False


class Wide(Binning):
    def transform(self, X):
        Z = super().transform(X)
        return csr_array((Z.data, 2_000 * Z.indices, Z.indptr), shape=(Z.shape[0], 2_000 * Z.shape[1]))


def test_a_million_columns_are_compared_without_a_dense_matrix():
    tracemalloc.start()
    report = check_map(Wide(), KERNEL, unbiased=False)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert report.passed, str(report)
    assert peak < 10**7  # a dense matrix of 24 rows takes 200 MB


@pytest.mark.parametrize("mean", [0.5, 2.0, 10.0])
def test_rare_collisions_raise_no_alarm(monkeypatch, mean):
    """Where a pair shares a bin a few times in all draws, or never, its sample variance is too small."""
    monkeypatch.setattr(module, "FALSE_ALARMS", 0.02)
    rng, n, D = np.random.default_rng(0), 200, 50
    k = mean / (n * D)
    failed = 0
    for _ in range(300):
        errors = rng.binomial(D, k, (n, 22)) / D - k
        errors[:, -1] = rng.standard_normal(n) / 10  # that of the factor
        failed += module.PROMISES["unbiased"](SimpleNamespace(errors=[errors]))[0] is False
    assert failed <= 9  # of 3 at most that are expected
