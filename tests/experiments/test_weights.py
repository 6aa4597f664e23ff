"""The distribution of learnt weights; the kernel error on held out rows, and of maps without features."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from kfeat.diagnostics import held_out_rows
from kfeat.errors import ParameterError
from kfeat.experiments.measures.kernel_error import KernelError
from kfeat.experiments.measures.map_size import Weights
from kfeat.experiments.quantities import QUANTITIES
from kfeat.kernels import Gaussian
from kfeat.maps import MAPS, SES, RandomFourier
from tests.experiments.rows import measured

X = np.random.default_rng(0).standard_normal((200, 3))
KERNEL = Gaussian(0.5)


@pytest.mark.parametrize("D", [40, 41])
@pytest.mark.parametrize("sign", ["signed", "nonnegative"])
def test_the_distribution_is_that_of_the_weights_over_the_plain_ones(D, sign):
    m = SES(KERNEL, D, sign=sign, random_state=0)
    row = measured(Weights(), m, X)
    ratio = m.weights_ / m.plain_weights()
    names = ("sum", "deviation", "distance", "minimum", "q50")
    read = {name: QUANTITIES[f"weight_{name}"].read(row) for name in names}
    assert read["sum"] == pytest.approx(m.weights_.sum())
    assert read["sum"] == pytest.approx(m.approximate_kernel(X[:1])[0, 0], abs=0.1)  # k(x, x), for even D
    assert read["distance"] == pytest.approx(np.linalg.norm(ratio - 1) / np.sqrt(len(ratio)))
    assert read["deviation"] == pytest.approx(np.sqrt(np.mean((m.weights_ - m.plain_weights()) ** 2)))
    assert read["minimum"] == ratio.min()
    assert read["q50"] == pytest.approx(np.median(ratio))
    negative, zero = (QUANTITIES[f"weight_{name}"].read(row) for name in ("negative", "zero"))
    assert negative == pytest.approx(100 * np.mean(ratio < 0))
    assert (negative > 0, zero > 0) == ((True, False) if sign == "signed" else (False, True))


def test_a_map_without_weights_is_refused():
    with pytest.raises(ParameterError, match=r"weights: expected a map that learns weights.*RandomFourier"):
        measured(Weights(), RandomFourier(KERNEL, 40), X)


def test_held_out_rows_are_not_fitted_to(monkeypatch):
    fitted = []
    fit = RandomFourier.fit
    monkeypatch.setattr(RandomFourier, "fit", lambda self, rows: fitted.append(rows) or fit(self, rows))
    m = RandomFourier(KERNEL, 40, random_state=0)
    found = measured(KernelError(50, held_out=True), m, X)["kernel_error"]["relative_frobenius"]["value"]
    rows, others = held_out_rows(X, 50, 0)
    np.testing.assert_array_equal(fitted[0], others)
    assert {len(rows), len(others)} == {50, 150}
    assert {tuple(row) for row in np.vstack([rows, others])} == {tuple(row) for row in X}
    Z, off = m.transform(rows), ~np.eye(50, dtype=bool)
    K = KERNEL(rows)
    assert found == pytest.approx(np.linalg.norm((Z @ Z.T - K)[off]) / np.linalg.norm(K[off]))


@pytest.mark.parametrize("rows", [X, csr_array(X)], ids=["dense", "sparse"])
@pytest.mark.parametrize("name", ["ses", "bayesian_quadrature"])
def test_signed_weights_have_a_kernel_error_without_features(name, rows):
    m = MAPS[name](KERNEL, 40, sign="signed", random_state=0)
    row = measured(KernelError(), m, rows)
    assert row["columns"] is None
    off = ~np.eye(200, dtype=bool)
    K = KERNEL(X)
    error = np.linalg.norm((m.approximate_kernel(X) - K)[off]) / np.linalg.norm(K[off])
    assert QUANTITIES["kernel_error"].read(row) == pytest.approx(error)
    assert not m.has_features
    assert MAPS[name](KERNEL, 40).has_features


@pytest.mark.parametrize("n_rows", [199, 1000])
def test_more_rows_to_hold_out_than_can_be_are_refused(n_rows):
    with pytest.raises(ParameterError, match=rf"expected 3 to 198 rows to hold out of 200.*got {n_rows:,}"):
        measured(KernelError(n_rows, held_out=True), RandomFourier(KERNEL, 40), X)
