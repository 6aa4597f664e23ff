"""Weights of rows, scales of targets and losses in models and searches."""

import numpy as np
import pandas as pd
import pytest
import yaml
from sklearn import config_context, metrics
from sklearn.model_selection import cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import kfeat
from kfeat.data import Access
from kfeat.data.coders import learn_coding
from kfeat.data.dataset import Dataset
from kfeat.errors import SolverError
from kfeat.experiments.config import load_experiment
from kfeat.kernels import Gaussian
from kfeat.maps import RandomFourier
from kfeat.own import KernelModel, load_model, search
from kfeat.own.candidates import Candidate, neighbours, solver_of
from kfeat.own.facts import targets_of
from kfeat.own.fit import only_trial, train
from kfeat.own.frames import CODED
from kfeat.own.scorer import Scorer
from kfeat.own.scorer_process import LocalScorer
from kfeat.own.scoring import metric_of
from kfeat.solvers import KernelRidge, Liblinear, Newton, Ridge
from tests.own.asking import FACTS

rng = np.random.default_rng(0)
X = rng.normal(size=(300, 3))
LABELS = (X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=300) > 0).astype(int)
TAIL = np.exp(2 * X[:, 0] + rng.normal(size=300))
WEIGHTS = rng.integers(0, 4, 300)
TWICE = np.repeat(np.arange(300), WEIGHTS)


@pytest.fixture(autouse=True)
def short(monkeypatch):
    monkeypatch.setattr(search, "MOST", 2)


def test_a_model_is_trained_and_scored_with_weights():
    waves = RandomFourier(Gaussian(0.3), 40, random_state=0)
    model = KernelModel(waves, Newton(eps=1e-8), dtype="float64")
    weighted = model.fit(X, LABELS, WEIGHTS).decision_function(X)
    np.testing.assert_allclose(weighted, model.fit(X[TWICE], LABELS[TWICE]).decision_function(X), atol=1e-5)
    assert model.score(X, LABELS, WEIGHTS) == pytest.approx(model.score(X[TWICE], LABELS[TWICE]))
    kept = np.flatnonzero(WEIGHTS)
    scaled = KernelModel(solver=Ridge(), scale="zscore")
    assert np.array_equal(
        scaled.fit(X, TAIL, WEIGHTS).predict(X), scaled.fit(X[kept], TAIL[kept], WEIGHTS[kept]).predict(X)
    )
    with pytest.raises(SolverError, match="Liblinear takes no weights of rows"):
        KernelModel(solver=Liblinear()).fit(X, LABELS, WEIGHTS)


@pytest.mark.parametrize("name", ["accuracy", "roc_auc", "neg_mean_absolute_error", "neg_max_error"])
def test_a_metric_takes_weights_where_scikit_learn_does(name):
    classes = name in ("accuracy", "roc_auc")
    y, model = (LABELS, Newton()) if classes else (TAIL, Ridge())
    metric = metric_of(name, y, classes)
    weighted, repeated = metric.of(model.fit(X, y), X, y, WEIGHTS), metric.of(model, X[TWICE], y[TWICE])
    plain = metric.of(model, X, y)
    assert weighted == pytest.approx(plain if name == "neg_max_error" else repeated)


def test_the_folds_of_a_search_train_and_score_with_weights():
    """Rows of weight near 0 have wrong labels: nothing is lost by them."""
    wrong = np.arange(300) % 3 == 0
    y = np.where(wrong, 1 - (X[:, 0] > 0), X[:, 0] > 0).astype(int)

    def score(candidate, y, weights):
        def data(scale):
            return Dataset("toy", X, y, X[:0], y[:0], task, "", False, weights=weights)

        task = "classification" if y is not TARGET else "regression"
        answer = LocalScorer(Scorer(data, 0, 1)).ask("score", 1e9, candidate=candidate, n=300, values=[1.0])
        return answer["score"]

    TARGET = X[:, 0] + 10.0 * wrong * rng.normal(size=300)
    gaussian, nystrom = {"name": "gaussian", "gamma": 0.1}, {"name": "nystrom", "n_components": 50}
    low = np.where(wrong, 1e-3, 1.0)
    for loss, target, best in (("squared_hinge", y, 0.95), ("squares", TARGET, 0.8)):
        for entry in (None, nystrom):
            candidate = Candidate("own", gaussian, entry, loss)
            assert score(candidate, target, low) > best > score(candidate, target, None) + 0.1


