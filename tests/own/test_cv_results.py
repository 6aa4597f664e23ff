"""The scores of a search by the keys of scikit-learn's searches."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVC

import kfeat
from kfeat.own import search
from kfeat.own.candidates import Candidate
from kfeat.own.cv_results import cv_results, params_of
from tests.own.asking import scored

ROWS = np.random.default_rng(5).normal(size=(120, 3))
SIGNS = np.where(ROWS[:, 0] * ROWS[:, 1] > 0, "yes", "no")


def test_a_candidate_has_the_parameters_that_a_config_names():
    gaussian, map_ = {"name": "gaussian", "gamma": 0.2}, {"name": "orf", "n_components": 64}
    svm = {"scale": "own", "kernel": "gaussian", "gamma": 0.2, "map": None, "solver": "svc", "C": 10.0}
    assert params_of(Candidate("own", gaussian, None, "squared_hinge"), 10.0) == svm
    ridge = params_of(Candidate("zscore", gaussian, map_, "squares", target="log"), 0.1)
    assert ridge["n_components"] == 64
    turned = Candidate("zscore, learnt_rotation", gaussian, map_, "squares")
    assert params_of(turned, 0.1)["scale"] == ["zscore", "learnt_rotation"]
    assert params_of(replace(turned, scale="own, learnt_metric"), 0.1)["scale"] == ["own", "learnt_metric"]
    assert (ridge["map"], ridge["solver"], ridge["alpha"], ridge["target"]) == ("orf", "ridge", 0.1, "log")


def test_scores_ranks_and_folds_are_those_of_the_candidates_and_gaps_are_missing():
    five = replace(scored(900, 0.8, 1.0), folds=(0.7, 0.8, 0.9, 0.8, 0.8))
    three = replace(scored(2700, 0.9, 2.0, exact=False), folds=(0.9, 0.9, 0.9))
    failed = replace(scored(900, -np.inf, 3.0), reason="no memory")
    found = cv_results([five, failed, three])
    assert found["rank_test_score"].tolist() == [2, 3, 1]
    assert found["std_test_score"][0] == pytest.approx(np.std(five.folds))  # as GridSearchCV, not n - 1
    np.testing.assert_array_equal(found["split4_test_score"], [0.8, np.nan, np.nan])
    np.testing.assert_array_equal(found["mean_test_score"], [0.8, np.nan, 0.9])
    assert found["param_C"].mask.tolist() == [False, True, False]
    assert found["param_n_components"].tolist() == [None, None, 64]
    assert found["n_samples"].tolist() == [900, 900, 2700]


def test_an_estimator_has_them_under_the_names_of_a_grid_search(monkeypatch):
    monkeypatch.setattr(search, "MOST", 2)
    model = kfeat.KernelClassifier(budget=4).fit(ROWS, SIGNS)
    frame, grid = pd.DataFrame(model.cv_results_), GridSearchCV(SVC(), {"C": [1.0, 10.0]}).fit(ROWS, SIGNS)
    theirs = {name for name in grid.cv_results_ if "time" not in name}
    assert theirs <= set(frame)
    assert len(frame) == len(model.search_.scored)
    row = frame.loc[frame["params"].map(lambda params: params == model.best_params_)].iloc[-1]
    assert row["mean_test_score"] == model.best_score_ == model.search_.best.score
    assert model.best_params_["kernel"] == model.search_.best.candidate.kernel["name"]
    assert model.n_train_ == 120


def test_without_a_search_there_are_parameters_and_no_scores():
    model = kfeat.KernelRegressor(budget=4).fit(ROWS[:4], ROWS[:4, 0])
    assert model.best_params_["alpha"] == 1.0
    assert model.cv_results_ is model.best_score_ is model.search_ is None
    assert model.n_train_ == 4
