"""Newton minimises LIBLINEAR's own objectives: held against LIBLINEAR at a tight tolerance."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.linear_model import LogisticRegression

from kfeat.errors import DataError, ParameterError, SolverError
from kfeat.solvers import Liblinear, Newton
from kfeat.solvers.class_weights import weights_of_codes
from kfeat.solvers.newton_descent import LOSSES
from kfeat.solvers.newton_system import FORCING, MOST_CG, conjugate_gradients, design, hessian_factor
from tests.solvers.problems import features, labels, problem

TYPES = {"squared_hinge": 2, "logistic": 0}


def gradients(solver, loss, X, y):
    """The gradient of each one-against-rest objective, recomputed in double precision."""
    classes = range(len(solver.classes_)) if len(solver.classes_) > 2 else [1]
    A = X.astype(float)
    if solver.bias >= 0:
        A = np.hstack([A, np.full((len(X), 1), solver.bias)])
    found = []
    for row, k in enumerate(classes):
        w = solver.coef_[row]
        w = np.append(w, solver.intercept_[row] / solver.bias) if solver.bias > 0 else w
        s = np.where(y == solver.classes_[k], 1.0, -1.0)
        found.append(w + solver.C * A.T @ (s * LOSSES[loss].gradient(s * (A @ w))))
    return np.array(found)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("loss", list(TYPES))
@pytest.mark.parametrize("bias", [-1.0, 1.0])
def test_reaches_liblinear_s_tight_optimum(loss, classes, dtype, bias):
    X, y = problem(1500, 30, dtype=dtype, classes=classes)
    ours = Newton(loss, C=2.0, eps=1e-6, bias=bias).fit(X, y)
    theirs = Liblinear(TYPES[loss], C=2.0, eps=1e-8, bias=bias).fit(X, y)
    assert ours.objective_ == pytest.approx(theirs.objective_, rel=1e-6)
    # |w - w*| <= |grad f(w)|, as f is strongly convex: scores differ by at most that times |x|.
    reach = sum(np.linalg.norm(gradients(s, loss, X, y), axis=1).max() for s in (ours, theirs))
    reach *= np.sqrt((X.astype(float) ** 2).sum(axis=1) + max(bias, 0) ** 2) + 1e-6
    scores = theirs.decision_function(X)
    if classes == 2:
        sure = np.abs(scores) > reach
    else:
        best = np.sort(scores, axis=1)
        sure = best[:, -1] - best[:, -2] > 2 * reach
    assert sure.mean() > 0.9
    assert np.array_equal(ours.predict(X)[sure], theirs.predict(X)[sure])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("loss", list(TYPES))
def test_the_gradient_meets_the_stated_tolerance(loss, dtype):
    X, y = problem(2000, 25, dtype=dtype, classes=3)
    solver = Newton(loss, eps=1e-4).fit(X, y)
    assert solver.stop_reason_ == "tolerance"
    at_zero = Newton(loss)
    at_zero.classes_, at_zero.coef_, at_zero.intercept_ = solver.classes_, 0 * solver.coef_, np.zeros(3)
    rarer = np.minimum(np.bincount(y), 2000 - np.bincount(y)) / 2000
    allowed = 1e-4 * rarer * np.linalg.norm(gradients(at_zero, loss, X, y), axis=1)
    assert (np.linalg.norm(gradients(solver, loss, X, y), axis=1) <= 1.05 * allowed).all()


def test_stopping_early_is_told():
    X = features(2000, 25)
    solver = Newton(max_iter=1, eps=1e-8).fit(X, labels(X, 3))
    assert (solver.converged_, solver.stop_reason_, solver.n_iter_) == (False, "iteration limit", 1)
    deep = Newton(eps=1e-14).fit(X.astype(np.float32), labels(X, 3))
    assert (deep.converged_, deep.stop_reason_) == (False, "rounding")


@pytest.mark.parametrize("C", [1e-3, 1.0, 1e3])
def test_badly_scaled_and_dependent_columns(C):
    X = features(800, 20) * np.logspace(-3, 4, 20)
    X = np.hstack([X, X[:, :5], np.zeros((800, 3))]).astype(np.float32)
    y = labels(features(800, 20), 2)
    ours = Newton(C=C, eps=1e-5).fit(X, y)
    theirs = Liblinear(2, C=C, eps=1e-8).fit(X, y)
    assert ours.objective_ <= theirs.objective_ * (1 + 1e-5)
    assert np.array_equal(ours.coef_[0, -3:], np.zeros(3))


@pytest.mark.parametrize(
    ("n", "d", "dtype"), [(60, 200, np.float32), (60, 200, np.float64), (400, 150, np.float32)]
)
def test_classes_that_can_be_separated_get_the_widest_margin(n, d, dtype):
    X = 100 * features(n, d, dtype=dtype)
    y = labels(X, 3)  # a tenth of them at random: still separable in so many dimensions
    ours, theirs = Newton(C=10.0, eps=1e-5).fit(X, y), Liblinear(2, C=10.0, eps=1e-10).fit(X, y)
    assert ours.objective_ < 0.01 * 3 * 10 * n
    assert ours.objective_ == pytest.approx(theirs.objective_, rel=1e-3)
    T = 100 * features(500, d, seed=9)
    np.testing.assert_allclose(
        ours.decision_function(T),
        theirs.decision_function(T),
        atol=0.02 * np.abs(theirs.decision_function(T)).max(),
    )


@pytest.mark.parametrize("bias", [-1.0, 2.0])
def test_csr_equals_dense(bias):
    X, y = problem(700, 30, density=0.2, classes=3)
    dense, sparse = Newton(bias=bias, eps=1e-8).fit(X, y), Newton(bias=bias, eps=1e-8).fit(csr_array(X), y)
    np.testing.assert_allclose(dense.coef_, sparse.coef_, atol=1e-7)
    np.testing.assert_allclose(dense.decision_function(X), sparse.decision_function(csr_array(X)), atol=1e-6)


def test_class_weights_are_liblinear_s():
    X = features(700, 10)
    for classes in (2, 3):
        y = labels(X, classes)
        options = {"C": 2.0, "class_weight": {0: 5.0, 1: 0.5}}
        ours, theirs = Newton(eps=1e-8, **options).fit(X, y), Liblinear(2, eps=1e-8, **options).fit(X, y)
        np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-5)


def test_logistic_regression_of_two_classes_is_scikit_learn_s():
    X, y = problem(500, 10, classes=2)
    logistic = LogisticRegression(fit_intercept=False, tol=1e-9).fit(X, y)
    ours = Newton("logistic", eps=1e-8).fit(X, y)
    np.testing.assert_allclose(ours.coef_, logistic.coef_, atol=1e-5)
    np.testing.assert_allclose(ours.predict_proba(X), logistic.predict_proba(X), atol=1e-5)


def test_warm_starts_along_c_save_steps_and_change_nothing():
    X, y = problem(2000, 40, classes=3)
    path = Newton(eps=1e-7, warm_start=True, bias=1.0)
    for C in (0.5, 1.0, 2.0):
        path.set_params(C=C).fit(X, y)
    cold = Newton(C=2.0, eps=1e-7, bias=1.0).fit(X, y)
    assert path.objective_ == pytest.approx(cold.objective_, rel=1e-9)
    assert path.set_params(C=2.0).fit(X, y).n_iter_ <= 1 < cold.n_iter_
    other = path.fit(X[:, :5], y)  # another width: starts anew
    assert other.coef_.shape == (3, 5)


@pytest.mark.parametrize("loss", list(TYPES))
@pytest.mark.parametrize(("n", "d", "classes"), [(2000, 40, 3), (60, 600, 3), (60, 600, 2)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("Cs", [(0.5, 5.0, 50.0), (1e3, 1e-4)])
def test_a_path_ends_where_each_cost_ends_by_itself(n, d, classes, loss, dtype, Cs):
    """With a factor (the first two shapes), and with the Hessian's diagonal."""
    X = features(n, d).astype(dtype)
    y = np.array(["a", "b", "c"])[labels(X, classes)]
    options = {"loss": loss, "eps": 1e-5, "bias": 1.0, "class_weight": {"a": 2.0}}
    cheaper = []
    for C, solver in zip(Cs, Newton(**options).path(X, y, Cs), strict=True):
        cold = Newton(C=C, **options).fit(X, y)
        assert C == solver.C
        assert solver.converged_ or (dtype == np.float32 and solver.stop_reason_ == "rounding")
        assert solver.objective_ == pytest.approx(cold.objective_, rel=1e-4)
        cheaper.append(solver.n_iter_ < cold.n_iter_)
    assert n == 60 or Cs[0] > Cs[1] or all(cheaper[1:])  # counts its own steps, not those of all


