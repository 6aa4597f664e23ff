"""A search within a budget of wall time: candidates on growing subsamples, then the test rows, once.

A candidate goes up a rung, to three times as many rows, once it is among the best third of its kind (exact
methods or maps) on its rung. No rung waits until another is full, so there is a best candidate at any time
(Li et al., "A system for massively parallel hyperparameter tuning", MLSys 2020, Algorithm 2). Optuna's own
pruner drops a candidate that does not go up at once; here it can go up later.

A linear model comes first, so that there is always a model; then the advice of the study of maps and the
config's own methods. Optuna's TPE draws exact methods for the first rung. Maps that approximate the best of
them are tried on the rungs above, and finally steps around the best candidate: more features, also on a third
of the rows. Optuna's study keeps all that was scored, so that the same command goes on.

The wall time of a candidate on few rows predicts that on more of them, and that of its training in the end,
at whatever load. The best is always one that there is time to train: on all rows, or on as many as the time
allows, at least those it was scored on. At most a third of the budget is kept for it, since a time on few
rows makes an exact method's training seem longer than it is.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass, field, replace
from itertools import pairwise, product
from math import ceil, inf, log
from pathlib import Path
from time import monotonic
from typing import Any

from kfeat.errors import ConfigError
from kfeat.experiments.plan import digest
from kfeat.files import writing
from kfeat.own.bench import MOST_GRAM, LocalScorer
from kfeat.own.candidates import (
    FIRST_SIZE,
    SIZE,
    Candidate,
    DataFacts,
    advised,
    draw,
    drawn,
    first_entries,
    larger_maps,
    linear_model,
    maps_of,
    neighbours,
    own_candidates,
    study_of,
)
from kfeat.own.new_config import FOLDS
from kfeat.text import counted

ETA = 3
SMALLEST = 900  # rows of the first rung
NEAR = 5e-3  # of the score: half a point, or 0.005 of R²; twice this share of an error or a loss
ENOUGH = 100  # rows for each feature of a map
TOO_LONG = "it took longer than"  # the beginning of the reason of a candidate that was ended


@dataclass(frozen=True)
class Scored:
    """A candidate scored on `n` training rows: `value` is the best C or alpha, `score` its mean over folds.

    `seconds` is about the time of one value of C or alpha, over all folds, and `budget` that of the search.
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
        return 0 < ENOUGH * self.candidate.D <= self.n


Step = tuple[Candidate, int, Scored | None]  # the next candidate, its rows, and its last score


def slack(metric: str, score: float) -> float:
    """Return by how much scores may differ and still be near: half a point, or 1 % of an error."""
    return 2 * NEAR * abs(score) if metric.startswith("neg_") else NEAR


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


