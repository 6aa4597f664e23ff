"""Newton's method on regularised losses: squared hinge, logistic and Huber, for all classes at once.

Each class has f(w) = ||w||^2 / 2 + sum_i c_i loss(s_i <w, x_i> - t_i), s_i = +-1 (a regression has s_i = 1
and the targets t_i, else t_i = 0). A sweep is one product of X with
all directions, an exact line search per class, and one product of X' with the gradients of the losses. A
direction solves (I + sum_i h_i x_i x_i') d = -grad f over the rows whose loss has a Hessian h_i > 0. It is
found by conjugate gradients, preconditioned with the Cholesky factor of an older or a new Hessian.
See Keerthi and DeCoste, JMLR 6 (2005); Chapelle, Neural Computation 19 (2007).
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
from scipy import special

from kfeat.errors import SolverError
from kfeat.solvers.newton_system import (
    DesignMatrix,
    SparseDesign,
    Vector,
    conjugate_gradients,
    hessian_factor,
    solve,
)
from kfeat.solvers.sparse_system import newton_directions

WHOLE = 0.7  # from this share of rows with a Hessian above 0 on, all rows are used, which needs no copy
FIRST_GUESS = 5  # assumed conjugate gradient steps with the scaled Hessian of all rows as preconditioner
SEPARABLE = 1e-5  # a class counts as separable if its objective falls below this share of that at zero
EASY = 1e3  # a path of growing costs begins with at most this value of (largest cost * sum of all squares)
STAGE_EPS = 1e-2  # tolerance for the smaller costs of the path
WITHOUT = 20  # assumed conjugate gradient steps with the Hessian's diagonal as preconditioner
HUBER = 0.1  # residuals below it, in mean absolute deviations of the targets, are squared


class Loss(NamedTuple):
    """A convex loss of the margin or the residual u, with its gradient and (generalised) Hessian in u."""

    value: Callable[[Vector], Vector]
    gradient: Callable[[Vector], Vector]
    hessian: Callable[[Vector], Vector]


LOSSES = {
    "squared_hinge": Loss(  # max(0, 1 - u)^2, LIBLINEAR's "l2-loss"
        value=lambda u: np.maximum(1 - u, 0) ** 2,
        gradient=lambda u: -2 * np.maximum(1 - u, 0),
        hessian=lambda u: np.where(u < 1, 2.0, 0.0),
    ),
    "logistic": Loss(  # log(1 + exp(-u))
        value=lambda u: np.logaddexp(0, -u),
        gradient=lambda u: -special.expit(-u),
        hessian=lambda u: special.expit(u) * special.expit(-u),
    ),
    "huber": Loss(  # u^2 / (2 h) up to |u| = h, and |u| - h / 2 beyond
        value=lambda u: special.huber(HUBER, u) / HUBER,
        gradient=lambda u: np.clip(u / HUBER, -1, 1),
        hessian=lambda u: np.where(np.abs(u) < HUBER, 1 / HUBER, 0.0),
    ),
}


@dataclass
class Problem:
    """All one-against-rest problems on the same rows: signs s and costs c (n, k), and targets t (n, 1)."""

    design: DesignMatrix
    signs: Vector
    costs: Vector
    loss: Loss
    targets: Vector


@dataclass
class Descent:
    """The state of one class: `w` (n_columns,), its margins `u` (n,)."""

    w: Vector
    u: Vector
    scale: float  # the norm of the gradient at zero, times the share of the rarer label
    limit: int  # of iterations
    enough: float = 0.0  # an objective below this ends the descent
    objective: float = np.inf
    iterations: int = 0
    stop_reason: str = ""
    sums: Vector = field(default_factory=lambda: np.empty(0))  # the gradient of the losses
    factor: Vector = field(default_factory=lambda: np.empty(0))
    cg_steps: float = FIRST_GUESS

    @property
    def gradient(self) -> Vector:
        """The gradient of the objective."""
        return self.w + self.sums


def minimise(problem: Problem, W: Vector | None, eps: float, max_iter: int) -> list[Descent]:
    """Minimise from W (n_columns, k), or from zero, until two conditions hold.

    |grad f| <= eps * min(pos, neg) / n * |grad f(0)|, and the last sweep lowered f by at most 10 eps f. (With
    more features than rows, |grad f(0)| is so large that the first condition alone is too weak.)

    Newton steps from zero start with the least squares fit. If classes can be separated without loss, it does
    not lead to the largest margin: these classes are solved along a path of growing costs instead.
    """
    classes = started(problem, W, max_iter, stop_at=SEPARABLE if W is None else 0.0)
    descend(problem, classes, eps)
    separable = [j for j, state in enumerate(classes) if state.stop_reason == "separable"]
    if separable:
        part = replace(problem, signs=problem.signs[:, separable], costs=problem.costs[:, separable])
        solved = along_costs(part, eps, max_iter)
        for j, state in zip(separable, solved, strict=True):
            state.iterations += classes[j].iterations
            classes[j] = state
    return classes


def along_costs(problem: Problem, eps: float, max_iter: int) -> list[Descent]:
    """Minimise with costs that grow by factors of 10 up to the problem's own, each from the last solution."""
    design, costs = problem.design, problem.costs
    # With the first costs the Hessian is so small that a few conjugate gradient steps suffice.
    last = int(np.ceil(np.log10(max(costs.max() * design.squares.sum() / EASY, 1.0))))
    classes: list[Descent] = []
    for smaller in range(last, -1, -1):
        stage = replace(problem, costs=costs * 10.0**-smaller)
        if classes:
            reopen(stage, classes, 10.0, max_iter)
        else:
            classes = started(stage, np.zeros((design.shape[1], problem.signs.shape[1])), max_iter)
        descend(stage, classes, eps if smaller == 0 else max(eps, STAGE_EPS))
    return classes


