"""Parameters of a wrong type or range, and numbers that overflow: one sentence each."""

import re
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.sparse import csr_array

from kfeat import memory
from kfeat.errors import DataError, KfeatError, ParameterError, SolverError, UnsupportedKernelError
from kfeat.kernels import KERNELS, Gaussian, Laplacian, Linear, Matern, Polynomial, Sum
from kfeat.kernels.operands import generator
from kfeat.maps import Nystrom, RandomFourier, RandomMaclaurin, TensorSketch
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
from kfeat.solvers.native import node_rows
from tests.solvers.problems import features, labels

X = features(30, 4)
y = labels(X, 2)

WRONG = [
    lambda: TensorSketch(n_components="10").fit(X),
    lambda: TensorSketch(n_components=2.0).fit(X),
    lambda: RandomFourier(n_components=10**30).fit(X),
    lambda: RandomFourier(n_jobs="2").fit(X),
    lambda: RandomFourier(n_jobs=0).fit(X),
    lambda: RandomFourier(random_state="seed").fit(X),
    lambda: RandomFourier(random_state=-1).fit(X),
    lambda: RandomMaclaurin(h01="yes").fit(X),
    lambda: Nystrom(rank=True).fit(X),
    lambda: Polynomial(1e30)(X),
    lambda: Polynomial(10**30)(X),
    lambda: Polynomial("2").diagonal(X),
    lambda: Polynomial(coef0=float("nan"))(X),
    lambda: Polynomial(gamma=0.0)(X),
    lambda: Polynomial(coef0=-1.0)(X),
    lambda: Matern(nu=0.2)(X),
    lambda: Matern(nu=101.0)(X),
    lambda: Matern(nu=float("nan"))(X),
    lambda: TensorSketch(Polynomial(0)).fit(X),
    lambda: Gaussian(float("inf"))(X),
    lambda: Gaussian("wide").resolve(X),
    lambda: Sum([Polynomial(0)])(X),
    lambda: Sum([Linear()], [float("inf")])(X),
    lambda: Sum("kernels")(X),
    lambda: Libsvm(C="1").fit(X, y),
    lambda: Libsvm(eps=3).fit(X, y),
    lambda: Libsvm(Polynomial("3")).fit(X, y),
    lambda: Liblinear(C=float("nan")).fit(X, y),
    lambda: Liblinear(class_weight={0: "2"}).fit(X, y),
    lambda: DualDescent(random_state="seed").fit(X, y),
    lambda: DualDescent(max_iter=10**30).fit(X, y),
    lambda: NewtonCV(random_state=-1).fit(X, y),
    lambda: NewtonCV(C_factor=1 + 1e-9).fit(X, y),
    lambda: RidgeCV(folds=10**15).fit(X, y),
    lambda: generator("seed"),
]


@pytest.mark.parametrize("use", WRONG)
def test_wrong_parameters_are_parameter_errors(use):
    with pytest.raises(ParameterError, match=r"expected|should be|too long"):
        use()


NAMED = [
    (Libsvm(C=-1.0), ParameterError, "C: "),
    (Svc(eps=3.0), ParameterError, "Svc: eps: expected at most 2"),
    (Liblinear(C=0.0), ParameterError, "C: "),
    (Liblinear(C=float("inf")), ParameterError, "C: "),
    (Liblinear(solver_type=8), ParameterError, "solver_type: .*got 8"),
    (Liblinear(eps=-1.0), ParameterError, "eps: "),
    (Liblinear(regularize_bias=False), ParameterError, "-B 1"),
    (Newton(loss="hinge"), ParameterError, "loss: "),
    *((cls(class_weight={0: 0.0}), ParameterError, "above 0") for cls in (Newton, Liblinear, Libsvm)),
    *((cls(kernel="rbf"), UnsupportedKernelError, r"kfeat.kernels.*'rbf'") for cls in (Libsvm, KernelRidge)),
    *((cls(kernel=Gaussian(-1.0)), ParameterError, "gamma") for cls in (Libsvm, KernelRidge)),
    (Ridge(0.0), ParameterError, "alpha: "),
    (RidgeCV(1.0, 0.1), ParameterError, "exchange"),
    (RidgeCV(folds=31), DataError, "31 folds"),
]


@pytest.mark.parametrize(("solver", "kind", "message"), NAMED)
def test_parameters_of_solvers_are_named(solver, kind, message):
    with pytest.raises(kind, match=message):
        solver.fit(X, y)


