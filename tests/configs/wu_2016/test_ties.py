"""The solvers of wu_2016/ties: the labels of rows with scores, and of those without."""

from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from kfeat.place import Place
from kfeat.solvers import RidgeClassifier

PLACE = Path(__file__).parents[3] / "configs/wu_2016/ties.py"
EMPTY = 4  # the test row without a column


@pytest.mark.parametrize(
    ("name", "y", "expected"),
    [
        ("Ridge", [-1, 1, 1, -1], [-1, 1, 1, -1]),
        ("Ridge", [1, 2, 2, 1], [1, 2, 2, 1]),
        ("RidgeWithoutLast", [3, 5, 5, 4], [3, None, None, 4]),  # never 5
    ],
)
def test_a_row_without_scores_has_no_class_and_others_have_that_of_their_score(name, y, expected):
    X = csr_matrix(np.vstack([np.eye(4), np.zeros(4)]))
    parameters = {"alpha": 0.01, "fit_intercept": False}
    solver = Place.of(f"{PLACE}:{name}").load()(**parameters).fit(X[:EMPTY], y)
    labels = solver.predict(X)
    assert labels[EMPTY] not in y
    for label, wanted in zip(labels, expected, strict=False):
        assert label == wanted if wanted is not None else label in {3, 4}
    plain = RidgeClassifier(**parameters).fit(X[:EMPTY], y).predict(X)
    assert plain[EMPTY] in y
