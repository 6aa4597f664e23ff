"""Newton's method for regularised linear classifiers in the primal, all classes in the same matrix products.

Each class has its f(w) = ||w||^2 / 2 + sum_i c_i loss(s_i <w, x_i>), s_i = +-1. A sweep is one product of X
with all directions, an exact line search per class, and one product of X' with the gradients of the losses.
That product is also v = sum_i alpha_i s_i x_i of the dual's alpha_i = -c_i loss'(u_i), so that a sweep ends
with the duality gap. Directions are in `curvature`.
See Keerthi and DeCoste, JMLR 6 (2005); Chapelle, Neural Computation 19 (2007).
"""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from kfeat.errors import SolverError
from kfeat.solvers.newton.curvature import Curvature
from kfeat.solvers.newton.design import Design
from kfeat.solvers.newton.losses import Loss
from kfeat.solvers.newton.system import hessian_factor, solve

Vector = NDArray[np.float64]
SHORT_STEP = 0.5  # what the line search leaves of a Newton step where many rows cross the margin
FEW = 3  # rows per column
LINE_EPS = 1e-4  # of the derivative along a direction is left by the line search
WITHOUT = 20  # conjugate gradient steps that the Hessian's diagonal needs as preconditioner


@dataclass
class Problem:
    """All one-against-rest problems over the same rows: signs s and costs c, both (n, k)."""

    design: Design
    signs: Vector
    costs: Vector
    loss: Loss


@dataclass
class Descent:
    """The descent of one class so far; `w` (n_columns,), `u` its margins (n,)."""

    w: Vector
    u: Vector
    objective: float = np.inf
    dual: float = 0.0  # a lower bound on the objective's minimum
    iterations: int = 0
    length: float = 1.0  # of the last step, as a share of the whole Newton step
    stop_reason: str = ""
    gradient: Vector = field(default_factory=lambda: np.empty(0))
    curvature: Curvature = field(default_factory=Curvature)

    @property
    def gap(self) -> float:
        """The duality gap as a share of the objective, from 0 to 1."""
        return max(0.0, 1 - self.dual / self.objective) if self.objective > 0 else 0.0


@dataclass(frozen=True)
class Limits:
    """When a descent ends: the gap, the steps, and what is left to a solution on fewer rows.

    With `rough_steps` a class is left ("rough") after so many steps where at most half of the rows are near
    the margin or the last step was a short one, after three times as many anyway, or after a step that
    lowered f by a share of eps at most; with `to_short_step` ("short step") after the first short step where
    the classes are nearly separable.
    """

    eps: float
    max_iter: int
    rough_steps: int | None = None
    to_short_step: bool = False


def from_zero(problem: Problem) -> list[Descent]:
    """Return descents that begin at zero, or one step on where all classes can share its Hessian."""
    n, n_columns = problem.design.shape
    k = problem.signs.shape[1]
    classes = [Descent(w=np.zeros(n_columns), u=np.zeros(n)) for _ in range(k)]
    if problem.design.gram_cost(n) <= WITHOUT * k:
        start_together(problem, classes)
    else:
        precondition(problem, classes)
    return classes


def from_solution(problem: Problem, W: Vector) -> list[Descent]:
    """Return descents that begin at W (n_columns, k)."""
    margins = problem.signs * problem.design.matvec(W)
    classes = [Descent(w=W[:, j].copy(), u=margins[:, j]) for j in range(W.shape[1])]
    precondition(problem, classes)
    return classes


def precondition(problem: Problem, classes: list[Descent]) -> None:
    """Precondition each class with the diagonal of its Hessian, rows weighed alike."""
    squares = problem.design.squares()
    for j, state in enumerate(classes):
        h = problem.costs[:, j] * problem.loss.hessian(state.u)
        state.curvature = Curvature(1 + float(h.mean()) * squares, WITHOUT)


def start_together(problem: Problem, classes: list[Descent]) -> None:
    """Take the first step of all classes from zero: there all rows have one Hessian, up to their costs."""
    nothing = np.zeros((len(problem.costs), 1))
    at_zero = problem.design.rmatvec(problem.signs * problem.costs * problem.loss.gradient(nothing))
    gram = problem.design.gram()
    h = problem.costs * problem.loss.hessian(nothing)
    dtype = problem.design.dtype
    factor = hessian_factor(gram, float(h.mean()), dtype)
    move(problem, classes, list(range(len(classes))), solve(factor, -at_zero))
    for j, state in enumerate(classes):
        h_now = problem.costs[:, j] * problem.loss.hessian(state.u)
        state.curvature = Curvature(hessian_factor(gram, float(h_now.mean()), dtype))


