"""The ridge of bellet_2020/many_columns: its conjugate gradients against the direct solution."""

from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning

from kfeat.place import Place

PLACE = Path(__file__).parents[3] / "configs/bellet_2020/many_columns.py"
BLOCK_RIDGE = Place.of(f"{PLACE}:BlockRidge").load()
X, y = load_digits(return_X_y=True)
X, y = X[:400] / 16, y[:400]


def trained(**parameters):
    """Return it with 2,500 features, a block and a part of one, trained on the first 300 rows."""
    ridge = BLOCK_RIDGE(2500, 0.3, alpha=0.1, landmarks=50, random_state=0, **parameters)
    return ridge.fit(X[:300], y[:300])


def features(ridge, rows):
    """Return all features of the rows side by side, from copies of the blocks that it never joins."""
    blocks = [share**0.5 * Z for _, share, Z in ridge._blocks(rows.astype(np.float32))]
    return np.hstack(blocks).astype(float)


def test_the_weights_are_those_of_the_normal_equations():
    ridge = trained(tol=1e-5)
    Z, new = features(ridge, X[:300]), features(ridge, X[300:])
    Y = np.eye(10)[y[:300]]
    W = Z.T @ np.linalg.solve(Z @ Z.T + 0.1 * np.eye(300), Y)
    values = new @ W
    assert (ridge.predict(X[300:]) == values.argmax(axis=1)).all()
    found = sum(
        block @ ridge.coef_[columns] for columns, _, block in ridge._blocks(X[300:].astype(np.float32))
    )
    np.testing.assert_allclose(found, values, atol=1e-3)
    assert ridge.score(X[300:], y[300:]) > 0.9
    assert ridge.n_iter_ < 60


def test_steps_that_do_not_suffice_are_said():
    with pytest.warns(ConvergenceWarning, match="no convergence in 2 steps"):
        trained(tol=1e-6, max_iter=2)
