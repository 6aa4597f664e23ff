"""Newton directions d with (I + X'hX) d = b, and what is kept of a Hessian for the next one.

`Curvature` refreshes its preconditioner, the Cholesky factor of a Hessian, where the last conjugate
gradients took more steps than that costs. `ExactCurvature` keeps the Hessian of few rows in double precision
and adds and takes away the rows whose weights changed, so that most directions are exact.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kfeat.solvers.newton.design import SPEED, Design, DesignMatrix
from kfeat.solvers.newton.system import (
    FORCING,
    MOST_CG,
    DualFactor,
    conjugate_gradients,
    hessian_factor,
)

Vector = NDArray[np.float64]
WHOLE = 0.7  # share of rows with a Hessian above 0 from which all rows are used in place, without a copy
FIRST_GUESS = 5  # conjugate gradient steps that the Hessian of all rows, scaled, needs as preconditioner
EXACT_FORCING = 1e-2  # of the preconditioned gradient is left where the factor is that of the Hessian itself
APART = 2  # conjugate gradient steps with an exact factor; each changed row takes one more


@dataclass
class Curvature:
    """The preconditioner of one class: a Cholesky factor, or a diagonal; and the steps it last took."""

    factor: Any = None
    cg_steps: float = FIRST_GUESS

    def direction(self, design: Design, h: Vector, b: Vector) -> Vector:
        """Return d with (I + X'hX) d = b, up to a share of b, for weights h (n,) and b (columns,)."""
        active = np.flatnonzero(h)
        if self.cg_steps > design.gram_cost(len(active)):
            self.factor = hessian_factor(design.gram(h), 1.0, design.dtype)
        return self._solve(design, h, active, b, FORCING)

    def _solve(self, design: Design, h: Vector, active: Any, b: Vector, forcing: float) -> Vector:
        if len(active) < WHOLE * len(h):
            design, h = design.take(active), h[active]
        d, self.cg_steps = conjugate_gradients(design, h, b, self.factor, forcing)
        return d


@dataclass
class ExactCurvature(Curvature):
    """The Hessian's factor in double precision, with the weights whose Hessian it is."""

    weights: Vector | None = None
    gram: Vector | None = None

    def direction(self, design: Design, h: Vector, b: Vector) -> Vector:
        """Return d with (I + X'hX) d = b for weights h (n,) and b (columns,), calls having the same rows."""
        active = np.flatnonzero(h)
        changed = active if self.weights is None else np.flatnonzero(h != self.weights)
        few = min(len(changed), len(active))
        few_rows = design if isinstance(design, DesignMatrix) and len(active) else None
        between = dual_cost(len(active), design.shape[1]) if few_rows is not None else np.inf
        if min(MOST_CG, APART + len(changed)) > min(design.gram_cost(few), between) and len(changed):
            if few_rows is not None and between < design.gram_cost(few):
                self.gram, self.factor = None, DualFactor.of(few_rows.take(active), h[active])
            else:
                self.gram = self._gram(design, h, active, changed)
                self.factor = hessian_factor(self.gram, 1.0, design.dtype)
            self.weights = h
        elif self.factor is None:
            self.factor = 1 + float(h.mean()) * design.squares()
        return self._solve(design, h, active, b, EXACT_FORCING)

    def _gram(self, design: Design, h: Vector, active: Any, changed: Any) -> Vector:
        """Return X'hX from scratch, or from the last one where fewer rows changed than have weight."""
        if self.gram is None or self.weights is None or len(changed) >= len(active):
            return design.gram(h)
        change = h - self.weights
        return self.gram + design.gram(np.maximum(change, 0)) - design.gram(np.maximum(-change, 0))


def dual_cost(n: int, d: int) -> float:
    """Return what the products of n rows and their factor cost, in products with one direction."""
    return (n**2 * d + n**3 / 2) / (SPEED * (n * d + d**2))
