"""Solvers: LIBLINEAR and LIBSVM at their full speed behind one contract."""

from kfeat.solvers.base import Solver
from kfeat.solvers.liblinear import Liblinear
from kfeat.solvers.libsvm import Libsvm
from kfeat.solvers.newton import Newton

SOLVERS: dict[str, type[Solver]] = {
    "liblinear": Liblinear,
    "libsvm": Libsvm,
    "newton": Newton,
}

__all__ = ["SOLVERS", "Liblinear", "Libsvm", "Newton", "Solver"]