def reopen(problem: Problem, classes: list[Descent], growth: float, max_iter: int) -> None:
    """Prepare the classes to continue with costs multiplied by `growth`."""
    for j, state in enumerate(classes):
        state.sums, state.scale, state.enough = growth * state.sums, growth * state.scale, 0.0
        state.objective, state.stop_reason, state.limit = np.inf, "", state.iterations + max_iter
        if state.factor.ndim == 1:  # a Cholesky factor is kept as it is
            precondition(problem, state, j)


def started(problem: Problem, W: Vector | None, max_iter: int, stop_at: float = 0.0) -> list[Descent]:
    """Return the classes at W; without W, at zero or after one step. They stop when f < `stop_at` f(0)."""
    design, signs, costs, loss = problem.design, problem.signs, problem.costs, problem.loss
    n, n_columns = design.shape
    k = signs.shape[1]
    u = -problem.targets
    at_zero = design.rmatvec(signs * costs * loss.gradient(u))
    rarer = np.minimum((signs > 0).mean(axis=0), (signs < 0).mean(axis=0))
    rarer[rarer == 0] = 1.0  # of a regression
    enough = stop_at * (costs * loss.value(u)).sum(axis=0)
    classes = [
        Descent(
            w=np.zeros(n_columns) if W is None else W[:, j].copy(),
            u=u[:, 0].copy(),
            scale=float(np.linalg.norm(at_zero[:, j]) * rarer[j]),
            limit=max_iter,
            enough=float(enough[j]),
            sums=at_zero[:, j],
        )
        for j in range(k)
    ]
    if W is None and design.gram_cost(n) <= WITHOUT * k:
        start_together(problem, classes, at_zero)
    else:
        scores = np.zeros((n, k)) if W is None else design.matvec(W)
        for j, state in enumerate(classes):
            state.u = signs[:, j] * scores[:, j] + u[:, 0]
            state.cg_steps = WITHOUT
            precondition(problem, state, j)
        if any(state.u.any() for state in classes):
            update_gradients(problem, classes, list(range(k)))
    return classes


def precondition(problem: Problem, state: Descent, j: int) -> None:
    """Use the Hessian's diagonal as preconditioner, unless a factor will be computed in the next step."""
    h = problem.costs[:, j] * problem.loss.hessian(state.u)
    if not wants_factor(problem.design, state, h):
        state.factor = 1 + float(h.mean()) * problem.design.squares


def descend(problem: Problem, classes: list[Descent], eps: float) -> None:
    """Take Newton steps until every class is done."""
    while open_classes := judge(problem, classes, eps):
        if isinstance(problem.design, SparseDesign):
            directions = directions_together(problem, classes, open_classes)
        else:
            directions = np.stack([newton_direction(problem, classes[j], j) for j in open_classes], axis=1)
        move(problem, classes, open_classes, directions)