def descend(problem: Problem, classes: list[Descent], limits: Limits) -> None:
    """Take Newton steps until every class has a `stop_reason`."""
    open_classes = update_gradients(problem, classes, list(range(len(classes))), limits)
    while open_classes:
        directions = np.stack([newton_direction(problem, classes[j], j) for j in open_classes], axis=1)
        move(problem, classes, open_classes, directions)
        open_classes = update_gradients(problem, classes, open_classes, limits)


def move(problem: Problem, classes: list[Descent], which: list[int], directions: Vector) -> None:
    """Step each class along its direction as far as its objective falls."""
    changes = problem.design.matvec(directions)
    for column, j in enumerate(which):
        state = classes[j]
        q = problem.signs[:, j] * changes[:, column]
        d = directions[:, column]
        state.length = line_search(state, d, q, problem.costs[:, j], problem.loss)
        state.w += state.length * d
        state.u += state.length * q
        state.iterations += 1


def update_gradients(problem: Problem, classes: list[Descent], which: list[int], limits: Limits) -> list[int]:
    """Update gradients and gaps, note which classes are done and why, and return the others."""
    slopes = [problem.costs[:, j] * problem.loss.gradient(classes[j].u) for j in which]
    sums = problem.design.rmatvec(problem.signs[:, which] * np.stack(slopes, axis=1))
    for column, j in enumerate(which):
        state = classes[j]
        state.gradient = state.w + sums[:, column]
        before = state.objective
        evaluate(problem, state, j, -sums[:, column])
        state.stop_reason = stop_reason(problem, state, j, before - state.objective, limits)
    return [j for j in which if not classes[j].stop_reason]


def evaluate(problem: Problem, state: Descent, j: int, v: Vector) -> None:
    """Set the objective and the dual's bound at the state's margins, with v = sum_i alpha_i s_i x_i."""
    costs = problem.costs[:, j]
    state.objective = float(state.w @ state.w / 2 + costs @ problem.loss.value(state.u))
    state.dual = problem.loss.dual(state.u, costs, v)
    if not np.isfinite(state.objective):
        raise SolverError(f"scores overflow {problem.design.dtype}: scale the features down")


def stop_reason(problem: Problem, state: Descent, j: int, fell: float, limits: Limits) -> str:
    """Return why the descent ends here, or nothing."""
    if state.gap <= limits.eps:
        return "tolerance"
    if state.iterations >= limits.max_iter:
        return "iteration limit"
    # An objective that falls by less than this share may be rounding in the products alone.
    if fell <= 0.01 * float(np.finfo(problem.design.dtype).eps) * state.objective:
        return "rounding"
    if limits.to_short_step and state.length < SHORT_STEP and nearly_separable(problem, state.u):
        return "short step"
    if limits.rough_steps is None:
        return ""
    few = near_margin(problem, state.u) <= len(state.u) / 2
    enough = limits.rough_steps if few or state.length < SHORT_STEP else 3 * limits.rough_steps
    rough = state.iterations >= enough or fell <= limits.eps * state.objective
    return "rough" if rough else ""


def nearly_separable(problem: Problem, u: Vector) -> bool:
    """Tell whether few rows for so many columns have a loss."""
    return bool(np.count_nonzero(problem.loss.hessian(u)) <= FEW * problem.design.shape[1])


def near_margin(problem: Problem, u: Vector) -> int:
    """Return how many rows of smallest margin to take: those with a Hessian, and half as many or D more."""
    active = int(np.count_nonzero(problem.loss.hessian(u)))
    return active + max(problem.design.shape[1], active // 2)


def newton_direction(problem: Problem, state: Descent, j: int) -> Vector:
    """Return d with (I + X'hX) d = -gradient, up to the forcing term."""
    h = problem.costs[:, j] * problem.loss.hessian(state.u)
    return state.curvature.direction(problem.design, h, -state.gradient)


def line_search(state: Descent, d: Vector, q: Vector, costs: Vector, loss: Loss) -> float:
    """Return the step length that minimises f(w + a d), margins u + a q, by safeguarded Newton steps."""
    wd, dd = float(state.w @ d), float(d @ d)
    moving = np.flatnonzero(q)
    u, q, costs = state.u[moving], q[moving], costs[moving]
    low, high, a = 0.0, np.inf, 1.0
    at_start = wd + float((costs * loss.gradient(u)) @ q)
    for _ in range(60):
        now = u + a * q
        derivative = wd + a * dd + float((costs * loss.gradient(now)) @ q)
        if abs(derivative) <= LINE_EPS * abs(at_start):
            break
        low, high = (low, a) if derivative > 0 else (a, high)
        next_a = a - derivative / (dd + float((costs * loss.hessian(now)) @ q**2))
        if not low < next_a < high:
            next_a = (low + high) / 2 if high < np.inf else 2 * a
        a = next_a
    return a