def rungs(n_train: int, rarest: int) -> list[int]:
    """Return how many training rows each rung has: all, a third of them, a ninth ..., at least 900.

    Each rung but the last has a row per fold of the rarest class, which has `rarest` training rows.
    """
    least = max(SMALLEST, ceil((FOLDS + 1) * n_train / rarest))
    sizes = [n_train]
    while sizes[0] / ETA >= least:
        sizes.insert(0, sizes[0] // ETA)
    return sizes


def next_up(
    scored: Sequence[Scored], sizes: Sequence[int], fits: Callable[[Scored, int, bool], bool]
) -> Step | None:
    """Return the candidate that goes up a rung next, from the highest rung that has one.

    Exact methods and maps compete only among themselves, since exact methods are the best on few rows and too
    slow on many. A map with enough rows stays where it is. `fits(one, n, best)` says whether there is time
    for a candidate on n rows. First all fast candidates go up, then only the best of each kind that there is
    time for.
    """
    for best in (False, True):
        for n, above in reversed(list(pairwise(sizes))):
            up = {
                method.candidate
                for method in scored
                if method.n == above or (method.n == n and method.has_enough_rows)
            }
            for exact in (True, False):
                good = leaders(scored, n, exact)
                able = [method for method in good if method.candidate in up or fits(method, above, best)]
                for method in able[: 1 if best else None]:
                    if method.candidate not in up:
                        return method.candidate, above, method
    return None


def leaders(scored: Sequence[Scored], n: int, exact: bool) -> list[Scored]:
    """Return the best third of a kind on n rows, the best first."""
    kind = [method for method in scored if method.n == n and method.candidate.exact == exact]
    best = sorted(kind, key=lambda method: (-method.score, method.candidate.D))[: ceil(len(kind) / ETA)]
    return [method for method in best if not method.reason]


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


FIRST_SHARE = 0.2  # the largest share of the budget for the first entries, before any goes up a rung
ONE_CANDIDATE = 0.25  # share of the budget: a candidate that takes longer is ended
QUICK = 0.04  # share of the budget: candidates that take less go up a rung before slower ones
ADVISED = 0.25  # share of the budget that the advised method may take to be trained on all rows
GUIDE = 0.15  # share of the budget for an exact method that there is no time to train
KEPT = 0.3  # the largest share of the budget that is kept to train the best
ENDS = 6  # steps from the rows that a candidate was scored on to all, of which one is what it is trained on
SPARE = 0.1  # share of the budget that the linear model and boosting have at least
CLOSING = 2.0  # seconds that writing the table and the figure takes
MOST_OWN = 3
MOST = 200  # candidates of one search
STALE = 15  # candidates in a row without a better one after which the search ends
GAIN = 0.04  # share of the slack that counts as better
AT_LEAST = 10.0  # seconds for the linear model, whatever the budget
PATHS = {
    ("C", False): [10.0**k for k in range(-1, 4)],
    ("C", True): [1.0, 10.0, 100.0],
    ("alpha", False): [10.0**k for k in range(-6, 4)],
    ("alpha", True): [10.0**k for k in range(-4, 2)],
}
STEP = 10**0.5
SURE = 0.8  # the largest share of the remaining time for the estimated time of a candidate
LONGER = 1.2  # factor for the estimated time of the training on all rows
PATIENCE = 86400.0  # seconds for reading the data
Row = dict[str, Any]


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


class Search:
    """One search within a budget, whose study is kept at a path; without one in memory."""

    def __init__(
        self, scorer: LocalScorer, path: Path | None, budget: float, seed: int,
        say: Callable[[Scored, Scored], None] | None = None,
    ) -> None:  # fmt: skip
        self._scorer, self._path, self._budget, self._seed, self._say = scorer, path, budget, seed, say
        self._longest, self._restart = ONE_CANDIDATE * budget, 0.0
        self._latest: dict[Candidate, Scored] = {}  # on the most rows
        self._rows: dict[str, Row] = {}
        self._earlier = frozenset[Scored]()  # of earlier calls

    def run(
        self, kernels: Sequence[dict[str, Any]] = (), maps: Sequence[dict[str, Any]] = ()
    ) -> SearchResult:
        """Return what was found; raises ConfigError where the budget ends before one candidate is scored."""
        with writing(self._path) if self._path else nullcontext():
            return self._run(kernels, maps)

    def _run(self, kernels: Sequence[dict[str, Any]], maps: Sequence[dict[str, Any]]) -> SearchResult:
        start = monotonic()
        self._study = study_of(self._path, self._seed)
        self._rows = self._study.user_attrs
        n_kept, self._earlier = len(self._rows), frozenset(self._scored())
        answer = self._scorer.ask("facts", start + PATIENCE)  # this starts the process too
        if answer is None or "failed" in answer:
            raise ConfigError(f"the data cannot be used: {answer['failed'] if answer else 'no answer'}")
        facts = self._facts = DataFacts(**answer)
        self._began = monotonic() - start  # seconds; on a busy machine the closing takes longer too
        closing = max(CLOSING, self._began) if facts.n_test else 0.0
        self._end = start + self._budget - min(closing, SPARE * self._budget)
        # A candidate that is ended costs the start of a new process.
        self._spare = min(max(SPARE * self._budget, self._began), 2 * SPARE * self._budget)
        own, linear = own_candidates(kernels, maps, facts, MOST_OWN), linear_model(facts)
        self._sizes = rungs(facts.n_train, facts.rarest)
        self._score(linear, self._sizes[0], end=max(self._search_end, monotonic() + AT_LEAST))
        self._candidates([*advised(facts, ADVISED * self._budget), *own])
        best = self._best()
        if best is None:
            reasons = {method.reason for method in self._scored()} or {
                "the budget ended; give a longer --budget"
            }
            raise ConfigError(f"no candidate could be scored: {'; '.join(sorted(reasons)[:3])}")
        end = self._end - self._closing(best, self._rows_of(best) or best.n)
        for candidate in (linear, *own[:1]):
            before = [
                method for method in self._scored() if method.candidate == candidate and not method.reason
            ]
            since = max(before, key=lambda method: method.n, default=None)
            if since and monotonic() + self._restart + 2 * expected(since, best.n) < end:
                self._score(candidate, best.n, since, end)
            elif not since and self._begins(candidate, best.n):
                self._score(candidate, best.n, None, end - self._spare / 2)
        best, n_train = self._best() or best, facts.n_train
        constant = (self._scorer.ask("constant", monotonic() + PATIENCE, n=best.n) or {}).get("score", -inf)
        good = [method for method in self._scored() if not method.reason and facts.capped]
        rows = {method: n for method in good if (n := self._rows_of(method) or method.n) < n_train}
        result = SearchResult(facts, self._scored(), best, own, n_kept=n_kept, constant=constant, rows=rows)
        if not facts.n_test:
            return result
        tests = {method: self._test(method, rows.get(method)) for method in (best, result.linear) if method}
        boosting = self._kept(digest(["boosting", best.n]), "boosting", n=best.n)
        others = [method for method in (result.quick, result.exact) if method and method not in tests]
        for method in others:
            left, n = self._end - monotonic(), rows.get(method, n_train)
            if self._tested(method, n) or self._closing(method, n) < left:
                tests[method] = self._test(method, rows.get(method))
        return replace(result, tests=tests, boosting=boosting)

    def _closing(self, method: Scored, n: int) -> float:
        """Return about how many seconds the training of a winner takes on n rows.

        Its time on the most rows tells. It learns probabilities too if there is no test, and reads the data
        again if n is not all rows.
        """
        tested, regression = self._facts.n_test > 0, self._facts.task == "regression"
        more = self._began * (n < self._facts.n_train) if tested else method.seconds * (not regression)
        return LONGER * training(self._latest.get(method.candidate, method), n) + more

    def _rows_of(self, method: Scored, later: float = 0.0) -> int:
        """Return on how many rows there is time to train a candidate, so many seconds later; 0 without.

        These are as many as it was scored on, or more, up to all; more need time to spare, since their time
        is less certain. Where nothing ends the training, there is always a tenth of the budget, so that a
        candidate that took longer than predicted does not cost the best. What an earlier call trained needs
        no time, and what it scored may take its budget, so that no call ends with less than the last one.
        """
        left = self._end - monotonic() - later
        left = left if self._facts.n_test else max(left, SPARE * self._budget)
        seconds = {n: self._closing(method, n) for n in self._ends(method) if not self._tested(method, n)}
        fits = [n for n in seconds if seconds[n] < (left if n == method.n else SURE * left)]
        fits += [n for n in self._ends(method) if n not in seconds]
        if not fits and method in self._earlier:
            fits = [n for n in seconds if seconds[n] < method.budget]
        return max(fits, default=0)

    def _ends(self, method: Scored) -> list[int]:
        """Return on how many rows a candidate may be trained: all, as many as its own, and some between."""
        most = self._facts.n_train
        parts = range(ENDS + 1) if self._facts.capped else [ENDS]
        return [round(method.n * (most / method.n) ** (part / ENDS)) for part in parts]

    def _best(self) -> Scored | None:
        """Return the best of those that there is time to train; else what trains fastest."""
        scored = [method for method in self._scored() if not method.reason]
        able = [method for method in scored if self._rows_of(method)]
        return winner(able) or min(scored, key=lambda method: self._closing(method, method.n), default=None)

    @property
    def _search_end(self) -> float:
        """When the last candidate must be scored, so that the best can be trained."""
        best, most = self._best(), KEPT * self._budget
        closings = [self._closing(best, n) for n in self._ends(best)] if best else [0.0]
        return (
            self._end - self._spare - max((closing for closing in closings if closing < most), default=most)
        )

    def _candidates(self, first: Sequence[Candidate]) -> None:
        """Score candidates until time is over or nothing gets better, first those that may go up a rung."""
        facts, sizes = self._facts, self._sizes
        n_first = min(len(first_entries(facts)) + len(first_entries(facts, "own")), MOST)
        first_end = monotonic() + FIRST_SHARE * self._budget
        stale, new, top = 0, drawn(self._study), -inf
        while monotonic() < self._search_end and stale < STALE:
            scored, best = self._scored(), self._best()
            if best and best.score > top + GAIN * slack(facts.metric, best.score):
                top, stale = best.score, 0
            known = {method.candidate for method in scored}
            rows = {candidate: next((n for n in sizes if n >= candidate.D), sizes[-1]) for candidate in first}
            waiting = [candidate for candidate in first if candidate not in known]
            waiting = [candidate for candidate in waiting if self._begins(candidate, rows[candidate])]
            begun = new >= n_first or monotonic() >= first_end
            up = next_up(scored, sizes, self._fits) or self._next_map(scored)
            if up is not None and begun:
                self._score(*up)
            elif waiting and new >= min(MOST, 1):  # after the first one; with a row for each landmark
                self._score(waiting[0], rows[waiting[0]])
            elif new >= MOST:
                return
            else:
                exact = next((candidate for candidate in known if candidate.exact), None)
                draws = self._begins(exact, sizes[0]) if exact else self._in_time(self._began / 2, 1.0)
                step = best and begun and self._next_step(best, scored)
                if step and (new % 2 or not draws):
                    self._score(*step)
                elif draws:
                    draw(self._study, facts, lambda candidate: self._score(candidate, sizes[0]))
                else:
                    return
                new, stale = new + 1, stale + (new >= n_first)

    def _next_map(self, scored: Sequence[Scored]) -> Step | None:
        """Return a map for one of the best exact methods, where one is missing, on the second rung or above.

        It is small where there is no time for a larger one. The first of all maps is small too, and on the
        second rung: its time tells that of others.
        """
        begun: dict[Any, int] = {}
        sizes = self._sizes
        for method in sorted(scored, key=lambda method: method.candidate.D):
            begun[_without_size(method.candidate)] = method.candidate.D
        second = sizes[:2][-1]
        reached = max(
            (method.n for method in scored if method.candidate.exact and not method.reason), default=second
        )
        for n in [n for n in reversed(sizes) if n >= min(reached, second)]:
            for method, D in product(leaders(scored, n, exact=True), (SIZE, FIRST_SIZE)):
                for candidate in maps_of(method.candidate, self._facts, max(n, second), D):
                    if not any(begun.values()):
                        return maps_of(method.candidate, self._facts, second, FIRST_SIZE)[0], second, None
                    new = begun.get(_without_size(candidate), 0) < candidate.D / 2
                    if new and self._begins(candidate, max(n, second)):
                        return candidate, max(n, second), None
        return None

    def _next_step(self, best: Scored, scored: Sequence[Scored]) -> Step | None:
        """Return a candidate one step from the best, on as many rows, or on a third of them.

        The best of another kind of map gets more features too, since some kinds need more and take less time.
        """
        done, facts = {(method.candidate, method.n) for method in scored}, self._facts
        steps = [(best, candidate) for candidate in neighbours(best.candidate, facts)]
        others = [method for method in scored if method.n >= best.n // ETA and method.candidate.map]
        for name in dict.fromkeys(method.candidate.name for method in others):
            start = winner(method for method in others if method.candidate.name == name)
            if start and name != best.candidate.name:
                most = 4 * max(best.candidate.D, SIZE)
                steps += [(start, larger) for larger in larger_maps(start.candidate, facts, most)]
        for start, candidate in sorted(steps, key=_keeps_size_and_target):
            since = like(start, candidate)
            for n in (start.n, *(n for n in self._sizes if n == start.n // ETA)):
                if (candidate, n) in done or n < candidate.D:
                    break
                if self._fits(since, n):
                    return candidate, n, since
        return None

    def _in_time(self, seconds: float, most: float) -> bool:
        """Return whether so many seconds are most likely left, and at most a share of the budget."""
        return seconds < SURE * min(most * self._budget, self._search_end - monotonic())

    def _begins(self, candidate: Candidate, n: int) -> bool:
        """Return whether there is most likely time for a new candidate, by another of its kind.

        Another kernel or map may take twice as long. Before any map only a small one begins.
        """
        kind = candidate.exact, candidate.linear
        kin = [
            method
            for method in self._scored()
            if (method.candidate.exact, method.candidate.linear) == kind and not method.reason
        ]
        if not kin:
            return candidate.D <= FIRST_SIZE and self._in_time(self._began / 2, 1.0)
        nearest = min(kin, key=lambda method: abs(log(method.n / n)))
        seconds = expected(nearest, n, candidate) * path_time(candidate, len(PATHS["C", candidate.exact]))
        return self._in_time(seconds * (1 if nearest.candidate.name == candidate.name else 2), ONE_CANDIDATE)

    def _fits(self, method: Scored, n: int, best: bool = True) -> bool:
        """Return whether there is most likely time for a candidate on n rows; the `best` may take more.

        What there would be no time to train may take less: an exact method, as a guide to maps.
        """
        seconds = expected(method, n)
        closes = self._rows_of(replace(method, n=n, seconds=seconds), later=seconds + self._spare)
        most = QUICK if not best else ONE_CANDIDATE if closes else GUIDE * method.candidate.exact
        return self._in_time(seconds, most)

    def _score(
        self, candidate: Candidate, n: int, since: Scored | None = None, end: float | None = None
    ) -> Row | None:
        """Return the row of a candidate, scored now or in an earlier call; None without time."""
        key = digest([candidate.key, n])[:16]
        row, end = self._rows.get(key), self._search_end if end is None else end
        if row is not None and row.get("limit", inf) >= self._longest:
            self._note(_of_row(row))
            return dict(row)
        if monotonic() >= end:
            return None
        values = PATHS["alpha" if candidate.loss == "squares" else "C", candidate.exact]
        if candidate.class_weight:  # which makes the costs of rare classes larger
            values = [value / 10 for value in values]
        if since is not None:
            values = [since.value]
            if self._in_time(path_time(candidate, 3) * expected(since, n), ONE_CANDIDATE / 3):
                values = [since.value / STEP, since.value, since.value * STEP]
        began, limit = monotonic(), max(self._longest, AT_LEAST * candidate.linear)
        answer = self._scorer.ask("score", end, limit, candidate=candidate, n=n, values=values)
        self._restart = self._began if answer is None else 0.0  # seconds until the next answer begins
        if answer is None and monotonic() >= end:
            return None  # the next call tries it again
        if answer is None:
            answer = {"failed": f"{TOO_LONG} {limit:.3g} s", "limit": limit}
        about = {"candidate": asdict(candidate), "n": n, "values": len(values), "budget": self._budget}
        row = self._keep(key, about | {"seconds": monotonic() - began} | answer)
        self._note(_of_row(row))
        if self._say and (best := winner(self._scored())):
            self._say(_of_row(row), best)
        return row

    def _note(self, method: Scored) -> None:
        if not method.reason and method.n >= self._latest.get(method.candidate, method).n:
            self._latest[method.candidate] = method

    def _keep(self, key: str, row: Row) -> Row:
        self._rows[key] = row
        self._study.set_user_attr(key, row)
        return row

    def _scored(self) -> list[Scored]:
        """Return the scores; a candidate that took too long counts only if the limit is not longer now."""
        rows = [row for row in self._rows.values() if "candidate" in row]
        return [_of_row(row) for row in rows if row.get("limit", inf) >= self._longest]

    def _test(self, method: Scored, rows: int | None) -> Row:
        """Return a candidate's result on the test rows, trained on all training rows or on so many."""
        question = {"candidate": method.candidate, "value": method.value, "rows": rows}
        return self._kept(self._test_key(method, rows), "test", **question)

    def _test_key(self, method: Scored, rows: int | None) -> str:
        return digest(["test", method.candidate.key, method.value, rows])

    def _tested(self, method: Scored, n: int) -> bool:
        """Return whether a candidate has a result on the test rows after training on n rows."""
        rows = n if n < self._facts.n_train else None
        return "score" in self._rows.get(self._test_key(method, rows)[:16], {})

    def _kept(self, key: str, method: str, **question: Any) -> Row:
        """Return an answer, perhaps of an earlier call; nothing without time."""
        row = self._rows.get(key[:16])
        if row is not None and "failed" not in row:
            return dict(row)
        answer = self._scorer.ask(method, self._end, **question)
        return {} if answer is None else self._keep(key[:16], answer)


def _of_row(row: Row) -> Scored:
    candidate = Candidate(**row["candidate"])
    if "failed" in row:
        return Scored(candidate, row["n"], -inf, 0.0, 0.0, row["seconds"], str(row["failed"]))
    seconds = row["seconds"] / path_time(candidate, row["values"])
    folds = tuple(row.get("folds", ()))
    numbers = row["score"], row["sd"], row["value"], seconds
    return Scored(candidate, row["n"], *numbers, folds=folds, budget=row["budget"])


def _keeps_size_and_target(step: tuple[Scored, Candidate]) -> bool:
    before, after = step[0].candidate, step[1]
    return (before.D, before.target) == (after.D, after.target)


def _without_size(candidate: Candidate) -> str:
    return str((candidate.scale, candidate.kernel, (candidate.map or {}).get("name")))
