"""What a search maximises, beside a constant and boosting; weights of classes, folds, and probabilities."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn import metrics
from sklearn.calibration import calibration_curve
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GroupKFold, ShuffleSplit, StratifiedKFold
from sklearn.svm import SVC

import kfeat
from kfeat.data.dataset import Dataset
from kfeat.errors import ConfigError, DataError
from kfeat.experiments.config import load_experiment
from kfeat.kernels import Gaussian
from kfeat.maps import RandomFourier
from kfeat.own import KernelModel, load_model, search
from kfeat.own.bench import LocalScorer, Scorer, folds_of, metric_of
from kfeat.own.candidates import Candidate
from kfeat.own.model import scores_of
from kfeat.own.new_config import default_metric
from kfeat.own.search import SearchResult
from kfeat.own.training import setup_of
from kfeat.render import tuning
from kfeat.render.tuning import score_text, sentences, warnings_of
from kfeat.solvers import Liblinear, Libsvm, Newton
from tests.own.asking import churn, config
from tests.own.test_search import FACTS, scored

rng = np.random.default_rng(0)
X = rng.normal(size=(400, 4))
RARE = np.where(X[:, 0] + 0.7 * rng.normal(size=400) > 1.6, 7, 3)  # the last class is the rare one


@pytest.mark.parametrize(
    "name",
    ["accuracy", "balanced_accuracy", "roc_auc", "average_precision", "f1", "f1_macro", "neg_log_loss"],
)
def test_a_metric_is_that_of_scikit_learn_whatever_the_labels_are(name):
    """Also where scikit-learn wants 0 and 1, or -1 and 1, for two classes."""
    model = Newton(loss="logistic").fit(X, RARE)
    codes = (RARE == 7).astype(int)
    theirs = metrics.get_scorer(name)(Newton(loss="logistic").fit(X, codes), X, codes)
    assert metric_of(name, RARE, True).of(model, X, RARE) == pytest.approx(theirs)


def test_decision_values_alone_have_a_log_loss_near_that_of_logistic_regression():
    metric = metric_of("neg_log_loss", RARE, True)
    loss, theirs = (metric.of(m.fit(X, RARE), X, RARE) for m in (SVC(), LogisticRegression()))
    constant = metrics.log_loss(RARE == 7, np.full(400, np.mean(RARE == 7)))
    assert -constant + 0.03 < loss < 0
    assert abs(loss - theirs) < 0.08


@pytest.mark.parametrize(
    ("name", "y", "told"),
    [
        ("acuracy", RARE, r"no scorer 'acuracy' \(did you mean 'accuracy'\?\); such as accuracy, bal"),
        ("roc_auc", np.arange(30) % 3, r"roc_auc does not suit 3 classes; these do: .*roc_auc_ovr"),
        ("f1", np.arange(30) % 3, r"f1 does not suit 3 classes; these do: .*f1_macro"),
        ("r2", RARE, r"r2 does not suit 2 classes"),
        ("roc_auc", X[:, 0], r"roc_auc does not suit a regression; these do: r2, neg_mean_abs"),
        ("neg_mean_squared_log_error", X[:, 0] - 5, "does not suit a regression"),
    ],
)
def test_a_metric_that_does_not_suit_the_labels_is_refused(name, y, told):
    with pytest.raises(ConfigError, match=told):
        metric_of(name, y, y.dtype.kind != "f")


def test_the_accuracy_counts_unless_nearly_all_rows_have_one_label():
    assert default_metric(np.arange(100) % 2, True) == ("accuracy", "")
    name, why = default_metric((np.arange(100) < 4).astype(int), True)
    assert name == "balanced_accuracy"
    assert why.startswith("96.0% of the rows")
    assert default_metric(X[:, 0], False) == ("r2", "")


@pytest.mark.parametrize("metric", [None, "roc_auc"])
def test_rare_classes_are_told_apart_and_have_probabilities(metric, monkeypatch):
    """By accuracy a search returned the majority class: balanced accuracy 0.5."""
    monkeypatch.setattr(search, "MOST", 1)
    frame, y = churn(1500)
    model = kfeat.KernelClassifier(budget=4, scoring=metric, n_jobs=1).fit(frame[:900], y[:900])
    rows, labels = frame[900:], y[900:]
    assert metrics.balanced_accuracy_score(labels, model.predict(rows)) > (0.7 if metric is None else 0.49)
    assert metrics.roc_auc_score(labels == "yes", model.decision_function(rows)) > 0.8
    assert model.search_.facts.metric == (metric or "balanced_accuracy")
    assert not model.search_.constant_is_as_good
    assert abs(model.predict_proba(rows)[:, 1].mean() - 0.04) < 0.02  # although classes were weighted


def regression(scale=1.0):
    return scale * (X[:, 0] * X[:, 1] + 0.1 * rng.normal(size=400))


@pytest.mark.parametrize("metric", ["neg_mean_absolute_error", "r2"])
def test_a_regression_is_compared_by_its_metric(metric, monkeypatch):
    monkeypatch.setattr(search, "MOST", 2)
    y = regression(1000.0)
    model = kfeat.KernelRegressor(budget=4, scoring=metric, n_jobs=1).fit(X, y)
    best = model.search_.best
    assert (best.score < 0) == (metric == "neg_mean_absolute_error")
    errors = abs(y - model.predict(X)).mean()
    assert errors < abs(y).mean() / 3
    assert "-" not in score_text(best.score, metric)


def test_noise_is_no_better_than_a_constant_and_says_so(monkeypatch):
    monkeypatch.setattr(search, "MOST", 1)
    y = rng.random(400) < 0.04
    model = kfeat.KernelClassifier(budget=4, scoring="accuracy", n_jobs=1)
    with pytest.warns(UserWarning, match="nothing is better than a constant"):
        model.fit(X, y)
    assert model.search_.constant == pytest.approx(np.mean(~y), abs=0.005)
    (told,) = warnings_of(model.search_)
    assert told.startswith("NOTHING IS BETTER THAN A CONSTANT: always the most frequent class has 9")


def test_boosting_that_is_ahead_in_each_fold_comes_first():
    best = replace(scored(300, 0.8, 1.0), folds=(0.79, 0.8, 0.81))
    told = {
        "score": 0.822,
        "folds": [0.81, 0.82, 0.836],
        "test": {"score": 0.8, "train": 3.0, "predict": 0.1},
    }
    result = SearchResult(FACTS, [best], best, boosting=told)
    first = sentences(result)[0]
    assert first == (
        "BOOSTING IS AHEAD: scikit-learn's HistGradientBoosting has 82.20 % in 3.0 s, ahead by 2.20, on the "
        "same folds."
    )
    assert "boosting" in tuning.tests(result).terminal()
    for folds in ([0.79, 0.85, 0.83], [0.791, 0.802, 0.812]):  # not in each fold; less than half a point
        assert replace(result, boosting=told | {"folds": folds}).ahead == 0.0


def test_what_failed_in_training_gives_way_to_what_was_trained():
    best, other = scored(300, 0.9, 1.0), scored(300, 0.8, 2.0)
    tested = {other: {"score": 0.8, "train": 1.0, "predict": 0.1}}
    result = SearchResult(FACTS, [best, other], best, tests={best: {"failed": "no memory"}, **tested})
    assert result.trained == other
    assert "gamma=2" in sentences(result)[-1]
    assert replace(result, tests={}).trained == best
    assert "takes about" in sentences(replace(result, tests={}))[-1]


def test_the_boosting_of_a_scorer_is_scored_on_the_folds_and_the_test_rows(tmp_path):
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    setup = setup_of(load_experiment(config(tmp_path, "{name: linear}", X, y)), 0)
    scorer = Scorer(threads=1, **setup.bench(0))
    told = scorer.boosting(320)
    assert len(told["folds"]) == 5
    assert min(told["score"], told["test"]["score"]) > 0.8 > scorer.constant(320)["score"] + 0.2


def test_the_usual_scores_are_those_of_scikit_learn_for_three_classes_too():
    y = np.array(["b", "a", "c"])[np.digitize(X[:, 0], [-0.5, 0.5])]
    model = KernelModel(solver=Newton(loss="logistic")).fit(X, y)
    outputs = model.outputs(X, ["predict", "decision_function", "predict_proba"])
    found = scores_of(outputs, y, model.classes_)
    assert found["f1"] == pytest.approx(metrics.f1_score(y, outputs["predict"], average="macro"))
    assert found["log_loss"] == pytest.approx(metrics.log_loss(y, outputs["predict_proba"]))
    assert "roc_auc" not in found
    assert found["chance"] == pytest.approx(1 / 3)


def test_probabilities_are_learnt_on_held_out_rows_and_kept_in_the_file(tmp_path):
    rows = np.random.default_rng(1).normal(size=(3000, 2))
    y = np.random.default_rng(2).random(3000) < 1 / (1 + np.exp(-2 * rows[:, 0]))
    model = KernelModel(RandomFourier(Gaussian(0.1), n_components=40, random_state=0), Newton()).fit(
        rows[:1200], y[:1200]
    )
    assert not hasattr(model, "predict_proba")
    folds = [(np.arange(1200) % 3 != k, np.arange(1200) % 3 == k) for k in range(3)]
    model.calibrate(model.preparation_.rows(rows[:1200]), y[:1200], folds)
    probabilities = model.predict_proba(rows[1200:])
    share, predicted = calibration_curve(y[1200:], probabilities[:, 1], n_bins=5)
    assert abs(share - predicted).max() < 0.1
    model.save(tmp_path / "m")
    np.testing.assert_array_equal(load_model(tmp_path / "m").predict_proba(rows[1200:]), probabilities)
    model.fit(rows, y)
    assert not hasattr(model, "predict_proba")  # an earlier fit's


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize(
    "solver", [Newton(), Newton(loss="logistic"), Libsvm(Gaussian(0.5)), Liblinear(solver_type=0)], ids=repr
)
def test_the_label_has_the_largest_probability_also_far_away(n_classes, solver):
    rows = np.random.default_rng(1).normal(size=(300, 3))
    y = np.digitize(rows[:, 0] * rows[:, 1], [-0.3, 0.3][: n_classes - 1])
    folds = [(np.flatnonzero(np.arange(300) % 3 != k), np.arange(k, 300, 3)) for k in range(3)]
    model = KernelModel(solver=solver).fit(rows, y)
    model.calibrate(model.preparation_.rows(rows), y, folds)
    near = model.predict_proba(rows)
    for times in (1, 1e2, 1e6):
        found = model.predict_proba(times * rows)
        assert (found.argmax(axis=1) == model.predict(times * rows)).all()
        np.testing.assert_allclose(found.sum(axis=1), 1)
        assert found.max() <= 1
    if n_classes == 2:  # a larger score has no smaller probability
        order = model.decision_function(rows).argsort()
        assert (np.diff(near[order, 1]) >= -1e-12).all()


def test_probabilities_of_weighted_classes_are_those_of_the_data():
    rows = np.random.default_rng(1).normal(size=(900, 2))
    y = (rows[:, 0] + np.random.default_rng(2).normal(size=900) > 2).astype(int)
    folds = [(np.flatnonzero(np.arange(900) % 3 != k), np.arange(k, 900, 3)) for k in range(3)]
    model = KernelModel(solver=Newton(class_weight="balanced", bias=1.0)).fit(rows, y)
    found = model.calibrate(model.preparation_.rows(rows), y, folds).predict_proba(rows)
    assert found[:, 1].mean() == pytest.approx(y.mean(), abs=0.01)
    assert model.predict(rows).mean() > 2 * y.mean()  # labels are moved towards the rare class


@pytest.mark.filterwarnings("ignore:nothing is better")
def test_rows_of_a_group_stay_together_and_leaks_do_not_count(monkeypatch):
    """Each group has a place and a label of its own: its rows are easy if some were seen, else impossible."""
    monkeypatch.setattr(search, "MOST", 1)
    draws = np.random.default_rng(4)
    groups = np.repeat(np.arange(60), 6)
    rows = draws.normal(size=(60, 3))[groups] + 0.01 * draws.normal(size=(360, 3))
    y = (draws.random(60) < 0.5)[groups]
    leaky, fair, same = (
        kfeat.KernelClassifier(budget=4, n_jobs=1),
        *(kfeat.KernelClassifier(budget=4, n_jobs=1, cv=cv) for cv in (None, GroupKFold(3))),
    )
    assert leaky.fit(rows, y).search_.best.score > 0.9
    for model in (fair, same):
        assert model.fit(rows, y, groups=groups).search_.best.score < 0.75
    with pytest.raises(DataError, match="two groups or more"):
        kfeat.KernelClassifier(budget=5).fit(rows, y, groups=np.zeros(360))


def test_folds_are_of_whole_groups_or_later_rows_and_are_cut_to_a_subsample():
    y, groups = np.arange(90) % 2, np.arange(90) // 9
    for seen, held in folds_of("group", y, groups, True, 0):
        assert not set(groups[seen]) & set(groups[held])
    times = np.random.default_rng(0).permutation(90)
    for seen, held in folds_of("time", y, times, True, 0):
        assert times[seen].max() < times[held].min()
    ((seen, held),) = folds_of(ShuffleSplit(1, random_state=0), y, None, True, 0)
    assert (len(seen), len(held)) == (81, 9)


def test_a_scorer_of_chosen_folds_uses_them_on_fewer_rows(monkeypatch):
    y = (X[:, 0] > 0).astype(int)

    def data(scale):
        return Dataset("toy", X, y, X[:0], y[:0], "classification", "", False, by=np.arange(400) % 7)

    scorer = Scorer(data, 0, 1, cv="group")
    rows, folds = scorer.folds(100)
    assert len(rows) == 100
    assert sum(len(held) for _, held in folds) == 100
    for seen, held in folds:
        assert not set(rows[seen] % 7) & set(rows[held] % 7)
    answer = LocalScorer(scorer).ask(
        "score", 1e9, candidate=Candidate("own", {"name": "linear"}, None, "logistic"), n=100, values=[1.0]
    )
    assert answer["score"] > 0.9


@pytest.mark.filterwarnings("error::sklearn.exceptions.ConvergenceWarning")
def test_probabilities_of_many_classes_are_learnt_without_a_warning():
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(16), 24)
    rows = rng.normal(size=(384, 6)) + 0.5 * y[:, None] * rng.normal(size=6)
    model = KernelModel(solver=Newton(C=1000.0), scale="zscore").fit(rows, y)
    prepared = model.preparation_.rows(rows)
    model.calibrate(prepared, y, list(StratifiedKFold(3).split(rows, y)))
    assert model.calibrator_.n_iter_.max() < model.calibrator_.max_iter
