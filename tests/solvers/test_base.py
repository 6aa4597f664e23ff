"""Weights of rows, and the scales of targets: weight 2 is the row twice, weight 0 is the row left out."""

import re

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.sparse import csr_array
from sklearn.preprocessing import PowerTransformer
from sklearn.utils.validation import has_fit_parameter

from kfeat.batches import ArrayBatches
from kfeat.errors import DataError, ParameterError, SolverError
from kfeat.kernels import Gaussian
from kfeat.solvers import (
    SOLVERS,
    DualDescent,
    KernelRidge,
    Liblinear,
    Libsvm,
    Newton,
    NewtonCV,
    Ridge,
    RidgeCV,
    Svc,
)
from kfeat.solvers.base import TAKE_WEIGHTS, TargetScale, weight_options
from tests.solvers.problems import features, labels, values

X = features(90, 5, density=0.7)
WEIGHTS = np.random.default_rng(2).integers(0, 4, 90)
TWICE = np.repeat(np.arange(90), WEIGHTS)
SOLVED = [
    Newton(eps=1e-9, class_weight="balanced"),
    Newton("logistic", eps=1e-9, bias=1.0),
    Newton("huber", eps=1e-9, C=10.0, bias=1.0),
    Ridge(0.1),
    Ridge(0.1, target="log"),
    Ridge(0.1, target="power"),
    KernelRidge(Gaussian("median"), 0.1, target="power"),
    Ridge(0.1, fit_intercept=False),
    KernelRidge(Gaussian(0.3), 0.1),
    Svc(Gaussian(0.3), eps=1e-7, class_weight="balanced"),
]


def targets(solver, X):
    return labels(X, 3) if solver.task == "classification" else np.abs(values(X))


def answers(solver, X):
    return solver.decision_function(X) if solver.task == "classification" else solver.predict(X)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("form", [np.asarray, csr_array, ArrayBatches])
@pytest.mark.parametrize("solver", SOLVED, ids=repr)
def test_a_row_of_weight_two_is_the_row_twice(solver, form, dtype):
    if form is ArrayBatches and solver.out_of_core == "no":
        pytest.skip("it needs all rows at once")
    y, rows = targets(solver, X), X.astype(dtype)
    weighted = answers(solver.fit(form(rows), y, WEIGHTS), rows)
    objective = solver.objective_
    repeated = answers(solver.fit(form(rows[TWICE]), y[TWICE]), rows)
    plain = answers(solver.fit(form(rows), y), rows)
    atol = 1e-5 if dtype == np.float64 else 1e-3
    np.testing.assert_allclose(weighted, repeated, rtol=0, atol=atol)
    assert abs(weighted - plain).max() > 100 * atol
    solver.fit(form(rows[TWICE]), y[TWICE])
    assert objective == pytest.approx(solver.objective_, rel=1e-4)


@pytest.mark.parametrize("solver", [*SOLVED, NewtonCV(folds=2), RidgeCV(folds=2)], ids=repr)
def test_a_row_of_weight_zero_is_the_row_left_out_bit_for_bit(solver):
    y, kept = targets(solver, X), np.flatnonzero(WEIGHTS)
    weighted = answers(solver.fit(X, y, WEIGHTS), X)
    assert np.array_equal(weighted, answers(solver.fit(X[kept], y[kept], WEIGHTS[kept]), X))
    only = np.where(np.arange(90) < 60, 1.0, 0.0)
    assert np.allclose(answers(solver.fit(X, y, only), X), answers(solver.fit(X[:60], y[:60]), X), atol=1e-6)


def test_weights_choose_c_and_alpha():
    """Rows of which half have noise for labels: weighed low, they count neither in training nor in scores."""
    noisy = np.arange(600) % 2 == 0
    rows = features(600, 5)
    y = np.where(noisy, np.random.default_rng(3).integers(0, 2, 600), labels(rows, 2))
    solver = NewtonCV(folds=2)
    assert solver.fit(rows, y, np.where(noisy, 1e-6, 1.0)).cv_scores_.max() > 0.85
    assert solver.fit(rows, y).cv_scores_.max() < 0.8
    t = values(rows) + 10 * noisy * np.random.default_rng(4).normal(size=600)
    weights = np.where(noisy, 1e-6, 1.0)
    assert (
        RidgeCV(folds=2).fit(rows, t, weights).cv_errors_.min()
        < RidgeCV(folds=2).fit(rows, t).cv_errors_.min() / 9
    )


def test_weights_that_are_none_are_one_sentence():
    y = labels(X, 2)
    for weights, told in (
        (np.zeros(90), "zero"),
        (-np.ones(90), "[Nn]egative"),
        (np.full(90, np.nan), "NaN"),
        (np.ones(89), "shape"),
        (np.full(90, 1e300), r"weights: expected a weight of 0, or from 1e-30 to 1e\+30 in each row"),
        (np.full(90, 1e-320), "from 1e-30"),
    ):
        with pytest.raises(ValueError, match=told):
            Newton().fit(X, y, weights)
    with pytest.raises(ParameterError, match="takes no weights of rows: give folds"):
        RidgeCV(folds=None).fit(X, values(X), np.ones(90))


