"""From a rough descent over all rows to a solution whose duality gap closes.

The rough descent (`method.descend`) is in the features' own precision, all classes at once. Where it leaves a
gap, a class goes on in double precision with the rows near its margin only, by directions that are exact
(`curvature.ExactCurvature`). Then all rows are looked at: those that lie beyond the margin after all join.
Dropping rows lowers f everywhere, so the bound found on some rows holds on all of them.

Where classes can (almost) be separated, Newton steps at once to the full cost creep along from kink to kink.
Such a class takes a path of costs instead, tenfold each time, each from the solution before: from the one at
which the rough solution's penalty equals its losses, or a smaller one at which the Hessian is mild.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kfeat.solvers.newton.curvature import WHOLE, ExactCurvature
from kfeat.solvers.newton.method import (
    Descent,
    Limits,
    Problem,
    descend,
    evaluate,
    from_solution,
    from_zero,
    near_margin,
)

Vector = NDArray[np.float64]
Rows = NDArray[np.intp]
ROUGH_STEPS = 4  # over all rows from zero, before a class goes on with some of them
MILD = 1e3  # mean eigenvalue of X'hX, all rows active, up to which Newton steps are long ones
STAGE_EPS = 0.02  # gap that is enough on the way along the costs
GROWTH = 10.0


@dataclass
class Stage:
    """Where one class is on its path: the share of the full costs, and the rows in use (None: not chosen)."""

    level: float = 1.0
    rows: Rows | None = None
    hard: bool = False


def minimise(problem: Problem, W: Vector | None, eps: float, max_iter: int) -> list[Descent]:
    """Minimise from W (n_columns, k), or from zero, until each duality gap is a share of eps of f at most."""
    classes = from_zero(problem) if W is None else from_solution(problem, W)
    descend(problem, classes, Limits(eps, max_iter, ROUGH_STEPS if W is None else 0))
    look_at_all_rows(problem, classes, list(range(len(classes))))
    going_on = [j for j, state in enumerate(classes) if state.gap > eps and state.iterations < max_iter]
    stages = {j: Stage() for j in going_on}
    for state in classes:
        state.stop_reason = "tolerance" if state.gap <= eps else "iteration limit"
    while stages:
        solved = {j: on_some_rows(problem, classes[j], j, stages[j], eps, max_iter) for j in stages}
        margins = problem.signs[:, list(stages)] * problem.design.double().matvec(
            np.stack([part.w for part in solved.values()], axis=1)
        )
        for column, (j, part) in enumerate(solved.items()):
            classes[j].u, classes[j].stop_reason = margins[:, column], ""
            if judge(problem, classes[j], j, stages[j], part, eps, max_iter):
                del stages[j]
    return classes


def look_at_all_rows(problem: Problem, classes: list[Descent], which: list[int]) -> None:
    """Set margins, objectives and bounds in double precision, where they are not yet."""
    design = problem.design.double()
    if design is problem.design:
        return
    margins = problem.signs * design.matvec(np.stack([state.w for state in classes], axis=1))
    alphas = -problem.costs * problem.loss.gradient(margins)
    sums = design.rmatvec(problem.signs * alphas)
    for j in which:
        classes[j].u = margins[:, j]
        evaluate(problem, classes[j], j, sums[:, j])


def on_some_rows(
    problem: Problem, state: Descent, j: int, stage: Stage, eps: float, max_iter: int
) -> Descent:
    """Return the class's solution on the rows near its margin, at the stage's level of costs."""
    limits = Limits(eps / 2 if stage.level == 1 else STAGE_EPS, max_iter, to_short_step=not stage.hard)
    if stage.rows is None:
        stage.rows = nearest(problem, state.u)
    part = Descent(
        state.w.copy(), state.u[stage.rows], iterations=state.iterations, curvature=ExactCurvature()
    )
    descend(some_rows(problem, j, stage), [part], limits)
    if stage.hard or part.stop_reason != "short step":
        return part
    stage.hard, stage.rows, stage.level = True, None, first_level(problem, state, j)
    state.iterations = part.iterations
    return on_some_rows(problem, state, j, stage, eps, max_iter)


def first_level(problem: Problem, state: Descent, j: int) -> float:
    """Return the share of the costs at which the penalty equals the losses, and the Hessian is mild."""
    penalty, losses = sizes(problem, state.w, state.u, j)
    h = problem.costs[:, j] * problem.loss.hessian(np.zeros(len(state.u)))
    eigenvalue = float(h.mean() * problem.design.squares().mean())
    return min(1.0, penalty / losses if losses > 0 else 1.0, MILD / eigenvalue if eigenvalue > 0 else 1.0)


def nearest(problem: Problem, u: Vector) -> Rows:
    """Return the rows of smallest margin, rising; all where these are most."""
    count = near_margin(problem, u)
    if count >= WHOLE * len(u):
        return np.arange(len(u))
    return np.sort(np.argpartition(u, count)[:count])


def some_rows(problem: Problem, j: int, stage: Stage) -> Problem:
    """Return the problem of one class over the stage's rows, in double precision, at its costs."""
    rows, design = stage.rows, problem.design.double()
    assert rows is not None
    return Problem(
        design=design if len(rows) == design.shape[0] else design.take(rows),
        signs=problem.signs[rows, j : j + 1],
        costs=stage.level * problem.costs[rows, j : j + 1],
        loss=problem.loss,
    )


def judge(
    problem: Problem, state: Descent, j: int, stage: Stage, part: Descent, eps: float, max_iter: int
) -> bool:
    """Take over a solution on some rows, and tell whether it is the last; if not, set the next stage."""
    assert stage.rows is not None
    penalty, losses = sizes(problem, part.w, state.u, j)
    state.w, state.iterations = part.w, part.iterations
    state.objective, state.dual = penalty + losses, part.dual  # smaller costs have a lower minimum
    full, at_level = stage.level == 1, penalty + stage.level * losses
    small = at_level - part.dual <= (eps if full else STAGE_EPS) * at_level
    beyond = np.setdiff1d(np.flatnonzero(problem.loss.hessian(state.u)), stage.rows)
    if full and small:
        state.stop_reason = "tolerance"
    elif state.iterations >= max_iter:
        state.stop_reason = "iteration limit"
    elif full and not len(beyond):
        state.stop_reason = "rounding"
    elif small or not len(beyond):
        stage.level, stage.rows = min(1.0, GROWTH * stage.level), None
    else:
        stage.rows = np.union1d(stage.rows, beyond)
    return bool(state.stop_reason)


def sizes(problem: Problem, w: Vector, u: Vector, j: int) -> tuple[float, float]:
    """Return the penalty of w and its losses at the full costs."""
    return float(w @ w) / 2, float(problem.costs[:, j] @ problem.loss.value(u))
