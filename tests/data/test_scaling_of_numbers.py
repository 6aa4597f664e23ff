"""Scalings that leave columns of 0 and 1 as they are."""

import numpy as np
import pytest
from sklearn.preprocessing import PowerTransformer

from kfeat.data.preparation import apply_chain, learn_chain
from kfeat.data.protocol import Protocol


@pytest.mark.parametrize("step", ["zscore_numbers", "power"])
def test_columns_of_numbers_are_scaled_and_those_of_0_and_1_stay(step):
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.lognormal(2, 1, 900), rng.random(900) < 0.1, rng.normal(5, 3, 900)]).astype(
        float
    )
    chain = learn_chain(Protocol.model_validate({"scale": step}).scale, lambda: [X[:400], X[400:]])
    Z = apply_chain(chain, X)
    np.testing.assert_array_equal(Z[:, 1], X[:, 1])
    np.testing.assert_allclose(Z[:, [0, 2]].mean(axis=0), 0, atol=1e-9)
    np.testing.assert_allclose(Z[:, [0, 2]].std(axis=0), 1, rtol=1e-9)
    if step == "power":  # learnt from all rows, since there are few
        np.testing.assert_allclose(Z[:, [0, 2]], PowerTransformer().fit_transform(X[:, [0, 2]]))
