"""The distribution of learnt weights."""

import numpy as np
import pytest

from kfeat.errors import ParameterError
from kfeat.experiments.measures.map_size import Weights
from kfeat.experiments.quantities import QUANTITIES
from kfeat.kernels import Gaussian
from kfeat.maps import SES, RandomFourier
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
