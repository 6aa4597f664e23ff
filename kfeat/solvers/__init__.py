"""Solvers: LIBLINEAR and LIBSVM at their full speed, Newton's method and ridge regression, one contract."""

from kfeat.solvers.base import Solver, Subproblem, regression_errors, relative_error
from kfeat.solvers.cells import CellKernelRidge, CellKernelRidgeClassifier
from kfeat.solvers.cross_validation import LibsvmCV, NewtonCV, grid_scores, path_scores
from kfeat.solvers.liblinear import DualDescent, Liblinear
from kfeat.solvers.libsvm import Libsvm, Svc
from kfeat.solvers.linear import LinearSolver
from kfeat.solvers.newton_method import Newton
from kfeat.solvers.ridge import KernelRidge, Ridge, RidgeCV
from kfeat.solvers.ridge_classifier import KernelRidgeClassifier, RidgeClassifier, RidgeClassifierCV

SOLVERS: dict[str, type[Solver]] = {
    "liblinear": Liblinear,
    "dual_descent": DualDescent,
    "newton": Newton,
    "newton_cv": NewtonCV,
    "ridge": Ridge,
    "ridge_cv": RidgeCV,
    "ridge_classifier": RidgeClassifier,
    "ridge_classifier_cv": RidgeClassifierCV,
    "libsvm": Libsvm,
    "libsvm_cv": LibsvmCV,
    "svc": Svc,
    "kernel_ridge": KernelRidge,
    "kernel_ridge_classifier": KernelRidgeClassifier,
    "cell_kernel_ridge": CellKernelRidge,
    "cell_kernel_ridge_classifier": CellKernelRidgeClassifier,
}

__all__ = [
    "SOLVERS",
    "CellKernelRidge",
    "CellKernelRidgeClassifier",
    "DualDescent",
    "KernelRidge",
    "KernelRidgeClassifier",
    "Liblinear",
    "Libsvm",
    "LibsvmCV",
    "LinearSolver",
    "Newton",
    "NewtonCV",
    "Ridge",
    "RidgeCV",
    "RidgeClassifier",
    "RidgeClassifierCV",
    "Solver",
    "Subproblem",
    "Svc",
    "grid_scores",
    "path_scores",
    "regression_errors",
    "relative_error",
]
