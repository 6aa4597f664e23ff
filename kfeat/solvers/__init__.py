"""Solvers: LIBLINEAR and LIBSVM at their full speed, Newton's method and ridge regression, one contract."""

from kfeat.solvers.base import Solver, Subproblem, regression_errors, relative_error
from kfeat.solvers.cross_validation import LibsvmCV, NewtonCV, grid_scores
from kfeat.solvers.liblinear import DualDescent, Liblinear
from kfeat.solvers.libsvm import Libsvm, Svc
from kfeat.solvers.linear import LinearSolver
from kfeat.solvers.newton_method import Newton
from kfeat.solvers.ridge import KernelRidge, Ridge, RidgeCV

SOLVERS: dict[str, type[Solver]] = {
    "liblinear": Liblinear,
    "dual_descent": DualDescent,
    "newton": Newton,
    "newton_cv": NewtonCV,
    "ridge": Ridge,
    "ridge_cv": RidgeCV,
    "libsvm": Libsvm,
    "libsvm_cv": LibsvmCV,
    "svc": Svc,
    "kernel_ridge": KernelRidge,
}

__all__ = [
    "SOLVERS",
    "DualDescent",
    "KernelRidge",
    "Liblinear",
    "Libsvm",
    "LibsvmCV",
    "LinearSolver",
    "Newton",
    "NewtonCV",
    "Ridge",
    "RidgeCV",
    "Solver",
    "Subproblem",
    "Svc",
    "grid_scores",
    "regression_errors",
    "relative_error",
]
