"""Solvers: LIBLINEAR and LIBSVM at their full speed, Newton's method and ridge regression, one contract."""

from kfeat.solvers.base import LinearSolver, Solver, Subproblem
from kfeat.solvers.grid import grid_scores
from kfeat.solvers.liblinear.dual_descent import DualDescent
from kfeat.solvers.liblinear.estimator import Liblinear
from kfeat.solvers.libsvm.cross_validated import LibsvmCV
from kfeat.solvers.libsvm.estimator import Libsvm
from kfeat.solvers.libsvm.svc import Svc
from kfeat.solvers.newton.cross_validated import NewtonCV
from kfeat.solvers.newton.estimator import Newton
from kfeat.solvers.regression_errors import regression_errors, relative_error
from kfeat.solvers.ridge.cross_validated import RidgeCV
from kfeat.solvers.ridge.estimator import Ridge
from kfeat.solvers.ridge.kernel import KernelRidge

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