def test_solvers_without_weights_name_those_that_take_them():
    takers = [name for name in SOLVERS if has_fit_parameter(SOLVERS[name](), "sample_weight")]
    assert sorted(takers) == sorted(TAKE_WEIGHTS.split(", "))
    assert weight_options(Newton(), WEIGHTS, [0, 4])["sample_weight"].tolist() == WEIGHTS[[0, 4]].tolist()
    assert weight_options(Liblinear(), None) == {}
    with pytest.raises(
        SolverError, match=re.escape(f"Liblinear takes no weights of rows; these solvers do: {TAKE_WEIGHTS}")
    ):
        weight_options(Liblinear(), WEIGHTS)


@pytest.mark.parametrize("solver", [Liblinear(), Libsvm(Gaussian()), DualDescent()], ids=type)
def test_fit_without_weights_of_rows_refuses_them_in_one_sentence(solver):
    X, y = features(40, 3), labels(features(40, 3), 2)
    told = f"{type(solver).__name__} takes no weights of rows; these solvers do: {TAKE_WEIGHTS}"
    for given in ({"sample_weight": np.ones(40)}, {}):
        with pytest.raises(SolverError, match=re.escape(told)):
            solver.fit(X, y, *([] if given else [np.ones(40)]), **given)
    assert solver.fit(X, y, sample_weight=None).score(X, y) > 0.5


def test_huber_minimises_its_objective_and_a_gross_error_moves_it_little():
    y = values(X)
    y[0] += 1e4
    C, m = 3.0, np.quantile(y, 0.5, method="inverted_cdf")
    s = np.abs(y - m).mean()

    def objective(w):
        u = np.abs((y - m) / s - X @ w)
        return w @ w / 2 + C * np.where(u < 0.1, u**2 / 0.2, u - 0.05).sum()

    solver = Newton("huber", C=C, eps=1e-8).fit(X, y)
    theirs = minimize(objective, np.zeros(5), tol=1e-10)
    assert solver.objective_ == pytest.approx(theirs.fun, rel=1e-6)
    np.testing.assert_allclose(solver.predict(X), m + s * X @ theirs.x, atol=1e-3 * s)
    assert solver.coef_.shape == (5,)
    errors = np.abs(Newton("huber", C=1e4).fit(X, y).predict(X) - y)[1:].mean()
    assert errors < np.abs(Ridge(1e-4).fit(X, y).predict(X) - y)[1:].mean() / 5
    with pytest.raises(ParameterError, match="a regression has no classes"):
        Newton("huber", class_weight="balanced").fit(X, y)


def test_huber_goes_along_a_path_and_chooses_c():
    rows = features(400, 5)
    y = values(rows)
    along = [solver.predict(rows) for solver in Newton("huber", eps=1e-8).path(rows, y, [0.1, 10.0])]
    np.testing.assert_allclose(
        along[1], Newton("huber", C=10.0, eps=1e-8).fit(rows, y).predict(rows), atol=1e-4
    )
    chosen = NewtonCV(loss="huber").fit(rows, y)
    assert chosen.task == "regression"
    assert chosen.score(rows, y) > 0.9


@pytest.mark.parametrize("make", [Ridge, KernelRidge, lambda **more: RidgeCV(folds=3, **more)])
def test_a_target_is_learnt_on_another_scale_and_predicted_in_its_own_units(make):
    y = np.expm1(np.abs(values(features(200, 5))))
    rows = features(200, 5)
    log = make(target="log").fit(rows, y).predict(rows)
    inside = np.expm1(np.clip(make().fit(rows, np.log1p(y)).predict(rows), 0, None))
    np.testing.assert_allclose(log, inside, rtol=1e-6)
    power = PowerTransformer().fit(y[:, None])
    learnt = make().fit(rows, power.transform(y[:, None])[:, 0]).predict(rows)
    back = power.inverse_transform(learnt[:, None])[:, 0]
    np.testing.assert_allclose(
        make(target="power").fit(rows, y).predict(rows), np.maximum(back, y.min()), rtol=1e-6
    )
    with pytest.raises(DataError, match="log needs targets of 0 or more, got -1; power takes all"):
        make(target="log").fit(rows, np.where(y > 1, y, -1))


def test_a_prediction_stays_within_the_targets_where_the_way_back_explodes():
    y = np.exp(3 * values(features(200, 5)))
    for target in ("log", "power"):
        far = Ridge(1e-6, target=target).fit(features(200, 5), y).predict(1e4 * features(9, 5))
        assert np.isfinite(far).all()
        assert y.min() * 0.99 <= far.min() <= far.max() <= y.max() * 1.01
    rng = np.random.default_rng(0)
    for _ in range(60):  # of which the way back is inf, or NaN, for some
        sign, heavy = rng.choice([-1.0, 1.0]), np.exp(rng.uniform(3, 6) * rng.normal(size=100))
        scale = TargetScale.learn("power", sign * heavy)
        ends = scale.of(np.sort(sign * heavy))
        back = scale.back(np.concatenate([ends, [-1e9, 1e9], ends.max() + 1e-12 * np.arange(-3, 4)]))
        assert np.sort(sign * heavy)[0] <= back.min() <= back.max() <= np.sort(sign * heavy)[-1]
    with pytest.raises(ParameterError, match="needs all targets: call fit"):
        Ridge(target="log").fit_batches([(X, values(X))])
    fitted = Ridge(target="log").fit(features(200, 5), y).set_params(target="none")
    assert fitted.fit_batches([(X, values(X))]).predict(X).min() < 0  # the scale of the earlier fit is gone
