"""What a search found: scored candidates, the best of them, and which one is preferred."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf
from typing import Any, Literal, TypeAlias

from kfeat.own.candidates import Candidate
from kfeat.own.facts import DataFacts
from kfeat.text import counted

ETA = 3
NEAR = 5e-3  # of the score: half a point, or 0.005 of R²; twice this share of an error or a loss
ENOUGH_ROWS = 100  # rows for each feature of a map
TOO_LONG = "it took longer than"  # the beginning of the reason of a candidate that was ended
Row = dict[str, Any]
Prefer: TypeAlias = Literal["accuracy", "speed", "boosting", "linear"]


@dataclass(frozen=True)
class Scored:
    """A candidate scored on `n` training rows: `value` is the best C or alpha, `score` its mean over folds.

    `seconds` is about the time of one value of C or alpha, over all folds, and `budget` that of the search;
    `learning` is the time in which its metric was learnt, over all folds.
    A candidate that failed or took too long has the score -inf and a `reason`.
    """

    candidate: Candidate
    n: int
    score: float
    sd: float
    value: float
    seconds: float
    reason: str = ""
    folds: tuple[float, ...] = ()
    budget: float = 0.0
    learning: float = 0.0

    @property
    def choices(self) -> str:
        """Its name with what was chosen: scaling, gamma, D, and C or alpha."""
        candidate = self.candidate
        chosen = {
            "scale": candidate.scale,
            "gamma": candidate.kernel.get("gamma"),
            "D": candidate.D or None,
            "alpha" if candidate.loss == "squares" else "C": self.value or None,
        }
        given = {name: value for name, value in chosen.items() if value is not None}
        values = (
            f"{name}={value if isinstance(value, str) else f'{value:g}'}" for name, value in given.items()
        )
        return f"{candidate.name} ({', '.join(values)})"

    @property
    def took_too_long(self) -> bool:
        """Whether it has no score because it took too long."""
        return TOO_LONG in self.reason

    @property
    def has_enough_rows(self) -> bool:
        """Whether a map has a hundred rows for each feature: more would hardly change its score."""
        return not self.candidate.sparse and 0 < ENOUGH_ROWS * self.candidate.D <= self.n


def slack(metric: str, score: float) -> float:
    """Return by how much scores may differ and still be near: half a point, or 1 % of an error."""
    return 2 * NEAR * abs(score) if metric.startswith("neg_") else NEAR


def winner(scored: Iterable[Scored]) -> Scored | None:
    """Return the best candidate; on few rows, one that is better by more than its spread over the folds.

    Few rows are fewer than a third of the most that a map or an exact method reached. More rows rarely harm,
    so a better score on fewer rows counts more than a worse one on all, if it is not luck. Of equal scores
    the one with the fewest features wins, and an exact method before all maps; times would not be
    reproducible.
    """
    good = [method for method in scored if not method.reason]
    least = max((method.n for method in good if not method.candidate.linear), default=0) // ETA

    def score(method: Scored) -> tuple[float, float]:
        return method.score - (method.sd if method.n < least else 0.0), -method.candidate.D

    return max(good, key=score, default=None)


@dataclass(frozen=True, repr=False)
class SearchResult:
    """The result of a search: its candidates, the winner, and what was trained in the end.

    `own` are the config's own candidates. `tests` has for each candidate that was trained in the end the
    `score` on the test rows, the seconds to `train` and to `predict` 1,000 rows, or why it `failed`.
    `constant` is the score of always the most frequent class, or of the mean, on the folds of the best, and
    `boosting` has there the scores of HistGradientBoosting, and its `test`. `rows` has how many training rows
    train a candidate for which there is no time on all of them.
    """

    facts: DataFacts
    scored: Sequence[Scored]
    best: Scored
    own: Sequence[Candidate] = ()
    tests: Mapping[Scored, Row] = field(default_factory=dict)
    n_kept: int = 0  # rows of earlier calls
    constant: float = -inf
    boosting: Row = field(default_factory=dict)
    rows: Mapping[Scored, int] = field(default_factory=dict)

    def __repr__(self) -> str:
        best, metric = self.best, self.facts.metric
        return (
            f"<SearchResult: best of {counted(len(self.scored), 'scores')} is {best.choices}, "
            f"{metric} {best.score:.4g} on {counted(best.n, 'rows')}; table() has all>"
        )

    def table(self) -> Any:
        """Return all scores as a pandas frame, the best first, with why those failed that have none."""
        import pandas as pd

        lines = [
            {
                "method": method.candidate.name,
                "scale": method.candidate.scale,
                "gamma": method.candidate.kernel.get("gamma"),
                "n_components": method.candidate.D,
                "loss": method.candidate.loss,
                "C or alpha": method.value,
                "rows": method.n,
                self.facts.metric: method.score,
                "sd": method.sd,
                "seconds": method.seconds,
                "reason": method.reason,
            }
            for method in sorted(self.scored, key=lambda method: -method.score)
        ]
        return pd.DataFrame(lines)

    @property
    def constant_is_as_good(self) -> bool:
        """Whether the best is not better than a constant."""
        return self.best.score <= self.constant + slack(self.facts.metric, self.constant)

    @property
    def ahead(self) -> float:
        """By how much boosting is ahead of the best: in each fold, and by more than the slack; else 0."""
        gains = [
            theirs - ours
            for theirs, ours in zip(self.boosting.get("folds", ()), self.best.folds, strict=False)
        ]
        gain = sum(gains) / len(gains) if gains else 0.0
        return gain if gain > slack(self.facts.metric, self.best.score) and min(gains) > 0 else 0.0

    @property
    def trained(self) -> Scored:
        """The best; if its training failed, the best of those that were trained."""
        done = [method for method, row in self.tests.items() if "score" in row]
        failed = "failed" in self.tests.get(self.best, {})
        return max(done, key=lambda method: method.score) if failed and done else self.best

    @property
    def kernel_method(self) -> Scored | None:
        """The best kernel method, on any number of rows, whether there is time to train it or not."""
        kernel = [method for method in self.scored if not method.reason and not method.candidate.linear]
        return max(kernel, key=lambda method: method.score, default=None)

    @property
    def linear(self) -> Scored | None:
        """The linear model on as many rows as the best."""
        return winner(method for method in self.scored if method.n >= self.best.n and method.candidate.linear)

    def near(self, method: Scored) -> bool:
        """Return whether a candidate is within half a point of the best."""
        return not method.reason and method.score >= self.best.score - slack(
            self.facts.metric, self.best.score
        )

    @property
    def before(self) -> Scored | None:
        """The best of the config's own candidates on as many rows as the best."""
        return winner(
            method for method in self.scored if method.n >= self.best.n and method.candidate in self.own
        )

    @property
    def exact(self) -> Scored | None:
        """The best exact method on the largest rung that one reached."""
        return winner(method for method in self.scored if method.candidate.exact)

    @property
    def quick(self) -> Scored | None:
        """The map with the fewest features within half a point of the best on its rows."""
        maps = [method for method in self.scored if not method.candidate.exact and self.near(method)]
        rows = [method for method in maps if method.n >= self.best.n]
        return min(rows, key=lambda method: (method.candidate.D, -method.score), default=None)

    @property
    def quickest(self) -> Scored | None:
        """The tested candidate that predicts fastest of those within half a point of the best."""
        rows = {
            method: row for method, row in self.tests.items() if "score" in row and method.n >= self.best.n
        }
        good = [method for method in rows if self.near(method)]
        return min(good, key=lambda method: rows[method]["predict"], default=None)


def preferred(result: SearchResult, prefer: Prefer) -> Scored | None:
    """Return what is taken from a search; None is boosting.

    `speed` is what predicts fastest within half a point of the best, `linear` the linear model if it is
    within half a point, `boosting` HistGradientBoosting if it is ahead of the best in each fold, and by more
    than half a point (for errors, 1 %). Otherwise it is the best that was trained.
    """
    if prefer == "boosting" and result.ahead:
        return None
    linear = result.linear if result.linear and result.near(result.linear) else None
    quickest = result.quickest if result.tests else result.quick
    return {"speed": quickest, "linear": linear}.get(prefer) or result.trained