def test_bad_labels_and_batches_are_refused():
    for solver in (Liblinear(), Libsvm(), Newton()):
        with pytest.raises(DataError, match="2 classes"):
            solver.fit(X, np.ones(30))
    with pytest.raises(ValueError, match="NaN"):
        Liblinear().fit(X, np.where(np.arange(30) == 3, np.nan, 1.0))
    with pytest.raises(ValueError, match="inconsistent"):
        Liblinear().fit(X, np.ones(29))
    with pytest.raises(DataError, match="30 rows and 9 targets"):
        Ridge().fit_batches([(X, y[:9])])
    with pytest.raises(DataError, match="got none"):
        Ridge().fit_batches([])
    with pytest.raises(SolverError, match="larger alpha"):
        KernelRidge(Polynomial(8, 100.0, 1.0), 1e-12).fit(np.ones((5, 2)), np.arange(5.0))


def test_numbers_of_numpy_and_of_another_type_that_is_as_good_are_taken():
    TensorSketch(n_components=np.int64(8), random_state=np.int32(3)).fit(X)
    Liblinear(C=np.float32(1), solver_type=1.0, class_weight={0: np.int64(2)}).fit(X, y)
    RandomFourier(random_state=np.random.default_rng(0), n_jobs=np.int8(1)).fit(X).transform(X)
    Laplacian(np.array(2.0))(X)
    NewtonCV(bias=1, folds=2).fit(X, y)
    RidgeCV(random_state=np.array(2)).fit(X, y)


@pytest.mark.parametrize("name", SOLVERS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_features_that_overflow_are_refused_or_give_finite_machines(name, dtype):
    for size in (1e10, 1e30, 1e150, 1e200):
        if dtype == np.float32 and size > 1e38:
            continue
        solver = SOLVERS[name]()
        try:
            solver.fit((X * size).astype(dtype), y)
        except KfeatError as error:
            assert re.search("scale|larger alpha", str(error))  # noqa: PT017
        else:
            assert np.isfinite(solver.predict((X * size).astype(dtype))).all()


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in SOLVERS if name != "libsvm"])  # it has its own test
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_one_row_that_is_far_too_long_is_refused_or_gives_a_finite_machine(name, dtype):
    outlier = X.astype(dtype)  # as features of a kernel that reaches 1e44 are
    outlier[0] *= 1e22
    solver = SOLVERS[name](**({"max_iter": 1000} if name in ("svc", "libsvm_cv") else {}))
    try:
        solver.fit(outlier, y)
    except SolverError as error:
        assert re.search("scale the features down", str(error))  # noqa: PT017
        assert dtype == np.float32
    else:
        assert np.isfinite(solver.predict(outlier)).all()


@pytest.mark.parametrize("machine", [Libsvm, Svc])
@pytest.mark.parametrize("kernel", [Linear(), Polynomial(4), Sum([Polynomial(4)])])
def test_libsvm_refuses_kernel_values_beyond_its_cache(kernel, machine):
    with pytest.raises(SolverError, match=r"values of .* reach .* beyond the single precision"):
        machine(kernel).fit(X * (1e45 if isinstance(kernel, Linear) else 1e22), y)
    with pytest.raises(KfeatError, match="scale them down"):
        machine(kernel).fit(X * 1e160, y)


@pytest.mark.parametrize("name", KERNELS)
def test_kernels_refuse_rows_that_are_not_finite(name):
    rows = np.zeros((3, 2))
    rows[1, 0] = np.nan
    with pytest.raises(ValueError, match=r"NaN|nan"):
        KERNELS[name]()(rows)


def test_maps_refuse_features_beyond_their_precision():
    rows = (1e15 * X).astype(np.float32)
    sketch = TensorSketch(Polynomial(4), random_state=0)
    for data in (rows, csr_array(rows)):
        with pytest.raises(DataError, match="features are not finite in float32"):
            sketch.fit(data).transform(data)
    assert np.isfinite(sketch.transform(rows.astype(np.float64))).all()


@pytest.mark.parametrize(
    "use",
    [
        lambda: RandomFourier(n_components=10_000).fit(X),
        lambda: RandomMaclaurin(n_components=10_000).fit(X),
        lambda: TensorSketch(n_components=1000).fit(X).transform(X),
        lambda: Libsvm(Laplacian(1.0)).fit(np.tile(X, (6, 1)), np.tile(y, 6)),
        lambda: KernelRidge().fit(np.tile(X, (6, 1)), np.tile(y, 6)),
        lambda: node_rows(np.ones((100, 100))),
    ],
)
def test_what_does_not_fit_is_refused_with_its_bytes(use, monkeypatch):
    monkeypatch.setattr(memory.psutil, "virtual_memory", lambda: SimpleNamespace(available=100_000))
    with pytest.raises(KfeatError, match=r"[\d,]+ bytes, 100,000 are free"):
        use()
