"""Every solver is a scikit-learn estimator."""

import numpy as np
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from kfeat.errors import DataError
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
    Solver,
    Svc,
)

EQUAL = [f"check_sample_weight_equivalence_on_{form}_data" for form in ("dense", "sparse")]


def failing(solver):
    """Return the checks that a solver fails, with the reasons."""
    if isinstance(solver, NewtonCV | RidgeCV):
        return dict.fromkeys(EQUAL, "folds of repeated rows are others")
    if isinstance(solver, Liblinear | DualDescent | Libsvm):
        return {"check_classifiers_one_label_sample_weights": "the library has no weights of rows"}
    return {}


@parametrize_with_checks(
    [
        Liblinear(bias=1.0),
        Liblinear(solver_type=0, bias=1.0),
        Liblinear(solver_type=11, bias=1.0, C=100.0),
        DualDescent(bias=1.0),
        Newton(bias=1.0, eps=1e-9),
        Newton("logistic", bias=1.0, eps=1e-9),
        Newton("huber", bias=1.0, C=10.0, eps=1e-9),
        NewtonCV(C_min=0.25, C_max=1.0, bias=1.0, folds=2),
        Ridge(1e-3),
        Ridge(1e-3, target="power"),
        RidgeCV(folds=2),
        KernelRidge(alpha=1e-3),
        Libsvm(Gaussian(0.1)),
        Libsvm(solver_type=3),
        Svc(Gaussian(0.1), eps=1e-9),
    ],
    expected_failed_checks=failing,
)
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@pytest.mark.parametrize("name", list(SOLVERS))
def test_registered_solvers_declare_what_they_are(name):
    solver = SOLVERS[name]()
    assert isinstance(solver, Solver)
    assert solver.task in ("classification", "regression")
    assert solver.algorithm_version >= 1
    assert solver.resource_parameters <= set(solver.get_params())


@pytest.mark.parametrize("label", [1, "a"])
def test_a_single_class_is_named_without_its_numpy_type(label):
    with pytest.raises(DataError, match=f"got 1 class: {label!r}$"):
        Newton().fit(np.eye(3), [label] * 3)