@pytest.mark.filterwarnings("ignore:nothing is better")
def test_a_search_takes_weights_and_a_row_of_weight_zero_is_not_looked_at():
    frame = pd.DataFrame(X, columns=["a", "b", "c"]).assign(word=np.where(X[:, 2] > 0, "u", "v"))
    kept = np.flatnonzero(WEIGHTS)
    spoilt = frame.copy()
    spoilt.loc[WEIGHTS == 0, ["a", "word"]] = 1e9, "w"
    for make, y in ((kfeat.KernelClassifier, LABELS), (kfeat.KernelRegressor, TAIL)):
        model = make(budget=3, n_jobs=1, random_state=1)
        facts = model.fit(spoilt, y, sample_weight=WEIGHTS).search_.facts
        alone = model.fit(frame.iloc[kept], y[kept], sample_weight=WEIGHTS[kept])
        assert facts == alone.search_.facts
        assert facts.n_train == len(kept)
        assert alone.model_.coding.words == {"word": ["u", "v"]}
    folds = [(np.arange(200), np.arange(200, 300))]
    chosen = kfeat.KernelRegressor(budget=2, cv=folds, n_jobs=1).fit(frame, TAIL, sample_weight=WEIGHTS)
    assert len(chosen.search_.best.folds) == 1


def test_weights_are_routed_through_a_pipeline():
    with config_context(enable_metadata_routing=True):
        model = KernelModel(solver=Newton()).set_fit_request(sample_weight=True)
        model = model.set_score_request(sample_weight=True)
        steps = make_pipeline(StandardScaler().set_fit_request(sample_weight=True), model)
        scorer = metrics.make_scorer(metrics.accuracy_score).set_score_request(sample_weight=True)
        options = {"params": {"sample_weight": WEIGHTS}, "scoring": scorer, "return_estimator": True, "cv": 3}
        weighted = cross_validate(steps, X, LABELS, **options)["estimator"][0][-1].solver_.coef_
        plain = cross_validate(make_pipeline(StandardScaler(), model), X, LABELS, cv=3, return_estimator=True)
        assert not np.allclose(weighted, plain["estimator"][0][-1].solver_.coef_)
        routing = kfeat.KernelClassifier().set_fit_request(sample_weight=True).get_metadata_routing()
        assert routing.consumes("fit", ["sample_weight"]) == {"sample_weight"}


def test_skewed_targets_ask_for_other_scales_and_errors_for_another_loss():
    assert targets_of(X[:, 0]) == ("none",)
    assert targets_of(TAIL) == ("none", "log", "power")
    assert targets_of(-TAIL) == ("none", "power")
    candidate = Candidate(
        "own", {"name": "gaussian", "gamma": 0.1}, {"name": "orf", "n_components": 9}, "squares"
    )
    facts = {"task": "regression", "targets": ("none", "log"), "metric": "neg_mean_absolute_error"}
    near = list(neighbours(candidate, type(FACTS)(**{**vars(FACTS), **facts})))
    assert [one.target for one in near if one.target != "none"] == ["log"]
    assert [one.loss for one in near if one.loss != "squares"] == ["huber"]
    log, huber = (one for one in near if one.target != "none" or one.loss != "squares")
    assert solver_of(log, 2.0, {}) == {"name": "ridge", "alpha": 2.0, "target": "log"}
    assert solver_of(huber, 2.0, {}) == {"name": "newton", "loss": "huber", "C": 2.0}
    assert solver_of(candidate, 2.0, {}) == {"name": "ridge", "alpha": 2.0}


