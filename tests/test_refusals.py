"""Parameters of a wrong type or range, and numbers that overflow: one sentence each."""

import re

import numpy as np
import pytest
from scipy.sparse import csr_array

from kfeat import memory
from kfeat.errors import DataError, KfeatError, ParameterError, SolverError
from kfeat.kernels import KERNELS, Gaussian, Laplacian, Linear, Polynomial, Sum
from kfeat.kernels.base import generator
from kfeat.maps import Nystrom, RandomFourier, RandomMaclaurin, TensorSketch
from kfeat.solvers import SOLVERS, DualDescent, Liblinear, Libsvm, NewtonCV, RidgeCV
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


@pytest.mark.parametrize("kernel", [Linear(), Polynomial(4), Sum([Polynomial(4)])])
def test_libsvm_refuses_kernel_values_beyond_its_cache(kernel):
    with pytest.raises(SolverError, match=r"values of .* reach .* beyond the single precision"):
        Libsvm(kernel).fit(X * (1e45 if isinstance(kernel, Linear) else 1e22), y)
    with pytest.raises(KfeatError, match="scale them down"):
        Libsvm(kernel).fit(X * 1e160, y)


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


def test_what_does_not_fit_is_refused_with_its_bytes(monkeypatch):
    class Memory:
        available = 100_000

    monkeypatch.setattr(memory.psutil, "virtual_memory", Memory)
    for use in (
        lambda: RandomFourier(n_components=10_000).fit(X),
        lambda: RandomMaclaurin(n_components=10_000).fit(X),
        lambda: TensorSketch(n_components=1000).fit(X).transform(X),
    ):
        with pytest.raises((ParameterError, DataError), match=r"takes [\d,]+ bytes, 100,000 are free"):
            use()
