"""What LIBLINEAR's messages tell: who finished each subproblem, after how many iterations, and why."""

import re

from kfeat.solvers.base import Subproblem

PRIMAL = frozenset({0, 2, 11})  # the -s that are a trust-region or line-search Newton method from the start
_EVENT = re.compile(
    r"(?P<newton>init f )|iter +(?P<step>\d+) f |optimization finished, #iter = (?P<finished>\d+)"
    r"|WARNING: (?P<warning>[^\n]*)|Switching to use (?P<switch>-s \d+)"
)
# A note about one line search or one quadratic model: the solver goes on.
_PASSING = ("reaching max number of inner iterations", "reaching maximal number of CG steps", "quadratic")


def read_log(text: str, solver_type: int) -> list[Subproblem]:
    """Return the subproblems in the order in which LIBLINEAR solved them."""
    found: list[Subproblem] = []
    going_on = False
    for event in _EVENT.finditer(text):
        if event["newton"] and not going_on and solver_type in PRIMAL:
            found.append(Subproblem(f"-s {solver_type}", 0))
        elif event["finished"]:
            found.append(Subproblem(f"-s {solver_type}", int(event["finished"])))
        elif event["step"]:
            last = found.pop()
            found.append(Subproblem(last.finished_by, int(event["step"]), last.stop_reason))
        elif event["warning"] and not event["warning"].startswith(_PASSING):
            last = found.pop()
            found.append(Subproblem(last.finished_by, last.iterations, event["warning"].strip()))
        elif event["switch"]:
            found[-1] = Subproblem(event["switch"], 0)
        going_on = bool(event["switch"])
    return found
