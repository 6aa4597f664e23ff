"""A search of a number of candidates is the same on any machine."""

from itertools import count

import numpy as np
import pytest

from kfeat import KernelClassifier
from kfeat.own import budget as module
from kfeat.own.candidates import Candidate
from kfeat.own.counted import nominal_seconds


def test_no_clock_decides_anything(monkeypatch):
    X = np.random.default_rng(0).uniform(-1, 1, (400, 5))
    y = np.where(X[:, 0] * X[:, 1] > 0, "a", "b")
    fits = []
    for step in (0.0, 1000.0):
        clock = count(0.0, step)
        monkeypatch.setattr(module, "monotonic", lambda clock=clock: next(clock))
        fits.append(KernelClassifier(n_candidates=9, random_state=3).fit(X, y))
    first, second = fits
    assert [one.candidate for one in first.search_.scored] == [one.candidate for one in second.search_.scored]
    assert first.best_params_ == second.best_params_
    assert first.predict(X).tolist() == second.predict(X).tolist()
    assert 9 <= len(first.search_.scored) <= 11  # and what is scored on as many rows as the best
    assert first.score(X, y) > 0.85


def test_larger_candidates_are_told_to_take_longer():
    gaussian, laplacian = {"name": "gaussian", "gamma": 1.0}, {"name": "laplacian", "gamma": 1.0}
    orf = Candidate("own", gaussian, {"name": "orf", "n_components": 256}, "squared_hinge")
    binning = Candidate("own", laplacian, {"name": "random_binning", "n_components": 64}, "squares")
    exact = Candidate("own", gaussian, None, "squared_hinge")
    linear = Candidate("own", {"name": "linear"}, None, "logistic")
    for candidate in (orf, binning, exact, linear):
        assert 0 < nominal_seconds(candidate, 3000, 3) < nominal_seconds(candidate, 9000, 3)
    assert nominal_seconds(binning, 3000, 1) == nominal_seconds(binning, 3000, 5)  # one path for all values
    assert nominal_seconds(exact, 3000, 3) == pytest.approx(2 * nominal_seconds(exact, 3000, 1))