def start_together(problem: Problem, classes: list[Descent], at_zero: Vector) -> None:
    """Take the first step of all classes from zero, where rows of classes have equal Hessians up to costs."""
    gram = problem.design.gram()
    h = problem.costs * problem.loss.hessian(-problem.targets)
    dtype = problem.design.dtype
    factor = hessian_factor(gram, float(h.mean()), dtype)
    move(problem, classes, list(range(len(classes))), solve(factor, -at_zero))
    for j, state in enumerate(classes):
        h_now = problem.costs[:, j] * problem.loss.hessian(state.u)
        state.factor = hessian_factor(gram, float(h_now.mean()), dtype)


def move(problem: Problem, classes: list[Descent], which: list[int], directions: Vector) -> None:
    """Move each class along its direction to the minimum of its objective, and update its gradient."""
    changes = problem.design.matvec(directions)
    for column, j in enumerate(which):
        state = classes[j]
        q = problem.signs[:, j] * changes[:, column]
        d = directions[:, column]
        length = line_search(state, d, q, problem.costs[:, j], problem.loss)
        state.w += length * d
        state.u += length * q
        state.iterations += 1
    update_gradients(problem, classes, which)


def update_gradients(problem: Problem, classes: list[Descent], which: list[int]) -> None:
    """Update the gradients of the losses, in one product for all classes."""
    s, c, gradient = problem.signs, problem.costs, problem.loss.gradient
    gradients = np.stack([s[:, j] * c[:, j] * gradient(classes[j].u) for j in which], axis=1)
    sums = problem.design.rmatvec(gradients)
    for column, j in enumerate(which):
        classes[j].sums = sums[:, column]


def judge(problem: Problem, classes: list[Descent], eps: float) -> list[int]:
    """Set the stop reason of the classes that are done, and return the others."""
    # If the objective falls by less than this share, the change may be only rounding in the products.
    stall = 0.01 * float(np.finfo(problem.design.dtype).eps)
    for j, state in enumerate(classes):
        if state.stop_reason:
            continue
        before, state.objective = state.objective, objective(problem, state, j)
        if not np.isfinite(state.objective):
            raise SolverError(f"scores overflow {problem.design.dtype}: scale the features down")
        if state.objective < state.enough:
            state.stop_reason = "separable"
            continue
        small = np.linalg.norm(state.gradient) <= eps * state.scale
        if small and before - state.objective <= 10 * eps * state.objective:
            state.stop_reason = "tolerance"
        elif state.iterations >= state.limit:
            state.stop_reason = "iteration limit"
        elif before - state.objective <= stall * state.objective:
            state.stop_reason = "rounding"
    return [j for j, state in enumerate(classes) if not state.stop_reason]


def objective(problem: Problem, state: Descent, j: int) -> float:
    """Return f_j(w)."""
    return float(state.w @ state.w / 2 + problem.costs[:, j] @ problem.loss.value(state.u))


def newton_direction(problem: Problem, state: Descent, j: int) -> Vector:
    """Return d with (I + X'hX) d = -gradient, up to the forcing term."""
    h = problem.costs[:, j] * problem.loss.hessian(state.u)
    active = np.flatnonzero(h)
    if wants_factor(problem.design, state, h):
        state.factor = hessian_factor(problem.design.gram(h), 1.0, problem.design.dtype)
    design = problem.design
    if len(active) < WHOLE * len(h):
        design, h = design.take(active), h[active]
    d, state.cg_steps = conjugate_gradients(design, h, -state.gradient, state.factor)
    return d


def directions_together(problem: Problem, classes: list[Descent], which: list[int]) -> Vector:
    """Return the Newton directions of some classes, shape (columns, classes), without a factor."""
    states = [classes[j] for j in which]
    H = np.stack([problem.costs[:, j] * problem.loss.hessian(classes[j].u) for j in which], axis=1)
    gradients = np.stack([state.gradient for state in states], axis=1)
    diagonals = np.stack([state.factor for state in states], axis=1)
    directions, steps = newton_directions(problem.design, H, -gradients, diagonals)
    for state, taken in zip(states, steps, strict=True):
        state.cg_steps = taken
    return directions


def wants_factor(design: DesignMatrix, state: Descent, h: Vector) -> bool:
    """Return whether a new factor costs less than the steps that the present preconditioner needs."""
    return state.cg_steps > design.gram_cost(int(np.count_nonzero(h)))


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
        if abs(derivative) <= 1e-4 * abs(at_start):
            break
        low, high = (low, a) if derivative > 0 else (a, high)
        next_a = a - derivative / (dd + float((costs * loss.hessian(now)) @ q**2))
        if not low < next_a < high:
            next_a = (low + high) / 2 if high < np.inf else 2 * a
        a = next_a
    return a
