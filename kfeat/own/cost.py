"""How long candidates take: the time of one on few rows predicts that on more, and that of others."""

from dataclasses import replace

from kfeat.experiments.cost import effort
from kfeat.learnt_metric import MOST_ROWS
from kfeat.own.candidates import Candidate
from kfeat.own.result import Scored

BINNING_GROWTH = 1.4  # of the time with the values of the features, which leave the caches
MOST_LEARNT = 1.5 * MOST_ROWS  # rows of three folds from which a metric takes all that it can take


def path_time(candidate: Candidate, n_values: int) -> float:
    """Return the time of a path of values of C or alpha, in times of one of them.

    Each value but the first takes half as long, since it starts from the last solution, and no time in ridge
    regression, where one decomposition serves all.
    """
    return 1.0 if candidate.loss == "squares" and not candidate.exact else (n_values + 1) / 2


def expected(method: Scored, n: float, candidate: Candidate | None = None) -> float:
    """Return how many seconds a value of C or alpha takes on n rows, of this or of another candidate.

    That of random binning grows with the values of its features, so of one of the same kind.
    """

    def takes(this: Candidate, rows: float) -> float:
        if this.sparse:
            return binning_effort(rows, this.D)
        return effort(rows, this.D, this.exact, this.loss == "squares")

    return method.seconds * takes(candidate or method.candidate, n) / takes(method.candidate, method.n)


def binning_effort(n: float, D: int) -> float:
    """Return how the time of random binning grows with the values of its features."""
    return float((n * D) ** BINNING_GROWTH)


def like(method: Scored, candidate: Candidate) -> Scored:
    """Return what another candidate is expected to take on the same rows, by the time of its kin."""
    turned = {method.candidate.loss, candidate.loss} == {"squares", "huber"}  # from alpha to C, or back
    value = 1 / method.value if turned and method.value else method.value
    return replace(method, candidate=candidate, value=value, seconds=expected(method, method.n, candidate))


def training(method: Scored, n: int) -> float:
    """Return about how many seconds a candidate takes to train on n rows; a fold trains on two thirds."""
    return (expected(method, 1.5 * n) + learning(method, 1.5 * n)) / max(len(method.folds), 1)


def learning(method: Scored, n: float) -> float:
    """Return about how many seconds the metric of a candidate takes to learn on n rows."""
    return method.learning * min(n, MOST_LEARNT) / min(method.n, MOST_LEARNT)
