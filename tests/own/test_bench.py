"""What a search asks of its data: scores over values of C."""

import numpy as np
import pytest
from sklearn.model_selection import StratifiedKFold

from kfeat.own import bench
from kfeat.own.bench import best_column, newton_scores
from kfeat.solvers import Newton

CS = [8.0**k for k in range(-3, 4)]


def test_folds_go_along_c_with_the_factors_of_hessians_or_without(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(5)
    Z = rng.normal(size=(400, 30))
    y = np.digitize(Z[:, 0] + rng.normal(size=400), [-0.8, 0.8])
    splits = list(StratifiedKFold(5, shuffle=True, random_state=3).split(Z, y))
    quick = newton_scores("squared_hinge", Z, y, CS, splits, {"bias": 1.0})
    checked: list[int] = []
    begun = Newton._begun

    def counted(self: Newton, X: object, y: object) -> object:
        checked.append(1)
        return begun(self, X, y)

    monkeypatch.setattr(Newton, "_begun", counted)
    assert newton_scores("squared_hinge", Z, y, CS, splits, {"bias": 1.0}).tolist() == quick.tolist()
    assert len(checked) == 5  # once a fold
    monkeypatch.setattr(bench, "MOST_KEPT", 0)
    slow = newton_scores("squared_hinge", Z, y, CS, splits, {"bias": 1.0})
    assert len(checked) == 5 + slow.size
    # Both stop at values of C beyond 1 that are no better; eps 0.01 leaves a row or two of 80 open.
    assert slow.shape == quick.shape
    assert 3 < slow.shape[1] < len(CS)
    assert np.abs(slow - quick).max() <= 2 / 80
    assert (quick.mean(axis=1) > 0.45).all()


def test_a_score_without_a_value_is_a_failure_and_no_number() -> None:
    """As R^2 on folds of a single row."""
    found = best_column(np.array([[0.5], [np.nan], [0.25]]), [1.0])
    assert "single row" in found["failed"]
    assert best_column(np.array([[0.5], [0.25]]), [1.0])["score"] == 0.375
