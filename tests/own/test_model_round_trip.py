"""A model that was saved and loaded predicts as before, bit for bit, whatever it is made of."""

import numpy as np
import pytest
from scipy.sparse import csr_array, issparse
from sklearn.base import clone

import kfeat
from kfeat.errors import ModelError
from kfeat.kernels import KERNELS, Compositional, Exponential, Gaussian, Laplacian, Polynomial, Sum
from kfeat.maps import (
    MAPS,
    CompositionalMaclaurin,
    Nystrom,
    RandomBinning,
    RandomFourier,
    Stacked,
    TensorSketch,
)
from kfeat.own import KernelModel
from kfeat.solvers import SOLVERS, KernelRidge, Liblinear, Libsvm, Newton, Ridge

rng = np.random.default_rng(0)
X = rng.random((90, 6))
X[X < 0.3] = 0
LABELS = np.digitize(X[:, 0] + X[:, 1] * X[:, 2], [0.4, 0.8])
TARGETS = X[:, 0] - X[:, 1] * X[:, 3]
METHODS = ("predict", "decision_function", "predict_proba", "transform")


def bits(A):
    return (A.toarray() if issparse(A) else A).tobytes()


def same_after_a_round_trip(model, folder, rows=X):
    """Save and load a model, and compare the bits of all that it predicts, of dense and of sparse rows."""
    model.save(folder / "model.kfeat")
    loaded = kfeat.load_model(folder / "model.kfeat")
    for method in METHODS:
        assert hasattr(model, method) == hasattr(loaded, method)
        for some in (rows, csr_array(rows)) if hasattr(model, method) else ():
            before, after = getattr(model, method)(some), getattr(loaded, method)(some)
            assert before.dtype == after.dtype
            assert bits(before) == bits(after), method
    assert repr(loaded) == repr(model)
    assert set(vars(loaded)) == set(vars(model))
    return loaded


@pytest.mark.parametrize("name", MAPS)
def test_every_map(name, tmp_path):
    dtype = "float64" if len(name) % 2 else "float32"
    model = KernelModel(MAPS[name](random_state=0), Ridge(), dtype=dtype).fit(X, TARGETS)
    loaded = same_after_a_round_trip(model, tmp_path)
    assert vars(loaded.map_).keys() == vars(model.map_).keys()
    for key, value in vars(model.map_).items():
        if isinstance(value, np.ndarray):
            np.testing.assert_array_equal(value, getattr(loaded.map_, key))


@pytest.mark.parametrize("name", SOLVERS)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_every_solver(name, n_classes, tmp_path):
    solver = SOLVERS[name](**({"C_max": 1.0} if name == "newton_cv" else {}))
    y = TARGETS if solver.task == "regression" else np.minimum(LABELS, n_classes - 1)
    model = KernelModel(solver=solver, scale="zscore").fit(X, y)
    loaded = same_after_a_round_trip(model, tmp_path)
    assert loaded.solver_.subproblems_ == model.solver_.subproblems_  # how the solve went is kept too
    assert loaded.solver_.times_ == model.solver_.times_


@pytest.mark.parametrize("name", KERNELS)
def test_every_kernel_in_an_exact_machine(name, tmp_path):
    same_after_a_round_trip(
        KernelModel(solver=Libsvm(KERNELS[name]()), scale={"divide": 4.0}).fit(X, LABELS), tmp_path
    )


@pytest.mark.parametrize(
    "model",
    [
        KernelModel(Nystrom(Gaussian("median"), landmarks=csr_array(X[:9])), Liblinear(7)),
        KernelModel(
            Stacked(Sum([Polynomial(2), Laplacian()]), [TensorSketch(), RandomFourier()], random_state=0),
            Newton(),
        ),
        KernelModel(
            CompositionalMaclaurin(Compositional(Exponential(), Gaussian()), random_state=1), Newton()
        ),
        KernelModel(solver=Libsvm(solver_type=3)),
        KernelModel(
            solver=Libsvm(Polynomial(3, coef0=1), max_iter=10_000, class_weight={0: 1.0, 1: 2, 2: 3})
        ),
        KernelModel(solver=KernelRidge(Laplacian("median"))),
        KernelModel(
            solver=Newton(), scale=["minmax_symmetric", "maxabs", "unit_rows", {"divide": 3.0}, "global_norm"]
        ),
        KernelModel(solver=Newton(class_weight="balanced"), constant_features="drop"),
        KernelModel(RandomBinning(Laplacian(0.5)), Newton(), ["zscore", "learnt_metric"]),
        KernelModel(solver=Newton(), scale=["zscore", "learnt_rotation"]),
    ],
    ids=range(10),
)
def test_what_else_a_model_may_hold(model, tmp_path):
    solver = model.solver
    rows = np.column_stack([X, np.ones(len(X))]) if model.constant_features == "drop" else X
    model = clone(model).fit(rows, TARGETS if solver and solver.task == "regression" else LABELS)
    loaded = same_after_a_round_trip(model, tmp_path, rows)
    assert loaded.preparation_.n_features == rows.shape[1]


def test_labels_that_are_words_come_back(tmp_path):
    words = np.array(["red", "green", "blue"])[LABELS]
    model = KernelModel(solver=Liblinear()).fit(X, words)
    loaded = same_after_a_round_trip(model, tmp_path)
    assert loaded.classes_.tolist() == ["blue", "green", "red"]
    assert loaded.score(X, words) > 0.7
    assert set(loaded.predict(X)) <= set(words)


class Foreign(Ridge):
    """A solver that kfeat does not know."""


def test_what_a_file_cannot_hold_is_refused_by_name(tmp_path):
    with pytest.raises(ModelError, match=f"cannot hold an object of {__name__}.Foreign"):
        KernelModel(solver=Foreign()).fit(X, TARGETS).save(tmp_path / "model")
    with pytest.raises(ModelError, match="call fit first"):
        KernelModel().save(tmp_path / "model")
    assert not list(tmp_path.iterdir())