@pytest.mark.parametrize(("n", "d"), [(60, 600), (400, 150)])  # with the diagonal, and with a factor
def test_a_path_goes_on_from_a_class_without_loss_and_from_others(n, d):
    X = 100 * features(n, d)
    y = labels(X, 2)
    y[X[:, 0] > np.quantile(X[:, 0], 0.7)] = 2
    Cs = (1.0, 100.0)
    for C, solver in zip(Cs, Newton(eps=1e-6).path(X, y, Cs), strict=True):
        cold = Newton(C=C, eps=1e-6).fit(X, y)
        assert solver.objective_ == pytest.approx(cold.objective_, rel=2e-3)
        assert solver.stop_reason_ == "tolerance"


def test_a_path_refuses_what_fit_refuses():
    X, y = problem(50, 4, classes=2)
    path = Newton().path(X, y, [1.0, -1.0])
    next(path)
    with pytest.raises(ParameterError, match="C"):
        next(path)
    with pytest.raises(DataError):
        next(Newton().path(X, np.zeros(50), [1.0]))


@pytest.mark.parametrize("shape", [(400, 3), (10, 300)])
def test_features_that_overflow_are_refused(shape):
    X = 1e25 * features(*shape, dtype=np.float32)
    with pytest.raises(SolverError, match="overflow float32"):
        Newton().fit(X, labels(X, 2))


