"""What LIBLINEAR's messages tell: who finished each machine, after how many iterations, and why."""

import re

from kfeat.solvers.base import Machine

PRIMAL = frozenset({0, 2, 11})  # the -s that are a trust-region or line-search Newton method from the start
_EVENT = re.compile(
    r"(?P<newton>init f )|iter +(?P<step>\d+) f |optimization finished, #iter = (?P<finished>\d+)"
    r"|WARNING: (?P<warning>[^\n]*)|Switching to use (?P<switch>-s \d+)"
)
# A note about one line search or one quadratic model: the solver goes on.
_PASSING = ("reaching max number of inner iterations", "reaching maximal number of CG steps", "quadratic")


def read_log(text: str, solver_type: int) -> list[Machine]:
    """Return the machines in the order in which LIBLINEAR trained them."""
    machines: list[Machine] = []
    going_on = False
    for event in _EVENT.finditer(text):
        if event["newton"] and not going_on and solver_type in PRIMAL:
            machines.append(Machine(f"-s {solver_type}", 0))
        elif event["finished"]:
            machines.append(Machine(f"-s {solver_type}", int(event["finished"])))
        elif event["step"]:
            last = machines.pop()
            machines.append(Machine(last.finished_by, int(event["step"]), last.stop_reason))
        elif event["warning"] and not event["warning"].startswith(_PASSING):
            last = machines.pop()
            machines.append(Machine(last.finished_by, last.iterations, event["warning"].strip()))
        elif event["switch"]:
            machines[-1] = Machine(event["switch"], 0)
        going_on = bool(event["switch"])
    return machines
