"""The kernel error by its formula, also on rows held out and without features; the least error of a rank."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from kfeat.diagnostics import held_out_rows
from kfeat.errors import ParameterError
from kfeat.experiments.measures.kernel_error import KernelError, LowRankError
from kfeat.experiments.quantities import QUANTITIES
from kfeat.kernels import Gaussian, Laplacian, Polynomial
from kfeat.maps import MAPS, Nystrom, RandomBinning, RandomFourier, RandomMaclaurin
from tests.experiments.rows import measured

X = np.random.default_rng(0).random((80, 5))
GAUSSIAN = Gaussian(gamma=1.0)
ROWS, WIDE = np.random.default_rng(0).standard_normal((200, 3)), Gaussian(0.5)


def of(feature_map, rows=X, n_rows=1000):
    return measured(LowRankError(n_rows), feature_map, rows)


def test_the_errors_are_those_of_their_formulas():
    feature_map = Nystrom(GAUSSIAN, n_components=20, rank=7, random_state=0)
    found = of(feature_map)
    G = GAUSSIAN(X)
    U, values, V = np.linalg.svd(G)
    best = np.linalg.norm(G - (U[:, :7] * values[:7]) @ V[:7])
    Z = feature_map.transform(X)
    error, norm = np.linalg.norm(G - Z @ Z.T), np.linalg.norm(G)
    assert Z.shape == (80, 7)
    assert found["low_rank_error"] == pytest.approx(error / norm)
    assert found["best_rank_error"] == pytest.approx(best / norm)
    assert found["over_best"] == pytest.approx(error / best)
    assert found["excess"] == pytest.approx(error - best)
    assert found["excess"] > 0


def test_nothing_is_left_at_full_rank():
    found = of(Nystrom(GAUSSIAN, n_components=80, random_state=0))
    assert found["best_rank_error"] == 0
    assert found["low_rank_error"] < 1e-8
    assert "over_best" not in found


def test_the_map_is_fitted_to_the_sampled_rows():
    feature_map = Nystrom(GAUSSIAN, n_components=10, random_state=0)
    found = of(feature_map, n_rows=30)
    assert max(feature_map.landmark_indices_) < 30
    assert found["columns"] == {"live": 10, "zero": 0, "constant": 0}


def test_a_kernel_without_its_constant_and_sparse_rows():
    feature_map = RandomMaclaurin(
        Polynomial(2, coef0=1), n_components=500, constant=False, degree_law="proportional", random_state=0
    )
    dense, sparse = of(feature_map), of(feature_map, csr_array(X))
    assert feature_map.kernel_offset_ > 0
    assert dense["low_rank_error"] < 0.5
    assert sparse["low_rank_error"] == pytest.approx(dense["low_rank_error"])


def test_the_kernel_error_is_that_of_its_formula():
    feature_map = RandomMaclaurin(Polynomial(2, coef0=1.0), 40, random_state=0)
    found = measured(KernelError(len(X)), feature_map, X)["kernel_error"]
    K, Z = Polynomial(2, coef0=1.0)(X), feature_map.transform(X)
    others = ~np.eye(len(X), dtype=bool)
    error, K = np.abs(Z @ Z.T - K)[others], K[others]
    assert found["relative_frobenius"]["value"] == pytest.approx(np.sqrt((error**2).sum() / (K**2).sum()))
    assert found["mean_absolute"]["value"] == pytest.approx(error.mean())
    assert found["maximum"] == pytest.approx(error.max())


@pytest.mark.parametrize("measure", [KernelError(50), LowRankError(50)])
def test_sparse_features_are_measured_as_dense_ones(measure):
    class Dense(RandomBinning):
        def transform(self, X, out=None):
            return super().transform(X).toarray()

    kinds = (RandomBinning, Dense)
    sparse, dense = (measured(measure, kind(Laplacian(1.0), 30, random_state=0), X) for kind in kinds)
    for quantity in measure.quantities:
        if not quantity.timed:
            assert quantity.read(sparse) == pytest.approx(quantity.read(dense)), quantity.name
    assert sparse["columns"] == dense["columns"]


def test_held_out_rows_are_not_fitted_to(monkeypatch):
    fitted = []
    fit = RandomFourier.fit
    monkeypatch.setattr(RandomFourier, "fit", lambda self, rows: fitted.append(rows) or fit(self, rows))
    m = RandomFourier(WIDE, 40, random_state=0)
    found = measured(KernelError(50, held_out=True), m, ROWS)["kernel_error"]["relative_frobenius"]["value"]
    rows, others = held_out_rows(ROWS, 50, 0)
    np.testing.assert_array_equal(fitted[0], others)
    assert {len(rows), len(others)} == {50, 150}
    assert {tuple(row) for row in np.vstack([rows, others])} == {tuple(row) for row in ROWS}
    Z, off = m.transform(rows), ~np.eye(50, dtype=bool)
    K = WIDE(rows)
    assert found == pytest.approx(np.linalg.norm((Z @ Z.T - K)[off]) / np.linalg.norm(K[off]))


@pytest.mark.parametrize("rows", [ROWS, csr_array(ROWS)], ids=["dense", "sparse"])
@pytest.mark.parametrize("name", ["ses", "bayesian_quadrature"])
def test_signed_weights_have_a_kernel_error_without_features(name, rows):
    m = MAPS[name](WIDE, 40, sign="signed", random_state=0)
    row = measured(KernelError(), m, rows)
    assert row["columns"] is None
    off = ~np.eye(200, dtype=bool)
    K = WIDE(ROWS)
    error = np.linalg.norm((m.approximate_kernel(ROWS) - K)[off]) / np.linalg.norm(K[off])
    assert QUANTITIES["kernel_error"].read(row) == pytest.approx(error)
    assert not m.has_features
    assert MAPS[name](WIDE, 40).has_features


@pytest.mark.parametrize("n_rows", [199, 1000])
def test_more_rows_to_hold_out_than_can_be_are_refused(n_rows):
    with pytest.raises(ParameterError, match=rf"expected 3 to 198 rows to hold out of 200.*got {n_rows:,}"):
        measured(KernelError(n_rows, held_out=True), RandomFourier(WIDE, 40), ROWS)
