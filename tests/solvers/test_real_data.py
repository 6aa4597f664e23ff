"""The solvers on Adult: the packages' numbers, and the objectives of the issue, on real features."""

import ctypes

import numpy as np
import pytest
from liblinear import liblinearutil
from libsvm import svmutil
from scipy.sparse import csr_matrix

from kfeat.data import load
from kfeat.kernels import Polynomial
from kfeat.maps import RandomMaclaurin, TensorSketch
from kfeat.solvers import Liblinear, Libsvm, Newton

pytestmark = pytest.mark.data
KERNEL = Polynomial(4, gamma=1.0, coef0=1.0)


@pytest.fixture
def adult(mirror):
    return load("adult", mirror=mirror)


def test_libsvm_on_adult_is_the_package_s(adult):
    X, y = adult.X_train[:1500], adult.y_train[:1500].astype(float)
    T = adult.X_test[:1000]
    ours = Libsvm(KERNEL).fit(X, y)
    model = svmutil.svm_train(y, csr_matrix(X), "-t 1 -d 4 -g 1 -r 1 -q")
    assert np.array_equal(ours.dual_coef_.T, model.get_sv_coef())
    assert np.array_equal(ours.predict(T), svmutil.svm_predict([], csr_matrix(T), model, "-q")[0])


@pytest.mark.parametrize("make", [TensorSketch, RandomMaclaurin])
def test_liblinear_on_adult_s_features_is_the_package_s(adult, make):
    """Random Maclaurin's features have many zeros, which are left out: not a bit changes."""
    rows = adult.X_train[:600]
    Z = make(KERNEL, n_components=40, random_state=0).fit(rows).transform(rows)
    ours = Liblinear().fit(Z, adult.y_train[:600])
    ctypes.CDLL(None).srand(1)
    model = liblinearutil.train(adult.y_train[:600].astype(float), np.asarray(Z, dtype=np.float64), "-s 1 -q")
    sign = 1 if ours.order_[0] == 1 else -1
    assert np.array_equal(sign * ours.coef_[0], model.w[: Z.shape[1]])


def test_newton_reaches_liblinear_s_optimum_on_adult(adult):
    Z = TensorSketch(KERNEL, n_components=200, random_state=0).fit(adult.X_train).transform(adult.X_train)
    tight = Liblinear(2, eps=1e-8).fit(Z, adult.y_train)
    assert Newton(eps=1e-5).fit(Z, adult.y_train).objective_ == pytest.approx(tight.objective_, rel=1e-6)
    default = Newton().fit(Z, adult.y_train).objective_
    assert default <= Liblinear(2).fit(Z, adult.y_train).objective_
