"""How long candidates take: the time of one on few rows predicts that on more, and that of others."""

from dataclasses import replace

from kfeat.own.candidates import Candidate
from kfeat.own.paths import MOST_GRAM
from kfeat.own.result import Scored


def effort(n: float, D: int, exact: bool, regression: bool) -> float:
    """Return the time of training on n rows, up to a factor that depends on the data and the method.

    Kernel ridge regression takes n^2.3; an SVM n^1.5 while it has its whole Gram matrix, and n^2.1 on more
    rows; a linear model n. A map of D features takes n (D^2 + 1000 D) + 10 D^3: the Hessian, the map, and the
    decompositions. In searches on six tables most predictions were within a factor of two.
    """
    if not exact:
        return n * (D**2 + 1000 * D) + 10 * D**3 if D else n
    return float(n**2.3 if regression else min(n, MOST_GRAM) ** 1.5 * max(n / MOST_GRAM, 1) ** 2.1)


def path_time(candidate: Candidate, n_values: int) -> float:
    """Return the time of a path of values of C or alpha, in times of one of them.

    Each value but the first takes half as long, since it starts from the last solution, and no time in ridge
    regression, where one decomposition serves all.
    """
    return 1.0 if candidate.loss == "squares" and not candidate.exact else (n_values + 1) / 2


def expected(method: Scored, n: float, candidate: Candidate | None = None) -> float:
    """Return how many seconds a value of C or alpha takes on n rows, of this or of another candidate."""

    def takes(this: Candidate, rows: float) -> float:
        return effort(rows, this.D, this.exact, this.loss == "squares")

    return method.seconds * takes(candidate or method.candidate, n) / takes(method.candidate, method.n)


def like(method: Scored, candidate: Candidate) -> Scored:
    """Return what another candidate is expected to take on the same rows, by the time of its kin."""
    turned = {method.candidate.loss, candidate.loss} == {"squares", "huber"}  # from alpha to C, or back
    value = 1 / method.value if turned and method.value else method.value
    return replace(method, candidate=candidate, value=value, seconds=expected(method, method.n, candidate))


def training(method: Scored, n: int) -> float:
    """Return about how many seconds a candidate takes to train on n rows; a fold trains on two thirds."""
    return expected(method, 1.5 * n) / max(len(method.folds), 1)
