"""What a scorer answers: its folds, boosting, and the threads that help."""

from math import inf

import numpy as np
from threadpoolctl import threadpool_info

from kfeat.data.dataset import Dataset
from kfeat.experiments.config import load_experiment
from kfeat.own import scorer as scorer_module
from kfeat.own.candidates import Candidate
from kfeat.own.scorer import Scorer, helpful_threads
from kfeat.own.scorer_process import LocalScorer
from kfeat.own.tune import setup_of
from tests.own.asking import Direct, config, small

X = np.random.default_rng(0).normal(size=(400, 4))


def test_few_rows_take_one_thread_of_blas_and_more_rows_those_that_help(tmp_path, monkeypatch):
    scorer = Direct(2, **small(tmp_path).scorer(0)).scorer

    def threads(n):
        with scorer.threads_for(n):
            return threads_now()

    assert threads(None) == threads(5_000) == {1}
    for share, helpful in ((0.0, 1), (inf, 2)):
        monkeypatch.setattr(scorer_module, "HELPS", share)
        helpful_threads.cache_clear()
        assert threads(5_001) == {helpful}
    helpful_threads.cache_clear()
    monkeypatch.setattr(Scorer, "facts", lambda self: {"threads": threads_now()})
    assert LocalScorer(scorer).ask("facts", inf)["threads"] == {1}


def threads_now():
    return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}


def test_the_boosting_of_a_scorer_is_scored_on_the_folds_and_the_test_rows(tmp_path):
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    setup = setup_of(load_experiment(config(tmp_path, "{name: linear}", X, y)), 0)
    scorer = Scorer(threads=1, **setup.scorer(0))
    told = scorer.boosting(320)
    assert len(told["folds"]) == 5
    assert min(told["score"], told["test"]["score"]) > 0.8 > scorer.constant(320)["score"] + 0.2


def test_a_scorer_of_chosen_folds_uses_them_on_fewer_rows(monkeypatch):
    y = (X[:, 0] > 0).astype(int)

    def data(scale):
        return Dataset("toy", X, y, X[:0], y[:0], "classification", "", False, by=np.arange(400) % 7)

    scorer = Scorer(data, 0, 1, cv="group")
    rows, folds = scorer.subsamples.folds(100)
    assert len(rows) == 100
    assert sum(len(held) for _, held in folds) == 100
    for seen, held in folds:
        assert not set(rows[seen] % 7) & set(rows[held] % 7)
    answer = LocalScorer(scorer).ask(
        "score", 1e9, candidate=Candidate("own", {"name": "linear"}, None, "logistic"), n=100, values=[1.0]
    )
    assert answer["score"] > 0.9


def test_a_metric_is_learnt_in_each_fold_from_its_training_rows_once(monkeypatch):
    labels = (np.sin(3 * X[:, 0]) > 0).astype(int)

    def data(scale):
        return Dataset("toy", X, labels, X[:0], labels[:0], "classification", "", False)

    seen, own = [], scorer_module.learn_metric

    def learn(metric, blocks, *rest):
        rows = list(blocks)
        seen.append({row.tobytes() for row in rows[0]})
        return own(metric, iter(rows), *rest)

    monkeypatch.setattr(scorer_module, "learn_metric", learn)
    scorer = Scorer(data, 0, 1)
    kernel, grids = {"name": "laplacian", "gamma": 0.5}, {"name": "random_binning", "n_components": 32}
    for feature_map in (grids, None):
        candidate = Candidate("own, learnt_metric", kernel, feature_map, "squared_hinge")
        told = scorer.score(candidate, 400, [1.0, 0.1])
        assert told["score"] > 0.8
        assert told["learning"] > 0
    rows, folds = scorer.subsamples.folds(400)
    assert [{row.tobytes() for row in X[rows[train]]} for train, _ in folds] == seen
    labels[:] = np.random.default_rng(0).integers(0, 2, 400)
    noise = LocalScorer(Scorer(data, 0, 1)).ask("score", inf, candidate=candidate, n=400, values=[1.0])
    assert "no metric predicts better than none" in noise["failed"]