def test_probabilities_of_rows_far_from_every_class_are_no_nan():
    y = np.arange(300) % 3
    solver = Newton(loss="logistic").fit(np.eye(3)[y], y)
    far = solver.predict_proba([[1e4, 1e4, 1.01e4]])
    assert far.sum() == pytest.approx(1)
    assert far.argmax() == solver.decision_function([[1e4, 1e4, 1.01e4]]).argmax()


@pytest.mark.parametrize("words", [["0", "1"], ["no", "yes"], [False, True], [3.0, 7.0]])
def test_class_weights_are_named_by_the_labels(words):
    X = features(100, 4)
    codes = labels(X, 2)
    weighted = Newton(class_weight={words[0]: 1.0, words[1]: 5.0}).fit(X, np.array(words)[codes])
    plain = Newton(class_weight={0: 1.0, 1: 5.0}).fit(X, codes)
    np.testing.assert_array_equal(weighted.coef_, plain.coef_)
    with pytest.raises(ParameterError, match="no rows of"):
        Newton(class_weight={"other": 2.0}).fit(X, codes)


@pytest.mark.parametrize(
    ("weights", "words", "expected"),
    [
        ({"no": 1.0, "yes": 5.0}, ("no", "yes"), {0: 1.0, 1: 5.0}),
        ({"yes": 5.0}, ("no", "yes"), {1: 5.0}),
        ({0: 1.0, 1: 5.0}, ("no", "yes"), {0: 1.0, 1: 5.0}),  # the codes themselves
        ({1: 1.0, 2: 5.0}, ("1", "2"), {0: 1.0, 1: 5.0}),  # what the numbers spell, not codes
        ("balanced", ("no", "yes"), "balanced"),
        ({-1: 2.0}, (), {-1: 2.0}),  # labels that are numbers
    ],
)
def test_words_become_codes(weights, words, expected):
    assert weights_of_codes(weights, words) == expected


def test_a_direction_solves_its_system_also_with_the_factor_of_an_older_hessian():
    """The older one has far more active rows: measured by it, the residual looks small at once."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((2000, 60)) * np.geomspace(1, 100, 60)
    matrix, h, b = design(X, -1.0), np.zeros(2000), rng.standard_normal(60)
    h[:70] = 2.0
    older = hessian_factor(matrix.gram(), 2.0, matrix.dtype)
    d, steps = conjugate_gradients(matrix, h, b, older)
    assert steps < MOST_CG
    assert np.linalg.norm(b - d - matrix.hessian_product(h, d)) <= FORCING * np.linalg.norm(b)