@pytest.mark.slow
def test_a_search_finds_the_scale_of_a_heavy_tail_and_the_file_keeps_it(monkeypatch, tmp_path):
    monkeypatch.setattr(search, "MOST", 12)
    y = np.exp(3 * np.sin(2 * X[:, 0]) + 0.3 * rng.normal(size=300))
    model = kfeat.KernelRegressor(budget=6, scoring="neg_mean_absolute_error", n_jobs=1).fit(X, y)
    assert model.search_.best.candidate.target != "none" or model.search_.best.candidate.loss == "huber"
    model.save(tmp_path / "m")
    assert np.array_equal(load_model(tmp_path / "m").predict(X), model.predict(X))
    assert metrics.r2_score(y, model.predict(X)) > 0.5


@pytest.mark.parametrize("target", ["log", "power"])
def test_a_model_of_a_scale_of_targets_is_the_same_from_its_file(target, tmp_path):
    model = KernelModel(solver=Ridge(target=target), scale="zscore").fit(X, TAIL)
    model.save(tmp_path / "m")
    assert np.array_equal(load_model(tmp_path / "m").predict(X), model.predict(X))
    assert model.predict(X).min() > 0


@pytest.mark.parametrize("scale", ["none", "zscore", "power"])
def test_scaling_and_bandwidth_are_learnt_with_weights(scale):
    """Means, variances, exponents and the median distance, with a map and in an exact method."""
    rows = X * np.array([1.0, 5.0, 0.1]) + TAIL[:, None] / 10
    waves = RandomFourier(Gaussian("median"), 40, random_state=0)
    for map_, solver in ((waves, Ridge()), (None, KernelRidge(Gaussian("median"), target="power"))):
        model = KernelModel(map_, solver, scale, dtype="float64")
        weighted = model.fit(rows, TAIL, WEIGHTS).predict(rows)
        np.testing.assert_allclose(weighted, model.fit(rows[TWICE], TAIL[TWICE]).predict(rows), rtol=1e-6)
        assert abs(weighted - model.fit(rows, TAIL).predict(rows)).max() > 1e-2


def test_gaps_and_rare_words_are_learnt_with_weights():
    word = np.where(np.arange(300) % 60 == 0, "rare", np.where(X[:, 2] > 0, "u", "v"))
    frame = pd.DataFrame({"a": np.where(X[:, 1] > 1, np.nan, TAIL), "word": word})
    frame.loc[::7, "word"] = None
    kept = np.flatnonzero(WEIGHTS)
    for weights in (WEIGHTS, np.where(word == "rare", 5, WEIGHTS)[kept].clip(1)):
        some = np.arange(300) if weights is WEIGHTS else kept
        coded = learn_coding(frame.iloc[some], CODED, weights=weights.astype(float))
        twice = learn_coding(frame.iloc[np.repeat(some, weights)], CODED)
        assert np.array_equal(coded.matrix(frame), twice.matrix(frame))
        shares = learn_coding(frame.iloc[some], CODED, weights=weights / 7)
        np.testing.assert_allclose(shares.matrix(frame)[:, 0], twice.matrix(frame)[:, 0], rtol=1e-3)


def test_a_config_learns_its_scaling_and_its_bandwidth_with_weights(tmp_path):
    frame = pd.DataFrame(X * np.array([1.0, 5.0, 0.1]), columns=["a", "b", "c"]).assign(y=LABELS)
    frame.assign(w=WEIGHTS).to_csv(tmp_path / "once.csv", index=False)
    frame.iloc[TWICE].to_csv(tmp_path / "twice.csv", index=False)
    scores = []
    for name, dataset, weight in (
        ("once", {"drop": ["w"]}, {"weight": "w"}),
        ("twice", {}, {}),
    ):
        config = {
            "title": "weights",
            "dataset": {"path": str(tmp_path / f"{name}.csv"), "target": "y", **dataset},
            "protocol": {"scale": "zscore", "split": {"kind": "stratified", "train": 0.8}, **weight},
            "kernel": {"name": "gaussian", "gamma": "median"},
            "solvers": {"exact": {"name": "svc", "eps": 1e-7}},
        }
        (tmp_path / f"{name}.yaml").write_text(yaml.safe_dump(config))
        trial = only_trial(load_experiment(tmp_path / f"{name}.yaml"), all_rows=True)
        scores.append(train(trial, Access(cache=tmp_path)).decision_function(frame[["a", "b", "c"]]))
    np.testing.assert_allclose(*scores, atol=1e-5)
