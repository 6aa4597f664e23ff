"""LIBLINEAR's C interface: a problem, its parameters and `train`."""

import ctypes
from dataclasses import dataclass
from typing import Any

import numpy as np
from liblinear import liblinear as library
from numpy.typing import NDArray

from kfeat.errors import ParameterError
from kfeat.solvers.native.library import c_array, solving, structure, weight_fields
from kfeat.solvers.native.nodes import node_rows

CRAMMER_SINGER = 4
REGRESSION = frozenset({11, 12, 13})


@dataclass(frozen=True)
class Settings:
    """LIBLINEAR's parameters by their flags; `weights` are the factors of C by label (-wi)."""

    solver_type: int
    C: float
    eps: float
    p: float
    bias: float
    regularize_bias: bool
    weights: dict[int, float]
    seed: int | None


@dataclass(frozen=True)
class Trained:
    """What `train` returns: W (columns, subproblems), labels in LIBLINEAR's order, and what it printed."""

    W: NDArray[np.float64]
    labels: NDArray[np.float64]
    log: str


class Call:
    """A problem in C's layout: rows X (n, d), dense or CSR, and targets (n,)."""

    def __init__(self, X: Any, targets: NDArray[np.float64], settings: Settings) -> None:
        self._rows = node_rows(X, settings.bias if settings.bias >= 0 else None)
        self._targets = np.ascontiguousarray(targets)
        self._settings = settings
        self._problem = structure(
            library.problem,
            l=len(targets),
            n=X.shape[1] + (settings.bias >= 0),
            y=c_array(self._targets, ctypes.c_double),
            x=c_array(self._rows.pointers, ctypes.POINTER(library.feature_node)),
            bias=settings.bias,
        )

    def train(self) -> Trained:
        """Run LIBLINEAR's train and copy its model out."""
        parameter = self._parameter()
        with solving(library.liblinear.set_print_string_function, self._settings.seed) as messages:
            self._check(parameter)
            model = library.liblinear.train(self._problem, parameter)
        try:
            regression = self._settings.solver_type in REGRESSION
            classes = 1 if regression else model.contents.nr_class
            n_subproblems = 1 if classes == 2 and self._settings.solver_type != CRAMMER_SINGER else classes
            W = np.ctypeslib.as_array(model.contents.w, (self._problem.n, n_subproblems)).copy()
            labels = np.array([] if regression else model.contents.label[:classes], dtype=np.float64)
        finally:
            library.liblinear.free_and_destroy_model(ctypes.byref(model))
        return Trained(W, labels, "".join(messages))

    def _check(self, parameter: Any) -> None:
        refusal = library.liblinear.check_parameter(self._problem, parameter)
        if refusal:
            raise ParameterError(f"Liblinear: {refusal.decode()}")

    def _parameter(self) -> Any:
        settings = self._settings
        return structure(
            library.parameter,
            solver_type=settings.solver_type,
            C=settings.C,
            eps=settings.eps,
            p=settings.p,
            regularize_bias=int(settings.regularize_bias),
            **weight_fields(settings.weights),
        )
